"""`Ranker`: scores that put the items of a query in order (RankSVM)."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.typing import AnyArray, Array, ArrayLike
from ..certificate import Certificate
from ..design import as_design
from ..losses import Hinge, Loss, PairwiseHinge, PairwiseSquaredHinge, SquaredHinge
from ..losses.joint.pair_sums import levels, pair_counts
from ..metrics import ndcg, rows_of_queries
from ..penalties import REGISTRY as PENALTIES
from ..penalties import Penalty
from ..problem.objective import Objective
from ..solvers import Control, solve
from .inputs import data
from .outcome import warn_if_short
from .settings import Settings, check_limits, check_real, check_solver
from .stopping import stoppable
from .summary import Summarised

_LOSSES: dict[str, Loss] = {"squared_hinge": PairwiseSquaredHinge(), "hinge": PairwiseHinge()}


class Ranker(Summarised):
    r"""Minimise mean over queries of the mean over pairs of ψ(zᵢ − zⱼ), plus alpha·penalty(w).

    The pairs of a query are those of its items with yᵢ > yⱼ; ψ(m) = max(0, 1 − m)² or
    max(0, 1 − m), z = X w. There is no intercept, since it would change no difference. A pass takes
    O(n log n) for n items, however many pairs they form. Queries count equally.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge"} or SquaredHinge or Hinge, default="squared_hinge"
        ψ.
    penalty : str or Penalty, default="l2"
        Solvers take L2, with or without weights.
    alpha : float, optional
        The factor of the penalty; by default one divided by the number of queries.
    solver : str or Solver, default="auto"
        "run_newton" for the squared hinge, "smoothed" for the hinge.
    tol : float, default=1e-6
        The largest ``certificate_.relative``.
    max_iter, max_seconds : optional
        Limits; a fit that reaches one is valid, has its true gap, and warns.
    callbacks : sequence, optional
        Called with a state after every iteration, as in `Regressor`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    alpha_ : float
    n_pairs_ : int
    certificate_ : Certificate
    solver_ : str
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> rng = np.random.default_rng(0)
    >>> X, query = rng.standard_normal((200, 5)), np.repeat(np.arange(20), 10)
    >>> relevance = np.digitize(X @ [1, 2, 0, 0, -1] + rng.standard_normal(200), [0, 2])
    >>> model = mm.Ranker().fit(X, relevance, groups=query)
    >>> model.certificate_.relative < 1e-6, model.score(X, relevance, groups=query) > 0.9
    (True, True)
    """

    coef_: Array
    certificate_: Certificate

    def __init__(
        self,
        loss: Any = "squared_hinge",
        penalty: Any = "l2",
        alpha: float | None = None,
        *,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        callbacks: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.callbacks = callbacks

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Self:
        """Fit the scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_items, n_features)
        y : array-like of shape (n_items,)
            Relevances: numbers, of which only the order within a query counts.
        groups : array-like of shape (n_items,), optional
            The query of every item, labels of any kind in any order; by default one query.
        sample_weight : array-like of shape (n_items,), optional
            Weights of the queries: a number per item, the same for all items of a query.
        """
        loss, penalty, alpha = self._settings()
        X, y = data.check_xy(self, X, y)
        runs = _Runs.of(data.check_numbers(y), groups, sample_weight)
        objective = self._objective(X, runs, loss, penalty, alpha)
        ridge = objective.penalty.ridge
        if ridge is None or not (ridge > 0).all():
            raise ValueError(
                f"Ranker needs an L2 on every coefficient, but penalty={penalty!r} with "
                f"alpha={self.alpha!r} is none: use penalty='l2' and an alpha above 0."
            )
        with stoppable(self):
            solution = solve(objective, self.solver, self._control(self.callbacks or []))
            self.coef_ = solution.point.w
            self.alpha_ = 1.0 / runs.weights.sum() if alpha is None else alpha
            self.n_pairs_ = int(runs.pairs.sum())
            self.certificate_ = solution.certificate
            self.solver_, self.history_ = solution.solver, solution.history
            self.n_iter_ = max(solution.certificate.iterations, 1)
        warn_if_short(self, objective, [solution])
        return self

    def _settings(self) -> tuple[Loss, Penalty, float | None]:
        """The parameters, checked."""
        known = {SquaredHinge: "squared_hinge", Hinge: "hinge"}
        name = known.get(type(self.loss), self.loss)
        if not isinstance(name, str) or name not in _LOSSES:
            raise ValueError(
                f"loss of Ranker must be 'squared_hinge' or 'hinge', not {self.loss!r}: sums over "
                "pairs of other losses do not follow from a sorted list."
            )
        check_limits(self)
        check_solver(self.solver)
        alpha = None if self.alpha is None else check_real("alpha", self.alpha, low=0.0)
        return _LOSSES[name], PENALTIES.get(self.penalty), alpha

    def _objective(
        self, X: Any, runs: _Runs, loss: Loss, penalty: Penalty, alpha: float | None
    ) -> Objective:
        """The problem on the items, query by query."""
        design = as_design(X)
        if not np.array_equal(runs.order, np.arange(design.shape[0])):
            design = design.rows(runs.order)
        factor = 1.0 / float(runs.weights.sum()) if alpha is None else alpha
        settings = Settings(loss, penalty, factor, intercept=False)
        bound = loss.bind(runs.units)
        return Objective(
            loss=bound,
            penalty=penalty.bind(design.shape[1], factor),
            design=design,
            y=runs.y,
            mass=bound.masses(runs.weights),
            intercept=False,
            words=settings.words_with_score(factor, offset=False, intercept=False),
        )

    def _control(self, callbacks: Any) -> Control:
        return Control(
            tol=float(self.tol),
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            callbacks=callbacks,
        )

    def decision_function(self, X: ArrayLike) -> Array:
        """The scores z = X w."""
        check_is_fitted(self)
        return as_design(data.check_x(self, X)).matvec(self.coef_)

    def predict(self, X: ArrayLike) -> Array:
        """The scores z = X w: the larger, the earlier an item comes in its query."""
        return self.decision_function(X)

    def score(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike = None) -> float:
        """NDCG of the ranking, the mean over queries; see `minimand.metrics`."""
        return ndcg(y, self.predict(X), groups)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted; y is required."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class _Runs(NamedTuple):
    """Items sorted by query; queries without weight or without pairs are left out."""

    order: AnyArray  # rows of X
    units: Any
    y: Array
    weights: Array  # of the queries
    pairs: Array

    @classmethod
    def of(cls, y: Array, groups: ArrayLike, sample_weight: ArrayLike) -> _Runs:
        queries = rows_of_queries(groups, y.size)
        weights = _query_weights(queries, data.check_weights(sample_weight, y.size))
        kept = [
            (rows, weight)
            for rows, weight in zip(queries, weights)
            if weight > 0 and np.ptp(y[rows]) > 0
        ]
        if not kept:
            raise ValueError(
                "no query has items of different relevance, so that there is nothing to rank: y "
                "must differ within a group."
            )
        order = np.concatenate([rows for rows, _ in kept])
        units = np.append(0, np.cumsum([rows.size for rows, _ in kept])).astype(np.int64)
        level = levels(y[order], units)
        pairs = pair_counts(level, units)
        weight = np.array([weight for _, weight in kept])
        return cls(order, units, level.astype(float), weight, pairs)


def _query_weights(queries: list[AnyArray], weights: Array | None) -> Array:
    """One weight per query."""
    if weights is None:
        return np.ones(len(queries))
    for rows in queries:
        if np.ptp(weights[rows]) > 0:
            raise ValueError(
                "sample_weight of Ranker weighs queries: all items of a query must have the same."
            )
    return np.array([weights[rows[0]] for rows in queries])
