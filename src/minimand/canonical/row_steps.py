"""Learning row by row: arguments and results of the compiled passes."""

from __future__ import annotations

from typing import NamedTuple

from .. import _core
from .._base.typing import AnyArray, Array
from ..design import Design
from .lines import kernel_for


class OnlineRule(NamedTuple):
    """What a row with score z = x·w + b does to a model that learns row by row.

    Its loss is max(0, threshold − y·z), or max(0, |y − z| − threshold) for ``numbers``; where that
    is not flat, w moves along ±x and b by ``share`` as much. ``step`` 0 moves by ``rate``; 1 is
    PA-I, min(rate, loss/‖x‖²); 2 is PA-II, loss/(‖x‖² + 1/(2·rate)). The penalty is
    ridge·½‖w‖² + lasso·‖w‖₁; ``average`` is the step that averaging begins with, 0 for never.
    """

    step: int
    numbers: bool
    threshold: float
    rate: float
    ridge: float = 0.0
    lasso: float = 0.0
    share: float = 1.0
    average: int = 0


OnlineClock = tuple[float, float, float, float]
"""The intercept, its drift, 1 + rows so far, and how much the l1 norm may have taken."""


class OnlineReport(NamedTuple):
    """The result of one pass: the clock, total losses and penalties, rows that moved w."""

    clock: OnlineClock
    objective: float
    moves: int


class RowSteps(NamedTuple):
    """Stochastic steps, as the compiled passes take them: see `solvers.stochastic.learner`."""

    adaptive: bool
    models: tuple[int, int, int]  # groups, models in each, numbers of a coefficient in a model
    slopes: tuple[int, tuple[Array, Array, Array, Array, Array], Array, bool]
    rows: tuple[Array, Array, Array, AnyArray]
    penalty: tuple[Array, Array]
    options: tuple[float, float, float, float, float, float, float, float, bool, bool]


def online_pass(
    design: Design,
    rule: OnlineRule,
    rows: tuple[Array, Array, AnyArray],
    state: tuple[Array, Array, Array, Array],
    clock: OnlineClock,
) -> OnlineReport:
    """One pass over rows (y, weight, order), which changes the state."""
    lines = design.row_lines
    kernel = kernel_for(lines, _core.online_pass, _core.online_pass_dense)
    return OnlineReport(*kernel(lines, rule, rows, state, clock))


def step_rows(design: Design, steps: RowSteps, fields: Array, memory: Array) -> None:
    """Stochastic steps over rows, one after the other; changes fields and memory."""
    lines = design.row_lines
    kernel = kernel_for(lines, _core.stochastic_sparse, _core.stochastic_dense)
    kernel(lines, *steps, fields, memory)
