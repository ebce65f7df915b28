"""Rounds of steps on a box problem until its gap is small enough, or a limit, or a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ..._base.watch import INTERRUPT, StoppedError, current, watching
from ...canonical import Box
from ...design import Design
from ..base import CALLBACK, STOP, Control
from ..history import State
from .course import CORRECTIONS, Course

_EXHAUSTED = "no further progress"  # why rounds end that no limit has stopped


class BoxPoint(NamedTuple):
    """Coefficients with their exact scores f = K a, the best level of each group, and the gap."""

    a: Array
    f: Array
    levels: Array
    gap: float

    @classmethod
    def of(cls, box: Box, a: Array, design: Design) -> BoxPoint:
        """The point of coefficients within the box."""
        f = design.row_product(a) if a.any() else np.zeros(a.size)
        levels = box.levels(a, f)
        return cls(a, f, levels, box.gap(a, f, levels))

    def sums(self, box: Box) -> tuple[float, float]:
        """The sum of the coefficients in each group."""
        return float(self.a[box.group == 0].sum()), float(self.a[box.group == 1].sum())

    def primal(self, box: Box) -> float:
        """½‖f‖² plus the losses, and what the levels cost where the sums are not zero."""
        paid = float(box.losses(self.f + self.levels[box.group]).sum())
        return 0.5 * float(self.a @ self.f) + paid + float(self.levels @ np.array(self.sums(box)))


def solved(
    box: Box,
    point: BoxPoint,
    design: Design,
    control: Control,
    scale: Callable[[Array, Array], float],
) -> tuple[BoxPoint, int, str]:
    """The last point, how many rounds led to it, and what stopped them; empty if nothing did.

    It is a valid point also after Ctrl-C. A callback that stops one machine stops those after it.
    """
    around, count = current(), 0
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
                point = BoxPoint.of(box, a, design)
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
    state = State(count, count + 1.0, control.seconds, *numbers)
    answers = [callback(state) for callback in control.callbacks]
    return any(answer is STOP for answer in answers)
