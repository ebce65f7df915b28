"""Compares runs of solvers: how the gap or the objective falls with the passes or the seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.typing import Array
from ..solvers.history import History
from .figure import COLOURS, axes_for, tidy

_MARGIN = 0.04  # of the x axis, on either side, so that no marker is cut; convention

_X = {"passes": "passes over the data", "iterations": "iterations", "seconds": "seconds"}
_Y = {
    "gap": "certified gap",
    "suboptimality": "objective − best lower bound",
    "primal": "objective",
}


def plot_history(
    *models_or_histories: Any,
    labels: Sequence[str] | None = None,
    x: str = "passes",
    y: str = "auto",
    ax: Any = None,
) -> Any:
    """Draw the progress of one or more fits.

    Parameters
    ----------
    *models_or_histories : fitted estimators, or their ``history_``
    labels : sequence of str, optional
        One per run; by default the names of the solvers.
    x : {"passes", "iterations", "seconds"}, default="passes"
        The unit of the x axis.
    y : {"auto", "gap", "suboptimality", "primal"}, default="auto"
        "gap" is the certified gap of each run. "suboptimality" is the objective minus the best
        lower bound of all runs, which is never less than the true distance from the optimum. Both
        have a logarithmic axis. "primal" is the objective, with the best lower bound of all runs
        as a dashed line. "suboptimality" and "primal" need runs of the same problem. "auto" is
        "gap", or "primal" if no run knows its gap before its end, as those of clusterings.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> fits = [mm.Regressor("squared", "l2", alpha=1e-3, solver=s).fit(X, y)
    ...         for s in ("proximal_gradient", "fista")]
    >>> ax = mm.plot_history(*fits)
    >>> [line.get_label() for line in ax.get_lines()]
    ['proximal_gradient', 'fista']
    """
    histories = [_history(item) for item in models_or_histories]
    _check(histories, labels, x, y)
    y = _chosen(histories) if y == "auto" else y
    names = [history.solver for history in histories] if labels is None else list(labels)
    ax = axes_for(ax, "plot_history", (6.4, 4.2))
    floor = max((_bound(history) for history in histories), default=-np.inf)
    for history, name, style in zip(histories, names, _styles(len(histories))):
        across = np.arange(len(history)) if x == "iterations" else getattr(history, x)
        values = _values(history, y, floor)
        shown = np.isfinite(values) & ((values > 0) | (y == "primal"))
        every = max(1, int(shown.sum()) // 8)  # a marker for each iteration would hide the line
        ax.plot(across[shown], values[shown], label=name, markevery=every, **style)
    if y != "primal":
        ax.set_yscale("log")
    elif np.isfinite(floor):
        ax.axhline(floor, color="0.35", linestyle="--", linewidth=1.2, label="lower bound")
    _from_zero(ax, whole=x == "iterations")
    ax.set_xlabel(_X[x])
    ax.set_ylabel(_Y[y])
    tidy(ax)
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(histories) > 5 else {}
    ax.legend(edgecolor="none", framealpha=0.85, **beside)
    return ax


def _from_zero(ax: Any, *, whole: bool) -> None:
    """The x axis begins at zero: a tenth of a pass is not to look like a long way."""
    end = float(ax.dataLim.x1)
    if 0 < end < np.inf:
        ax.set_xlim(-_MARGIN * end, (1.0 + _MARGIN) * end)
    if whole:
        ax.xaxis.get_major_locator().set_params(integer=True)


def _history(item: Any) -> History:
    history = item if isinstance(item, History) else getattr(item, "history_", None)
    if not isinstance(history, History):
        raise TypeError(
            f"plot_history takes fitted minimand estimators or their history_, not {item!r}."
        )
    return history


def _check(histories: list[History], labels: Sequence[str] | None, x: str, y: str) -> None:
    """Refuse bad arguments, each in one sentence, before anything is drawn."""
    if not histories:
        raise ValueError("plot_history needs at least one fitted model or history.")
    if x not in _X:
        raise ValueError(f"x must be one of {sorted(_X)}, not {x!r}.")
    if y not in {"auto", *_Y}:
        raise ValueError(f"y must be one of {sorted({'auto', *_Y})}, not {y!r}.")
    if labels is not None and (isinstance(labels, str) or len(labels) != len(histories)):
        raise ValueError(f"labels must hold one text per run: {len(histories)} are needed.")
    problems = _problems(histories)
    if y not in ("auto", "gap") and len(problems) > 1:
        raise ValueError(
            f"y={y!r} compares runs of one problem, but these minimise {sorted(problems)}: "
            "plot y='gap'."
        )


def _problems(histories: list[History]) -> set[str]:
    """What the runs minimise, in words."""
    return {history.objective for history in histories}


def _chosen(histories: list[History]) -> str:
    """What "auto" draws: gaps, if some run has two of them or the problems differ."""
    lines = (np.isfinite(history.gap) & (history.gap > 0) for history in histories)
    several = len(_problems(histories)) > 1
    return "gap" if several or any(np.count_nonzero(line) > 1 for line in lines) else "primal"


def _bound(history: History) -> float:
    """The best lower bound that a run proved."""
    dual = history.dual
    return float(np.max(dual[np.isfinite(dual)], initial=-np.inf))


def _values(history: History, y: str, floor: float) -> Array:
    return history.primal - floor if y == "suboptimality" else np.asarray(getattr(history, y))


def _styles(count: int) -> list[dict[str, Any]]:
    """Colours that the colour-blind can tell apart, each with a marker of its own."""
    markers = "os^Dv<>P"
    return [
        {
            "color": COLOURS[i % len(COLOURS)],
            "marker": markers[i % len(markers)],
            "linestyle": ("-", "--", ":")[i // len(COLOURS) % 3],
            "linewidth": 1.8,
            "markersize": 5,
        }
        for i in range(count)
    ]
