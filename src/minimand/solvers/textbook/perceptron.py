"""The perceptron: passes over the data until one has no mistake, or a state repeats.

    a mistake is  yᵢ(xᵢ·w + b) ≤ 0,  and then  w ← w + yᵢxᵢ,  b ← b + yᵢ

Between two equal states the updates sum to zero, Σ aᵢyᵢ(xᵢ, 1) = 0, where aᵢ counts the mistakes on
sample i: these weights prove that no plane separates the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._base.typing import AnyArray, Array, BoolArray, IntArray
from ..._base.watch import interrupt, reason
from ..._base.wording import counted
from ...canonical.row_steps import OnlineRule
from ...design import Design
from ..stochastic.online import CONSTANT, Learner


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
        The model that gave the score: before the step.
    """

    index: IntArray
    score: Array
    mistake: BoolArray
    w: Array
    b: Array

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


class Machine:
    """A perceptron on samples with labels ±1; its steps can be traced."""

    def __init__(self, design: Design, signs: Array, w: Array, b: float, intercept: bool) -> None:
        rule = OnlineRule(CONSTANT, numbers=False, threshold=0.0, rate=1.0, share=float(intercept))
        self.design, self.signs = design, signs
        self.learner = Learner(rule, w, b)
        self.ones = np.ones(signs.size)
        self.counts = np.zeros(signs.size)
        self._steps: list[tuple[int, float, bool, Array, float]] = []

    def one_pass(self, order: AnyArray, traced: int) -> int:
        """The mistakes of a pass; steps are traced until there are ``traced`` of them."""
        wanted = max(0, min(traced - len(self._steps), order.size))
        mistakes = sum(self._traced_step(int(i)) for i in order[:wanted])
        return mistakes + self._learn(order[wanted:])

    def _learn(self, order: AnyArray) -> int:
        return self.learner.run(self.design, self.signs, self.ones, order, self.counts).moves

    def _traced_step(self, i: int) -> int:
        w, b = self.learner.w.copy(), self.learner.b
        score = float(self.design.rows(np.array([i])).matvec(w)[0]) + b
        mistakes = self._learn(np.array([i]))
        self._steps.append((i, score, mistakes > 0, w, b))
        return mistakes

    @property
    def trace(self) -> Trace:
        """The traced steps."""
        d = self.learner.w.size
        index, score, mistake, w, b = zip(*self._steps) if self._steps else ((), (), (), (), ())
        return Trace(
            np.array(index, dtype=np.int64),
            np.array(score, dtype=np.float64),
            np.array(mistake, dtype=bool),
            np.array(w, dtype=np.float64).reshape(-1, d),
            np.array(b, dtype=np.float64),
        )


def train(machine: Machine, orders: Iterator[AnyArray], max_epochs: int, traced: int) -> Run:
    """Passes until one has no mistake, a state repeats, or ``max_epochs`` have been made.

    Ctrl-C ends training with the current state.

    A state is compared with one earlier state, that after pass 1, 3, 7, 15, …: any cycle is found
    within a few times its length, in the memory of one model.
    """
    learner = machine.learner
    mistakes: list[int] = []
    kept, kept_counts, since, patience = (learner.w.copy(), learner.b), machine.counts.copy(), 0, 1
    cycle = None
    try:
        for order in orders if not reason() else ():
            mistakes.append(machine.one_pass(order, traced))
            since += 1
            if reason() or mistakes[-1] == 0:
                break
            if learner.b == kept[1] and np.array_equal(learner.w, kept[0]):
                cycle = machine.counts - kept_counts
                break
            if len(mistakes) >= max_epochs:
                break
            if since == patience:
                kept, kept_counts = (learner.w.copy(), learner.b), machine.counts.copy()
                since, patience = 0, 2 * patience
    except KeyboardInterrupt:
        interrupt()
        mistakes.append(int(machine.counts.sum()) - sum(mistakes))  # of the interrupted pass
    passes = np.array(mistakes, dtype=np.int64)
    cut_off = bool(reason())
    return Run(learner.w, learner.b, passes, machine.counts, machine.trace, cycle, since, cut_off)
