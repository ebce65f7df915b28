"""The referee for data that are read once: a valid gap in one pass and in constant memory.

At a model (w, b) every θ in the dual's domain proves a bound, and because Fenchel-Young terms are
convex in θ, a convex combination of some θ proves at least the same combination of their terms.
So a pass only sums, for a few kinds of θ that depend on the row alone, the terms and the slope
Xᵀ(mass∘θ); the combination that satisfies the constraints of the dual and proves the most is found
at the end. The kinds are the gradients at z + δ for a few shifts δ of the intercept, each scaled by
a few factors c ≤ 1; at z itself, positive and negative ones separately. A second pass can take the
shifted gradients at the scores of a model nearer to the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from ..design import Design
from ..losses import PLQ, Loss
from ..penalties import BoundPenalty
from ..problem.intercept import best_shift
from ..problem.objective import EPS
from .finding import Certificate, relative_gap
from .second_pass import MOST_COLUMNS, Aim, Curve

_SCALES = np.array([0.0, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0])  # c; convention
_FEW_SCALES = np.array([0.0, 0.5, 0.9, 1.0])  # factors c if no l1 norm needs more; convention
_SHIFTS = np.array([-8.0, -2.0, -0.5, 0.5, 2.0, 8.0])  # in standard errors; convention
_AIMED_SHIFTS = np.array([-8.0, -1.0, 0.0, 1.0, 8.0])  # the same at an aim; convention
# Shifts of the null model, in standard errors; convention.
_NULL_SHIFTS = np.concatenate([-(4.0 ** np.arange(10, -2, -1)), [0.0], 4.0 ** np.arange(-1, 11)])
_SHARES = 1.0 - np.linspace(0.0, 1.0, 41) ** 2  # shares of a dual point; convention
_SAMPLE = 4096  # rows that are buffered, to find shifts from the first and to save calls; safeguard
_PARTS = 8  # parts of the sample whose best shifts are compared; convention


@dataclass
class _Risk:
    """The mean loss of some rows: the part of an objective that an intercept depends on."""

    loss: Loss
    y: Array
    mass: Array

    @property
    def kinks(self) -> PLQ | None:
        return None if self.loss.smooth else self.loss.plq(self.y)

    def mean(self, values: Array) -> float:
        return float(self.mass @ values)


class _Rows(NamedTuple):
    design: Design
    y: Array
    weight: Array


class _Atom(NamedTuple):
    """A dual point up to its scale c: c·slope, c·total of Σ mass·θ, and its cost at some c."""

    slope: Array
    total: float
    scales: Array
    cost: Array

    def at(self, c: Array | float) -> Array:
        """Fenchel-Young terms at scales c ≤ 1, by chords, since they are convex in c."""
        return np.asarray(np.interp(c, self.scales, self.cost))


def _sum_of(atoms: tuple[_Atom, ...], shares: tuple[float, ...]) -> _Atom:
    """A combination of dual points, all at one scale."""
    scales = atoms[0].scales
    cost = sum(share * atom.at(scales) for share, atom in zip(shares, atoms))
    slope = sum(share * atom.slope for share, atom in zip(shares, atoms))
    total = sum(share * atom.total for share, atom in zip(shares, atoms))
    return _Atom(np.asarray(slope), float(total), scales, np.asarray(cost))


class Tally:
    """Sums over rows at one model, and the certificate that they prove.

    Parameters
    ----------
    loss : Loss
        Convex, and a mean over samples.
    w, b : the model
    intercept : bool
        Whether b is free, so that the dual requires Σ mass·θ = 0.
    penalty : BoundPenalty
        Up to its factor, which may be known only at the end.
    curved : bool, default=False
        Whether to sum second derivatives too, so that `aim` can estimate the optimum.
    aim : Aim, optional
        A model at whose scores dual points are taken, found by an earlier pass.
    """

    def __init__(
        self,
        loss: Loss,
        w: Array,
        b: float,
        intercept: bool,
        penalty: BoundPenalty,
        *,
        curved: bool = False,
        aim: Aim | None = None,
    ) -> None:
        self.loss, self.w, self.b, self.intercept = loss, w, b, intercept
        self.null = penalty.project(np.zeros_like(w))  # the coefficients of the null model
        form = penalty.sum_over_features
        self.scales = _SCALES if form is None or form.makes_zeros else _FEW_SCALES
        self.waiting: list[_Rows] = []
        self.shifts: Array | None = None
        self.total = self.value = self.least = self.slope_size = self.terms = 0.0
        self.squares = np.zeros_like(w)
        self._aim = aim
        curved = curved and loss.smooth and w.size <= MOST_COLUMNS
        self._curve = Curve(loss, w.size) if curved else None

    def add(self, design: Design, y: Array, weight: Array) -> None:
        """Add rows."""
        self.waiting.append(_Rows(design, y, weight))
        if sum(rows.y.size for rows in self.waiting) >= _SAMPLE:
            self._flush()

    def _flush(self) -> None:
        """Sum the buffered rows."""
        if self.waiting:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                self._add_waiting()
        self.waiting = []

    def _add_waiting(self) -> None:
        y = np.concatenate([rows.y for rows in self.waiting])
        weight = np.concatenate([rows.weight for rows in self.waiting])
        z = np.concatenate([rows.design.matvec(self.w) for rows in self.waiting]) + self.b
        zero = np.zeros_like(z)
        if self.null.any():
            zero = np.concatenate([rows.design.matvec(self.null) for rows in self.waiting])
        aimed = z
        if self._aim is not None:
            aimed = np.concatenate([rows.design.matvec(self._aim.w) for rows in self.waiting])
            aimed += self._aim.b
        if self.shifts is None:
            self._begin(_Risk(self.loss, y, self.loss.masses(weight)), aimed, zero)
        multipliers = self._add_losses(z, aimed, y, weight)
        self._add_null(zero, y, weight)
        start = 0
        for rows in self.waiting:
            part = slice(start, start + rows.y.size)
            self.slopes += rows.design.rmatvec(np.ascontiguousarray(multipliers[part]))
            self.squares += rows.design.moments(rows.weight).second
            if self._curve is not None:
                self._curve.add(rows.design, z[part], rows.y, rows.weight)
            start = part.stop

    def _begin(self, sample: _Risk, z: Array, zero: Array) -> None:
        """Set shifts around the best ones of the first rows, which are near the best of all."""
        shifts, null_shifts = np.zeros(1 if self._aim is None else 3), np.zeros(1)
        if self.intercept:
            best, unit = _uncertain(sample, z)
            around = best + unit * _SHIFTS if self._aim is None else unit * _AIMED_SHIFTS
            shifts = np.append(0.0, around if self._aim is None else np.tile(around, 2))
            best, unit = _uncertain(sample, zero)
            null_shifts = best + unit * _NULL_SHIFTS
        self.shifts, self.null_shifts = shifts, null_shifts
        self.null_values, self.null_slopes = np.zeros((2, null_shifts.size))
        self.slopes = np.zeros((self.w.size, 1 + shifts.size))
        self.sums = np.zeros(1 + shifts.size)
        self.at_gradient = np.zeros((2, _SCALES.size))
        self.at_shifts = np.zeros((shifts.size, self.scales.size))

    def _add_losses(self, z: Array, aimed: Array, y: Array, weight: Array) -> Array:
        """Sums of the loss, and the multipliers of every dual point, one column each."""
        assert self.shifts is not None
        loss = self.loss
        value, gradient = loss.value(z, y), loss.gradient(z, y)
        self.total += float(weight.sum())
        self.value += float(weight @ value)
        self.least += float(weight @ loss.infimum(y))
        self.slope_size += float(weight @ gradient**2)
        self.terms += float(weight @ (np.abs(value) + np.abs(gradient * z)))
        above = np.where(gradient >= 0, weight, 0.0)
        columns = [above * gradient, (weight - above) * gradient]
        for j, c in enumerate(_SCALES[:-1]):  # the gradient itself costs nothing
            cost = loss.fenchel_young(z, c * gradient, y)
            self.at_gradient[:, j] += above @ cost, (weight - above) @ cost
        # Those of an aim count twice: as gradients, and as their tangents at z.
        curved = self.shifts.size - 1 if self._aim is None else self.shifts.size // 2
        bend = np.zeros_like(z) if self._aim is None else loss.curvature(z, y)
        for k, shift in enumerate(self.shifts[1:], 1):
            if k <= curved:
                theta = loss.gradient(aimed + shift, y)
            else:  # the prediction of the quadratic model, whose slopes are those of the penalty
                theta = loss.into_domain(gradient + bend * (aimed + shift - z), y)
            columns.append(weight * theta)
            for j, c in enumerate(self.scales):
                self.at_shifts[k, j] += weight @ loss.fenchel_young(z, c * theta, y)
        self.sums += [column.sum() for column in columns]
        return np.stack(columns, axis=1)

    def _add_null(self, zero: Array, y: Array, weight: Array) -> None:
        for k, shift in enumerate(self.null_shifts):
            self.null_values[k] += weight @ self.loss.value(zero + shift, y)
            self.null_slopes[k] += weight @ self.loss.gradient(zero + shift, y)

    def finish(self) -> None:
        """Sum the rows that are left."""
        self._flush()

    def same_data(self, other: Tally) -> bool:
        """Whether another pass has seen the same rows, in any order."""
        mine = np.array([self.total, self.value, self.least, self.slope_size])
        theirs = np.array([other.total, other.value, other.least, other.slope_size])
        # Relative rounding of sums; safeguard.
        return bool(np.allclose(mine, theirs, rtol=1e-9, atol=0.0))

    def aim(self, penalty: BoundPenalty) -> Aim | None:
        """An estimate of the optimum, if second derivatives were summed; else None."""
        if self._curve is None:
            return None
        slope, balance = self.slopes[:, :2].sum(axis=1), float(self.sums[:2].sum())
        free = balance if self.intercept else 0.0
        return self._curve.aim(self.w, self.b, slope, free, penalty, self.total)

    def certificate(self, penalty: BoundPenalty, words: str) -> Certificate:
        """The certificate of the model, for the objective with this penalty."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            primal = self.value / self.total + penalty.value(self.w)
            gap, by_feature = self._least_gap(penalty)
            scale = self.least_scale(penalty)
            rounding = self._rounding(penalty)
        reason = "no dual point was found in one pass: pass X and y"
        if not np.isfinite(primal):
            reason = "the objective is infinite"
        known = bool(np.isfinite(gap) and np.isfinite(primal))
        gap = max(gap, 0.0) if known else np.inf
        return Certificate(
            primal=primal,
            dual=primal - gap if known else -np.inf,
            gap=gap,
            relative=relative_gap(gap, scale),
            objective=words,
            rounding=rounding,
            passes=1.0,
            infeasibility="" if known else reason,
            by_feature=by_feature,
        )

    def _least_gap(self, penalty: BoundPenalty) -> tuple[float, Array]:
        """The smallest gap over the dual points and their shares."""
        nothing = np.zeros_like(self.w)
        by_feature = penalty.by_feature(self.w, nothing)
        least = (self.value - self.least) / self.total + by_feature.sum(), by_feature
        for atom in self._atoms():
            largest = penalty.shares(-atom.slope)
            for c in np.unique(np.concatenate([s * _SHARES for s in sorted(largest)])):
                by_feature = penalty.by_feature(self.w, -c * atom.slope)
                gap = float(atom.at(c)) + float(by_feature.sum())
                if gap < least[0]:  # False for NaN
                    least = gap, by_feature
        return float(least[0]), least[1]

    def _atoms(self) -> list[_Atom]:
        """Dual points with Σ mass·θ = 0 if the intercept is free."""
        assert self.shifts is not None
        slopes, sums = self.slopes.T / self.total, self.sums / self.total
        above, below = (
            _Atom(slopes[i], sums[i], _SCALES, self.at_gradient[i] / self.total) for i in range(2)
        )
        gradient = _sum_of((above, below), (1.0, 1.0))
        shifted = [
            _Atom(slopes[1 + k], sums[1 + k], self.scales, self.at_shifts[k] / self.total)
            for k in range(1, self.shifts.size)
        ]
        if not self.intercept:
            return [gradient, *shifted]
        found = [_balanced(above, below)]
        half = len(shifted) // 2
        # Those of an aim are already in order, and are no shifts of the gradient at z.
        chains = [shifted[:half], shifted[half:]]
        if self._aim is None:
            chains = [[[gradient, *shifted][k] for k in np.argsort(self.shifts)]]
        for low, high in chain.from_iterable(map(pairwise, chains)):  # Σ mass·θ grows along them
            if low.total <= 0 <= high.total and low.total < high.total:
                share = high.total / (high.total - low.total)
                found.append(_sum_of((low, high), (share, 1.0 - share)))
        return found

    def least_scale(self, penalty: BoundPenalty) -> float:
        """P(null) − mean infimum of the loss, or a little less: tangents bound the best intercept.

        Zero if the best intercept is beyond all shifts.
        """
        values, slopes = self.null_values / self.total, self.null_slopes / self.total
        least = self.least / self.total
        found = values[0] if not self.intercept else -np.inf
        if slopes.size > 1:
            turn = np.flatnonzero((slopes[:-1] <= 0) & (slopes[1:] >= 0))
            for k in turn[:1]:
                left, right, step = slopes[k], slopes[k + 1], np.diff(self.null_shifts)[k]
                along = (values[k + 1] - values[k] - right * step) / (left - right)
                if not np.isfinite(along):  # two flat ends, or one that overflows
                    along = step
                found = values[k] + left * along
        return max(float(found + penalty.value(self.null) - least), 0.0)

    def _rounding(self, penalty: BoundPenalty) -> float:
        """As `Finding.rounding`."""
        reach = float(np.sqrt(self.squares / self.total) @ np.abs(self.w)) + abs(self.b)
        size = np.sqrt(self.slope_size / self.total) * reach + self.terms / self.total
        size += penalty.value(self.w)
        return 4 * EPS * float(size) if np.isfinite(size) else np.inf


def _balanced(above: _Atom, below: _Atom) -> _Atom:
    """The heavier sign shrunk until both sum to zero, as in `intercept.balance`."""
    plus, minus = above.total, -below.total
    if plus > minus:
        above = _shrunk(above, minus / plus)
    elif minus > plus:
        below = _shrunk(below, plus / minus)
    return _sum_of((above, below), (1.0, 1.0))


def _shrunk(atom: _Atom, factor: float) -> _Atom:
    """A share of a dual point: its cost at c is that of the whole at c·factor."""
    cost = atom.at(factor * atom.scales)
    return _Atom(factor * atom.slope, factor * atom.total, atom.scales, cost)


def _uncertain(sample: _Risk, z: Array) -> tuple[float, float]:
    """The best shift of the scores of some rows, and how far that of others may be from it."""
    # Factor of the sizes of scores and targets: a shift beyond any use; safeguard.
    limit = 1e3 * (1.0 + float(np.abs(z).max()) + float(np.abs(sample.y).max()))

    def best(rows: slice) -> float:
        y, scores = np.ascontiguousarray(sample.y[rows]), np.ascontiguousarray(z[rows])
        risk = _Risk(sample.loss, y, sample.loss.masses(sample.mass[rows]))
        return float(np.clip(best_shift(risk, scores), -limit, limit))

    found = best(slice(None))
    if z.size < 2 * _PARTS:
        return found, 1.0 + abs(found)
    others = np.array([best(slice(k, None, _PARTS)) for k in range(_PARTS)])
    spread = float(np.median(np.abs(others - found))) / np.sqrt(_PARTS)
    # 1.5: median to standard deviation (1.48); 1e-9: share, safeguard.
    return found, max(1.5 * spread, 1e-9 * (1.0 + abs(found)))
