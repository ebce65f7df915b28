"""Approximations of the curvature of a chain model that are cheap to invert.

If every token is taken by itself, the curvature of the weights of features is Σₜ massₜ·xₜxₜᵀ ⊗ Sₜ
with Sₜ = diag(pₜ) − pₜpₜᵀ. Few features: its blocks Σₜ massₜ·pₜc(1 − pₜc)·xₜxₜᵀ, one for every
label c, are inverted. Many: the labels of a feature are taken together instead, as diag(s) − ssᵀ/σ.
Of transitions, start and stop the diagonal is taken.

The loss does not change if the weights of a feature rise by one number for all labels, or if all
transitions do: there the curvature vanishes, and at the optimum these sums are zero. A metric that
ignored it would take the longest for what is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from ...._base.threads import one_blas_thread
from ...._base.typing import Array, BoolArray, IntArray
from ....design import Design, SparseDesign, as_design
from ..problem import ChainProblem, ChainWeights, Layout
from .likelihood import Terms

_FEW = 600  # columns, up to which blocks are inverted; safeguard: that takes k·d³ steps
_LARGEST = 4e8  # bytes of all blocks; safeguard
_ROWS = 8  # rows per column of a block; safeguard: more hardly change it
_SURE = 0.02  # p(1 − p), below which a token is left out of a block; safeguard: it adds little
_ROUNDED = 1e-10  # share of its curvature that a block gets beside an l2 part; safeguard: rounding
_FLOOR = 1e-3  # share of its curvature that a block gets if there is no l2 part; safeguard
_SMALL = 1e-3  # share of the largest of a feature that its weights have at least; safeguard
_LEAST = 1e-10  # share of the largest curvature that all get then; safeguard: units may differ


def balanced(problem: ChainProblem, w: Array) -> Array:
    """The same model with these sums at zero, where all weights exist: P is never larger there."""
    layout, w = problem.layout, w.copy()
    if problem.l1:
        return w
    coef, *others = layout.parts(w)[:4]
    if layout.coef is None and coef.size:
        table = coef.reshape(layout.shape)
        table -= table.mean(axis=1, keepdims=True)
    for part, full in zip(others, layout.full):
        if full and part.size:
            part -= part.mean()
    return w


class LabelBlocks(NamedTuple):
    """The inverses (k, d, d) of the blocks of all labels."""

    inverses: Array

    @staticmethod
    def of(blocks: Iterable[Array]) -> LabelBlocks:
        """Invert the blocks, with every column in a unit of its own."""
        found = []
        with one_blas_thread():
            for block in blocks:
                unit = 1.0 / np.sqrt(np.diag(block))
                even, eye = unit[:, None] * block * unit, np.eye(len(block))
                inverse = linalg.solve(even, eye, assume_a="pos", check_finite=False)
                found.append(unit[:, None] * inverse * unit)
        return LabelBlocks(np.stack(found))

    def solve(self, r: Array, own: Array) -> None:
        """Replace ``own`` by the inverses times r, without sums over labels on both sides."""
        k, d = self.inverses.shape[:2]
        table = r.reshape(d, k)
        table = np.ascontiguousarray((table - table.mean(axis=1, keepdims=True)).T)
        with one_blas_thread():
            solved = np.matmul(self.inverses, table[:, :, None])[:, :, 0]
        solved -= solved.mean(axis=0)
        own[:] = solved.T.ravel()


class LabelsOfFeatures(NamedTuple):
    """diag(s + l2) − ssᵀ/σ for the labels of every feature, by its inverse.

    σ is the sum of s over all labels, also those without a weight: if all have one, a common rise
    of their weights has no curvature but l2.
    """

    lean: Array  # s/(s + l2)
    inverse: Array  # of σ − Σ s·lean, one number per feature
    starts: IntArray | None  # where features begin among the weights; None: all weights exist
    row: IntArray | None  # the feature of every weight

    @staticmethod
    def of(s: Array, diagonal: Array, total: Array, layout: Layout) -> LabelsOfFeatures:
        """From s and s + l2 of the weights that exist, and σ of every feature."""
        lean = s / diagonal
        starts = row = None
        if layout.coef is not None:
            of_weight = layout.coef // layout.shape[1]
            starts = np.flatnonzero(np.diff(of_weight, prepend=-1))
            row = np.cumsum(np.diff(of_weight, prepend=-1) > 0) - 1
            total = total[of_weight[starts]]
        found = LabelsOfFeatures(lean, total, starts, row)
        rest = total - found._by_feature(s)
        inverse = np.divide(1.0, rest, out=np.zeros_like(rest), where=rest > 0)
        return found._replace(inverse=inverse)

    def _by_feature(self, values: Array) -> Array:
        """Σ lean·values over the labels of every feature."""
        products = self.lean * values
        if self.starts is None:
            return products.reshape(self.inverse.size, -1).sum(axis=1)
        return np.asarray(np.add.reduceat(products, self.starts))

    def solve(self, r: Array, own: Array) -> None:
        """Add to ``own``, r divided by the diagonal, what the labels have in common."""
        shared = self._by_feature(r) * self.inverse
        if self.row is None:
            table = own.reshape(self.inverse.size, -1)
            table += self.lean.reshape(table.shape) * shared[:, None]
        else:
            own += self.lean * shared[self.row]


@dataclass(frozen=True, eq=False)
class Metric:
    """M, an approximation of H + l2: `solve` gives M⁻¹r. This one is diagonal."""

    diagonal: Array

    @property
    def close(self) -> bool:
        """Whether M is near enough for conjugate gradients to need few products."""
        return False

    @property
    def sound(self) -> bool:
        """Whether steps of length 1 are nearly always good."""
        return False

    def solve(self, r: Array) -> Array:
        """M⁻¹r."""
        return r / self.diagonal

    def on(self, free: BoolArray) -> Metric:
        """The metric of problems in which only these weights move."""
        return self


@dataclass(frozen=True, eq=False)
class BlockMetric(Metric):
    """The diagonal, as it is not known yet which weights move; `on` those, blocks of labels."""

    layout: Layout
    blocks: Array  # (k, d, d)

    def on(self, free: BoolArray) -> Metric:
        """The inverses of the rows and columns of every block that move."""
        table = free[: self.layout.sizes[0]].reshape(self.layout.shape)
        factors = []
        with one_blas_thread():
            for block, own in zip(self.blocks, table.T):
                rows = np.flatnonzero(own)
                if rows.size:
                    factors.append(linalg.cho_factor(block[np.ix_(rows, rows)], check_finite=False))
        return FreeBlocks(self.diagonal, table, factors)


@dataclass(frozen=True, eq=False)
class FreeBlocks(Metric):
    """Blocks of labels of the weights that move, by their factors."""

    free: BoolArray  # (d, k)
    factors: list[tuple[Array, bool]]

    def solve(self, r: Array) -> Array:
        """M⁻¹r; r is zero where nothing moves."""
        found = r / self.diagonal
        own = r[: self.free.size].reshape(self.free.shape)
        to = found[: self.free.size].reshape(self.free.shape)
        labels = np.flatnonzero(self.free.any(axis=0))
        for c, factor in zip(labels, self.factors, strict=True):
            rows = np.flatnonzero(self.free[:, c])
            to[rows, c] = linalg.cho_solve(factor, own[rows, c], check_finite=False)
        return found


@dataclass(frozen=True, eq=False)
class ChainMetric(Metric):
    """``features`` knows more than the diagonal about the weights of features, the first part.

    Transitions, start and stop have zero sums in M⁻¹r.
    """

    layout: Layout
    features: LabelBlocks | LabelsOfFeatures | None

    @property
    def close(self) -> bool:
        """Blocks of labels are; single features that occur together are not."""
        return isinstance(self.features, LabelBlocks)

    def solve(self, r: Array) -> Array:
        """M⁻¹r."""
        found = r / self.diagonal
        size = self.layout.sizes[0]
        if self.features is not None and size:
            self.features.solve(r[:size], found[:size])
        parts = zip(self.layout.full, self._others(r), self._others(found), self._scales)
        for full, given, own, scale in parts:
            if full and own.size:
                own -= given.mean() / scale
                own -= own.mean()
        return found

    def _others(self, w: Array) -> list[Array]:
        return self.layout.parts(w)[1:4]

    @cached_property
    def _scales(self) -> list[Array]:
        return self._others(self.diagonal)


class Metrics:
    """Makes metrics of a problem, at one point after another."""

    def __init__(self, problem: ChainProblem) -> None:
        self._problem = problem
        d, k = problem.design.shape[1], problem.n_labels
        few = d <= _FEW and 8.0 * k * d * d <= _LARGEST
        self._blocks = few and problem.layout.coef is None
        needless = self._blocks and not problem.l1
        self._squares = None if needless else _squared(problem.design)

    def at(self, terms: Terms) -> Metric:
        """The metric at a point with these terms of the loss."""
        problem = self._problem
        p = self.marginals(terms)
        weighted = problem.token_mass[:, None] * p
        squared = weighted * p
        spread = weighted - squared
        first, last = problem.offsets[:-1], problem.offsets[1:] - 1
        start, stop = spread[first].sum(axis=0), spread[last].sum(axis=0)
        weighted[last] = squared[last] = 0.0  # no edge begins there
        with one_blas_thread():
            steps = weighted[:-1].T @ p[1:] - squared[:-1].T @ np.square(p[1:])
        shape, layout = (problem.design.shape[1], problem.n_labels), problem.layout
        coef = np.ones(shape) if self._squares is None else self._squares.rmatvec(spread)
        edge = self._edge_diagonal(p)
        curvature = np.maximum(layout.vector(ChainWeights(coef, steps, start, stop, edge)), 0.0)
        least: Array | float = 0.0
        if not problem.l2:
            most = ChainWeights(*map(_largest, (coef, steps, start, stop, edge)))
            least = _SMALL * layout.vector(most)
        diagonal = lifted(curvature, problem.l2, least)
        if problem.l1 and self._blocks:
            return BlockMetric(diagonal, layout, np.stack(list(self._blocks_of_labels(spread))))
        if problem.l1:  # what mixes weights cannot tell which ones are to move
            return Metric(diagonal)
        size = layout.sizes[0]
        features: LabelBlocks | LabelsOfFeatures | None = None
        if self._blocks:
            features = LabelBlocks.of(self._blocks_of_labels(spread))
        elif size:
            own = curvature[:size], diagonal[:size]
            features = LabelsOfFeatures.of(*own, coef.sum(axis=1), layout)
        return ChainMetric(diagonal, layout, features)

    def marginals(self, terms: Terms) -> Array:
        """The marginals of tokens, from slopes mass·(p − [label])."""
        y, mass = self._problem.labels, self._problem.token_mass
        live = np.flatnonzero(mass > 0)
        k = self._problem.n_labels
        p = terms.slope.unary[:, :k] / np.where(mass > 0, mass, 1.0)[:, None]
        p[live, y[live]] += 1.0
        return np.clip(p, 0.0, 1.0, out=p)

    def _blocks_of_labels(self, spread: Array) -> Iterator[Array]:
        """The block of every label, with the penalty or a share of its own diagonal."""
        problem, d = self._problem, self._problem.design.shape[1]
        unsure = spread > _SURE * problem.token_mass[:, None]
        for c in range(problem.n_labels):
            rows = _some(np.flatnonzero(unsure[:, c]), _ROWS * d)
            if rows.size < d:  # the most unsure ones: without any the units of X would be lost
                rows = np.argsort(-spread[:, c], kind="stable")[: _ROWS * d]
            total, weight = float(spread[:, c].sum()), spread[rows, c]
            block = np.zeros((d, d))
            if rows.size:
                weight *= total / (float(weight.sum()) or 1.0)
                with one_blas_thread():
                    block = problem.design.rows(rows).gram(weight)
            own = np.diag(block)
            least = _ROUNDED * own
            if not problem.l2:  # in the units of each column
                least = np.where(own > 0, _FLOOR * own, _floor(own, _LEAST))
            block.flat[:: d + 1] += problem.l2 + least
            yield block

    def _edge_diagonal(self, p: Array) -> Array | None:
        """Σ mass·x²·p(a)p(b)(1 − p(a)p(b)) over edges, for the features of edges."""
        problem = self._problem
        if problem.edges is None:
            return None
        k, ends = problem.n_labels, problem.after_first
        pairs = np.zeros((problem.n_tokens, k, k))
        both = p[ends - 1, :, None] * p[ends, None, :]
        pairs[ends] = problem.token_mass[ends, None, None] * (both * (1.0 - both))
        flat = _squared(problem.edges).rmatvec(pairs.reshape(-1, k * k))
        return flat.reshape(-1, k, k)


def lifted(curvature: Array, l2: float, least: Array | float = 0.0) -> Array:
    """The diagonal of a curvature with that of the penalty, or with a little if it has none.

    ``least`` is what weights of the same units have at least.
    """
    if l2:
        return curvature + l2
    found = np.maximum(curvature, least)
    return np.where(found > 0, found, _floor(curvature, _LEAST))


def _largest(table: Array | None) -> Any:
    """For every weight the largest curvature of those in its units: the labels of a feature."""
    if table is None:
        return None
    rows = table.reshape(table.shape[0], -1) if table.ndim > 1 else table[None]
    return np.broadcast_to(rows.max(axis=1)[:, None], rows.shape).reshape(table.shape)


def _floor(curvature: Array, share: float) -> float:
    return share * float(curvature.max(initial=0.0)) or 1.0


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
    blocks = [np.square(np.asarray(block, dtype=float)) for block in design.gathered_blocks()]
    return as_design(np.concatenate(blocks))
