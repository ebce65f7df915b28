"""A model that learns row by row: its state between rows, and the model it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._typing import AnyArray, Array
from ..design import RowSteps
from ..losses import Logistic, Pieces
from ..objective import Objective
from ..penalties import Separable

_PIECES, _LOGISTIC, _GIVEN = 0, 1, 2  # how a compiled pass finds the slope of a row
_NO_PIECES = Pieces([0.0], [0.0, 0.0]).parts
_UNSEEN = 1e300  # 1/largest |x| of a column that had no entry yet
_MEMORY = 9
_TIME, _HELD, _SCALE, _COUNT = 3, 4, 5, 6  # places in the memory, see core/stochastic/rows.hpp
UNCOMPILED_BATCH = 8


class Steps(NamedTuple):
    """How far a row moves the model: eta/(t0 + t)^power, or a rate per coefficient."""

    eta: float
    t0: float = 0.0
    power: float = 0.0
    adaptive: bool = False
    batch: int = 1
    average_from: float = 0.0  # the step from which on models are averaged; inf: never
    average_power: float = 1.0  # the t-th model weighs t^power


class _Coded(NamedTuple):
    """The loss of every row as ψ(t), t = sign·(x·w + b) − shift."""

    kind: int
    parts: tuple[Array, Array, Array, Array, Array]
    sign: Array
    shift: Array


def compiled(objective: Objective) -> bool:
    """Whether the slope of a single row is known to the compiled passes."""
    return type(objective.loss) is Logistic or objective.loss.plq(objective.y[:1]) is not None


@dataclass
class Learner:
    """The state of stochastic training; `learn` changes it, `model` reads it.

    ``fields`` holds 3 or 6 numbers per coefficient, ``memory`` those that there is one of.
    """

    fields: Array
    memory: Array

    @classmethod
    def start(cls, w: Array, b: float, adaptive: bool) -> Learner:
        """At a model, with nothing learnt yet."""
        fields = np.zeros((6 if adaptive else 3, w.size))
        fields[0] = w
        if adaptive:
            fields[5] = _UNSEEN
        memory = np.zeros(_MEMORY)
        memory[0], memory[_SCALE] = b, 1.0
        return cls(fields, memory)

    def copy(self) -> Learner:
        """An independent copy."""
        return Learner(self.fields.copy(order="K"), self.memory.copy())

    @property
    def adaptive(self) -> bool:
        """Whether every coefficient has its own rate."""
        return self.fields.shape[0] == 6

    def learn(self, objective: Objective, weight: Array, order: AnyArray, steps: Steps) -> None:
        """One pass over some rows, in that order."""
        objective.meter.passes += order.size / max(objective.n_samples, 1)
        batch = steps.batch if compiled(objective) else max(steps.batch, UNCOMPILED_BATCH)
        if batch == 1:
            coded = _coded(objective)
            left = objective.loss.target == "sign"  # a tie counts as a mistake
            slopes = (coded.kind, coded.parts, np.empty(0), left)
            self._pass(objective, slopes, (coded.sign, coded.shift, weight, order), steps, 1.0)
            return
        ones, zeros = np.ones(objective.n_samples), np.zeros(objective.n_samples)
        given = np.zeros(objective.n_samples)
        for first in range(0, order.size, batch):
            rows = order[first : first + batch]
            given[rows] = self._slopes(objective, rows)
            row_arrays = (ones, zeros, weight, rows)
            tick = 1.0 / rows.size
            self._pass(objective, (_GIVEN, _NO_PIECES, given, False), row_arrays, steps, tick)

    def _slopes(self, objective: Objective, rows: AnyArray) -> Array:
        """∂ℓ/∂z of some rows at the present model."""
        order = np.sort(rows)
        w, b = self.model(objective, average=False)
        z = objective.design.rows(order).matvec(w) + b
        if objective.offset is not None:
            z = z + objective.offset[order]
        found = objective.loss.gradient(z, objective.y[order])
        return np.asarray(found[np.searchsorted(order, rows)])

    def _pass(
        self,
        objective: Objective,
        slopes: tuple[int, tuple[Array, Array, Array, Array, Array], Array, bool],
        rows: tuple[Array, Array, Array, AnyArray],
        steps: Steps,
        tick: float,
    ) -> None:
        form = _form(objective)
        options = (
            float(steps.eta),
            float(steps.t0),
            float(steps.power),
            tick,
            float(steps.average_from),
            float(steps.average_power),
            objective.intercept,
        )
        given = RowSteps(self.adaptive, slopes, rows, (_short(form.l1), _short(form.l2)), options)
        # Sparse rows meet few coefficients, and want the numbers of each together.
        order = "F" if objective.design.sparse else "C"
        self.fields = np.asarray(self.fields, order=order)  # type: ignore[call-overload]
        flat = (self.fields.T if order == "F" else self.fields).reshape(-1)
        objective.design.step_rows(given, flat, self.memory)

    def model(self, objective: Objective, average: bool) -> tuple[Array, float]:
        """(w, b), or the average of those met so far, with the zeros that the last one has."""
        form = _form(objective)
        now, held, scale, count = self.memory[[_TIME, _HELD, _SCALE, _COUNT]]
        v, time = self.fields[0], now - self.fields[2]
        if self.adaptive:
            time = time * self.fields[4]
        left = np.copysign(np.maximum(np.abs(v) - form.l1 * time, 0.0), v)
        if self.adaptive:
            left = left / (1.0 + form.l2 * time)
        if not average or count == 0.0:
            return scale * left + 0.0, float(self.memory[0])
        lag = self.fields[1] + held * (left - v)
        if self.adaptive and now > 0:  # what a coefficient was while it was not met
            between = np.copysign(np.sqrt(v * left), v)
            lag += held * (1.0 - (self.fields[2] / now) ** 2) * (v - between)
        mean = (held * left - lag) / count
        mean = np.where((left == 0) & (form.l1 > 0), 0.0, mean)
        return mean, float(self.memory[1] / count)


def _form(objective: Objective) -> Separable:
    form = objective.penalty.separable
    assert form is not None
    return form


def _short(factors: Array) -> Array:
    """One number where all are equal."""
    return factors[:1] if factors.size and (factors == factors[0]).all() else factors


def _coded(objective: Objective) -> _Coded:
    """The loss for the compiled passes; the offset becomes a part of the shift."""
    y, plq = objective.y, objective.loss.plq(objective.y)
    if plq is not None:
        coded = _Coded(_PIECES, plq.pieces.parts, plq.sign, plq.shift)
    else:
        coded = _Coded(_LOGISTIC, _NO_PIECES, y, np.zeros_like(y))
    if objective.offset is None:
        return coded
    return coded._replace(shift=coded.shift - coded.sign * objective.offset)
