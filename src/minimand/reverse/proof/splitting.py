r"""Tightens the dual bound of a clustering by alternating directions, for up to 2000 points.

Peng and Wei's relaxation maximises tr CZ over matrices Z in two sets: those with Zu = u whose part
off u has eigenvalues between 0 and 1 and the trace k − 1, and those without a negative entry.
Projections onto the sets take turns,

    Z ← projection of W + (C + B)/σ onto the first,   W ← max(Z − B/σ, 0),   B ← σ·max(B/σ − Z, 0),

and every B ≥ 0 on the way gives a valid bound (`closed_form`), the better the closer the two are.
"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
from scipy import linalg

from ..._base.eigenvalues import largest_eigenpairs
from ..._base.linear_system import EPS
from ..._base.typing import Array
from ..._base.watch import interrupt, reason
from ...certificate.eigenvalues.krylov import Krylov
from ...certificate.eigenvalues.ritz import Operator
from .points import Points

MOST_POINTS = 2000  # whose matrix is decomposed again and again; safeguard
_WORK = 2e11  # operations, of which a round takes about n³; safeguard: about a minute
_LEAST, _MOST = 40, 1000  # rounds; safeguards
_EVERY = 10  # rounds between two bounds; safeguard: a bound costs half a round
_PATIENCE = 5  # bounds that must together close `_WORTH` of the gap; safeguard
_WORTH = 0.02  # share of the gap; safeguard
_BLOCKS = 3  # of the Krylov space of a projection; safeguard: more take as long as all of LAPACK
_ACCURATE = 1e-3  # residual of the eigenvectors of a projection, whose eigenvalues are 1; safeguard
_RELAXED = 1.6  # over-relaxation; convention
_BALANCE = 3.0  # ratio of the residuals from which σ is changed; convention: 10, milder here


def tightened(
    points: Points, k: int, Z: Array, B: Array, goal: float
) -> tuple[Array, float, float]:
    """The best B that was found, its lower bound and rounding; ends when that reaches ``goal``.

    Z and B are those of the clustering and of its closed form.
    """
    C, u = points.matrix(), points.root / np.linalg.norm(points.root)
    rounds = int(np.clip(_WORK / max(points.n, 1) ** 3, _LEAST, _MOST))
    sigma = float(linalg.norm(C + B, check_finite=False)) / math.sqrt(k)
    best = B, *lower_bound(points, B, k)
    if not sigma > EPS * points.size:  # equal points: all that is left is rounding
        return best
    W, seen, project = Z.copy(), [best[1]], Projection(u, k)
    try:
        for step in range(1, rounds + 1):
            if best[1] >= goal or reason():
                break
            Z = project(W + (C + B) / sigma)
            mixed = _RELAXED * Z + (1.0 - _RELAXED) * W - B / sigma
            before, W = W, np.maximum(mixed, 0.0)
            B = sigma * np.maximum(-mixed, 0.0)
            if step % _EVERY == 0:
                found = lower_bound(points, B, k)
                if found[0] > best[1]:
                    best = B, *found
                sigma = _balanced(sigma, Z - W, W - before)
                seen.append(best[1])
                if _stagnates(seen, goal):
                    break
    except KeyboardInterrupt:  # the best so far is a bound
        interrupt()
    return best


def _stagnates(seen: list[float], goal: float) -> bool:
    """Whether the last bounds have closed next to nothing of the gap."""
    if len(seen) <= _PATIENCE:
        return False
    before = seen[-1 - _PATIENCE]
    return seen[-1] - before < _WORTH * (goal - before)


def lower_bound(points: Points, B: Array, k: int) -> tuple[float, float]:
    """tr C − uᵀBu/‖u‖² − the k − 1 largest eigenvalues of C + PBP, and its rounding."""
    root, top = points.root, points.top_with(B, k - 1)
    along = float(root @ B @ root) / float(root @ root)
    return points.total - top.value - along, top.rounding


class Projection:
    """The nearest matrix uuᵀ + Z', Z'u = 0, with eigenvalues of Z' in [0, 1] that sum to k − 1.

    From call to call the matrices change little. So a call begins with the eigenvectors of the last
    one, and all of the matrix is decomposed only where some steps from there are not accurate.
    """

    def __init__(self, u: Array, k: int) -> None:
        self._u, self._k = u, k
        self._near: Array | None = None
        self._rng = np.random.RandomState(0)

    def __call__(self, X: Array) -> Array:
        """The matrix that is nearest to X."""
        u = self._u
        along = X @ u
        X = X - np.outer(u, along) - np.outer(along, u) + float(u @ along) * np.outer(u, u)
        X = 0.5 * (X + X.T)
        found = self._from_last(X)
        values, vectors, level = self._decomposed(X) if found is None else found
        self._near = vectors
        kept = np.clip(values - level, 0.0, 1.0)
        vectors = vectors[:, kept > 0]
        return np.asarray(np.outer(u, u) + (vectors * kept[kept > 0]) @ vectors.T)

    def _from_last(self, X: Array) -> tuple[Array, Array, float] | None:
        """Some largest eigenvalues by a small Krylov space; None if they are not accurate."""
        if self._near is None or 4 * _BLOCKS * self._near.shape[1] > self._u.size:
            return None
        operator = Operator(lambda v: np.asarray(X @ v), self._u.size, float(np.trace(X)))
        count = self._near.shape[1]
        space = Krylov(operator, count, self._rng, self._near)
        *_, ritz = islice(space, _BLOCKS)
        level = _level(ritz.values[:count], self._k - 1)
        above = int((ritz.values > level).sum())
        if above >= count:  # there may be more of them
            return None
        error = float(np.linalg.norm(ritz.residual(above + 1), axis=0).max())
        if error > _ACCURATE:
            return None
        return ritz.values[:count], ritz.vectors[:, :count], level

    def _decomposed(self, X: Array) -> tuple[Array, Array, float]:
        n, count = self._u.size, min(self._u.size, 2 * self._k + 10)
        while True:
            values, vectors = largest_eigenpairs(X, count)
            level = _level(values, self._k - 1)
            if count == n or values[0] <= level:
                return values[::-1], vectors[:, ::-1], level
            count = min(n, 3 * count)


def _level(values: Array, total: float) -> float:
    """t with Σ clip(valueᵢ − t, 0, 1) = total; the sum falls with t, in straight pieces."""
    low, high = float(values.min()) - 1.0, float(values.max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(values - middle, 0.0, 1.0).sum() > total:
            low = middle
        else:
            high = middle
    return high


def _balanced(sigma: float, apart: Array, moved: Array) -> float:
    """σ, larger where the two sets disagree more than the points move, and the reverse."""
    primal, dual = float(np.linalg.norm(apart)), float(np.linalg.norm(moved))
    if primal > _BALANCE * dual:
        return 1.5 * sigma
    return sigma / 1.5 if dual > _BALANCE * primal else sigma
