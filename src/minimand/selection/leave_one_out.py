r"""Leave-one-out residuals of ridge regression for all alphas, without refitting.

With masses m, M = diag(m) and penalty a·½Σ lⱼwⱼ², the residual of sample i in a fit without it is

    rᵢ / (1 − hᵢ),   h = diag of  M^½ 1 1ᵀ M^½ + A (AᵀA + a I)⁻¹ Aᵀ,   A = M^½ (X − mean) L^−½,

the first term of h being the intercept. The loss is a mean, so leaving out a sample of mass mᵢ also
multiplies the weight of the penalty beside what is left: a = alpha·(1 − mᵢ).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from .._typing import Array, IntArray
from ..estimators import Regressor
from ..objective import Meter, Objective
from ..solvers.closed_form import ridge_path
from ..threads import one_blas_thread

_LARGEST = 6000
_NEAR_ONE = 1e-7  # 1 − h below which a difference has lost its digits


def applies(estimator: Any, unit: Objective, alphas: Array) -> bool:
    """Squared loss, L2 on every column, positive alphas, no features fitted on each fold.

    ``unit`` is the problem at alpha = 1.
    """
    form = unit.penalty.separable
    n, d = unit.design.shape
    return (
        isinstance(estimator, Regressor)
        and estimator.features is None
        and unit.loss.quadratic
        and form is not None
        and not form.l1.any()
        and bool((form.l2 > 0).all())
        and bool((alphas > 0).all())
        and n > 1
        and min(n, d) <= _LARGEST
    )


def residuals(unit: Objective, alphas: Array) -> Array:
    """y − prediction of every sample by the model that was fitted without it: (n_alphas, n)."""
    n, d = unit.design.shape
    with one_blas_thread():
        return _by_rows(unit, alphas) if n <= d else _by_columns(unit, alphas)


def _by_rows(unit: Objective, alphas: Array) -> Array:
    """Through the eigenvectors u of AAᵀ: Σ uᵢₖpₖ/(λₖ + a) over Σ uᵢₖ²/(λₖ + a), p = Uᵀt.

    Numerator and denominator are those of I − H up to the factor a, so nothing cancels however
    small alpha is. With an intercept, the basis is one of the complement of √m.
    """
    form = unit.penalty.separable
    assert form is not None
    root = np.sqrt(unit.mass)
    centre = unit.moments(unit.mass).first if unit.intercept else None
    kernel = unit.design.row_gram(1.0 / form.l2, centre) * np.outer(root, root)
    if unit.intercept:
        values, inner = linalg.eigh(_reflected(_reflected(kernel, root).T, root)[1:, 1:])
        vectors = _reflected(np.concatenate([np.zeros((1, inner.shape[1])), inner]), root)
    else:
        values, vectors = linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    along = vectors.T @ (root * _centred_target(unit))
    out = np.empty((len(alphas), unit.n_samples))
    for rows in _equal_masses(unit):
        shrunk = 1.0 / (values + alphas[:, None] * (1.0 - unit.mass[rows[0]]))
        part = vectors[rows]
        leverage = shrunk @ (part * part).T
        out[:, rows] = (shrunk * along) @ part.T / leverage / root[rows]
    return out


def _by_columns(unit: Objective, alphas: Array) -> Array:
    """Through the eigenvectors of AᵀA, block by block of the rows."""
    form = unit.penalty.separable
    assert form is not None
    scale = 1.0 / np.sqrt(form.l2)
    matrix, mean = unit.hessian(unit.mass)
    values, vectors = linalg.eigh(matrix * np.outer(scale, scale))
    values = np.maximum(values, 0.0)
    basis = scale[:, None] * vectors
    target = _centred_target(unit)
    slope = unit.backward(unit.mass * target)
    if unit.intercept:
        slope = slope - mean * float(unit.mass @ target)
    along = basis.T @ slope
    out = np.empty((len(alphas), unit.n_samples))
    hidden = np.zeros(unit.n_samples, dtype=bool)
    for block in unit.design.blocks():
        images = np.asarray(block.matrix @ basis) - mean @ basis
        for inside in _equal_masses(unit, block.rows):
            rows, mass = inside + block.rows.start, unit.mass[inside[0] + block.rows.start]
            shrunk = 1.0 / (values + alphas[:, None] * (1.0 - mass))
            part = images[inside]
            left = 1.0 - mass * (shrunk @ (part * part).T) - (mass if unit.intercept else 0.0)
            hidden[rows] |= (left < _NEAR_ONE).any(axis=0)
            out[:, rows] = (target[rows] - (shrunk * along) @ part.T) / np.maximum(left, 1e-300)
    for row in np.flatnonzero(hidden):
        out[:, row] = _refitted(unit, alphas, int(row))
    return out


def _refitted(unit: Objective, alphas: Array, row: int) -> Array:
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
    coefs, intercepts = ridge_path(without, alphas)
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


def _equal_masses(unit: Objective, rows: slice = slice(None)) -> list[IntArray]:
    """Row numbers within ``rows``, one array for every mass: each has a strength of its own."""
    _, index = np.unique(unit.mass[rows], return_inverse=True)
    order = np.argsort(index, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(index[order])) + 1)
