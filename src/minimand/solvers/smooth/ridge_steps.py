"""Newton's step for least squares with a quadratic penalty, through the system that suits it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from ..._base.linear_system import Solve, factorise, pseudo_inverse, row_times
from ..._base.typing import Array
from ...certificate import Dual, Judgement
from ...design import DenseDesign
from ...losses.curvature import beside
from ...penalties import Separable
from ...problem.objective import EPS, Objective
from ..shape import rows_suffice

_SHORT = 10.0  # ‖mean row‖² per variance, up to which four bits are lost at most; safeguard
_MOST_DENSE = 40_000_000  # numbers in a dense copy of sparse data; safeguard of memory


class At(NamedTuple):
    """What a step needs to know of a model, or of several models in columns."""

    w: Array
    slope: Array
    gradient: Array

    @classmethod
    def of(cls, judgement: Judgement) -> At:
        """One model."""
        return cls(judgement.point.w, judgement.slope, judgement.terms.gradient)

    @classmethod
    def of_all(cls, judgements: Sequence[Judgement]) -> At:
        """Several models."""
        parts = zip(*map(cls.of, judgements))
        return cls(*(np.stack(part, axis=1) for part in parts))


Step = Callable[[At], Array]


@dataclass(frozen=True, eq=False)
class RowStep:
    """A step through the system of the rows.

    From w = 0 it leads to w = −L⁻¹Xᵀt for the t that `solve` finds: so the slopes of t/mass as a
    dual point are known with w.
    """

    objective: Objective
    inverse: Array  # 1/l2
    solve: Solve  # of the rows' unknowns

    def __call__(self, at: At) -> Array:
        """The step."""
        objective, inverse = self.objective, self.inverse
        if not at.w.any():
            return row_times(-inverse, objective.backward(self.solve(at.gradient)))
        gradient = at.slope + row_times(1.0 / inverse, at.w)
        image = objective.forward(row_times(inverse, gradient))
        if objective.intercept:
            image = image - objective.row_mean(image)
        return row_times(-inverse, gradient + objective.backward(self.solve(-image)))

    def from_zero(self, gradient: Array) -> tuple[Array, Dual]:
        """The w that the step from w = 0 leads to, and the dual point with its slopes."""
        t = self.solve(gradient)
        slope = self.objective.backward(t)
        return -self.inverse * slope, Dual(t / self.objective.mass, slope)


def steps(
    objective: Objective, memory: float = np.inf, known: Step | None = None
) -> Iterator[Step]:
    """Newton's step through the smaller system, then through X itself.

    X itself is used if the system is singular to working precision, or too near it for refinement.
    """
    form = objective.penalty.sum_over_features
    assert form is not None
    n, d = objective.design.shape
    make = _dual_system if rows_suffice(objective, form) else _primal_system
    if known is None and not wide_and_free(objective):
        system = make(objective, form)
        solve = factorise(system.matrix)
        copied = objective.design.sparse or objective.design.reading > 1.0
        dense = n * d <= (_MOST_DENSE if copied else np.inf)
        if solve is None and not (dense and _fits(n * d, memory)):
            solve = pseudo_inverse(system.matrix)
        known = system.step(solve) if solve is not None else None
    if known is not None:
        yield known
        if n * d > _MOST_DENSE or not _fits(n * d, memory):
            return
    yield _singular_value_step(objective, form)


def _fits(numbers: int, memory: float) -> bool:
    """Whether X, its singular vectors and working space fit into memory (three matrices)."""
    return 3 * 8.0 * numbers <= memory


def wide_and_free(objective: Objective) -> bool:
    """Whether no column is penalised and rows are fewer, so that XᵀX is singular."""
    n, d = objective.design.shape
    return n <= d and bool(objective.penalty.free.all()) and not objective.design.sparse


class _System(NamedTuple):
    """A matrix, and the Newton step that solving with it gives."""

    matrix: Array
    step: Callable[[Solve], Step]


def _primal_system(objective: Objective, form: Separable) -> _System:
    """Newton's step for a quadratic; one factorisation serves every refinement."""

    def step(solve: Solve) -> Step:
        return lambda at: -solve(at.slope + row_times(form.l2, at.w))

    return _System(objective.own_hessian.matrix + np.diag(form.l2), step)


def _singular_value_step(objective: Objective, form: Separable) -> Step:
    """The step through the singular values of X itself; a Gram matrix would square them.

    With penalised columns scaled to l2 = 1 and free columns to length 1, the step along each
    singular direction is (s·residual − l2·w)/(s² + l2). Directions below rounding that no penalty
    determines are not changed, which gives the solution of least norm.
    """
    x = _dense(objective)
    rounding = np.sqrt((x * x).T @ objective.mass) * EPS  # of every column, before centring
    if objective.intercept:
        x -= objective.mass @ x
    root = np.sqrt(objective.mass)
    x *= root[:, None]
    free = objective.penalty.free
    if free.any() and not free.all():
        return _stacked_step(objective, form, x, root)
    size = np.sqrt(form.l2) if not free.any() else np.sqrt((x * x).sum(axis=0))
    size[size == 0] = 1.0
    penalty = 0.0 if free.all() else 1.0
    left, values, right = linalg.svd(x / size, full_matrices=False, check_finite=False)
    # A direction that is only the rounding of a column's mean does not count.
    noise = float(np.linalg.norm(rounding / size))
    keep = values > max(values.max(initial=0.0) * max(x.shape) * EPS, noise * free.all())
    denominator = np.where(keep, values, 0.0) ** 2 + penalty
    denominator[denominator == 0] = np.inf

    inverse = 1.0 / denominator

    def step(at: At) -> Array:
        residual = left.T @ row_times(-root, at.gradient)
        move = right.T @ row_times(np.where(keep, values, 0.0) * inverse, residual)
        if penalty:
            scaled = row_times(size, at.w)
            inside = right @ scaled
            move -= right.T @ row_times(inverse, inside) + (scaled - right.T @ inside)
        return (move.T / size).T

    return step


def _dense(objective: Objective) -> Array:
    """A dense copy of X."""
    blocks = objective.design.gathered_blocks()
    dense = [block.toarray() if sparse.issparse(block) else block for block in blocks]
    return np.concatenate(dense, dtype=float)


def _stacked_step(objective: Objective, form: Separable, x: Array, root: Array) -> Step:
    """Some columns penalised, others not: least squares on the stacked matrix [X; √l2]."""
    penalised = np.flatnonzero(form.l2 > 0)
    rows = np.zeros((penalised.size, x.shape[1]))
    rows[np.arange(penalised.size), penalised] = np.sqrt(form.l2[penalised])
    x = np.concatenate([x, rows])
    size = np.sqrt((x * x).sum(axis=0))
    size[size == 0] = 1.0
    left, values, right = linalg.svd(x / size, full_matrices=False, check_finite=False)
    keep = values > values.max(initial=0.0) * max(x.shape) * EPS
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)

    def step(at: At) -> Array:
        shrink = row_times(-np.sqrt(form.l2[penalised]), at.w[penalised])
        residual = np.concatenate([row_times(-root, at.gradient), shrink])
        return ((right.T @ row_times(inverse, left.T @ residual)).T / size).T

    return step


def _dual_system(objective: Objective, form: Separable) -> _System:
    """The same step through n unknowns, with L = diag(l2), M = diag(mass), K = X L⁻¹Xᵀ.

    Eliminating the step D from Newton's equations gives D = −L⁻¹(g + Xᵀv) with
    (K + M⁻¹)v = −X L⁻¹g, X centred by the masses when there is an intercept. Scaled by √M from
    both sides the matrix is a kernel plus the identity. From w = 0, where g = XᵀMθ, the sum
    t = Mθ + v follows directly, (K + M⁻¹)t = θ: with a tiny L, g + Xᵀv would nearly cancel.
    """
    inverse, root = 1.0 / form.l2, np.sqrt(objective.mass)
    kernel = centred_kernel(objective, inverse) * np.outer(root, root)
    kernel.flat[:: kernel.shape[0] + 1] += 1.0

    def with_solver(solve: Solve) -> Step:
        def solve_rows(right: Array) -> Array:
            v = row_times(root, solve(row_times(root, right)))
            return v - beside(objective.mass, v) * v.sum(axis=0) if objective.intercept else v

        return RowStep(objective, inverse, solve_rows)

    return _System(kernel, with_solver)


def centred_kernel(objective: Objective, weights: Array) -> Array:
    """X diag(weights) Xᵀ, X centred by the masses if there is an intercept.

    For equal weights it is a multiple of a matrix that is kept if that is no larger than X.
    """
    facts, n = objective.facts, objective.n_samples
    equal = weights.size > 0 and bool((weights == weights[0]).all())
    if equal and facts.centred_row_gram is not None:
        return weights[0] * facts.centred_row_gram
    centre = objective.column_means if objective.intercept else None
    if not equal:
        return objective.design.row_gram(weights, centre)
    if centre is not None and _near_zero(objective, centre):
        kernel = _centred(objective.design.row_gram(), objective.mass)
    else:
        kernel = objective.design.row_gram(None, centre)
    if n * n <= objective.design.nnz:
        facts.centred_row_gram = kernel
    return weights[0] * kernel


def _near_zero(objective: Objective, centre: Array) -> bool:
    """Whether the mean row is so short that XXᵀ can be centred afterwards: it needs no copy."""
    square, plain = float(centre @ centre), isinstance(objective.design, DenseDesign)
    return plain and square <= _SHORT * (float(objective.spread.sum()) - square)


def _centred(gram: Array, mass: Array) -> Array:
    """The Gram of the rows minus their mean, from that of the rows themselves."""
    mean = gram @ mass
    level = float(mass @ mean)
    return gram - mean[:, None] - (mean - level)
