"""Least squares and ridge: a linear system on the smaller side of X."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from ..._base.linear_system import Solve, factorise, pseudo_inverse, shifted_solutions
from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..independent_columns import independent_columns
from ..traits import Trait

_LARGEST = 6000  # unknowns of the system; safeguard
_MOST_DENSE = 40_000_000  # numbers in a dense copy of sparse data; safeguard of memory
_REFINEMENTS = 20  # rounds of iterative refinement; safeguard
Step = Callable[[Judgement], Array]


class ClosedForm(Solver):
    """(XᵀMX + diag(l2)) w = XᵀM(y − offset), or the equivalent n×n system, solved and refined.

    M holds the masses and X is centred by them, which accounts for the unpenalised intercept.
    A system whose Gram matrix is nearly singular is solved through the singular values of X.
    """

    name = "closed_form"
    null_may_do = False
    needs = Trait.SQUARED, Trait.SUM_OVER_FEATURES, Trait.NO_L1, Trait.NO_BOUNDS

    _step: Step | None = None

    def prepared(self, objective: Objective) -> ClosedForm:
        """A copy with the factorisation done, for other targets on the same data."""
        twin = ClosedForm()
        reduced = independent_columns(objective)
        twin._step = next(_steps(objective if reduced is None else reduced.problem))
        return twin

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """The squared loss with a quadratic penalty or none, of moderate size."""
        form = objective.penalty.sum_over_features
        assert form is not None
        n, d = objective.design.shape
        by_rows = costs.rows_suffice(objective, form) or _wide_and_free(objective)
        size = min(n, d) if by_rows else d
        if size > _LARGEST or 3 * 8.0 * size * size > control.memory:
            return Verdict(
                False, f"a dense system of {size} unknowns is too large; Newton iterates"
            )
        words = "squared loss and quadratic penalty: a linear system"
        return Verdict(True, words, costs.linear_system(objective, size))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The solution, then rounds of iterative refinement while they help.

        If refinement ends too early, the singular values of X are used, if memory allows.
        """
        null = judgement = judge(objective, objective.null)
        yield judgement
        for step in _steps(objective, control.memory, self._step):
            judgement = null
            for _ in range(_REFINEMENTS):
                refined = _refined(objective, judgement, step)
                helped = refined.gap < 0.5 * judgement.gap or judgement is null
                judgement = refined
                yield judgement
                if not helped:
                    break


def _refined(objective: Objective, judgement: Judgement, step: Step) -> Judgement:
    """The judgement after a step."""
    w, b, z = judgement.point
    dw = step(judgement)
    dz = objective.forward(dw)
    db = -objective.mean(dz) if objective.intercept else 0.0
    dz += db
    point = recentred(objective, Point(w + dw, b + db, z + dz))
    # Xᵀ of this dual point cancels the penalty's slope at w + dw for any rounding of z, because
    # the step was computed from the same gradient.
    dz += judgement.terms.gradient
    return judge(objective, point, [dz], known=[judgement.dual], thorough=True)


def _steps(
    objective: Objective, memory: float = np.inf, known: Step | None = None
) -> Iterator[Step]:
    """Newton's step through the smaller system, then through X itself.

    X itself is used if the system is singular to working precision, or too near it for refinement.
    """
    form = objective.penalty.sum_over_features
    assert form is not None
    n, d = objective.design.shape
    make = _dual_system if costs.rows_suffice(objective, form) else _primal_system
    if known is None and not _wide_and_free(objective):
        system = make(objective, form)
        solve = factorise(system.matrix)
        dense = n * d <= (_MOST_DENSE if objective.design.sparse else np.inf)
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


def _wide_and_free(objective: Objective) -> bool:
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
        return lambda judgement: -solve(judgement.slope + form.l2 * judgement.point.w)

    return _System(objective.hessian(objective.mass).matrix + np.diag(form.l2), step)


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

    def step(judgement: Judgement) -> Array:
        residual = left.T @ (-root * judgement.terms.gradient)
        move = right.T @ (np.where(keep, values, 0.0) * residual / denominator)
        if penalty:
            scaled = judgement.point.w * size
            inside = right @ scaled
            move -= right.T @ (inside / denominator) + (scaled - right.T @ inside)
        return np.asarray(move / size)

    return step


def _dense(objective: Objective) -> Array:
    """A dense copy of X."""
    blocks: list[Any] = [block.matrix for block in objective.design.blocks()]
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

    def step(judgement: Judgement) -> Array:
        shrink = -np.sqrt(form.l2[penalised]) * judgement.point.w[penalised]
        residual = np.concatenate([-root * judgement.terms.gradient, shrink])
        return np.asarray((right.T @ (inverse * (left.T @ residual))) / size)

    return step


def _dual_system(objective: Objective, form: Separable) -> _System:
    """The same step through n unknowns, with L = diag(l2), M = diag(mass), K = X L⁻¹Xᵀ.

    Eliminating the step D from Newton's equations gives D = −L⁻¹(g + Xᵀv) with
    (K + M⁻¹)v = −X L⁻¹g, X centred by the masses when there is an intercept. Scaled by √M from
    both sides the matrix is a kernel plus the identity. From w = 0, where g = XᵀMθ, the sum
    t = Mθ + v follows directly, (K + M⁻¹)t = θ: with a tiny L, g + Xᵀv would nearly cancel.
    """
    inverse, root = 1.0 / form.l2, np.sqrt(objective.mass)
    kernel = _centred_kernel(objective, inverse) * np.outer(root, root)
    kernel.flat[:: kernel.shape[0] + 1] += 1.0

    def with_solver(solve: Solve) -> Step:
        def solve_rows(right: Array) -> Array:
            v = root * solve(root * right)
            return v - objective.mass * v.sum() if objective.intercept else v

        def step(judgement: Judgement) -> Array:
            if not judgement.point.w.any():
                return -inverse * objective.backward(solve_rows(judgement.terms.gradient))
            gradient = judgement.slope + form.l2 * judgement.point.w
            image = objective.forward(inverse * gradient)
            if objective.intercept:
                image = image - objective.mean(image)
            return -inverse * (gradient + objective.backward(solve_rows(-image)))

        return step

    return _System(kernel, with_solver)


def _centred_kernel(objective: Objective, weights: Array) -> Array:
    """X diag(weights) Xᵀ, X centred by the masses if there is an intercept."""
    centre = objective.moments(objective.mass).first if objective.intercept else None
    return objective.design.row_gram(weights, centre)


def ridge_path(objective: Objective, alphas: Array) -> tuple[Array, Array]:
    """All ridge solutions from one factorisation: the penalty of ``objective`` times each alpha.

    Returns coefficients (n_alphas, d) and intercepts (n_alphas,). Every column must be penalised.
    The (scaled) Gram matrix on the smaller side is made tridiagonal once; then each alpha costs
    one product.
    """
    l2 = objective.penalty.ridge
    if not objective.loss.quadratic or l2 is None or (l2 <= 0).any():
        raise ValueError("ridge_path needs the squared loss and an L2 penalty on every column.")
    root = 1.0 / np.sqrt(l2)
    null = judge(objective, objective.null)
    n, d = objective.design.shape
    if n < d:
        coefs = _path_by_rows(objective, root, alphas)
    else:
        gram = objective.hessian(objective.mass).matrix * np.outer(root, root)
        coefs = shifted_solutions(gram, -root * null.slope, np.asarray(alphas, float)) * root
    intercepts = np.zeros(len(alphas))
    if objective.intercept:
        mean = objective.moments(objective.mass).first
        intercepts = objective.null.b - coefs @ mean
    return coefs, intercepts


def _path_by_rows(objective: Objective, root: Array, alphas: Array) -> Array:
    """From the n×n kernel √M(X − mean)L⁻¹(X − mean)ᵀ√M."""
    mass = objective.mass
    scale = np.sqrt(mass)
    kernel = _centred_kernel(objective, root * root) * np.outer(scale, scale)
    target = scale * -objective.loss.gradient(objective.null.z, objective.y)
    weighted = shifted_solutions(kernel, target, np.asarray(alphas, float)) * scale
    if objective.intercept:
        weighted -= weighted.sum(axis=1, keepdims=True) * mass
    return objective.backward(np.ascontiguousarray(weighted.T)).T * (root * root)
