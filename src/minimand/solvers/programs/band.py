"""The inequalities |X w + b − y| ≤ t where there are more columns than rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ..._base.linear_system import EPS, factorise, pseudo_inverse
from ..._base.typing import Array
from .quadratic_program import Rows

_LEAST = 1e-200  # weight of a row; safeguard: its inverse is finite


class Band(Rows):
    """The rows x·w + f·b − t and their opposites −x·w − f·b − t, for variables (w, b, t).

    ½wᵀQw is the quadratic part, Q diagonal and positive; b has as many entries as ``free`` has
    columns, one or none. With D = diag(λ₊/s₊ + λ₋/s₋), c the difference of both, and K = X Q⁻¹ Xᵀ
    Newton's equations are solved through C = (D⁻¹ + K)⁻¹, which has a row per sample, and

        Eᵀ C E + diag(0, Σ (D − c²/D)),   E = (f, −c/D),

    which has one for b and one for t: nothing of it cancels.
    """

    def __init__(self, x: Array, free: Array, quadratic: Array) -> None:
        self.x, self.free = x, free
        self._inverse = 1.0 / quadratic
        self._kernel = (x * self._inverse) @ x.T

    def times(self, x: Array) -> Array:
        """The left sides of both inequalities."""
        w, b, t = self._parts(x)
        score = self.x @ w + self.free @ b
        return np.concatenate([score - t, -score - t])

    def transposed(self, multipliers: Array) -> Array:
        """Both sums over rows."""
        above, below = np.split(multipliers, 2)
        u = above - below
        return np.concatenate([u @ self.x, u @ self.free, [-multipliers.sum()]])

    def solver(self, weight: Array, quadratic: Array) -> Callable[[Array], Array]:
        """The inverse, by the system of the rows."""
        above, below = np.maximum(np.split(weight, 2), _LEAST)
        total = above + below
        system = self._kernel.copy()
        system.flat[:: total.size + 1] += 1.0 / total
        by_rows = factorise(system, EPS * total.size) or pseudo_inverse(system)
        edge = np.column_stack([self.free, (below - above) / total])
        along = by_rows(edge)
        corner = np.zeros(edge.shape[1])
        corner[-1] = float((4.0 * above * below / total).sum())
        last, d = linalg.pinvh(edge.T @ along + np.diag(corner)), self._inverse.size

        def within(scores: Array, others: Array) -> tuple[Array, Array]:
            """y and (b, t) with y/D − E(b, t) + K y = scores, Eᵀy + diag(0, …)(b, t) = others."""
            found = by_rows(scores)
            f = last @ (others - edge.T @ found)
            return found + along @ f, f

        def solve(right: Array) -> Array:
            for_w, for_others = self._inverse * right[:d], right[d:]
            y, f = within(self.x @ for_w, for_others)
            w = for_w - self._inverse * (y @ self.x)
            # Near the end D and K differ by many orders of magnitude: what the scores of w show of
            # the error is corrected once.
            left = self.x @ w + edge @ f - y / total
            more, others = within(left, for_others - edge.T @ y - corner * f)
            return np.concatenate([w - self._inverse * (more @ self.x), f + others])

        return solve

    def _parts(self, x: Array) -> tuple[Array, Array, float]:
        d = self._inverse.size
        return x[:d], x[d:-1], float(x[-1])
