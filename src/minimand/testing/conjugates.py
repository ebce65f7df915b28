"""Checks of the dual side of a loss: conjugate, Fenchel-Young terms, domain, infimum, prox."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array
from ..losses import Distance, Loss, Margin
from ..problem.objective import EPS
from .axis import rounding_of
from .require import require, require_all


def dual_points(loss: Loss, z: Array, y: Array) -> Array:
    """Slopes that the loss takes, and points between them: all inside the domain of ℓ*."""
    slopes = np.unique(loss.gradient(z, y))
    slopes = slopes[np.isfinite(slopes)]
    return np.unique(np.concatenate([slopes, 0.5 * (slopes[1:] + slopes[:-1])]))


def check_conjugate(loss: Loss, z: Array, u: Array, y: float) -> None:
    """ℓ*(u) ≥ u·z − ℓ(z); Fenchel-Young terms are sound, agree with ℓ*, vanish at the gradient."""
    grid, dual = np.meshgrid(z, u)
    ys = np.full(grid.shape, y)
    conjugate = loss.conjugate(u, np.full(u.shape, y))[:, None]
    require_all(~np.isnan(conjugate), f"{loss!r}: the conjugate is NaN", u=u[:, None])
    flat, where = grid.ravel(), {"z": grid, "u": dual, "y": ys}
    value = loss.value(flat, ys.ravel()).reshape(grid.shape)
    noise = rounding_of(loss, flat, ys.ravel()).reshape(grid.shape)
    noise = noise + 64 * EPS * (np.abs(dual * grid) + np.abs(dual * y) + np.abs(dual))
    below = conjugate >= dual * grid - value - noise
    require_all(below, f"{loss!r}: the conjugate is less than u·z − loss(z)", **where)
    young = loss.fenchel_young(flat, dual.ravel(), ys.ravel()).reshape(grid.shape)
    require_all(young >= 0, f"{loss!r}: a Fenchel-Young term is negative or NaN", **where)
    height = value - dual * grid
    least = height - height.min(axis=1, keepdims=True)
    noise = noise + noise.max(axis=1, keepdims=True, where=least == 0, initial=0.0)
    require_all(young >= least - noise, f"{loss!r}: a Fenchel-Young term is too small", **where)
    total = value + conjugate - dual * grid
    slack = noise + 1e-9 * (np.abs(value) + np.abs(dual * grid)) + 1e-9 * np.abs(total)
    same = (np.abs(young - total) <= slack + 1e-12) | (young == total)
    sentence = f"{loss!r}: fenchel_young is not value + conjugate − u·z"
    require_all(same | ~np.isfinite(young), sentence, **where)
    line = np.full(z.shape, y)
    touch = loss.fenchel_young(z, loss.gradient(z, line), line)
    sentence = f"{loss!r}: the Fenchel-Young term does not vanish at the gradient"
    require_all(touch <= 8 * rounding_of(loss, z, line), sentence, z=z, y=line)


def check_domain(loss: Loss, inside: Array, y: float) -> None:
    """into_domain is a projection, and ℓ* is finite at its result."""
    size = np.concatenate([np.geomspace(1e-4, 1e4, 33), np.array([0.0])])
    u = np.unique(np.concatenate([size, -size]))
    ys = np.full(u.shape, y)
    moved = loss.into_domain(u, ys)
    again = loss.into_domain(moved, ys)
    close = np.abs(again - moved) <= 4 * EPS * (np.abs(moved) + abs(y))
    require_all(close, f"{loss!r}: into_domain is not idempotent", u=u, y=ys)
    defaults = (Loss.into_domain, Distance.into_domain, Margin.into_domain)
    if type(loss).into_domain in defaults and loss.plq(ys) is None:
        return  # the domain is not known
    finite = np.isfinite(loss.conjugate(moved, ys))
    require_all(finite, f"{loss!r}: the conjugate is not finite after into_domain", u=u, y=ys)
    best = np.abs(inside[None, :] - u[:, None]).min(axis=1)
    nearest = np.abs(moved - u) <= best + 8 * EPS * (np.abs(u) + abs(y) + 1.0)
    require_all(nearest, f"{loss!r}: into_domain is not the nearest point", u=u, y=ys)


def check_infimum(loss: Loss, z: Array, y: Array) -> None:
    """No value is below inf ℓ, and built-in losses come arbitrarily close to inf ℓ."""
    value, least = loss.value(z, y), loss.infimum(y)
    require_all(np.isfinite(least), f"{loss!r}: the infimum is not finite", y=y)
    sentence = f"{loss!r}: the infimum is greater than a value"
    require_all(value >= least - rounding_of(loss, z, y), sentence, z=z, y=y)
    if type(loss).__module__.split(".")[0] == __name__.split(".")[0]:
        at = int(np.argmin(value))
        lo, hi = z[max(at - 3, 0)], z[min(at + 3, z.size - 1)]
        for _ in range(3):  # zoom in on the minimum
            fine = np.linspace(lo, hi, 201)
            near = loss.value(fine, np.full(201, y[0]))
            at = int(np.argmin(near))
            lo, hi = fine[max(at - 1, 0)], fine[min(at + 1, 200)]
        found = float(near.min())
        require(found - least[0] <= 1e-5, f"{loss!r}: the infimum is not attained (y={y[0]:g}).")


def check_prox(loss: Loss, z: Array, y: float) -> None:
    """ℓ(t) + (t−z)²/2s ≥ ℓ(p) + (p−z)²/2s + (t−p)²/2s for every t."""
    start = z[np.abs(z) <= 100.0][::4]
    ys = np.full(start.shape, y)
    value = loss.value(z, np.full(z.shape, y))
    for step in (1e-3, 1.0, 50.0):
        p = loss.prox(start, ys, step)
        require_all(np.isfinite(p), f"{loss!r}: prox is not finite", z=start, y=ys)
        at = loss.value(p, ys) + (p - start) ** 2 / (2 * step)
        other = value[None, :] + (z[None, :] - start[:, None]) ** 2 / (2 * step)
        bound = at[:, None] + (z[None, :] - p[:, None]) ** 2 / (2 * step)
        slack = 1e-9 * (np.abs(other) + np.abs(bound) + 1.0)
        sentence = f"{loss!r}: prox is not the minimiser for step={step:g}"
        require_all(other >= bound - slack, sentence, z=start[:, None], t=z[None, :])
