"""Matching losses: the Bregman divergence of an increasing transform f, L = F(z) − F(f⁻¹(y)) − …

The two built here are the matching losses of exp and of the sigmoid, with y on the response scale.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlog1py, xlogy

from .._base.typing import Array
from .base import Loss, Terms
from .deviance_dual import excess
from .log_link import LogLink, exp
from .margin import _sigmoid, binary_relative_entropy


class Poisson(LogLink):
    """e^z − y·z + y·ln y − y for y ≥ 0: the un-normalised entropy, half the Poisson deviance.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Poisson().value(np.log([2.0]), np.array([2.0]))
    array([0.])
    """

    target = "count"
    _a = 0.0

    def value(self, z: Array, y: Array) -> Array:
        """y·(e^t − 1 − t) with t = z − ln y, which does not cancel; e^z for y = 0."""
        positive = y > 0
        with np.errstate(over="ignore"):
            t = z - np.log(np.where(positive, y, 1.0))
            return np.where(positive, y * excess(t), exp(z))

    def gradient(self, z: Array, y: Array) -> Array:
        """e^z − y."""
        with np.errstate(over="ignore"):
            return exp(z) - y

    def curvature(self, z: Array, y: Array) -> Array:
        """e^z."""
        with np.errstate(over="ignore"):
            return exp(z)

    def terms(self, z: Array, y: Array) -> Terms:
        """One exponential for both derivatives."""
        with np.errstate(over="ignore"):
            mu = exp(z)
            return Terms(self.value(z, y), mu - y, mu)

    def slopes(self, z: Array, y: Array) -> tuple[Array, Array]:
        """First and second derivatives, without the value."""
        with np.errstate(over="ignore"):
            mu = exp(z)
            return mu - y, mu

    def conjugate(self, u: Array, y: Array) -> Array:
        """a·ln a − a − (y·ln y − y) with a = u + y ≥ 0."""
        a = u + y
        inside = a >= 0
        a = np.where(inside, a, 0.0)
        return np.where(inside, xlogy(a, a) - a - xlogy(y, y) + y, np.inf)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """a·ln(a/μ) − a + μ, a = u + y, μ = e^z: zero iff a = μ."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            mu, a = exp(z), u + y
            inside = a >= 0
            a = np.where(inside, a, 0.0)
            relative = (a - mu) / np.where(mu > 0, mu, 1.0)
            close = (mu > 0) & (np.abs(relative) < 0.5)
            near = a * np.log1p(np.where(close, relative, 0.0)) - (a - mu)
            far = xlogy(a, a) - a * z - a + mu
            return np.where(inside, np.maximum(np.where(close, near, far), 0.0), np.inf)

    def into_domain(self, u: Array, y: Array) -> Array:
        """u ≥ −y."""
        return np.maximum(u, -y)


class CrossEntropy(Loss):
    """y·ln(y/p) + (1 − y)·ln((1 − y)/(1 − p)), p = σ(z), for y in [0, 1].

    With y in {0, 1} it is the logistic loss of the labels 2y − 1.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> float(mm.CrossEntropy().value(np.zeros(1), np.array([0.5]))[0])
    0.0
    """

    proved = True

    probabilistic = True
    target = "unit"
    smoothness = 0.25

    def value(self, z: Array, y: Array) -> Array:
        """KL between the Bernoulli laws of y and σ(z): ln(1 + e^z) − y·z − H(y)."""
        return binary_relative_entropy(y, z)

    def gradient(self, z: Array, y: Array) -> Array:
        """σ(z) − y."""
        return _sigmoid(z) - y

    def curvature(self, z: Array, y: Array) -> Array:
        """σ(z)·σ(−z)."""
        return _sigmoid(z) * _sigmoid(-z)

    def conjugate(self, u: Array, y: Array) -> Array:
        """H(y) − H(q) with q = u + y in [0, 1]."""
        q = u + y
        inside = (q >= 0) & (q <= 1)
        q = np.where(inside, q, 0.5)
        return np.where(inside, _negative_entropy(q) - _negative_entropy(y), np.inf)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """KL between the Bernoulli laws of q = u + y and σ(z)."""
        return binary_relative_entropy(u + y, z)

    def into_domain(self, u: Array, y: Array) -> Array:
        """u + y in [0, 1]."""
        return np.clip(u + y, 0.0, 1.0) - y

    def infimum(self, y: Array) -> Array:
        """0."""
        return np.zeros(np.shape(y))

    def attained(self, y: Array) -> bool:
        """Not for y = 0 and y = 1."""
        return bool(((y > 0) & (y < 1)).all())

    def transform(self, z: Array) -> Array:
        """The probability σ(z)."""
        return _sigmoid(z)


def _negative_entropy(p: Array) -> Array:
    return np.asarray(xlogy(p, p) + xlog1py(1.0 - p, -p))
