"""The course of training a structured model: limits, callbacks, history, and the result."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..._base.watch import INTERRUPT, StoppedError, watching
from ..._base.watch import reason as reason_to_stop
from ...certificate import Certificate, relative_gap
from ...problem.point import Meter
from ..base import CALLBACK, STOP, Control
from ..history import History, State


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, its certificate, and why training stopped."""

    weights: Any  # ChainWeights, or the vector of the weights of a graph model
    certificate: Certificate
    converged: bool
    stopped_by: str = ""
    solver: str = ""
    history: History = field(default_factory=History)


class Posed(Protocol):
    """What a course must know of a problem."""

    @property
    def words(self) -> str:
        """The objective, in words."""

    @property
    def meter(self) -> Meter:
        """The passes over the data."""


class Course:
    """Records points of a training, and says when to stop.

    ``scale`` is the unit of tol: P(0) minus the infimum of the loss, which is 0.
    """

    def __init__(self, problem: Posed, control: Control, solver: str, scale: float) -> None:
        self.problem, self.control, self.scale = problem, control, scale
        control.target = control.tol * scale
        self.history = History(solver, problem.words, control.target)
        self.stopped_by = ""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """The body of a training: time limits and Ctrl-C end it, and its best point is kept."""
        with watching(self.control.late, hears=True) as watch:
            try:
                yield
            except KeyboardInterrupt:
                watch.interrupt()
                self.stopped_by = INTERRUPT
            except StoppedError as stopped:
                self.stopped_by = stopped.reason

    def record(self, primal: float, gap: float) -> bool:
        """Note a point; whether to stop, because the gap will do or for another reason."""
        control, iteration = self.control, len(self.history)
        passes, seconds = self.problem.meter.passes, time.perf_counter() - control.started
        state = State(iteration, passes, seconds, primal, primal - gap, gap, control.target)
        self.history.append(state)
        answers = [callback(state) for callback in control.callbacks]
        if gap <= control.target:
            return True
        if any(answer is STOP for answer in answers):
            self.stopped_by = CALLBACK
        elif control.max_iter is not None and iteration >= control.max_iter:
            self.stopped_by = f"max_iter={control.max_iter}"
        else:
            self.stopped_by = reason_to_stop()
        return bool(self.stopped_by)

    def trained(
        self,
        weights: Any,
        primal: float,
        gap: float,
        rounding: float,
        infeasibility: str = "",
    ) -> Trained:
        """The result, with the numbers of the returned weights as the last record."""
        history, scale = self.history, self.scale
        certificate = Certificate(
            primal=primal,
            dual=primal - gap if math.isfinite(gap) else -np.inf,
            gap=gap,
            relative=relative_gap(gap, scale),
            objective=self.problem.words,
            rounding=rounding,
            iterations=max(len(history) - 1, 0),
            passes=self.problem.meter.passes,
            seconds=self.control.seconds,
            infeasibility=infeasibility,
        )
        if not len(history):
            self.record(primal, gap)
        history.end(primal, certificate.dual, gap)
        converged = gap <= max(self.control.target, rounding)
        stopped_by = "" if converged else self.stopped_by or "no further progress"
        if self.stopped_by == INTERRUPT:
            stopped_by = INTERRUPT
        return Trained(weights, certificate, converged, stopped_by, history.solver, history)
