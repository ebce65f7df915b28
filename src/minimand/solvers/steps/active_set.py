"""The exact minimiser on a small Gram matrix: an active set that changes by one column at a time.

Where columns outnumber the directions they span, or nearly agree, sweeps give all of them nonzero
coefficients, a Newton step on the support removes one, and the next sweep brings it back. An active
set changes only when the objective falls, so that no set occurs twice.
"""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array
from ...canonical import Quadratic, movable
from ...penalties import Separable
from ..base import Control

MOST_COLUMNS = 300  # columns; safeguard: every step factorises the Gram of the support
_STEPS_PER_COLUMN = 4  # steps per column; safeguard


def settle(model: Quadratic, penalty: Separable, w: Array, tol: float, control: Control) -> None:
    """Newton steps until the support no longer changes, then the column that gains most; in place.

    Ends where no single column gains more than ``tol``, or rounding hides what the last one gained.
    """
    last = np.inf
    for _ in range(_STEPS_PER_COLUMN * w.size + 10):
        support = movable(penalty, w)
        model.polish(penalty, w)
        if not np.array_equal(movable(penalty, w), support):
            continue  # a column has left the support: the others move again
        gain, target = _coordinate_steps(model, penalty, w)
        value, best = _value(model, penalty, w), int(np.argmax(gain))
        if gain[best] <= tol or not value < last or control.expired:
            return
        w[best], last = target[best], value


def _value(model: Quadratic, penalty: Separable, w: Array) -> float:
    return float(w @ (0.5 * (model.gram @ w) + model.q)) + penalty.value(w)


def _coordinate_steps(model: Quadratic, penalty: Separable, w: Array) -> tuple[Array, Array]:
    """What each coefficient would gain by itself, ½cⱼ(tⱼ − wⱼ)², and its new value tⱼ."""
    bend = np.diag(model.gram)
    some = bend > 0
    bend = np.where(some, bend, 1.0)
    free = bend * w - model.slope(w)
    shrunk = np.sign(free) * np.maximum(np.abs(free) - penalty.l1, 0.0) / (bend + penalty.l2)
    target = np.where(some, penalty.project(shrunk), w)
    return 0.5 * (bend + penalty.l2) * (target - w) ** 2, target
