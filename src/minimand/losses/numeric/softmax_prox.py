"""The proximal point of a softmax loss: Newton steps of all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..._base.typing import Array
from ..curvature import Curvature, Simplex, as_curvature

if TYPE_CHECKING:
    from ..base import Loss

_STEPS = 100  # Newton steps; safeguard
_HALVINGS = 40  # halvings of a step; safeguard
_EPS = float(np.finfo(float).eps)


def softmax_prox(loss: Loss, z: Array, y: Array, step: Array) -> Array:
    """argmin_t ℓ(t, y) + ‖t − z‖²/(2·step), for a loss whose curvature is diag(p) − ppᵀ.

    With D = diag(p) + 1/step, (D − ppᵀ)⁻¹r = D⁻¹r + D⁻¹p·(p·D⁻¹r)/(1 − p·D⁻¹p). The minimiser lies
    within a step's length of z, since slopes are at most 1.
    """
    shape, n = z.shape, len(z)
    inverse = 1.0 / np.asarray(step, dtype=float)[:, None]

    def value(t: Array) -> Array:
        far = ((t - z).reshape(n, -1) ** 2).sum(axis=1)
        return np.asarray(loss.value(t, y) + 0.5 * inverse[:, 0] * far)

    t, now = z.copy(), value(z)
    for _ in range(_STEPS):
        gradient, curvature = loss.slopes(t, y)
        p = _probabilities(as_curvature(curvature)).reshape(n, -1)
        slope = gradient.reshape(n, -1) + inverse * (t - z).reshape(n, -1)
        size = np.abs(gradient).reshape(n, -1) + inverse * (np.abs(t) + np.abs(z)).reshape(n, -1)
        if (np.abs(slope) <= 8 * _EPS * size).all():
            break
        diagonal = p + inverse
        first, second = slope / diagonal, p / diagonal
        share = (p * first).sum(axis=1) / (1.0 - (p * second).sum(axis=1))
        move = -(first + second * share[:, None]).reshape(shape)
        t, now, moved = _descended(value, t, now, move)
        if not moved:
            break
    return t


def _probabilities(curvature: Curvature) -> Array:
    """P of a `Simplex`; of one score, where h = p(1 − p), the p below one half."""
    if isinstance(curvature, Simplex):
        return curvature.p
    return np.asarray(0.5 - np.sqrt(np.maximum(0.25 - curvature.bound, 0.0)))


def _descended(
    value: Callable[[Array], Array], t: Array, now: Array, move: Array
) -> tuple[Array, Array, bool]:
    """Every row moved by the first halved step that does not raise its value."""
    share = np.ones(len(t))
    for _ in range(_HALVINGS):
        new = t + share.reshape(-1, *[1] * (t.ndim - 1)) * move
        found = value(new)
        worse = found > now + 4 * _EPS * np.abs(now)
        if not worse.any():
            break
        share[worse] *= 0.5
    stays = (found > now + 4 * _EPS * np.abs(now)).reshape(-1, *[1] * (t.ndim - 1))
    new = np.where(stays, t, new)
    return new, np.minimum(found, now), bool((new != t).any())
