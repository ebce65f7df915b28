"""The tree of a hierarchy, with the clusters of a cut in colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.typing import AnyArray, Array
from .clusters import colour_of
from .figure import axes_for, tidy

_MOST_LEAVES = 40  # leaves of a figure; convention: of more, small branches are drawn as one leaf


def plot_dendrogram(
    linkage: Array,
    labels: AnyArray | None = None,
    *,
    names: Sequence[str] | None = None,
    leaves: int = _MOST_LEAVES,
    height: float | None = None,
    ylabel: str = "height of the merge",
    what: str = "plot",
    ax: Any = None,
) -> Any:
    """The tree of merges; branches inside one cluster have its colour.

    Parameters
    ----------
    linkage : (n − 1, 4)
        Merges in scipy's format: two nodes, the height, the number of samples.
    labels : (n,), optional
        The cluster of every leaf, in the order of the leaves.
    names : sequence of str, optional
        The names of the leaves; by default their numbers.
    leaves : int, default=40
        Most leaves; where the tree has more, branches are drawn as one leaf with their size in
        brackets.
    height : float, optional
        Where the tree is cut: a dashed line.
    ylabel, what : str
        The name of the y axis; and the method that a missing matplotlib is said to be needed for.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    from scipy.cluster.hierarchy import dendrogram

    ax = axes_for(ax, what, (7.2, 4.6))
    n = len(linkage) + 1
    truncated = n > leaves
    drawn = dendrogram(
        np.asarray(linkage, dtype=float),
        p=leaves,
        truncate_mode="lastp" if truncated else None,
        labels=None if names is None or truncated else list(names),
        link_color_func=_colours(linkage, labels),
        leaf_rotation=90 if min(n, leaves) > 12 else 0,
        leaf_font_size=8,
        ax=ax,
    )
    for line in ax.collections:
        line.set_linewidth(1.3)
    if height is not None:
        ax.axhline(height, color="0.25", linestyle="--", linewidth=1.0, zorder=1)
    ax.set_ylim(0.0, 1.05 * max(float(np.max(drawn["dcoord"], initial=0.0)), 1e-300))
    ax.set_ylabel(ylabel)
    ax.set_xlabel("samples, or (number of samples)" if truncated else "")
    tidy(ax)
    ax.grid(False, axis="x")
    return ax


def _colours(linkage: Array, labels: AnyArray | None) -> Any:
    """The colour of a merge: that of its cluster, grey above the cut."""
    if labels is None:
        return lambda node: "0.35"
    names, member = np.unique(labels, return_inverse=True)
    n = len(linkage) + 1
    of_node = np.full(2 * n - 1, -1)
    of_node[:n] = member
    for i, (left, right) in enumerate(np.asarray(linkage)[:, :2].astype(int)):
        of_node[n + i] = of_node[left] if of_node[left] == of_node[right] else -1

    def colour(node: int) -> Any:
        if of_node[node] < 0:
            return "0.35"
        found = colour_of(int(of_node[node]), len(names))
        if isinstance(found, str):
            return found
        from matplotlib.colors import to_hex

        return to_hex(found)

    return colour
