"""Nearest points of the probability simplex, row by row."""

from __future__ import annotations

import numpy as np

from ..._base.typing import Array


def onto_simplex(p: Array) -> Array:
    """The nearest q with q ≥ 0 and Σ q = 1: q = (p − level)₊."""
    ordered = -np.sort(-p, axis=1)
    level = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, p.shape[1] + 1)
    count = (ordered > level).sum(axis=1)
    q = np.maximum(p - np.take_along_axis(level, np.maximum(count, 1)[:, None] - 1, axis=1), 0.0)
    total = q.sum(axis=1, keepdims=True)  # 1 up to the rounding of p, which may be large
    return np.asarray(q / np.where(total > 0, total, 1.0))


def below_simplex(p: Array) -> Array:
    """The nearest q with q ≥ 0 and Σ q ≤ 1."""
    q = np.maximum(p, 0.0)
    above = q.sum(axis=1) > 1.0
    q[above] = onto_simplex(p[above])
    return q
