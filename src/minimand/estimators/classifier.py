"""Classification: two classes are one score, more are one-versus-rest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from .._base.available import available_if
from .._base.parameters import store_arguments
from .._base.typing import AnyArray, Array, ArrayLike, ClassifierLossName, PenaltyName
from ..losses import Loss
from ..outputs import ClassOutput, IndicatorOutput, Output, PairsOutput
from ..penalties import Penalty
from .base import Estimator
from .inputs import data
from .inputs.stream_classes import stream_classes
from .settings import Settings, check_settings, loss_of, penalty_of
from .support_vectors import Margins


def _gives_probabilities(estimator: Any) -> bool:
    """Whether the loss gives probabilities: that of the fit, or else that of the parameters."""
    fitted = estimator.__dict__.get("_fitted")
    loss = loss_of(estimator) if fitted is None else fitted.settings.loss
    if loss is None or not loss.probabilistic:
        asked = estimator.loss if fitted is None else loss
        raise AttributeError(
            f"loss={asked!r} does not give probabilities, its scores say which class and no more: "
            "take loss='logistic', or put the model into minimand.Calibrated."
        )
    return True


def _can_learn_from_batches(estimator: Any) -> bool:
    if isinstance(estimator.class_weight, str):
        raise AttributeError(
            f"class_weight={estimator.class_weight!r} needs all of y at once: pass a dict by class "
            "to use partial_fit."
        )
    loss, penalty = loss_of(estimator), penalty_of(estimator)
    if loss is not None and loss.in_pairs:
        raise AttributeError(
            f"loss={loss!r} needs all classes of y at once: take the loss itself, one class "
            "against the rest, to use partial_fit."
        )
    if penalty is not None and penalty.couples_scores:
        raise AttributeError(
            f"penalty={penalty!r} joins the scores, and stochastic steps take sums over "
            "coefficients: call fit, or take L1() and L2() to use partial_fit."
        )
    return True


class Classifier(ClassifierMixin, Margins, Estimator):
    r"""Minimise mean loss(z, y) + alpha·penalty(w) over z = offset + X w + b, y = ±1.

    With k > 2 classes one model per class is fitted against the rest; each meets ``tol`` and the
    certificate is their sum.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        ``"logistic"``, ``"hinge"``, ``"squared_hinge"``, ``"exponential"``, ``"squared"``,
        ``"tanh_margin"``, an object such as ``OneVsOne(Hinge())``, or your own subclass of
        `minimand.Margin`; `mm.losses.table()` compares them.
    penalty : str or Penalty, default="l2"
        ``"l1"``, ``"l2"``, ``"no_penalty"``, ``"mcp"``, ``"scad"``, ``"lq"`` or an expression such
        as ``L1() + 0.5 * L2()``.
    alpha : float, optional
        Factor of the penalty; by default 1/Σs, as in `Regressor`, with class weights in the sum:
        scikit-learn's C is 1/(alpha·n_samples), and this is C = 1.
    class_weight : dict or "balanced", optional
        Factors of the sample weights, by class. With several labels per sample, a dict by 0 and 1
        or "balanced" for the problem of every label, or a list with one of these per label.
    features, intercept, solver, tol, max_iter, max_seconds, memory
        As in `Regressor`.
    warm_start, random_state, verbose, callbacks
        As in `Regressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    alpha_ : float
    certificate_ : Certificate
    n_iter_ : int
    solver_ : str
    history_ : History
        Objective, bound and gap after every iteration, added up over the classes.
    support_ : ndarray of shape (n_support,)
        Indices of samples whose multiplier is not zero for at least one class.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Only with the penalty L2: w = Σ dual_coefᵢ·xᵢ over the support vectors. For the hinge it is
        yᵢαᵢ with 0 ≤ αᵢ ≤ C = 1/(alpha·n_samples), or sᵢ/(alpha·Σs) with sample weights s. With
        `OneVsOne` it has a row for each of the n_classes − 1 classes that a sample is not of, as in
        scikit-learn's SVC; so have `margin_points_` and `slack_`, in columns.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Only for losses that are flat somewhere (`Hinge`, `SquaredHinge`): the rows `support_` of X,
        or of φ(X) with ``features``; `coef_` is ``dual_coef_ @ support_vectors_``.
    sample_weights_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Only for robust losses (`TanhMargin`): how much every sample counts, as in `Regressor`.
    margin_, slack_, margin_points_ : float or ndarray, ndarray, MarginPoints
        Only for losses that vanish beyond a margin (`Hinge`, `SquaredHinge`): the distance 1/‖w‖
        from the plane to the margin, max(0, 1 − y·z) of every sample, and which samples lie on the
        margin, inside it and beyond it. One column per class where there are several; NaN for
        samples of weight 0.

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
        loss: ClassifierLossName | Loss = "logistic",
        penalty: PenaltyName | Penalty = "l2",
        alpha: float | None = None,
        *,
        features: Any = None,
        intercept: bool = True,
        solver: Any = "auto",
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
        store_arguments(self, locals())

    @available_if(_can_learn_from_batches)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike = None,
        sample_weight: ArrayLike = None,
        offset: ArrayLike = None,
    ) -> Self:
        """Learn from one more batch of a stream, one stochastic step per row, in order.

        As in `Regressor.partial_fit`. The first call fixes the labels: ``classes``, or by default
        those of the first batch. ``class_weight`` must be None or a dict.
        """
        from .stream import learn_batch

        learn_batch(self, X, y, classes, sample_weight, offset)
        return self

    def _checked_settings(self) -> Settings:
        settings = check_settings(self)
        if settings.loss.target in ("count", "positive"):
            raise ValueError(
                f"loss={settings.loss!r} takes counts, not classes: use minimand.Regressor, "
                "or the loss Logistic()."
            )
        if settings.loss.joint and settings.loss.target != "class":
            raise ValueError(
                f"loss={settings.loss!r} takes numbers, not classes: use minimand.Regressor."
            )
        return settings

    def _takes_many(self, loss: Loss, y: Any) -> bool:
        return data.n_columns(y) > 1  # an indicator of labels; a joint loss refuses it below

    def _checked_target(self, y: AnyArray) -> AnyArray:
        if y.ndim == 2:
            data.check_indicator(y)
            return y
        data.check_labels(y)
        return y

    def _output_of(self, y: AnyArray, weights: Array | None, loss: Loss) -> Output:
        present = y if weights is None else y[weights > 0]
        if y.ndim == 1:
            found = ClassOutput.of(present, loss)
            several = loss.in_pairs and found.classes.size > 2
            return PairsOutput(found.loss, found.classes) if several else found
        if loss.joint or loss.in_pairs:
            raise ValueError(
                f"y has {y.shape[1]} columns, but loss={loss!r} takes one class per sample: use a "
                "margin loss such as Logistic() for several labels per sample."
            )
        return IndicatorOutput.of(present, loss)

    def _output_of_stream(self, y: AnyArray, loss: Loss, classes: ArrayLike) -> Output:
        if y.ndim == 2:
            raise ValueError("partial_fit takes one label per sample: call fit for several labels.")
        return ClassOutput(loss.of_one_score, stream_classes(self, classes, y))

    def _check_same(self, output: Any) -> None:
        if not np.array_equal(output.classes, self.classes_):
            raise ValueError(
                f"y holds the classes {output.classes.tolist()}, but the model was fitted on "
                f"{self.classes_.tolist()}: pass the data it was fitted on."
            )

    def _attributes(self, output: Any, coef: Array, intercept: Array) -> dict[str, Any]:
        return {"coef_": coef, "intercept_": intercept, "classes_": output.classes}

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> AnyArray:
        """The label of the largest score."""
        return super().predict(X, offset)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> float:
        """The share of correct predictions (accuracy)."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """Class probabilities σ(z), normalised over one-versus-rest models."""
        z = self._scores(X, offset)
        output: Any = self._fitted.output
        probabilities: Array = output.probabilities(z)
        return probabilities

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """Logarithm of the class probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset))
