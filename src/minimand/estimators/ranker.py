"""`Ranker`: scores that put the items of a query in order (RankSVM, RankNet)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.parameters import store_arguments
from .._base.typing import AnyArray, Array, ArrayLike, PenaltyName
from ..losses import (
    Hinge,
    Logistic,
    Loss,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquaredHinge,
    SquaredHinge,
)
from ..metrics import ndcg
from ..outputs import Output, QueriesOutput
from ..penalties import Penalty
from .base import Estimator
from .callbacks import with_callbacks
from .posing.query_problem import relevance_and_query
from .settings import Settings, check_settings

_OF_PAIRS: dict[type[Loss], Loss] = {
    SquaredHinge: PairwiseSquaredHinge(),
    Hinge: PairwiseHinge(),
    Logistic: PairwiseLogistic(),
}


class Ranker(Estimator):
    r"""Minimise mean over queries of the mean over pairs of ψ(zᵢ − zⱼ), plus alpha·penalty(w).

    The pairs of a query are those of its items with yᵢ > yⱼ; ψ(m) = max(0, 1 − m)², max(0, 1 − m)
    or log(1 + e^−m), z = offset + X w. There is no intercept, since it would change no difference.
    Queries count equally. With the hinges a pass takes O(n log n) for n items, however many pairs
    they form; the logistic loss visits every pair.

    Parameters
    ----------
    loss : {"squared_hinge", "hinge", "logistic"} or SquaredHinge, Hinge or Logistic, \
default="squared_hinge"
        ψ.
    penalty : str or Penalty, default="l2"
        L2, L1 or a sum of both, with or without weights, on every coefficient.
    alpha : float, optional
        The factor of the penalty; by default one divided by the number of queries, or by the sum of
        their weights.
    features : transformer or Kernel map, optional
        Applied to X first, as in `Regressor`.
    solver : str or Solver, default="auto"
        "run_newton" for smooth losses, "smoothed" for the hinge.
    tol : float, default=1e-6
        The largest ``certificate_.relative``.
    max_iter, max_seconds, memory, warm_start, random_state, verbose, callbacks
        As in `Regressor`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
        0.
    alpha_ : float
    n_pairs_ : int
    certificate_ : Certificate
    solver_ : str
    n_iter_ : int
    history_ : History

    Notes
    -----
    `minimand.path`, `Tuned`, `minimand.certify` and `minimand.explain` take a ``Ranker`` with
    ``groups=…``; `Tuned` does not part the items of a query.

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

    intercept = False
    in_queries = True

    def __init__(
        self,
        loss: Any = "squared_hinge",
        penalty: PenaltyName | Penalty = "l2",
        alpha: float | None = None,
        *,
        features: Any = None,
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

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike = None,
        sample_weight: ArrayLike = None,
        offset: ArrayLike = None,
    ) -> Self:
        """Fit the scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_items, n_features), a `minimand.design.Design`
            or whatever the transformer ``features`` takes
        y : array-like of shape (n_items,)
            Relevances: numbers, of which only the order within a query counts.
        groups : array-like of shape (n_items,), optional
            The query of every item, labels of any kind in any order; by default one query.
        sample_weight : array-like of shape (n_items,), optional
            Weights of the queries: a number per item, the same for all items of a query.
        offset : array-like of shape (n_items,), optional
            Added to the scores, e.g. those of an earlier ranking.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this estimator with the model found so far.
        """
        target = relevance_and_query(self, y, groups)
        return self._solved(self._posed(X, target, sample_weight, offset), target)

    def _checked_settings(self) -> Settings:
        settings = check_settings(self)
        pairs = _OF_PAIRS.get(type(settings.loss))
        if pairs is None:
            raise ValueError(
                "loss of Ranker must be 'squared_hinge', 'hinge' or 'logistic', not "
                f"{self.loss!r}: these have forms for pairs of items."
            )
        return replace(settings, loss=pairs)

    # y has two columns inside: the relevance and the number of the query ----------------------

    def _with_groups(self, y: Any, groups: Any) -> Any:
        return relevance_and_query(self, y, groups)

    def _takes_many(self, loss: Loss, y: Any) -> bool:
        return True

    def _checked_target(self, y: AnyArray) -> AnyArray:
        return y

    def _output_of(self, y: AnyArray, weights: Array | None, loss: Loss) -> Output:
        return QueriesOutput.of(y, weights, loss)

    def _fit_features(self, X: Any, y: Any, weights: Array | None = None) -> Any:
        return super()._fit_features(X, y[:, 0], weights)

    def _attributes(self, output: Any, coef: Array, intercept: Array) -> dict[str, Any]:
        return {"coef_": coef[0], "intercept_": 0.0}

    @property
    def n_pairs_(self) -> int:
        """Pairs of all queries."""
        check_is_fitted(self)
        return int(self._fitted.output.n_pairs)  # type: ignore[attr-defined]

    # Prediction --------------------------------------------------------------------------------

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """The scores z: the larger, the earlier an item comes in its query."""
        return np.asarray(super().predict(X, offset))

    def score(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike = None, offset: ArrayLike = None
    ) -> float:
        """NDCG of the ranking, the mean over queries; see `minimand.metrics`."""
        return ndcg(y, self.predict(X, offset), groups)
