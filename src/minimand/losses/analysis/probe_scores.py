"""Probes the formulas of a user's own loss of k scores: do gradient and conjugate belong to value?

A certificate rests on two laws, ℓ(x) ≥ ℓ(z) + θ·(x − z) with θ the gradient at z, and
ℓ*(u) ≥ u·x − ℓ(x), with equality for u = θ and x = z. A formula with a slip breaks them near the
targets, where it is tried here, at a few rows of the data; this proves nothing, but finds slips.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..._base.typing import Array

if TYPE_CHECKING:
    from ..base import Loss

_ROWS = 16  # rows of the data that are tried; convention
_SIZES = (0.0, 0.03, 0.3, 1.0, 3.0)  # distances of the scores from y, in units of y; convention
_ROUNDING = 1e-8  # share of the terms that are compared; safeguard: users' formulas may cancel


def violation(loss: Loss, y: Array, n_scores: int) -> str:
    """What is wrong with a loss of k scores for these targets, in words; empty: nothing found."""
    rows = np.unique(np.linspace(0, len(y) - 1, _ROWS).astype(int))
    y = np.ascontiguousarray(y[rows])
    points = [*_points(y, n_scores)]
    with np.errstate(all="ignore"):
        values = [np.asarray(loss.value(z, y), float) for z in points]
        slopes = [np.asarray(loss.gradient(z, y), float) for z in points]
        if values[0].shape != (len(y),):
            return f"value must give one number per row, not an array of shape {values[0].shape}"
        if slopes[0].shape != points[0].shape:
            return f"gradient must have the shape of z, {points[0].shape}, not {slopes[0].shape}"
        return _not_convex(points, values, slopes) or _not_conjugate(
            loss, y, points, values, slopes
        )


def _points(y: Array, n_scores: int) -> Iterator[Array]:
    """Scores around the targets; around zero for classes."""
    rng = np.random.default_rng(0)
    if y.ndim == 1:
        centre, size = np.zeros((len(y), n_scores)), 1.0
    else:
        centre, size = y, float(np.abs(y - y.mean(axis=0)).mean()) or 1.0
    for share in _SIZES:
        yield centre + share * size * rng.standard_normal(centre.shape)


def _not_convex(points: list[Array], values: list[Array], slopes: list[Array]) -> str:
    for z, value, slope in zip(points, values, slopes):
        for x, other in zip(points, values):
            rise = (slope * (x - z)).sum(axis=1)
            size = np.abs(value) + np.abs(other) + (np.abs(slope * x) + np.abs(slope * z)).sum(1)
            if (other - value - rise < -_ROUNDING * size).any():
                return (
                    "a tangent lies above it: either it is not convex, or gradient is not the "
                    "derivative of value"
                )
    return ""


def _not_conjugate(
    loss: Loss, y: Array, points: list[Array], values: list[Array], slopes: list[Array]
) -> str:
    between = 0.5 * slopes[-1] + 0.5 * slopes[-2]
    for number, slope in enumerate([*slopes, between]):
        u = np.asarray(loss.into_domain(slope, y), float)  # rounding may have left the domain
        conjugate = np.asarray(loss.conjugate(u, y), float)
        if conjugate.shape != (len(y),):
            return f"conjugate must give one number per row, not an array of {conjugate.shape}"
        for place, (x, value) in enumerate(zip(points, values)):
            term = value + conjugate - (u * x).sum(axis=1)
            size = np.abs(value) + np.abs(u * x).sum(axis=1)
            size = size + np.where(np.isfinite(conjugate), np.abs(conjugate), 0.0)
            if (term < -_ROUNDING * size).any():
                return "conjugate(u) is smaller than u·z − value(z) at some z: it is their supremum"
            off = np.where(np.isfinite(term), term, 0.0)  # what is infinite proves nothing
            if place == number and (off > np.sqrt(_ROUNDING) * size + _ROUNDING).any():
                return "conjugate(gradient(z)) is not gradient(z)·z − value(z)"
    return ""
