"""Least squares and ridge: a linear system on the smaller side of X."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..._base.linear_system import shifted_solutions
from ..._base.typing import Array
from ...certificate import Dual, Finding, Judgement, judge, judge_together
from ...certificate.finding import is_balanced
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..alike import alike
from ..base import Control, Solver, Start, Verdict
from ..batches import Batches
from ..shape import rows_suffice
from ..steps.all_columns import all_at_once, fit_at_once
from ..steps.free_columns import free_squares
from ..traits import Trait
from .ridge_steps import At, RowStep, Step, centred_kernel, steps, wide_and_free

_LARGEST = 6000  # unknowns of the system; safeguard
_STEADY = 1e-8  # share of a column's curvature that the penalty must have; safeguard
_REFINEMENTS = 20  # rounds of iterative refinement; safeguard
_BATCH = 32  # outputs whose scores are in memory at once; safeguard
_BY_ROW = 6  # numbers per row and output that are in memory then; definition


class ClosedForm(Solver):
    """(XᵀMX + diag(l2)) w = XᵀM(y − offset), or the equivalent n×n system, solved and refined.

    M holds the masses and X is centred by them, which accounts for the unpenalised intercept.
    A system whose Gram matrix is nearly singular is solved through the singular values of X.
    """

    name = "closed_form"
    null_may_do = False
    needs = Trait.SQUARED, Trait.SUM_OVER_FEATURES, Trait.NO_L1, Trait.NO_BOUNDS

    _kept: _Kept | None = None
    _outputs: Batches[tuple[Judgement, Judgement]] | None = None

    def shared(self, objectives: Sequence[Objective], starts: Sequence[Start]) -> ClosedForm:
        """A copy that factorises once and has common products, as the system does not depend on y.

        The model of every output then begins where the first step, of all outputs, has led.
        """
        if len(objectives) == 1:
            return self
        twin, count = ClosedForm(), len(objectives)
        twin._kept = _Kept()
        members = [range(i, min(i + _BATCH, count)) for i in range(0, count, _BATCH)]
        twin._outputs = Batches(objectives, starts, members, partial(_first_steps, twin._kept))
        return twin

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """The squared loss with a quadratic penalty or none, of moderate size."""
        form = objective.penalty.sum_over_features
        assert form is not None
        n, d = objective.design.shape
        by_rows = rows_suffice(objective, form) or wide_and_free(objective)
        size = min(n, d) if by_rows else d
        if size > _LARGEST or 3 * 8.0 * size * size > control.memory:
            return Verdict(
                False, f"a dense system of {size} unknowns is too large; Newton iterates"
            )
        words = "squared loss and quadratic penalty: a linear system"
        cost = costs.linear_system(objective, size)
        return Verdict(True, words, cost, once=cost)

    def at_once(self, objective: Objective, control: Control) -> Iterator[Finding]:
        """The minimiser without a penalty, unless columns are nearly dependent."""
        return free_squares(objective, control) if self._outputs is None else iter(())

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Finding]:
        """The solution, then rounds of iterative refinement while they help.

        If refinement ends too early, the singular values of X are used, if memory allows.
        """
        form = objective.penalty.sum_over_features
        assert form is not None
        at_once = fit_at_once(objective) if start is objective.null else None
        if self._outputs is None and at_once is not None:
            _ = objective.own_hessian  # which tells the spread of the columns without a pass
            # With a smaller penalty, a system of squares may lose digits that refinement keeps.
            if (form.l2 >= _STEADY * objective.spread).all():
                yield from all_at_once(objective, at_once, control, start)
        begun = None if self._outputs is None else self._outputs.take(objective, control)
        null, after = begun or (None, None)
        straight = null is None and _is_straight(objective, form, start)
        if not straight:
            null = null or judge(objective, objective.null)
            yield null
        if after is not None:
            yield after
        known = None if self._kept is None else self._kept.step_of(objective)
        for number, step in enumerate(steps(objective, control.memory, known)):
            if self._kept is not None:
                self._kept.keep(objective, step)
            if number == 0 and straight:
                if isinstance(step, RowStep):
                    yield (after := _from_zero(objective, step))
                    if after.gap <= control.target:
                        return
                after = _after_null(objective, step)
                yield after
            elif null is None:
                null = judge(objective, objective.null)
                yield null
            # If the first system was too inexact, begin anew.
            first = judgement = after if after is not None and number == 0 else null
            assert first is not None
            assert judgement is not None
            for _ in range(_REFINEMENTS):
                refined = _refined(objective, judgement, step)
                helped = refined.gap < 0.5 * judgement.gap or judgement is first
                judgement = refined
                yield judgement
                if not helped:
                    break


class _Kept:
    """The step of the first of several problems, for those that differ from it in y only."""

    def __init__(self) -> None:
        self._first: tuple[Objective, Step] | None = None

    def keep(self, objective: Objective, step: Step) -> None:
        """Keep the first step; later ones belong to problems that it was not exact enough for."""
        if self._first is None:
            self._first = objective, step

    def step_of(self, objective: Objective) -> Step | None:
        """The step, if it serves this problem too."""
        if self._first is None:
            return None
        first, step = self._first
        return step if alike(first, objective) and first.mass is objective.mass else None


def _first_steps(
    kept: _Kept, objectives: list[Objective], starts: list[Start], control: Control
) -> list[tuple[Judgement, Judgement]]:
    """The null models of several outputs and those after one step, in three passes for all."""
    first, count = objectives[0], len(objectives)
    n, d = first.design.shape
    same = all(alike(first, o) and first.mass is o.mass for o in objectives)
    if not same or 8.0 * count * (_BY_ROW * n + 2 * d) > control.memory:
        return []
    nulls = [objective.null for objective in objectives]
    slopes = [o.loss.gradient(null.z, o.y) for o, null in zip(objectives, nulls)]
    begun = judge_together(objectives, nulls, slopes)
    step = kept.step_of(first) or next(steps(first, control.memory))
    kept.keep(first, step)
    moves = step(At.of_all(begun))
    images = np.ascontiguousarray(first.design.matvec(moves).T)
    points, thetas = [], []
    for objective, judgement, dw, image in zip(objectives, begun, moves.T.copy(), images):
        objective.meter.passes += 1.0 / count
        db = -objective.mean(image) if objective.intercept else 0.0
        points.append(recentred(objective, _moved(judgement.point, dw, db, image + db)))
        thetas.append(judgement.terms.gradient + (image + db))
        if not judgement.point.w.any():
            objective.keep_product(points[-1].w, image)
    return list(zip(begun, judge_together(objectives, points, thetas, thorough=True)))


def _is_straight(objective: Objective, form: Separable, start: Point) -> bool:
    """Whether the first step needs the residuals of w = 0 only, and not its slopes."""
    if start is not objective.null or objective.null.w.any():
        return False
    return rows_suffice(objective, form)


def _from_zero(objective: Objective, step: RowStep) -> Judgement:
    """The judgement of the system's solution, with its own dual point: one pass after the solve."""
    null = objective.null
    w, dual = step.from_zero(objective.loss.gradient(null.z, objective.y))
    point = recentred(objective, objective.point(w, null.b))
    mean, size = objective.mean(dual.theta), objective.mean(np.abs(dual.theta))
    if objective.intercept and not is_balanced(mean, size):
        return judge(objective, point)
    return replace(judge(objective, point, known=[dual], raw=False), fresh=True)


def _after_null(objective: Objective, step: Step) -> Judgement:
    """The judgement after a step from w = 0, which is not judged: that saves a pass."""
    null, gradient = objective.null, objective.loss.gradient(objective.null.z, objective.y)
    return _stepped(objective, null, At(null.w, null.w, gradient), step, [])


def _moved(point: Point, dw: Array, db: float, dz: Array) -> Point:
    return Point(point.w + dw, point.b + db, point.z + dz)


def _refined(objective: Objective, judgement: Judgement, step: Step) -> Judgement:
    """The judgement after a step from another one."""
    return _stepped(objective, judgement.point, At.of(judgement), step, [judgement.dual])


def _stepped(
    objective: Objective, point: Point, at: At, step: Step, known: list[Dual]
) -> Judgement:
    """The judgement after a step."""
    dw = step(at)
    dz = objective.forward(dw)
    db = -objective.mean(dz) if objective.intercept else 0.0
    dz += db
    point = recentred(objective, _moved(point, dw, db, dz))
    # Xᵀ of this dual point cancels the penalty's slope at w + dw for any rounding of z, because
    # the step was computed from the same gradient.
    dz += at.gradient
    return judge(objective, point, [dz], known=known, thorough=True)


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
    mean: Array | None = None
    if n < d:
        coefs = _path_row_times(objective, root, alphas)
    else:
        matrix, mean = objective.own_hessian
        coefs = ridges_of_gram(matrix, null.slope, l2, alphas)
    intercepts = np.zeros(len(alphas))
    if objective.intercept:
        mean = objective.column_means if mean is None else mean
        intercepts = objective.null.b - coefs @ mean
    return coefs, intercepts


def ridges_of_gram(gram: Array, linear: Array, l2: Array, alphas: Array) -> Array:
    """The minimisers of ½wᵀG w + linearᵀw + ½alpha·wᵀdiag(l2) w, a row for each alpha."""
    root = 1.0 / np.sqrt(l2)
    scaled = gram * np.outer(root, root)
    return shifted_solutions(scaled, -root * linear, np.asarray(alphas, float)) * root


def _path_row_times(objective: Objective, root: Array, alphas: Array) -> Array:
    """From the n×n kernel √M(X − mean)L⁻¹(X − mean)ᵀ√M."""
    mass = objective.mass
    scale = np.sqrt(mass)
    kernel = centred_kernel(objective, root * root) * np.outer(scale, scale)
    target = scale * -objective.loss.gradient(objective.null.z, objective.y)
    weighted = shifted_solutions(kernel, target, np.asarray(alphas, float)) * scale
    if objective.intercept:
        weighted -= weighted.sum(axis=1, keepdims=True) * mass
    return objective.backward(np.ascontiguousarray(weighted.T)).T * (root * root)
