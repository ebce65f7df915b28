"""The normalised cut of a clustering, by each of the four forms in which the seeds write it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import Array, ArrayLike
from .checks import checked_affinity

FORMS = ("graph", "trace", "kernel", "residual")


def normalized_cut(K: ArrayLike, labels: ArrayLike, form: str = "graph") -> float:
    r"""The normalised cut of a clustering of the nodes of a graph.

    .. math:: \sum_j \frac{\text{cut}(j, \text{others})}{\text{vol}(j)}
        = k - \text{tr}\big((Y^\top \Lambda Y)^{-1} Y^\top K Y\big), \qquad \Lambda = \Delta(K 1)

    Four forms give the same number:

    - "graph": tr((YᵀΛY)⁻¹Yᵀ(Λ − K)Y), the edges that are cut over the volume of every cluster;
    - "trace": k − tr(Y(YᵀΛY)⁻¹YᵀK);
    - "kernel": tr(Λ⁻¹K − Y(YᵀΛY)⁻¹YᵀK) + k − tr Λ⁻¹K;
    - "residual": tr(Λ(Λ⁻¹ − YB)K(Λ⁻¹ − YB)ᵀ) + k − tr Λ⁻¹K with B = (YᵀΛY)⁻¹Yᵀ, what the centres BX
      of the clusters leave of the points Λ⁻¹X.

    The last two differ from the first by a constant of the graph, which is added here.

    Parameters
    ----------
    K : array-like or sparse matrix of shape (n, n)
        Affinities: symmetric and not negative.
    labels : array-like of shape (n,)
        The cluster of every node, of any type.
    form : {"graph", "trace", "kernel", "residual"}, default="graph"

    Returns
    -------
    float
        From 0, if no edge is cut, to k.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> chain = np.diag([3.0, 1.0, 3.0], 1)
    >>> mm.normalized_cut(chain + chain.T, [0, 0, 1, 1])             # 1/7 for each of two clusters
    0.2857142857142857
    >>> round(mm.normalized_cut(chain + chain.T, [0, 0, 1, 1], form="residual"), 12)
    0.285714285714
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {list(FORMS)}, not {form!r}.")
    K = checked_affinity(K, "K")
    labels = np.asarray(labels)
    if labels.shape != (K.shape[0],):
        raise ValueError(
            f"labels must hold the cluster of each of the {K.shape[0]} nodes, but its shape is "
            f"{labels.shape}."
        )
    names, place = np.unique(labels, return_inverse=True)
    k, n = names.size, K.shape[0]
    degrees = np.asarray(K.sum(axis=1), dtype=float).ravel()
    Y = sparse.csr_array((np.ones(n), (np.arange(n), place.ravel())), shape=(n, k))
    volumes = np.asarray(Y.T @ degrees)
    inner = _diagonal(Y.T @ (K @ Y))
    if form == "graph":
        return float(((volumes - inner) / volumes).sum())
    kept = float((inner / volumes).sum())  # tr((YᵀΛY)⁻¹YᵀKY)
    if form == "trace":
        return k - kept
    own = float((K.diagonal() / degrees).sum())  # tr Λ⁻¹K
    if form == "kernel":
        return (own - kept) + (k - own)
    return _residual(K, Y, degrees, volumes) + (k - own)


def _residual(K: Any, Y: Any, degrees: Array, volumes: Array) -> float:
    """tr(Λ(Λ⁻¹ − YB)K(Λ⁻¹ − YB)ᵀ), row by row of Λ⁻¹ − YB."""
    n = degrees.size
    B = (Y / volumes).T
    E = sparse.diags_array(1.0 / degrees) - Y @ B
    product = E @ K @ E.T if sparse.issparse(K) else E @ (E @ K).T
    assert product.shape == (n, n)
    return float(degrees @ _diagonal(product))


def _diagonal(matrix: Any) -> Array:
    return np.asarray(matrix.diagonal(), dtype=float)
