"""The conditional likelihood of chains: its value, slope and curvature.

    loss(z, y) = log Σ_c exp z(c) − z(y),   a conditional random field

Its gradient in the scores is marginals minus true labels, its curvature the covariance of labels.
Both come from one sum-product pass. Products with the data are separate: along a line scores are
linear, so that a line search needs none.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .... import _core
from ...._base.typing import Array, IntArray
from ....design import SparseDesign
from ..problem import ChainProblem, ChainWeights
from .pairs_of_columns import PairProducts
from .sparse_slope import SparseSlope

_LANES = 4  # to a multiple of it labels are padded; definition: doubles of a vector in the core


class Scores(NamedTuple):
    """Scores of tokens, transitions, start, stop and edges; or a slope in them."""

    unary: Array  # (n_tokens, k or more): further columns are zero
    transitions: Array  # (k, k)
    start: Array
    stop: Array
    edges: Array | None = None  # (n_tokens, k, k)

    def moved(self, step: float, direction: Scores) -> Scores:
        """The scores plus step times a direction."""
        edges = self.edges
        if edges is not None and direction.edges is not None:
            edges = _moved(edges, step, direction.edges)
        shared = [_moved(a, step, b) for a, b in zip(self[:4], direction[:4])]
        return Scores(shared[0], shared[1], shared[2], shared[3], edges)

    def dot(self, other: Scores) -> float:
        """The sum of products of all numbers."""
        pairs = [(a, b) for a, b in zip(self, other) if a is not None and b is not None]
        return sum(_core.dot(a.reshape(-1), b.reshape(-1)) for a, b in pairs)


def _moved(a: Array, step: float, b: Array) -> Array:
    found = step * b
    found += a
    return found


class Terms(NamedTuple):
    """The mean loss, its slope in the scores, and the mean size of its two parts."""

    value: float
    slope: Scores
    size: float


class Likelihood:
    """The mean negative log-likelihood of a chain problem, as a function of its scores."""

    def __init__(self, problem: ChainProblem) -> None:
        self.problem = problem
        self._pass = _core.ChainPass(problem.offsets, problem.n_labels)
        y, ends, k = problem.labels, problem.after_first, problem.n_labels
        counts = np.bincount(y[ends - 1] * k + y[ends], problem.token_mass[ends], k * k)
        self._gold_steps: Array = counts.reshape(k, k).astype(float)
        self._design = self._across = problem.design
        if isinstance(problem.design, SparseDesign):  # Xᵀu by columns writes every number once
            self._design = SparseDesign(problem.design.by_row)
            self._across = SparseDesign(problem.design.by_column)
        self._width = -(-k // _LANES) * _LANES
        self._pairs: PairProducts | None = None
        if isinstance(problem.design, SparseDesign) and problem.layout.coef is not None:
            self._pairs = PairProducts(problem.design, problem.layout.coef, k, self._width)
        rows = 0 if self._pairs is not None else problem.design.shape[1]
        self._table = np.zeros((rows, self._width))

    @cached_property
    def direct(self) -> SparseSlope | None:
        """Value and slope straight from the weights, where features are sparse."""
        if not isinstance(self.problem.design, SparseDesign) or self.problem.edges is not None:
            return None
        return SparseSlope(self.problem, self._pairs, self._width, self._gold_steps)

    def scores(self, w: Array) -> Scores:
        """The scores that a vector of weights gives."""
        problem = self.problem
        layout = problem.layout
        coef, *_ = layout.parts(w)
        weights = layout.weights(w, coef=False)
        unary = self._products(coef)
        edges = problem.edge_scores(weights)
        return Scores(unary, weights.transitions, weights.start, weights.stop, edges)

    def _products(self, coef: Array) -> Array:
        """The scores of tokens, from the weights of features that exist."""
        if self._pairs is not None:
            return self._pairs.scores(coef)
        layout = self.problem.layout
        if layout.coef is None:
            self._table[:, : self.problem.n_labels] = coef.reshape(layout.shape)
        else:
            self._table.flat[self._places] = coef
        return self._design.matvec(self._table)

    @cached_property
    def _places(self) -> IntArray:
        """The places in a padded table of weights that exist."""
        assert self.problem.layout.coef is not None
        row, label = np.divmod(self.problem.layout.coef, self.problem.n_labels)
        return np.asarray(row * self._width + label)

    def in_weights(self, slope: Scores) -> Array:
        """From a slope in the scores to that in the vector of weights."""
        problem, k, edge = self.problem, self.problem.n_labels, None
        if problem.edges is not None and slope.edges is not None:
            flat = problem.edges.rmatvec(slope.edges.reshape(-1, k * k))
            edge = flat.reshape(-1, k, k)
        if self._pairs is not None:
            coef = self._pairs.slope(slope.unary)
        else:
            table = self._across.rmatvec(slope.unary)
            coef = table[:, :k] if problem.layout.coef is None else table.reshape(-1)[self._places]
        found = ChainWeights(coef, slope.transitions, slope.start, slope.stop, edge)
        return problem.layout.vector(found, picked=problem.layout.coef is not None)

    def _arrays(self, scores: Scores) -> tuple[Array, Array, Array, Array, Array]:
        """The scores as the compiled core takes them; −inf where they are not allowed."""
        weights = ChainWeights(np.empty((0, 0)), *scores[1:4])
        shared = self.problem.shared_scores(weights)
        edges = np.empty(0) if scores.edges is None else scores.edges
        return scores.unary, *shared, edges

    def null_value(self) -> float:
        """The loss where all weights are zero: the mean logarithm of the number of labellings."""
        k = self.problem.n_labels
        zero = Scores(
            np.zeros((self.problem.n_tokens, self._width)),
            np.zeros((k, k)),
            np.zeros(k),
            np.zeros(k),
        )
        return _core.dot(self.problem.mass, self._pass.log_partition(self._arrays(zero)))

    def terms(self, scores: Scores) -> Terms:
        """Value and slope at these scores, which `product` then belongs to."""
        problem = self.problem
        problem.meter.passes += 1
        if scores.edges is not None:
            return self._terms_with_edges(scores)
        arrays = self._arrays(scores)
        partition, path, slope, steps = self._pass.slopes(arrays, problem.labels, problem.mass)
        return self._terms(partition, path, slope, steps - self._gold_steps)

    def _terms(
        self, partition: Array, path: Array, slope: Array, steps: Array, edges: Array | None = None
    ) -> Terms:
        mass = self.problem.mass
        size = _core.dot(mass, np.abs(partition) + np.abs(path))
        start, stop = self._ends(slope)
        value = _core.dot(mass, partition - path)
        return Terms(value, Scores(slope, steps, start, stop, edges), size)

    def _terms_with_edges(self, scores: Scores) -> Terms:
        """The same where every edge has scores of its own."""
        problem = self.problem
        y, ends, mass = problem.labels, problem.after_first, problem.token_mass
        arrays = self._arrays(scores)
        partition, slope, edges, _ = self._pass.details(arrays)
        edges *= mass[:, None, None]
        edges[ends, y[ends - 1], y[ends]] -= mass[ends]
        slope *= mass[:, None]
        slope[np.arange(y.size), y] -= mass
        by_token = scores.unary[np.arange(y.size), y]
        assert scores.edges is not None
        by_token[ends] += scores.transitions[y[ends - 1], y[ends]]
        by_token[ends] += scores.edges[ends, y[ends - 1], y[ends]]
        first, last = problem.offsets[:-1], problem.offsets[1:] - 1
        by_token[first] += scores.start[y[first]]
        by_token[last] += scores.stop[y[last]]
        path = np.add.reduceat(by_token, first)
        return self._terms(partition, path, slope, edges.sum(axis=0), edges)

    def _ends(self, slope: Array) -> tuple[Array, Array]:
        """Sums over first and over last tokens."""
        offsets = self.problem.offsets
        k = self.problem.n_labels
        return slope[offsets[:-1], :k].sum(axis=0), slope[offsets[1:] - 1, :k].sum(axis=0)

    def product(self, direction: Scores) -> Scores:
        """The curvature at the last scores of `terms` times a direction in the scores."""
        self.problem.meter.passes += 1
        unary, steps = self._pass.product(*direction[:4])
        return Scores(unary, steps, *self._ends(unary))
