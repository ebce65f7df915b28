"""Facts of a loss, found from its values and slopes at points over the whole axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._base.typing import Array

if TYPE_CHECKING:
    from ..base import Loss

_FAR = np.array([-1e300, -1e150, 1e150, 1e300])  # scores; safeguard: near the ends of the range
_GROWTH = 1.01  # factor; safeguard: from 1e150 to 1e300 even |r|^0.0001 grows by more


class Labels(NamedTuple):
    """The targets of the two classes."""

    negative: float
    positive: float


def labels(loss: Loss) -> Labels | None:
    """The coding of two classes by a loss that takes labels; None for other losses."""
    return {"sign": Labels(-1.0, 1.0), "unit": Labels(0.0, 1.0)}.get(loss.target)


def scores() -> Array:
    """Scores of both signs and all sizes, 0 included."""
    size = np.concatenate([np.geomspace(1e-6, 1e6, 241), np.linspace(0.0, 8.0, 161)])
    return np.unique(np.concatenate([size, -size]))


def is_bounded(loss: Loss) -> bool:
    """Whether ℓ(z, y) is bounded in z."""
    return not loss.convex and all(_settles(loss.value, y) for y in _targets(loss))


def is_robust(loss: Loss) -> bool:
    """Whether ∂ℓ/∂z is bounded in z."""
    return all(_settles(loss.gradient, y) for y in _targets(loss))


def is_above_zero_one(loss: Loss) -> bool:
    """Whether ℓ ≥ 0 everywhere, and ℓ ≥ 1 wherever the sign of z is not that of the label."""
    coded = labels(loss)
    if coded is None:
        return False
    z = scores()
    with np.errstate(all="ignore"):
        for y, sign in zip(coded, (-1.0, 1.0)):
            value = loss.value(z, np.full(z.shape, y))
            if not (value >= np.where(sign * z <= 0, 1.0, 0.0) - 1e-12).all():
                return False
    return True


def _targets(loss: Loss) -> list[float]:
    """A few targets that the loss takes."""

    def legal(y: float) -> bool:
        try:
            loss.check_target(np.array([y]))
        except ValueError:
            return False
        return True

    return [y for y in (-1.0, -0.5, 0.0, 0.3, 1.0) if legal(y)]


def _settles(function: object, y: float) -> bool:
    """Whether a function of z no longer grows far out, on either side."""
    assert callable(function)
    with np.errstate(all="ignore"):
        far = np.abs(np.asarray(function(_FAR, np.full(4, y)), float))
        farthest, nearer = far[[0, 3]], far[[1, 2]]
        return bool((np.isfinite(far).all()) and (farthest <= _GROWTH * nearer + 1e-12).all())
