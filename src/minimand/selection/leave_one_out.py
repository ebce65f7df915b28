r"""Leave-one-out residuals of ridge regression for all alphas, without refitting.

With masses m, M = diag(m) and penalty a·½Σ lⱼwⱼ², the residual of sample i in a fit without it is

    rᵢ / (1 − hᵢ),   h = diag of  M^½ 1 1ᵀ M^½ + A (AᵀA + a I)⁻¹ Aᵀ,   A = M^½ (X − mean) L^−½,

the first term of h being the intercept. The loss is a mean, so leaving out a sample of mass mᵢ also
multiplies the weight of the penalty beside what is left: a = alpha·(1 − mᵢ). For whoever thinks of
the loss as a sum, the penalty stays what it was: a = alpha.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from .._base.threads import one_blas_thread
from .._base.typing import Array, IntArray
from ..estimators import Regressor
from ..problem.objective import Meter, Objective
from ..solvers.smooth.closed_form import ridge_path

_LARGEST = 6000
_NEAR_ONE = 1e-7  # 1 − h below which a difference has lost its digits


def applies(estimator: Any, unit: Objective, alphas: Array) -> bool:
    """Squared loss, L2 on every column, positive alphas, no features fitted on each fold.

    ``unit`` is the problem at alpha = 1.
    """
    l2 = unit.penalty.ridge
    n, d = unit.design.shape
    return (
        isinstance(estimator, Regressor)
        and estimator.features is None
        and unit.loss.quadratic
        and l2 is not None
        and bool((l2 > 0).all())
        and bool((alphas > 0).all())
        and n > 1
        and min(n, d) <= _LARGEST
    )


def residuals(unit: Objective, alphas: Array) -> Array:
    """y − prediction of every sample by the model that was fitted without it: (n_alphas, n)."""
    return _residuals([unit], alphas, of_sum=False)[0]


def residuals_of_sum(units: list[Objective], alphas: Array) -> Array:
    """The same where the loss is a sum, for targets that share a design: (n_targets, n_alphas, n).

    alpha·(penalty of a unit) stands beside the sum of masses·losses, whoever is left out.
    """
    return _residuals(units, alphas, of_sum=True)


def _residuals(units: list[Objective], alphas: Array, of_sum: bool) -> Array:
    n, d = units[0].design.shape
    with one_blas_thread():
        return (_by_rows if n <= d else _by_columns)(units, alphas, of_sum)


def _by_rows(units: list[Objective], alphas: Array, of_sum: bool) -> Array:
    """Through the eigenvectors u of AAᵀ: Σ uᵢₖpₖ/(λₖ + a) over Σ uᵢₖ²/(λₖ + a), p = Uᵀt.

    Numerator and denominator are those of I − H up to the factor a, so nothing cancels however
    small alpha is. With an intercept, the basis is one of the complement of √m.
    """
    unit = units[0]
    l2 = unit.penalty.ridge
    assert l2 is not None
    root = np.sqrt(unit.mass)
    centre = unit.moments(unit.mass).first if unit.intercept else None
    kernel = unit.design.row_gram(1.0 / l2, centre) * np.outer(root, root)
    if unit.intercept:
        values, inner = linalg.eigh(_reflected(_reflected(kernel, root).T, root)[1:, 1:])
        vectors = _reflected(np.concatenate([np.zeros((1, inner.shape[1])), inner]), root)
    else:
        values, vectors = linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    alongs = [vectors.T @ (root * _centred_target(u)) for u in units]
    out = np.empty((len(units), len(alphas), unit.n_samples))
    for rows in _equal_strengths(unit.mass, of_sum):
        shrunk = 1.0 / (values + _strengths(alphas, unit.mass[rows], of_sum))
        part = vectors[rows]
        leverage = shrunk @ (part * part).T * root[rows]
        for k, along in enumerate(alongs):
            out[k][:, rows] = (shrunk * along) @ part.T / leverage
    return out


def _by_columns(units: list[Objective], alphas: Array, of_sum: bool) -> Array:
    """Through the eigenvectors of AᵀA, block by block of the rows."""
    unit = units[0]
    l2 = unit.penalty.ridge
    assert l2 is not None
    scale = 1.0 / np.sqrt(l2)
    matrix, mean = unit.hessian(unit.mass)
    values, vectors = linalg.eigh(matrix * np.outer(scale, scale))
    values = np.maximum(values, 0.0)
    basis = scale[:, None] * vectors
    targets = [_centred_target(u) for u in units]
    alongs = [basis.T @ _slope(unit, target, mean) for target in targets]
    out = np.empty((len(units), len(alphas), unit.n_samples))
    hidden = np.zeros(unit.n_samples, dtype=bool)
    for block in unit.design.blocks():
        images = np.asarray(block.matrix @ basis) - mean @ basis
        for inside in _equal_strengths(unit.mass[block.rows], of_sum):
            rows = inside + block.rows.start
            mass, part = unit.mass[rows], images[inside]
            shrunk = 1.0 / (values + _strengths(alphas, mass, of_sum))
            left = 1.0 - mass * (shrunk @ (part * part).T) - (mass if unit.intercept else 0.0)
            hidden[rows] |= (left < _NEAR_ONE).any(axis=0)
            left = np.maximum(left, 1e-300)
            for k, (along, target) in enumerate(zip(alongs, targets)):
                out[k][:, rows] = (target[rows] - (shrunk * along) @ part.T) / left
    for row in np.flatnonzero(hidden):
        for k, own in enumerate(units):
            out[k][:, row] = _refitted(own, alphas, int(row), of_sum)
    return out


def _slope(unit: Objective, target: Array, mean: Array) -> Array:
    """Centred Xᵀ diag(mass) target."""
    slope = unit.backward(unit.mass * target)
    return slope - mean * float(unit.mass @ target) if unit.intercept else slope


def _refitted(unit: Objective, alphas: Array, row: int, of_sum: bool) -> Array:
    """The residuals of one sample by refitting: for one that rules its own prediction."""
    others = np.delete(np.arange(unit.n_samples), row)
    mass = unit.mass[others]
    without = replace(
        unit,
        design=unit.design.rows(others),
        y=unit.y[others],
        mass=mass / mass.sum(),
        offset=None if unit.offset is None else unit.offset[others],
        meter=Meter(),
    )
    coefs, intercepts = ridge_path(without, alphas / mass.sum() if of_sum else alphas)
    x = unit.design.rows(np.array([row])).matvec(np.ascontiguousarray(coefs.T))[0]
    shift = 0.0 if unit.offset is None else unit.offset[row]
    return np.asarray(unit.y[row] - shift - x - intercepts)


def _reflected(x: Array, direction: Array) -> Array:
    """Householder's reflection that takes a unit vector to the first axis and back, times x."""
    v = direction.copy()
    v[0] += 1.0 if v[0] >= 0 else -1.0
    return x - np.outer(v, (2.0 / float(v @ v)) * (v @ x))


def _centred_target(unit: Objective) -> Array:
    target = unit.y if unit.offset is None else unit.y - unit.offset
    return target - unit.mean(target) if unit.intercept else target


def _strengths(alphas: Array, mass: Array, of_sum: bool) -> Array:
    """A column of a: what is added to the eigenvalues for rows of these, equal, masses."""
    return alphas[:, None] * (1.0 if of_sum else 1.0 - mass[0])


def _equal_strengths(mass: Array, of_sum: bool) -> list[IntArray]:
    """Row numbers, one array for every strength: of a mean, each mass has its own."""
    if of_sum:
        return [np.arange(mass.size)]
    _, index = np.unique(mass, return_inverse=True)
    order = np.argsort(index, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(index[order])) + 1)
