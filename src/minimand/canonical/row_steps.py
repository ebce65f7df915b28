"""Learning row by row: the record that the compiled passes take."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from .. import _core
from .._base.typing import AnyArray, Array
from ..design import Design, kernel_for


class Rule(IntEnum):
    """How far a row moves the model, in the order of the core's `StepRule`.

    ``PLAIN`` and ``ADAPTIVE`` are stochastic gradient steps, by a schedule or with a rate per
    coefficient. The others are called online rules: with the loss ℓ, ``PERCEPTRON`` moves by η
    along ±x wherever ℓ has a slope, ``PA1`` by min(η, ℓ/‖x‖²), ``PA2`` by ℓ/(‖x‖² + 1/(2η)).
    """

    PLAIN = 0
    ADAPTIVE = 1
    PERCEPTRON = 2
    PA1 = 3
    PA2 = 4

    @property
    def online(self) -> bool:
        """Whether it is a perceptron or passive-aggressive."""
        return self >= Rule.PERCEPTRON


class RowSteps(NamedTuple):
    """Steps over rows, as the compiled passes take them: see `solvers.stochastic.learner`."""

    rule: Rule
    models: tuple[int, int, int]  # groups, models in each, numbers of a coefficient in a model
    slopes: tuple[int, tuple[Array, Array, Array, Array, Array], Array, bool]
    rows: tuple[Array, Array, Array, AnyArray]
    penalty: tuple[Array, Array]
    options: tuple[float, float, float, float, float, float, float, float, float, bool]


def step_rows(design: Design, steps: RowSteps, fields: Array, scalars: Array, moves: Array) -> None:
    """Steps over rows, one after the other; changes fields, scalars and moves.

    ``moves`` is empty, or counts for every row how often it moved the model of an online rule.
    """
    lines = design.row_lines
    kernel = kernel_for(lines, _core.learn_rows, _core.learn_rows_dense)
    kernel(lines, *steps, fields, scalars, moves)


class EpochRule(NamedTuple):
    """When passes over all rows end: ``patience`` of them lower their objective by less than tol.

    The objective of a pass is the mean of what its rows pay: see `solvers.stochastic.learner`.
    """

    seed: int
    shuffle: bool
    tol: float
    patience: int
    most: int  # passes


class EpochCourse(NamedTuple):
    """How passes have gone on so far."""

    done: int = 0
    best: float = float("inf")
    waited: int = 0  # passes since the objective was lowered by tol
    finite: bool = True  # whether the model is


def step_epochs(
    design: Design,
    steps: RowSteps,
    fields: Array,
    scalars: Array,
    moves: Array,
    rule: EpochRule,
    course: EpochCourse,
) -> EpochCourse:
    """Passes of one model over rows, which are shuffled in place before each."""
    lines = design.row_lines
    kernel = kernel_for(lines, _core.learn_epochs, _core.learn_epochs_dense)
    order = steps.rows[3]
    return EpochCourse(*kernel(lines, *steps, fields, scalars, moves, order, rule, course))
