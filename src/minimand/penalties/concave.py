"""The bound form of penalties that are concave in |wⱼ|: their tangents are weighted l1 norms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array, BoolArray, IntArray
from .base import BoundPenalty, Majoriser
from .separable import Separable

if TYPE_CHECKING:
    from .nonconvex import ConcavePenalty

_STEEPEST = 1e250  # a slope; safeguard: greater ones overflow in products
_PROBES = np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 49)])  # values of |w|; convention
_SLACK = 1e-9  # share of the terms; safeguard: rounding of a user's formulas


class Curve(NamedTuple):
    """factor·p(|wⱼ|; λⱼ) for known λ."""

    penalty: ConcavePenalty
    lam: Array
    factor: float = 1.0


def check_concave(penalty: ConcavePenalty, lam: Array) -> None:
    """Refuse, in one sentence, a curve that is not concave or does not lie below its tangents.

    The curve is checked at the least and the greatest λ, since its shape may depend on λ.
    """
    name, used = type(penalty).__name__, lam[lam > 0]
    t = _PROBES
    for each in {float(used.min()), float(used.max())}:
        lams = np.full(t.shape, each)
        with np.errstate(all="ignore"):
            value, slope = (np.asarray(f(t, lams), float) for f in (penalty.curve, penalty.slope))
            finite = np.isfinite(slope)
            rise = np.where(finite, slope, 0.0)[:, None] * (t - t[:, None])
            above = value - value[:, None] - rise
            size = np.abs(value) + np.abs(value)[:, None] + np.abs(rise)
        if value.shape != t.shape or slope.shape != t.shape:
            raise ValueError(f"curve and slope of {name} must return one number for every t.")
        if not np.isfinite(value).all() or np.isnan(slope).any() or not finite[1:].all():
            raise ValueError(f"curve and slope of {name} must be finite for every t > 0.")
        if value[0] != 0 or (slope < 0).any():
            raise ValueError(f"{name} must begin with curve(0) = 0 and have slopes ≥ 0.")
        wrong = finite[:, None] & (above > _SLACK * size)
        if wrong.any():
            share = np.divide(above, size, out=np.zeros_like(above), where=wrong)
            a, b = np.unravel_index(np.argmax(share), wrong.shape)
            raise ValueError(
                f"{name} is not concave in |w|, or slope is not the derivative of its curve: a "
                f"tangent lies below the curve (that at |w| = {t[a]:g}, where |w| = {t[b]:g})."
            )


@dataclass(frozen=True, eq=False)
class Concave(BoundPenalty):
    """Σ p(|wⱼ|; λⱼ), one or several of them, and a convex part."""

    curves: tuple[Curve, ...]
    convex: Separable

    def __add__(self, other: Concave | Separable) -> Concave:
        if isinstance(other, Separable):
            return Concave(self.curves, self.convex + other)
        if not isinstance(other, Concave):
            return NotImplemented  # a ball has no tangent majoriser
        return Concave(self.curves + other.curves, self.convex + other.convex)

    __radd__ = __add__

    def times(self, factor: float) -> Concave:
        """factor·Ω. A factor of the penalty object multiplies λ instead."""
        curves = tuple(curve._replace(factor=factor * curve.factor) for curve in self.curves)
        return Concave(curves, self.convex.times(factor))

    @property
    def lam(self) -> Array:
        """Σ of the λ of all curves."""
        return np.sum([factor * lam for _, lam, factor in self.curves], axis=0)

    def value(self, w: Array) -> float:
        """Ω(w)."""
        return float(self.heights(w).sum()) + self.convex.value(w)

    def heights(self, w: Array) -> Array:
        """Σ p(|wⱼ|) of the curves, per feature."""
        t = np.abs(w)
        return np.sum([factor * p.curve(t, lam) for p, lam, factor in self.curves], axis=0)

    def slopes(self, w: Array) -> Array:
        """Σ p'(|wⱼ|): infinite only where |wⱼ| = 0; a curve with λⱼ = 0 is flat."""
        t = np.abs(w)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            parts = [np.where(lam > 0, f * p.slope(t, lam), 0.0) for p, lam, f in self.curves]
        slopes = np.sum(parts, axis=0)
        return np.where(t > 0, np.minimum(slopes, _STEEPEST), slopes)

    # Convex bounds -------------------------------------------------------------------------

    def majoriser(self, w: Array) -> Majoriser:
        """The tangent at w: Σ p'(|wⱼ|)·|·| on the columns whose slope is finite, the others 0."""
        slopes = self.slopes(w)
        finite = np.isfinite(slopes)
        if finite.ndim > 1:  # keep a row with some zero scores, and give these the steepest slope
            slopes = np.where(finite, slopes, _STEEPEST)
            finite = np.asarray(finite.any(axis=1))
        return self._weighted(slopes, np.flatnonzero(finite))

    def first_majoriser(self) -> Majoriser:
        """The tangent at zero, or the lasso with the same λ where the slope at zero is infinite."""
        slopes = self.slopes(np.zeros_like(self.lam))
        return self._weighted(np.where(np.isfinite(slopes), slopes, self.lam), None)

    def _weighted(self, l1: Array, columns: IntArray | None) -> Majoriser:
        if columns is None or columns.size == len(l1):
            return Majoriser(Separable(l1, np.zeros_like(l1)) + self.convex, None)
        l1 = l1[columns]
        part = Separable(l1, np.zeros_like(l1)) + self.convex.take(columns)
        return Majoriser(part, columns)

    # The protocol of bound penalties -------------------------------------------------------

    @property
    def makes_zeros(self) -> bool:
        """True: every curve has a kink at zero."""
        return True

    @property
    def has_constraints(self) -> bool:
        """Whether the convex part has bounds."""
        return self.convex.has_constraints

    def by_feature(self, w: Array, v: Array) -> Array:
        """p(|w|) plus the terms of the convex part: a valid bound, but small only near 0.

        p ≥ 0 grows more slowly than |w|, so Ω* is at most the conjugate of the convex part, and
        equal to it without an l2 part. The referee uses the tangent, whose bound is tighter.
        """
        return self.heights(w) + self.convex.by_feature(w, v)

    def unscalable(self, v: Array) -> BoolArray:
        """Columns on which the convex part alone requires a slope of zero."""
        return self.convex.unscalable(v)

    def project(self, w: Array) -> Array:
        """The nearest point within the bounds of the convex part."""
        return self.convex.project(w)

    def relaxed(self, w: Array) -> None:
        """None: the referee relaxes the tangents instead."""
        return None

    def shrink(self, v: Array) -> float:
        """The largest s ≤ 1 with |s·v| ≤ l1 wherever the convex part has no l2."""
        limited = (self.convex.l2 == 0) & ~self.free
        return _core.largest_scale(v.ravel(), np.where(limited, self.convex.l1, np.inf).ravel())

    @cached_property
    def free(self) -> BoolArray:
        """Unpenalised features: λ = 0 and no convex part."""
        return (self.lam == 0) & self.convex.free

    def prox(self, w: Array, step: float | Array) -> Array:
        """A global minimiser of Ω(x) + (x − w)²/(2·step), feature by feature.

        For t = |x| an l1 part shifts |w| by step·l1 and an l2 part divides |w| and the step by
        1 + step·l2, which leaves the problem of the curve alone.
        """
        if len(self.curves) > 1:
            raise NotImplementedError("the prox of a sum of two non-convex penalties is not known")
        if self.convex.bounds is not None:
            raise NotImplementedError("the prox of a non-convex penalty within bounds is not known")
        penalty, lam, factor = self.curves[0]
        inner = factor * step / (1.0 + step * self.convex.l2)
        a = np.abs(self.convex.prox(w, step))
        moved = np.where(lam > 0, penalty.shrunk(a, inner, lam), a)
        return np.copysign(moved, w)
