"""Functions ψ of one number that compiled kernels know: pieces, the softplus, exponentials.

Most losses with kinks are linear or quadratic between finitely many knots, and then slopes,
conjugate, proximal point and best intercept are exact. A loss that defines its `pieces` gets all of
them, and every solver for piecewise linear-quadratic problems.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array, ArrayLike
from .analysis.probe import Facts


class Pieces:
    """ψ(t), given by K increasing knots and the K + 1 pieces that they divide the axis into.

    On piece k, ψ'(t) = slopesₖ + curvaturesₖ·(t − anchor), where the anchor is the knot on the
    left of the piece, and the first knot for the first piece. ψ is continuous, and its slope
    never falls.

    Parameters
    ----------
    knots : array-like of shape (K,)
        Increasing; at least one.
    slopes : array-like of shape (K + 1,)
        The slope of every piece at its anchor, seen from inside the piece.
    curvatures : array-like of shape (K + 1,), default=0
        The second derivative on every piece, not negative.
    base : float, default=0
        ψ at the first knot.

    Examples
    --------
    The hinge max(0, 1 − m):

    >>> import numpy as np, minimand as mm
    >>> hinge = mm.Pieces([1.0], [-1.0, 0.0])
    >>> hinge.value(np.array([-1.0, 0.5, 3.0]))
    array([2. , 0.5, 0. ])
    >>> hinge.lowest, hinge.highest          # the domain of the conjugate
    (-1.0, 0.0)

    A user's own loss, a hinge that is twice as steep for mistakes:

    >>> class Steeper(mm.Margin):
    ...     pieces = mm.Pieces([0.0, 1.0], [-2.0, -1.0, 0.0], base=1.0)
    >>> Steeper().psi(np.array([-1.0, 0.5, 1.0]))
    array([3. , 0.5, 0. ])
    """

    def __init__(
        self,
        knots: ArrayLike,
        slopes: ArrayLike,
        curvatures: ArrayLike = None,
        base: float = 0.0,
    ) -> None:
        self.knots = np.atleast_1d(np.asarray(knots, dtype=float))
        self.slopes = np.atleast_1d(np.asarray(slopes, dtype=float))
        bends = np.zeros(self.slopes.size) if curvatures is None else curvatures
        self.curvatures = np.atleast_1d(np.asarray(bends, dtype=float))
        self.base = float(base)
        self._check()

    def _check(self) -> None:
        count = self.knots.size
        if count == 0 or self.slopes.size != count + 1 or self.curvatures.size != count + 1:
            raise ValueError(
                "Pieces needs at least one knot, and one slope and one curvature more than "
                f"knots; got {count} knots, {self.slopes.size} slopes and "
                f"{self.curvatures.size} curvatures."
            )
        numbers = np.concatenate([self.knots, self.slopes, self.curvatures, [self.base]])
        if not np.isfinite(numbers).all() or (np.diff(self.knots) <= 0).any():
            raise ValueError("Pieces takes finite numbers, and knots that increase strictly.")
        falls = np.flatnonzero(self.slopes[1:] < self.left - 1e-12 * np.abs(self.left))
        if (self.curvatures < 0).any() or falls.size:
            where = f" at knot {self.knots[falls[0]]:g}" if falls.size else ""
            raise ValueError(f"the pieces are not convex: the slope falls{where}.")

    @cached_property
    def _anchors(self) -> Array:
        return np.concatenate([self.knots[:1], self.knots])

    @cached_property
    def left(self) -> Array:
        """The slope just left of every knot."""
        return self.slopes[:-1] + self.curvatures[:-1] * (self.knots - self._anchors[:-1])

    @cached_property
    def jumps(self) -> Array:
        """The jump of the slope at every knot, 0 where it is no more than rounding."""
        right, left = self.slopes[1:], self.left
        noise = 8 * np.finfo(float).eps * float(np.abs(self.slopes).max())  # safeguard
        return np.where(right - left > noise, right - left, 0.0)

    @cached_property
    def middle(self) -> float:
        """The mean of the knots: about where ψ bends."""
        return float(np.mean(self.knots))

    @cached_property
    def values(self) -> Array:
        """ψ at the knots."""
        widths = np.diff(self.knots)
        rises = widths * (self.slopes[1:-1] + 0.5 * self.curvatures[1:-1] * widths)
        return self.base + np.concatenate([[0.0], np.cumsum(rises)])

    @cached_property
    def lowest(self) -> float:
        """The least slope of ψ: where the domain of ψ* begins."""
        return -np.inf if self.curvatures[0] > 0 else float(self.slopes[0])

    @cached_property
    def highest(self) -> float:
        """The greatest slope of ψ: where the domain of ψ* ends."""
        return np.inf if self.curvatures[-1] > 0 else float(self.slopes[-1])

    @cached_property
    def linear(self) -> bool:
        """Whether there is no curved piece."""
        return not self.curvatures.any()

    @cached_property
    def smoothness(self) -> float:
        """The largest curvature; inf where there is a kink."""
        return np.inf if self.jumps.any() else float(self.curvatures.max())

    @cached_property
    def facts(self) -> Facts:
        """Convex by construction; the first kink; whether there is a minimum."""
        kinks = np.flatnonzero(self.jumps)
        kink = float(self.knots[kinks[0]]) if kinks.size else None
        return Facts(None, kink, self.lowest <= 0 <= self.highest)

    def smoothed(self, width: float) -> Pieces:
        """The envelope min over s of ψ(s) + (t − s)²/(2·width): a parabola for every kink.

        Its slope at t + width·v is v, for every slope v of ψ at t; so curvatures c become
        c/(1 + width·c), and kinks 1/width.
        """
        knots, slopes, bends = [], [self.slopes[0]], [self._rounded_bend(0, width)]
        for k, (knot, jump) in enumerate(zip(self.knots, self.jumps)):
            knots.append(knot + width * self.left[k])
            if jump > 0:
                slopes.append(self.left[k])
                knots.append(knot + width * self.slopes[k + 1])
                bends.append(jump / (knots[-1] - knots[-2]))
            slopes.append(self.slopes[k + 1])
            bends.append(self._rounded_bend(k + 1, width))
        return Pieces(knots, slopes, bends, self.base + 0.5 * width * self.left[0] ** 2)

    def _rounded_bend(self, k: int, width: float) -> float:
        return float(self.curvatures[k] / (1.0 + width * self.curvatures[k]))

    @cached_property
    def parts(self) -> tuple[Array, Array, Array, Array, Array]:
        """The arrays that compiled kernels read."""
        return self.knots, self.slopes, self.curvatures, self.left, self.values

    def value(self, t: Array) -> Array:
        """ψ(t)."""
        return self.terms(t)[0]

    def slope(self, t: Array) -> Array:
        """ψ'(t); at a kink the slope on its right."""
        return self.terms(t)[1]

    def curvature(self, t: Array) -> Array:
        """ψ''(t)."""
        return self.terms(t)[2]

    def terms(self, t: Array) -> tuple[Array, Array, Array]:
        """ψ, ψ' and ψ'' in one pass."""
        t = np.asarray(t, float)
        value, slope, curvature = _core.piecewise_terms(self.parts, t.ravel())
        return value.reshape(t.shape), slope.reshape(t.shape), curvature.reshape(t.shape)

    def subgradients(self, t: Array, reach: float | Array = 0.0) -> tuple[Array, Array]:
        """The least and the greatest slope within ``reach`` of t."""
        t = np.asarray(t, dtype=float)
        greatest = self.slope(t + reach)
        least = self.slope(t - reach)
        for knot, slope in zip(self.knots, self.left):
            at = np.abs(t - knot) <= reach
            least = np.where(at, np.minimum(least, slope), least)
        return least, greatest

    def young(self, t: Array, v: Array) -> Array:
        """ψ(t) + ψ*(v) − v·t: the area between ψ' and v, which cannot cancel."""
        t, v = np.asarray(t, float), np.asarray(v, float)
        if t.shape != v.shape:
            t, v = np.broadcast_arrays(t, v)
        return _core.piecewise_young(self.parts, t.ravel(), v.ravel()).reshape(t.shape)

    def dual(self, v: Array) -> Array:
        """ψ*(v) = sup_t v·t − ψ(t)."""
        knot = self.knots[0]
        return self.young(np.full(np.shape(v), knot), v) + v * knot - self.base

    def prox(self, t: Array, step: float | Array) -> Array:
        """argmin_s ψ(s) + (s − t)²/(2·step)."""
        t, step = np.broadcast_arrays(np.asarray(t, float), np.asarray(step, float))
        return _core.piecewise_prox(self.parts, t.ravel(), step.ravel()).reshape(t.shape)

    def clip(self, v: Array) -> Array:
        """The point of the domain of ψ* nearest to v."""
        return np.clip(v, self.lowest, self.highest)

    def room(self, v: Array) -> Array:
        """The distance of v from the corners of ψ*, the slopes of linear pieces; 1 without any.

        The multiplier of a sample away from all kinks is in a corner, where moving it costs most.
        """
        corners = self.slopes[self.curvatures == 0]
        if not corners.size:
            return np.ones(np.shape(v))
        return np.min([np.abs(v - corner) for corner in corners], axis=0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pieces):
            return NotImplemented
        return self.base == other.base and all(map(np.array_equal, self.parts, other.parts))

    def __hash__(self) -> int:
        return hash((self.base, *(part.tobytes() for part in self.parts)))

    def __repr__(self) -> str:
        names: list[tuple[str, Callable[[], list[float]]]] = [
            ("knots", self.knots.tolist),
            ("slopes", self.slopes.tolist),
            ("curvatures", self.curvatures.tolist),
        ]
        inner = ", ".join(f"{name}={get()}" for name, get in names)
        return f"Pieces({inner}, base={self.base:g})"


class PLQ(NamedTuple):
    """A piecewise linear-quadratic loss on given targets: ψ(t), t = sign·z − shift, sign = ±1."""

    pieces: Pieces
    sign: Array
    shift: Array

    def at(self, z: Array) -> Array:
        """t."""
        return self.sign * z - self.shift

    def best_shifts(self, z: Array, mass: Array) -> tuple[float, float]:
        """The lowest and the highest b that minimise Σ mass·ψ at z + b; infinite ends are open."""
        return _core.piecewise_shift(self.pieces.parts, self.at(z), self.sign, mass)


class Softplus:
    """ψ(t) = log(1 + e^−t), with slopes in the open interval (−1, 0).

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.losses import Softplus
    >>> Softplus().slope(np.zeros(1))
    array([-0.5])
    """

    parts = "softplus"  # the name that compiled kernels know it by
    middle = 0.0  # where it bends most

    def slope(self, t: Array) -> Array:
        """−σ(−t)."""
        from scipy.special import expit

        return np.asarray(-expit(-t))

    def clip(self, v: Array) -> Array:
        """The point of the domain of ψ* nearest to v."""
        return np.clip(v, -1.0, 0.0)


class Exponentials(NamedTuple):
    """ψᵢ(t) = sizeᵢ·(E(−a·t)/a + E(b·t)/b), E(x) = eˣ − 1 − x, a + b = 1, without a term of 1/0.

    Where ``single`` is 1, ψᵢ(t) = sizeᵢ·e^{bt}/b. Only steps on all rows know it: it has no step
    of a single row.
    """

    a: float
    size: Array
    single: Array

    @property
    def parts(self) -> tuple[float, Array, Array]:
        """The numbers that compiled kernels read."""
        return self.a, self.size, self.single


class Rowwise(NamedTuple):
    """A loss on given targets: ψ(t), t = sign·z − shift, sign = ±1."""

    psi: Pieces | Softplus | Exponentials
    sign: Array
    shift: Array

    @property
    def row_by_row(self) -> bool:
        """Whether ascent in the dual variables of single rows knows ψ."""
        return not isinstance(self.psi, Exponentials)

    def at(self, z: Array) -> Array:
        """t."""
        return self.sign * z - self.shift
