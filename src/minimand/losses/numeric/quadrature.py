"""Integrals of many functions at once, one interval each, by adaptive Gauss-Legendre panels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._base.typing import Array, IntArray
from .bracket import midpoint

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LEVELS = 60  # halvings of a panel; safeguard
_PANELS = 64  # panels per interval, on average; safeguard
_ACCURACY = 4e-15  # relative error of a panel; safeguard: about 18 ulps


def integrate(
    g: Callable[[Array, IntArray], Array], lo: Array, hi: Array, noise: Array
) -> tuple[Array, Array]:
    """(∫ g from lo to hi, estimate of its error), elementwise.

    ``g(x, which)`` is the integrand of interval number ``which`` at x, known up to ``noise``. A
    panel is halved until the sum of both halves agrees with the whole; the last difference is the
    estimate, which for the value returned is pessimistic by many orders.
    """
    total, error = np.zeros(lo.shape), np.zeros(lo.shape)
    which = np.arange(lo.size)
    a, b = lo.astype(float), hi.astype(float)
    whole = _panel(g, a, b, which)
    for level in range(_LEVELS):
        middle = midpoint(a, b)
        even = middle == 0.5 * a + 0.5 * b  # uneven halves may agree with the whole by chance
        left, right = _panel(g, a, middle, which), _panel(g, middle, b, which)
        both = left + right
        off = np.abs(both - whole)
        estimate = np.abs(total + np.bincount(which, both, lo.size))[which]
        good = off <= np.maximum(_ACCURACY * estimate, 0.1 * noise[which] * np.abs(b - a))
        good = (good & even) | (middle == a) | (middle == b) | ~np.isfinite(both)
        good |= (level == _LEVELS - 1) | (which.size > _PANELS * lo.size + 1000)
        total += np.bincount(which[good], both[good], lo.size)
        error += np.bincount(which[good], off[good], lo.size)
        rest = ~good
        if not rest.any():
            break
        a, b = np.append(a[rest], middle[rest]), np.append(middle[rest], b[rest])
        whole = np.append(left[rest], right[rest])
        which = np.append(which[rest], which[rest])
    return total, error


def _panel(g: Callable[[Array, IntArray], Array], a: Array, b: Array, which: IntArray) -> Array:
    """One 16-point rule on each interval."""
    half = 0.5 * (b - a)
    x = (a + half)[:, None] + half[:, None] * _NODES
    values = g(x.ravel(), np.repeat(which, _NODES.size)).reshape(x.shape)
    return (values @ _WEIGHTS) * half
