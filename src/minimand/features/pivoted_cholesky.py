"""Pivoted Cholesky factors of kernel matrices, from some of their columns only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from .._base.typing import Array, IntArray
from .._base.watch import look, reason
from ..kernels.base import BUFFER, Kernel

_AT_ONCE = 128  # columns of the kernel matrix; safeguard: more would be chosen from old remainders
_FEWEST = 8  # the same where rows are many; safeguard: products should be of matrices
_UNTOUCHED = 1 << 28  # bytes that are reserved at once; safeguard
_INDEFINITE = 1e-6  # of the largest k(x, x), below zero; safeguard: rounding is far smaller


@dataclass(frozen=True, eq=False)
class Factor:
    """K ≈ LLᵀ, with L of as many columns as there are pivots."""

    columns: Array  # L, (n, r)
    pivots: IntArray  # rows of which K was read, in order; L[pivots] is lower triangular
    remainder: Array  # d with |K − LLᵀ|ᵢⱼ ≤ √(dᵢ·dⱼ): its diagonal, as it is positive semidefinite
    complete: bool  # whether nothing but rounding is left out
    sizes: Array  # of the numbers of which k(x, x) was computed
    ended_by: str = ""  # the reason to stop that ended it early; empty if none did

    @property
    def triangle(self) -> Array:
        """R with k(P, P) = RRᵀ for the pivots P, in the lower triangle."""
        return self.columns[self.pivots]


class Choice(Protocol):
    """How pivots are chosen."""

    def propose(self, rest: Array, most: int, limit: float) -> IntArray:
        """Some rows whose remainder is above the limit."""

    def keep(self, square: Array, rest: Array, limit: float) -> tuple[IntArray, Array]:
        """Those of the proposed rows that become pivots, in order, and their Cholesky factor.

        ``square`` is K − LLᵀ of the proposed rows, and ``rest`` their remainders.
        """


class Greedy:
    """The rows with the largest remainders, some at a time.

    A proposed row becomes a pivot if those before it leave it more than a share of the largest
    remainder: rows that lie close to each other are not all taken.
    """

    share = 0.1  # of the largest remainder; safeguard: taking one by one would be a share of 1

    def propose(self, rest: Array, most: int, limit: float) -> IntArray:
        """The largest remainders, the largest first."""
        most = min(most, rest.size)
        top = np.argpartition(-rest, most - 1)[:most]
        top = top[rest[top] > limit]
        return top[np.argsort(-rest[top], kind="stable")]

    def keep(self, square: Array, rest: Array, limit: float) -> tuple[IntArray, Array]:
        """Pivots by the largest remaining diagonal, while it is large enough."""
        n = square.shape[0]
        found, order = np.zeros((n, n)), np.arange(n)
        left = np.diag(square).copy()
        least = max(limit, self.share * float(left.max(initial=0.0)))
        for k in range(n):
            p = k + int(np.argmax(left[order[k:]]))
            if left[order[p]] <= least:
                return order[:k], found[order[:k], :k]
            order[[k, p]] = order[[p, k]]
            _add_column(square, found, left, order[k], k)
        return order, found[order]


class Random:
    """Rows drawn in proportion to their remainders: randomly pivoted Cholesky.

    Several are drawn at a time, and each is kept with the probability that it would have been drawn
    after the ones before it, so that the law is that of drawing one by one.
    """

    def __init__(self, rng: np.random.RandomState) -> None:
        self.rng = rng

    def propose(self, rest: Array, most: int, limit: float) -> IntArray:
        """Draws with replacement; equal ones count once."""
        total = float(rest.sum())
        if not total > limit * rest.size:
            return np.empty(0, dtype=np.intp)
        drawn = self.rng.choice(rest.size, size=most, p=rest / total)
        first = np.unique(drawn, return_index=True)[1]
        return drawn[np.sort(first)]

    def keep(self, square: Array, rest: Array, limit: float) -> tuple[IntArray, Array]:
        """Each with probability remaining/proposed."""
        n = square.shape[0]
        found = np.zeros((n, n))
        kept: list[int] = []
        left, chances = np.diag(square).copy(), np.asarray(self.rng.uniform(size=n))
        for j in range(n):
            if left[j] > limit and chances[j] * rest[j] < left[j]:
                _add_column(square, found, left, j, len(kept))
                kept.append(j)
        chosen = np.array(kept, dtype=np.intp)
        return chosen, found[chosen, : chosen.size]


def _add_column(square: Array, found: Array, left: Array, pivot: int, k: int) -> None:
    """Column k of the factor, for one more pivot; updates what is left of the diagonal."""
    column = square[:, pivot] - found[:, :k] @ found[pivot, :k]
    found[:, k] = column / np.sqrt(left[pivot])
    left -= found[:, k] ** 2
    left[pivot] = 0.0


def factorise(kernel: Kernel, x: Any, most: int, choice: Choice) -> Factor:
    """L of at most that many columns, until nothing but rounding remains.

    The time is O(n·r²) and r·n values of the kernel, all in products of matrices. A time limit ends
    it after any block of columns: the factor so far is valid, and its remainder says what it lacks.

    Raises
    ------
    ValueError
        If a remainder is clearly negative, which no positive semidefinite matrix allows.
    """
    rest = np.array(kernel.diagonal(x), dtype=float)
    sizes = kernel.sizes(x)
    n, top = rest.size, float(sizes.max(initial=0.0))
    _check_definite(kernel, x, rest, top)
    limit = n * float(np.finfo(float).eps) * top
    width = int(np.clip(BUFFER // max(n, 1), _FEWEST, _AT_ONCE))
    # Memory that is never written to is never taken, so that a small factor is not copied to grow.
    room = most if 8 * n * most <= _UNTOUCHED else min(width, most)
    columns, pivots, rank = np.empty((n, room), order="F"), [], 0
    rows, ended_by = kernel.measured(x), ""
    while rank < most:
        look()
        if rank and (ended_by := reason()):
            break
        proposed = choice.propose(rest, min(width, most - rank), limit)
        if not proposed.size:
            break
        some = rows[proposed]
        square = kernel.block(some, some).astype(float)
        square -= columns[proposed, :rank] @ columns[proposed, :rank].T
        kept, small = choice.keep(square, rest[proposed], limit)
        # What was computed anew is more accurate than the sum of squares that was subtracted.
        rest[proposed] = np.clip(np.diag(square), 0.0, rest[proposed])
        if not kept.size:
            continue
        taken = proposed[kept]  # all rows are compared with those that are kept, and with no others
        block = kernel.block(rows, rows[taken]).astype(float)
        block -= columns[:, :rank] @ columns[taken, :rank].T
        new = solve_triangular(small, block.T, lower=True, check_finite=False).T
        if rank + kept.size > columns.shape[1]:
            columns = _grown(columns, rank, min(most, 2 * (rank + kept.size)))
        columns[:, rank : rank + kept.size] = new
        rank += kept.size
        pivots.append(taken)
        rest -= np.einsum("ij,ij->i", new, new)
        rest[taken] = 0.0
        _check_definite(kernel, x, rest, top)
        np.maximum(rest, 0.0, out=rest)
    np.maximum(rest, 0.0, out=rest)  # rounding, where there is no pivot at all
    chosen = np.concatenate(pivots) if pivots else np.empty(0, dtype=np.intp)
    complete = not bool((rest > 4 * limit).any())
    return Factor(columns[:, :rank], chosen, rest, complete, sizes, ended_by)


def checked(factor: Factor, kernel: Kernel, x: Any) -> Factor:
    """The factor of a kernel that is not known to be positive semidefinite, or a refusal.

    The steps of the factorisation see the columns of pivots and the diagonal. Of a positive
    semidefinite R = K − LLᵀ the diagonal d bounds the rest: |Rᵢⱼ| ≤ √(dᵢ·dⱼ). A matrix of the
    user's may break that, so all its values are read here. If one breaks it by more than rounding
    could, the kernel is refused. Else let eᵢ be the largest excess |Rᵢⱼ| − √(dᵢ·dⱼ) of a row or
    column: with √dᵢ + √eᵢ in place of √dᵢ the bound holds again. Values that are not symmetric
    break it as well, because LLᵀ is symmetric.

    Raises
    ------
    ValueError
        If the kernel is not positive semidefinite or not symmetric on these rows.
    """
    if kernel.definite:
        return factor
    left, root = factor.columns, np.sqrt(factor.remainder)
    most = _INDEFINITE * float(factor.sizes.max(initial=0.0))
    excess = np.zeros_like(root)
    for some, part in kernel.blocks(x, x):
        above = np.abs(part - left[some] @ left.T) - np.outer(root[some], root)
        if not float(above.max(initial=0.0)) <= most:
            raise ValueError(_not_definite(kernel, x))
        excess = np.maximum(excess, above.max(axis=0))
        excess[some] = np.maximum(excess[some], above.max(axis=1))
    return replace(factor, remainder=(root + np.sqrt(excess)) ** 2)


def _grown(columns: Array, rank: int, width: int) -> Array:
    wider = np.empty((columns.shape[0], width), order="F")
    wider[:, :rank] = columns[:, :rank]
    return wider


def _check_definite(kernel: Kernel, x: Any, rest: Array, top: float) -> None:
    if not np.isfinite(rest).all():
        raise ValueError(
            f"{kernel!r} gives values that are not finite for some row: scale X first."
        )
    if top == 0 and not rest.any():
        raise ValueError(f"{kernel!r} is zero for all rows: take another kernel, or other rows.")
    if float(rest.min(initial=0.0)) < -_INDEFINITE * top:
        raise ValueError(_not_definite(kernel, x))


def _not_definite(kernel: Kernel, x: Any) -> str:
    """What is wrong with the values of a kernel, in words: they are not even symmetric, or else."""
    for some, part in kernel.blocks(x, x):
        other = kernel.block(x, x[some]).T
        apart = np.abs(part - other)
        if apart.max() > _INDEFINITE * np.abs(part).max():
            i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
            row = some.start + int(i)
            return (
                f"{kernel!r} is not symmetric: k of rows {row} and {j} is {part[i, j]:g}, but of "
                f"{j} and {row} it is {other[i, j]:g}; give both the same value, for a matrix K of "
                "values for example by (K + K.T) / 2."
            )
    return (
        f"{kernel!r} is not positive semidefinite on these rows: minimand.check_psd(k(X)) gives a "
        "witness."
    )
