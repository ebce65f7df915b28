"""Checks of losses whose units are more than rows, or whose rows have several scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from ..losses import Loss
from ..losses.curvature import as_curvature
from ..problem.objective import EPS
from ..problem.units import offsets
from .require import require, require_all

_SIZES = (1e-3, 1.0, 30.0)  # standard deviations of random scores; convention
_STEP = 1e-5  # step of central differences, whose error is about its square; convention


class _Case(NamedTuple):
    """A loss on some rows, and scores at which to try it."""

    loss: Loss
    y: Array
    points: list[Array]


def check_units(loss: Loss, targets: Array, n_scores: int) -> None:
    """Check a loss at random scores, row counts and targets."""
    rng = np.random.default_rng(0)
    counts = (1, 2, 7, 40) if loss.units is None else (int(loss.units[-1]),)
    for n in counts:
        y = targets[rng.integers(0, len(targets), size=n)]
        shape = (n,) if n_scores == 1 else (n, n_scores)
        points = [size * rng.standard_normal(shape) for size in _SIZES] + [np.zeros(shape)]
        if y.shape == shape:
            points = [y + z for z in points]
        case = _Case(loss, y, points)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            _check_shapes(case)
            _check_tangents(case)
            _check_dual_side(case)
            _check_shift(case)
            if loss.smooth:
                _check_derivatives(case, rng)
            _check_apart(case, rng)


def _noise(case: _Case, z: Array, u: Array) -> Array:
    """Rounding of ℓ(z) and of u·z, by unit."""
    size = np.abs(z) + (np.abs(case.y) if case.y.shape == z.shape else 0.0)
    product = case.loss.by_unit((1.0 + np.abs(u)) * (1.0 + size))
    return np.asarray(64 * EPS * (np.abs(case.loss.value(z, case.y)) + product))


def _check_shapes(case: _Case) -> None:
    """One value per unit, slopes in the shape of z, and terms that agree with both."""
    loss, y, points = case
    units = offsets(loss, len(y))
    count = len(y) if units is None else units.size - 1
    for z in points:
        value, gradient = loss.value(z, y), loss.gradient(z, y)
        require(value.shape == (count,), f"{loss!r}: value must give one number per unit.")
        require(gradient.shape == z.shape, f"{loss!r}: the gradient must have the shape of z.")
        require(loss.infimum(y).shape == (count,), f"{loss!r}: infimum must be one per unit.")
        mass = loss.masses(np.ones(count if loss.unit == "run" else len(y)))
        require(mass.shape == (count,), f"{loss!r}: masses must be one per unit.")
        terms = loss.terms(z, y)
        same = np.allclose(terms.value, value, rtol=1e-11, atol=1e-12)
        same &= np.allclose(terms.gradient, gradient, rtol=1e-11, atol=1e-12)
        require(same, f"{loss!r}: terms differ from value or gradient.")
        low = loss.infimum(y) <= value + _noise(case, z, gradient)
        require_all(low, f"{loss!r}: a value below the infimum", value=value)


def _check_tangents(case: _Case) -> None:
    """ℓ(z') ≥ ℓ(z) + θ·(z' − z), for every unit by itself."""
    loss, y, points = case
    for z in points:
        slope, here = loss.gradient(z, y), loss.value(z, y)
        for other in points:
            chord = loss.value(other, y) - here - loss.by_unit(slope * (other - z))
            room = _noise(case, z, slope) + _noise(case, other, slope)
            require_all(chord >= -room, f"{loss!r}: the gradient is no subgradient", chord=chord)


def _check_dual_side(case: _Case) -> None:
    """Terms vanish at gradients, equal ℓ + ℓ* − u·z, and are at least what any other z gives."""
    loss, y, points = case
    slopes = [loss.gradient(z, y) for z in points]
    duals = [*slopes, 0.5 * slopes[0] + 0.5 * slopes[1]]
    duals += [loss.into_domain(z - 0.3, y) for z in points]
    for z, slope in zip(points, slopes):
        own = loss.fenchel_young(z, slope, y)
        touches = own <= _noise(case, z, slope)
        require_all(touches, f"{loss!r}: the gradient does not touch the loss", term=own)
    for u in duals:
        conjugate = loss.conjugate(u, y)
        require(np.isfinite(conjugate).all(), f"{loss!r}: into_domain leaves the domain.")
        again = loss.into_domain(u, y)
        still = np.abs(again - u) <= 1e-12 * (1.0 + np.abs(u))
        require_all(still, f"{loss!r}: into_domain moves a point of the domain", u=u)
        for z in points:
            terms, room = (
                loss.fenchel_young(z, u, y),
                _noise(case, z, u) + 64 * EPS * abs(conjugate),
            )
            require_all(terms >= 0, f"{loss!r}: a negative Fenchel-Young term", term=terms)
            direct = loss.value(z, y) + conjugate - loss.by_unit(u * z)
            same = np.abs(terms - direct) <= room
            require_all(same, f"{loss!r}: fenchel_young is not ℓ + ℓ* − u·z", term=terms)


def _check_shift(case: _Case) -> None:
    """No other tried intercept is better than the loss's own `best_shift`."""
    loss, y, points = case
    units = offsets(loss, len(y))
    mass = loss.masses(np.ones(len(y) if units is None else units.size - 1))
    for z in points:
        known = loss.best_shift(z, y, mass)
        if known is None:
            return
        least = mass @ loss.value(z + known, y)
        room = mass @ _noise(case, z + known, loss.gradient(z, y))
        for other in points:
            moved = mass @ loss.value(z + np.mean(other - z, axis=0), y)
            require(least <= moved + room, f"{loss!r}: best_shift is not the best.")


def _check_derivatives(case: _Case, rng: np.random.Generator) -> None:
    """The curvature is the slope of the gradient, symmetric, and between 0 and its bound."""
    loss, y, points = case
    for z in points[:2]:
        curvature = as_curvature(loss.curvature(z, y))
        t, s = rng.standard_normal((2, *z.shape))
        image = curvature.times(t)
        ahead, behind = loss.gradient(z + _STEP * t, y), loss.gradient(z - _STEP * t, y)
        quotient = (ahead - behind) / (2 * _STEP)
        size = float(np.abs(image).max()) + float(np.abs(quotient).max()) + 1e-3
        off = float(np.abs(image - quotient).max())
        require(off <= 1e-4 * size, f"{loss!r}: the curvature is not the slope of the gradient.")
        crossed = float(np.sum(s * image)) - float(np.sum(t * curvature.times(s)))
        require(abs(crossed) <= 1e-9 * size * z.size, f"{loss!r}: the curvature is not symmetric.")
        energy = float(np.sum(t * image))
        most = float(np.sum(curvature.bound * t * t))
        require(energy >= -1e-9 * size, f"{loss!r}: the curvature is negative.")
        require(energy <= most * (1 + 1e-9), f"{loss!r}: bound does not bound the curvature.")


def _check_apart(case: _Case, rng: np.random.Generator) -> None:
    """A unit depends on its own rows only."""
    loss, y, points = case
    units = offsets(loss, len(y))
    units = np.arange(len(y) + 1) if units is None else units
    z = points[1]
    moved = z.copy()
    moved[: units[1]] += rng.standard_normal(moved[: units[1]].shape)
    before, after = loss.value(z, y)[1:], loss.value(moved, y)[1:]
    require(np.array_equal(before, after), f"{loss!r}: a unit depends on rows of another one.")
    before, after = (loss.gradient(x, y)[units[1] :] for x in (z, moved))
    require(np.array_equal(before, after), f"{loss!r}: a slope depends on rows of another unit.")
