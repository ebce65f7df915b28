"""Clusters on two components, and the silhouettes of their samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._base.typing import AnyArray, Array
from .figure import COLOURS, axes_for, tidy

_MARKERS = "os^Dv<>P"
_MOST_POINTS = 20_000  # points of a figure; safeguard: of more, every m-th is drawn
_MOST_NAMED = 12  # clusters in a legend; convention: as many as can be told apart


def plot_clusters(
    X: Any,
    labels: AnyArray,
    centers: Any = None,
    *,
    embedded: bool = False,
    title: str = "",
    what: str = "plot",
    ax: Any = None,
) -> Any:
    """The samples on two components, one colour and marker per cluster.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        With two columns it is drawn as it is; with more, on its first two principal components.
    labels : (n_samples,)
        Clusters.
    centers : (n_clusters, n_features), optional
        Marked by crosses, in the same coordinates.
    embedded : bool
        Whether the columns of X are components already (of a kernel, say): the first two are drawn.
    title, what : str
        Above the figure; and the method that a missing matplotlib is said to be needed for.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    points, middle, axes = on_two_components(X, centers, embedded)
    ax = axes_for(ax, what, (6.0, 4.8))
    names = np.unique(labels)
    shown = np.arange(0, len(points), -(-len(points) // _MOST_POINTS))
    size = 28.0 if len(shown) <= 1000 else 8.0
    for place, name in enumerate(names):
        rows = shown[np.asarray(labels)[shown] == name]
        ax.scatter(
            points[rows, 0],
            points[rows, 1],
            s=size,
            color=colour_of(place, len(names)),
            marker=_MARKERS[place // len(COLOURS) % len(_MARKERS)],
            alpha=0.8,
            linewidths=0.0,
            label=f"{name}: {np.count_nonzero(labels == name)}",
            rasterized=len(shown) > 1000,
            zorder=2,
        )
    if middle is not None:
        # A white cross under a black one is seen on every colour.
        ax.scatter(*middle.T, s=90, color="white", marker="x", linewidths=4.5, zorder=3)
        ax.scatter(*middle.T, s=80, color="black", marker="x", linewidths=2.0, zorder=4)
    ax.set_xlabel(axes[0])
    ax.set_ylabel(axes[1])
    if title:
        ax.set_title(title, fontsize=10)
    tidy(ax)
    if len(names) <= _MOST_NAMED:
        beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(names) > 5 else {}
        how = {"fontsize": 8, "title_fontsize": 8, "framealpha": 0.85, "edgecolor": "none"}
        scale = 1.0 if size > 10 else 2.0
        ax.legend(title="cluster: samples", markerscale=scale, **how, **beside)
    return ax


def plot_silhouettes(
    samples: Array, labels: AnyArray, *, what: str = "plot_silhouettes", ax: Any = None
) -> Any:
    """The silhouettes of all samples, sorted within clusters, with their mean.

    Parameters
    ----------
    samples : (n_samples,)
        As `minimand.metrics.silhouette_samples` gives them.
    labels : (n_samples,)
        Clusters.
    ax : matplotlib Axes, optional
    """
    ax = axes_for(ax, what, (6.0, 4.8))
    names = np.unique(labels)
    space = max(1, len(samples) // 40)
    low, middles = 0, []
    for place, name in enumerate(names):
        own = np.sort(samples[np.asarray(labels) == name])
        rows = np.arange(low, low + len(own))
        colour = colour_of(place, len(names))
        ax.fill_betweenx(rows, 0.0, own, color=colour, linewidth=0.8, alpha=0.85, step="mid")
        middles.append(low + 0.5 * (len(own) - 1))
        low += len(own) + space
    mean = float(np.mean(samples))
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    ax.axvline(mean, color="0.25", linestyle="--", linewidth=1.0, label=f"mean {mean:.3f}")
    every = -(-len(names) // 25)
    ax.set_yticks(middles[::every], [str(name) for name in names[::every]])
    ax.set_xlim(min(-0.05, float(samples.min()) - 0.05), 1.0)
    ax.set_xlabel("silhouette")
    ax.set_ylabel("cluster")
    tidy(ax)
    ax.legend(edgecolor="none", framealpha=0.85, fontsize=8, loc="lower right")
    return ax


def colour_of(place: int, count: int) -> Any:
    """The colour of a cluster: told apart by the colour-blind, or a scale if there are many."""
    if count <= len(COLOURS) * len(_MARKERS):
        return COLOURS[place % len(COLOURS)]
    from matplotlib import colormaps

    return colormaps["viridis"](place / (count - 1))


def on_two_components(
    X: Any, centers: Any = None, embedded: bool = False
) -> tuple[Array, Array | None, tuple[str, str]]:
    """Two coordinates of every sample and of every centre, and the names of the two."""
    width = X.shape[1]
    if width == 1:
        points = np.column_stack([_dense(X), np.zeros(X.shape[0])])
        beside = None if centers is None else np.column_stack([centers, np.zeros(len(centers))])
        return points, beside, ("value", "")
    if embedded or width == 2:
        kind = "component" if embedded else "column"
        middle = None if centers is None else _dense(centers)[:, :2]
        return _dense(X[:, :2]), middle, (f"{kind} 1", f"{kind} 2")
    mean = np.asarray(X.mean(axis=0), dtype=float).ravel()
    directions, shares = _principal(X, mean)
    points = np.asarray(X @ directions) - mean @ directions
    middle = None if centers is None else np.asarray(centers @ directions) - mean @ directions
    axes = [f"component {i + 1} ({share:.0%} of the variance)" for i, share in enumerate(shares)]
    return points, middle, (axes[0], axes[1])


def _principal(X: Any, mean: Array) -> tuple[Array, Array]:
    """The first two principal directions, as columns, and their shares of the variance."""
    from scipy.sparse.linalg import LinearOperator, svds

    n, width = X.shape

    def times(v: Array) -> Array:
        return np.asarray(X @ v).ravel() - mean @ v.ravel()

    def transposed(u: Array) -> Array:
        return np.asarray(X.T @ u).ravel() - mean * u.sum()

    squares = X.multiply(X).sum() if sparse.issparse(X) else np.square(X, dtype=float).sum()
    total = float(squares) - n * float(mean @ mean)
    if min(n, width) <= 2 or total <= 0:
        return np.eye(width)[:, :2], np.zeros(2)
    centred = LinearOperator((n, width), matvec=times, rmatvec=transposed, dtype=float)
    start = np.ones(min(n, width)) + np.linspace(0.0, 1.0, min(n, width))  # the same every time
    _, values, directions = svds(centred, k=2, v0=start)
    order = np.argsort(values)[::-1]
    directions = directions[order].T
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), [0, 1]])
    return directions * signs, values[order] ** 2 / total


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
