"""Products with the data, with a count of the passes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import row_blocks
from .._base.typing import Array, BoolArray, IntArray
from ..design import Covariance, DenseDesign, Design, Moments, RoughProducts
from ..losses.curvature import Curvature, Diagonal, Simplex
from ..penalties import BoundPenalty, Plane
from .dependence import MOST_COLUMNS
from .facts import Facts
from .kept_slope import KeptSlope
from .point import EPS, Meter, Point
from .row_space import RowSpace
from .without_columns import Represented, plane

if TYPE_CHECKING:
    from .path_facts import PathFacts

_NARROW = 8  # numbers in a row: measured at 10⁷ rows, a vector costs as much as a pass over these
_FEW_USED = 0.25  # share of the columns, up to which gathering them beats a pass; safeguard


class Products:
    """The products of an objective with its design."""

    penalty: BoundPenalty
    design: Design
    mass: Array
    offset: Array | None
    intercept: bool
    meter: Meter
    path_facts: PathFacts | None
    n_scores: int

    @property
    def row_mass(self) -> Array:
        """For every row the mass of its unit."""
        raise NotImplementedError

    known: Facts | None

    @property
    def units(self) -> IntArray | None:
        """Offsets of the units of the loss among the rows; None if every row is a unit."""
        raise NotImplementedError

    def row_mean(self, values: Array) -> Any:
        """Σ massᵢ·valuesᵢ over rows."""
        raise NotImplementedError

    @cached_property
    def facts(self) -> Facts:
        """Facts about the data, shared with other objectives of the same data."""
        key = self.design, self.mass, self.intercept, self.units
        if self.known is None or not self.known.describe(*key):
            object.__setattr__(self, "known", Facts(*key))
        assert self.known is not None
        return self.known

    @property
    def has_columns(self) -> bool:
        """Whether w has one number per column."""
        raise NotImplementedError

    @cached_property
    def n_samples(self) -> int:
        """Rows of the design."""
        return self.design.shape[0]

    @cached_property
    def n_features(self) -> int:
        """Columns of the design."""
        return self.design.shape[1]

    def keep_product(self, w: Array, product: Array) -> None:
        """Note X w, found in one pass with the products of other problems.

        The next call of `scores` uses it up if it is about this array, and drops it if it is about
        another one; neither of the two arrays may be changed until then.
        """
        self.__dict__["_kept_product"] = w, product

    def scores(self, w: Array, b: Any) -> Array:
        """offset + X w + b."""
        kept = self.__dict__.pop("_kept_product", (None, None))
        if kept[0] is w:
            z: Array = kept[1]
        else:
            z = self.forward(w) if w.any() else np.zeros((self.n_samples, *w.shape[1:]))
        if self.offset is not None:
            z += self.offset
        if z.ndim > 1:
            return row_blocks.shifted(z, b, in_place=True)
        z += b
        return z

    def forward(self, w: Array) -> Array:
        """X w; X Xᵀw if X has no columns and w stands for Xᵀw."""
        self.meter.passes += 1
        return self.design.matvec(w) if self.has_columns else self.design.row_product(w)

    def backward(self, u: Array) -> Array:
        """Xᵀ u, for one or several columns in one pass; u itself if X has no columns."""
        if not self.has_columns:
            return u
        if not u.any():
            return np.zeros((self.n_features, *u.shape[1:]))
        self.meter.passes += 1
        return self.design.rmatvec(u)

    def backward_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u."""
        self.meter.passes += columns.size / self.n_features
        return self.design.rmatvec_on(columns, u)

    def slopes(self, w: Array, thetas: list[Array]) -> list[tuple[Array, BoolArray | None]]:
        """Xᵀ(mass∘θ) for several θ, as needed by the certificate of a model w.

        Each comes with a mask of the columns where it is exact; None if it is exact everywhere.
        """
        if self.path_facts is not None and self.n_scores == 1:
            problem: Any = self
            return [self.path_facts.slopes.of(problem, w, theta) for theta in thetas]
        if len(thetas) == 1:
            return [(self._slope(thetas[0]), None)]
        if self._long_and_narrow:
            return [(self._slope(theta), None) for theta in thetas]
        weighed = np.empty((self.n_samples, len(thetas), *thetas[0].shape[1:]))
        mass = self.row_mass if thetas[0].ndim == 1 else self.row_mass[:, None]
        for j, theta in enumerate(thetas):
            np.multiply(mass, theta, out=weighed[:, j])
        slopes = self.backward(weighed.reshape(self.n_samples, -1))
        slopes = slopes.reshape(len(slopes), len(thetas), *thetas[0].shape[1:])
        return [(slope, None) for slope in np.ascontiguousarray(slopes.swapaxes(0, 1))]

    @cached_property
    def _long_and_narrow(self) -> bool:
        """Whether another pass costs less than another vector as long as the data."""
        return self.n_samples > row_blocks.ROWS and self.design.nnz <= _NARROW * self.n_samples

    @cached_property
    def _equal_mass(self) -> float | None:
        """What every one of many rows counts, if that is the same."""
        same = self.n_samples > row_blocks.ROWS and bool(self.row_mass.max() == self.row_mass.min())
        return float(self.row_mass[0]) if same else None

    def keep_slope(self, kept: KeptSlope) -> None:
        """Note a slope that was found with the scores of a point, for the next slope asked for."""
        self.__dict__["_kept_slope"] = kept
        self.facts.means = kept.mean

    def mean_row(self, h: Array) -> Array:
        """Xᵀh/Σh; without a pass where h is a multiple of the masses and their mean is known."""
        if self.facts.means is not None:
            share = h / self.row_mass  # the curvature, which is one number where all scores are
            if share.max() - share.min() <= 4 * EPS * share.max():
                return self.facts.means
        return self.backward(h) / float(h.sum())

    def _slope(self, theta: Array) -> Array:
        """Xᵀ(mass∘θ), without the product in brackets where all masses are one number."""
        kept: KeptSlope | None = self.__dict__.pop("_kept_slope", None)
        found = None if kept is None else kept.of(theta)
        if found is not None:
            return found
        if self._equal_mass is None or not self.has_columns:
            return self.backward(self.weigh(theta))
        return self._equal_mass * self.backward(theta)

    def images(self, slopes: list[tuple[Array, BoolArray | None]]) -> list[Array]:
        """K u for the u that stand for slopes, in one pass; for a design without columns."""
        if not slopes:
            return []
        stacked = np.stack([slope for slope, _ in slopes], axis=1)
        images = self.forward(stacked.reshape(self.n_samples, -1)).reshape(stacked.shape)
        return list(np.ascontiguousarray(images.swapaxes(0, 1)))

    def weigh(self, theta: Array) -> Array:
        """mass∘θ for θ in the shape of z: the factor of every row in a slope."""
        return (self.row_mass if theta.ndim == 1 else self.row_mass[:, None]) * theta

    def curvature_product(self, v: Array, shift: Any, h: Array | Curvature) -> tuple[Array, Array]:
        """Xᵀ(H t) and t = X v + shift; an array h is a diagonal H."""
        if isinstance(h, Curvature) and not (isinstance(h, Diagonal) and h.h.ndim == 1):
            t = self.forward(v) + shift
            return self.backward(h.times(t)), t
        self.meter.passes += 1
        return self.design.curvature_product(v, shift, h.h if isinstance(h, Diagonal) else h)

    def scores_product(
        self, table: Array, curvature: Curvature, rough: RoughProducts | None = None
    ) -> Array:
        """[X 1]ᵀH[X 1]·table, of k scores: a Hessian times a step, whose last row is for b.

        ``rough`` are products in single precision, which a softmax may take instead.
        """
        self.meter.passes += 1
        if rough is not None and isinstance(curvature, Simplex):
            return rough.simplex_product(table, curvature.p, curvature.scales)
        return curvature.image(self.design, table)

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """X_cᵀ diag(h) X_c."""
        self.meter.passes += 1
        return self.design.gram(h, columns)

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The Gram of h-centred columns, and their means."""
        self.meter.passes += 1
        return self.design.covariance(h, columns)

    def hessian(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The Hessian in w, with the intercept, if there is one, minimised out."""
        if self.intercept and h.any():
            found = self.covariance(h, columns)
        else:
            size = self.n_features if columns is None else columns.size
            found = Covariance(self.gram(h, columns), np.zeros(size))
        if h is self.mass and columns is None:
            self.keep_spread(np.diag(found.matrix) + found.mean**2)
        return found

    def keep_spread(self, spread: Array) -> None:
        """Note the mean squares of all columns, found on the way, which saves another pass."""
        if self.facts.spread is None:
            self.facts.spread = spread

    @property
    def own_hessian(self) -> Covariance:
        """The Hessian in w of the squared loss; it is kept, so it must not be changed.

        Of more columns than rows it is not kept, since it would be larger than the data.
        """
        found = self.facts.hessian
        if found is None:
            found = self.hessian(self.mass)
            if self.n_features <= self.n_samples:
                self.facts.hessian = found
        return found

    def gram_of_all(self, columns: IntArray) -> Covariance | None:
        """`own_hessian`, if these are all columns and not many; else a pass is counted."""
        few = columns.size == self.n_features < min(self.n_samples, MOST_COLUMNS)
        if few and self.units is None:
            return self.own_hessian
        self.meter.passes += 1
        return None

    @property
    def row_space(self) -> RowSpace | None:
        """The rows of a dense X with no more rows than columns, if their rank is clear."""
        facts = self.facts
        if facts.row_space is None:
            n, d = self.design.shape
            found = None
            if n <= d and self.has_columns and not self.design.sparse:
                centre = self.column_means if self.intercept else None
                found = RowSpace.of(self.design, self.row_mass, centre)
            facts.row_space = (found,)
        return facts.row_space[0]

    def moments(self, h: Array) -> Moments:
        """Σ h x and Σ h x² of every column."""
        self.meter.passes += 1
        return self.design.moments(h)

    def reach(self, point: Point) -> float:
        """Σ|xᵢⱼwⱼ| + |b| or more, by Cauchy-Schwarz: the size of the parts of a score."""
        if self.n_scores > 1 and self.has_columns and not point.w.any():  # saves the spread
            return float(np.linalg.norm(point.b))
        if self.n_scores == 1:
            if self.facts.spread is None and isinstance(self.design, DenseDesign):
                used = np.flatnonzero(point.w)
                if used.size <= _FEW_USED * point.w.size:  # saves the spread of all columns
                    sizes = self._sizes_of(used)
                    return float(self.design.score_sizes(point.w[used], sizes)) + abs(point.b)
            return float(self.design.score_sizes(point.w, self.root_spread)) + abs(point.b)
        sizes = self.design.score_sizes(point.w, self.root_spread)
        return float(np.linalg.norm(sizes + np.abs(point.b)))

    def _sizes_of(self, columns: IntArray) -> Array:
        """Root mean squares of some columns, kept for the other models of a path."""
        known = self.facts.sizes
        if known is None:
            known = self.facts.sizes = np.full(self.n_features, np.nan)
        sizes = known[columns]
        new = columns[np.isnan(sizes)]
        if not new.size:
            return sizes
        known[new] = np.sqrt(self.design.columns(new).moments(self.row_mass).second)
        return known[columns]

    # Designs without columns ---------------------------------------------------------------------

    def _represented(self, point: Point) -> Represented:
        """The w of a point by its coefficients and the scores without offset and intercept."""
        image = point.z - point.b
        return Represented(point.w, image if self.offset is None else image - self.offset)

    def plane(self, point: Point, slope: Array, image: Array) -> Plane:
        """The position of w and of the slope of a dual point in the plane they span."""
        return plane(self._represented(point), Represented(slope, image))

    def shares(self, slope: Array, image: Array) -> set[float]:
        """Scales at which to measure a dual point, from the domain of Ω*."""
        form = self.penalty.function_of_norm
        return {0.0} if form is None else form.shares(np.array([Represented(slope, image).norm]))

    # Facts about the columns ---------------------------------------------------------------

    @cached_property
    def column_means(self) -> Array:
        """Σ mass·x of every column; the pass that finds it gives the `spread` as well."""
        if self.facts.means is None:
            self.facts.means, square = self.moments(self.row_mass)
            if self.design.reading == 1.0:  # else `spread` may be that of some rows
                self.keep_spread(square)
        return self.facts.means

    @cached_property
    def spread(self) -> Array:
        """Σ mass·x² of every column: its size, for tolerances and rounding."""
        if self.facts.spread is None:
            self.facts.spread = self._spread()
        return self.facts.spread

    def _spread(self) -> Array:
        if not self.has_columns:  # Kᵢⱼ² ≤ Kᵢᵢ·Kⱼⱼ
            return self.design.row_lengths * self.row_mean(self.design.row_lengths)
        if self.facts.means is None and self.design.squares_of_all:
            self.facts.means, square = self.moments(self.row_mass)
            return square
        self.meter.passes += 1
        return self.design.column_squares(self.row_mass)

    @cached_property
    def root_spread(self) -> Array:
        """Root mean square of every column."""
        if self.facts.root_spread is None:
            self.facts.root_spread = np.sqrt(self.spread)
        return self.facts.root_spread

    @cached_property
    def column_norms(self) -> Array:
        """√(Σ mass·x²) of every column, centred if there is an intercept; never too small."""
        if self.facts.column_norms is None:
            self.facts.column_norms = self._column_norms()
        return self.facts.column_norms

    def _column_norms(self) -> Array:
        if not self.intercept and self.design.reading == 1.0:
            return self.root_spread
        mean, square = self.moments(self.row_mass)
        if self.design.reading == 1.0:
            self.keep_spread(square)
        if not self.intercept:  # `spread` may be that of some rows
            return np.sqrt(square)
        rounding = 4 * EPS * np.sqrt(self.n_samples + 16.0)
        return np.sqrt(np.maximum(square - mean * mean, 0.0) + rounding * square)
