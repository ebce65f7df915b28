"""The criterion for every number of clusters, with the one that it chooses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import AnyArray, Array
from .figure import COLOURS, axes_for, mark, tidy


def plot_choice(
    k: AnyArray, values: Array, errors: Array | None, chosen: int, label: str, ax: Any = None
) -> Any:
    """The criterion against k, with bars of one standard error where it has one.

    Parameters
    ----------
    k, values : (m,)
    errors : (m,), optional
    chosen : the k to mark.
    label : the name of the criterion.
    ax : matplotlib Axes, optional
    """
    ax = axes_for(ax, "choose_k", (6.4, 4.2))
    known = np.isfinite(values)
    style = {"color": COLOURS[0], "marker": "o", "linewidth": 1.8, "markersize": 5}
    if errors is None:
        ax.plot(k[known], values[known], **style)
    else:
        ax.errorbar(k[known], values[known], yerr=errors[known], capsize=3, **style)
    best = np.flatnonzero((k == chosen) & known)
    ax.plot(k[best], values[best], "o", color=COLOURS[1], markersize=9, zorder=5, mec="w")
    ax.set_xlabel("number of clusters k")
    ax.set_ylabel(label)
    ax.xaxis.get_major_locator().set_params(integer=True)
    tidy(ax)
    mark(ax, {f"k = {chosen}": float(chosen)})
    return ax
