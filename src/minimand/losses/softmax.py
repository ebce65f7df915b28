"""The softmax of rows of scores: probabilities, log Σ e^z − z_y, and relative entropies.

Only e^{z_c − max z} ≤ 1 ever appears, so nothing overflows. Sums leave out the largest score, or
the class itself, so that small values and slopes keep their digits.
"""

from __future__ import annotations

import numpy as np

from .._base.typing import Array, IntArray
from .deviance_dual import excess


def softmax(z: Array) -> Array:
    """e^{z_c} / Σ e^{z_b} of every row."""
    p, rest, _ = _relative(z)
    p /= (1.0 + rest)[:, None]
    return p


def softmax_value(z: Array, y: Array) -> Array:
    """log Σ e^{z_c} − z_y of every row."""
    return _value(z, y, *_relative(z)[1:])


def softmax_gradient(z: Array, y: Array) -> Array:
    """p_c − [c = y] of every row."""
    return _less_one(softmax(z), y)


def softmax_terms(z: Array, y: Array) -> tuple[Array, Array, Array]:
    """The values, the gradients and the probabilities."""
    p, rest, top = _relative(z)
    p /= (1.0 + rest)[:, None]
    return _value(z, y, rest, top), _less_one(p.copy(), y), p


def relative_entropy(z: Array, u: Array, y: Array) -> Array:
    """Σ p log(p/q) of every row, for the law p = u + [c = y] and the softmax q of z.

    A term p log(p/q) − p + q is never negative. It is p·E(x) with x = log(q/p) and E(x) = eˣ − 1 −
    x; where p and q are close, x comes from their difference u − (q − [c = y]).
    """
    q, rest, top = _relative(z)
    log_q = z - np.take_along_axis(z, top[:, None], axis=1) - np.log1p(rest)[:, None]
    q /= (1.0 + rest)[:, None]
    difference = u - _less_one(q.copy(), y)
    p = u.copy()
    p[np.arange(len(y)), _classes(y, z.shape[1])] += 1.0
    p = np.maximum(p, 0.0)
    close = (np.abs(difference) <= 0.5 * q) & (q > 0)
    safe_q, safe_p = np.where(close, q, 1.0), np.where(p > 0, p, 1.0)
    x = np.where(
        close, -np.log1p(np.where(close, difference, 0.0) / safe_q), log_q - np.log(safe_p)
    )
    near = np.abs(x) < 1.0
    far = q - p * (1.0 + x)  # does not cancel away from x = 0
    terms = np.where(near, p * excess(np.where(near, x, 0.0)), np.maximum(far, 0.0))
    return np.asarray(np.where(p > 0, terms, q).sum(axis=1))


def _relative(z: Array) -> tuple[Array, Array, IntArray]:
    """e^{z_c − max z}, its sum without the largest, and the place of the largest."""
    top = z.argmax(axis=1)
    rows = np.arange(len(z))
    e = np.exp(z - z[rows, top][:, None])
    e[rows, top] = 0.0
    rest = e.sum(axis=1)
    e[rows, top] = 1.0
    return e, rest, top


def _value(z: Array, y: Array, rest: Array, top: IntArray) -> Array:
    rows = np.arange(len(z))
    return np.asarray(z[rows, top] - z[rows, _classes(y, z.shape[1])] + np.log1p(rest))


def _less_one(p: Array, y: Array) -> Array:
    """p_c − [c = y] in place; the entry of y is minus the sum of the others."""
    at = np.arange(len(p)), _classes(y, p.shape[1])
    p[at] = 0.0
    p[at] = -p.sum(axis=1)
    return p


def _classes(y: Array, k: int) -> IntArray:
    """Class numbers as integers."""
    numbers = np.asarray(y).astype(np.int64)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < k):
        raise ValueError(f"y holds class numbers up to {numbers.max()}, but there are {k} scores.")
    return numbers
