"""From settings and data to an Objective."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array
from ..design import as_design
from ..problem.objective import Objective
from .settings import Settings


def one_sample(n_samples: int, weights: Array | None) -> float:
    """1/Σs, the alpha at which the penalty weighs as much as one sample of weight 1."""
    if weights is None:
        return 1.0 / n_samples
    with np.errstate(over="ignore", divide="ignore"):
        alpha = 1.0 / weights.sum()
    if alpha == 0.0:  # the sum has overflowed
        alpha = 1.0 / weights.max() / (weights / weights.max()).sum()
    if not np.isfinite(alpha):
        raise ValueError(
            "alpha=None stands for 1/Σs, which overflows as the sample weights are all but zero: "
            "multiply them by a number, or pass an alpha."
        )
    return float(alpha)


def build(
    settings: Settings,
    X: Any,
    y: Array,
    sample_weight: Array | None,
    offset: Array | None,
    intercept: bool,
) -> Objective:
    """The objective of these settings on these data; rows of weight zero are left out.

    The alpha of the settings must be a number: `one_sample` of the weights, if none was given.
    """
    design = as_design(X)
    if sample_weight is not None and not sample_weight.all():
        kept = np.flatnonzero(sample_weight)
        design, y, sample_weight = design.rows(kept), y[kept], sample_weight[kept]
        offset = None if offset is None else offset[kept]
    n, d = design.shape
    loss = settings.loss
    mass = loss.equal_masses(n) if sample_weight is None else loss.masses(sample_weight)
    score = settings.score_words(offset=offset is not None, intercept=bool(intercept))
    return Objective(
        loss=settings.loss,
        penalty=settings.penalty.bind(d, settings.factor),
        design=design,
        y=y,
        mass=mass,
        offset=offset,
        intercept=bool(intercept),
        words=f"{settings.words}, z = {score}",
    )
