"""One outlier and four losses: how far it moves the line that each loss fits."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._base.typing import Array
from ..estimators import Regressor
from ..losses import Absolute, Chebyshev, GemanMcClure, Loss, Squared

OUTLIER_FIGURE = "minimand-outlier.png"
_LOSSES: tuple[tuple[str, Loss], ...] = (
    ("L∞: the largest residual", Chebyshev()),
    ("L2: squares", Squared()),
    ("L1: absolute residuals", Absolute()),
    ("robust: Geman-McClure", GemanMcClure(2.0)),
)


class Line(NamedTuple):
    """A loss by name, and the slope of the line ŷ = w·x that minimises it."""

    name: str
    slope: float
    relative_gap: float


def sample() -> tuple[Array, Array]:
    """y = 0·x + ε with ε from N(0, 1), and one outlier far above the right end."""
    rng = np.random.default_rng(13)
    x = np.linspace(0.5, 10.0, 20)
    y = rng.standard_normal(20)
    y[-1] = 25.0
    return x[:, None], y


def lines() -> list[Line]:
    """The fits, from the one that the outlier moves most to the one that ignores it."""
    X, y = sample()
    found = []
    for name, loss in _LOSSES:
        model = Regressor(loss, "no_penalty", intercept=False).fit(X, y)
        found.append(Line(name, float(model.coef_[0]), model.certificate_.relative))
    return found


def draw_outlier(file: Path) -> str:
    """Draw the samples and the lines; returns where the file is, or why there is none."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "No outlier was drawn: it needs matplotlib (pip install 'minimand[plot]')."
    from ..report.figure import COLOURS

    X, y = sample()
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    ax = figure.subplots()
    ax.axhline(0.0, color="0.8", linewidth=1.0, zorder=0)
    ax.plot(X[:-1, 0], y[:-1], "o", color="0.55", markersize=4, label="samples, y = 0·x + noise")
    ax.plot(X[-1, 0], y[-1], "X", color="black", markersize=9, label="the outlier")
    ends = np.array([0.0, 10.6])
    for line, colour in zip(lines(), COLOURS):
        text = f"{line.name}, slope {line.slope:.2f}"
        ax.plot(ends, line.slope * ends, color=colour, linewidth=2.0, label=text)
    ax.set_xlim(0.0, 10.6)
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    ax.set_title("One outlier: the steeper a loss grows, the further its line is dragged")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", frameon=False, fontsize=9)
    figure.savefig(file, dpi=120)
    return f"One outlier and the lines of four losses are drawn in {file.resolve()}."
