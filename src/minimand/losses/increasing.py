"""Increasing functions f of a score, with what a matching loss needs of them.

A transform object defines its range, derivative and inverse. For a plain callable they are found
by bracketing and differences, and whether it increases is checked by probing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._base.typing import Array

Function = Callable[[Array], Array]
_FAR = 1e100  # largest |z| at which a plain callable is evaluated; safeguard
_ROUNDS = 200  # steps of a root search; safeguard
_EPS = float(np.finfo(float).eps)


@runtime_checkable
class Increasing(Protocol):
    """A strictly increasing f from ℝ onto an interval."""

    range: tuple[float, float]
    steepest: float

    def __call__(self, z: Array) -> Array:
        """f(z)."""

    def derivative(self, z: Array) -> Array:
        """f'(z)."""

    def second_derivative(self, z: Array) -> Array:
        """f''(z)."""

    def inverse(self, y: Array) -> Array:
        """The z with f(z) = y; ±∞ at the ends of the range."""

    def antiderivative(self, z: Array) -> Array:
        """F(z) with F' = f."""

    def below(self, z: Array) -> Array:
        """∫ f − lo from −∞ to z, lo the lower end of the range."""

    def above(self, z: Array) -> Array:
        """∫ hi − f from z to ∞, hi the upper end of the range."""


class Plain:
    """A plain callable f, with numerical derivatives, inverse and range."""

    steepest = np.inf

    def __init__(self, f: Function) -> None:
        self._f = f
        out = np.geomspace(1.0, _FAR, 101)
        with np.errstate(all="ignore"):
            self.range = (-self._end(-self(-out)), self._end(self(out)))

    @staticmethod
    def _end(values: Array) -> float:
        """The value farthest out, before overflow inside f makes the values fall or undefined."""
        falls = np.flatnonzero(~(np.diff(values) >= 0) & ~np.isinf(values[1:]))
        return float(values[falls[0]] if falls.size else values[-1])

    def __call__(self, z: Array) -> Array:
        """f(z), of the shape of z."""
        with np.errstate(all="ignore"):
            try:
                values = np.asarray(self._f(z), float)
            except TypeError as error:
                raise ValueError(
                    "f must take an array and return one, elementwise: wrap a function of single "
                    "numbers in numpy.vectorize."
                ) from error
            return np.broadcast_to(values, np.shape(z))

    def derivative(self, z: Array) -> Array:
        """Central differences of fourth order."""
        h = 1e-3 * np.sqrt(np.maximum(1.0, np.abs(z)))
        h = (z + h) - z
        with np.errstate(all="ignore"):
            near, wide = self(z + h) - self(z - h), self(z + 2 * h) - self(z - 2 * h)
            slope = (8.0 * near - wide) / (12.0 * h)
        return np.where(np.isnan(slope), np.inf, np.maximum(slope, 0.0))

    def second_derivative(self, z: Array) -> Array:
        """Central differences of fourth order, of the second derivative."""
        h = 1e-2 * np.sqrt(np.maximum(1.0, np.abs(z)))
        h = (z + h) - z
        with np.errstate(all="ignore"):
            near = self(z + h) + self(z - h) - 2 * self(z)
            wide = self(z + 2 * h) + self(z - 2 * h) - 2 * self(z)
            bend = (16.0 * near - wide) / (12.0 * h * h)
        return np.where(np.isnan(bend), np.inf, bend)

    def inverse(self, y: Array) -> Array:
        """A root of f − y, bracketed by growing steps from 0."""
        y = np.asarray(y, float)
        flat = y.ravel()
        with np.errstate(all="ignore"):
            lo, hi = _bracket(self, flat)
            return _root(self, flat, lo, hi).reshape(y.shape)


def as_increasing(f: Any) -> Increasing | Plain:
    """A transform object itself, any other callable as a `Plain`."""
    return f if isinstance(f, Increasing) else Plain(f)


class Transformed:
    """What losses with a parameter ``f`` share: its inverse and derivatives, found once."""

    f: Any

    @property
    def increasing(self) -> Increasing | Plain:
        """f with its inverse, derivatives and range."""
        kept = self.__dict__.get("_kept")
        if kept is None or kept[0] is not self.f:
            kept = self.__dict__["_kept"] = (self.f, as_increasing(self.f))
        return kept[1]

    @property
    def f_name(self) -> str:
        """The name of f."""
        return name_of(self.f)

    def __getstate__(self) -> dict[str, Any]:
        """The parameters alone, without cached values."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}


def name_of(f: Any) -> str:
    """The name of f in a sentence."""
    return str(getattr(f, "name", None) or getattr(f, "__name__", None) or repr(f))


def _bracket(f: Function, y: Array) -> tuple[Array, Array]:
    """Points with f(lo) ≤ y ≤ f(hi), one 8 times as far from 0 as the other, or at 0."""
    near = np.zeros_like(y)
    side = np.where(f(near) < y, 1.0, -1.0)
    far = 1e-3 * side
    short = side * (f(far) - y) < 0
    while short.any() and np.max(np.abs(far)) < _FAR:
        near, far = np.where(short, far, near), np.where(short, 8.0 * far, far)
        short = side * (f(far) - y) < 0
    return np.minimum(near, far), np.maximum(near, far)


def _root(f: Function, y: Array, lo: Array, hi: Array) -> Array:
    """Chandrupatla's method: inverse quadratic interpolation if it is safe, else bisection."""
    a, b, c = hi.copy(), lo.copy(), hi.copy()
    fa, fb = f(a) - y, f(b) - y
    fc = fa.copy()
    t = np.full(y.shape, 0.5)
    for _ in range(_ROUNDS):
        open_ = (fa != 0) & (fb != 0) & (np.abs(b - a) > 4 * _EPS * np.maximum(np.abs(a), 1e-300))
        if not open_.any():
            break
        x = np.where(open_, a + t * (b - a), a)
        fx = np.where(open_, f(x) - y, fa)
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        safe = (phi * phi < xi) & ((1 - phi) ** 2 < 1 - xi)
        t = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        least = np.minimum(2 * _EPS * np.abs(a) / np.abs(b - a), 0.5)
        t = np.clip(np.where(safe & np.isfinite(t), t, 0.5), least, 1.0 - least)
    return np.where(np.abs(fa) <= np.abs(fb), a, b)


def violation(f: Any) -> str:
    """Why f is not finite and strictly increasing, in words with a witness; empty if it is."""
    near = np.linspace(-8.0, 8.0, 161)
    far = np.geomspace(1e-3, 1e12, 121)
    z = np.unique(np.concatenate([near, far, -far]))
    z = z[np.append(True, np.diff(z) > 1e-4 * np.maximum(1.0, np.abs(z[1:])))]
    with np.errstate(all="ignore"):
        value = np.asarray(f(z), dtype=float)
        if value.shape != z.shape:
            return f"for {z.size} scores it returns an array of shape {value.shape}"
        if np.isnan(value).any():
            return f"it is not a number at {z[np.isnan(value)][0]:g}"
        falls = np.flatnonzero(np.diff(value) < 0)
        if falls.size:
            i = int(falls[0])
            return f"f({z[i]:g}) = {value[i]:g} is above f({z[i + 1]:g}) = {value[i + 1]:g}"
        return _plateau(f, z, value)


def _plateau(f: Function, z: Array, value: Array) -> str:
    """Where f is flat, in words; it may be so at its ends only, if it flattens gradually."""
    here, there = value[:-1], value[1:]
    flat = (here == there) & np.isfinite(here)
    inner = np.flatnonzero(flat & (here != value[0]) & (here != value[-1]))
    if inner.size or value[0] == value[-1]:
        i = int(inner[0]) if inner.size else 0
        return f"f({z[i]:g}) = f({z[i + 1]:g}) = {value[i]:g}"
    for sign in (1.0, -1.0):  # the upper end is the lower end of −f(−z)
        mirrored = value if sign > 0 else -value[::-1]
        places = z if sign > 0 else -z[::-1]
        count = int((mirrored == mirrored[0]).sum())
        if count > 1 and np.isfinite(mirrored[0]):
            edge = _leaves(f, sign, float(mirrored[0]), places[count - 1], places[count])
            ahead = edge + 1e-3 * max(1.0, abs(edge))
            rise = sign * float(f(np.array([sign * ahead]))[0]) - mirrored[0]
            if rise > 1e-6 * (mirrored[mirrored.size // 2] - mirrored[0]):
                ends = sorted((sign * places[0], sign * places[count - 1]))
                return f"f({ends[0]:g}) = f({ends[1]:g}) = {sign * mirrored[0]:g}"
    return ""


def _leaves(f: Function, sign: float, end: float, flat: float, moving: float) -> float:
    """Where sign·f(sign·z) leaves its lower end, by bisection."""
    for _ in range(60):
        middle = 0.5 * (flat + moving)
        same = sign * float(f(np.array([sign * middle]))[0]) == end
        flat, moving = (middle, moving) if same else (flat, middle)
    return flat
