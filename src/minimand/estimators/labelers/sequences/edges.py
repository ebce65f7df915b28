"""Features of the steps between neighbouring tokens: φ(x, c_j, c_{j+1}) that depends on x."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import sparse

from ...._base.typing import IntArray
from ...._base.wording import brief


def edge_rows(how: Any, matrix: Any, offsets: IntArray) -> Any:
    """Features of the step from the token before to each token; rows of first tokens are zero."""
    if how is None:
        return None
    first = np.zeros(matrix.shape[0], bool)
    first[offsets[:-1]] = True
    keep = (~first).astype(float)
    if callable(how):
        return _own_edges(how, matrix, offsets)
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


def _own_edges(function: Any, matrix: Any, offsets: IntArray) -> Any:
    """From a user's function of the rows of a sequence, which gives one row for each step."""
    parts: list[Any] = []
    for place, (a, b) in enumerate(itertools.pairwise(offsets)):
        found = function(matrix[a:b])
        if getattr(found, "ndim", 0) != 2 or found.shape[0] != b - a - 1:
            raise ValueError(
                f"edge_features gave {brief(found)} for sequence {place} of {b - a} tokens, but "
                f"must give a matrix with a row for each of its {b - a - 1} steps."
            )
        parts.append(found)
    width = parts[0].shape[1]
    is_sparse = any(map(sparse.issparse, parts))
    rows = sparse.vstack(parts, format="csr") if is_sparse else np.concatenate(parts)
    n = matrix.shape[0]
    first = np.zeros(n, bool)
    first[offsets[:-1]] = True
    places = np.flatnonzero(~first)
    if is_sparse:
        spread = sparse.csr_array(
            (np.ones(places.size), (places, np.arange(places.size))), shape=(n, places.size)
        )
        return sparse.csr_array(spread @ rows)
    spread = np.zeros((n, width))
    spread[places] = rows
    return spread
