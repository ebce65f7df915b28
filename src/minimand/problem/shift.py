"""The best intercepts for k scores, or for units of more than one row, by Newton's method.

φ(b) = Σ mass·ℓ(z + b, y) is convex in b, which has a number for every score. Its second derivative
is a k×k matrix, which is singular if a shift of all scores changes nothing (the softmax): then
the shortest step is taken, so that the intercepts keep their sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._base.linear_system import Solve, factorise
from .._base.typing import Array
from ..losses import Loss
from ..losses.base import ShiftedSums
from ..losses.curvature import as_curvature
from .point import EPS

_HALVINGS = 60  # halvings of a step that does not lower φ; safeguard
_RANK = 1e-12  # share of the largest eigenvalue, below which one counts as zero; safeguard
_ROUNDING = 1e-9  # share of its terms, below which a slope counts as rounding; safeguard
_MANY = 64  # scores, from which the second derivative is kept for several steps; safeguard
_STALE = 0.25  # share of its slope that a step may leave before that is made anew; safeguard
_BLOCK = 1 << 18  # numbers in a block of rows, 2 MB; safeguard: temporaries stay that small
_CLOSE = 3e-8  # share of its terms, below which a slope vanishes after one more step; safeguard
_LOWER = 1e-4  # share of the slope by which a step must lower φ; convention (Armijo's rule)


def newton_shift(risk: Any, z: Array, steps: int = 200) -> Any:  # steps: safeguard
    """The b that minimises Σ mass·ℓ(z + b, y): a float for one score, else an array."""
    b = np.zeros(z.shape[1:])
    many = b.size > _MANY
    with np.errstate(over="ignore", invalid="ignore"):
        value, slope, size, hessian = _at(risk, z, b)
        downhill = _downhill(hessian)
        largest = float(np.abs(z).max(initial=0.0))
        for _ in range(steps):
            if (np.abs(slope) <= 4 * EPS * size).all():  # rounding
                break
            step = downhill(slope, size)
            if not many and (np.abs(slope) <= _CLOSE * size).all():
                b = b + step  # Newton doubles the digits, so what is left is rounding
                break
            # A score is rounded by its last place, and the loss by that times its slope.
            noise = 8 * EPS * (abs(value) + float(np.max(size)) * largest)
            found = _line_search(risk, z, b, step, value, slope, noise, curved=not many)
            if found is None:
                break
            before = float(np.abs(slope).max())
            b, (value, slope, size, hessian) = found
            rounding = (np.abs(slope) <= 1e-10 * size).all()  # share of its terms; safeguard
            if many and not rounding and float(np.abs(slope).max()) > _STALE * before:
                hessian = _at(risk, z, b).hessian
            if not many or hessian.size:
                downhill = _downhill(hessian)
            # Where φ no longer changes in floating point, steps go on while the slope falls.
            if rounding and float(np.abs(slope).max()) >= before:
                break
    return float(b) if b.ndim == 0 else b


def _at(risk: Any, z: Array, b: Array, curved: bool = True) -> ShiftedSums:
    """The mean loss at z + b, its slope, the size of its terms, and its second derivative.

    The second derivative is empty unless ``curved``: of many scores it takes most of the time.
    """
    if risk.units is not None:
        value, gradient, curvature = risk.loss.terms(z + b, risk.y)
        hessian = as_curvature(curvature).weighted(risk.row_mass).over_scores()
        slope = np.asarray(risk.row_mass @ gradient)
        size = np.asarray(risk.row_mass @ np.abs(gradient))
        return ShiftedSums(float(risk.mass @ value), slope, size, hessian)
    rows = max(1, _BLOCK // max(b.size, 1))
    parts = [slice(start, start + rows) for start in range(0, len(z), rows)]
    sums = risk.loss.shifted_sums if curved else partial(_without_curvature, risk.loss)
    found = [sums(z[p], b, risk.y[p], risk.mass[p]) for p in parts]
    return found[0] if len(found) == 1 else ShiftedSums(*(sum(each) for each in zip(*found)))


def _without_curvature(loss: Loss, z: Array, b: Array, y: Array, mass: Array) -> ShiftedSums:
    value, gradient, _ = loss.terms(z + b, y)
    sums = float(mass @ value), np.asarray(mass @ gradient), np.asarray(mass @ np.abs(gradient))
    return ShiftedSums(*sums, np.zeros((0, 0)))


def _downhill(hessian: Array) -> Callable[[Array, Array], Array]:
    """The Newton step for a slope and the size of its terms."""
    if len(np.atleast_2d(hessian)) > _MANY:
        solve = _factorised(hessian)
        if solve is not None:
            return lambda slope, size: -solve(slope)
    return lambda slope, size: _by_eigenvalues(hessian, slope, size)


def _factorised(hessian: Array) -> Solve | None:
    """By a Cholesky factor, a tenth of the time; None where it has none.

    If a shift of all scores has no curvature, it is given some, and none of the step.
    """
    if not np.isfinite(hessian).all():
        return None
    k, sizes = len(hessian), np.diag(hessian)
    free = _is_free(hessian)
    solve = factorise(hessian + sizes.mean() / k if free else hessian)
    if solve is None or not free:
        return solve
    return lambda slope: (step := solve(slope)) - step.mean()


def _by_eigenvalues(hessian: Array, slope: Array, size: Array) -> Array:
    """The Newton step; along directions with a slope but no curvature, one unit.

    An eigenvector without curvature is known up to rounding; where it is a shift of all scores, the
    step keeps their sum exactly.
    """
    flat = np.atleast_1d(slope)
    if not np.isfinite(hessian).all() or not np.isfinite(flat).all():
        return -np.sign(np.nan_to_num(slope))
    values, vectors = np.linalg.eigh(hessian)
    most = float(values[-1])
    along = vectors.T @ flat
    kept = values > _RANK * most
    step = np.where(kept, along / np.where(kept, values, 1.0), 0.0)
    lost = ~kept & (np.abs(along) > _ROUNDING * float(size.max()))
    step = vectors @ np.where(lost, np.sign(along), step)
    if not lost.any() and _is_free(hessian):
        step -= step.mean()
    return np.asarray(-step).reshape(slope.shape)


def _is_free(hessian: Array) -> bool:
    """Whether a shift of all scores has no curvature."""
    sums, sizes = np.abs(hessian.sum(axis=1)), np.diag(hessian)
    return bool((sums <= len(hessian) * EPS * sizes).all())


def _line_search(
    risk: Any,
    z: Array,
    b: Array,
    step: Array,
    value: float,
    slope: Array,
    noise: float,
    *,
    curved: bool,
) -> tuple[Array, ShiftedSums] | None:
    """The first halved step that lowers the mean loss; None if only rounding is left."""
    fall = float(np.sum(slope * step))
    share = 1.0
    for _ in range(_HALVINGS):
        new = b + share * step
        if (new == b).all():
            return None
        found = _at(risk, z, new, curved)
        # False for NaN; a value that is equal up to rounding counts as not worse.
        if found[0] <= value + _LOWER * share * min(fall, 0.0) + noise:
            return new, found
        share *= 0.5
    return None
