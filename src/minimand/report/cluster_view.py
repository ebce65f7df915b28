"""The picture of a clustering: rows and centres on two principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._base.typing import AnyArray, Array
from .figure import COLOURS, new_axes, tidy

_MOST = 5000  # rows in a picture; safeguard: more take long to draw and cover each other


def plot_clusters(X: Any, labels: AnyArray, centers: Array, ax: Any = None) -> Any:
    """Draw rows, coloured by label, and centres on the first two principal components of X.

    Of many rows an even selection is drawn. With a single column, rows are drawn along a line.
    """
    from sklearn.decomposition import PCA

    ax = new_axes("plot") if ax is None else ax
    picked = np.linspace(0, X.shape[0] - 1, min(X.shape[0], _MOST)).astype(int)
    shown, colours = X[picked], np.array(COLOURS)[np.asarray(labels)[picked] % len(COLOURS)]
    axes = min(2, *shown.shape)
    solver = "arpack" if sparse.issparse(shown) and min(shown.shape) > axes else "full"
    dense = shown.toarray() if sparse.issparse(shown) and solver == "full" else shown
    pca = PCA(axes, svd_solver=solver, random_state=0).fit(dense)
    places, middles = _flat(pca.transform(dense)), _flat(pca.transform(centers))
    ax.scatter(places[:, 0], places[:, 1], s=9, c=colours, alpha=0.6, linewidths=0)
    ax.scatter(
        middles[:, 0],
        middles[:, 1],
        s=90,
        marker="X",
        c=np.array(COLOURS)[np.arange(len(centers)) % len(COLOURS)],
        edgecolors="black",
        zorder=3,
    )
    share = pca.explained_variance_ratio_
    ax.set_xlabel(f"component 1 ({_percent(share, 0)} of the variance)")
    ax.set_ylabel(f"component 2 ({_percent(share, 1)})" if axes > 1 else "")
    tidy(ax)
    return ax


def _flat(points: Array) -> Array:
    """Two columns."""
    return points if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])


def _percent(share: Array, component: int) -> str:
    value = share[component] if component < share.size else np.nan
    return f"{100 * value:.0f} %" if np.isfinite(value) else "none"
