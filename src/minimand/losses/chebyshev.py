"""The largest residual: a loss of the whole set."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._base.typing import Array
from .base import Loss, Unit

_TIE = 8 * float(np.finfo(float).eps)  # share of max|r|; safeguard: closer residuals are equal
_ROOM = 1e-14  # excess of Σ|uᵢ| over 1; safeguard: rounding of the sum


class Chebyshev(Loss):
    """maxᵢ |zᵢ − yᵢ|: the fit whose worst error is least.

    The unit is the whole set, not a sample: the loss counts once, whatever the number of samples,
    and of ``sample_weight`` only matters whether it is positive. The fit depends on the worst
    samples only: at the optimum at least d + 2 residuals have the largest size, unless columns are
    collinear.

    `value` and the others therefore return one number; `gradient` returns one for every sample.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Chebyshev().value(np.array([1.0, 4.0, 2.0]), np.array([1.5, 1.0, 2.0]))
    array([3.])
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> model = mm.Regressor("chebyshev", "no_penalty").fit(X, y)
    >>> float(np.abs(model.predict(X) - y).max().round(9))
    0.5
    """

    proved = True

    unit: ClassVar[Unit] = "set"
    largest_residual: ClassVar[bool] = True

    @property
    def smooth(self) -> bool:
        """No: the loss has a kink where two residuals are largest."""
        return False

    def masses(self, weight: Array) -> Array:
        """1, for the whole set of samples of positive weight."""
        return np.ones(1)

    def value(self, z: Array, y: Array) -> Array:
        """maxᵢ |rᵢ|."""
        return np.abs(z - y).max(keepdims=True)

    def gradient(self, z: Array, y: Array) -> Array:
        """sign(r) at the worst sample; half of it at each of two that tie with opposite signs."""
        r = z - y
        out = np.zeros_like(r)
        high, low = np.argmax(r), np.argmin(r)
        up, down = r[high], -r[low]
        if abs(up - down) <= _TIE * max(up, down):
            out[high], out[low] = 0.5, -0.5
        elif up > down:
            out[high] = 1.0
        else:
            out[low] = -1.0
        return out

    def curvature(self, z: Array, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(z))

    def conjugate(self, u: Array, y: Array) -> Array:
        """Σ uᵢyᵢ where Σ|uᵢ| ≤ 1."""
        return np.array([u @ y if np.abs(u).sum() <= 1.0 + _ROOM else np.inf])

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """Σ (|uᵢ|·max|r| − uᵢrᵢ) + (1 − Σ|uᵢ|)·max|r|."""
        r, size = z - y, np.abs(u)
        largest, used = np.max(np.abs(r)), size.sum()
        if not used <= 1.0 + _ROOM:
            return np.array([np.inf])
        terms = np.maximum(size * largest - u * r, 0.0)
        return np.array([terms.sum() + max(1.0 - used, 0.0) * largest])

    def into_domain(self, u: Array, y: Array) -> Array:
        """u scaled down to Σ|uᵢ| ≤ 1; scaling keeps Σu = 0."""
        used = np.abs(u).sum()
        return u / used if used > 1.0 else u

    def room(self, u: Array, y: Array) -> Array:
        """|uᵢ|: samples with a zero multiplier should keep it."""
        return np.abs(u)

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(1)

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """y + r with its largest entries cut off, by step in total."""
        if np.ndim(step):
            raise ValueError("Chebyshev has a prox for one step, the same for all samples.")
        r = z - y
        ordered = np.sort(np.abs(r))[::-1]
        levels = (np.cumsum(ordered) - step) / np.arange(1, r.size + 1)
        top = max(float(levels.max(initial=0.0)), 0.0)
        return y + np.clip(r, -top, top)

    def best_shift(self, z: Array, y: Array, mass: Array) -> float:
        """−(max r + min r)/2: the midrange."""
        r = z - y
        return float(-0.5 * (r.max() + r.min()))
