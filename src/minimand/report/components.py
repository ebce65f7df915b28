"""The scree plot of components: their variances, what they keep, and what could be kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from .figure import COLOURS, axes_for, tidy

_MOST = 50  # bars; safeguard: more cannot be told apart


def plot_scree(model: Any, ax: Any = None) -> Any:
    """Bars for the shares of variance, a line for their sum, and the certified bound of it.

    ``model`` is a fitted PCA or KernelPCA. Variances of directions that the model leaves out are
    shown in grey where the fit knows them. The dashed line is the largest share that any directions
    of the same number could keep.
    """
    ax = axes_for(ax, f"{type(model).__name__}.plot")
    shares = np.asarray(model.explained_variance_ratio_, dtype=float)
    k = shares.size
    numbers = np.arange(1, k + 1)
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is not None and float(np.sum(spectrum)) > 0:
        others = (np.asarray(spectrum) / np.sum(spectrum))[k:_MOST]
        if others.size:
            ax.bar(np.arange(k + 1, k + 1 + others.size), others, color="0.85", label="left out")
    ax.bar(numbers, shares, color=COLOURS[0], label="share of variance")
    ax.plot(numbers, np.cumsum(shares), "o-", color=COLOURS[1], markersize=3, label="sum")
    certificate = model.certificate_
    scale = certificate.primal / max(1.0 - float(shares.sum()), 1e-300)
    if np.isfinite(certificate.dual) and scale > 0 and certificate.primal > 0:
        most = 1.0 - certificate.dual / scale
        ax.axhline(
            most, color="0.25", linestyle="--", linewidth=1.0, label=f"most by {k} directions"
        )
    ax.set_xlabel("component")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("share of variance")
    ax.set_ylim(0.0, 1.05)
    ax.legend(frameon=False, fontsize=8)
    tidy(ax)
    return ax


def plot_outputs(outputs: Any, ax: Any = None) -> Any:
    """The rows as points along the first two components; along the first, if there is one."""
    ax = axes_for(ax, "NormalizedPCA.plot")
    second = outputs[:, 1] if outputs.shape[1] > 1 else np.zeros(len(outputs))
    ax.scatter(outputs[:, 0], second, s=12, color=COLOURS[0], alpha=0.7, linewidths=0)
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2" if outputs.shape[1] > 1 else "")
    tidy(ax)
    return ax
