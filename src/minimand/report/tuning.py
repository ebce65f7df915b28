"""The curve of cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .figure import COLOURS, axes_for, count_along_top, mark, tidy


def plot_scores(
    results: dict[str, Any], chosen: dict[str, int], label: str, is_loss: bool, ax: Any = None
) -> Any:
    """Mean score (or loss, its negative) with a band of one standard error; see `Tuned.plot`.

    Parameters
    ----------
    results : the table of cross-validation.
    chosen : the index of every rule.
    """
    ax = axes_for(ax, "Tuned.plot")
    sign = -1.0 if is_loss else 1.0
    alphas, error = results["param_alpha"], results["sem_test_score"]
    mean = sign * results["mean_test_score"]
    shown = np.isfinite(mean)
    splits = [
        values
        for key, values in results.items()
        if key.startswith("split") and len(results["mean_test_score"]) == len(values)
    ]
    if len(splits) <= 20:
        for values in splits:
            ax.plot(alphas, sign * values, color="0.8", linewidth=0.7, zorder=1.5)
    ax.fill_between(
        alphas[shown],
        (mean - error)[shown],
        (mean + error)[shown],
        color=COLOURS[0],
        alpha=0.18,
        linewidth=0,
        label="± one standard error",
        zorder=1.8,
    )
    ax.plot(alphas[shown], mean[shown], color=COLOURS[0], linewidth=1.8, label=label, zorder=2)
    for (_, index), symbol in zip(chosen.items(), "os"):
        ax.plot(
            alphas[index], mean[index], symbol, color=COLOURS[1], markersize=6, zorder=5, mec="w"
        )
    if (alphas > 0).all():
        ax.set_xscale("log")
    if len(alphas) > 1:
        ax.set_xlim(alphas[0], alphas[-1])  # the model grows from left to right
    _cut_off(ax, mean[shown], error[shown])
    ax.set_xlabel("alpha")
    ax.set_ylabel(label)
    tidy(ax)
    if "mean_n_nonzero" in results:
        counts = results["mean_n_nonzero"]
        known = np.isfinite(counts)
        count_along_top(ax, alphas[known], counts[known], "nonzeros, mean over folds")
    titles = {"min": "best", "1se": "1-SE rule"}
    same = len(set(chosen.values())) == 1
    places = {titles[rule]: float(alphas[index]) for rule, index in chosen.items()}
    mark(ax, {"best, and 1-SE rule": places["best"]} if same else places)
    ax.legend(edgecolor="none", framealpha=0.85, fontsize=8)
    return ax


def _cut_off(ax: Any, mean: Any, error: Any) -> None:
    """Limit the y axis to the mean curve, so that single bad folds do not flatten it."""
    if not mean.size:
        return
    low, high = float((mean - error).min()), float((mean + error).max())
    room = 0.15 * (high - low) or 1.0
    bottom, top = ax.get_ylim()
    ax.set_ylim(max(bottom, low - room), min(top, high + room))
