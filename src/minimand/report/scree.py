"""Eigenvalues in decreasing order, with what is left out and the bound that it gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array
from .figure import COLOURS, new_axes, tidy

_MOST_BARS = 60  # bars of a figure; convention: as many as can be told apart


def plot_scree(
    eigenvalues: Array,
    kept: int,
    *,
    total: float | None = None,
    objective: float | None = None,
    bound: float | None = None,
    what: str = "plot",
    ax: Any = None,
) -> Any:
    """Bars of the eigenvalues: those that are kept, and those whose sum bounds what is lost.

    Parameters
    ----------
    eigenvalues : (m,)
        Decreasing; as many as are known.
    kept : int
        How many of them belong to the model.
    total : float, optional
        The sum of all eigenvalues, if more exist than are known; the shares refer to it.
    objective, bound : float, optional
        The objective of the model and its lower bound (the sum of the discarded eigenvalues), for
        the legend.
    what : str
        The method that a missing matplotlib is said to be needed for.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    values = np.asarray(eigenvalues, dtype=float)[:_MOST_BARS]
    whole = float(np.sum(eigenvalues)) if total is None else float(total)
    ax = new_axes(what, (6.4, 4.2)) if ax is None else ax
    places = np.arange(1, len(values) + 1)
    inside = places <= kept
    share = float(np.sum(np.asarray(eigenvalues)[:kept])) / whole if whole > 0 else 1.0
    ax.bar(places[inside], values[inside], color=COLOURS[0], label=f"kept: {share:.1%} of the sum")
    if not inside.all():
        words = "discarded" if bound is None else f"discarded: the lower bound is {bound:.4g}"
        ax.bar(places[~inside], values[~inside], color="0.75", label=words)
    if objective is not None:
        words = f"objective {objective:.4g}"
        if bound is not None and objective > 0:
            words += f", {bound / objective:.1%} of it proved necessary"
        ax.plot([], [], " ", label=words)
    ax.set_xlabel("component")
    ax.set_ylabel("eigenvalue")
    ax.xaxis.get_major_locator().set_params(integer=True)
    tidy(ax)
    ax.legend(edgecolor="none", framealpha=0.85, fontsize=8)
    return ax
