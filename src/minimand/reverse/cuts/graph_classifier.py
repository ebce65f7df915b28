"""`GraphClassifier`: a few labels that spread over a graph of labelled and unlabelled rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..._base.available import available_if
from ..._base.parameters import NamesParameters
from ..._base.typing import AnyArray, Array, ArrayLike, BoolArray
from ..._base.watch import as_far_as_it_came, stoppable
from ..._base.wording import counted
from ...certificate import Certificate
from ...estimators.callbacks import (
    CallbackSupportMixin,
    Relay,
    is_sklearn_callback,
    with_callbacks,
)
from ...estimators.classifier import Classifier
from ...estimators.inputs.data import check_weights
from ...estimators.inputs.kinds import as_labels
from ...estimators.settings import check_callbacks, check_real
from ...estimators.summary import Summarised
from ...kernels import Precomputed
from ..rows import refuse_rows_apart
from .affinities import affinity_of
from .spread import spread_from

_MARK = -1  # the label of rows without one; convention: scikit-learn's


def _gives_probabilities(model: Any) -> bool:
    inner = model.__dict__.get("classifier_") or model._inner()
    return hasattr(inner, "predict_proba")


class GraphClassifier(NamesParameters, CallbackSupportMixin, ClassifierMixin, Summarised):
    r"""Classify rows of which few have a label, by a function that is smooth on their graph.

    .. math:: \min_g \ \text{mean}_{\text{labelled}}\ \ell(g_i, y_i)
        + \alpha \cdot \tfrac{1}{2\bar\lambda} g^\top (\Lambda - a K) g

    The penalty is :math:`\tfrac a2 \sum K_{ij} (g_i - g_j)^2 + (1 - a) \sum \Lambda_i g_i^2` over
    the mean degree: rows with a large affinity get similar scores, labelled or not. It is the
    squared norm of the kernel (Λ − aK)⁻¹, so the problem is convex, takes every loss of
    `Classifier`, and has a certificate. A new row gets the score with the least penalty, a·Σ k(x,
    xⱼ)gⱼ/Σ k(x, xⱼ).

    Parameters
    ----------
    loss : Loss or str, default="logistic"
    alpha : float, optional
        By default 1 over the number of labelled rows.
    kernel : NeighborGraph, Kernel or str, default="neighbors"
        Affinities, as in `NormalizedCut`.
    spread : float, default=0.99
        a, from 0 (labels stay where they are) to below 1.
    intercept : bool, default=False
    memory : float, optional
        Bytes for the affinities of all pairs of a kernel; 2 GB by default.
    tol, max_seconds, callbacks, verbose
        As in `Classifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        The predicted labels of all rows of the fit.
    classifier_ : Classifier
        Fitted on the labelled rows, with the kernel (Λ − aK)⁻¹.
    certificate_ : Certificate
        Of the objective above, of kind "global" where the loss is convex.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(300, noise=0.08, random_state=0)
    >>> y = np.full(300, -1)                                       # −1: no label
    >>> known = [np.flatnonzero(moon == 0)[0], np.flatnonzero(moon == 1)[0]]
    >>> y[known] = moon[known]
    >>> model = mm.GraphClassifier().fit(X, y)
    >>> float((model.transduction_ == moon).mean()) > 0.97
    True
    >>> model.certificate_.relative <= 1e-6
    True
    """

    def __init__(
        self,
        loss: Any = "logistic",
        alpha: float | None = None,
        *,
        kernel: Any = "neighbors",
        spread: float = 0.99,
        intercept: bool = False,
        memory: float | None = None,
        tol: float = 1e-6,
        max_seconds: float | None = None,
        callbacks: Any = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.spread = spread
        self.intercept = intercept
        self.memory = memory
        self.tol = tol
        self.max_seconds = max_seconds
        self.callbacks = callbacks
        self.verbose = verbose

    certificate_: Certificate

    def _inner(self, callbacks: Any = None) -> Classifier:
        return Classifier(
            self.loss,
            "l2",
            self.alpha,
            features=Precomputed(),
            intercept=self.intercept,
            tol=self.tol,
            max_seconds=self.max_seconds,
            callbacks=callbacks,
            verbose=self.verbose,
        )

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Find the scores of all rows.

        Parameters
        ----------
        X : rows that the kernel takes, n_samples of them
        y : array-like of shape (n_samples,)
            Labels; −1, None or NaN for rows without one.
        sample_weight : array-like of shape (n_samples,), optional
            Of the losses; those of rows without a label do not matter.
        """
        if self.callbacks is not None:
            check_callbacks(self.callbacks)
        spread = check_real("spread", self.spread, low=0.0)
        if spread >= 1:
            raise ValueError(f"spread must be below 1, not {self.spread!r}.")
        affinity = affinity_of(self.kernel, self.memory)
        X = affinity.read(self, X, reset=True)
        labels, rows, own = _labelled(y, int(_num_samples(X)), sample_weight)
        self._affinity = affinity.fitted(X)
        self._spread, self._labelled_rows = spread, rows
        self._columns = spread_from(self._affinity.matrix, spread, rows)
        given = [c for c in self.callbacks or () if not is_sklearn_callback(c)]
        with stoppable(self), Relay(self, X, y) as relay:
            inner = self._inner([*given, *relay.to(lambda state: {})])
            self.classifier_ = inner
            as_far_as_it_came(inner.fit, self._square(), labels, sample_weight=own)
            self._store(inner)
        return self

    def _store(self, inner: Classifier) -> None:
        self.classes_ = inner.classes_
        self.transduction_ = inner.predict(self._columns)
        self.certificate_ = self.worded(inner.certificate_)
        self.n_iter_, self.history_ = inner.n_iter_, inner.history_

    def _square(self) -> Array:
        """The kernel (Λ − aK)⁻¹ among the labelled rows, symmetric to the last bit."""
        square = self._columns[self._labelled_rows]
        return np.asarray(0.5 * (square + square.T))

    def problem_of(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None
    ) -> tuple[Array, AnyArray, Array | None]:
        """What ``classifier_`` was fitted on, from the data of the fit: kernel, labels, weights."""
        check_is_fitted(self, "classes_")
        X = self._affinity.read(self, X, reset=False)
        n, fitted = int(_num_samples(X)), len(self._columns)
        if n != fitted:
            raise ValueError(
                f"X has {counted(n, 'row')}, but this GraphClassifier was fitted on {fitted}: pass "
                "the data it was fitted on."
            )
        labels, rows, own = _labelled(y, n, sample_weight)
        if not np.array_equal(rows, self._labelled_rows):
            raise ValueError(
                "y must have labels at the rows that had one in the fit: pass the y it was fitted "
                "on, with −1 for rows without a label."
            )
        return self._square(), labels, own

    def worded(self, found: Certificate) -> Certificate:
        """A certificate of ``classifier_`` with the objective in terms of the graph."""
        words = found.objective.replace("‖f‖²", "gᵀ(Λ − aK)g/mean Λ").replace("f(x)", "g(x)")
        return replace(found, objective=f"{words}, a = {self._spread:g}")

    def _rows(self, X: ArrayLike) -> Array:
        """Values of the kernel (Λ − aK)⁻¹, extended to new rows, with the labelled rows."""
        check_is_fitted(self, "classes_")
        X = self._affinity.read(self, X, reset=False)
        columns = np.column_stack([self._columns, np.ones(len(self._columns))])
        found, equal = self._affinity.times(X, columns)
        known = equal >= 0
        degrees = np.where(known, 1.0, found[:, -1])
        refuse_rows_apart(degrees, "label")
        rows = self._spread * found[:, :-1] / degrees[:, None]
        rows[known] = self._columns[equal[known]]
        return np.ascontiguousarray(rows)

    def decision_function(self, X: ArrayLike) -> Array:
        """The scores g, one per row, or one per row and class."""
        rows = self._rows(X)
        return np.asarray(self.classifier_.decision_function(rows))

    def predict(self, X: ArrayLike) -> AnyArray:
        """The label of the largest score; of a graph, rows of the fit keep theirs."""
        rows = self._rows(X)
        return self.classifier_.predict(rows)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities."""
        rows = self._rows(X)
        return self.classifier_.predict_proba(rows)

    def _facts(self) -> dict[str, str]:
        certificate = vars(self).get("certificate_")
        if certificate is None:
            return {}
        labelled = self._columns.shape[1]
        return {
            "labelled rows": f"{labelled} of {len(self._columns)}",
            "relative gap": f"{certificate.relative:.1e}",
        }

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _labelled(
    y: ArrayLike, n: int, sample_weight: ArrayLike
) -> tuple[AnyArray, AnyArray, Array | None]:
    """The labels, the rows that have them and a positive weight, and their weights."""
    labels, known = _known_labels(y, n)
    weights = check_weights(sample_weight, n)
    if weights is not None:
        known &= weights > 0
    rows = _checked(labels, known)
    return labels[rows], rows, None if weights is None else weights[rows]


def _known_labels(y: ArrayLike, n: int) -> tuple[AnyArray, BoolArray]:
    """Y as an array, and which rows have a label."""
    if y is None:
        raise ValueError(
            "GraphClassifier requires y to be passed, but the target y is None: pass −1 for rows "
            "without a label."
        )
    labels = np.asarray(y) if hasattr(y, "shape") else as_labels(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: pass y.ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(
            f"y must hold one label for each of the {counted(n, 'row')} of X, but its shape is "
            f"{labels.shape}: pass −1 for rows without a label."
        )
    if labels.dtype.kind in "iu":
        return labels, labels != _MARK
    if labels.dtype.kind == "f":
        return labels, ~(np.isnan(labels) | (labels == _MARK))
    if labels.dtype.kind == "O":
        missing = [
            v is None or (isinstance(v, float) and v != v) or (isinstance(v, int) and v == _MARK)
            for v in labels
        ]
        return labels, ~np.array(missing, dtype=bool)
    return labels, np.ones(n, dtype=bool)


def _checked(labels: AnyArray, known: BoolArray) -> AnyArray:
    """The labelled rows; at least two classes must occur among them."""
    rows = np.flatnonzero(known)
    if not rows.size or len(set(labels[rows].tolist())) < 2:
        found = "no label" if not rows.size else f"1 class, {labels[rows].tolist()[0]!r},"
        raise ValueError(
            f"y holds {found} beside −1, None and NaN, which mark rows without a label: "
            "GraphClassifier needs labels of two classes."
        )
    return rows
