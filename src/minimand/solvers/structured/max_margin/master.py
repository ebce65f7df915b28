"""The dual of max-margin training over the labellings that are known, and what it proves.

P(w) = Σ s_i max_c [Δ_i(c) + w·a_ic] + Ω(w),   Ω = l1·‖w‖₁ + ½·l2·‖w‖²,   a_ic = φ_i(c) − φ_i(y_i)
D(β) = Σ s_i Σ_c β_ic Δ_i(c) − Ω*(−g),         g = Σ s_i β_ic a_ic

where β_i is a distribution over the labellings of unit i. Every β proves that no w has a smaller P.
If l2 = 0, Ω* is infinite unless all |g| ≤ l1; then a share of β that satisfies it is judged, the
rest on the true labellings, whose planes are zero. The ascent needs a quadratic part: it minimises
P(w) + ½ρ‖w − c‖² instead, whose centre c follows the best weights (the proximal point method).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .... import _core
from ...._base.typing import Array
from ..graph_problem import Augmented, GraphProblem
from ..penalty import penalty_value, shares, young
from .planes import planes_of
from .units import in_own_units

_NEWS = 1e-12  # of the size of P: a violation above it is a new plane; safeguard


class Judged(NamedTuple):
    """The best model so far, and the bound that is proved."""

    w: Array
    primal: float
    gap: float
    size: float  # of the numbers in P that are subtracted; for its rounding

    @property
    def dual(self) -> float:
        """No model has a smaller objective."""
        return self.primal - self.gap


class Model(NamedTuple):
    """Weights with their objective."""

    w: Array
    primal: float
    found: Augmented


class Sizes(NamedTuple):
    """A penalty Σ l1_j·|w_j| + ½·l2·‖w‖²; a number in place of the l1_j is that of all."""

    l1: Any
    l2: float


class Master:
    """Known labellings with their multipliers; ``rho`` and ``centre`` are of the quadratic part."""

    def __init__(self, problem: GraphProblem) -> None:
        self._units = np.ones(problem.size)
        if not problem.l2:  # ½ρ‖w − c‖² minds the units of columns
            problem, self._units = in_own_units(problem)
        nodes, edges = problem.row_tuples()
        present = None if problem.present is None else problem.present.ravel().astype(np.float64)
        l1 = problem.l1 / self._units if problem.l1 else None
        self.problem = problem
        self.penalty = Sizes(0.0 if l1 is None else l1, problem.l2)
        self.centre, self.rho = np.zeros(problem.size), 0.0
        k, alpha = problem.n_labels, problem.l2 or 1.0
        self.ascent = _core.PlaneAscent(nodes, edges, k, problem.mass, alpha, present, l1)
        self._bound = 0.0  # no loss and no penalty is negative

    def move(self, centre: Array, rho: float) -> None:
        """Take another quadratic part."""
        self.centre, self.rho = centre, rho
        self.ascent.centre(self.problem.l2 + rho, rho * centre)
        self.ascent.refresh()

    def start(self, w: Array) -> Model:
        """The model of weights in the units of the data."""
        return self.at(w * self._units)

    def at(self, w: Array, *, exact: bool = False) -> Model:
        """One search for the cost-augmented labellings at some weights."""
        w = self.problem.even(w)
        found = self.problem.augmented(w, exact=exact)
        primal = float(self.problem.mass @ found.values + penalty_value(self.penalty, w))
        return Model(w, primal, found)

    def gap(self, model: Model) -> float:
        """The gap P(w) − D(β), as a sum of terms none of which is negative.

        Σ s_i {max_c [Δ + w·a_ic] − Σ_c β_ic [Δ_ic + w·a_ic]} + Ω(w) + Ω*(−g) + g·w.
        """
        penalty, slope = self.penalty, self.ascent.slope()
        held, _ = self.ascent.measure(model.w)
        return min(
            float(self.problem.mass @ np.maximum(model.found.values - s * held, 0.0))
            + young(penalty, model.w, slope, s)
            for s in shares(penalty, slope)
        )

    def judged(self, model: Model) -> Judged:
        """The model, and its gap by the best bound so far."""
        gap = self.gap(model)
        self._bound = max(self._bound, model.primal - gap)
        gap = max(min(gap, model.primal - self._bound), 0.0)
        return Judged(model.w / self._units, model.primal, gap, model.found.size)

    def open(self, model: Model) -> float:
        """The gap of P(w) + ½ρ‖w − c‖² that the betas leave."""
        held, _ = self.ascent.measure(model.w)
        terms = self.problem.mass * np.maximum(model.found.values - held, 0.0)
        near = self.penalty._replace(l2=self.penalty.l2 + self.rho)
        slope = self.ascent.slope() - self.rho * self.centre
        return float(terms.sum()) + young(near, model.w, slope, 1.0)

    def left(self) -> float:
        """What the linear terms of all units could gain together, over known planes."""
        self.ascent.refresh()
        held, best = self.ascent.measure(self.ascent.weights())
        return float(self.problem.mass @ (best - held))

    def news(self, model: Model) -> Array:
        """By how much the labellings of every unit exceed all known planes at these weights."""
        _, known = self.ascent.measure(model.w)
        return model.found.values - known

    def collect(self, model: Model) -> None:
        """Add the labellings that lie above all known planes at these weights."""
        size = 1.0 + np.abs(model.found.values)
        units = np.flatnonzero((self.news(model) > _NEWS * size) & (self.problem.mass > 0))
        if units.size:
            self.ascent.add(*planes_of(self.problem, model.found, units))
