"""Regression: any loss of a real score, any penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._base.typing import Array, ArrayLike, PenaltyName, RegressorLossName
from ..losses import Loss
from ..outputs import ScalarOutput
from ..penalties import Penalty
from ..problem.objective import Objective
from ..solvers import State
from .base import Estimator
from .callbacks import Relay, with_callbacks
from .explained_loss import explained
from .inputs import data
from .noise import settled
from .problem import build
from .settings import Settings, check_decided, check_settings
from .stopping import stoppable
from .support_vectors import Training

if TYPE_CHECKING:
    from .stream import Batch


class Regressor(RegressorMixin, Estimator):
    r"""Minimise mean loss(z, y) + alpha·penalty(w) over z = offset + X w + b.

    .. math:: \frac{\sum_i s_i\,\ell(z_i, y_i)}{\sum_i s_i} + \alpha\,\Omega(w)

    Parameters
    ----------
    loss : str or Loss, default="squared"
        What a score costs: ``"squared"``, ``"absolute"``, ``"huber"``, ``"quantile"``,
        ``"epsilon_insensitive"``, ``"chebyshev"``, ``"geman_mc_clure"``, ``"poisson"``,
        ``"gamma"``, ``"tweedie"``, ``"cross_entropy"``, an object, or your own subclass of
        `minimand.Distance`; `losses.table()` compares them.
    penalty : str or Penalty, default="l2"
        ``"l1"``, ``"l2"``, ``"no_penalty"``, ``"mcp"``, ``"scad"``, ``"lq"``, a constraint such as
        ``"non_negative"`` or ``L1Ball(2.0)``, or an expression such as
        ``L1() + 0.5 * L2() + NonNegative()``.
    alpha : float, optional
        Factor of the penalty; 0 means none. By default 1/Σs, with Σs the number of samples or the
        sum of their weights, so that the penalty weighs as much as one sample does: what Ridge
        means by alpha=1 and LogisticRegression and SVC by C=1. Constraints ignore it.
    features : Features or transformer, optional
        A map applied to X first, fitted along with the model (on a copy, `features_`): `Monomials`,
        `Centers`, `Neighbors`, sums of them, `HiddenLayer`, or any scikit-learn transformer, which
        gets X as it is: data frames with text or missing values, a list of texts. Maps that look at
        X alone look at all of its rows, whatever their sample_weight.
    intercept : bool, default=True
        Whether to add an unpenalised b.
    solver : str or Solver, default="auto"
        ``"closed_form"``, ``"newton"``, ``"working_set"``, ``"dual"``, ``"primal_dual"``,
        ``"column_generation"``, ``"multiplier"``, ``"reweighted"``, ``"graduated"``, ``"simplex"``,
        ``"constraint_generation"``, or let the verdicts decide. To study them, and by name only:
        ``"proximal_gradient"``, ``"fista"``, ``"subgradient"``, ``"cyclic"``, ``"random"``; for
        streams ``"sgd"``; or an object such as `minimand.solvers.Fista(restart=True)`.
    tol : float, default=1e-6
        The fit stops when its certified gap is below tol × (objective of the null model − mean
        infimum of the loss).
    max_iter : int, optional
        Most iterations; none by default, because the gap decides.
    max_seconds : float, optional
        Most seconds; the model handed over is then the best so far, with its true gap.
    memory : float, optional
        Bytes a solver may use beside the data; larger factorisations are refused.
    warm_start : bool, default=False
        Start from the last fit's coefficients.
    random_state : int or RandomState, optional
        Seed of solvers that draw random numbers (``"random"``, ``"graduated"``, ``"sgd"``); the
        others are deterministic.
    verbose : bool, default=False
        Show a progress bar with the gap.
    callbacks : sequence, optional
        Called with a state (iteration, passes, seconds, primal, dual, gap) after every
        iteration; return `minimand.STOP` to stop. scikit-learn ≥ 1.9 callbacks work too.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    alpha_ : float
        The factor of the penalty: alpha, or what stands for it by default.
    certificate_ : Certificate
        How far the fit can be from the optimum; with a penalty that is not convex, from being
        stationary (its `kind` says which).
    n_iter_ : int
    solver_ : str
        The solver that ran; "dual → newton" where one handed over to another.
    history_ : History
        Objective, bound and gap after every iteration, against passes and seconds.
    support_ : ndarray of shape (n_support,)
        Samples whose multiplier is not zero: with `EpsilonInsensitive`, those outside the tube.
    dual_coef_ : ndarray of shape (1, n_support)
        Only with the penalty L2: w = Σ dual_coefᵢ·xᵢ over the support vectors.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Only for losses that are flat somewhere (`EpsilonInsensitive`): the rows `support_` of X, or
        of φ(X) with ``features``.
    sample_weights_ : ndarray of shape (n_samples,)
        Only for robust losses (`Huber`, `GemanMcClure`, `TruncatedSquared`, `Lp` with p < 1): how
        much every sample counts, 1 fully and 0 not at all. Least squares with these weights (for
        `Lp` least absolute deviations) have the same solution. NaN for samples of weight 0.
    loss_ : Loss
        Only if a parameter of the loss is "auto": the loss with the number that was found.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mm.Regressor("squared", "l1", alpha=0.5).fit(X, y)
    >>> model.certificate_.relative < 1e-6
    True
    >>> int((model.coef_ != 0).sum())
    4
    """

    def __init__(
        self,
        loss: RegressorLossName | Loss = "squared",
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

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or what features= takes
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weight k is the same as k copies of the row, weight 0 as its absence.
        offset : array-like of shape (n_samples,), optional
            Added to the score as it is, e.g. the log of an exposure.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this estimator, fitted as far as it came.
        """
        settings = self._checked_settings()
        X, y = data.check_xy(self, X, y)
        # Everything is checked before features are fitted, which may take long.
        y = ScalarOutput(settings.loss).encode(data.check_numbers(y))
        sample_weight = data.check_weights(sample_weight, y.shape[0])
        offset = data.check_offset(offset, y.shape[0])
        settings = self._with_alpha(settings, y.shape[0], sample_weight)
        mapped = self._fit_features(X, y)
        objective = build(settings, mapped, y, sample_weight, offset, self.intercept)
        with stoppable(self):
            settings, objectives = settled(self, settings, [objective])
            (objective,) = self._learn_features(X, sample_weight, objectives)
            with Relay(self, X, y) as relay:
                control = self._control(relay.to(_attributes_at))
                solution = self._minimise(objective, control, self._start(objective))
                self.coef_, self.intercept_ = solution.w, solution.b
                self.certificate_ = self._qualified(solution.certificate)
                self.n_iter_ = max(solution.certificate.iterations, 1)
                self.solver_ = solution.solver
                self.history_ = solution.history
                self._training = Training.of([objective], [solution], sample_weight, mapped)
        self._warn_if_short(objective, [solution])
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> Self:
        """Learn from one more batch of a stream, one stochastic step per row, in order.

        The same rows in batches of any size lead to the same model, once 1000 of them have come by:
        until then the step is chosen again whenever there are twice as many, unless ``eta0`` is
        given. ``solver`` must be ``"auto"``, ``"sgd"`` or a `minimand.solvers.Sgd`. The parameters
        are those of `fit`; features are fitted on the first batch. ``alpha=None`` is 1/Σs over all
        rows so far, which steps learn of whenever Σs passes a power of two. There is no certificate
        of a stream: ask `minimand.certify`, which takes batches too.
        """
        from .stream import solver_of

        solver_of(self)
        batch = self._batch(X, y, None, sample_weight, offset)
        coef, intercept = self._learn(batch)
        self.coef_, self.intercept_ = coef[0], float(intercept[0])
        return self

    def _batch(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike,
        sample_weight: ArrayLike = None,
        offset: ArrayLike = None,
    ) -> Batch:
        """The problem on some rows of a stream; features are fitted on the first ones."""
        from .stream import Batch

        settings = check_decided(self._checked_settings())
        first = not hasattr(self, "coef_")
        X, y = data.check_xy(self, X, y, fitted=not first)
        y = ScalarOutput(settings.loss).encode(data.check_numbers(y))
        weights = data.check_weights(sample_weight, y.shape[0])
        shift = data.check_offset(offset, y.shape[0])
        mapped = self._fit_features(X, y) if first else self._map_features(X)
        return Batch(settings, mapped, [y], weights, shift, self.intercept)

    def _start(self, objective: Objective) -> tuple[Array, float] | None:
        """The last fit's model, if it is wanted and still fits."""
        if not self.warm_start or getattr(self, "coef_", None) is None:
            return None
        fits = self.coef_.shape == (objective.n_features,)
        # An intercept of the last fit must not stay in a model that has none.
        return (self.coef_, self.intercept_ if self.intercept else 0.0) if fits else None

    def _checked_settings(self) -> Settings:
        settings = check_settings(self)
        if settings.loss.target == "sign":
            raise ValueError(
                f"loss={settings.loss!r} takes the labels ±1: use minimand.Classifier, "
                "or the loss CrossEntropy() for y in [0, 1]."
            )
        return settings

    def _objective(
        self, settings: Settings, X: Any, y: Any, sample_weight: Any, offset: Any, fitted: bool
    ) -> Objective:
        target = ScalarOutput(settings.loss).encode(data.check_numbers(y))
        weights = data.check_weights(sample_weight, target.shape[0])
        shift = data.check_offset(offset, target.shape[0])
        settings = self._with_alpha(settings, target.shape[0], weights, fitted)
        return build(settings, X, target, weights, shift, self.intercept)

    def decision_function(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """The score z = offset + X w + b."""
        return self._scores(X, offset)

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """The score on the scale of y: e^z for counts and deviances, σ(z) for cross entropy."""
        z = self._scores(X, offset)
        return ScalarOutput(check_settings(self).loss).decode(z)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> float:
        r"""D², the share of the model's own loss that it explains: R² for the squared loss.

        .. math:: D^2 = 1 - \frac{L(z) - \inf L}{\min_b L(\mathrm{offset} + b) - \inf L}

        with the mean loss L over these samples: 1 is perfect, and 0 is no better than the best
        constant. Where that is perfect itself, it is 1 for a perfect model and 0 for others, as
        scikit-learn's R² is.
        """
        check_is_fitted(self)
        settings = self._checked_settings()
        X, y = data.check_xy(self, X, y, fitted=True)
        rest = (sample_weight, offset, True)
        objective = self._objective(settings, self._map_features(X), y, *rest)
        return explained(objective, objective.scores(self.coef_, self.intercept_))

    def __sklearn_tags__(self) -> Any:
        """Which targets the loss takes."""
        tags = super().__sklearn_tags__()
        target = getattr(_loss_of(self), "target", "real")
        tags.target_tags.positive_only = target in ("count", "positive", "unit")
        return tags


def _attributes_at(state: State) -> dict[str, Any]:
    """Fitted attributes as if the fit had stopped at this state."""
    assert state.point is not None
    return {"coef_": state.point.w.copy(), "intercept_": state.point.b}


def _loss_of(estimator: Any) -> Any:
    from ..losses import REGISTRY

    try:
        return REGISTRY.get(estimator.loss)
    except ValueError:
        return None
