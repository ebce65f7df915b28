"""The Fenchel-Young term of φ(t) = E(−a·t)/a + E(b·t)/b, E(x) = eˣ − 1 − x, a + b = 1.

φ'(s) = e^{bs} − e^{−as} takes every value once (v > −1 only if a = 0, v < 1 only if b = 0). With s
the place where it is v, φ(t) + φ*(v) − v·t is the Bregman divergence

    φ(t) − φ(s) − φ'(s)(t − s) = e^{−as}·E(−aδ)/a + e^{bs}·E(bδ)/b,   δ = t − s:

two terms that are never negative, each accurate when it is small.
"""

from __future__ import annotations

import numpy as np

from .. import _core
from .._base.typing import Array

_NEAR = 0.5  # |v| below which ln(1 + v) is taken by log1p; safeguard
_ROUNDS = 60  # Newton steps; safeguard


def excess(x: Array) -> Array:
    """E(x) = eˣ − 1 − x, to full relative accuracy."""
    x = np.asarray(x, float)
    return _core.excess(x.ravel()).reshape(x.shape)


def phi(a: float, t: Array) -> Array:
    """φ(t) = E(−a·t)/a + E(b·t)/b, without a term whose a or b is 0."""
    if a == 0.0 or a == 1.0:
        return excess(t) if a == 0.0 else excess(-t)
    return excess(-a * t) / a + excess((1.0 - a) * t) / (1.0 - a)


def young(a: float, t: Array, v: Array) -> Array:
    """φ(t) + φ*(v) − v·t, elementwise; inf where v is no slope of φ."""
    t, v = np.broadcast_arrays(np.asarray(t, float), np.asarray(v, float))
    if a == 0.0:
        return _one_sided(t, v)
    if a == 1.0:
        return _one_sided(-t, -v)
    legal = np.isfinite(v)
    v = np.where(legal, v, 0.0)
    s, slack = _place(a, v)
    term = _scaled_excess(a, -s, -t) + _scaled_excess(1.0 - a, s, t) + slack
    return np.where(legal, term, np.inf)


def _one_sided(t: Array, v: Array) -> Array:
    """Of E(t), whose slope eᵗ − 1 is above −1: q·ln q − q·t − q + eᵗ with q = 1 + v ≥ 0."""
    q = np.maximum(1.0 + v, 0.0)
    s = np.log(np.where(q > 0, q, 1.0))
    s = np.where(np.abs(v) < _NEAR, np.log1p(np.where(np.abs(v) < _NEAR, v, 0.0)), s)
    delta = t - s
    far = np.maximum(np.exp(t) - q * (1.0 + delta), 0.0)
    near = q * excess(np.where(np.abs(delta) < 1.0, delta, 0.0))
    term = np.where(np.abs(delta) < 1.0, near, far)
    return np.where(v >= -1.0, np.where(q > 0, term, np.exp(t)), np.inf)


def _scaled_excess(b: float, s: Array, t: Array) -> Array:
    """e^{bs}·E(b(t − s))/b, without 0·∞ where s is far below t."""
    delta = b * (t - s)
    near = np.exp(b * s) * excess(np.where(np.abs(delta) < 1.0, delta, 0.0))
    far = np.exp(b * t) - np.exp(b * s) * (1.0 + delta)
    return np.where(np.abs(delta) < 1.0, near, np.maximum(far, 0.0)) / b


def _place(a: float, v: Array) -> tuple[Array, Array]:
    """(s, slack): φ'(s) = v up to rounding, and a bound of the error that this causes in φ*(v).

    For v < 0 the mirror image s → −s exchanges a and b. For v > 0, s solves b·s = ln(v + e^{−as}):
    the difference of both sides is increasing and concave, so Newton's method converges to the root
    from the left.
    """
    size = np.abs(v)
    a_, b_ = np.where(v >= 0, a, 1.0 - a), np.where(v >= 0, 1.0 - a, a)
    s = np.maximum(np.log(np.maximum(size, 1e-300)) / b_, 0.0)
    for _ in range(_ROUNDS):
        fading = np.exp(-a_ * s)
        rest = b_ * s - np.log1p(size + np.expm1(-a_ * s))
        step = -rest / (b_ + a_ * fading / (size + fading))
        s = s + step
        if (np.abs(step) <= 1e-9 * s).all():
            break
    left, bend = _left(a_, b_, s, size)
    s = s + left / bend  # in the equation itself, which is accurate where v is small
    left, bend = _left(a_, b_, s, size)
    # v·s − φ(s) lies below φ*(v) by no more than left²/(2·φ''), φ'' up to a factor of 2.
    return np.copysign(s, v), left * (left / bend)


def _left(a: Array, b: Array, s: Array, v: Array) -> tuple[Array, Array]:
    """The residual v − φ'(s), and φ''(s)."""
    return v - (np.expm1(b * s) - np.expm1(-a * s)), b * np.exp(b * s) + a * np.exp(-a * s)
