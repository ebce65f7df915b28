"""Columns of a matrix or data frame that hold text, where numbers are needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing


class Words(NamedTuple):
    """Where a matrix or data frame holds text: a column (name or number) and an entry of it."""

    key: str
    example: str


def words_in(X: Any) -> Words | None:
    """The first column that holds text; None if there is none."""
    if sparse.issparse(X):
        return None
    for j in range(X.shape[1]):
        column = np.asarray(_safe_indexing(X, j, axis=1))
        text = next((entry for entry in column if _is_text(entry)), None)
        if text is not None:
            return Words(key_of(X, j), repr(str(text)[:30]))
    return None


def key_of(X: Any, j: int) -> str:
    """The name of column j of a data frame, or its number."""
    names = getattr(X, "columns", None)
    name = j if names is None else names[j]
    return repr(name.item() if isinstance(name, np.generic) else name)


def _is_text(entry: Any) -> bool:
    """Whether an entry is text that is no number."""
    if not isinstance(entry, str | bytes):
        return False
    try:
        float(entry)
    except ValueError:
        return True
    return False
