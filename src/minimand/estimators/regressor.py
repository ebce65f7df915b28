"""Regression: any loss of a real score, any penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from .._base.parameters import store_arguments
from .._base.typing import AnyArray, Array, ArrayLike, PenaltyName, RegressorLossName
from ..losses import Loss
from ..outputs import Output, ScalarOutput, VectorOutput
from ..penalties import Penalty
from .base import Estimator
from .explained_loss import explained
from .inputs import data
from .problem import split
from .settings import Settings, check_settings, loss_of


class Regressor(RegressorMixin, Estimator):
    r"""Minimise mean loss(z, y) + alpha·penalty(w) over z = offset + X w + b.

    .. math:: \frac{\sum_i s_i\,\ell(z_i, y_i)}{\sum_i s_i} + \alpha\,\Omega(w)

    Parameters
    ----------
    loss : str or Loss, default="squared"
        What a score costs: ``"squared"``, ``"absolute"``, ``"huber"``, ``"quantile"``,
        ``"epsilon_insensitive"``, ``"chebyshev"``, ``"geman_mc_clure"``, ``"poisson"``,
        ``"gamma"``, ``"tweedie"``, ``"cross_entropy"``, an object, or your own subclass of
        `minimand.Distance`; `mm.losses.table()` compares them.
    penalty : str or Penalty, default="l2"
        ``"l1"``, ``"l2"``, ``"no_penalty"``, ``"mcp"``, ``"scad"``, ``"lq"``, a constraint such as
        ``"non_negative"`` or ``L1Ball(2.0)``, or an expression such as
        ``L1() + 0.5 * L2() + NonNegative()``.
    alpha : float, optional
        Factor of the penalty; 0 means no penalty. By default 1/Σs, with Σs the number of samples or
        the sum of their weights, so that the penalty weighs as much as one sample: the same as
        alpha=1 in Ridge and C=1 in LogisticRegression and SVC. Constraints ignore alpha.
    features : Kernel, Features or transformer, optional
        A kernel such as ``RBF(tau=2.0)`` or its short name makes a kernel machine of any loss, with
        a penalty of ‖f‖ alone; `coef_` then has the coordinates of f in `features_`. Or a map
        applied to X first, fitted with the model (on a copy, `features_`): `Monomials`,
        `Centers`, `Neighbors`, sums of them, `HiddenLayer`, or any scikit-learn transformer. It
        gets X unchanged, so X may be a data frame with text or missing values, or a list of texts.
        Maps that use X alone are fitted on all of its rows, whatever their sample_weight.
    intercept : bool, default=True
        Whether to fit an intercept b, which is not penalised.
    solver : str or Solver, default="auto"
        ``"closed_form"``, ``"newton"``, ``"working_set"``, ``"dual"``, ``"primal_dual"``,
        ``"column_generation"``, ``"multiplier"``, ``"reweighted"``, ``"graduated"``, ``"simplex"``,
        ``"constraint_generation"``, ``"low_rank"``, ``"splitting"``, ``"ordered"``,
        ``"by_score"``, for classes ``"class_dual"``, ``"class_primal_dual"``, ``"convex_concave"``;
        by default the cheapest one that accepts the problem (see `minimand.explain`). For teaching,
        never chosen by default: ``"proximal_gradient"``, ``"fista"``, ``"subgradient"``,
        ``"cyclic"``, ``"random"``. For streams ``"sgd"``. Or an object such as
        `minimand.solvers.Fista(restart=True)`.
    tol : float, default=1e-6
        The fit stops when its certified gap is below tol × (objective of the null model − mean
        infimum of the loss).
    max_iter : int, optional
        The largest number of iterations; no limit by default, since the gap ends the fit.
    max_seconds : float, optional
        Time limit; the model is then the best so far, with its true gap.
    memory : float, optional
        Bytes that a solver may use in addition to the data; larger factorisations are refused.
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
    coef_ : ndarray of shape (n_features,), or (n_outputs, n_features) for a y of several columns
    intercept_ : float, or ndarray of shape (n_outputs,)
    alpha_ : float
        The factor of the penalty: ``alpha``, or its default.
    certificate_ : Certificate
        How far the fit can be from the optimum; for a non-convex problem, from being
        stationary (its `kind` says which).
    n_iter_ : int
    solver_ : str
        The solver that ran; "dual → newton" if one handed over to another.
    history_ : History
        Objective, bound and gap after every iteration, against passes and seconds.
    support_ : ndarray of shape (n_support,)
        Indices of samples whose multiplier is not zero: with `EpsilonInsensitive`, of those outside
        the tube.
    dual_coef_ : ndarray of shape (1, n_support)
        Only with the penalty L2: w = Σ dual_coefᵢ·xᵢ over the support vectors. With a kernel
        f(x) = Σ dual_coefᵢ·k(xᵢ, x) + intercept_, under every penalty.
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
        store_arguments(self, locals())

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> Self:
        """Learn from one more batch of a stream, one stochastic step per row, in order.

        After the first 1000 rows, the model does not depend on how rows are cut into batches. Until
        then the step size is chosen anew whenever the number of rows has doubled, unless ``eta0``
        is given. ``solver`` must be ``"auto"``, ``"sgd"`` or a `minimand.solvers.Sgd`. The
        parameters are those of `fit`; features are fitted on the first batch. ``alpha=None`` is
        1/Σs over all rows so far, updated whenever Σs passes a power of two. ``partial_fit`` sets
        no certificate: `minimand.certify` computes one, also from batches.
        """
        from .stream import learn_batch

        learn_batch(self, X, y, None, sample_weight, offset)
        return self

    def _checked_settings(self) -> Settings:
        settings = check_settings(self)
        if settings.loss.target in ("sign", "class"):
            what = "the labels ±1" if settings.loss.target == "sign" else "classes"
            raise ValueError(
                f"loss={settings.loss!r} takes {what}: use minimand.Classifier, "
                "or the loss CrossEntropy() for y in [0, 1]."
            )
        return settings

    def _checked_target(self, y: AnyArray) -> Array:
        return data.check_numbers(y)

    def _output_of(self, y: AnyArray, weights: Array | None, loss: Loss) -> Output:
        one = loss.of_one_score
        columns = np.shape(y)[1:] if y is not None else np.shape(self.coef_)[:-1]  # set by hand
        return VectorOutput(one, columns[0]) if columns else ScalarOutput(one)

    def _attributes(self, output: Output, coef: Array, intercept: Array) -> dict[str, Any]:
        if output.scores == 1 and isinstance(output, ScalarOutput):
            return {"coef_": coef[0], "intercept_": float(intercept[0])}
        return {"coef_": coef, "intercept_": intercept}

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """The score on the scale of y: e^z for counts and deviances, σ(z) for cross entropy."""
        return super().predict(X, offset)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, offset: ArrayLike = None
    ) -> float:
        r"""D², the share of the model's own loss that it explains: R² for the squared loss.

        .. math:: D^2 = 1 - \frac{L(z) - \inf L}{\min_b L(\mathrm{offset} + b) - \inf L}

        with L the mean loss over these samples: 1 is perfect, and 0 is no better than the best
        constant. If the best constant is perfect, D² is 1 for a perfect model and 0 for others, as
        scikit-learn's R². Of several outputs it is the mean of their D².
        """
        posed = self._posed_again(X, y, sample_weight, offset)
        coefs, intercepts = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        objectives = posed.objectives if posed.coded.settings.loss.joint else posed.each_score
        found = [
            explained(objective, objective.scores(w, b))
            for objective, (w, b) in zip(objectives, split(objectives, coefs, intercepts))
        ]
        return float(np.mean(found))

    def __sklearn_tags__(self) -> Any:
        """Which targets the loss takes."""
        tags = super().__sklearn_tags__()
        target = getattr(loss_of(self), "target", "real")
        # scikit-learn's checks of several outputs pass negative numbers, whatever a loss takes.
        tags.target_tags.multi_output = target in ("real", "vector")
        tags.target_tags.positive_only = target in ("count", "positive", "unit")
        return tags
