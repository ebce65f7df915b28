"""Classification: two classes are one score, more are one-versus-rest."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._base.typing import AnyArray, Array, ArrayLike, ClassifierLossName, PenaltyName
from ..losses import Loss
from ..outputs import ClassOutput
from ..penalties import Penalty
from ..problem.objective import Objective
from ..solvers import Solution, State, choose_solver, history, shared
from ..solvers.in_parallel import solve_each
from .base import Estimator, combined
from .callbacks import Relay, with_callbacks
from .inputs import data
from .inputs.class_weights import weighted_by_class
from .inputs.declared_classes import declared, places
from .noise import settled
from .problem import build
from .regressor import _loss_of
from .settings import Settings, check_decided, check_settings
from .stopping import stoppable
from .support_vectors import Margins, Training

if TYPE_CHECKING:
    from .stream import Batch


def _gives_probabilities(estimator: Any) -> bool:
    loss = _loss_of(estimator)
    if loss is None or not loss.probabilistic:
        raise AttributeError(f"loss={estimator.loss!r} does not give probabilities.")
    return True


def _can_learn_from_batches(estimator: Any) -> bool:
    if isinstance(estimator.class_weight, str):
        raise AttributeError(
            f"class_weight={estimator.class_weight!r} needs all of y at once: pass a dict by class "
            "to use partial_fit."
        )
    return True


class _Coded(NamedTuple):
    """Labels in numbers: one target per score, and what goes with every sample."""

    output: ClassOutput
    targets: list[Array]
    weights: Array | None
    offset: Array | None
    kept: Any  # samples whose weight is not zero


class Classifier(ClassifierMixin, Margins, Estimator):
    r"""Minimise mean loss(z, y) + alpha·penalty(w) over z = offset + X w + b, y = ±1.

    With k > 2 classes one model per class is fitted against the rest; each meets ``tol`` and the
    certificate is their sum.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        ``"logistic"``, ``"hinge"``, ``"squared_hinge"``, ``"exponential"``, ``"squared"``,
        ``"tanh_margin"``, an object, or your own subclass of `minimand.Margin`; `losses.table()`
        compares them.
    penalty : str or Penalty, default="l2"
        ``"l1"``, ``"l2"``, ``"no_penalty"``, ``"mcp"``, ``"scad"``, ``"lq"`` or an expression such
        as ``L1() + 0.5 * L2()``.
    alpha : float, optional
        Factor of the penalty; by default 1/Σs, as in `Regressor`, with class weights in the sum:
        scikit-learn's C is 1/(alpha·n_samples), and this is C = 1.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights by class.
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
        Samples whose multiplier is not zero, for some class at least.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Only with the penalty L2: w = Σ dual_coefᵢ·xᵢ over the support vectors. For the hinge it is
        yᵢαᵢ with 0 ≤ αᵢ ≤ C = 1/(alpha·n_samples), or sᵢ/(alpha·Σs) with sample weights s.
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
        X : array-like or sparse matrix of shape (n_samples, n_features), or what features= takes
        y : array-like of shape (n_samples,)
            Labels of any kind; at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight k is the same as k copies of the row, weight 0 as its absence.
        offset : array-like of shape (n_samples,), optional
            Added to every score as it is.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this estimator, fitted as far as it came.
        """
        settings = self._checked_settings()
        X, y = data.check_xy(self, X, y)
        data.check_labels(y)
        # Everything is checked before features are fitted, which may take long.
        coded = self._encode(settings, y, sample_weight, offset)
        settings = self._with_alpha(settings, y.shape[0], coded.weights)
        mapped = self._fit_features(X, y)
        objectives = self._build_all(settings, mapped, coded)
        with stoppable(self):
            settings, objectives = settled(self, settings, objectives)
            objectives = self._learn_features(X, coded.weights, objectives)
            with Relay(self, X, y) as relay:
                solutions = self._solve_all(coded.output, objectives, relay)
                self._store(coded.output, objectives, solutions)
                self._training = Training.of(objectives, solutions, coded.weights, mapped)
        self._warn_if_short(objectives[0], solutions)
        return self

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

        As in `Regressor.partial_fit`. ``classes`` declares all labels in the first call; without
        it, those of the first batch are all there are. ``class_weight`` must be None or a dict.
        """
        from .stream import solver_of

        solver_of(self)
        batch = self._batch(X, y, classes, sample_weight, offset)
        self.coef_, self.intercept_ = self._learn(batch)
        self.classes_ = batch.classes
        return self

    def _batch(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike,
        sample_weight: ArrayLike = None,
        offset: ArrayLike = None,
    ) -> Batch:
        """As in `Regressor`; a batch need not hold all classes."""
        from .stream import Batch

        settings = check_decided(self._checked_settings())
        first = not hasattr(self, "coef_")
        X, y = data.check_xy(self, X, y, fitted=not first)
        data.check_labels(y)
        weights = data.check_weights(sample_weight, y.shape[0])
        shift = data.check_offset(offset, y.shape[0])
        output = ClassOutput(declared(self, classes, first=y), settings.loss)
        index = places(output.classes, y)
        weights = weighted_by_class(self.class_weight, y, weights, output.classes)
        targets = [output.encode(index, score) for score in range(output.n_scores)]
        mapped = self._fit_features(X, y) if first else self._map_features(X)
        rest = (weights, shift, self.intercept, output.classes)
        return Batch(settings, mapped, targets, *rest)

    def _checked_settings(self) -> Settings:
        settings = check_settings(self)
        if settings.loss.target in ("count", "positive"):
            raise ValueError(
                f"loss={settings.loss!r} takes counts, not classes: use minimand.Regressor, "
                "or the loss Logistic()."
            )
        return settings

    def _solve_all(
        self, output: ClassOutput, objectives: list[Objective], relay: Relay
    ) -> list[Solution]:
        """One solution per score, all within one limit of time.

        Once somebody has said stop, the classes that are left are only judged where they start.
        """
        begun = time.perf_counter()
        starts = [self._start(output, objective, i) for i, objective in enumerate(objectives)]
        solver = shared(self.solver, objectives, starts)
        chosen = None
        if len(objectives) > 1:
            chosen = choose_solver(objectives[0], self._control([], begun), solver)

        def solve_one(i: int, solved: list[Solution]) -> Solution:
            attributes = partial(_attributes_at, output, solved)
            control = self._control(relay.to(attributes), begun)
            return self._minimise(objectives[i], control, starts[i], solver)

        watched = bool(self.verbose or self.callbacks or relay.active)
        return solve_each(solve_one, len(objectives), chosen, watched)

    def _start(
        self, output: ClassOutput, objective: Objective, score: int
    ) -> tuple[Array, float] | None:
        """The last fit's model of a score, if it is wanted and still fits."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        same = np.array_equal(self.classes_, output.classes)
        if not same or self.coef_.shape[1] != objective.n_features:
            return None
        # An intercept of the last fit must not stay in a model that has none.
        return self.coef_[score], self.intercept_[score] if self.intercept else 0.0

    def _store(
        self, output: ClassOutput, objectives: list[Objective], solutions: list[Solution]
    ) -> None:
        self.classes_ = output.classes
        self.coef_ = np.stack([s.w for s in solutions])
        self.intercept_ = np.array([s.b for s in solutions])
        whole = combined([s.certificate for s in solutions], [o.scale for o in objectives])
        self.certificate_ = self._qualified(whole)
        self.n_iter_ = max(self.certificate_.iterations, 1)
        self.solver_ = solutions[0].solver
        self.history_ = history.combined([s.history for s in solutions])

    def _objectives(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any, offset: Any, fitted: bool
    ) -> tuple[ClassOutput, list[Objective]]:
        """The classes, and one objective per score."""
        coded = self._encode(settings, y, sample_weight, offset)
        settings = self._with_alpha(settings, y.shape[0], coded.weights, fitted)
        return coded.output, self._build_all(settings, X, coded)

    def _encode(self, settings: Settings, y: Any, sample_weight: Any, offset: Any) -> _Coded:
        """Labels as targets; samples of weight zero have no say in which classes there are."""
        weights = data.check_weights(sample_weight, y.shape[0])
        shift = data.check_offset(offset, y.shape[0])
        weights = weighted_by_class(self.class_weight, y, weights)
        kept = slice(None) if weights is None else np.flatnonzero(weights)
        output = ClassOutput.of(y[kept], settings.loss)
        index = output.index(y)
        targets = [output.encode(index, score) for score in range(output.n_scores)]
        return _Coded(output, targets, weights, shift, kept)

    def _build_all(self, settings: Settings, X: Any, coded: _Coded) -> list[Objective]:
        """One objective per score; they share the design."""
        targets = coded.targets
        first = build(settings, X, targets[0], coded.weights, coded.offset, self.intercept)
        return [first, *(first.with_target(target[coded.kept]) for target in targets[1:])]

    def decision_function(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """Scores z: (n,) for two classes, (n, k) for more."""
        return self._scores(X, offset)

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> AnyArray:
        """The label of the largest score."""
        z = self._scores(X, offset)
        return self._output.decode(z)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> float:
        """The share of right predictions."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))

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


def _attributes_at(output: ClassOutput, solved: list[Solution], state: State) -> dict[str, Any]:
    """Fitted attributes as if the fit had stopped at this state; classes to come score zero."""
    assert state.point is not None
    coef = np.zeros((output.n_scores, state.point.w.shape[0]))
    intercept = np.zeros(output.n_scores)
    models = [*((s.w, s.b) for s in solved), (state.point.w, state.point.b)]
    for score, (w, b) in enumerate(models):
        coef[score], intercept[score] = w, b
    return {"coef_": coef, "intercept_": intercept, "classes_": output.classes}
