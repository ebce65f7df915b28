"""Sums of the largest eigenvalues for any number of clusters, a single one included."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...certificate.relaxation import TopSum


def directions(of: Any, matrix: Any, count: int, **options: Any) -> TopSum:
    """The ``count`` largest eigenvalues by a function of `certificate.relaxation`.

    Their sum is 0 if none is asked for: a single cluster discards all.
    """
    found: TopSum = of(matrix, max(count, 1), **options)
    if count:
        return found
    return TopSum(np.empty(0), 0.0, found.total, found.total, 0.0)
