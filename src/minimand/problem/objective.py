"""The one place where the mean, the weights, alpha, the offset and the penalty meet.

P(w, b) = Σ massᵢ·ℓ(zᵢ, yᵢ) + Ω(w),   z = offset + X w + b,   massᵢ = sᵢ/Σs,   Ω = α·penalty
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .._base.row_blocks import ROWS, in_parts
from .._base.typing import AnyArray, Array, BoolArray, IntArray
from ..design import Covariance, Design, Moments
from ..losses import PLQ, Loss, Terms
from ..penalties import BoundPenalty
from .basis import Basis
from .dependence import find_basis
from .intercept import best_shift

if TYPE_CHECKING:
    from .path_facts import Memory

EPS = float(np.finfo(float).eps)
_NARROW = 8  # numbers in a row: measured at 10⁷ rows, a vector costs as much as a pass over these


def dot(a: Array, b: Array) -> float:
    """Σ aᵢbᵢ without BLAS, whose threads cost more than such a short sum."""
    return _core.dot(a, b)


class Point(NamedTuple):
    """A model on the training data: coefficients, intercept, and the scores z they give."""

    w: Array
    b: float
    z: Array


@dataclass
class Meter:
    """Counts passes over the data."""

    passes: float = 0.0


@dataclass(frozen=True, eq=False)
class Objective:
    """A problem to be minimised; it holds the data and knows no algorithm."""

    loss: Loss
    penalty: BoundPenalty
    design: Design
    y: Array
    mass: Array
    offset: Array | None = None
    intercept: bool = True
    words: str = ""
    meter: Meter = field(default_factory=Meter)
    memory: Memory | None = None  # what the problems of a path share

    @property
    def n_samples(self) -> int:
        """Rows of the design."""
        return self.design.shape[0]

    @property
    def n_features(self) -> int:
        """Columns of the design."""
        return self.design.shape[1]

    def with_target(self, y: Array) -> Objective:
        """The same problem for another y; the data are shared, the passes counted anew."""
        new = replace(self, y=y, meter=Meter())
        new.__dict__["spread"] = self.spread
        if "free_basis" in self.__dict__:
            new.__dict__["free_basis"] = self.free_basis
        return new

    def with_penalty(
        self,
        penalty: BoundPenalty,
        *,
        columns: IntArray | None = None,
        words: str | None = None,
        meter: Meter | None = None,
    ) -> Objective:
        """The same data under another penalty, on some columns only if asked.

        What does not depend on the penalty is shared; passes are counted together unless there is
        a new meter.
        """
        new = self._copied()
        new.update(penalty=penalty, constant_target=self.constant_target)
        if words is not None:
            new["words"] = words
        if meter is not None:
            new["meter"] = meter
        if columns is not None:
            new.update(design=self.design.columns(columns), memory=None)
        chosen = slice(None) if columns is None else columns
        for name in ("spread", "root_spread", "column_norms"):
            if name in self.__dict__:
                new[name] = self.__dict__[name][chosen]
        known = ["infimum"]
        if columns is None and np.array_equal(penalty.free, self.penalty.free):
            known.append("free_basis")
        if columns is None and self._null_is_zero and _is_unbounded(penalty):
            new["null"] = self.null
            known += ["null_loss", "_null_is_zero"]
            if self.penalty.sum_over_features is not None:
                known += ["null_primal", "scale"]  # zero costs nothing under either penalty
        else:
            old = self.null.w[chosen]
            null = penalty.project(np.zeros(old.size))
            if np.array_equal(null, old):  # constraints may have moved it
                new["null"] = self.null._replace(w=null)
                known.append("null_loss")
                sums = (penalty.sum_over_features, self.penalty.sum_over_features)
                if not null.any() and None not in sums:
                    known += ["null_primal", "scale"]
        new.update((name, self.__dict__[name]) for name in known if name in self.__dict__)
        return self._made(new)

    @cached_property
    def _null_is_zero(self) -> bool:
        """Whether no constraint has moved the null model away from w = 0."""
        return not self.null.w.any()

    def with_memory(self, memory: Memory | None) -> Objective:
        """The same problem, as one of a path or of none; what is known of it stays known."""
        return self._made({**self.__dict__, "memory": memory})

    def _copied(self) -> dict[str, Any]:
        """The fields, without what was computed from them."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def _made(self, contents: dict[str, Any]) -> Objective:
        """An objective of these fields; a path makes many, and `replace` is slow."""
        new = object.__new__(type(self))
        new.__dict__.update(contents)
        return new

    def weighted(self, loss: Loss, weights: Array) -> tuple[Objective, float]:
        """The same data under another loss with sample weights, and the sum T of the masses then.

        Masses add up to one, so everything is divided by T: the new objective is 1/T times
        Σ massᵢ·weightsᵢ·loss(zᵢ, yᵢ) + Ω(w).
        """
        mass = self.mass * weights
        total = float(mass.sum())
        if not total > 0:
            total, mass = 1.0, np.zeros_like(mass)  # nothing but the penalty is left
        penalty = self.penalty.times(1.0 / total)
        new = replace(self, loss=loss, mass=mass / total, penalty=penalty, memory=None)
        new.__dict__["constant_target"] = self.constant_target
        return new, total

    # Products with the data, counted ---------------------------------------------------------

    def scores(self, w: Array, b: float) -> Array:
        """offset + X w + b."""
        if not w.any():
            z = np.zeros(self.n_samples)
        else:
            self.meter.passes += 1
            z = self.design.matvec(w)
        if self.offset is not None:
            z += self.offset
        z += b
        return z

    def forward(self, w: Array) -> Array:
        """X w."""
        self.meter.passes += 1
        return self.design.matvec(w)

    def backward(self, u: Array) -> Array:
        """Xᵀ u, for one or several columns in one pass."""
        if not u.any():
            return np.zeros((self.n_features, *u.shape[1:]))
        self.meter.passes += 1
        return self.design.rmatvec(u)

    def backward_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u."""
        self.meter.passes += columns.size / self.n_features
        return self.design.rmatvec_on(columns, u)

    def slopes(self, w: Array, thetas: list[Array]) -> list[tuple[Array, BoolArray | None]]:
        """Xᵀ(mass∘θ) for several θ, as the certificate of a model w needs them.

        With each comes a mask of the columns where it is exact, None where it is exact everywhere.
        """
        if self.memory is not None:
            return [self.memory.slopes.of(self, w, theta) for theta in thetas]
        if len(thetas) == 1 or self._long_and_narrow:
            return [(self._slope(theta), None) for theta in thetas]
        side_by_side = np.empty((self.n_samples, len(thetas)))
        for column, theta in zip(side_by_side.T, thetas):
            np.multiply(self.mass, theta, out=column)
        slopes = self.backward(side_by_side)
        return [(slope, None) for slope in np.ascontiguousarray(slopes.T)]

    @cached_property
    def _long_and_narrow(self) -> bool:
        """Whether another pass costs less than another vector as long as the data."""
        return self.n_samples > ROWS and self.design.nnz <= _NARROW * self.n_samples

    @cached_property
    def _equal_mass(self) -> float | None:
        """What every one of many samples counts, if that is the same."""
        same = self.n_samples > ROWS and bool(self.mass.max() == self.mass.min())
        return float(self.mass[0]) if same else None

    def _slope(self, theta: Array) -> Array:
        """Xᵀ(mass∘θ)."""
        if self._equal_mass is None:
            return self.backward(self.mass * theta)
        return self._equal_mass * self.backward(theta)

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """Xᵀ(h∘t) and t = X v + shift."""
        self.meter.passes += 1
        return self.design.curvature_product(v, shift, h)

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """X_cᵀ diag(h) X_c."""
        self.meter.passes += 1
        return self.design.gram(h, columns)

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The Gram of h-centred columns, and their means."""
        self.meter.passes += 1
        return self.design.covariance(h, columns)

    def hessian(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The quadratic form of w with the intercept, if there is one, minimised out."""
        if self.intercept and h.any():
            found = self.covariance(h, columns)
        else:
            size = self.n_features if columns is None else columns.size
            found = Covariance(self.gram(h, columns), np.zeros(size))
        if h is self.mass and columns is None:  # the diagonal saves another pass
            self.__dict__.setdefault("spread", np.diag(found.matrix) + found.mean**2)
        return found

    def thinned(self, every: int) -> Objective:
        """The same problem on every k-th row: a cheap place to start from."""
        return self._on(self.design.thinned(every), slice(None, None, every))

    def on_rows(self, rows: AnyArray) -> Objective:
        """The same problem on some rows (increasing)."""
        return self._on(self.design.rows(rows), rows)

    def _on(self, design: Design, rows: Any) -> Objective:
        """The same problem on a design of some rows; passes are counted anew."""
        return replace(
            self,
            design=design,
            y=np.ascontiguousarray(self.y[rows]),
            mass=self.loss.masses(self.mass[rows]),
            offset=None if self.offset is None else np.ascontiguousarray(self.offset[rows]),
            meter=Meter(),
        )

    def moments(self, h: Array) -> Moments:
        """Σ h x and Σ h x² of every column."""
        self.meter.passes += 1
        return self.design.moments(h)

    # Values --------------------------------------------------------------------------------

    def mean(self, values: Array) -> float:
        """Σ massᵢ·valuesᵢ."""
        return dot(self.mass, values)

    def mean_of(self, values: Callable[..., Array], *rowwise: Array) -> float:
        """Σ massᵢ·values(rows)ᵢ, some rows at a time: nothing as long as y is made on the way."""
        if self.n_samples <= ROWS:
            return dot(self.mass, values(*rowwise))
        parts = in_parts(self.mass, *rowwise)
        return sum(dot(mass, values(*part)) for mass, *part in parts)

    def terms(self, z: Array) -> Terms:
        """Value, gradient and curvature of the loss of every sample, some rows at a time too."""
        if self.loss.pooled or self.n_samples <= ROWS:
            return self.loss.terms(z, self.y)
        value, gradient = np.empty(self.n_samples), np.empty(self.n_samples)
        same = self.loss.quadratic
        # The curvature of a quadratic is one number, which takes no memory.
        one = self.loss.curvature(z[:1], self.y[:1]) if same else np.empty(0)
        curvature = np.broadcast_to(one, z.shape) if same else np.empty(self.n_samples)
        for *out, scores, y in in_parts(value, gradient, curvature, z, self.y):
            for place, term in zip(out[:2] if same else out, self.loss.terms(scores, y)):
                place[:] = term
        return Terms(value, gradient, curvature)

    def young(self, z: Array, theta: Array) -> Array:
        """massᵢ times the Fenchel-Young term of every sample, some rows at a time likewise."""
        if self.loss.pooled or self.n_samples <= ROWS:
            return self.mass * self.loss.fenchel_young(z, theta, self.y)
        terms = np.empty(self.n_samples)
        for out, mass, *part in in_parts(terms, self.mass, z, theta, self.y):
            np.multiply(mass, self.loss.fenchel_young(*part), out=out)
        return terms

    def mean_young(self, z: Array, theta: Array) -> float:
        """Their sum, without a vector as long as y."""
        if self.loss.pooled:
            return float(self.young(z, theta).sum())
        return self.mean_of(self.loss.fenchel_young, z, theta, self.y)

    def point(self, w: Array, b: float) -> Point:
        """The model (w, b) with its scores."""
        return Point(w, b, self.scores(w, b))

    def primal(self, point: Point) -> float:
        """P(w, b)."""
        return self.mean(self.loss.value(point.z, self.y)) + self.penalty.value(point.w)

    def hidden_rounding(self, z: Array) -> float:
        """The mean rounding of the loss at z that its formula hides."""
        noise = self.loss.noise(z, self.y)
        return self.mean(noise) if isinstance(noise, np.ndarray) else noise

    @cached_property
    def convex(self) -> bool:
        """Whether local minima are global ones."""
        # A Majorised penalty, that is, but asking a protocol is slow.
        return self.loss.convex and not hasattr(self.penalty, "majoriser")

    @cached_property
    def kinks(self) -> PLQ | None:
        """The loss piece by piece, if it has kinks and is linear or quadratic between them."""
        return None if self.loss.smooth else self.loss.plq(self.y)

    @cached_property
    def has_free_columns(self) -> bool:
        """Whether some column is not penalised."""
        return bool(self.penalty.free.any())

    @cached_property
    def has_rays(self) -> bool:
        """Whether some column may grow for ever, on one side at least, at no cost."""
        if not self.penalty.has_constraints:
            return self.has_free_columns
        ones = np.ones(self.n_features)
        return bool((self.penalty.unscalable(ones) | self.penalty.unscalable(-ones)).any())

    @cached_property
    def free_basis(self) -> Basis | None:
        """The unpenalised columns in terms of some that are far from collinear; None: too many."""
        return self.basis_of(np.flatnonzero(self.penalty.free))

    def basis_of(self, columns: IntArray) -> Basis | None:
        """Some columns (and the intercept) in terms of others that are far from collinear."""
        if "free_basis" in self.__dict__ and np.array_equal(
            columns, np.flatnonzero(self.penalty.free)
        ):
            return self.free_basis
        self.meter.passes += 1
        return find_basis(self.design, self.mass, columns, self.intercept, self.root_spread)

    @cached_property
    def constant_target(self) -> bool:
        """Whether y − offset is one number: then the null model is perfect, up to rounding."""
        target = self.y if self.offset is None else self.y - self.offset
        return bool(np.ptp(target) == 0)

    @cached_property
    def spread(self) -> Array:
        """Σ mass·x² of every column: its size, for tolerances and rounding."""
        return self.moments(self.mass).second

    @cached_property
    def root_spread(self) -> Array:
        """Root mean square of every column."""
        return np.sqrt(self.spread)

    @cached_property
    def column_norms(self) -> Array:
        """√(Σ mass·x²) of every column, centred where an intercept centres it; never too small."""
        if not self.intercept:
            return self.root_spread
        mean = self.moments(self.mass).first
        rounding = 4 * EPS * np.sqrt(self.n_samples + 16.0)
        return np.sqrt(np.maximum(self.spread - mean * mean, 0.0) + rounding * self.spread)

    @cached_property
    def null(self) -> Point:
        """w = 0, or the feasible point nearest to it, with the best intercept."""
        w = self.penalty.project(np.zeros(self.n_features))
        z = self.scores(w, 0.0)
        b = best_shift(self, z) if self.intercept else 0.0
        z += b
        return Point(w, b, z)

    @cached_property
    def scale(self) -> float:
        """P(null) − mean infimum of the loss: what tol and `relative` refer to."""
        return max(self.null_primal - self.infimum, 0.0)

    @cached_property
    def infimum(self) -> float:
        """The mean infimum of the loss."""
        return self.mean_of(self.loss.infimum, self.y)

    @cached_property
    def null_loss(self) -> float:
        """The mean loss of the null model."""
        if self.loss.pooled:
            return self.mean(self.loss.value(self.null.z, self.y))
        return self.mean_of(self.loss.value, self.null.z, self.y)

    @cached_property
    def null_primal(self) -> float:
        """P(null)."""
        return self.null_loss + self.penalty.value(self.null.w)


def _is_unbounded(penalty: BoundPenalty) -> bool:
    """Whether it is a sum over features without constraints, so that w = 0 costs nothing."""
    return penalty.sum_over_features is not None and not penalty.has_constraints
