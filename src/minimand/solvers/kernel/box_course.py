"""Rounds of steps on a box problem until its gap is small enough, or a limit, or a callback."""

from __future__ import annotations

from collections.abc import Callable

from ..._base.typing import Array
from ..._base.watch import INTERRUPT, StoppedError, current, watching
from ...canonical import Box
from ...design import Design
from ...problem.objective import Point
from ..base import CALLBACK, STOP, Control
from ..history import State
from .box_point import BoxPoint
from .course import CORRECTIONS, Course

_EXHAUSTED = "no further progress"  # why rounds end that no limit has stopped


def solved(
    box: Box,
    point: BoxPoint,
    design: Design,
    control: Control,
    scale: Callable[[Array, Array], float],
    count: int = 0,
) -> tuple[BoxPoint, int, str]:
    """The last point, how many rounds led to it, and what stopped them; empty if nothing did.

    The first point comes after ``count`` rounds.

    It is a valid point also after Ctrl-C. A callback that stops one machine stops those after it.
    """
    around = current()
    most = CORRECTIONS if control.max_iter is None else control.max_iter
    with watching(control.late, hears=True) as watch:
        try:
            course = None
            while True:
                target = max(control.tol * scale(point.a, point.f), box.rounding(point.a, point.f))
                if not control.expired and _told(box, point, control, count, target):
                    watch.stop(CALLBACK)
                    if around is not None:
                        around.stop(CALLBACK)
                if point.gap <= target:
                    return point, count, ""
                if control.expired:
                    return point, count, control.why
                if count >= most:
                    given = control.max_iter is not None
                    return point, count, f"max_iter={most}" if given else _EXHAUSTED
                if course is None:
                    sums = point.sums(box)
                    course = Course(box, point.a, point.f, design, control.memory, sums)
                before = point.gap
                a = course.advanced(target, lambda: control.expired)
                point = course.point(a)
                count += 1
                met = point.gap <= target
                if not met and not course.corrected(point.a, point.f, point.gap, before, target):
                    return point, count, _EXHAUSTED
        except KeyboardInterrupt:
            watch.interrupt()
            return point, count, INTERRUPT
        except StoppedError as stopped:
            return point, count, stopped.reason


def _told(box: Box, point: BoxPoint, control: Control, count: int, target: float) -> bool:
    """Call the callbacks; whether one of them stops the rounds."""
    if not control.callbacks:
        return False
    primal = point.primal(box)
    numbers = (primal, primal - point.gap, point.gap, target)
    model = Point(point.a, point.levels, point.f)
    state = State(count, count + 1.0, control.seconds, *numbers, model)
    answers = [callback(state) for callback in control.callbacks]
    return any(answer is STOP for answer in answers)
