"""Conformance suites for your own losses, penalties, designs and solvers.

Each function raises AssertionError with one sentence that says which law is broken and where; a
ValueError says that the object itself refuses its parameters. minimand's own tests use the same.

Examples
--------
>>> import minimand as mm
>>> mm.testing.check_loss(mm.Huber(delta=2.0))
>>> mm.testing.check_penalty(mm.L1() + 0.5 * mm.L2())
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ._typing import Array, ArrayLike, BoolArray
from .design import Design, as_design
from .losses import (
    Absolute,
    Chebyshev,
    CrossEntropy,
    Distance,
    Gamma,
    GemanMcClure,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Margin,
    Poisson,
    Quantile,
    Squared,
    SquaredHinge,
    TanhMargin,
    TruncatedSquared,
    Tweedie,
)
from .objective import EPS, Objective
from .penalties import (
    L1,
    L2,
    MCP,
    SCAD,
    Ball,
    L2Ball,
    Lq,
    Majorised,
    NonNegative,
    NoPenalty,
    Penalty,
)
from .solvers import Control, Solver
from .solvers.base import run
from .tangent import Tangent

__all__ = ["check_design", "check_loss", "check_penalty", "check_solver"]

_TARGETS: dict[str, list[float]] = {
    "real": [-3.0, -0.5, 0.0, 0.7, 40.0],
    "sign": [-1.0, 1.0],
    "unit": [0.0, 0.2, 0.5, 1.0],
    "count": [0.0, 0.3, 1.0, 7.0, 200.0],
    "positive": [1e-3, 0.3, 1.0, 7.0, 200.0],
}


def _require(ok: Any, sentence: str) -> None:
    if not ok:
        raise AssertionError(sentence)


def _require_all(ok: BoolArray, sentence: str, **where: Array) -> None:
    """Every entry must be true; the sentence ends with the first place where it is not."""
    ok = np.asarray(ok)
    if ok.all():
        return
    at = np.unravel_index(int(np.argmin(ok)), ok.shape)
    place = ", ".join(f"{k}={np.broadcast_to(v, ok.shape)[at]:.6g}" for k, v in where.items())
    raise AssertionError(f"{sentence} (at {place})")


# Losses ------------------------------------------------------------------------------------


def check_loss(loss: Loss, y: ArrayLike = None) -> None:
    """Check a loss against its own definition, over the whole axis of z.

    Slopes are checked without finite-difference error: for a convex ℓ the gradient lies between
    the difference quotients of its two sides, at every step size and at kinks too.

    Parameters
    ----------
    loss : Loss
        An object of your own class.
    y : array-like, optional
        Targets to try; by default typical ones of the loss's domain, its edges included.

    Raises
    ------
    AssertionError
        One sentence with the broken law and the first z and y where it breaks.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> class LogCosh(mm.Distance):
    ...     def psi(self, r): return np.logaddexp(r, -r) - np.log(2)
    ...     def dpsi(self, r): return np.tanh(r)
    ...     def ddpsi(self, r): return 1 - np.tanh(r) ** 2
    >>> mm.testing.check_loss(LogCosh())
    >>> class Wrong(LogCosh):
    ...     def ddpsi(self, r): return 2 - np.tanh(r) ** 2
    >>> mm.testing.check_loss(Wrong())
    Traceback (most recent call last):
        ...
    AssertionError: Wrong(): the curvature is not the slope of the gradient (at z=..., y=...)
    """
    try:
        loss.check_parameters()
    except ValueError as error:
        raise AssertionError(str(error)) from error
    targets = np.asarray(_TARGETS[loss.target] if y is None else y, dtype=float).ravel()
    loss.check_target(targets)
    if loss.composed is not None:
        check_loss(loss.composed.base, y)
        _check_robust(loss, targets)
        return
    _require(loss.convex, f"{loss!r}: the loss says that it is not convex.")
    if loss.pooled:
        _check_pooled(loss, targets)
        return
    for target in targets:
        z = _axis(float(target))
        ys = np.full(z.shape, target)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            _check_extremes(loss, float(target))
            _check_terms(loss, z, ys)
            usable = np.abs(loss.value(z, ys)) < 1e30
            z, ys = z[usable], ys[usable]
            _check_slopes(loss, z, ys)
            _check_tangents(loss, z, ys)
            _check_piecewise_form(loss, z, ys)
            slopes = _dual_points(loss, z, ys)
            _check_conjugate(loss, z, slopes, float(target))
            _check_domain(loss, slopes, float(target))
            _check_infimum(loss, z, ys)
            _check_loss_prox(loss, z, float(target))


def _check_robust(loss: Loss, targets: Array) -> None:
    """The laws of a loss that is not convex: slopes, and tangents that lie above and touch."""
    inner = loss.composed
    assert inner is not None
    for target in targets:
        z = _axis(float(target))
        y = np.full(z.shape, target)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            _check_extremes(loss, float(target))
            _check_terms(loss, z, y)
            _check_steps(loss, z, y)
            _check_infimum(loss, z, y)
            base, weights = inner.base.value(z, y), inner.weights(z, y)
            value, noise = loss.value(z, y), _noise(loss, z, y)
        above = value[:, None] + weights[:, None] * (base[None, :] - base[:, None])
        size = np.abs(above) + weights[:, None] * (np.abs(base)[None, :] + np.abs(base)[:, None])
        slack = noise[:, None] + noise[None, :] + 64 * EPS * size
        sentence = f"{loss!r}: a tangent, the base loss with weights, lies below the loss"
        _require_all(value[None, :] <= above + slack, sentence, tangent_at=z[:, None], z=z[None, :])


def _check_steps(loss: Loss, z: Array, y: Array) -> None:
    """The gradient is one of the difference quotients' limits, from one side at least."""
    slope, fits = loss.gradient(z, y), np.zeros(z.shape, dtype=bool)
    size = np.maximum(np.minimum(np.abs(z), np.abs(z - y)), 0.1)
    for relative in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        step = (z + relative * size) - z
        around = [loss.value(z + k * step, y) for k in (-1, 0, 1)]
        noise = (_noise(loss, z, y) + _noise(loss, z + step, y) + _noise(loss, z - step, y)) / step
        left, right = (around[1] - around[0]) / step, (around[2] - around[1]) / step
        both = (around[2] - around[0]) / (2 * step)
        for quotient in (left, right, both):
            near = 1e-4 * np.maximum(np.abs(quotient), np.abs(slope))
            fits |= np.abs(quotient - slope) <= near + noise
    _require_all(fits, f"{loss!r}: the gradient is not the slope of the value", z=z, y=y)


def _check_pooled(loss: Loss, targets: Array) -> None:
    """The laws of a loss of the whole set, whose terms count by their sum."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        y = rng.choice(targets, size=n)
        points = [y + size * rng.standard_normal(n) for size in (1e-3, 1.0, 1e3)] + [y, y + 1.0]
        for z in points:
            slope = loss.gradient(z, y)
            here = loss.value(z, y).sum()
            noise = 64 * EPS * (here + np.abs(slope) @ (np.abs(z) + np.abs(y)))
            _require(loss.infimum(y).sum() <= here + noise, f"{loss!r}: a value below the infimum")
            own = loss.fenchel_young(z, slope, y)
            _require(own.sum() <= noise, f"{loss!r}: the gradient does not touch the loss")
            shifted = loss.value(z + loss.best_shift(z, y), y).sum()
            for other in points:
                chord = loss.value(other, y).sum() - here - slope @ (other - z)
                room = noise + 64 * EPS * np.abs(slope) @ np.abs(other)
                _require(chord >= -room, f"{loss!r}: the gradient is no subgradient")
                moved = loss.value(z + float(np.mean(other - z)), y).sum()
                _require(shifted <= moved + noise, f"{loss!r}: best_shift is not the best")
                u = loss.into_domain(other - y, y)
                terms = loss.fenchel_young(z, u, y)
                _require((terms >= 0).all(), f"{loss!r}: a negative Fenchel-Young term")
                _require(np.isfinite(terms).all(), f"{loss!r}: into_domain leaves the domain")
                direct = here + loss.conjugate(u, y).sum() - u @ z
                room = noise + 64 * EPS * np.abs(u) @ (np.abs(z) + np.abs(y))
                same = abs(terms.sum() - direct) <= room
                _require(same, f"{loss!r}: fenchel_young is not ℓ + ℓ* − u·z")


def _axis(centre: float) -> Array:
    """Both signs, dense near 0, near the target and one unit from it, and far out."""
    near = np.linspace(-6.0, 6.0, 61)
    far = np.geomspace(1e-3, 1e3, 25)
    around = np.concatenate([near, far, -far])
    return np.unique(np.concatenate([around, around + centre, np.array([centre])]))


def _check_extremes(loss: Loss, y: float) -> None:
    z = np.array([-1e8, -1e3, 1e3, 1e8])
    ys = np.full(4, y)
    u = loss.into_domain(np.zeros(4), ys)
    for name, result in (
        ("value", loss.value(z, ys)),
        ("gradient", loss.gradient(z, ys)),
        ("curvature", loss.curvature(z, ys) if loss.smooth else np.zeros(4)),
        ("fenchel_young", loss.fenchel_young(z, u, ys)),
        ("transform", loss.transform(z)),
    ):
        _require_all(~np.isnan(result), f"{loss!r}: {name} is NaN", z=z, y=ys)


def _check_terms(loss: Loss, z: Array, y: Array) -> None:
    strided = np.repeat(z, 2)[::2]
    parts = [loss.value(z, y), loss.gradient(z, y)]
    if loss.smooth:
        parts.append(loss.curvature(z, y))
    for name, one, other, part in zip(
        ("value", "gradient", "curvature"), loss.terms(z, y), loss.terms(strided, y), parts
    ):
        _require(part.shape == z.shape, f"{loss!r}: {name} must give one number per sample.")
        size = 1e-11 * np.maximum(np.abs(part), 1e-12)
        same = (np.abs(one - part) <= size) | (one == part)
        again = (np.abs(other - part) <= size) | (other == part)
        _require_all(same & again, f"{loss!r}: terms differ from {name}", z=z, y=y)


def _noise(loss: Loss, z: Array, y: Array) -> Array:
    """Rounding of a value: units in the last place of the numbers it is made of."""
    value, slope = loss.value(z, y), loss.gradient(z, y)
    pieces = np.abs(value) + (1.0 + np.abs(slope) + np.abs(y)) * (1.0 + np.abs(z) + np.abs(y))
    return 64 * EPS * np.where(np.isfinite(pieces), pieces, 0.0)


def _check_slopes(loss: Loss, z: Array, y: Array) -> None:
    """(ℓ(z) − ℓ(z−h))/h ≤ ℓ'(z) ≤ (ℓ(z+h) − ℓ(z))/h for every h; ℓ'' is the limit for ℓ'."""
    size = np.maximum(np.minimum(np.abs(z), np.abs(z - y)), 0.1)
    slope = loss.gradient(z, y)
    bends = np.zeros(z.shape, dtype=bool)
    for relative in (1e-2, 1e-3, 1e-4, 1e-5):
        step = (z + relative * size) - z
        here, above, below = loss.value(z, y), loss.value(z + step, y), loss.value(z - step, y)
        noise = (_noise(loss, z, y) + _noise(loss, z + step, y) + _noise(loss, z - step, y)) / step
        inside = (slope <= (above - here) / step + noise) & (slope >= (here - below) / step - noise)
        inside |= ~np.isfinite(above) | ~np.isfinite(below)
        _require_all(inside, f"{loss!r}: the gradient is not the slope of the value", z=z, y=y)
        if loss.smooth:
            bends |= _bend_fits(loss, z, y, step, slope)
    if loss.smooth and not bends.all():
        bends |= _bend_is_singular(loss, z, y, size)
    sentence = f"{loss!r}: the curvature is not the slope of the gradient"
    _require_all(bends | (not loss.smooth), sentence, z=z, y=y)


def _bend_fits(loss: Loss, z: Array, y: Array, step: Array, slope: Array) -> BoolArray:
    """Whether ℓ'' lies between the quotients of ℓ' on both sides, up to their own curvature."""
    bend = loss.curvature(z, y)
    _require_all(bend >= 0, f"{loss!r}: the curvature is negative", z=z, y=y)
    right, left = loss.gradient(z + step, y), loss.gradient(z - step, y)
    ahead, behind = (right - slope) / step, (slope - left) / step
    size = np.abs(right) + np.abs(left) + np.abs(y) + (1.0 + bend) * np.abs(z)
    # The quotients see z ± step; the bend may vary by its relative change over that distance.
    slack = 64 * EPS * size / step + 0.02 * step * np.maximum(bend, np.maximum(ahead, behind))
    slack += 1e-6 * bend
    inside = bend >= np.minimum(ahead, behind) - slack
    inside &= bend <= np.maximum(ahead, behind) + slack
    return inside | ~np.isfinite(right) | ~np.isfinite(left)


def _bend_is_singular(loss: Loss, z: Array, y: Array, size: Array) -> BoolArray:
    """Points such as r = 0 of |r|^p: the quotients of ℓ' go to 0 or ∞ with the step, like a power.

    There ℓ'' must lie on the side they go to.
    """
    bend, slope = loss.curvature(z, y), loss.gradient(z, y)
    wide, narrow = (
        np.stack([(loss.gradient(z + h, y) - slope) / h, (slope - loss.gradient(z - h, y)) / h])
        for h in ((z + 1e-2 * size) - z, (z + 1e-5 * size) - z)
    )
    growing = (narrow > 1.03 * wide).all(axis=0) & (bend >= narrow.max(axis=0))
    fading = (wide > 1.03 * narrow).all(axis=0) & (bend <= narrow.min(axis=0))
    return growing | fading


def _check_tangents(loss: Loss, z: Array, y: Array) -> None:
    """ℓ(b) ≥ ℓ(a) + ℓ'(a)(b − a) on all pairs."""
    value, slope = loss.value(z, y), loss.gradient(z, y)
    tangent = value[:, None] + slope[:, None] * (z[None, :] - z[:, None])
    slack = _noise(loss, z, y)
    slack = slack[:, None] + slack[None, :] + 8 * EPS * np.abs(tangent)
    sentence = f"{loss!r}: a tangent lies above the loss, so it is not convex"
    _require_all(value[None, :] >= tangent - slack, sentence, tangent_at=z[:, None], z=z[None, :])


def _dual_points(loss: Loss, z: Array, y: Array) -> Array:
    """Slopes the loss takes, points between them: all inside the domain of ℓ*."""
    slopes = np.unique(loss.gradient(z, y))
    slopes = slopes[np.isfinite(slopes)]
    return np.unique(np.concatenate([slopes, 0.5 * (slopes[1:] + slopes[:-1])]))


def _check_conjugate(loss: Loss, z: Array, u: Array, y: float) -> None:
    """ℓ*(u) ≥ u·z − ℓ(z); Fenchel-Young terms are sound, agree with ℓ*, vanish at the gradient."""
    grid, dual = np.meshgrid(z, u)
    ys = np.full(grid.shape, y)
    conjugate = loss.conjugate(u, np.full(u.shape, y))[:, None]
    _require_all(~np.isnan(conjugate), f"{loss!r}: the conjugate is NaN", u=u[:, None])
    flat, where = grid.ravel(), {"z": grid, "u": dual, "y": ys}
    value = loss.value(flat, ys.ravel()).reshape(grid.shape)
    noise = _noise(loss, flat, ys.ravel()).reshape(grid.shape)
    noise = noise + 64 * EPS * (np.abs(dual * grid) + np.abs(dual * y) + np.abs(dual))
    below = conjugate >= dual * grid - value - noise
    _require_all(below, f"{loss!r}: the conjugate is less than u·z − loss(z)", **where)
    young = loss.fenchel_young(flat, dual.ravel(), ys.ravel()).reshape(grid.shape)
    _require_all(young >= 0, f"{loss!r}: a Fenchel-Young term is negative or NaN", **where)
    height = value - dual * grid
    least = height - height.min(axis=1, keepdims=True)
    noise = noise + noise.max(axis=1, keepdims=True, where=least == 0, initial=0.0)
    _require_all(young >= least - noise, f"{loss!r}: a Fenchel-Young term is too small", **where)
    total = value + conjugate - dual * grid
    slack = noise + 1e-9 * (np.abs(value) + np.abs(dual * grid)) + 1e-9 * np.abs(total)
    same = (np.abs(young - total) <= slack + 1e-12) | (young == total)
    sentence = f"{loss!r}: fenchel_young is not value + conjugate − u·z"
    _require_all(same | ~np.isfinite(young), sentence, **where)
    line = np.full(z.shape, y)
    touch = loss.fenchel_young(z, loss.gradient(z, line), line)
    sentence = f"{loss!r}: the Fenchel-Young term does not vanish at the gradient"
    _require_all(touch <= 8 * _noise(loss, z, line), sentence, z=z, y=line)


def _check_piecewise_form(loss: Loss, z: Array, y: Array) -> None:
    """The piecewise form, if there is one, is the loss."""
    plq = loss.plq(y)
    if plq is None:
        return
    t = plq.at(z)
    value, slope, _ = plq.pieces.terms(t)
    noise = _noise(loss, z, y) + 64 * EPS * float(np.max(np.abs(plq.pieces.values)))
    same = np.abs(value - loss.value(z, y)) <= noise
    _require_all(same, f"{loss!r}: value differs from its pieces", z=z, y=y)
    away = np.abs(t[:, None] - plq.pieces.knots).min(axis=1) > 1e-9 * (1 + np.abs(z) + np.abs(y))
    steep = np.abs(slope) * 1e-12 + 1e-12
    same = ~away | (np.abs(plq.sign * slope - loss.gradient(z, y)) <= steep)
    _require_all(same, f"{loss!r}: gradient differs from its pieces", z=z, y=y)


def _check_domain(loss: Loss, inside: Array, y: float) -> None:
    """into_domain is a projection, and ℓ* is finite where it lands."""
    size = np.concatenate([np.geomspace(1e-4, 1e4, 33), np.array([0.0])])
    u = np.unique(np.concatenate([size, -size]))
    ys = np.full(u.shape, y)
    moved = loss.into_domain(u, ys)
    again = loss.into_domain(moved, ys)
    close = np.abs(again - moved) <= 4 * EPS * (np.abs(moved) + abs(y))
    _require_all(close, f"{loss!r}: into_domain is not idempotent", u=u, y=ys)
    defaults = (Loss.into_domain, Distance.into_domain, Margin.into_domain)
    if type(loss).into_domain in defaults and loss.plq(ys) is None:
        return  # nobody said what the domain is
    finite = np.isfinite(loss.conjugate(moved, ys))
    _require_all(finite, f"{loss!r}: the conjugate is not finite after into_domain", u=u, y=ys)
    best = np.abs(inside[None, :] - u[:, None]).min(axis=1)
    nearest = np.abs(moved - u) <= best + 8 * EPS * (np.abs(u) + abs(y) + 1.0)
    _require_all(nearest, f"{loss!r}: into_domain is not the nearest point", u=u, y=ys)


def _check_infimum(loss: Loss, z: Array, y: Array) -> None:
    value, least = loss.value(z, y), loss.infimum(y)
    _require_all(np.isfinite(least), f"{loss!r}: the infimum is not finite", y=y)
    sentence = f"{loss!r}: the infimum is greater than a value"
    _require_all(value >= least - _noise(loss, z, y), sentence, z=z, y=y)
    if type(loss).__module__.split(".")[0] == __name__.split(".")[0]:
        at = int(np.argmin(value))
        lo, hi = z[max(at - 3, 0)], z[min(at + 3, z.size - 1)]
        for _ in range(3):  # zoom in on the minimum
            fine = np.linspace(lo, hi, 201)
            near = loss.value(fine, np.full(201, y[0]))
            at = int(np.argmin(near))
            lo, hi = fine[max(at - 1, 0)], fine[min(at + 1, 200)]
        found = float(near.min())
        _require(found - least[0] <= 1e-5, f"{loss!r}: the infimum is not attained (y={y[0]:g}).")


def _check_loss_prox(loss: Loss, z: Array, y: float) -> None:
    """ℓ(t) + (t−z)²/2s ≥ ℓ(p) + (p−z)²/2s + (t−p)²/2s for every t."""
    start = z[np.abs(z) <= 100.0][::4]
    ys = np.full(start.shape, y)
    value = loss.value(z, np.full(z.shape, y))
    for step in (1e-3, 1.0, 50.0):
        p = loss.prox(start, ys, step)
        _require_all(np.isfinite(p), f"{loss!r}: prox is not finite", z=start, y=ys)
        at = loss.value(p, ys) + (p - start) ** 2 / (2 * step)
        other = value[None, :] + (z[None, :] - start[:, None]) ** 2 / (2 * step)
        bound = at[:, None] + (z[None, :] - p[:, None]) ** 2 / (2 * step)
        slack = 1e-9 * (np.abs(other) + np.abs(bound) + 1.0)
        sentence = f"{loss!r}: prox is not the minimiser for step={step:g}"
        _require_all(other >= bound - slack, sentence, z=start[:, None], t=z[None, :])


# Penalties ---------------------------------------------------------------------------------


def check_penalty(penalty: Penalty, n_features: int = 7) -> None:
    """Check a penalty: Fenchel's inequality, its terms by feature, its prox, its free columns.

    Of one that is not convex, also that its tangents lie above it; that settles its slopes, too.

    Parameters
    ----------
    penalty : Penalty
        An object of your own class, or an expression such as ``L1() + 0.5 * L2()``.
    n_features : int, default=7
        Length of the coefficients; that of the penalty's weights if it has any.

    Raises
    ------
    AssertionError
        One sentence with the broken law.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.testing.check_penalty(mm.L1(weights=[1.0, 0.0, 2.0]), n_features=3)
    """
    rng = np.random.default_rng(0)
    for alpha in (1.0, 0.3):
        bound = penalty.bind(n_features, alpha)
        free = np.asarray(bound.free)
        _require(
            free.shape == (n_features,) and free.dtype == bool,
            f"{penalty!r}: free must be one flag per feature.",
        )
        points = list(_vectors(rng, n_features))
        for w in points:
            _check_scaling(penalty, alpha, w)
            _check_free(penalty, bound, w, free)
            for v in points:
                _check_fenchel(penalty, bound, w, np.where(bound.unscalable(v), 0.0, v))
        if isinstance(bound, Majorised):
            _check_majorisers(penalty, bound, points)
            _check_global_prox(penalty, alpha, points)
            continue
        for v in points:
            _check_shrink(penalty, bound, v)
        _check_penalty_prox(penalty, alpha, points)


def _vectors(rng: np.random.Generator, d: int) -> Iterator[Array]:
    """Zero, unit vectors and random ones from small to large, some entries exactly zero."""
    yield np.zeros(d)
    yield np.eye(d)[-1]
    for size in (1e-6, 0.1, 1.0, 1e4):
        yield size * rng.standard_normal(d)
        yield size * rng.standard_normal(d) * (rng.uniform(size=d) < 0.5)


def _conjugate(bound: Any, v: Array) -> float:
    """Ω*(v), read off the terms at the point of the domain that is nearest to zero."""
    w = bound.project(np.zeros_like(v))
    return float(bound.by_feature(w, v).sum() + v @ w) - float(bound.value(w))


def _check_scaling(penalty: Penalty, alpha: float, w: Array) -> None:
    one, two = penalty.bind(w.size, alpha).value(w), penalty.scaled(alpha).value(w)
    same = one == two or abs(one - two) <= 1e-12 * (abs(one) + abs(two))
    _require(same, f"{penalty!r}: scaled({alpha:g}) and bind(…, {alpha:g}) differ: {one}, {two}.")
    _require(np.isfinite(one) or one == np.inf, f"{penalty!r}: the value is {one}.")
    if 0 < one < 1e100:  # constraints are 0 or inf whatever alpha is
        more = penalty.bind(w.size, 2 * alpha).value(w)
        sentence = f"{penalty!r}: bind(…, alpha) ignores alpha: twice of it costs no more."
        _require(more > one or alpha == 0, sentence)


def _check_free(penalty: Penalty, bound: Any, w: Array, free: BoolArray) -> None:
    w = bound.project(w)
    _require(np.isfinite(bound.value(w)), f"{penalty!r}: project leads to an infinite value.")
    moved = np.where(free, w + 17.0, w)
    same = abs(bound.value(moved) - bound.value(w)) <= 1e-12 * abs(bound.value(w))
    _require(same, f"{penalty!r}: the value depends on a column that is said to be free.")
    base = bound.project(np.zeros_like(w))
    for j in np.flatnonzero(~free):
        for way in (1e150, -1e150):
            far, pull = base.copy(), np.zeros_like(w)
            far[j] += way
            pull[j] = np.sign(way)
            if bound.unscalable(pull)[j]:
                continue
            sentence = f"{penalty!r}: column {j} is not said to be free, but costs nothing."
            _require(bound.value(far) > bound.value(base), sentence)


def _check_fenchel(penalty: Penalty, bound: Any, w: Array, v: Array) -> None:
    terms = np.asarray(bound.by_feature(w, v))
    _require(terms.shape == w.shape, f"{penalty!r}: by_feature must give one term per feature.")
    _require((terms >= 0).all(), f"{penalty!r}: a term by feature is negative or NaN.")
    conjugate, value = _conjugate(bound, v), bound.value(w)
    size = abs(value) + abs(float(np.abs(v) @ np.abs(w)))
    if value == np.inf:
        sentence = f"{penalty!r}: by_feature is finite where the value is not."
        _require(np.isinf(terms.sum()), sentence)
        return
    if np.isfinite(conjugate):
        size += abs(conjugate)
        total = value + conjugate - float(v @ w)
        sentence = f"{penalty!r}: by_feature does not add up to value + conjugate − v·w: "
        _require(abs(terms.sum() - total) <= 1e-12 * size, f"{sentence}{terms.sum()}, {total}.")
    else:
        _require(np.isinf(terms.sum()), f"{penalty!r}: by_feature is finite where Ω* is not.")
    lower = float(v @ w) - value
    sentence = f"{penalty!r}: the conjugate {conjugate} is less than v·w − Ω(w) = {lower}."
    _require(conjugate >= lower - 1e-12 * size, sentence)


def _check_shrink(penalty: Penalty, bound: Any, v: Array) -> None:
    kept = np.where(bound.unscalable(v), 0.0, v)
    s = bound.shrink(v)
    _require(0.0 <= s <= 1.0, f"{penalty!r}: shrink gave {s}, which is not in [0, 1].")
    finite = np.isfinite(_conjugate(bound, s * kept))
    _require(finite, f"{penalty!r}: the conjugate is not finite after shrinking by {s}.")
    if s < 1.0:
        larger = np.isfinite(_conjugate(bound, s * (1 + 1e-9) * kept))
        _require(not larger, f"{penalty!r}: shrink gave {s}, but a larger factor would do.")


def _check_penalty_prox(penalty: Penalty, alpha: float, points: list[Array]) -> None:
    """Ω(x) + |x−w|²/2s ≥ Ω(p) + |p−w|²/2s + |x−p|²/2s for every x; (w−p)/s is a subgradient."""
    scaled = penalty.scaled(alpha)
    bound = penalty.bind(points[0].size, alpha)
    for step in (0.01, 1.0, 20.0):
        for w in points:
            p = scaled.prox(w, step)
            at = scaled.value(p) + float(((p - w) ** 2).sum()) / (2 * step)
            for x in [*points, p + 1e-3, p * 1.01]:
                left = scaled.value(x) + float(((x - w) ** 2).sum()) / (2 * step)
                right = at + float(((x - p) ** 2).sum()) / (2 * step)
                sentence = f"{penalty!r}: prox is not the minimiser for step={step:g}."
                _require(left >= right - 1e-12 * (left + right), sentence)
            v = (w - p) / step
            v = np.where(bound.unscalable(v), 0.0, v)
            v = bound.shrink(v) * v  # rounding may have left the domain of Ω*
            touch = float(bound.by_feature(p, v).sum())
            size = 1e-9 * (scaled.value(p) + float(np.abs(w) @ np.abs(p)) / step + 1e-12)
            sentence = f"{penalty!r}: the terms by feature do not vanish at a subgradient: {touch}."
            _require(touch <= size, sentence)


def _check_majorisers(penalty: Penalty, bound: Any, points: list[Array]) -> None:
    """Ω(x) − Ω(w) ≤ M(x) − M(w) for the tangent M at w, wherever x is and however near to w."""
    first = bound.first_majoriser()
    sentence = f"{penalty!r}: first_majoriser must be a sum over all features."
    _require(first.columns is None and first.penalty.separable is not None, sentence)
    for w in points:
        majoriser, columns = bound.majoriser(w)
        columns = np.arange(w.size) if columns is None else np.asarray(columns)
        kept = np.isin(np.arange(w.size), columns)
        sentence = f"{penalty!r}: the tangent leaves out a coefficient that is not zero."
        _require(not w[~kept].any(), sentence)
        near = [w * (1 + h) for h in (-1.0, -0.5, -1e-3, 1e-3, 1.0, 1e3)]
        for x in [*near, *(np.where(kept, x, 0.0) for x in points)]:
            value, tangent = bound.value(x), majoriser.value(x[columns])
            before, touching = bound.value(w), majoriser.value(w[columns])
            size = value + before + tangent + touching
            sentence = f"{penalty!r}: a tangent lies below the penalty: is the slope that of it?"
            _require(value - before <= tangent - touching + 1e-12 * size, sentence)


def _check_global_prox(penalty: Penalty, alpha: float, points: list[Array]) -> None:
    """No x has a smaller Ω(x) + |x−w|²/2s, near or far; where there is a prox."""
    scaled = penalty.scaled(alpha)
    try:
        scaled.prox(points[0], 1.0)
    except NotImplementedError:
        return  # no solver of ours asks for it

    def value(x: Array, w: Array, step: float) -> float:
        return scaled.value(x) + float(((x - w) ** 2).sum()) / (2 * step)

    for step in (0.01, 1.0, 20.0):
        for w in points:
            p = scaled.prox(w, step)
            single = [np.where(np.arange(w.size) == j, 0.0, p) for j in range(w.size)]
            least = min(value(x, w, step) for x in [*points, *single, w, p * 1.01, p * 0.99])
            at = value(p, w, step)
            sentence = f"{penalty!r}: prox is not the minimiser for step={step:g}."
            _require(at <= least + 1e-12 * (at + least), sentence)


# Designs -----------------------------------------------------------------------------------


def check_design(design: Design, X_dense: ArrayLike, *, rtol: float = 1e-10) -> None:
    """Check every operation of a design against the dense formula.

    Parameters
    ----------
    design : Design
        A design with at least two rows and two columns.
    X_dense : array-like of shape (n, d)
        The same matrix as a NumPy array.
    rtol : float, default=1e-10
        Allowed rounding, relative to the sum of absolute values of the products.

    Raises
    ------
    AssertionError
        One sentence with the operation that differs.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> from minimand.design import as_design
    >>> X = np.arange(12.0).reshape(4, 3)
    >>> mm.testing.check_design(as_design(X), X)
    """
    X = np.asarray(X_dense, dtype=float)
    name = type(design).__name__
    _require(design.shape == X.shape, f"{name}: shape is {design.shape}, not {X.shape}.")
    _require(0 <= design.nnz <= X.size, f"{name}: nnz={design.nnz} is impossible.")
    rng = np.random.default_rng(0)
    _check_blocks(design, X, rtol)
    _check_products(design, X, rng, rtol)
    _check_pieces(design, X, rng, rtol)
    for centre in (False, True):
        _check_descent(design, X, rng, centre)


def _same(design: Design, what: str, got: Any, want: Array, size: Array, rtol: float) -> None:
    name = type(design).__name__
    got = np.asarray(got)
    _require(got.shape == want.shape, f"{name}.{what}: shape {got.shape}, not {want.shape}.")
    _require(got.dtype == np.float64, f"{name}.{what}: dtype {got.dtype}, not float64.")
    worst = float(np.max(np.abs(got - want) - rtol * size, initial=-1.0))
    _require(worst <= 0, f"{name}.{what} differs from the dense formula by {worst:.3g}.")


def _check_blocks(design: Design, X: Array, rtol: float) -> None:
    name, at = type(design).__name__, 0
    for block in design.blocks():
        _require(block.rows.start == at, f"{name}.blocks: rows are not in order at row {at}.")
        matrix: Any = block.matrix
        part = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
        want = X[block.rows]
        _same(design, "blocks", part, want, np.abs(want) + np.abs(X).max(), rtol)
        at = block.rows.stop
    _require(at == X.shape[0], f"{name}.blocks: {at} rows instead of {X.shape[0]}.")
    ones = np.ones(X.shape[0])
    total, count = design.reduce(lambda x, part: (np.asarray(x.T @ part), float(part.sum())), ones)
    _same(design, "reduce", total, X.sum(axis=0), X.shape[0] * np.abs(X).max() + 0 * total, rtol)
    _require(count == X.shape[0], f"{name}.reduce: rowwise arrays are not cut like the rows.")


def _check_products(design: Design, X: Array, rng: np.random.Generator, rtol: float) -> None:
    n, d = int(X.shape[0]), int(X.shape[1])
    A = np.abs(X)
    for w in (
        rng.standard_normal(d),
        np.zeros(d),
        rng.standard_normal((d, 3)),
        np.asfortranarray(rng.standard_normal((d, 2))),
        rng.standard_normal(2 * d)[::2],
    ):
        _same(design, "matvec", design.matvec(w), X @ w, A @ np.abs(w) + A.max(), rtol)
    for u in (
        rng.standard_normal(n),
        rng.standard_normal((n, 3)),
        np.asfortranarray(rng.standard_normal((n, 2))),
        rng.standard_normal(2 * n)[::2],
    ):
        _same(design, "rmatvec", design.rmatvec(u), X.T @ u, A.T @ np.abs(u) + A.max(), rtol)
    h = rng.uniform(0.0, 2.0, n) * (rng.uniform(size=n) < 0.8)
    v, shift = rng.standard_normal(d), 0.7
    image, scores = design.curvature_product(v, shift, h)
    t = h * (X @ v + shift)
    size = h * (A @ np.abs(v) + shift)
    _same(design, "curvature_product", image, X.T @ t, A.T @ size + A.max(), rtol)
    _same(design, "curvature_product", scores, X @ v + shift, A @ np.abs(v) + A.max() + 1, rtol)
    first, second = design.moments(h)
    square = A.max() ** 2 * (h.sum() + 1.0) + np.zeros(d)
    _same(design, "moments.first", first, h @ X, A.max() * (h.sum() + 1.0) + np.zeros(d), rtol)
    _same(design, "moments.second", second, h @ X**2, square, rtol)


def _check_pieces(design: Design, X: Array, rng: np.random.Generator, rtol: float) -> None:
    n, d = int(X.shape[0]), int(X.shape[1])
    h = rng.uniform(0.1, 2.0, n)
    square = np.abs(X).max() ** 2 * n + 1e-300
    full = (X * h[:, None]).T @ X
    _same(design, "gram", design.gram(h), full, square + 0 * full, rtol)
    some = rng.permutation(d)[: max(1, d // 2)].astype(np.int64)
    for columns in (np.sort(some), some, np.arange(d)):
        want = full[np.ix_(columns, columns)]
        got = design.gram(h, columns)
        _same(design, "gram(columns)", got, want, square + 0 * want, rtol)
        piece = design.columns(columns)
        w = rng.standard_normal(columns.size)
        want = X[:, columns] @ w
        size = np.abs(X).max() * np.abs(w).sum() + 0 * want
        _same(design, "columns", piece.matvec(w), want, size, rtol)
    rows = np.flatnonzero(rng.uniform(size=n) < 0.6)
    rows = rows if rows.size else np.array([n - 1])
    w = rng.standard_normal(d)
    want = X[rows] @ w
    size = np.abs(X).max() * np.abs(w).sum() + 0 * want
    _same(design, "rows", design.rows(rows).matvec(w), want, size, rtol)
    weights = rng.uniform(0.0, 2.0, d)
    want = (X * weights) @ X.T
    size = np.abs(X).max() ** 2 * weights.sum() + 0 * want
    _same(design, "row_gram", design.row_gram(weights), want, size, rtol)


def _check_descent(design: Design, X: Array, rng: np.random.Generator, centre: bool) -> None:
    """Descent ends where Σ qᵢtᵢ + ½hᵢtᵢ² + Σ l1|w| + ½ l2w² is stationary, t = X_c(w − w₀) + b."""
    n, d = int(X.shape[0]), int(X.shape[1])
    columns = np.sort(rng.permutation(d)[: max(1, (3 * d) // 4)]).astype(np.int64)
    c = X[:, columns]
    h, q0 = rng.uniform(0.2, 1.0, n) / n, rng.standard_normal(n) / n
    w0 = np.zeros(columns.size)
    w, q = w0.copy(), q0.copy()
    l1 = 0.3 * np.abs(c.T @ (q0 - centre * h * (q0.sum() / h.sum()))) + 1e-12
    l2 = 0.1 * (h @ c**2) + 1e-12
    shift = 0.0
    for _ in range(20):
        done = design.descend(columns, h, q, w, l1, l2, centre=centre, sweeps=200, tol=0.0)
        shift += done.shift
    where = f"{type(design).__name__}.descend(centre={centre})"
    _require(centre or shift == 0.0, f"{where}: the intercept moved.")
    moved = h * (c @ (w - w0) + shift)
    drift = np.abs(q - q0 - moved).max()
    size = np.abs(q0).max() + np.abs(moved).max()
    _require(drift <= 1e-8 * size, f"{where}: q was not kept up to date ({drift:.3g}).")
    slope = c.T @ q + l2 * w
    tol = 1e-6 * (np.abs(c).T @ np.abs(q0) + l1)
    at_zero = np.maximum(np.abs(slope) - l1, 0.0)
    stationary = np.where(w != 0, np.abs(slope + l1 * np.sign(w)), at_zero)
    _require((stationary <= tol).all(), f"{where}: it does not end at a stationary point.")
    if centre:
        _require(abs(q.sum()) <= 1e-8 * np.abs(q0).sum(), f"{where}: Σq is not zero at the end.")


# Solvers -----------------------------------------------------------------------------------


def check_solver(solver: Solver, *, tol: float = 1e-6) -> int:
    """Run a solver on a battery of small problems and check every certificate.

    On each problem it accepts: gap ≤ tol·scale, dual ≤ optimum ≤ primal (the optimum by a generic
    method of SciPy), and a valid certificate when it is stopped after one iteration. Where the
    loss or the penalty is not convex: gap ≤ tol·scale for the tangent, and a model no worse than
    that of the base loss or the lasso.

    Parameters
    ----------
    solver : Solver
        An object of your own class.
    tol : float, default=1e-6
        Relative gap to ask for.

    Returns
    -------
    int
        How many problems were accepted, at least one.

    Raises
    ------
    AssertionError
        One sentence with the problem and what went wrong.

    Examples
    --------
    >>> import minimand as mm
    >>> from minimand.solvers import SOLVERS
    >>> mm.testing.check_solver(SOLVERS["newton"]) > 0
    True
    """
    accepted = 0
    for objective, best in _battery_with_optima():
        control = Control(tol=tol, random_state=0)
        verdict = solver.verdict(objective, control)
        where = f"solver {solver.name!r} on {objective.words}"
        _require(bool(verdict.reason), f"{where}: a verdict must give its reason.")
        if not verdict.ok:
            continue
        accepted += 1
        solution = run(solver, objective, control)
        goal = max(tol * objective.scale, solution.certificate.rounding)
        _check_solution(where, objective, solution, best)
        worse = solution.certificate.primal - best
        sentence = f"{where}: the model is {worse:.3g} worse than a convex fit."
        _require(objective.convex or worse <= 2 * goal, sentence)
        gap = solution.certificate.gap
        _require(gap <= goal, f"{where}: the gap {gap:.3g} is above its goal {goal:.3g}.")
        _require(solution.converged, f"{where}: converged is not set.")
        stopped = run(solver, objective, Control(tol=0.0, max_iter=1, random_state=0))
        _check_solution(f"{where}, stopped after one iteration", objective, stopped, best)
    _require(accepted, f"solver {solver.name!r} accepts none of the problems.")
    return accepted


def _check_solution(where: str, objective: Objective, solution: Any, best: float) -> None:
    certificate = solution.certificate
    primal = objective.primal(objective.point(solution.w, solution.b))
    noise = certificate.rounding + 1e-9 * (objective.scale + abs(primal))
    _require(
        abs(primal - certificate.primal) <= noise,
        f"{where}: primal={certificate.primal!r}, but the objective is {primal!r}.",
    )
    _require(certificate.gap >= 0, f"{where}: the gap is {certificate.gap!r}.")
    if not objective.convex:
        sentence = f"{where}: kind={certificate.kind!r}, but the problem is not convex."
        _require(certificate.kind == "stationary", sentence)
        return
    best = min(best, primal)
    _require(
        certificate.dual <= best + noise,
        f"{where}: false certificate, dual={certificate.dual!r} is above the optimum {best!r}.",
    )
    _require(
        primal - best <= certificate.gap + noise,
        f"{where}: gap={certificate.gap!r}, but the model is {primal - best!r} from the optimum.",
    )


@lru_cache(maxsize=1)
def _battery_with_optima() -> tuple[tuple[Objective, float], ...]:
    return tuple((objective, _generic_optimum(objective)) for objective in _battery())


def _battery() -> Iterator[Objective]:
    """All built-in losses × penalties, on matrices of different shapes and kinds."""
    losses: list[Loss] = [
        Squared(), Huber(0.5), Poisson(), CrossEntropy(), Logistic(), SquaredHinge(), Gamma(),
        Tweedie(),
    ]  # fmt: skip
    penalties: list[tuple[Penalty, float]] = [
        (L2(), 0.1), (L1(), 0.05), (L1() + 0.5 * L2(), 0.05), (NoPenalty(), 0.0),
        (L2() + NonNegative(), 0.1), (L2Ball(0.3), 0.0)
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    for i, loss in enumerate(losses):
        for j, (penalty, alpha) in enumerate(penalties):
            n, d = (40, 5) if (i + j) % 3 or isinstance(penalty, NoPenalty) else (10, 14)
            yield _problem(loss, penalty, alpha, (n, d), (i, j), rng)
    kinked: list[tuple[Loss, Penalty]] = [
        (Absolute(), L1()), (Quantile(0.7), NoPenalty()), (Hinge(), L1() + NonNegative()),
        (Chebyshev(), L1()), (Chebyshev(), L2()), (Chebyshev(), L1() + 0.5 * L2()),
    ]  # fmt: skip
    for i, (loss, penalty) in enumerate(kinked):
        yield _problem(loss, penalty, 0.05, (40, 5), (i, i + 1), rng)
    not_convex: list[tuple[Loss, Penalty]] = [
        (Squared(), MCP()), (Poisson(), SCAD() + 0.1 * L2()), (Logistic(), Lq()),
        (GemanMcClure(), L2()), (TruncatedSquared(2.0), L1()), (TanhMargin(), L2() + MCP()),
    ]  # fmt: skip
    for i, (loss, penalty) in enumerate(not_convex):
        yield _problem(loss, penalty, 0.05, (40, 5), (i, i + 1), rng)


def _problem(
    loss: Loss,
    penalty: Penalty,
    alpha: float,
    shape: tuple[int, int],
    variant: tuple[int, int],
    rng: np.random.Generator,
) -> Objective:
    """Columns of different sizes; the variant decides on sparsity, weights, offset, intercept."""
    from scipy import sparse

    (n, d), (i, j) = shape, variant
    x = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d) + 1.0
    x[:, 1] *= rng.uniform(size=n) < 0.5
    z = (x - x.mean(axis=0)) / x.std(axis=0) @ rng.standard_normal(d) * 0.5
    return Objective(
        loss=loss,
        penalty=penalty.bind(d, alpha),
        design=as_design(sparse.csr_array(x) if j % 2 else x),
        y=_target(loss, z, rng),
        mass=loss.masses(np.ones(n) if i % 2 else rng.uniform(0.2, 3.0, n)),
        offset=0.1 * rng.standard_normal(n) if (i + j) % 2 else None,
        intercept=bool((i + j) % 4),
        words=f"{loss.name} + {penalty.formula(alpha)}, n={n}, d={d}",
    )


def _target(loss: Loss, z: Array, rng: np.random.Generator) -> Array:
    noisy = z + 1.5 * rng.standard_normal(z.shape)
    return {
        "real": lambda: noisy,
        "sign": lambda: np.where(noisy > 0, 1.0, -1.0),
        "unit": lambda: 1.0 / (1.0 + np.exp(-noisy)),
        "count": lambda: rng.poisson(np.exp(np.clip(z, -3, 3))).astype(float),
        "positive": lambda: np.exp(np.clip(noisy, -3, 3)),
    }[loss.target]()


def _generic_optimum(objective: Objective) -> float:
    """The objective after L-BFGS-B (SLSQP in a ball) on w = p − q with p, q ≥ 0.

    It is an upper bound of the optimum, whatever SciPy made of it. If the problem is not convex, it
    is taken at the minimiser of its first tangent problem.
    """
    from scipy import optimize

    whole = objective
    if not objective.convex:
        objective = Tangent.first(objective).problem
    d, ball = objective.n_features, objective.penalty
    form = ball.rest if isinstance(ball, Ball) else ball.separable
    assert form is not None
    scale = np.sqrt(np.maximum(objective.moments(objective.mass).second, 1e-300))
    l1, l2 = form.l1, form.l2

    def split(x: Array) -> Array:
        return np.asarray((x[:d] - x[d : 2 * d]) / scale)

    def value(x: Array) -> tuple[float, Array]:
        w = split(x)
        z = objective.scores(w, float(x[-1]))
        terms = objective.loss.terms(z, objective.y)
        u = objective.mass * terms.gradient
        slope = (objective.backward(u) + l2 * w) / scale
        total = objective.mean(terms.value) + float(0.5 * (l2 @ w**2))
        total += float((l1 / scale) @ (x[:d] + x[d : 2 * d]))
        grad = np.concatenate([slope + l1 / scale, -slope + l1 / scale, [u.sum()]])
        return total, grad

    lo, hi = form.bounds or (np.full(d, -np.inf), np.full(d, np.inf))
    edge = np.inf if objective.intercept else 0.0
    least = np.concatenate([np.maximum(lo, 0.0), np.maximum(-hi, 0.0)]) * np.tile(scale, 2)
    most = np.concatenate([np.maximum(hi, 0.0), np.maximum(-lo, 0.0)]) * np.tile(scale, 2)
    bounds = optimize.Bounds(np.append(least, -edge), np.append(most, edge))
    start = np.append(least, 0.0)
    if isinstance(ball, Ball):
        within = {"type": "ineq", "fun": lambda x: ball.radius - ball.size.radius(split(x))}
        found = optimize.minimize(
            value, start, jac=True, method="SLSQP", bounds=bounds, constraints=[within]
        )
    else:
        options = {"maxiter": 1500, "maxfun": 3000, "ftol": 1e-14, "gtol": 1e-10, "maxcor": 30}
        found = optimize.minimize(
            value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
    w = whole.penalty.project(split(found.x))
    return whole.primal(whole.point(w, float(found.x[-1])))
