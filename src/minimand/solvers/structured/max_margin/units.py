"""Graph problems with columns of size 1, for methods that mind the units of columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ...._base.typing import Array
from ..graph_problem import GraphProblem


def in_own_units(problem: GraphProblem) -> tuple[GraphProblem, Array]:
    """The problem with columns in units of their largest entries, and these units by weight.

    They are powers of two, so that nothing is rounded: w·unit are the weights of the new problem.
    """
    nodes, edges = _units(problem.X), _units(problem.edge_rows)
    k, features = problem.n_labels, problem.edge_features
    units = np.concatenate([np.tile(nodes, k), np.tile(edges, k * k)])
    if (units == 1.0).all():
        return problem, units
    if features is not None:
        features = _divided(features, edges)
    return replace(problem, X=_divided(problem.X, nodes), edge_features=features), units


def _units(matrix: Any) -> Array:
    if not matrix.shape[0]:
        return np.ones(matrix.shape[1])
    if sparse.issparse(matrix):
        largest = abs(matrix).max(axis=0).toarray().ravel()
    else:
        largest = np.abs(matrix).max(axis=0, initial=0.0)
    found: Array = np.exp2(np.rint(np.log2(np.where(largest > 0, largest, 1.0))))
    return found


def _divided(matrix: Any, units: Array) -> Any:
    if sparse.issparse(matrix):
        return sparse.csr_array(matrix @ sparse.diags_array(1.0 / units))
    return matrix / units
