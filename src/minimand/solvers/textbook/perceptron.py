"""The perceptron: passes over the data until one has no mistake, or a state repeats.

    a mistake is  yᵢ(xᵢ·w + b) ≤ 0,  and then  w ← w + yᵢxᵢ,  b ← b + yᵢ

Between two equal states the updates sum to zero, Σ aᵢyᵢ(xᵢ, 1) = 0, where aᵢ counts the mistakes on
sample i: these weights prove that no plane separates the classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..._base.typing import AnyArray, Array, BoolArray, IntArray
from ..._base.watch import interrupt, reason
from ..._base.wording import counted
from ...canonical.row_steps import Rule
from ...design import Design
from ...losses import PerceptronLoss
from ...penalties import Separable
from ...problem.objective import Objective
from ..stochastic.learner import Learner, Steps

_STEPS = Steps(1.0, rule=Rule.PERCEPTRON, average_from=np.inf)


@dataclass(frozen=True, eq=False)
class Trace:
    """The first steps of a perceptron; printing it shows them as a table.

    Attributes
    ----------
    index : ndarray of shape (n_steps,)
        The sample of the step.
    score : ndarray of shape (n_steps,)
        x·w + b, before the step.
    mistake : ndarray of shape (n_steps,)
        Whether y·score ≤ 0, so that w and b changed.
    w, b : ndarray of shape (n_steps, n_features) and (n_steps,)
        The model that gave the score: before the step. With a kernel, w holds the coefficients a
        of f = Σ aᵢ·k(xᵢ, x) + b, one for every sample.
    """

    index: IntArray
    score: Array
    mistake: BoolArray
    w: Array
    b: Array

    @classmethod
    def of(cls, steps: Sequence[tuple[int, float, bool, Array, float]], width: int) -> Trace:
        """From the steps one by one; w has ``width`` numbers."""
        index, score, mistake, w, b = zip(*steps) if steps else ((), (), (), (), ())
        return cls(
            np.array(index, dtype=np.int64),
            np.array(score, dtype=np.float64),
            np.array(mistake, dtype=bool),
            np.array(w, dtype=np.float64).reshape(-1, width),
            np.array(b, dtype=np.float64),
        )

    def __len__(self) -> int:
        return int(self.index.size)

    def __repr__(self) -> str:
        mistakes = counted(int(self.mistake.sum()), "mistake")
        return f"Trace({counted(len(self), 'step')}, {mistakes})"

    def __str__(self) -> str:
        lines = []
        for step in range(len(self)):
            sign = "+" if self.score[step] > 0 else "−"
            verdict = "mistake" if self.mistake[step] else "no mistake"
            numbers = ", ".join(f"{value:g}" for value in self.w[step])
            lines.append(
                f"w = [{numbers}], b = {self.b[step]:g}: score of sample {self.index[step]} is "
                f"{self.score[step]:g}, predicts {sign}, {verdict}"
            )
        return "\n".join(lines)


class Run(NamedTuple):
    """A perceptron after its last pass."""

    w: Array
    b: float
    mistakes: IntArray  # per pass
    counts: Array  # mistakes per sample: w = Σ countsᵢyᵢxᵢ
    trace: Trace
    cycle: Array | None  # mistakes per sample between two equal states
    period: int  # passes between two equal states
    cut_off: bool = False  # whether Ctrl-C or a limit ended the last pass early

    @property
    def converged(self) -> bool:
        """Whether the last pass had no mistake."""
        return bool(self.mistakes.size and self.mistakes[-1] == 0) and not self.cut_off


class Trained(Protocol):
    """What `train` needs of a perceptron."""

    counts: Array  # mistakes per sample

    def one_pass(self, order: AnyArray, traced: int) -> int:
        """The mistakes of a pass."""

    @property
    def model(self) -> tuple[Array, float]:
        """w and b, or what else tells whether a state has come back."""

    @property
    def trace(self) -> Trace:
        """The traced steps."""


class Machine:
    """A perceptron on samples with labels ±1; its steps can be traced."""

    def __init__(self, design: Design, signs: Array, w: Array, b: float, intercept: bool) -> None:
        n, d = design.shape
        self.nothing, self.intercept = Separable(np.zeros(d), np.zeros(d)), intercept
        self.objective = self._on(design, signs)
        self.learner = Learner.start(w, b, Rule.PERCEPTRON)
        self.ones = np.ones(n)
        self.counts = np.zeros(signs.size)
        self._total = 0  # mistakes so far
        self._steps: list[tuple[int, float, bool, Array, float]] = []

    def _on(self, design: Design, signs: Array) -> Objective:
        """The loss on some rows; the steps know nothing of the mass, nor of a penalty."""
        mass = np.ones(signs.size)
        return Objective(
            PerceptronLoss(), self.nothing, design, signs, mass, intercept=self.intercept
        )

    def one_pass(self, order: AnyArray, traced: int) -> int:
        """The mistakes of a pass; steps are traced until there are ``traced`` of them."""
        wanted = max(0, min(traced - len(self._steps), order.size))
        mistakes = sum(self._traced_step(int(i)) for i in order[:wanted])
        known = self._total + mistakes
        self.learner.learn(self.objective, self.ones, order[wanted:], _STEPS, self.counts)
        self._total = int(self.counts.sum())
        return mistakes + self._total - known

    @property
    def model(self) -> tuple[Array, float]:
        """w and b."""
        return self.learner.model(self.objective, average=False)

    def _traced_step(self, i: int) -> int:
        w, b = self.model
        design, moved = self.objective.design.rows(np.array([i])), np.zeros(1)
        score = float(design.matvec(w)[0]) + b
        row = self._on(design, self.objective.y[i : i + 1])
        self.learner.learn(row, np.ones(1), np.zeros(1, dtype=np.uint32), _STEPS, moved)
        self.counts[i] += moved[0]
        self._steps.append((i, score, moved[0] > 0, w, b))
        return int(moved[0])

    @property
    def trace(self) -> Trace:
        """The traced steps."""
        return Trace.of(self._steps, self.objective.n_features)


def train(machine: Trained, orders: Iterator[AnyArray], max_epochs: int, traced: int) -> Run:
    """Passes until one has no mistake, a state repeats, or ``max_epochs`` have been made.

    Ctrl-C ends training with the current state.

    A state is compared with one earlier state, that after pass 1, 3, 7, 15, …: any cycle is found
    within a few times its length, in the memory of one model.
    """
    mistakes: list[int] = []
    kept, kept_counts, since, patience = machine.model, machine.counts.copy(), 0, 1
    cycle = None
    try:
        for order in orders if not reason() else ():
            mistakes.append(machine.one_pass(order, traced))
            since += 1
            if reason() or mistakes[-1] == 0:
                break
            w, b = machine.model
            if b == kept[1] and np.array_equal(w, kept[0]):
                cycle = machine.counts - kept_counts
                break
            if len(mistakes) >= max_epochs:
                break
            if since == patience:
                kept, kept_counts = (w, b), machine.counts.copy()
                since, patience = 0, 2 * patience
    except KeyboardInterrupt:
        interrupt()
        mistakes.append(int(machine.counts.sum()) - sum(mistakes))  # of the interrupted pass
    passes = np.array(mistakes, dtype=np.int64)
    cut_off = bool(reason())
    return Run(*machine.model, passes, machine.counts, machine.trace, cycle, since, cut_off)
