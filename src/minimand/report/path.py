"""Coefficients along a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from .._base.typing import AnyArray, Array
from .figure import COLOURS, axes_for, count_along_top, mark, tidy

_NAMED = 8  # lines with a colour and a name; convention: as many as can be told apart
_ALL_COLOURED = 12  # lines; convention: up to so many, every line has a colour
_MOST_LINES = 2000  # lines; safeguard: of more, the smallest are not drawn
_X = {"alpha": "alpha", "shrinkage": "shrinkage factor  ‖w(alpha)‖₁ / largest"}


def plot_path(
    alphas: Array,
    coefs: Array,
    shrinkage: Array,
    n_nonzero: Array,
    names: Sequence[str],
    x: str = "alpha",
    ax: Any = None,
    chosen: Any = None,
) -> Any:
    """One line per coefficient, the largest with their names; see `minimand.Path.plot`.

    Parameters
    ----------
    coefs : (n_alphas, n_lines)
    names : one per line.
    chosen : alphas to mark, by name or without.
    """
    if x not in _X:
        raise ValueError(f"x must be 'alpha' or 'shrinkage', not {x!r}.")
    places = _places(chosen)
    ax = axes_for(ax, "Path.plot")
    logarithmic = x == "alpha" and bool((alphas > 0).all())
    across = alphas if x == "alpha" else shrinkage
    order = np.argsort(-np.abs(coefs).max(axis=0, initial=0.0), kind="stable")
    _draw_lines(ax, across, coefs, order)
    ax.axhline(0.0, color="0.4", linewidth=0.8, zorder=1)
    if logarithmic:
        ax.set_xscale("log")
    if x == "alpha" and len(alphas) > 1:
        ax.set_xlim(alphas[0], alphas[-1])  # the model grows from left to right
    elif len(alphas) > 1:
        ax.set_xlim(0.0, 1.0)
    ax.set_xlabel(_X[x])
    ax.set_ylabel("coefficient")
    tidy(ax)
    count_along_top(ax, across, n_nonzero)
    _name_lines(ax, across, coefs, order, names)
    mark(ax, {name: _across(alpha, alphas, across, x) for name, alpha in places.items()})
    return ax


def _draw_lines(ax: Any, x: Array, coefs: Array, order: AnyArray) -> None:
    """Draw the largest lines in colour, and the others in thin grey behind them."""
    from matplotlib.collections import LineCollection

    count = coefs.shape[1]
    coloured = count if count <= _ALL_COLOURED else _NAMED
    rest = order[coloured:_MOST_LINES]
    rest = rest[np.abs(coefs[:, rest]).max(axis=0, initial=0.0) > 0]
    lines = [np.column_stack([x, coefs[:, j]]) for j in rest]
    thin = LineCollection(lines, colors="0.72", linewidths=0.6, zorder=1.5)
    ax.add_collection(thin)
    for place, j in enumerate(order[:coloured]):
        style = ("-", "--")[place // len(COLOURS) % 2]
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(x, coefs[:, j], color=colour, linestyle=style, linewidth=1.5, zorder=2)
    ax.autoscale_view()


def _name_lines(ax: Any, x: Array, coefs: Array, order: AnyArray, names: Sequence[str]) -> None:
    """Write the names of the largest coefficients at the ends of their lines, moved apart."""
    count = coefs.shape[1]
    shown = order[: count if count <= _ALL_COLOURED else _NAMED]
    shown = shown[coefs[-1, shown] != 0]
    if not shown.size:
        return
    low, high = ax.get_ylim()
    ends = coefs[-1, shown]
    gap = 0.042 * (high - low)
    heights = _apart(ends, gap, low, high)
    rank = {int(j): place for place, j in enumerate(order)}
    for j, end, height in zip(shown, ends, heights):
        colour = COLOURS[rank[int(j)] % len(COLOURS)]
        ax.annotate(
            names[j],
            (x[-1], end),
            xytext=(1.03, (height - low) / (high - low)),
            textcoords="axes fraction",
            fontsize=8,
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.6,
                "shrinkA": 0,
                "relpos": (0.0, 0.5),
            },
        )


def _apart(values: Array, gap: float, low: float, high: float) -> Array:
    """The values, moved as little as possible (in squares) until none is nearer than gap."""
    order = np.argsort(values)
    steps = gap * np.arange(values.size)
    placed = isotonic_regression(values[order] - steps).x + steps
    placed += max(0.0, low - placed[0])
    placed -= max(0.0, placed[-1] - high)
    out = np.empty_like(placed)
    out[order] = placed
    return out


def _places(chosen: Any) -> dict[str, float]:
    """Alphas to mark: one, several, or by name."""
    if chosen is None:
        return {}
    if isinstance(chosen, Mapping):
        items = list(chosen.items())
    else:
        items = [(f"{a:.3g}", a) for a in np.atleast_1d(np.asarray(chosen, dtype=float))]
    for name, alpha in items:
        if not np.isfinite(alpha) or alpha < 0:
            raise ValueError(
                f"chosen must hold alphas that are not negative, not {name}={alpha!r}."
            )
    return {str(name): float(alpha) for name, alpha in items}


def _across(alpha: float, alphas: Array, across: Array, x: str) -> float:
    """The position of an alpha on the x axis, interpolated between those of the path."""
    if x == "alpha":
        return alpha
    return float(np.interp(alpha, alphas[::-1], across[::-1]))
