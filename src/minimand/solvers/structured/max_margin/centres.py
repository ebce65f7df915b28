"""The centres of the proximal point method, for l1 penalties with little or no quadratic part.

P(w) + ½ρ‖w − c‖² is solved for one centre c after the other, which are ever better weights. Its
dual point misses the bounds |g| ≤ l1 by ρ·|w − c| at most, which vanishes as the centres converge;
a smaller ρ makes that faster, and every single problem harder.
"""

from __future__ import annotations

import numpy as np

from ...._base.typing import Array
from .master import Master, Model

_SOLVED = 0.2  # of the gap: what a problem leaves open when it counts as solved; safeguard
_SLOWER = 10.0  # times that, what the gap has above it when ρ falls; measured on OCR words
_PATIENCE = 8  # rounds without a new centre, after which ρ first grows; measured on OCR words
_LITTLE = 1e-4  # of the first ρ: an l2 that does without centres; measured on OCR words
_FACTOR = 2.0  # of ρ; convention


class Centres:
    """Chooses centres and ρ while rounds go on."""

    def __init__(self, master: Master, start: Model, rho: float) -> None:
        self._master, self._at, self._rounds = master, start, 0
        self._patience = _PATIENCE
        master.move(start.w, rho)

    @classmethod
    def of(cls, master: Master, start: Model) -> Centres | None:
        """Centres from a start on; None if the quadratic part of the penalty does without."""
        penalty = master.penalty
        if not master.problem.l1:
            return None
        slope = np.abs(_slope(master, start))
        excess = np.maximum(slope - penalty.l1, 0.0)
        # With this ρ the linear model of P falls from P(c) to 0, below which no objective is.
        rho = (float(excess @ excess) or float(slope @ slope)) / (2.0 * start.primal or 1.0)
        return None if penalty.l2 > _LITTLE * rho else cls(master, start, rho or 1.0)

    def follow(self, model: Model) -> None:
        """Take a model as the next centre if its problem is solved well enough."""
        master = self._master
        left, gap, rho = master.open(model), master.gap(model), master.rho
        apart = model.w - master.centre
        better = model.primal < self._at.primal
        gain = self._at.primal - model.primal - 0.5 * rho * float(apart @ apart)
        if (better and left <= gain) or left <= _SOLVED * gap:
            if better:
                self._at, self._patience = model, _PATIENCE
            self._rounds = 0
            master.move(self._at.w, rho / _FACTOR if gap - left > _SLOWER * left else rho)
            return
        self._rounds += 1
        if self._rounds >= self._patience:
            # Labellings without weight are forgotten: at a fixed patience ρ may go up and down
            # for ever, every time too early.
            self._rounds, self._patience = 0, 2 * self._patience
            master.move(master.centre, _FACTOR * rho)


def _slope(master: Master, model: Model) -> Array:
    """The slope of the mean loss, by the labellings that were found."""
    problem = master.problem
    shape, k = problem.topology, problem.n_labels
    nodes, first, second = np.zeros((shape.n_nodes, k)), *shape.edges.T
    pairs = np.zeros((len(shape.edges), k, k))
    own, of_edge = problem.mass[shape.graph_of_node], problem.mass[shape.graph_of_edge]
    for labels, sign in ((model.found.labels, 1.0), (problem.labels, -1.0)):
        nodes[np.arange(shape.n_nodes), labels] += sign * own
        pairs[np.arange(len(pairs)), labels[first], labels[second]] += sign * of_edge
    return problem.features(nodes, pairs if problem.edge_features is not None else pairs.sum(0))
