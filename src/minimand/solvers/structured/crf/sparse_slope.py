"""The slope of the likelihood straight from the weights of sparse features, in one pass.

The scores of tokens are made, used and forgotten sequence by sequence, so that no table of tokens
and labels is read or written. `Likelihood` keeps them instead: for lines and the curvature.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .... import _core
from ...._base.typing import Array, IntArray
from ....design import SparseDesign
from ..problem import ChainProblem, ChainWeights
from .pairs_of_columns import PairProducts, TokenEntries


class Sloped(NamedTuple):
    """The mean loss, the mean size of its two parts, and its slope in the weights."""

    value: float
    size: float
    slope: Array


class SparseSlope:
    """The mean negative log-likelihood of a chain problem, as a function of its weights."""

    def __init__(
        self, problem: ChainProblem, pairs: PairProducts | None, width: int, gold_steps: Array
    ) -> None:
        self._problem, self._pairs, self._gold_steps = problem, pairs, gold_steps
        assert isinstance(problem.design, SparseDesign)
        x = problem.design.by_row
        entries = TokenEntries.of(x) if pairs is None else pairs.entries
        rows, self._singles = (x.shape[1], 0) if pairs is None else pairs.sizes
        self._table = np.zeros((rows, width))
        self._tokens = _core.SparseTokens(
            problem.offsets,
            problem.labels,
            problem.mass,
            tuple(entries),
            rows,
            self._singles,
            problem.n_labels,
        )

    def at(self, w: Array) -> Sloped:
        """Value and slope at these weights."""
        problem = self._problem
        problem.meter.passes += 1
        layout, k = problem.layout, problem.n_labels
        coef = layout.parts(w)[0]
        weights = layout.weights(w, coef=False)
        singles = np.empty(0)
        if self._pairs is None:
            self._table[:, :k] = coef.reshape(layout.shape)
        else:
            singles = self._pairs.fill(coef, self._table)
        shared = problem.shared_scores(weights)
        partition, path, found = self._tokens.slope(self._table, singles, *shared)
        sizes = self._table.size, self._singles, k * k, k, k
        table, alone, steps, start, stop = np.split(found, np.cumsum(sizes)[:-1])
        table = table.reshape(self._table.shape)
        picked = self._pairs is not None
        own = table[:, :k] if self._pairs is None else self._pairs.gathered(table, alone)
        steps = steps.reshape(k, k) - self._gold_steps
        slope = layout.vector(ChainWeights(own, steps, start, stop), picked=picked)
        mass = problem.mass
        size = _core.dot(mass, np.abs(partition) + np.abs(path))
        return Sloped(_core.dot(mass, partition - path), size, slope)

    @cached_property
    def entries(self) -> float:
        """Features of a token, in the mean."""
        assert isinstance(self._problem.design, SparseDesign)
        return float(self._problem.design.by_row.nnz / max(self._problem.n_tokens, 1))

    @property
    def work(self) -> float:
        """Multiply-adds of one pass."""
        problem, width = self._problem, self._table.shape[1]
        return problem.n_tokens * width * (2.0 * self.entries + 3.0 * problem.n_labels)

    @cached_property
    def together(self) -> IntArray:
        """Places of the weights whose joint curvature is known: those of the table, transitions."""
        first, *sizes = self._problem.layout.sizes
        coef = np.arange(first) if self._pairs is None else self._pairs.of_table[0]
        return np.concatenate([coef, np.arange(first, first + sizes[0])])

    def curvature(self, chosen: IntArray, rows: IntArray, mass: Array, p: Array) -> Array:
        """The lower triangle of the joint curvature of chosen weights, in rising order.

        From some tokens with these masses and probabilities of their labels, as if the labels of
        their neighbours were known.
        """
        layout, k = self._problem.layout, self._problem.n_labels
        first = layout.sizes[0]
        coef, steps = chosen[chosen < first], chosen[chosen >= first] - first
        if self._pairs is None:
            row, label = np.divmod(coef, k)
        else:
            known, cells = self._pairs.of_table
            row, label = np.divmod(cells[np.searchsorted(known, coef)], self._table.shape[1])
        starts = np.searchsorted(row, np.arange(self._table.shape[0] + 1)).astype(np.int64)
        transitions = np.full(k * k, -1, dtype=np.int32)
        cells = steps if layout.transitions is None else layout.transitions[steps]
        transitions[cells] = coef.size + np.arange(steps.size)
        places = np.arange(coef.size, dtype=np.int32)
        own = starts, label.astype(np.int32), places, transitions
        return self._tokens.curvature(own, chosen.size, rows, mass, p)
