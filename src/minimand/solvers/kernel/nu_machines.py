"""Machines whose share of support vectors is given: ν-SVC, ν-SVR and the one-class machine.

Their duals are box problems with a fixed sum of coefficients in each group, so that there are two
free levels (an intercept and a margin or a tube) or one. All numbers are on libsvm's scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._base.typing import Array, BoolArray
from ...canonical import Box
from ...certificate import Certificate
from ...design import Design
from ..base import Control
from .course import CORRECTIONS, Course


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """Coefficients a, the level of each group, and the proof."""

    a: Array
    levels: Array
    certificate: Certificate
    converged: bool
    stopped_by: str


def nu_classes(
    design: Design, y: Array, weights: Array, nu: float, control: Control
) -> BoxSolution:
    """ν-SVC with y = ±1: min ½‖f‖² − ν·W·ρ + Σ sᵢ·max(0, ρ − yᵢ(f(xᵢ) + b)), W = Σs.

    The levels of the two classes, −1 and 1, are b + ρ and b − ρ.
    """
    low, high = np.minimum(weights * y, 0.0), np.maximum(weights * y, 0.0)
    group, zero = (y > 0).astype(np.uint8), np.zeros(y.size)
    box = Box(low, high, zero, zero, group, True)
    half = 0.5 * nu * float(weights.sum())
    a = y * _filled(weights, [y < 0, y > 0], [half, half])
    words = "½‖f‖² − ν·Σs·ρ + Σ s·max(0, ρ − y(f + b))"
    return solve_box(box, a, design, control, words, _size_of(design, weights, nu))


def one_class(design: Design, weights: Array, nu: float, control: Control) -> BoxSolution:
    """The one-class machine: min ½‖f‖² − ν·W·ρ + Σ sᵢ·max(0, ρ − f(xᵢ)); the level is −ρ."""
    zero, group = np.zeros(weights.size), np.zeros(weights.size, np.uint8)
    box = Box(zero, weights, zero, zero, group, True)
    a = _filled(weights, [weights > 0], [nu * float(weights.sum())])
    words = "½‖f‖² − ν·Σs·ρ + Σ s·max(0, ρ − f)"
    return solve_box(box, a, design, control, words, _size_of(design, weights, nu))


def nu_regression(
    design: Design, y: Array, weights: Array, nu: float, control: Control
) -> BoxSolution:
    """ν-SVR: min ½‖f‖² + ν·W·ε + Σ sᵢ·max(0, |yᵢ − f(xᵢ) − b| − ε), with weights sᵢ = C·sample's.

    Every sample has two coefficients, for residuals above and below the tube; a has the first of
    all samples before the second. The levels are b + ε and b − ε.
    """
    n = y.size
    both, twice, zero = np.tile(np.arange(n), 2), np.tile(y, 2), np.zeros(n)
    group = np.repeat(np.array([0, 1], np.uint8), n)
    box = Box(np.append(zero, -weights), np.append(weights, zero), twice, twice, group, True)
    half = 0.5 * nu * float(weights.sum())
    a = _filled(weights, [weights > 0], [half])
    words = "½‖f‖² + ν·Σs·ε + Σ s·max(0, |y − f − b| − ε)"
    start = np.append(a, -a)  # f = 0

    def scale(a: Array, f: Array) -> float:
        null = np.zeros(2 * n)
        levels = box.levels(start, null)
        sums = np.array([start[:n].sum(), start[n:].sum()])
        return float(box.losses(levels[group]).sum() + levels @ sums)

    return solve_box(box, start, design.rows(both), control, words, scale)


def _size_of(design: Design, weights: Array, nu: float) -> Callable[[Array, Array], float]:
    """½‖f‖², which is what f = 0 is from the optimum; at least that of orthogonal features.

    f vanishes at the optimum where no margin is possible, and is no unit then.
    """
    sizes = float(weights.max()) * float(design.row_lengths.max())
    least = 0.5 * nu * float(weights.sum()) * sizes
    return lambda a, f: max(0.5 * abs(float(a @ f)), least)


def solve_box(
    box: Box,
    a: Array,
    design: Design,
    control: Control,
    words: str,
    scale: Callable[[Array, Array], float],
) -> BoxSolution:
    """Minimise to a certified gap of tol·scale, from coefficients whose sums are as wanted."""
    f = design.row_product(a)
    sums = float(a[box.group == 0].sum()), float(a[box.group == 1].sum())
    levels = box.levels(a, f)
    gap, course, count, why = box.gap(a, f, levels), None, 0, ""
    while gap > (target := max(control.tol * scale(a, f), box.rounding(a, f))) and not why:
        if control.expired or count >= _most(control):
            why = control.why or f"max_iter={control.max_iter}"
            break
        if course is None:
            course = Course(box, a, f, design, control.memory, sums)
        a = course.advanced(target, lambda: control.expired)
        f, before = design.row_product(a), gap
        levels = box.levels(a, f)
        gap, count = box.gap(a, f, levels), count + 1
        if gap > target and not course.corrected(a, f, gap, before, target):
            why = "no further progress"
    unit, rounding = scale(a, f), box.rounding(a, f)
    paid = float(box.losses(f + levels[box.group]).sum() + levels @ np.array(sums))
    primal = 0.5 * float(a @ f) + paid
    certificate = Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative=0.0 if gap == 0 else (gap / unit if unit > 0 else np.inf),
        objective=words,
        rounding=rounding,
        iterations=count,
        passes=count + 1.0,
        seconds=control.seconds,
        dual_point=-a,
    )
    return BoxSolution(a, levels, certificate, gap <= max(control.tol * unit, rounding), why)


def _most(control: Control) -> int:
    return CORRECTIONS if control.max_iter is None else control.max_iter


def _filled(weights: Array, groups: list[BoolArray], sums: list[float]) -> Array:
    """Coefficients up to the weights that sum to what each group needs, from the first on."""
    a = np.zeros(weights.size)
    for here, total in zip(groups, sums):
        passed = np.cumsum(weights[here])
        a[here] = np.clip(total - (passed - weights[here]), 0.0, weights[here])
    return a
