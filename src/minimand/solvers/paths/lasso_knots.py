"""The knots of a lasso path: the alphas where a coefficient leaves zero or returns to it.

Between two knots the support A and its signs s stay, and the optimum is a line in alpha,

    w_A = G_A⁻¹(c_A − alpha·s),   G = cov(X), c = cov(X, y).

From the empty model downwards, the next knot is the largest alpha at which the slope of a column
outside A reaches ±alpha or a coefficient inside A reaches 0 (Osborne, Presnell and Turlach 2000).
Every point is computed from G and c themselves, so that the rounding of one knot does not enter
the next. At a knot the coefficient that enters or leaves is exactly zero.

This is another job than that of the path engine (`blocks`), which solves at alphas that somebody
gives, for many losses, to a tolerance. Here the alphas are what is asked for: an information
criterion is compared at all knots and nowhere else (`LassoLarsIC`), and a grid would miss some.
The factor of the support is therefore extended column by column, in the order of the knots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..._base.typing import Array, BoolArray
from ..._base.watch import reason
from ...problem.objective import EPS, Objective

# All of these constants are safeguards.
_MOST_COLUMNS = 2000  # columns whose Gram is formed at once: 32 MB
_NOISE = 1e3 * EPS  # share of the largest alpha: least distance of knots from 0 and each other
_DEPENDENT = 1e-12  # share of a column's square that its part outside the support must exceed
_STANDING = 3  # steps per column without a smaller alpha, after which the path ends


class Knots(NamedTuple):
    """Decreasing alphas, and the coefficients at each; the last alpha is 0 unless stopped."""

    alphas: Array
    coefs: Array


def lasso_knots(objective: Objective, most: int, positive: bool = False) -> Knots:
    """The knots of the squared loss plus alpha·‖w‖₁, at most so many after the first.

    Of the objective, only the data are used; ``positive`` requires w ≥ 0. The path ends early at a
    time limit, a callback's stop or Ctrl-C.
    """
    return _Homotopy(objective, positive).run(most)


class _Columns:
    """Columns of the Gram: all at once if they are few, else when they are needed."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        n, d = objective.design.shape
        self.mean = np.zeros(d)  # means of the columns, with an intercept
        self._known = np.zeros((0, d))  # a row for every column computed so far
        self._place: dict[int, int] = {}
        if d <= min(n, _MOST_COLUMNS):
            self._known, self.mean = objective.hessian(objective.mass)
            self._place = {j: j for j in range(d)}
        elif objective.intercept:
            self.mean = objective.column_means

    def __getitem__(self, columns: list[int]) -> Array:
        """One row for each column."""
        for j in columns:
            if j not in self._place:
                place = self._place[j] = len(self._place)
                if place == len(self._known):
                    # 16: columns of the first allocation.
                    more = np.empty((max(place, 16), self._known.shape[1]))
                    self._known = np.concatenate([self._known, more])
                self._known[place] = self._product(j)
        return self._known[[self._place[j] for j in columns]]

    def _product(self, j: int) -> Array:
        objective = self._objective
        column = objective.design.columns(np.array([j])).matvec(np.ones(1))
        if objective.intercept:
            column -= objective.mean(column)
        return self.slope(column)

    def slope(self, values: Array) -> Array:
        """The covariance of ``values`` with every column."""
        weighted = self._objective.mass * values
        # The values sum to rounding only, but columns may have means far larger than their spread.
        return self._objective.backward(weighted) - self.mean * float(weighted.sum())


class _Homotopy:
    """A support, its signs and the factor of its Gram, at decreasing alpha."""

    def __init__(self, objective: Objective, positive: bool) -> None:
        self._gram, self._positive = _Columns(objective), positive
        self._slope = self._gram.slope(objective.y - objective.null.z)
        d = objective.n_features
        self._support: list[int] = []
        self._sign = np.zeros(d)
        self._dependent = np.zeros(d, dtype=bool)  # on the current support
        self._factor: Array = np.zeros((0, 0))  # upper triangular, of the Gram of the support
        reach = self._slope if positive else np.abs(self._slope)
        self._top = float(reach.max(initial=0.0))

    def run(self, most: int) -> Knots:
        """Follow the line of each support to its end."""
        size = self._slope.size
        if not self._top > 0:
            return Knots(np.zeros(1), np.zeros((1, size)))
        alpha, standing = self._top, 0
        alphas, coefs = [alpha], [np.zeros(size)]
        self._enter(*self._first())
        while len(alphas) <= most and alpha > 0 and standing < _STANDING * size and not reason():
            constant, linear = self._line()
            alpha, leaver, entry = self._next(alpha, constant, linear)
            w = np.zeros(size)
            w[self._support] = constant - alpha * linear
            if leaver is not None:
                w[self._support[leaver]] = 0.0
                self._leave(leaver)
            elif alpha > 0 and not self._enter(*entry):
                continue  # the next knot is on the same line
            standing += 1
            if alphas[-1] - alpha > _NOISE * self._top:
                alphas.append(alpha)
                coefs.append(w)
                standing = 0
        return Knots(np.array(alphas), np.stack(coefs))

    def _first(self) -> tuple[int, float]:
        reach = self._slope if self._positive else np.abs(self._slope)
        j = int(np.argmax(reach))
        return j, float(np.sign(self._slope[j]))

    def _line(self) -> tuple[Array, Array]:
        """w_A = constant − alpha·linear."""
        right = np.stack([self._slope[self._support], self._sign[self._support]], axis=1)
        constant, linear = self._solved(self._solved(right, transposed=True)).T
        return constant, linear

    def _solved(self, right: Array, *, transposed: bool = False) -> Array:
        """R⁻¹ or R⁻ᵀ times this, R the factor: by LAPACK, whose wrapper in SciPy takes longer."""
        found, _ = lapack.dtrtrs(self._factor, right, trans=int(transposed))
        return np.asarray(found)

    def _next(
        self, alpha: float, constant: Array, linear: Array
    ) -> tuple[float, int | None, tuple[int, float]]:
        """The next knot, and the place in the support that leaves or the column that enters."""
        sign = self._sign[self._support]
        leaves = _roots(constant, linear, sign * linear < 0)
        rows = self._gram[self._support]
        base, rise = self._slope - constant @ rows, linear @ rows
        outside = self._outside()
        enters = [(_roots(base, 1.0 - rise, outside & (rise < 1.0)), 1.0)]
        if not self._positive:
            enters.append((_roots(-base, 1.0 + rise, outside & (rise > -1.0)), -1.0))
        at, leaver, entry = _NOISE * self._top, None, (-1, 0.0)
        for roots, side in enters:
            j = int(np.argmax(roots))
            if roots[j] > at:
                at, entry = float(roots[j]), (j, side)
        place = int(np.argmax(leaves))
        if leaves[place] > at:
            at, leaver = float(leaves[place]), place
        if leaver is None and entry[0] < 0:
            return 0.0, None, entry
        return min(at, alpha), leaver, entry

    def _outside(self) -> BoolArray:
        """Columns that may enter; dependent ones change nothing while the support stays."""
        outside = ~self._dependent
        outside[self._support] = False
        return outside

    def _enter(self, j: int, sign: float) -> bool:
        """Append a column to the factor, unless the support already spans it."""
        column = self._gram[[j]][0]
        size = len(self._support)
        larger = np.zeros((size + 1, size + 1))
        larger[:size, :size] = self._factor
        if size:
            along = self._solved(column[self._support], transposed=True)
            larger[:size, size] = along
            rest = column[j] - float(along @ along)
        else:
            rest = column[j]
        if rest <= _DEPENDENT * column[j]:
            self._dependent[j] = True
            return False
        larger[size, size] = np.sqrt(rest)
        self._factor = larger
        self._support.append(j)
        self._sign[j] = sign
        return True

    def _leave(self, place: int) -> None:
        """Remove a column from the support, and factorise the rest anew."""
        self._sign[self._support.pop(place)] = 0.0
        self._dependent[:] = False
        kept = self._gram[self._support][:, self._support]
        self._factor = np.asarray(np.linalg.cholesky(kept).T, dtype=float)


def _roots(constant: Array, linear: Array, some: BoolArray) -> Array:
    """Where constant = alpha·linear, for some of them; −inf for the others."""
    roots = np.full(constant.shape, -np.inf)
    roots[some] = constant[some] / linear[some]
    return roots
