"""A labelling model with its penalty: points, and their certified distance from the optimum.

The slope g of the mean loss is that of the marginals at w, a dual point: at it the loss is
conjugate without a gap. Shrunk to s·g, which mixes the marginals with the true labels, it stays
one, and as entropy is concave the loss adds (1 − s)·loss(w) at most to

    gap = (1 − s)·loss(w) + Ω(w) + Ω*(−s·g) + s·g·w

With s = 1 and Ω = ½·l2·‖w‖² this is ‖g + l2·w‖²/(2·l2), the bound of strong convexity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from ...._base.typing import Array
from ....problem.point import EPS
from ...steps.krylov import add
from ..penalty import Penalty, penalty_value, shares, strongly_convex, young
from ..problem import ChainProblem
from .likelihood import Likelihood, Scores, Terms
from .metric import Metric, Metrics
from .sparse_slope import Sloped
from .strong_weights import with_strong_weights

_APART = 1e-4  # largest change of a score in a difference of slopes: 8 digits remain; safeguard
_ALIKE = 1e-9  # range of probabilities that counts as none: rounding; safeguard


class LossOfScores(Protocol):
    """The mean loss of labellings, as a function of scores that are linear in the weights."""

    def scores(self, w: Array) -> Scores:
        """The scores that a vector of weights gives."""

    def terms(self, scores: Scores) -> Terms:
        """Value and slope at these scores."""

    def in_weights(self, slope: Scores) -> Array:
        """From a slope in the scores to that in the vector of weights."""


@dataclass(frozen=True, eq=False)
class ChainPoint:
    """Weights with the mean loss there, its slope, and the objective."""

    problem: Penalty
    w: Array

    @property
    def loss(self) -> Sloped:
        """The mean loss, the size of its parts, and its slope in the weights."""
        raise NotImplementedError

    @property
    def slope(self) -> Array:
        """The slope of the mean loss in the weights."""
        return self.loss.slope

    @property
    def value(self) -> float:
        """The mean loss."""
        return self.loss.value

    @cached_property
    def primal(self) -> float:
        """P(w)."""
        return self.value + penalty_value(self.problem, self.w)

    @cached_property
    def gap(self) -> float:
        """A bound of P(w) − min P; infinite without a penalty, unless the slope is zero."""
        problem, loss = self.problem, self.value
        if not problem.l1:
            return strongly_convex(problem.l2, self.steepest)
        return min(
            (1.0 - s) * loss + young(problem, self.w, self.slope, s)
            for s in shares(problem, self.slope)
        )

    @property
    def size(self) -> float:
        """The mean size of the numbers that the loss is a difference of."""
        return self.loss.size

    @property
    def rounding(self) -> float:
        """An estimate of the rounding error of the gap."""
        return 4 * EPS * (self.size + penalty_value(self.problem, self.w))

    @cached_property
    def steepest(self) -> Array:
        """The subgradient of P with the least norm."""
        return least_subgradient(self.problem, self.w, self.slope)


@dataclass(frozen=True, eq=False)
class SlopedPoint(ChainPoint):
    """A point of which the scores were not kept."""

    found: Sloped

    @property
    def loss(self) -> Sloped:
        """The loss as it was found with the slope."""
        return self.found


@dataclass(frozen=True, eq=False)
class ScoredPoint(ChainPoint):
    """A point with its scores, and the terms of the loss there."""

    likelihood: LossOfScores
    scores: Scores
    terms: Terms

    @cached_property
    def loss(self) -> Sloped:
        """The slope in the weights takes a product with the data, which not every point needs."""
        slope = self.likelihood.in_weights(self.terms.slope)
        return Sloped(self.value, self.size, slope)

    @property
    def value(self) -> float:
        """The mean loss."""
        return self.terms.value

    @property
    def size(self) -> float:
        """The mean size of the numbers that the loss is a difference of."""
        return self.terms.size


def least_subgradient(problem: Penalty, w: Array, slope: Array) -> Array:
    """g + l2·w + l1·sign(w); where w = 0, g shrunk towards zero by l1."""
    found = slope.copy()
    add(found, problem.l2, w)
    if problem.l1:
        shrunk = np.sign(found) * np.maximum(np.abs(found) - problem.l1, 0.0)
        found = np.where(w == 0, shrunk, found + problem.l1 * np.sign(w))
    return found


class Model:
    """Makes points of a problem, from weights or along a line."""

    curved = False  # whether products with the curvature are worth it
    _last: Scores  # of the last point that was made

    @property
    def direct(self) -> bool:
        """Whether points are made without their scores."""
        return False

    def __init__(self, problem: Penalty, likelihood: LossOfScores) -> None:
        self.problem, self.likelihood = problem, likelihood

    def point(self, w: Array) -> ChainPoint:
        """The point of these weights, from the data."""
        return self.scored(w)

    def scored(self, w: Array) -> ScoredPoint:
        """The point with its scores, which lines and the curvature need."""
        return self.at(w, self.likelihood.scores(w))

    def at(self, w: Array, scores: Scores) -> ScoredPoint:
        """The point of these weights, whose scores are known."""
        self._last = scores
        terms = self.likelihood.terms(scores)
        return ScoredPoint(self.problem, w, self.likelihood, scores, terms)

    def metric(self, terms: Terms) -> Metric:
        """An approximation of the curvature at a point with these terms."""
        raise NotImplementedError

    def bend(self, along: Scores) -> float:
        """The curvature of the loss along a direction, at the last point that was made."""
        raise NotImplementedError

    def hessian_product(self, v: Array) -> tuple[Array, Scores]:
        """(H + l2)·v at the last point that was made, and the scores of v.

        From the slopes a little before and behind that point: a product serves steps alone, which
        are judged by the objective at their end.
        """
        along = self.likelihood.scores(v)
        most = max(float(np.abs(part).max(initial=0.0)) for part in along if part is not None)
        if not most:
            return self.problem.l2 * v, along
        h = _APART / most
        behind, before = (self.likelihood.terms(self._last.moved(t, along)) for t in (h, -h))
        image = self.likelihood.in_weights(behind.slope)
        image -= self.likelihood.in_weights(before.slope)
        return image / (2.0 * h) + self.problem.l2 * v, along

    def scores_with(self, unary: Array, w: Array) -> Scores:
        """The scores of weights whose scores of single tokens are known."""
        raise NotImplementedError


class ChainModel(Model):
    """Points of a chain model."""

    problem: ChainProblem
    likelihood: Likelihood

    def __init__(self, problem: ChainProblem) -> None:
        super().__init__(problem, Likelihood(problem))
        self.curved = problem.edges is None or problem.l1 > 0

    @property
    def direct(self) -> bool:
        """Whether points are made straight from the weights: their features are sparse."""
        return self.likelihood.direct is not None

    def point(self, w: Array) -> ChainPoint:
        """The point of these weights, by the fused pass over sparse features if there is one."""
        fused = self.likelihood.direct
        return self.scored(w) if fused is None else SlopedPoint(self.problem, w, fused.at(w))

    @cached_property
    def _metrics(self) -> Metrics:
        return Metrics(self.problem)

    def metric(self, terms: Terms) -> Metric:
        """The metric of single tokens; strong weights of sparse features are taken together."""
        problem, found = self.problem, self._metrics.at(terms)
        sparse = self.likelihood.direct
        if sparse is None or found.close or problem.l1 or not problem.l2:
            return found
        curvature, p = found.diagonal - problem.l2, self._metrics.marginals(terms)
        if np.ptp(p) <= _ALIKE:  # weights of zero: their curvature is soon untrue
            return found
        return with_strong_weights(found, problem, sparse, curvature, p)

    def bend(self, along: Scores) -> float:
        """The curvature along a direction, by one pass over the chains."""
        return self.likelihood.product(along).dot(along)

    def hessian_product(self, v: Array) -> tuple[Array, Scores]:
        """(H + l2)·v, by one pass over the chains and two products with the data."""
        if self.problem.edges is not None:
            return super().hessian_product(v)
        along = self.likelihood.scores(v)
        image = self.likelihood.in_weights(self.likelihood.product(along))
        image += self.problem.l2 * v
        return image, along

    def scores_with(self, unary: Array, w: Array) -> Scores:
        """The scores; those of transitions, start and stop are the weights themselves."""
        weights = self.problem.layout.weights(w, coef=False)
        return Scores(unary, weights.transitions, weights.start, weights.stop)
