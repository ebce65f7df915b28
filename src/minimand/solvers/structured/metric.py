"""Approximations of the curvature of a chain model that are cheap to invert.

The curvature of the weights of features is Σₜ massₜ·xₜxₜᵀ ⊗ Sₜ, Sₜ = diag(pₜ) − pₜpₜᵀ, if every
token is taken by itself. Few features: it is replaced by (Σ hₜxₜxₜᵀ) ⊗ (Σ massₜSₜ)/Σhₜ with
hₜ = massₜ·trace Sₜ, which has the same trace and is inverted by two small eigenvalue problems.
Many: by its diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..._base.threads import one_blas_thread
from ..._base.typing import Array, BoolArray
from ...design import Design, SparseDesign, as_design
from .likelihood import Terms
from .problem import ChainProblem, ChainWeights

_FEW = 600  # columns, up to which their Gram is used; safeguard: its eigenvalues take d³ steps
_ROWS = 50  # rows per column of a Gram; safeguard: more hardly change it
_FLOOR = 1e-3  # share of the largest curvature that the others are raised to; safeguard


@dataclass(frozen=True, eq=False)
class Metric:
    """M, an approximation of H + l2: `solve` gives M⁻¹r.

    ``diagonal`` is that of the weights in their order. If there is a Gram, ``left`` and ``right``
    hold eigenvectors of both factors for the features, and ``curvature`` their products.
    """

    diagonal: Array
    left: Array | None = None
    right: Array | None = None
    curvature: Array | None = None

    def solve(self, r: Array, free: BoolArray | None = None) -> Array:
        """M⁻¹r; only on ``free`` weights, if given, where r is zero elsewhere."""
        found = r / self.diagonal
        if self.curvature is None or free is not None:
            return found
        assert self.left is not None
        assert self.right is not None
        size = self.curvature.size
        with one_blas_thread():
            table = self.left.T @ r[:size].reshape(self.curvature.shape) @ self.right
            table /= self.curvature
            found[:size] = (self.left @ table @ self.right.T).ravel()
        return found


class Metrics:
    """Makes metrics of a problem, at one point after another."""

    def __init__(self, problem: ChainProblem) -> None:
        self._problem = problem
        d = problem.design.shape[1]
        self._few = d <= _FEW and problem.layout.coef is None and not problem.l1
        self._squares: Design | None = None if self._few else _squared(problem.design)

    def at(self, terms: Terms) -> Metric:
        """The metric at a point with these terms of the loss."""
        problem = self._problem
        y, mass = problem.labels, problem.token_mass
        live = mass > 0
        p = terms.slope.unary / np.where(live, mass, 1.0)[:, None]
        p[np.flatnonzero(live), y[live]] += 1.0
        np.clip(p, 0.0, 1.0, out=p)
        spread = mass[:, None] * (p * (1.0 - p))
        ends = problem.after_first
        before, after = p[ends - 1], p[ends]
        steps = (mass[ends, None] * before).T @ after
        steps -= (mass[ends, None] * before**2).T @ after**2
        first, last = problem.offsets[:-1], problem.offsets[1:] - 1
        start, stop = spread[first].sum(axis=0), spread[last].sum(axis=0)
        edge = self._edge_diagonal(before, after)
        d, k = problem.design.shape[1], problem.n_labels
        coef = np.ones((d, k)) if self._squares is None else self._squares.rmatvec(spread)
        diagonal = problem.layout.vector(ChainWeights(coef, steps, start, stop, edge))
        diagonal = np.maximum(diagonal, 0.0)
        diagonal += problem.l2 or _FLOOR * float(diagonal.max(initial=0.0)) or 1.0
        if self._squares is not None:
            return Metric(diagonal)
        return Metric(diagonal, *self._factors(p, spread))

    def _factors(self, p: Array, spread: Array) -> tuple[Array, Array, Array]:
        """Eigenvectors of the Gram and of the covariance of labels, and products of eigenvalues."""
        problem = self._problem
        n, d = problem.design.shape
        weight = spread.sum(axis=1)
        total = float(weight.sum()) or 1.0
        with one_blas_thread():
            weighted = problem.token_mass[:, None] * p
            labels = np.diag(weighted.sum(axis=0)) - weighted.T @ p
            every = max(1, n // (_ROWS * d))
            rows = np.arange(0, n, every)
            some = float(weight[rows].sum()) or 1.0
            gram = problem.design.rows(rows).gram(weight[rows] * (total / some))
            low, left = linalg.eigh(gram, check_finite=False)
            small, right = linalg.eigh(labels / total, check_finite=False)
        products = np.multiply.outer(np.maximum(low, 0.0), np.maximum(small, 0.0))
        products += problem.l2 or _FLOOR * float(products.max(initial=0.0)) or 1.0
        return left, right, products

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


def _squared(design: Design) -> Design:
    """X∘X; X itself if it holds zeros and ones only."""
    if isinstance(design, SparseDesign):
        x = design.by_row
        if np.array_equal(x.data, x.data * x.data):
            return design
        return as_design(type(x)((x.data * x.data, x.indices, x.indptr), shape=x.shape))
    blocks = [np.square(np.asarray(block.matrix, dtype=float)) for block in design.blocks()]
    return as_design(np.concatenate(blocks))
