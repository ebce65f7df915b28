"""The matching loss of any increasing transform f: convex in the score by construction."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, IntArray
from .base import Loss, Target
from .increasing import Function, Plain, Transformed, violation
from .numeric.quadrature import integrate

_EPS = float(np.finfo(float).eps)
_CLOSE = 1.0  # |z − f⁻¹(y)|; safeguard: for closer scores F(z) − F(f⁻¹(y)) − … would cancel
_TARGETS: dict[tuple[float, float], Target] = {(0.0, np.inf): "count", (0.0, 1.0): "unit"}


class MatchingLoss(Transformed, Loss):
    """∫ f(s) − y ds from f⁻¹(y) to z: the Bregman divergence of F, F' = f, at the scores.

    = F(z) − F(s) − y·(z − s) with f(s) = y. Its slope in z is f(z) − y, so it is convex because f
    increases, and zero exactly where f(z) = y. `predict` gives f(z), `decision_function` gives z.

    Parameters
    ----------
    f : callable
        Differentiable and strictly increasing on all numbers, vectorised: one of
        `minimand.transforms`, or any function such as ``numpy.arcsinh``. y must lie in its range,
        or at an end of it.
    F : callable, optional
        An antiderivative of f, which saves the time of quadrature.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> loss = mm.MatchingLoss(mm.transforms.tanh)
    >>> z, y = np.array([0.3, -2.0]), np.array([1.0, -1.0])
    >>> bool(np.allclose(loss.value(z, y), np.log1p(np.exp(-2 * y * z))))
    True
    >>> mild = mm.MatchingLoss(np.arcsinh)      # any increasing function will do
    >>> bool(mild.value(np.array([np.sinh(2.0)]), np.array([2.0]))[0] < 1e-15)
    True
    """

    def __init__(self, f: Any, F: Any = None) -> None:
        self.f = f
        self.F = F

    @property
    def target(self) -> Target:  # type: ignore[override]
        """The kind of targets, by the range of f."""
        return _TARGETS.get(self.increasing.range, "real") if callable(self.f) else "real"

    @property
    def proved(self) -> bool:  # type: ignore[override]
        """Whether F is found by quadrature; that of a user may not belong to f."""
        return self.F is None

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """The largest slope of f, if it is known."""
        return self.increasing.steepest

    @property
    def name(self) -> str:
        """``matching_loss(z, y; f=tanh)``."""
        return f"matching_loss(z, y; f={self.f_name})"

    def check_parameters(self) -> None:
        """f must increase, and F' must be f."""
        if not callable(self.f) or isinstance(self.f, type):
            raise ValueError(
                f"f of MatchingLoss must be a function of the score, such as "
                f"minimand.transforms.tanh, not {self.f!r}."
            )
        if isinstance(self.increasing, Plain):
            witness = violation(self.f)
            if witness:
                raise ValueError(
                    f"f of MatchingLoss must be differentiable and strictly increasing, but "
                    f"{witness}; without that it has no matching loss."
                )
        if self.F is not None:
            self._check_antiderivative()

    def _check_antiderivative(self) -> None:
        if not callable(self.F):
            raise ValueError(f"F of MatchingLoss must be a function or None, not {self.F!r}.")
        z = np.linspace(-6.0, 6.0, 25)
        with np.errstate(all="ignore"):
            heights = np.asarray(self.F(z), float)
            rise, _ = integrate(lambda x, _: self.increasing(x), z[:-1], z[1:], np.full(24, 1e-15))
            size = np.abs(heights[1:]) + np.abs(heights[:-1]) + np.abs(rise)
            wrong = ~(np.abs(np.diff(heights) - rise) <= 1e-9 * size)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"F of MatchingLoss must be an antiderivative of f, but from {z[i]:g} to "
                f"{z[i + 1]:g} it grows by {heights[i + 1] - heights[i]:g}, where f integrates to "
                f"{rise[i]:g}; leave it out to have it computed."
            )

    def check_target(self, y: Array) -> None:
        """y must lie in the range of f, its ends included."""
        lo, hi = self.increasing.range
        if not (np.isfinite(y).all() and (y >= lo).all() and (y <= hi).all()):
            raise ValueError(
                f"y is outside the domain of {self!r}: it takes numbers from {lo:g} to {hi:g}, "
                f"the range of f, but y ranges from {np.min(y):g} to {np.max(y):g}."
            )

    def value(self, z: Array, y: Array) -> Array:
        """∫ f(s) − y ds from f⁻¹(y) to z."""
        return self._divergence(z, y, self._origin(y))[0]

    def gradient(self, z: Array, y: Array) -> Array:
        """f(z) − y."""
        with np.errstate(over="ignore"):
            return self.increasing(z) - y

    def curvature(self, z: Array, y: Array) -> Array:
        """f'(z)."""
        with np.errstate(over="ignore"):
            return np.asarray(self.increasing.derivative(z), float)

    def conjugate(self, u: Array, y: Array) -> Array:
        """F*(y + u) − F*(y): the Fenchel-Young term at z = 0, less ℓ(0, y)."""
        u, y = np.broadcast_arrays(np.asarray(u, float), np.asarray(y, float))
        zero = np.zeros(u.shape)
        value, error = self._divergence(zero, y, self._origin(y))
        return self.fenchel_young(zero, u, y) - (value - error)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """The divergence of z from f⁻¹(a), a = y + u, with the error of its quadrature."""
        lo, hi = self.increasing.range
        a = np.asarray(y + u, float)
        slack = 4 * _EPS * (np.abs(y) + np.abs(u))  # rounding of y + u, at an end of the range
        inside = (a >= lo - slack) & (a <= hi + slack)
        a = np.clip(np.where(inside, a, self.increasing(np.zeros(())))[()], lo, hi)
        term, error = self._divergence(z, a, self._inverse(a))
        return np.where(inside, term + error, np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """y + u in the range of f."""
        return np.clip(u + y, *self.increasing.range) - y

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))

    def attained(self, y: Array) -> bool:
        """Unless y is at an end of the range."""
        lo, hi = self.increasing.range
        return bool(((y > lo) & (y < hi)).all())

    def transform(self, z: Array) -> Array:
        """f(z)."""
        with np.errstate(over="ignore"):
            return np.array(self.increasing(z))

    def _origin(self, y: Array) -> Array:
        """f⁻¹(y), cached for the y of a fit, which is needed many times."""
        kept = self.__dict__.get("_kept_origin")
        if kept is None or kept[0] is not self.f or not np.array_equal(kept[1], y):
            kept = self.__dict__["_kept_origin"] = (self.f, np.array(y), self._inverse(y))
        return kept[2]

    def _inverse(self, y: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(self.increasing.inverse(np.asarray(y, float)), float)

    def _divergence(self, z: Array, a: Array, s: Array) -> tuple[Array, Array]:
        """(∫ f − a from s to z, its error), s = f⁻¹(a); elementwise, of any shape."""
        z, a, s = np.broadcast_arrays(np.asarray(z, float), a, s)
        shape = z.shape
        z, a, s = z.ravel(), a.ravel(), s.ravel()
        term, error = np.zeros(z.shape), np.zeros(z.shape)
        with np.errstate(all="ignore"):
            for end, tail in ((-np.inf, "below"), (np.inf, "above")):
                if (at := s == end).any():
                    term[at] = getattr(self.increasing, tail)(z[at])
            finite = np.isfinite(s)
            by_formula = finite & (np.abs(z - s) > _CLOSE) & (self._antiderivative() is not None)
            for chosen, rule in (
                (by_formula, self._by_formula),
                (finite & ~by_formula, self._by_quadrature),
            ):
                if chosen.any():
                    term[chosen], error[chosen] = rule(z[chosen], a[chosen], s[chosen])
        return np.maximum(term, 0.0).reshape(shape), error.reshape(shape)

    def _antiderivative(self) -> Function | None:
        return self.F or getattr(self.increasing, "antiderivative", None)

    def _by_formula(self, z: Array, a: Array, s: Array) -> tuple[Array, Array]:
        """F(z) − F(s) − a(z − s)."""
        F = self._antiderivative()
        assert F is not None
        top, bottom = np.asarray(F(z), float), np.asarray(F(s), float)
        term = top - bottom - a * (z - s)
        error = 8 * _EPS * (np.abs(top) + np.abs(bottom) + np.abs(a * (z - s)))
        return np.where(np.isnan(term), np.inf, term), np.where(np.isfinite(error), error, 0.0)

    def _by_quadrature(self, z: Array, a: Array, s: Array) -> tuple[Array, Array]:
        f = self.increasing

        def height(x: Array, which: IntArray) -> Array:
            return f(x) - a[which]

        # The error of s as f⁻¹(a), and the rounding of f − a over the interval.
        noise = np.abs(f(s) - a) + 4 * _EPS * np.abs(a)
        term, error = integrate(height, s, z, noise)
        error = error + noise * np.abs(z - s)
        return np.where(np.isnan(term), np.inf, term), np.where(np.isfinite(error), error, 0.0)
