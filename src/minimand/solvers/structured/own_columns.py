"""Problems on the columns that have entries in their data.

A weight of any other column is in no score, so that under a penalty it is zero at the optimum, and
without one zero is as good as any number. Of the 2¹⁸ columns of hashed features few are left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.typing import Array, IntArray
from ...design import Design, SparseDesign, as_design
from .graph_problem import GraphProblem
from .problem import ChainProblem, ChainWeights


class OwnColumns(NamedTuple):
    """The columns of tokens and of edges that are kept, None for all, and how many there are."""

    kept: IntArray | None
    kept_of_edges: IntArray | None
    size: int
    size_of_edges: int

    @property
    def all(self) -> bool:
        """Whether none is left out."""
        return self.kept is None and self.kept_of_edges is None

    def of_chain(self, weights: ChainWeights) -> ChainWeights:
        """The weights of the columns that are kept."""
        edge = None if weights.edge is None else _chosen(weights.edge, self.kept_of_edges)
        return weights._replace(coef=_chosen(weights.coef, self.kept), edge=edge)

    def whole_chain(self, weights: ChainWeights) -> ChainWeights:
        """The weights of all columns, those that were left out as zeros."""
        edge = weights.edge
        if edge is not None:
            edge = _placed(edge, self.kept_of_edges, self.size_of_edges)
        return weights._replace(coef=_placed(weights.coef, self.kept, self.size), edge=edge)

    def of_graph(self, problem: GraphProblem, w: Array) -> Array:
        """The vector of the weights of the columns that are kept, of one of the whole problem."""
        coef, links = problem.split(w)
        own = _chosen(coef.T, self.kept).T, _chosen(links.T, self.kept_of_edges).T
        return np.concatenate([part.ravel() for part in own])

    def whole_graph(self, problem: GraphProblem, w: Array) -> Array:
        """The vector of the weights of all columns, of one of the problem on those kept."""
        coef, links = problem.split(w)
        own = _placed(coef.T, self.kept, self.size).T
        edge = _placed(links.T, self.kept_of_edges, self.size_of_edges).T
        return np.concatenate([own.ravel(), edge.ravel()])


def chain_on_own_columns(problem: ChainProblem) -> tuple[ChainProblem, OwnColumns]:
    """The problem without empty columns; the problem itself if there are none."""
    edges, n_edge = problem.edges, 0 if problem.edges is None else problem.edges.shape[1]
    own = OwnColumns(_met(problem.design), _met(edges), problem.design.shape[1], n_edge)
    if own.all:
        return problem, own
    present = None if problem.present is None else _chosen(problem.present, own.kept)
    reduced = replace(
        problem,
        design=_on(problem.design, own.kept),
        edges=None if edges is None else _on(edges, own.kept_of_edges),
        present=present,
    )
    return reduced, own


def graph_on_own_columns(problem: GraphProblem) -> tuple[GraphProblem, OwnColumns]:
    """The same for graphs."""
    rows = problem.edge_rows
    own = OwnColumns(_met(problem.X), _met(rows), problem.X.shape[1], rows.shape[1])
    if own.all:
        return problem, own
    present = None if problem.present is None else _chosen(problem.present.T, own.kept).T
    edges = problem.edge_features
    reduced = replace(
        problem,
        X=problem.X if own.kept is None else problem.X.tocsr()[:, own.kept],
        edge_features=edges if own.kept_of_edges is None else edges.tocsr()[:, own.kept_of_edges],
        present=None if present is None else np.ascontiguousarray(present),
    )
    return reduced, own


def _met(matrix: Any) -> IntArray | None:
    """The columns of a sparse matrix or design that have entries; None if all have, or if dense."""
    if isinstance(matrix, SparseDesign):
        matrix = matrix.by_row
    if not sparse.issparse(matrix):
        return None
    rows = matrix.tocsr()
    counts = np.bincount(rows.indices, minlength=rows.shape[1])
    if counts.all():
        return None
    return np.flatnonzero(counts) if counts.any() else np.zeros(1, dtype=np.int64)


def _on(design: Design, kept: IntArray | None) -> Design:
    if kept is None:
        return design
    assert isinstance(design, SparseDesign)
    return as_design(design.by_row[:, kept])


def _chosen(rows: Any, kept: IntArray | None) -> Any:
    return rows if kept is None else rows[kept]


def _placed(rows: Array, kept: IntArray | None, size: int) -> Array:
    """Rows at their places in a table of so many, with zeros elsewhere."""
    if kept is None:
        return rows
    table = np.zeros((size, *rows.shape[1:]))
    table[kept] = rows
    return table


def matrix_of(design: Design) -> Any:
    """All rows of a design as one array in float64 or CSR matrix."""
    known = getattr(design, "x", None)
    if known is None:
        return np.concatenate([np.asarray(block) for block in design.gathered_blocks()])
    if sparse.issparse(known):
        return sparse.csr_array(known).astype(np.float64, copy=False)
    return np.ascontiguousarray(known, dtype=np.float64)
