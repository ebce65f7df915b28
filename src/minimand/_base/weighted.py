"""Rows and numbers that have weights: a weight of k is k copies."""

from __future__ import annotations

import numpy as np

from .typing import Array, IntArray


def median(values: Array, mass: Array) -> float:
    """The median of weighted numbers: weight k is k copies."""
    order = np.argsort(values)
    share = np.cumsum(mass[order])
    share /= share[-1]
    slack = 8 * np.finfo(float).eps * values.size  # share of the mass; safeguard: rounding
    last = values.size - 1
    low, high = np.searchsorted(share, [0.5 - slack, 0.5 + slack])
    return float(0.5 * (values[order[min(low, last)]] + values[order[min(high, last)]]))


def sampled_rows(n: int, weights: Array | None, most: int) -> tuple[IntArray, Array | None]:
    """A sample of at most ``most`` of n rows, in equal steps, and its weights; None: all weigh 1.

    With weights that are whole numbers, the sample is that of a list with so many copies of every
    row. With other weights, all rows of positive weight are taken if they are few enough; if not,
    the steps are equal in the sum of the weights.
    """
    if weights is None:
        return np.linspace(0, n - 1, min(n, most)).astype(np.intp), None
    total = float(weights.sum())
    if total < 2.0**53 and bool((weights == np.rint(weights)).all()):
        places = np.linspace(0, total - 1, int(min(total, most))).astype(np.intp)
        return np.searchsorted(np.cumsum(weights), places, side="right"), None
    present = np.flatnonzero(weights)
    if present.size <= most:
        return present, weights[present] / weights.max()
    middles = (np.arange(most) + 0.5) * (total / most)
    found = np.searchsorted(np.cumsum(weights), middles, side="right")
    return np.minimum(found, present[-1]), None
