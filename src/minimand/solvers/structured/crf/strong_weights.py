"""The curvature of the strongest weights of a chain model with sparse features, taken together.

Of hundreds of thousands of features of text most occur a few times, and the penalty outweighs their
curvature. Some thousand weights are different: those of frequent features, and transitions. They
occur together, so that their diagonal alone says little, but their joint curvature

    Σₜ massₜ·(Σ_c pₜc·f_c f_cᵀ − gₜgₜᵀ),   gₜ = Σ_c pₜc·f_c,   f_c: features of t at label c

fits into memory. Tokens are taken by themselves, with the labels of their neighbours given. Tokens
whose labels are nearly certain add little each: some stand for several.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ...._base.threads import one_blas_thread
from ...._base.typing import Array, IntArray
from ..problem import ChainProblem
from .metric import Metric
from .sparse_slope import SparseSlope

_MOST = 3000  # weights, 72 MB of their curvature; safeguard
_STRONG = 1.0  # share of the penalty's curvature that a strong weight has at least; safeguard

# Multiply-adds for one of a pass: of the factor, which are quicker, of the sums over tokens, which
# are slower, and of products with the factor. Half and double of each change the time of a fit by
# 10 % at most, on 50 to 3000 sentences of CoNLL-2000, c2 of 0.1 and 1, and a synthetic task of 1500
# sequences. Of few sentences the strong weights neither save nor cost; measured there.
_FACTOR = 5.0
_SUMS = 0.5
_SOLVES = 0.4

_SLOWER = 0.1  # of a pass: what the products with the factor may cost in each step; safeguard
_RARE = 2e-3  # probability below which a label is left out; safeguard, kRare of the core
_UNSURE = 0.1  # 1 − p of the truth, below which tokens stand for others; measured on CoNLL-2000


@dataclass(frozen=True, eq=False)
class StrongMetric(Metric):
    """The joint curvature of chosen weights, by its factor; another metric for the rest."""

    rest: Metric
    chosen: IntArray
    factor: Array

    @property
    def sound(self) -> bool:
        """Steps of length 1 are nearly always good."""
        return True

    def solve(self, r: Array) -> Array:
        """M⁻¹r."""
        own, rest = r[self.chosen], r.copy()
        rest[self.chosen] = 0.0
        found = self.rest.solve(rest)
        with one_blas_thread():
            found[self.chosen] = linalg.cho_solve((self.factor, True), own, check_finite=False)
        return found


def with_strong_weights(
    metric: Metric, problem: ChainProblem, sparse: SparseSlope, curvature: Array, p: Array
) -> Metric:
    """The metric improved for strong weights, from its diagonal curvature and the marginals p."""
    chosen = _strongest(problem, sparse, curvature)
    if not chosen.size:
        return metric
    rows, mass = _tokens(problem, p, sparse)
    found = sparse.curvature(chosen, rows, mass, np.ascontiguousarray(p[rows]))
    # What the sample of tokens missed counts by itself.
    found.flat[:: chosen.size + 1] = np.maximum(np.diag(found), curvature[chosen]) + problem.l2
    try:
        with one_blas_thread():
            factor = linalg.cholesky(found, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return metric
    return StrongMetric(metric.diagonal, metric, chosen, factor)


def _strongest(problem: ChainProblem, sparse: SparseSlope, curvature: Array) -> IntArray:
    """Places of the weights of rows of the table, and of transitions, with the most curvature.

    So many that their factor costs a pass at most, and that its two uses in a step cost little.
    """
    by_step = np.sqrt(_SLOWER * _SOLVES * sparse.work / 4.0)
    most = int(min(_MOST, (3.0 * _FACTOR * sparse.work) ** (1 / 3), by_step))
    known = sparse.together
    known = known[curvature[known] > _STRONG * problem.l2]
    if not most:
        return known[:0]
    if known.size > most:
        known = known[np.argpartition(-curvature[known], most - 1)[:most]]
    return np.sort(known)


def _tokens(problem: ChainProblem, p: Array, sparse: SparseSlope) -> tuple[IntArray, Array]:
    """Tokens to visit, with their masses: the unsure ones, and of the others one of many.

    A token costs the square of its features times its likely labels; some are left out of all if
    that is too much.
    """
    mass = problem.token_mass
    unsure = 1.0 - p[np.arange(p.shape[0]), problem.labels]
    share = np.where(mass > 0, np.clip(unsure / _UNSURE, 0.0, 1.0), 0.0)
    terms = sparse.entries * (p > _RARE).sum(axis=1)
    share *= min(1.0, _SUMS * sparse.work / max(0.5 * float(share @ np.square(terms)), 1.0))
    steps = np.floor(np.cumsum(share))
    rows = np.flatnonzero((share >= 1.0) | (np.diff(steps, prepend=0.0) > 0))
    return rows, mass[rows] / share[rows]
