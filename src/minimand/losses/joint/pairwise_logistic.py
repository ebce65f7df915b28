"""The logistic loss of pairs of items: no sorted list gives its sums, so pairs are written down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, xlogy

from ..._base.typing import Array, IntArray
from ..base import Terms, runs_of
from ..curvature import beside
from ..margin import Logistic
from .pair_sums import OfPairs, levels, pair_counts
from .pairs import Pairwise

_MOST_PAIRS = 10**8  # pairs; safeguard: each takes some 50 bytes
_LOGISTIC = Logistic()


class _Pairs(NamedTuple):
    """All pairs of a data set."""

    differences: Any  # CSR, a row per pair: z ↦ zᵢ − zⱼ
    starts: IntArray  # where the pairs of every query begin; queries without pairs have none
    queries: IntArray  # that have pairs
    share: Array  # of every pair: 1 divided by the pairs of its query


class PairwiseLogistic(Pairwise):
    """Mean of log(1 + exp(−(zᵢ − zⱼ))) over the pairs of a query with yᵢ > yⱼ: RankNet, linear.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> loss = mm.losses.PairwiseLogistic().bind(np.array([0, 3]))
    >>> loss.value(np.array([2.0, 1.5, 0.0]), np.array([1.0, 0.0, 0.0]))
    array([0.30050...])
    """

    smoothness = 0.5

    def terms(self, z: Array, y: Array) -> Terms:
        """All three from one visit of the pairs."""
        pairs = self._pairs(y)
        margins, ones = pairs.differences @ z, np.ones(pairs.share.size)
        value, slope, bend = _LOGISTIC.terms(margins, ones)
        by_query = np.zeros(runs_of(self).size - 1)
        by_query[pairs.queries] = np.add.reduceat(pairs.share * value, pairs.starts)
        gradient = pairs.differences.T @ (pairs.share * slope)
        curvature = _Bends(pairs.differences, pairs.share * np.asarray(bend), np.ones(z.size))
        return Terms(by_query, gradient, curvature)

    def shrunk(self, s: float, value: Array, z: Array, y: Array) -> Array:
        """The relative entropies of s·p to p, p = 1/(1 + e^m), summed over the pairs."""
        pairs = self._pairs(y)
        margins = pairs.differences @ z
        rest = expit(margins)  # 1 − p; 1 − s·p = rest + (1 − s)·p does not cancel
        p = expit(-margins)
        more = 1.0 - s
        if more == 0:
            return np.zeros_like(value)
        grown = np.logaddexp(0.0, np.log(more) - margins)  # log((1 − s·p)/(1 − p))
        terms = xlogy(s * p, s) + (rest + more * p) * grown
        by_query = np.zeros_like(value)
        by_query[pairs.queries] = np.add.reduceat(pairs.share * terms, pairs.starts)
        return np.maximum(by_query, 0.0)

    def _pairs(self, y: Array) -> _Pairs:
        """The pairs of y, kept for the next call with the same y."""
        known = self.__dict__.get("_known")
        if known is None or known[0] is not y:
            known = (y, _pairs_of(y, np.asarray(runs_of(self))))
            self.__dict__["_known"] = known
        found: _Pairs = known[1]
        return found


def _pairs_of(y: Array, units: IntArray) -> _Pairs:
    """All pairs, query by query."""
    level = levels(y, units)
    counts = pair_counts(level, units)
    total = int(counts.sum())
    if total > _MOST_PAIRS:
        raise ValueError(
            f"the queries have {total:.2g} pairs, which is too many for the logistic loss, as it "
            "visits every one: use loss='squared_hinge', which sorts the scores instead."
        )
    higher, lower = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    place = 0
    for start, end in pairwise(units):
        some = level[start:end]
        i, j = np.nonzero(some[:, None] > some)
        higher[place : place + i.size], lower[place : place + i.size] = start + i, start + j
        place += i.size
    columns = np.stack([higher, lower], axis=1).ravel()
    signs = np.tile([1.0, -1.0], total)
    shape, begins = (total, level.size), np.arange(0, 2 * total + 1, 2)
    queries = np.flatnonzero(counts)
    starts = np.append(0, np.cumsum(counts[queries]))[:-1].astype(np.int64)
    share = np.repeat(1.0 / counts[queries], counts[queries].astype(np.int64))
    return _Pairs(sparse.csr_array((signs, columns, begins), shape), starts, queries, share)


@dataclass(frozen=True, eq=False)
class _Bends(OfPairs):
    """diag(scale)·Σ over pairs of bend·(eᵢ − eⱼ)(eᵢ − eⱼ)ᵀ; the rows of a query have one scale."""

    differences: Any
    bends: Array
    scale: Array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The shape of z."""
        return self.scale.shape

    def times(self, t: Array) -> Array:
        """The sums of bend·(tᵢ − tⱼ)."""
        if t.ndim == 1:
            found = self.differences.T @ (self.bends * (self.differences @ t))
        else:  # a table of pairs and columns would be large
            found = self._laplacian @ t
        return np.asarray(found * beside(self.scale, found))

    @cached_property
    def _laplacian(self) -> Any:
        """The sum over pairs as a sparse matrix, of at most as many numbers as pairs and rows."""
        return (self.differences.T @ sparse.diags_array(self.bends) @ self.differences).tocsr()

    def weighted(self, weights: Array) -> _Bends:
        """Weights times the scale."""
        return replace(self, scale=self.scale * weights)

    @property
    def bound(self) -> Array:
        """Twice the diagonal, as for every Laplacian."""
        return np.asarray(2.0 * self.scale * (abs(self.differences).T @ self.bends))
