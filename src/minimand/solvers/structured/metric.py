"""Approximations of the curvature of a chain model that are cheap to invert.

If every token is taken by itself, the curvature of the weights of features is Σₜ massₜ·xₜxₜᵀ ⊗ Sₜ
with Sₜ = diag(pₜ) − pₜpₜᵀ. Few features: its blocks Σₜ massₜ·pₜc(1 − pₜc)·xₜxₜᵀ, one for every
label c, are inverted. Many: its diagonal. Of transitions, start and stop it is the diagonal, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..._base.threads import one_blas_thread
from ..._base.typing import Array, IntArray
from ...design import Design, SparseDesign, as_design
from .likelihood import Terms
from .problem import ChainProblem, ChainWeights, Layout

_FEW = 600  # columns, up to which blocks are inverted; safeguard: that takes k·d³ steps
_LARGEST = 4e8  # bytes of all blocks; safeguard
_ROWS = 8  # rows per column of a block; safeguard: more hardly change it
_SURE = 0.02  # p(1 − p), below which a token is left out of a block; safeguard: it adds little
_FLOOR = 1e-3  # share of the largest curvature that is added if there is no l2 part; safeguard


@dataclass(frozen=True, eq=False)
class Metric:
    """M, an approximation of H + l2: `solve` gives M⁻¹r.

    The loss does not change if the weights of a feature rise by the same number for all labels, or
    all transitions do: there H vanishes, and at the optimum these sums are zero. A metric that
    ignored it would take the longest for what is known; with ``balanced``, M⁻¹r has zero sums.

    ``diagonal`` is that of all weights in their order; ``inverses`` (k, d, d) are those of the
    blocks, if there are any.
    """

    layout: Layout
    diagonal: Array
    inverses: Array | None = None
    balanced: bool = False

    def solve(self, r: Array) -> Array:
        """M⁻¹r."""
        r = self._balance(r.copy())
        found = r / self.diagonal
        if self.inverses is not None:
            k, d = self.inverses.shape[:2]
            table = np.ascontiguousarray(r[: d * k].reshape(d, k).T)
            with one_blas_thread():
                solved = np.matmul(self.inverses, table[:, :, None])[:, :, 0]
            found[: d * k] = solved.T.ravel()
        return self._balance(found)

    def _balance(self, r: Array) -> Array:
        """The nearest vector with zero sums over labels and over transitions."""
        if self.balanced:
            coef, *others = self.layout.parts(r)[:4]
            if self.layout.coef is None and coef.size:
                table = coef.reshape(self.layout.shape)
                table -= table.mean(axis=1, keepdims=True)
            for part, full in zip(others, self.layout.full):
                if full and part.size:
                    part -= part.mean()
        return r


class Metrics:
    """Makes metrics of a problem, at one point after another."""

    def __init__(self, problem: ChainProblem) -> None:
        self._problem = problem
        d, k = problem.design.shape[1], problem.n_labels
        few = d <= _FEW and 8.0 * k * d * d <= _LARGEST
        # Blocks mix weights, so that they cannot tell which weights an l1 part moves.
        self._blocks = few and problem.layout.coef is None and not problem.l1
        self._squares = None if self._blocks else _squared(problem.design)

    def at(self, terms: Terms) -> Metric:
        """The metric at a point with these terms of the loss."""
        problem = self._problem
        p = self._marginals(terms)
        spread = p * (1.0 - p)
        spread *= problem.token_mass[:, None]
        ends, mass = problem.after_first, problem.token_mass
        before, after = p[ends - 1], p[ends]
        with one_blas_thread():
            steps = (mass[ends, None] * before).T @ after
            steps -= (mass[ends, None] * before**2).T @ after**2
        first, last = problem.offsets[:-1], problem.offsets[1:] - 1
        start, stop = spread[first].sum(axis=0), spread[last].sum(axis=0)
        shape = problem.design.shape[1], problem.n_labels
        coef = np.ones(shape) if self._squares is None else self._squares.rmatvec(spread)
        edge = self._edge_diagonal(before, after)
        found = problem.layout.vector(ChainWeights(coef, steps, start, stop, edge))
        diagonal = np.maximum(found, 0.0)
        diagonal += problem.l2 or self._floor(diagonal)
        inverses = self._inverses(p, spread) if self._blocks else None
        return Metric(problem.layout, diagonal, inverses, not problem.l1)

    @staticmethod
    def _floor(curvature: Array) -> float:
        return _FLOOR * float(curvature.max(initial=0.0)) or 1.0

    def _marginals(self, terms: Terms) -> Array:
        """The marginals of tokens, from slopes mass·(p − [label])."""
        y, mass = self._problem.labels, self._problem.token_mass
        live = np.flatnonzero(mass > 0)
        k = self._problem.n_labels
        p = terms.slope.unary[:, :k] / np.where(mass > 0, mass, 1.0)[:, None]
        p[live, y[live]] += 1.0
        return np.clip(p, 0.0, 1.0, out=p)

    def _inverses(self, p: Array, spread: Array) -> Array:
        """The inverse of the block of every label."""
        problem = self._problem
        d, k = problem.design.shape[1], problem.n_labels
        inverses, unit = np.empty((k, d, d)), np.eye(d)
        unsure = spread > _SURE * problem.token_mass[:, None]
        for c in range(k):
            rows = _some(np.flatnonzero(unsure[:, c]), _ROWS * d)
            total, weight = float(spread[:, c].sum()), spread[rows, c]
            with one_blas_thread():
                block = np.zeros((d, d))
                if rows.size:
                    weight *= total / (float(weight.sum()) or 1.0)
                    block = problem.design.rows(rows).gram(weight)
                block.flat[:: d + 1] += problem.l2 or self._floor(np.diag(block))
                inverses[c] = linalg.solve(block, unit, assume_a="pos", check_finite=False)
        return inverses

    def _edge_diagonal(self, before: Array, after: Array) -> Array | None:
        """Σ mass·x²·p(a)p(b)(1 − p(a)p(b)) over edges, for the features of edges."""
        problem = self._problem
        if problem.edges is None:
            return None
        k, ends = problem.n_labels, problem.after_first
        pairs = np.zeros((problem.n_tokens, k, k))
        both = before[:, :, None] * after[:, None, :]
        pairs[ends] = problem.token_mass[ends, None, None] * (both * (1.0 - both))
        flat = _squared(problem.edges).rmatvec(pairs.reshape(-1, k * k))
        return flat.reshape(-1, k, k)


def _some(rows: IntArray, most: int) -> IntArray:
    """At most so many of the rows, evenly."""
    return rows[:: max(1, -(-rows.size // most))]


def _squared(design: Design) -> Design:
    """X∘X; X itself if it holds zeros and ones only."""
    if isinstance(design, SparseDesign):
        x = design.by_row
        if np.array_equal(x.data, x.data * x.data):
            return design
        return as_design(type(x)((x.data * x.data, x.indices, x.indptr), shape=x.shape))
    blocks = [np.square(np.asarray(block.matrix, dtype=float)) for block in design.blocks()]
    return as_design(np.concatenate(blocks))
