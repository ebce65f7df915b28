"""The losses as the judge computes them: plain NumPy, and none of minimand's formulas.

θ stands for a slope ∂ℓ/∂z. Every loss has infimum 0, and 0 among the slopes that its conjugate
allows: shrinking a dual point keeps it legal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import xlogy

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Loss:
    """ℓ(z, y), and what the dual of a mean of it needs."""

    value: Callable[[Array, Array], Array]
    conjugate: Callable[[Array, Array], Array]  # sup over z of θz − ℓ(z, y), for legal θ
    legal: Callable[[Array, Array], Array]  # the θ nearest to one given at which it is finite
    constant: Callable[[Array], float]  # the best intercept of the null model
    labels: bool = False  # y is ±1
    joint: bool = False  # couples the scores of all classes: the formulas are in joint.py


def _linear(slope: Array, y: Array) -> Array:
    return slope * y


def _quantile(q: float) -> Loss:
    """max(−q·r, (1 − q)·r)."""
    return Loss(
        lambda z, y: np.maximum(q * (y - z), (1 - q) * (z - y)),
        _linear,
        lambda theta, y: np.clip(theta, -q, 1 - q),
        lambda y: float(np.quantile(y, q, method="inverted_cdf")),
    )


def _tube(eps: float) -> Loss:
    """max(0, |r| − ε); as many ends of tubes lie above the best constant as below it."""
    return Loss(
        lambda z, y: np.maximum(np.abs(z - y) - eps, 0.0),
        lambda theta, y: theta * y + eps * np.abs(theta),
        lambda theta, y: np.clip(theta, -1.0, 1.0),
        lambda y: float(np.median(np.concatenate([y - eps, y + eps]))),
    )


def _squared_tube(eps: float) -> Loss:
    """max(0, |r| − ε)²."""

    def slope(b: float, y: Array) -> float:
        r = b - y
        return float((np.sign(r) * np.maximum(np.abs(r) - eps, 0.0)).sum())

    return Loss(
        lambda z, y: np.square(np.maximum(np.abs(z - y) - eps, 0.0)),
        lambda theta, y: theta * y + eps * np.abs(theta) + 0.25 * theta**2,
        lambda theta, y: theta,
        lambda y: brentq(slope, y.min(), y.max(), args=(y,), xtol=1e-14),
    )


_SQUARED = Loss(
    lambda z, y: 0.5 * np.square(z - y),
    lambda theta, y: 0.5 * theta**2 + theta * y,
    lambda theta, y: theta,
    lambda y: float(y.mean()),
)
_ABSOLUTE = Loss(
    lambda z, y: np.abs(z - y),
    _linear,
    lambda theta, y: np.clip(theta, -1.0, 1.0),
    lambda y: float(np.median(y)),
)


def _entropy(theta: Array, y: Array) -> Array:
    p = np.clip(-y * theta, 0.0, 1.0)
    return np.asarray(xlogy(p, p) + xlogy(1 - p, 1 - p))


_LOGISTIC = Loss(
    lambda z, y: np.logaddexp(0.0, -y * z),
    _entropy,
    lambda theta, y: -y * np.clip(-y * theta, 0.0, 1.0),
    lambda y: float(np.log((y > 0).sum()) - np.log((y < 0).sum())),
    labels=True,
)
_HINGE = Loss(
    lambda z, y: np.maximum(1.0 - y * z, 0.0),
    _linear,
    lambda theta, y: -y * np.clip(-y * theta, 0.0, 1.0),
    lambda y: float(np.sign(y.sum())),
    labels=True,
)
_SQUARED_HINGE = Loss(
    lambda z, y: np.square(np.maximum(1.0 - y * z, 0.0)),
    lambda theta, y: theta * y + 0.25 * theta**2,
    lambda theta, y: -y * np.maximum(-y * theta, 0.0),
    lambda y: float(y.mean()),
    labels=True,
)


def _elsewhere(*arrays: Array) -> Array:
    raise NotImplementedError("the formulas of joint losses are in joint.py")


_JOINT = Loss(_elsewhere, _elsewhere, _elsewhere, lambda y: 0.0, labels=True, joint=True)
_FIXED = {
    "multinomial": _JOINT,
    "crammer_singer": _JOINT,
    "squared": _SQUARED,
    "logistic": _LOGISTIC,
    "absolute": _ABSOLUTE,
    "hinge": _HINGE,
    "squared_hinge": _SQUARED_HINGE,
}
_FAMILIES = {
    "quantile": _quantile,
    "epsilon_insensitive": _tube,
    "squared_epsilon_insensitive": _squared_tube,
}
NAMES = (*_FIXED, *_FAMILIES)


def loss_of(name: str, parameter: float | None) -> Loss:
    """The loss of that name; q or ε is its parameter."""
    if name in _FIXED:
        return _FIXED[name]
    if parameter is None:
        raise ValueError(f"the loss {name!r} needs a parameter")
    return _FAMILIES[name](parameter)
