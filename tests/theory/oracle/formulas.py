"""Losses by hand, in extended precision."""

from __future__ import annotations

import numpy as np

LD = np.longdouble
EPS = float(np.finfo(float).eps)


def ld(x):
    return np.asarray(x, dtype=LD)


def _softplus(z):
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def _sigmoid(z):
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1 / (1 + e), e / (1 + e))


def xlogx(p):
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), LD(0))


class Formula:
    """A loss by hand: value, slope, bend, conjugate (inf outside its domain)."""

    def __init__(self, value, slope, bend, conjugate, clip):
        self.value, self.slope, self.bend = value, slope, bend
        self.conjugate, self.clip = conjugate, clip


def _entropy(p):
    return xlogx(p) + xlogx(1 - p)


def huber(delta=1.0):
    def value(z, y):
        r = np.abs(z - y)
        return np.where(r <= delta, r * r / 2, delta * r - LD(delta) ** 2 / 2)

    return Formula(
        value,
        lambda z, y: np.clip(z - y, -delta, delta),
        lambda z, y: (np.abs(z - y) <= delta).astype(LD),
        lambda u, y: np.where(np.abs(u) <= delta * (1 + 1e-15), u * u / 2 + u * y, np.inf),
        lambda u, y: np.clip(u, -delta, delta),
    )


FORMULAS = {
    "squared": Formula(
        lambda z, y: (z - y) ** 2 / 2,
        lambda z, y: z - y,
        lambda z, y: np.ones_like(z),
        lambda u, y: u * u / 2 + u * y,
        lambda u, y: u,
    ),
    "huber": huber(1.0),
    "poisson": Formula(
        lambda z, y: np.exp(z) - y * z + xlogx(y) - y,
        lambda z, y: np.exp(z) - y,
        lambda z, y: np.exp(z),
        lambda u, y: np.where(
            u + y >= -1e-15 * y, xlogx(np.maximum(u + y, 0)) - u - xlogx(y), np.inf
        ),
        lambda u, y: np.maximum(u, -y),
    ),
    "cross_entropy": Formula(
        lambda z, y: _softplus(z) - y * z + _entropy(y),
        lambda z, y: _sigmoid(z) - y,
        lambda z, y: _sigmoid(z) * _sigmoid(-z),
        lambda u, y: np.where(
            np.abs(u + y - 0.5) <= 0.5 + 1e-15,
            _entropy(np.clip(u + y, 0, 1)) - _entropy(y),
            np.inf,
        ),
        lambda u, y: np.clip(u + y, 0, 1) - y,
    ),
    "logistic": Formula(
        lambda z, y: _softplus(-y * z),
        lambda z, y: -y * _sigmoid(-y * z),
        lambda z, y: _sigmoid(z) * _sigmoid(-z),
        lambda u, y: np.where(
            np.abs(-y * u - 0.5) <= 0.5 + 1e-15, _entropy(np.clip(-y * u, 0, 1)), np.inf
        ),
        lambda u, y: -y * np.clip(-y * u, 0, 1),
    ),
    "squared_hinge": Formula(
        lambda z, y: np.maximum(1 - y * z, 0) ** 2,
        lambda z, y: -2 * y * np.maximum(1 - y * z, 0),
        lambda z, y: 2 * (y * z < 1).astype(LD),
        lambda u, y: np.where(y * u <= 0, y * u + u * u / 4, np.inf),
        lambda u, y: y * np.minimum(y * u, 0),
    ),
}
