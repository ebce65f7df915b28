"""Kernel machines of one kernel matrix: all pairs of classes, all folds, or a single machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from ..._base.typing import Array, IntArray
from ..._base.watch import INTERRUPT, watching
from ...canonical import Box, BoxBatch
from ...certificate import Certificate, relative_gap
from ...design import GramDesign, KernelDesign, PartDesign
from ..base import Control
from .active_rows import AT_ONCE
from .box_course import solved
from .box_point import BoxPoint
from .tasks import BoxTask

Begin = Callable[[KernelDesign, BoxTask, Control], Array | None]  # coefficients near the optimum
Limits = Callable[[list["BoxSolution"]], AbstractContextManager[Control]]  # after those solved


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """Coefficients a, the level of each group, and the proof."""

    a: Array
    levels: Array
    certificate: Certificate
    scale: float  # the unit of `Certificate.relative`
    converged: bool
    stopped_by: str


def solve_all(
    design: KernelDesign,
    places: Sequence[IntArray],
    tasks: Sequence[BoxTask],
    limits: Limits,
    begin: Begin,
    *,
    watched: bool,
) -> list[BoxSolution]:
    """Every task on its rows of a design.

    Small ones on a matrix in memory are solved by one call; if somebody watches, by one call each,
    which finds the same numbers. ``begin`` may find where to begin for those that need more time.
    """
    known: list[BoxSolution] = []
    small = max((task.start.size for task in tasks), default=0) <= AT_ONCE
    at_once = isinstance(design, GramDesign) and small
    if isinstance(design, GramDesign) and at_once and not watched:
        with limits([]) as control:
            known = _together(design, places, tasks, control)
    found: list[BoxSolution] = []
    for m, (place, task) in enumerate(zip(places, tasks)):
        if known and known[m].converged:
            found.append(known[m])
            continue
        with limits(found) as control:
            part, first = _part_of(design, place), known[m] if known else None
            if isinstance(design, GramDesign) and at_once and watched:
                first = _told(design, place, task, control)
                if first.converged or first.stopped_by:
                    found.append(first)
                    continue
            start = None if control.expired else begin(part, task, control)
            start = first.a if start is None and first is not None else start
            found.append(solve_one(part, task, control, start))
    return found


def _told(design: GramDesign, place: IntArray, task: BoxTask, control: Control) -> BoxSolution:
    """A task as `_together` solves it, where callbacks are told of its start and of its end."""
    rows, box = design.rows(place[task.rows]), task.box
    only_told = replace(control, max_iter=0)
    point = BoxPoint.of(box, task.start, rows)
    last, _, why = solved(box, point, rows, only_told, task.scale)
    if why.startswith("max_iter"):  # else it is solved, or somebody stops the fit
        with watching(control.late, hears=True) as watch:
            try:
                (found,) = _together(design, [place], [task], control)
                why = ""
            except KeyboardInterrupt:
                watch.interrupt()
                why = INTERRUPT
        if not why:
            return _told_at_the_end(found, box, rows, only_told, task)
    numbers = (last.primal(box), box.rounding(last.a, last.f))
    return _solution(task, last, numbers, control.tol, 0, why, control.seconds)


def _told_at_the_end(
    found: BoxSolution, box: Box, rows: KernelDesign, only_told: Control, task: BoxTask
) -> BoxSolution:
    if found.converged:
        end = BoxPoint(found.a, rows.row_product(found.a), found.levels, found.certificate.gap)
        solved(box, end, rows, only_told, task.scale, count=1)
    return found


def _part_of(design: KernelDesign, place: IntArray) -> KernelDesign:
    """Some rows of the design, in a form in which they share what is computed."""
    if place.size == design.shape[0]:
        return design
    return design.rows(place) if isinstance(design, GramDesign) else PartDesign(design, place)


def _together(
    design: GramDesign, places: Sequence[IntArray], tasks: Sequence[BoxTask], control: Control
) -> list[BoxSolution]:
    """All tasks by one call; those that are not at their target have the gap that they came to."""
    if not tasks:
        return []
    rows = [place[task.rows] for place, task in zip(places, tasks)]
    batch = BoxBatch(rows, [task.box for task in tasks])
    start = np.concatenate([task.start for task in tasks])
    goals = control.tol * np.array([task.unit for task in tasks])
    shares = control.tol * np.array([task.share for task in tasks])
    found = batch.settled(design.matrix, start, goals, shares)
    seconds = control.seconds / len(tasks)
    solutions = []
    for m, (task, first, last) in enumerate(zip(tasks, batch.ends, batch.ends[1:])):
        point = BoxPoint(found.a[first:last], found.f[first:last], found.levels[m], found.gap[m])
        numbers = (float(found.primal[m]), float(found.rounding[m]))
        solutions.append(_solution(task, point, numbers, control.tol, 1, "", seconds))
    return solutions


def solve_one(
    design: KernelDesign, task: BoxTask, control: Control, begin: Array | None = None
) -> BoxSolution:
    """Minimise to a certified gap of tol·scale, from the start of the task or another one."""
    box = task.box
    if task.rows.size != design.shape[0]:
        design = design.rows(task.rows)
    start = task.start
    if begin is not None:
        sums = tuple(float(start[box.group == g].sum()) for g in (0, 1))
        start = box.with_sums(np.clip(begin, box.low, box.high), (sums[0], sums[1]))
    last, count, why = solved(box, BoxPoint.of(box, start, design), design, control, task.scale)
    numbers = (last.primal(box), box.rounding(last.a, last.f))
    return _solution(task, last, numbers, control.tol, count, why, control.seconds)


def _solution(
    task: BoxTask,
    point: BoxPoint,
    numbers: tuple[float, float],
    tol: float,
    count: int,
    why: str,
    seconds: float,
) -> BoxSolution:
    """A point with its certificate; ``numbers`` are the objective and its rounding."""
    unit, gap, (primal, rounding) = task.scale(point.a, point.f), float(point.gap), numbers
    certificate = Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative=relative_gap(gap, unit),
        objective=task.words,
        rounding=rounding,
        iterations=count,
        passes=count + 1.0,
        seconds=seconds,
        dual_point=task.dual_point(point.a),
    )
    met = gap <= max(tol * unit, rounding)
    return BoxSolution(point.a, point.levels, certificate, unit, met, why)
