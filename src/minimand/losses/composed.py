"""A loss of a transformed score, ℓ(f(z), y)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array
from .analysis import probe
from .base import Loss, Target
from .increasing import Plain, Transformed, violation
from .numeric.bracket import young_gap

_WIDE = np.linspace(-1.0, 1.0, 801)  # shares of the range of scores that is probed; safeguard
_TARGETS = (0.3, 0.5, 0.9, 0.0, 1.0, -0.5, -1.0, -3.0, 7.0, 40.0)  # y to probe; safeguard


class Composed(Transformed, Loss):
    """ℓ(f(z), y); `minimand.transforms.compose` makes them, and refuses what is not convex."""

    proved = True

    def __init__(self, loss: Loss, f: Any) -> None:
        self.loss = loss
        self.f = f

    @property
    def target(self) -> Target:  # type: ignore[override]
        """The targets that the inner loss takes."""
        return self.loss.target

    @property
    def smooth(self) -> bool:
        """As the loss is."""
        return self.loss.smooth

    @property
    def name(self) -> str:
        """The loss as it is printed in a certificate."""
        return self.loss.name.replace("(z,", f"({self.f_name}(z),", 1)

    def check_parameters(self) -> None:
        """The pair must be convex."""
        self.loss.check_parameters()
        fault = violation(self.f) if isinstance(self.increasing, Plain) else ""
        if fault:
            raise ValueError(
                f"f must be differentiable and strictly increasing to be composed with a loss, "
                f"but {fault}."
            )
        witness = self.witness()
        if witness:
            match = getattr(self.f, "matching_loss", lambda: f"MatchingLoss({self.f_name})")()
            if match == self.loss:
                raise ValueError(
                    f"{self.loss!r} takes the score z and applies {self.f_name} itself, so that "
                    f"applying it twice is not convex: use {self.loss!r} alone."
                )
            raise ValueError(f"{witness}; the loss that matches {self.f_name} is {match}.")

    def check_target(self, y: Array) -> None:
        """Check y as the loss does, and that the pair is convex for these targets."""
        self.loss.check_target(y)
        values = np.quantile(y, np.linspace(0.0, 1.0, 9))
        witness = self.witness(tuple(np.unique([*values, np.mean(y)])))
        if witness:
            raise ValueError(f"{witness}.")

    def witness(self, targets: tuple[float, ...] = _TARGETS) -> str:
        """Where the pair has negative curvature, in words; empty if nowhere found."""
        reach = 2.0 * max(map(abs, targets))
        z = np.concatenate(
            [np.linspace(-8.0, 8.0, 161), np.linspace(-100.0, 100.0, 81), reach * _WIDE]
        )
        for y in filter(self._takes, targets):
            with np.errstate(all="ignore"):
                upward, pulled, scale = self._bends(z, np.full(z.shape, y))
                bend = upward + pulled
                down = bend < -1e-6 * upward - 1e-7 * scale
            if down.any():
                at = int(np.argmin(np.where(down, bend, np.inf)))
                words = f"for y = {y:g} it bends downwards at z = {z[at]:g}"
                return f"{self.loss!r} of {self.f_name} is not convex: {words}"
            found = self._tangents_below(y)
            if found:
                return f"{self.loss!r} of {self.f_name} is not convex: for y = {y:g}, {found}"
        return ""

    def _takes(self, y: float) -> bool:
        try:
            self.loss.check_target(np.array([y]))
        except ValueError:
            return False
        return True

    def _tangents_below(self, y: float) -> str:
        """Where kinks of f break convexity, in words."""

        def at(function: Any) -> probe.Function:
            return lambda t: function(t, np.full(np.shape(t), y))

        zero = probe.inspect(at(self.value), at(self.gradient), np.zeros_like).violation
        return "" if zero is None else zero.split(";")[0].replace("psi", "the loss")

    def _bends(self, z: Array, y: Array) -> tuple[Array, Array, Array]:
        """ℓ''·f'², ℓ'·f'', and the size of the terms, which bounds the rounding of the latter."""
        inner, slope = self.increasing(z), self.increasing.derivative(z)
        pull = self.loss.gradient(inner, y)
        bend = self.loss.curvature(inner, y) * slope**2
        return bend, pull * self.increasing.second_derivative(z), np.abs(pull) * np.abs(slope)

    def value(self, z: Array, y: Array) -> Array:
        """ℓ(f(z), y)."""
        return self.loss.value(self.increasing(z), y)

    def gradient(self, z: Array, y: Array) -> Array:
        """ℓ'(f(z), y)·f'(z)."""
        return self.loss.gradient(self.increasing(z), y) * self.increasing.derivative(z)

    def curvature(self, z: Array, y: Array) -> Array:
        """ℓ''·f'² + ℓ'·f''."""
        upward, pulled, _ = self._bends(z, y)
        return np.maximum(upward + pulled, 0.0)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """An upper bound, by bracketing."""
        return young_gap(self.value, self.gradient, z, u, y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """The Fenchel-Young term at z = 0, less ℓ(f(0), y)."""
        zero = np.zeros(np.broadcast_shapes(np.shape(u), np.shape(y)))
        y = np.broadcast_to(np.asarray(y, float), zero.shape)
        return self.fenchel_young(zero, u, y) - self.value(zero, y)

    def infimum(self, y: Array) -> Array:
        """A lower bound: the infimum of the loss."""
        return self.loss.infimum(y)

    def attained(self, y: Array) -> bool:
        """As for the loss, if f takes every value."""
        return self.loss.attained(y) and not np.isfinite(self.increasing.range).any()

    def transform(self, z: Array) -> Array:
        """f(z), on the scale of y."""
        return self.loss.transform(self.increasing(z))
