"""Features of the steps between neighbouring tokens: φ(x, c_j, c_{j+1}) that depends on x."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...._base.typing import IntArray
from ..edge_features import gathered
from ..tokens import SEQUENCE


def edge_rows(how: Any, matrix: Any, offsets: IntArray, width: int | None = None) -> Any:
    """Features of the step from the token before to each token; rows of first tokens are zero.

    ``width`` is the number of columns that a function must give, if it is known.
    """
    if how is None:
        return None
    first = np.zeros(matrix.shape[0], bool)
    first[offsets[:-1]] = True
    keep = (~first).astype(float)
    if callable(how):
        return _own_edges(how, matrix, offsets, width)
    masked = (
        sparse.diags_array(keep) @ matrix if sparse.issparse(matrix) else keep[:, None] * matrix
    )
    if how == "later":
        return masked
    before = np.maximum(np.arange(matrix.shape[0]) - 1, 0)
    earlier = matrix[before]
    if sparse.issparse(matrix):
        return sparse.hstack([sparse.diags_array(keep) @ earlier, masked], format="csr")
    return np.hstack([keep[:, None] * earlier, masked])


def _own_edges(function: Any, matrix: Any, offsets: IntArray, width: int | None) -> Any:
    """From a user's function of the rows of a sequence, which gives one row for each step."""
    rows = gathered(
        lambda i: function(matrix[offsets[i] : offsets[i + 1]]),
        np.diff(offsets) - 1,
        SEQUENCE,
        width,
    )
    n = matrix.shape[0]
    first = np.zeros(n, bool)
    first[offsets[:-1]] = True
    places = np.flatnonzero(~first)
    if sparse.issparse(rows):
        spread = sparse.csr_array(
            (np.ones(places.size), (places, np.arange(places.size))), shape=(n, places.size)
        )
        return sparse.csr_array(spread @ rows)
    spread = np.zeros((n, rows.shape[1]))
    spread[places] = rows
    return spread
