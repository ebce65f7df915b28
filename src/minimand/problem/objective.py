"""The objective: where the mean, the weights, alpha, the offset and the penalty are combined.

P(w, b) = Σ massᵢ·ℓ(zᵢ, yᵢ) + Ω(w),   z = offset + X w + b,   massᵢ = sᵢ/Σs,   Ω = α·penalty

i runs over the units of the loss (see `units`), by default rows. With k scores, z is
(n, k), w is (d, k) and b is (k,); with one they are (n,), (d,) and a float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._base import row_blocks
from .._base.typing import Array, IntArray
from ..design import Design, Reach
from ..losses import PLQ, Loss, Rowwise, Squared, Terms
from ..losses.curvature import Curvature, Diagonal
from ..penalties import BoundPenalty, Penalty
from . import units as units_of
from .basis import Basis, free_columns
from .dependence import find_basis
from .facts import Facts
from .intercept import best_shift
from .point import EPS, Meter, Point, dot
from .slot import Slot
from .variants import Variants

if TYPE_CHECKING:
    from .path_facts import PathFacts

__all__ = ["EPS", "Meter", "Objective", "Point", "dot"]


@dataclass(frozen=True, eq=False)
class Objective(Variants):
    """A problem to be minimised; it holds the data and no algorithm."""

    loss: Loss
    penalty: BoundPenalty
    design: Design
    y: Array
    mass: Array
    offset: Array | None = None
    intercept: bool = True
    words: str = ""
    meter: Meter = field(default_factory=Meter)
    path_facts: PathFacts | None = None  # shared by the problems of a path
    n_scores: int = 1  # scores per row
    share: float = 1.0  # what the problem counts in a sum of several, as one output of many
    slot: Slot | None = None  # where its rows are, if it has some samples of a fit only
    known: Facts | None = None  # facts about these data, or about others, which are then ignored

    @cached_property
    def coef_shape(self) -> tuple[int, ...]:
        """The shape of w."""
        count = self.n_features if self.has_columns else self.n_samples
        return (count,) if self.n_scores == 1 else (count, self.n_scores)

    def bound(self, penalty: Penalty, alpha: float) -> BoundPenalty:
        """alpha·penalty on these coefficients, as a problem of this share takes it."""
        found = penalty.bind(self.coef_shape[0] if self.n_scores == 1 else self.coef_shape, alpha)
        return found if self.share == 1.0 else found.times(1.0 / self.share)

    @property
    def no_shift(self) -> Any:
        """An intercept of zero."""
        return 0.0 if self.n_scores == 1 else np.zeros(self.n_scores)

    @cached_property
    def units(self) -> IntArray | None:
        """Offsets of the units of the loss among the rows; None if every row is a unit."""
        return None if self.loss.unit == "row" else units_of.offsets(self.loss, self.n_samples)

    @cached_property
    def row_mass(self) -> Array:
        """For every row the mass of its unit; `mass` itself if every row is a unit."""
        return self.mass if self.units is None else np.repeat(self.mass, np.diff(self.units))

    # Values --------------------------------------------------------------------------------

    def mean(self, values: Array) -> float:
        """Σ massᵢ·valuesᵢ over units."""
        return _core.dot(self.mass, values)

    def row_mean(self, values: Array) -> Any:
        """Σ massᵢ·valuesᵢ over rows; of numbers in the shape of z, one for each score."""
        return row_blocks.weighted_sum(self.row_mass, values)

    def row_mean_of(self, values: Callable[..., Array], *rowwise: Array) -> Any:
        """Σ massᵢ·values(rowᵢ), block by block, without an array of n values."""
        if self.n_samples <= row_blocks.ROWS:
            return row_blocks.weighted_sum(self.row_mass, values(*rowwise))
        parts = row_blocks.in_parts(self.row_mass, *rowwise)
        return sum(row_blocks.weighted_sum(mass, values(*part)) for mass, *part in parts)

    def row_total_of(self, values: Callable[..., Array], *rowwise: Array) -> float:
        """`row_mean_of`, summed over the scores."""
        if self.n_scores == 1 and self.n_samples <= row_blocks.ROWS:
            return _core.dot(self.row_mass, values(*rowwise))
        return float(np.sum(self.row_mean_of(values, *rowwise)))

    def _in_blocks(self) -> Iterator[tuple[Loss, slice, slice]]:
        return units_of.in_blocks(self.loss, self.units, self.n_samples)

    def mean_loss(self, z: Array) -> float:
        """Σ massᵢ·ℓ(zᵢ, yᵢ), some units at a time."""
        if self.n_samples <= row_blocks.ROWS:
            if self.n_scores > 1 and self.is_squared:
                off = z - self.y
                off *= off
                return 0.5 * float((self.mass @ off).sum())  # sums along rows take three times this
            return _core.dot(self.mass, self.loss.value(z, self.y))
        return sum(
            _core.dot(self.mass[units], loss.value(z[rows], self.y[rows]))
            for loss, rows, units in self._in_blocks()
        )

    def terms(self, z: Array) -> Terms:
        """Value, gradient and curvature of the loss, block by block if every row is a unit."""
        if self.units is not None or self.n_scores > 1 or self.n_samples <= row_blocks.ROWS:
            value, gradient, curvature = self.loss.terms(z, self.y)
            known = isinstance(curvature, Curvature)
            return Terms(value, gradient, curvature if known else Diagonal(curvature))
        whole = [np.empty(self.n_samples), np.empty(self.n_samples)]
        if self.loss.quadratic:  # its curvature is one number, which takes no memory
            one = self.loss.curvature(z[:1], self.y[:1])
            curvature = np.broadcast_to(one, z.shape)
        else:
            curvature = np.empty(self.n_samples)
            whole.append(curvature)
        for *out, scores, y in row_blocks.in_parts(*whole, z, self.y):
            for place, term in zip(out, self.loss.terms(scores, y)):
                place[:] = term
        return Terms(whole[0], whole[1], Diagonal(curvature))

    def young(self, z: Array, theta: Array) -> Array:
        """massᵢ times the Fenchel-Young term of every unit, some units at a time."""
        if self.n_samples <= row_blocks.ROWS:
            return self.mass * self.loss.fenchel_young(z, theta, self.y)
        terms = np.empty(self.mass.size)
        for loss, rows, units in self._in_blocks():
            found = loss.fenchel_young(z[rows], theta[rows], self.y[rows])
            np.multiply(self.mass[units], found, out=terms[units])
        return terms

    def mean_young(self, z: Array, theta: Array) -> float:
        """The sum of these terms, without a vector of them where the rows are many."""
        if self.n_samples <= row_blocks.ROWS:
            return _core.dot(self.mass, self.loss.fenchel_young(z, theta, self.y))
        return sum(
            _core.dot(self.mass[units], loss.fenchel_young(z[rows], theta[rows], self.y[rows]))
            for loss, rows, units in self._in_blocks()
        )

    def mean_above_infimum(self, value: Array) -> float:
        """Σ massᵢ·(valueᵢ − inf ℓ), likewise."""
        return sum(
            _core.dot(self.mass[units], value[units] - loss.infimum(self.y[rows]))
            for loss, rows, units in self._in_blocks()
        )

    def above_infimum(self, value: Array) -> Array:
        """massᵢ·(valueᵢ − inf ℓ) of every unit, some units at a time."""
        terms = np.empty(self.mass.size)
        for loss, rows, units in self._in_blocks():
            found = value[units] - loss.infimum(self.y[rows])
            np.multiply(self.mass[units], found, out=terms[units])
        return terms

    def point(self, w: Array, b: Any) -> Point:
        """The model (w, b) with its scores."""
        return Point(w, b, self.scores(w, b))

    def primal(self, point: Point) -> float:
        """P(w, b)."""
        return self.mean_loss(point.z) + self.price(point)

    def price(self, point: Point) -> float:
        """Ω(w)."""
        if self.has_columns:
            return self.penalty.value(point.w)
        form = self.penalty.function_of_norm
        return np.inf if form is None else form.value(np.array([self._represented(point).norm]))

    # A design without columns ----------------------------------------------------------------

    @cached_property
    def has_columns(self) -> bool:
        """Whether w has one number per column; else it has one per row, and stands for Xᵀw."""
        return self.design.access.columns is not Reach.NONE

    def hidden_rounding(self, z: Array) -> float:
        """The mean rounding of the loss at z that its formula hides."""
        noise = self.loss.noise(z, self.y)
        return self.mean(noise) if isinstance(noise, np.ndarray) else noise

    @cached_property
    def single(self) -> bool:
        """Whether every multiplier belongs to one row only, so that it may shrink by itself."""
        return self.n_scores == 1 and self.loss.unit != "run"

    @cached_property
    def convex(self) -> bool:
        """Whether loss and penalty are convex."""
        # The same as isinstance(penalty, Majorised), but checking a protocol is slow.
        return self.loss.convex and not hasattr(self.penalty, "majoriser")

    @cached_property
    def kinks(self) -> PLQ | None:
        """The loss as pieces, if it has kinks and is linear or quadratic between them."""
        return None if self.loss.smooth else self.loss.plq(self.y)

    @cached_property
    def rowwise(self) -> Rowwise | None:
        """The loss as compiled kernels know it, as a function of X w + b: without the offset."""
        found = self.loss.rowwise(self.y)
        if found is None or self.offset is None or self.n_scores > 1:
            return found
        return found._replace(shift=found.shift - found.sign * self.offset)

    @cached_property
    def has_free_columns(self) -> bool:
        """Whether some column is not penalised."""
        return self.has_columns and bool(self.penalty.free.any())

    @cached_property
    def has_rays(self) -> bool:
        """Whether some coefficient may grow without limit at no cost, on one side at least."""
        if not self.has_columns:
            return False
        if not self.penalty.has_constraints:
            return self.has_free_columns
        ones = np.ones(self.coef_shape)
        return bool((self.penalty.unscalable(ones) | self.penalty.unscalable(-ones)).any())

    @cached_property
    def free_basis(self) -> Basis | None:
        """The unpenalised columns through some that are far from collinear; None: too many."""
        columns = free_columns(self.penalty.free)
        found = self.basis_of(columns)
        self.facts.free_basis = columns, found
        return found

    def basis_of(self, columns: IntArray) -> Basis | None:
        """Some columns (and the intercept) expressed through others far from collinear."""
        known = self.facts.basis_of(columns)
        if known is not None:
            return known[0]
        gram = self.gram_of_all(columns)
        sizes = self.root_spread
        return find_basis(self.design, self.row_mass, columns, self.intercept, sizes, gram)

    @property
    def is_squared(self) -> bool:
        """Whether the loss is Σ½(z − y)² over outputs of equal weight, and every row counts."""
        loss, shape = self.loss, (self.n_samples, self.n_scores)
        alike = self.has_columns and self.units is None and self.y.shape == shape
        return alike and loss.quadratic and isinstance(loss.by_score, Squared)

    @property
    def is_summed(self) -> bool:
        """Whether sums over the rows are all that the loss needs."""
        return self.loss.quadratic and (self.n_scores == 1 or self.is_squared)

    @cached_property
    def constant_target(self) -> bool:
        """Whether y − offset is constant, so that the null model is perfect up to rounding."""
        target = self.y
        if self.offset is not None:
            if self.offset.shape != target.shape:
                return False  # class labels cannot be compared with scores
            target = target - self.offset
        if len(target) and np.any(target[-1] != target[0]):
            return False  # without a look at all rows
        return bool((target == target[:1]).all())

    @cached_property
    def null(self) -> Point:
        """w = 0, or the feasible point nearest to it, with the best intercept."""
        w = self.penalty.project(np.zeros(self.coef_shape))
        z = self.scores(w, self.no_shift)
        b = best_shift(self, z) if self.intercept else self.no_shift
        if z.ndim > 1:
            return Point(w, b, row_blocks.shifted(z, b, in_place=True))
        z += b
        return Point(w, b, z)

    @cached_property
    def scale(self) -> float:
        """P(null) − mean infimum of the loss, the unit of tol and `relative`."""
        return max(self.null_primal - self.infimum, 0.0)

    @cached_property
    def infimum(self) -> float:
        """The mean infimum of the loss."""
        if self.n_samples <= row_blocks.ROWS:
            return _core.dot(self.mass, self.loss.infimum(self.y))
        return sum(
            _core.dot(self.mass[units], loss.infimum(self.y[rows]))
            for loss, rows, units in self._in_blocks()
        )

    @cached_property
    def null_loss(self) -> float:
        """The mean loss of the null model."""
        return self.mean_loss(self.null.z)

    @cached_property
    def null_primal(self) -> float:
        """P(null)."""
        return self.null_loss + self.price(self.null)
