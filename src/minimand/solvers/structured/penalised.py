"""A chain model with its penalty: points, and the certified distance of a point from the optimum.

The slope g of the mean loss is that of the marginals at w, a dual point: at it the loss is
conjugate without a gap. Shrunk to s·g, which mixes the marginals with the true labels, it stays
one, and as entropy is concave the loss adds (1 − s)·loss(w) at most to

    gap = (1 − s)·loss(w) + Ω(w) + Ω*(−s·g) + s·g·w

With s = 1 and Ω = ½·l2·‖w‖² this is ‖g + l2·w‖²/(2·l2), the bound of strong convexity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ... import _core
from ..._base.typing import Array
from ...problem.point import EPS
from .likelihood import Likelihood, Scores, Terms
from .problem import ChainProblem


@dataclass(frozen=True, eq=False)
class ChainPoint:
    """Weights with their scores, the terms of the loss there, and the objective."""

    problem: ChainProblem
    likelihood: Likelihood
    w: Array
    scores: Scores
    terms: Terms

    @cached_property
    def slope(self) -> Array:
        """The slope of the mean loss in the weights."""
        return self.likelihood.in_weights(self.terms.slope)

    @cached_property
    def primal(self) -> float:
        """P(w)."""
        return self.terms.value + penalty_value(self.problem, self.w)

    @cached_property
    def gap(self) -> float:
        """A bound of P(w) − min P; infinite without a penalty, unless the slope is zero."""
        problem, loss = self.problem, self.terms.value
        return min(
            (1.0 - s) * loss + _young(problem, self.w, self.slope, s)
            for s in _shares(problem, self.slope)
        )

    @property
    def rounding(self) -> float:
        """An estimate of the rounding error of the gap."""
        return 4 * EPS * (self.terms.size + penalty_value(self.problem, self.w))

    @cached_property
    def steepest(self) -> Array:
        """The subgradient of P with the least norm."""
        return least_subgradient(self.problem, self.w, self.slope)


def penalty_value(problem: ChainProblem, w: Array) -> float:
    """l1·‖w‖₁ + ½·l2·‖w‖²."""
    value = 0.5 * problem.l2 * _core.dot(w, w)
    return value + problem.l1 * float(np.abs(w).sum()) if problem.l1 else value


def least_subgradient(problem: ChainProblem, w: Array, slope: Array) -> Array:
    """g + l2·w + l1·sign(w); where w = 0, g shrunk towards zero by l1."""
    found = slope + problem.l2 * w
    if problem.l1:
        shrunk = np.sign(found) * np.maximum(np.abs(found) - problem.l1, 0.0)
        found = np.where(w == 0, shrunk, found + problem.l1 * np.sign(w))
    return found


def _shares(problem: ChainProblem, slope: Array) -> set[float]:
    """The shares s of the slope to try: the largest that is legal, and one without an excess."""
    if not problem.l1:
        return {1.0}
    most = float(np.abs(slope).max(initial=0.0))
    inside = 1.0 if most <= problem.l1 else problem.l1 / most
    return {1.0, inside} if problem.l2 else {inside}


def _young(problem: ChainProblem, w: Array, slope: Array, s: float) -> float:
    """Ω(w) + Ω*(v) − v·w at v = −s·g, as sums of terms that are never negative.

    With c = soft(v, l1) they are (c − l2·w)²/(2·l2) and |w|·l1 − w·(v − c).
    """
    l1, l2 = problem.l1, problem.l2
    if not l1 and not l2:
        return 0.0 if not slope.any() else np.inf
    if not l1:
        rest = slope + l2 * w
        return 0.5 * _core.dot(rest, rest) / l2
    v = -s * slope
    excess = np.sign(v) * np.maximum(np.abs(v) - l1, 0.0)
    kinked = np.maximum(l1 * np.abs(w) - w * (v - excess), 0.0)
    if not l2:
        return float(kinked.sum())
    excess -= l2 * w
    return 0.5 * _core.dot(excess, excess) / l2 + float(kinked.sum())


class ChainModel:
    """Makes points of a problem, from weights or along a line."""

    def __init__(self, problem: ChainProblem) -> None:
        self.problem, self.likelihood = problem, Likelihood(problem)

    def point(self, w: Array) -> ChainPoint:
        """The point of these weights, from the data."""
        return self.at(w, self.likelihood.scores(w))

    def at(self, w: Array, scores: Scores) -> ChainPoint:
        """The point of these weights, whose scores are known."""
        return ChainPoint(self.problem, self.likelihood, w, scores, self.likelihood.terms(scores))

    def hessian_product(self, v: Array) -> tuple[Array, Scores]:
        """(H + l2)·v at the last point that was made, and the scores of v."""
        along = self.likelihood.scores(v)
        image = self.likelihood.in_weights(self.likelihood.product(along))
        image += self.problem.l2 * v
        return image, along
