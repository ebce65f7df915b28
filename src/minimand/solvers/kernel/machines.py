"""Kernel machines on libsvm's scale: SVC and SVR, ν-SVC and ν-SVR, and the one-class machine.

Their duals are box problems. In those with a share ν of support vectors the sum of coefficients in
each group is given, so that there are two free levels (an intercept and a margin or a tube) or one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..._base.typing import Array, BoolArray
from ...canonical import Box
from ...certificate import Certificate
from ...design import Design
from ..base import Control
from .box_course import BoxPoint, solved


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """Coefficients a, the level of each group, and the proof."""

    a: Array
    levels: Array
    certificate: Certificate
    scale: float  # the unit of `Certificate.relative`
    converged: bool
    stopped_by: str


def classes(
    design: Design, y: Array, bounds: Array, control: Control, start: Array | None = None
) -> BoxSolution:
    """SVC with y = ±1: min ½‖f‖² + Σ boundsᵢ·max(0, 1 − yᵢ(f(xᵢ) + b)); the level is b."""
    group = np.zeros(y.size, np.uint8)
    box = Box(np.minimum(bounds * y, 0.0), np.maximum(bounds * y, 0.0), y, y, group, True)
    return _bounded(box, design, bounds, control, "½‖f‖² + C·Σ s·max(0, 1 − y(f + b))", start)


def regression(
    design: Design,
    y: Array,
    bounds: Array,
    epsilon: float,
    control: Control,
    start: Array | None = None,
) -> BoxSolution:
    """SVR: min ½‖f‖² + Σ boundsᵢ·max(0, |yᵢ − f(xᵢ) − b| − ε); the level is b."""
    box = Box(-bounds, bounds, y + epsilon, y - epsilon, np.zeros(y.size, np.uint8), True)
    return _bounded(box, design, bounds, control, "½‖f‖² + C·Σ s·max(0, |y − f − b| − ε)", start)


def _bounded(
    box: Box, design: Design, bounds: Array, control: Control, words: str, start: Array | None
) -> BoxSolution:
    """The machine whose coefficients are bounded by C; its unit is the loss of f = 0."""
    point = BoxPoint.of(box, np.zeros(bounds.size), design)
    unit = point.gap
    if start is not None:
        inside = box.with_sums(np.clip(start, box.low, box.high))
        point = BoxPoint.of(box, inside, design)
    found = solve_box(box, point, design, control, words, lambda a, f: unit)
    theta = np.divide(-found.a, bounds, out=np.zeros(bounds.size), where=bounds > 0)
    return replace(found, certificate=replace(found.certificate, dual_point=theta))


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
    return solve_box(
        box, BoxPoint.of(box, a, design), design, control, words, _size_of(design, weights, nu)
    )


def one_class(design: Design, weights: Array, nu: float, control: Control) -> BoxSolution:
    """The one-class machine: min ½‖f‖² − ν·W·ρ + Σ sᵢ·max(0, ρ − f(xᵢ)); the level is −ρ."""
    zero, group = np.zeros(weights.size), np.zeros(weights.size, np.uint8)
    box = Box(zero, weights, zero, zero, group, True)
    a = _filled(weights, [weights > 0], [nu * float(weights.sum())])
    words = "½‖f‖² − ν·Σs·ρ + Σ s·max(0, ρ − f)"
    return solve_box(
        box, BoxPoint.of(box, a, design), design, control, words, _size_of(design, weights, nu)
    )


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

    design = design.rows(both)
    return solve_box(box, BoxPoint.of(box, start, design), design, control, words, scale)


def _size_of(design: Design, weights: Array, nu: float) -> Callable[[Array, Array], float]:
    """½‖f‖², which is what f = 0 is from the optimum; at least that of orthogonal features.

    f vanishes at the optimum where no margin is possible, and is no unit then.
    """
    sizes = float(weights.max()) * float(design.row_lengths.max())
    least = 0.5 * nu * float(weights.sum()) * sizes
    return lambda a, f: max(0.5 * abs(float(a @ f)), least)


def solve_box(
    box: Box,
    point: BoxPoint,
    design: Design,
    control: Control,
    words: str,
    scale: Callable[[Array, Array], float],
) -> BoxSolution:
    """Minimise to a certified gap of tol·scale, from coefficients whose sums are as wanted."""
    last, count, why = solved(box, point, design, control, scale)
    unit = scale(last.a, last.f)
    primal, rounding = last.primal(box), box.rounding(last.a, last.f)
    certificate = Certificate(
        primal=primal,
        dual=primal - last.gap,
        gap=last.gap,
        relative=0.0 if last.gap == 0 else (last.gap / unit if unit > 0 else np.inf),
        objective=words,
        rounding=rounding,
        iterations=count,
        passes=count + 1.0,
        seconds=control.seconds,
        dual_point=-last.a,
    )
    met = last.gap <= max(control.tol * unit, rounding)
    return BoxSolution(last.a, last.levels, certificate, unit, met, why)


def _filled(weights: Array, groups: list[BoolArray], sums: list[float]) -> Array:
    """Coefficients up to the weights that sum to what each group needs, from the first on."""
    a = np.zeros(weights.size)
    for here, total in zip(groups, sums):
        passed = np.cumsum(weights[here])
        a[here] = np.clip(total - (passed - weights[here]), 0.0, weights[here])
    return a
