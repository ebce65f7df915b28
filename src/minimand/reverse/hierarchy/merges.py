"""The merges of a hierarchy from the bottom up, by scipy, or by scikit-learn along a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._base.wording import counted
from ...kernels.dissimilarity import Dissimilarity
from .tree import Tree

LINKAGES = ("single", "complete", "average", "ward", "centroid")
OF_CENTRES = ("ward", "centroid")
MEMORY = 4e9  # bytes of the distances of all pairs by default, about 22000 rows; safeguard
_SPANNED = ("euclidean", "cityblock", "chebyshev", "canberra", "braycurtis")
_PAIRED = ("euclidean", "cityblock", "cosine")  # distances along a graph that scikit-learn has


def merged(
    pairs: Dissimilarity, X: Any, linkage: str, connectivity: Any, memory: float | None
) -> Tree:
    """The tree of all merges.

    Single linkage of vectors is the minimum spanning tree, for which scikit-learn keeps no matrix
    of distances. Every other linkage takes the distances of all pairs.
    """
    if pairs.n_samples == 1:
        return Tree(np.empty((0, 2), dtype=np.int64), np.empty(0))
    if connectivity is not None:
        return _along_graph(pairs, X, linkage, connectivity, memory)
    name = getattr(pairs, "name", "")
    if linkage == "single" and name in _SPANNED and not sparse.issparse(X):
        from sklearn.cluster import linkage_tree

        rows = np.array(X, dtype=float)  # a copy: memory must be writable
        found = linkage_tree(rows, linkage="single", affinity=name, return_distance=True)
        return Tree(np.asarray(found[0], dtype=np.int64), found[-1])
    from scipy.cluster.hierarchy import linkage as scipy_linkage

    _check_memory(pairs.n_samples, memory)
    found = scipy_linkage(pairs.condensed(), method=linkage)
    return Tree(found[:, :2].astype(np.int64), found[:, 2].copy())


def check_linkage(linkage: Any, pairs: Dissimilarity, connectivity: Any) -> None:
    """Refuse linkages that do not exist, and those by centres where there are none."""
    if not isinstance(linkage, str) or linkage not in LINKAGES:
        raise ValueError(f"linkage must be one of {list(LINKAGES)}, not {linkage!r}.")
    if linkage in OF_CENTRES and not pairs.euclidean:
        raise ValueError(
            f"linkage={linkage!r} needs the centres of clusters, and {pairs} has none: take "
            "linkage 'single', 'complete' or 'average', distance='euclidean' or a kernel."
        )
    if connectivity is None:
        return
    if linkage == "centroid":
        raise ValueError(
            "linkage='centroid' does not take a connectivity: take linkage 'ward' or 'average'."
        )
    if linkage == "ward" and not pairs.vectors:
        raise ValueError(
            f"linkage='ward' with a connectivity takes rows of numbers, but not {pairs}: take "
            "linkage 'single', 'complete' or 'average'."
        )


def _along_graph(
    pairs: Dissimilarity, X: Any, linkage: str, connectivity: Any, memory: float | None
) -> Tree:
    """Merges of clusters that an edge of the graph connects."""
    from sklearn.cluster import linkage_tree, ward_tree

    graph = _graph(connectivity, X, pairs.n_samples)
    if sparse.issparse(X):
        raise ValueError("connectivity takes a dense X: pass X.toarray().")
    how: dict[str, Any] = {"connectivity": graph, "return_distance": True}
    name = getattr(pairs, "name", "")
    if linkage == "ward":
        children, _, _, _, heights = ward_tree(np.asarray(X, dtype=float), **how)
    elif name in _PAIRED:
        rows = np.asarray(X, dtype=float)
        children, _, _, _, heights = linkage_tree(rows, linkage=linkage, affinity=name, **how)
    else:
        from scipy.spatial.distance import squareform

        _check_memory(pairs.n_samples, memory)
        square = squareform(pairs.condensed())
        found = linkage_tree(square, linkage=linkage, affinity="precomputed", **how)
        children, _, _, _, heights = found
    return Tree(np.asarray(children, dtype=np.int64), np.asarray(heights, dtype=float))


def _graph(connectivity: Any, X: Any, n_samples: int) -> Any:
    """The connectivity as a sparse matrix, made symmetric."""
    given = connectivity(X) if callable(connectivity) else connectivity
    try:
        found = sparse.csr_matrix(given)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "connectivity must be a matrix, or a function that gives one for X, as "
            "sklearn.neighbors.kneighbors_graph does."
        ) from error
    if found.shape != (n_samples, n_samples):
        raise ValueError(
            f"connectivity must have a row and a column for each of "
            f"{counted(n_samples, 'sample')}, but its shape is {found.shape}."
        )
    return found.maximum(found.T)


def _check_memory(n_samples: int, memory: float | None) -> None:
    """Refuse more distances than the limit allows: all pairs, and the copy that scipy works on."""
    limit = MEMORY if memory is None else memory
    needed = 8.0 * n_samples * (n_samples - 1)
    if needed > limit:
        raise ValueError(
            f"n_samples={n_samples} rows have {needed / 1e9:.3g} GB of distances of all pairs, "
            f"more than memory={limit:g} bytes: raise memory, merge a sample of the rows (predict "
            "does the others), or take linkage='single' or minimand.Divisive, which keep none."
        )
