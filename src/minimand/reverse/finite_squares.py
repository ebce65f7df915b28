"""Data whose squares are finite numbers: sums of squares are what all of this room computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

_LARGEST = {4: 1e15, 8: 1e150}  # by bytes of a number; safeguard: sums of many squares are finite


def with_finite_squares(X: Any) -> Any:
    """X, an array or a sparse matrix; in double precision, or refused, where squares overflow."""
    values = X.data if sparse.issparse(X) else X
    if not isinstance(values, np.ndarray) or not values.size:
        return X
    largest = max(float(values.max()), -float(values.min()))
    if largest <= _LARGEST.get(X.dtype.itemsize, np.inf):
        return X
    if largest > _LARGEST[8]:
        raise ValueError(
            f"X holds numbers as large as {largest:.1e}, whose squares overflow: divide X by a "
            "number of that size."
        )
    return X.astype(np.float64)
