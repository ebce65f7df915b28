"""Integrals of many functions at once, one interval each, by adaptive Gauss-Legendre panels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Array, IntArray
from .bracket import midpoint

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LEVELS = 60
_ACCURACY = 2e-14


def integrate(
    g: Callable[[Array, IntArray], Array], lo: Array, hi: Array
) -> tuple[Array, Array]:
    """(∫ g from lo to hi, estimate of its error), elementwise.

    ``g(x, which)`` is the integrand of interval number ``which`` at x. A panel is halved until
    both halves together agree with the whole; the last difference is the estimate, which for the
    value returned is pessimistic by many orders.
    """
    total, error = np.zeros(lo.shape), np.zeros(lo.shape)
    which = np.arange(lo.size)
    a, b = lo.astype(float), hi.astype(float)
    whole = _panel(g, a, b, which)
    for level in range(_LEVELS):
        middle = midpoint(a, b)
        left, right = _panel(g, a, middle, which), _panel(g, middle, b, which)
        both = left + right
        off = np.abs(both - whole)
        estimate = np.abs(total + np.bincount(which, both, lo.size))[which]
        good = (off <= _ACCURACY * estimate) | (middle == a) | (middle == b)
        good |= ~np.isfinite(both) | (level == _LEVELS - 1)
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
