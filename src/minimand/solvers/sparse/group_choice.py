"""Selects the groups to solve on next: those whose slopes exceed their norms most."""

from __future__ import annotations

import numpy as np

from ..._base.typing import IntArray
from ...certificate import Judgement
from ...penalties import Grouped
from ...penalties.grouped import feature_gauges
from ...problem.objective import Objective

_FEWEST = 100  # features of a working set at least; safeguard


def best_groups(objective: Objective, judgement: Judgement, form: Grouped, factor: int) -> IntArray:
    """The features in the model, and of the others those with the largest gauges, in whole groups.

    They are ``factor`` times as many as the former, at least `_FEWEST`, and few of them beyond the
    ones that are out of bounds.
    """
    if form.by_rows is None:
        return np.arange(objective.n_features)
    gauges = feature_gauges(form, judgement.slope, judgement.point.w)
    inside = int(np.isinf(gauges).sum())
    size = max(factor * inside, _FEWEST)
    if size >= gauges.size:
        return np.arange(gauges.size)
    least = np.partition(gauges, gauges.size - size)[gauges.size - size]
    return np.flatnonzero(gauges >= least) if least > 0 else np.flatnonzero(gauges > 0)
