"""Linear models that learn row by row: the state that a pass changes, and the order of rows."""

from __future__ import annotations

import numpy as np

from ..._base.typing import AnyArray, Array
from ..._base.watch import pieces
from ...canonical.row_steps import OnlineReport, OnlineRule, online_pass
from ...design import Design

_STEP = 10.0  # nanoseconds per stored number, at most; measured on 2 cores at 2.5 GHz
CONSTANT, PA1, PA2 = range(3)  # steps of an `OnlineRule`


class Learner:
    """A model (w, b) with a rule, and what the rule remembers from row to row.

    The mean of all models since averaging began is w − drift/K after K steps, because a step k that
    moves the model by δ is missing from k − 1 of them.
    """

    def __init__(self, rule: OnlineRule, w: Array, b: float = 0.0) -> None:
        self.rule = rule
        self.w = np.array(w, dtype=np.float64)
        self.drift = np.zeros(self.w.size if rule.average else 0)
        self.clock = (float(b), 0.0, 1.0, 0.0)
        self.taken = np.zeros(0)
        self.forget_penalty()

    @property
    def b(self) -> float:
        """The intercept."""
        return self.clock[0]

    @property
    def averaged(self) -> tuple[Array, float]:
        """The mean model, or the model itself until averaging begins."""
        b, b_drift, time, _ = self.clock
        steps = time - self.rule.average
        if self.rule.average == 0 or steps <= 0:
            return self.w, b
        return self.w - self.drift / steps, b - b_drift / steps

    def forget_penalty(self) -> None:
        """Start what the l1 norm takes from nothing, as at the beginning of every fit."""
        self.taken = np.zeros(self.w.size if self.rule.lasso else 0)
        self.clock = (*self.clock[:3], 0.0)

    def run(
        self, design: Design, y: Array, weight: Array, order: AnyArray, moves: Array | None = None
    ) -> OnlineReport:
        """One pass over the rows in ``order``, or as many of them as nobody says stop before.

        ``moves`` counts how often each moved the model.
        """
        if moves is None:
            moves = np.zeros(design.shape[0])
        order = np.ascontiguousarray(order, dtype=np.uint32)
        state = (self.w, self.drift, self.taken, moves)
        total, moved = 0.0, 0
        for piece in pieces(order.size, _STEP * design.nnz / max(design.shape[0], 1)):
            report = online_pass(design, self.rule, (y, weight, order[piece]), state, self.clock)
            self.clock = report.clock
            total, moved = total + report.objective, moved + report.moves
        return OnlineReport(self.clock, total, moved)
