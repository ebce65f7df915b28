"""The Fenchel-Young terms of l1|w| + ½ l2 w² within bounds."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array


def pulled(l1: Array, l2: Array, lo: Array, hi: Array, v: Array) -> Array:
    """argmax over t in [lo, hi] of v·t − l1|t| − ½ l2 t², per feature; ±inf where unbounded."""
    c = np.copysign(np.maximum(np.abs(v) - l1, 0.0), v)
    with np.errstate(over="ignore"):  # an overflowing quotient counts as unbounded
        t = np.where(c == 0, 0.0, np.copysign(np.inf, c))
        np.divide(c, l2, out=t, where=l2 > 0)
    return np.clip(t, lo, hi)


def young_within(l1: Array, l2: Array, lo: Array, hi: Array, w: Array, v: Array) -> Array:
    """Ω(w) + Ω*(v) − v·w per feature, Ω = l1|w| + ½ l2 w² on [lo, hi], so that nothing cancels.

    With t = `pulled` and σ a subgradient of l1|·| at t, it is

        (l1|w| − l1|t| − σ(w − t)) + ½ l2 (w − t)² + (σ + l2 t − v)(w − t):

    three terms ≥ 0, of which the last vanishes unless t lies on a bound.
    """
    t = pulled(l1, l2, lo, hi, v)
    lost = ~np.isfinite(t) | (w < lo) | (w > hi)
    t = np.where(lost, 0.0, t)
    sigma = np.where(t == 0, np.clip(v, -l1, l1), np.copysign(l1, t))
    kink = np.where(t == 0, l1 * np.abs(w) - sigma * w, np.where(w * t < 0, 2 * l1 * np.abs(w), 0))
    stopped = (t == lo) | (t == hi)
    push = np.where(stopped, (sigma + l2 * t - v) * (w - t), 0.0)
    terms = np.maximum(kink, 0.0) + 0.5 * l2 * (w - t) ** 2 + np.maximum(push, 0.0)
    return np.where(lost, np.inf, terms)
