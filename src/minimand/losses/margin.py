"""Losses of the margin m = y·z, labels y = ±1."""

from __future__ import annotations

import math

import numpy as np

from .. import _core
from .._base.typing import Array
from .analysis.probe import CONVEX_AND_SMOOTH, WITHOUT_MINIMUM
from .base import Terms
from .pieces import Pieces, Rowwise, Softplus
from .unary import Margin


class Logistic(Margin):
    """log(1 + e^−m), the binomial deviance.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> float(mm.Logistic().value(np.zeros(1), np.ones(1))[0])   # ln 2
    0.693147...
    """

    proved = True

    probabilistic = True
    smoothness = 0.25
    facts = WITHOUT_MINIMUM

    def psi(self, t: Array) -> Array:
        """log(1 + e^−m)."""
        return np.logaddexp(0.0, -t)

    def dpsi(self, t: Array) -> Array:
        """−σ(−m)."""
        return -_sigmoid(-t)

    def ddpsi(self, t: Array) -> Array:
        """σ(m)·σ(−m)."""
        return _sigmoid(t) * _sigmoid(-t)

    def dual(self, v: Array) -> Array:
        """q·ln q + (1 − q)·ln(1 − q) for q = −v in [0, 1]."""
        from scipy.special import xlog1py, xlogy

        q = -v
        inside = (q >= 0) & (q <= 1)
        q = np.where(inside, q, 0.5)
        return np.where(inside, xlogy(q, q) + xlog1py(1.0 - q, -q), np.inf)

    def young(self, t: Array, v: Array) -> Array:
        """KL between the Bernoulli laws of q = −v and σ(−m)."""
        return binary_relative_entropy(-v, -t)

    def into_domain(self, u: Array, y: Array) -> Array:
        """−y·u in [0, 1]."""
        return -y * np.clip(-y * u, 0.0, 1.0)

    def terms(self, z: Array, y: Array) -> Terms:
        """Value, gradient and curvature by a compiled kernel, in one pass over z."""
        return Terms(*_core.logistic_terms(z, y)) if _plain(z, y) else super().terms(z, y)

    def value(self, z: Array, y: Array) -> Array:
        """log(1 + e^−m)."""
        return _core.logistic_terms(z, y)[0] if _plain(z, y) else self.psi(y * z)

    def gradient(self, z: Array, y: Array) -> Array:
        """−y·σ(−m)."""
        return _core.logistic_derivatives(z, y)[0] if _plain(z, y) else y * self.dpsi(y * z)

    def curvature(self, z: Array, y: Array) -> Array:
        """σ(m)·σ(−m)."""
        return _core.logistic_derivatives(z, y)[1] if _plain(z, y) else self.ddpsi(y * z)

    def best_shift(self, z: Array, y: Array, mass: Array) -> float | None:
        """The log-odds of the labels, less the score, if all rows have the same."""
        if not z.size or (z != z[0]).any():
            return None
        up = _core.dot(mass, (y > 0).astype(float))
        down = _core.dot(mass, (y <= 0).astype(float))
        if not (up > 0 and down > 0):
            return None  # without samples of a class, its scores fall for ever
        return math.log(up) - math.log(down) - float(z[0])

    def rowwise(self, y: Array) -> Rowwise:
        """ψ(y·z), which compiled kernels know by name."""
        return Rowwise(Softplus(), y, np.zeros_like(y))

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))

    def transform(self, z: Array) -> Array:
        """P(y = +1 | x) = σ(z)."""
        return _sigmoid(z)


class SquaredHinge(Margin):
    """max(0, 1 − m)².

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.SquaredHinge().value(np.array([0.0, 2.0]), np.ones(2))
    array([1., 0.])
    """

    proved = True

    smoothness = 2.0
    facts = CONVEX_AND_SMOOTH
    pieces = Pieces([1.0], [0.0, 0.0], [2.0, 0.0])

    def psi(self, t: Array) -> Array:
        """max(0, 1 − m)²."""
        return np.maximum(1.0 - t, 0.0) ** 2

    def dpsi(self, t: Array) -> Array:
        """−2·max(0, 1 − m)."""
        return -2.0 * np.maximum(1.0 - t, 0.0)

    def ddpsi(self, t: Array) -> Array:
        """2 where m < 1."""
        return np.where(t < 1.0, 2.0, 0.0)

    def dual(self, v: Array) -> Array:
        """v + ¼v² for v ≤ 0."""
        return np.where(v <= 0, v + 0.25 * v * v, np.inf)

    def young(self, t: Array, v: Array) -> Array:
        """(a + ½v)² with a = 1 − m for m ≤ 1; ¼v² + v·a beyond."""
        a = 1.0 - t
        term = np.where(a >= 0, (a + 0.5 * v) ** 2, 0.25 * v * v + v * a)
        return np.where(v <= 0, np.maximum(term, 0.0), np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """y·u ≤ 0."""
        return y * np.minimum(y * u, 0.0)

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))


def _plain(z: Array, y: Array) -> bool:
    """Whether the compiled kernel can read both vectors without a conversion."""
    return (
        z.ndim == 1
        and z.shape == np.shape(y)
        and z.dtype == y.dtype == np.float64
        and z.flags.c_contiguous
        and y.flags.c_contiguous
    )


def _sigmoid(t: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(t))


def binary_relative_entropy(q: Array, z: Array) -> Array:
    """q·ln(q/p) + (1 − q)·ln((1 − q)/(1 − p)) with p = σ(z); inf unless 0 ≤ q ≤ 1.

    Written with log1p of the relative differences, so that it is accurate when q is close to p.
    """
    if _plain(q, z):
        return _core.binary_relative_entropy(q, z)
    inside = (q >= 0) & (q <= 1)
    q = np.where(inside, q, 0.5)
    p, not_p = _sigmoid(z), _sigmoid(-z)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        difference = np.where(z <= 0, q - p, not_p - (1.0 - q))
        one = _times_log_ratio(q, difference, p, z, -1.0)
        other = _times_log_ratio(1.0 - q, -difference, not_p, z, 1.0)
    return np.where(inside, np.maximum(one + other, 0.0), np.inf)


def _times_log_ratio(q: Array, difference: Array, p: Array, z: Array, sign: float) -> Array:
    """q·ln(q/p), p = σ(−sign·z); through logs when p has underflowed or is far from q."""
    close = np.abs(difference) <= 0.5 * p
    near = np.log1p(np.where(close, difference / np.where(p > 0, p, 1.0), 0.0))
    far = np.log(np.where(q > 0, q, 1.0)) + np.logaddexp(0.0, sign * z)
    return np.where(q > 0, q * np.where(close, near, far), 0.0)
