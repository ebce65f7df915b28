r"""Leave-one-out residuals of ridge regression for all alphas, without refitting.

With masses m, M = diag(m) and penalty a·½Σ lⱼwⱼ², the residual of sample i in a fit without it is

    rᵢ / (1 − hᵢ),   h = diag of  M^½ 1 1ᵀ M^½ + A (AᵀA + a I)⁻¹ Aᵀ,   A = M^½ (X − mean) L^−½,

where the first term of h is that of the intercept. Since the loss is a mean, leaving out a sample
of mass mᵢ changes the weight of the penalty relative to the other samples: a = alpha·(1 − mᵢ). If
the loss is a sum instead, the penalty does not change: a = alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import blas

from .._base.linear_system import eigenvectors
from .._base.threads import one_blas_thread
from .._base.typing import Array, IntArray
from ..estimators import Regressor
from ..features import Nystrom, PivotedCholesky
from ..kernels import Kernel
from ..problem.objective import Meter, Objective
from ..solvers.smooth.closed_form import ridge_path
from ..solvers.smooth.ridge_steps import centred_kernel

_LARGEST = 15_000  # side of the eigenproblem, minutes and 6 GB; safeguard: refits take far longer
_WIDE = 2000  # side from which threads of LAPACK gain more than they wait for each other; measured
_NEAR_ONE = 1e-7  # least 1 − h; safeguard: below, the difference has lost half of its digits


def applies(estimator: Any, problems: Sequence[Objective], alphas: Array) -> bool:
    """Whether the loss is squared, L2 is on every column, alphas are positive, features are fixed.

    ``problems`` are those of alpha = 1, one per output.
    """
    problem = problems[0]
    l2 = problem.penalty.ridge
    n, d = problem.design.shape
    return (
        isinstance(estimator, Regressor)
        and (_is_fixed(estimator.features) or _is_kernel(estimator))
        and all(o.loss.quadratic and o.share == 1.0 and o.mass is problem.mass for o in problems)
        and problem.n_scores == 1
        and l2 is not None
        and bool((l2 > 0).all())
        and bool((alphas > 0).all())
        and n > 1
        and min(n, d) <= _LARGEST
    )


def _is_fixed(features: Any) -> bool:
    """Whether a map does not depend on the rows that it was fitted on; None is no map."""
    from sklearn.preprocessing import PolynomialFeatures

    known = features is None or isinstance(features, PolynomialFeatures)
    return known or getattr(features, "fixed", False) is True


def _is_kernel(estimator: Any) -> bool:
    """Whether the features are a kernel, and the factor of its matrix is complete.

    What is taken from the samples counts as given, since it is the same whatever y is: a bandwidth
    such as "median", the means of a centred kernel, the landmarks of `Nystrom`.
    """
    if isinstance(estimator.features, Nystrom):
        return True
    if not isinstance(estimator.features, str | Kernel):
        return False
    mapped = estimator.__dict__.get("features_")
    return isinstance(mapped, PivotedCholesky) and mapped.complete


def residuals(problems: Sequence[Objective], alphas: Array) -> Array:
    """y − prediction of every sample by the model that was fitted without it.

    For targets that share a design: (n_targets, n_alphas, n).
    """
    return _residuals(problems, alphas, of_sum=False)


def residuals_of_sum(problems: Sequence[Objective], alphas: Array) -> Array:
    """The same where the loss is a sum, for targets that share a design: (n_targets, n_alphas, n).

    The objective is Σ mass·loss + alpha·penalty, with one term less for the sample left out.
    """
    return _residuals(problems, alphas, of_sum=True)


def _residuals(problems: Sequence[Objective], alphas: Array, of_sum: bool) -> Array:
    n, d = problems[0].design.shape
    with one_blas_thread() if min(n, d) < _WIDE else nullcontext():
        return (_by_rows if n <= d else _by_columns)(problems, alphas, of_sum)


def _by_rows(problems: Sequence[Objective], alphas: Array, of_sum: bool) -> Array:
    """Through the eigenvectors u of AAᵀ: Σ uᵢₖpₖ/(λₖ + a) over Σ uᵢₖ²/(λₖ + a), p = Uᵀt.

    Numerator and denominator are those of I − H up to the factor a, so nothing cancels however
    small alpha is. With an intercept, the eigenvectors span the complement of √m.
    """
    problem = problems[0]
    l2 = problem.penalty.ridge
    assert l2 is not None
    root = np.sqrt(problem.mass)
    kernel = centred_kernel(problem, 1.0 / l2)
    kernel *= root
    kernel *= root[:, None]
    if problem.intercept:
        v, share = _reflector(root)
        values, inner = eigenvectors(_reflected_twice(kernel, v, share)[1:, 1:])
        vectors = _reflected_below(inner, v, share)
    else:
        values, vectors = eigenvectors(kernel)
    values = np.maximum(values, 0.0)
    alongs = [vectors.T @ (root * _centred_target(u)) for u in problems]
    out = np.empty((len(problems), len(alphas), problem.n_samples))
    for rows in _equal_strengths(problem.mass, of_sum):
        shrunk = 1.0 / (values + _strengths(alphas, problem.mass[rows], of_sum))
        part = vectors if rows.size == len(vectors) else vectors[rows]
        leverage = shrunk @ (part * part).T * root[rows]
        for k, along in enumerate(alongs):
            out[k][:, rows] = (shrunk * along) @ part.T / leverage
    return out


def _by_columns(problems: Sequence[Objective], alphas: Array, of_sum: bool) -> Array:
    """Through the eigenvectors of AᵀA, one block of rows at a time."""
    problem = problems[0]
    l2 = problem.penalty.ridge
    assert l2 is not None
    scale = 1.0 / np.sqrt(l2)
    matrix, mean = problem.own_hessian
    values, vectors = eigenvectors(matrix * np.outer(scale, scale))
    values = np.maximum(values, 0.0)
    basis = scale[:, None] * vectors
    targets = [_centred_target(u) for u in problems]
    alongs = [basis.T @ _slope(problem, target, mean) for target in targets]
    out = np.empty((len(problems), len(alphas), problem.n_samples))
    hidden = np.zeros(problem.n_samples, dtype=bool)
    for block in problem.design.images(basis):
        images = block.matrix - mean @ basis
        for inside in _equal_strengths(problem.mass[block.rows], of_sum):
            rows = inside + block.rows.start
            mass, part = problem.mass[rows], images[inside]
            shrunk = 1.0 / (values + _strengths(alphas, mass, of_sum))
            left = 1.0 - mass * (shrunk @ (part * part).T) - (mass if problem.intercept else 0.0)
            hidden[rows] |= (left < _NEAR_ONE).any(axis=0)
            left = np.maximum(left, 1e-300)  # safeguard: such rows are refitted below
            for k, (along, target) in enumerate(zip(alongs, targets)):
                out[k][:, rows] = (target[rows] - (shrunk * along) @ part.T) / left
    for row in np.flatnonzero(hidden):
        for k, own in enumerate(problems):
            out[k][:, row] = _refitted(own, alphas, int(row), of_sum)
    return out


def _slope(problem: Objective, target: Array, mean: Array) -> Array:
    """Centred Xᵀ diag(mass) target."""
    slope = problem.backward(problem.mass * target)
    return slope - mean * float(problem.mass @ target) if problem.intercept else slope


def _refitted(problem: Objective, alphas: Array, row: int, of_sum: bool) -> Array:
    """The residuals of one sample by refitting, for samples with h near 1."""
    others = np.delete(np.arange(problem.n_samples), row)
    mass = problem.mass[others]
    without = replace(
        problem,
        design=problem.design.rows(others),
        y=problem.y[others],
        mass=mass / mass.sum(),
        offset=None if problem.offset is None else problem.offset[others],
        meter=Meter(),
    )
    coefs, intercepts = ridge_path(without, alphas / mass.sum() if of_sum else alphas)
    x = problem.design.rows(np.array([row])).matvec(np.ascontiguousarray(coefs.T))[0]
    shift = 0.0 if problem.offset is None else problem.offset[row]
    return np.asarray(problem.y[row] - shift - x - intercepts)


def _reflector(direction: Array) -> tuple[Array, float]:
    """v and 2/vᵀv of Householder's reflection that takes a unit vector to the first axis."""
    v = direction.copy()
    v[0] += 1.0 if v[0] >= 0 else -1.0
    return v, 2.0 / float(v @ v)


def _reflected_twice(matrix: Array, v: Array, share: float) -> Array:
    """H K H for H = 1 − share·vvᵀ, in place of a symmetric K: the lower triangle.

    K − vpᵀ − pvᵀ with p = share·(K v − ½share·(vᵀK v)·v), which reads the matrix twice.
    """
    image = matrix @ v
    p = share * (image - 0.5 * share * float(v @ image) * v)
    return np.asarray(blas.dsyr2(-1.0, v, p, lower=1, a=matrix.T, overwrite_a=1))


def _reflected_below(x: Array, v: Array, share: float) -> Array:
    """H times a row of zeros with x below it."""
    along = share * (v[1:] @ x)
    found = np.empty((v.size, x.shape[1]))
    np.multiply.outer(-v, along, out=found)
    found[1:] += x
    return found


def _centred_target(problem: Objective) -> Array:
    target = problem.y if problem.offset is None else problem.y - problem.offset
    return target - problem.mean(target) if problem.intercept else target


def _strengths(alphas: Array, mass: Array, of_sum: bool) -> Array:
    """The column of a, which is added to the eigenvalues, for rows of equal mass."""
    return alphas[:, None] * (1.0 if of_sum else 1.0 - mass[0])


def _equal_strengths(mass: Array, of_sum: bool) -> list[IntArray]:
    """Row numbers grouped by equal a: by mass if the loss is a mean, else all rows."""
    if of_sum:
        return [np.arange(mass.size)]
    _, index = np.unique(mass, return_inverse=True)
    order = np.argsort(index, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(index[order])) + 1)
