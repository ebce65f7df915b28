"""Factors K ≈ LLᵀ of kernel matrices of rows that have weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from ..features.low_rank import LowRank
from .finite_squares import with_finite_values


class RowFactor(NamedTuple):
    """L, and the diagonal of K − LLᵀ; 0 where a row has no weight."""

    columns: Array
    rest: Array


def factor_of(features: LowRank, X: Any, weights: Array) -> RowFactor:
    """The factor of rows of these weights, by features that are fitted here."""
    columns = features.fit_formed(X, weights)
    with_finite_values(features.sizes_, features.kernel_)
    return RowFactor(columns, np.where(weights > 0, features.remainder_, 0.0))
