"""Losses of class margins, with their kinks rounded off by parabolas: see `rounded_support`.

Multipliers inside a face of their domain follow h at the rate 1/width along it. A face says which
sums of the largest multipliers are as large as they may be: it parts the classes of positive
multipliers into sets whose sums are fixed. If the sum of all is not, the right class belongs to the
last set, as its multiplier is minus that sum.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._base.typing import Array, IntArray
from ..base import Target
from ..curvature import Curvature, Simplex
from ..within_sets import WithinSets
from .class_margins import ClassMargins, class_numbers
from .rounded_support import RoundedSupport

_INSIDE = 1e-14  # share of the weight: multipliers above it are inside; safeguard: rounding
_FULL = 1e-8  # share of all weights by which a full sum may miss its limit; safeguard: rounding of
# h/width, which is large where the width is small; a wrong set costs steps, and no bound


class RoundedMargins(RoundedSupport):
    """min over s of ℓ(s, y) + ‖z − s‖²/(2·width), for a loss ℓ of class margins."""

    target: ClassVar[Target] = "class"
    loss: ClassMargins

    @property
    def level_free(self) -> bool:  # type: ignore[override]
        """Scores count by their differences."""
        return True

    def reached(self, z: Array, y: Array) -> Array:
        """Δ(y, ·) + z."""
        return self.loss.costs(z.shape[1])[class_numbers(y)] + z

    def bend(self, u: Array, y: Array) -> Curvature:
        """(1 − 11ᵀ/count)/width over every set of classes whose multipliers may move."""
        weights = self.loss.order_weights(u.shape[1])
        if weights[1:].any():
            return WithinSets(_sets(u, y, weights), np.full(len(u), 1.0 / self.width))
        weight = float(weights[0])
        law = u.copy()
        law[np.arange(len(u)), class_numbers(y)] += weight
        inside = law > _INSIDE * weight
        count = np.maximum(inside.sum(axis=1), 1)
        return Simplex(inside / count[:, None], count / self.width)


def _sets(u: Array, y: Array, weights: Array) -> IntArray:
    """The set of every class, from 0; −1 where the multiplier is zero."""
    at, rows = class_numbers(y), np.arange(len(u))
    p = u.copy()
    p[rows, at] = -1.0  # below all others
    order = np.argsort(-p, axis=1, kind="stable")[:, :-1]
    ranked = np.take_along_axis(p, order, axis=1)
    limits = np.cumsum(weights)
    full = limits - np.cumsum(ranked, axis=1) <= _FULL * limits[-1]
    before = np.cumsum(full, axis=1) - full  # full sums in front of a class
    found = np.empty(u.shape, dtype=np.int64)
    inside = np.where(ranked > _INSIDE * limits[-1], before, -1)
    np.put_along_axis(found, order, inside, axis=1)
    found[rows, at] = full.sum(axis=1)
    return found
