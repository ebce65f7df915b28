"""Classification: two classes are one score, more are one-versus-rest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Array, ArrayLike
from ..objective import Objective
from ..outputs import ClassOutput
from ..solvers import Solution, State
from . import data
from .base import Estimator, combined
from .callbacks import with_callbacks
from .problem import build
from .regressor import _loss_of
from .settings import Settings, check_settings


def _gives_probabilities(estimator: Any) -> bool:
    loss = _loss_of(estimator)
    if loss is None or not loss.probabilistic:
        raise AttributeError(f"loss={estimator.loss!r} does not give probabilities.")
    return True


class Classifier(ClassifierMixin, Estimator):
    r"""Minimise mean loss(z, y) + alpha·penalty(w) over z = offset + X w + b, y = ±1.

    With k > 2 classes one model per class is fitted against the rest; each meets ``tol`` and the
    certificate is their sum.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        ``"logistic"``, ``"squared_hinge"``, ``"squared"``, ``"huber"``, ``"cross_entropy"``, an
        object, or your own subclass of `minimand.Margin`.
    penalty : str or Penalty, default="l2"
        ``"l1"``, ``"l2"``, ``"no_penalty"`` or an expression such as ``L1() + 0.5 * L2()``.
    alpha : float, default=1.0
        Factor of the penalty. scikit-learn's C is 1/(alpha·n_samples).
    class_weight : dict or "balanced", optional
        Multiplies the sample weights by class.
    features, intercept, solver, tol, max_iter, max_seconds, memory, warm_start, random_state, \
verbose, callbacks
        As in `Regressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    certificate_ : Certificate
    n_iter_ : int
    solver_ : str

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = mm.Classifier("logistic", "l1", alpha=0.01).fit(X, y)   # unscaled columns are fine
    >>> model.certificate_.relative < 1e-6
    True
    """

    def __init__(
        self,
        loss: Any = "logistic",
        penalty: Any = "l2",
        alpha: float = 1.0,
        *,
        features: Any = None,
        intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        memory: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
        callbacks: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.features = features
        self.intercept = intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.memory = memory
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.class_weight = class_weight

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind; at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight k is the same as k copies of the row, weight 0 as its absence.
        offset : array-like of shape (n_samples,), optional
            Added to every score as it is.
        """
        settings = check_settings(self)
        X, y = data.check_xy(self, X, y)
        check_classification_targets(y)
        mapped = self._fit_features(X, y)
        previous = getattr(self, "classes_", None)
        output, objectives = self._objectives(settings, mapped, y, sample_weight, offset)
        self.classes_ = output.classes
        warm = self.warm_start and np.array_equal(previous, output.classes)
        relay = self._relay(X, y)
        extra = [relay] if relay.active and output.n_scores == 1 else []
        solutions: list[Solution] = []
        for score, objective in enumerate(objectives):
            solutions.append(self._minimise(objective, extra, self._start(objective, score, warm)))
        self._store(objectives, solutions)
        relay.close()
        self._warn_if_short(objectives[0], solutions)
        return self

    def _start(self, objective: Objective, score: int, warm: bool) -> tuple[Array, float] | None:
        if not warm or self.coef_.shape[1] != objective.n_features:
            return None
        return self.coef_[score], self.intercept_[score]

    def _store(self, objectives: list[Objective], solutions: list[Solution]) -> None:
        self.coef_ = np.stack([s.w for s in solutions])
        self.intercept_ = np.array([s.b for s in solutions])
        self.certificate_ = combined(
            [s.certificate for s in solutions], [o.scale for o in objectives]
        )
        self.n_iter_ = max(self.certificate_.iterations, 1)
        self.solver_ = solutions[0].solver

    def _objectives(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any, offset: Any
    ) -> tuple[ClassOutput, list[Objective]]:
        """One objective per score; they share the design."""
        weights = data.check_weights(sample_weight, y.shape[0])
        if weights is not None and not weights.all():
            present = y[weights > 0]
        else:
            present = y
        output, _ = ClassOutput.of(present, settings.loss)
        index = np.searchsorted(output.classes, y)
        if self.class_weight is not None:
            by_class = compute_sample_weight(self.class_weight, y)
            weights = by_class if weights is None else weights * by_class
        shift = data.check_offset(offset, y.shape[0])
        first = build(settings, X, output.encode(index, 0), weights, shift, self.intercept)
        objectives = [first]
        kept = slice(None) if weights is None else np.flatnonzero(weights)
        for score in range(1, output.n_scores):
            target = output.encode(index, score)[kept]
            objectives.append(first.with_target(target))
        return output, objectives

    def _attributes_at(self, state: State) -> dict[str, Any]:
        assert state.point is not None
        return {
            "coef_": state.point.w.copy()[None, :],
            "intercept_": np.array([state.point.b]),
            "classes_": self.classes_,
        }

    def decision_function(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """Scores z: (n,) for two classes, (n, k) for more."""
        return self._scores(X, offset)

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> AnyArray:
        """The label of the largest score."""
        z = self._scores(X, offset)
        return self._output.decode(z)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """Class probabilities σ(z), normalised over one-versus-rest models."""
        z = self._scores(X, offset)
        return self._output.probabilities(z)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """Logarithm of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset))

    @property
    def _output(self) -> ClassOutput:
        check_is_fitted(self)
        return ClassOutput(self.classes_, check_settings(self).loss)
