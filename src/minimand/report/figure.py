"""What all figures share: new axes, colours, and a count along the top."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array

# Colours that the colour-blind can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def axes_for(ax: Any, what: str, size: tuple[float, float] = (7.2, 4.6)) -> Any:
    """The axes that were passed; None: those of a new figure. pyplot is imported only here."""
    if is_axes(ax):
        return ax
    if ax is not None:
        raise TypeError(
            f"ax of {what} must be matplotlib Axes, to draw on, not {type(ax).__name__}: pass no "
            "data there, and leave ax out for a new figure."
        )
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            f"{what} needs matplotlib: install it with pip install 'minimand[plot]'."
        ) from error
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def is_axes(found: Any) -> bool:
    """Whether something is matplotlib Axes, or behaves as these do."""
    return hasattr(found, "set_xlabel")


def count_along_top(ax: Any, x: Array, counts: Array, label: str = "nonzeros") -> None:
    """Write some of the counts above the figure, at their x; none if all are equal."""
    low, high = sorted(ax.get_xlim())
    inside = np.flatnonzero((x >= low) & (x <= high))
    if not inside.size or np.ptp(counts) == 0:
        return
    position = _position(ax, x[inside])
    wanted = np.linspace(position.min(), position.max(), 8)
    picked = inside[np.unique([int(np.argmin(np.abs(position - p))) for p in wanted])]
    top = ax.secondary_xaxis("top")
    top.set_xticks(x[picked], [f"{counts[i]:.0f}" for i in picked])
    top.minorticks_off()
    top.tick_params(length=3, labelsize=8, colors="0.35")
    top.set_xlabel(label, fontsize=8, color="0.35")
    top.spines["top"].set_visible(False)


def mark(ax: Any, places: dict[str, float]) -> None:
    """Dashed vertical lines with their names, at the bottom of the figure."""
    ax.get_xlim()  # positions are those of the data only after the axes have been scaled to them
    left, right = ax.transAxes.transform([(0, 0), (1, 0)])[:, 0]
    for i, (name, x) in enumerate(places.items()):
        share = (float(_position(ax, np.array([x]))[0]) - left) / (right - left)
        near_the_end = share > 0.85
        ax.axvline(x, color="0.25", linewidth=1.0, linestyle=("--", ":", "-.")[i % 3], zorder=3)
        if name:
            ax.annotate(
                name,
                (x, 0.015 + 0.06 * (i % 3)),
                xycoords=("data", "axes fraction"),
                xytext=(-3 if near_the_end else 3, 0),
                ha="right" if near_the_end else "left",
                textcoords="offset points",
                fontsize=8,
                color="0.25",
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
                zorder=4,
            )


def tidy(ax: Any) -> None:
    """A light grid, and no box."""
    ax.grid(True, which="major", color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _position(ax: Any, x: Array) -> Array:
    """The positions of values from left to right, on the scale of the axis."""
    pairs = np.column_stack([x, np.zeros(len(x))])
    return np.asarray(ax.transData.transform(pairs)[:, 0])
