"""Probes the formulas of a user's own loss: do gradient, conjugate and infimum belong to value?

A certificate rests on the laws ℓ(x) ≥ ℓ(z) + θ·(x − z), θ the gradient at z, ℓ*(u) ≥ u·x − ℓ(x),
with equality for u = θ and x = z, and ℓ(x) ≥ inf ℓ. A formula with a slip breaks them near the
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


def check_formulas(loss: Loss, y: Array, n_scores: int) -> None:
    """Raise ValueError, in one sentence, for a convex loss whose formulas contradict each other."""
    if loss.convex and not loss.pooled:
        wrong = violation(loss, y, n_scores)
        if wrong:
            raise ValueError(f"loss {loss!r} cannot be certified: {wrong}.")


def violation(loss: Loss, y: Array, n_scores: int = 1) -> str:
    """What is wrong with a loss for these targets, in words; empty: nothing found."""
    rows = np.unique(np.linspace(0, len(y) - 1, _ROWS).astype(int))
    y = np.ascontiguousarray(y[rows])
    points = [*_points(loss, y, n_scores)]
    with np.errstate(all="ignore"):
        values = [np.asarray(loss.value(z, y), float) for z in points]
        slopes = [np.asarray(loss.gradient(z, y), float) for z in points]
        if values[0].shape != (len(y),):
            return f"value must give one number per row, not an array of shape {values[0].shape}"
        if slopes[0].shape != points[0].shape:
            return f"gradient must have the shape of z, {points[0].shape}, not {slopes[0].shape}"
        if np.isnan(values).any() or np.isnan(slopes).any():
            return "value or gradient is NaN at some scores near the targets"
        return (
            _not_convex(points, values, slopes)
            or _not_infimum(loss, y, values)
            or _not_conjugate(loss, y, points, values, slopes)
        )


def _points(loss: Loss, y: Array, n_scores: int) -> Iterator[Array]:
    """Scores around targets on their own scale; around zero for classes, counts and shares."""
    rng = np.random.default_rng(0)
    shape = (len(y),) if n_scores == 1 else (len(y), n_scores)
    centre, size = np.zeros(shape), 1.0
    if loss.target in ("real", "vector") and y.shape == shape:
        centre, size = y, float(np.abs(y - y.mean(axis=0)).mean()) or 1.0
    for share in _SIZES:
        yield centre + share * size * rng.standard_normal(shape)


def _by_row(values: Array) -> Array:
    """Sums over the scores of a row."""
    return values if values.ndim == 1 else np.asarray(values.sum(axis=1))


def _not_convex(points: list[Array], values: list[Array], slopes: list[Array]) -> str:
    for z, value, slope in zip(points, values, slopes):
        for x, other in zip(points, values):
            rise = _by_row(slope * (x - z))
            size = np.abs(value) + np.abs(other) + _by_row(np.abs(slope * x) + np.abs(slope * z))
            if (other - value - rise < -_ROUNDING * size).any():
                return (
                    "a tangent lies above it: either it is not convex, or gradient is not the "
                    "derivative of value"
                )
    return ""


def _not_infimum(loss: Loss, y: Array, values: list[Array]) -> str:
    least = np.asarray(loss.infimum(y), float)
    if any((value < least - _ROUNDING * (np.abs(value) + np.abs(least))).any() for value in values):
        return "infimum(y) is greater than value(z, y) at some z"
    return ""


def _not_conjugate(
    loss: Loss, y: Array, points: list[Array], values: list[Array], slopes: list[Array]
) -> str:
    between = 0.5 * slopes[-1] + 0.5 * slopes[-2]
    for number, slope in enumerate([*slopes, between]):
        u = np.asarray(loss.into_domain(slope, y), float)  # rounding may have left the domain
        if (np.abs(u - slope) > _ROUNDING * (1.0 + np.abs(slope))).any():
            return "into_domain(u) moves a gradient, whose conjugate is finite"
        conjugate = np.asarray(loss.conjugate(u, y), float)
        if conjugate.shape != (len(y),):
            return f"conjugate must give one number per row, not an array of {conjugate.shape}"
        for place, (x, value) in enumerate(zip(points, values)):
            term = value + conjugate - _by_row(u * x)
            size = np.abs(value) + _by_row(np.abs(u * x))
            size = size + np.where(np.isfinite(conjugate), np.abs(conjugate), 0.0)
            if not (term >= -_ROUNDING * size).all():
                return "conjugate(u) is smaller than u·z − value(z) at some z: it is their supremum"
            own = np.asarray(loss.fenchel_young(x, u, y), float)
            if not (own >= term - np.sqrt(_ROUNDING) * size).all():
                return "fenchel_young is smaller than value + conjugate − u·z at some z and u"
            off = np.where(np.isfinite(term), term, 0.0)  # what is infinite proves nothing
            if place == number and (off > np.sqrt(_ROUNDING) * size + _ROUNDING).any():
                return "conjugate(gradient(z)) is not gradient(z)·z − value(z)"
    return ""
