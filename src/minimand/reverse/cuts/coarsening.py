"""Coarser graphs: pairs of nodes with strong edges become one, and cuts go down from the coarsest.

With P the indicator of which nodes were joined, PᵀKP is the graph of the joined nodes. A cut of it
is a cut of K that keeps them together, with the same value; so a good cut of a small graph is a
good start for a large one, and moves of single nodes improve it at every level.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.typing import Array, IntArray
from ..._base.watch import look

LARGE = 4000  # nodes from which a cut begins with coarser graphs; measured: eigenvectors of 50000
_SMALL = 1500  # nodes of the coarsest graph; safeguard: its eigenvectors take a tenth of a second
_FEW = 30  # nodes of it for each cluster, at least; safeguard
_ROUNDS = 4  # in which nodes look for a partner; safeguard: what is left stays alone
_SLOW = 0.9  # of the nodes that are left after a level, from which there is no further; safeguard


class Level(NamedTuple):
    """A graph, the volumes of its nodes, and the node of the next coarser graph that each joins."""

    matrix: Any
    volumes: Array
    joined: IntArray | None


def levels_of(matrix: Any, volumes: Array, n_clusters: int, rng: Any) -> list[Level]:
    """The graph and coarser and coarser ones; the last has no ``joined``."""
    found: list[Level] = []
    least = max(_SMALL, _FEW * n_clusters)
    while matrix.shape[0] > least:
        look()
        joined = _partners(matrix, volumes, rng)
        count = int(joined.max()) + 1
        if count > _SLOW * matrix.shape[0]:
            break
        found.append(Level(matrix, volumes, joined))
        matrix = _coarser(matrix, joined, count)
        volumes = np.bincount(joined, weights=volumes, minlength=count).astype(float)
    return [*found, Level(matrix, volumes, None)]


def _partners(matrix: Any, volumes: Array, rng: Any) -> IntArray:
    """The numbers of the pairs: two nodes that are each other's best join.

    The best edge is that with the largest weight for the volumes at its ends, K(1/vᵢ + 1/vⱼ); equal
    ones are told apart by chance. Nodes without a partner look again among those that are left.
    """
    n = matrix.shape[0]
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    columns = matrix.indices
    apart = rows < columns
    first, second = rows[apart], columns[apart].astype(np.int64)
    strength = matrix.data[apart] * (1.0 / volumes[first] + 1.0 / volumes[second])
    strength = strength * (1.0 + 0.1 * rng.random_sample(strength.size))
    partner = np.arange(n)
    for _ in range(_ROUNDS):
        best = np.zeros(n)
        np.maximum.at(best, first, strength)
        np.maximum.at(best, second, strength)
        taken = (strength == best[first]) & (strength == best[second])
        partner[first[taken]] = second[taken]
        partner[second[taken]] = first[taken]
        free = partner == np.arange(n)
        left = free[first] & free[second]
        first, second, strength = first[left], second[left], strength[left]
        if not first.size:
            break
    return np.unique(np.minimum(partner, np.arange(n)), return_inverse=True)[1].ravel()


def _coarser(matrix: Any, joined: IntArray, count: int) -> Any:
    """PᵀKP."""
    n = matrix.shape[0]
    P = sparse.csr_array((np.ones(n), joined, np.arange(n + 1)), shape=(n, count))
    return sparse.csr_array(P.T @ (matrix @ P))
