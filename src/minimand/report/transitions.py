"""A picture of the transitions between labels: a table of colours, with start and stop scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import AnyArray, Array
from .figure import axes_for

_FEW = 12  # labels up to which numbers are written into the cells; convention


def plot_transitions(
    classes: AnyArray,
    transitions: Array,
    start: Array | None = None,
    stop: Array | None = None,
    ax: Any = None,
) -> Any:
    """Draw scores of labels that follow each other, from the row's to the column's.

    If there are any, the first row has the scores of first labels and the last column those of last
    labels. Cells that are not allowed are left white.

    Parameters
    ----------
    classes : ndarray of shape (k,)
    transitions : ndarray of shape (k, k)
        −inf where not allowed.
    start, stop : ndarray of shape (k,), optional
        Edges of graphs have none.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    k, table = len(classes), np.array(transitions, dtype=float)
    names = [str(label) for label in classes.tolist()]
    across, down = names, names
    if start is not None and stop is not None:
        table = np.full((k + 1, k + 1), np.nan)
        table[0, :k], table[1:, :k], table[1:, k] = start, transitions, stop
        across, down = [*names, "stop"], ["start", *names]
    table[~np.isfinite(table)] = np.nan
    size = min(max(0.45 * (k + 1) + 2.0, 4.0), 12.0)  # inches; convention
    ax = axes_for(ax, "plot", (size + 1.0, size))
    reach = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
    image = ax.imshow(table, cmap="RdBu_r", vmin=-reach, vmax=reach)
    ax.set_xticks(range(len(across)), across, rotation=90)
    ax.set_yticks(range(len(down)), down)
    ax.set_xlabel("next label" if start is not None else "label of the second end")
    ax.set_ylabel("label" if start is not None else "label of the first end")
    if k <= _FEW:
        for (row, column), value in np.ndenumerate(table):
            if np.isfinite(value):
                colour = "white" if abs(value) > 0.6 * reach else "black"
                ax.text(column, row, f"{value:.1f}", ha="center", va="center", color=colour, size=8)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.figure.colorbar(image, ax=ax, label="score", shrink=0.8)
    return ax
