"""From settings and data to an Objective."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..design import as_design
from ..objective import Objective
from .settings import Settings


def build(
    settings: Settings,
    X: Any,
    y: Array,
    sample_weight: Array | None,
    offset: Array | None,
    intercept: bool,
) -> Objective:
    """The objective of these settings on these data; rows of weight zero are left out."""
    design = as_design(X)
    if sample_weight is not None and not sample_weight.all():
        kept = np.flatnonzero(sample_weight)
        design, y, sample_weight = design.rows(kept), y[kept], sample_weight[kept]
        offset = None if offset is None else offset[kept]
    n, d = design.shape
    mass = settings.loss.masses(np.ones(n) if sample_weight is None else sample_weight)
    score = settings.score_words(offset=offset is not None, intercept=bool(intercept))
    return Objective(
        loss=settings.loss,
        penalty=settings.penalty.bind(d, settings.alpha),
        design=design,
        y=y,
        mass=mass,
        offset=offset,
        intercept=bool(intercept),
        words=f"{settings.words}, z = {score}",
    )
