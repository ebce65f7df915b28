"""Columns that are not numeric, and the output of feature maps as a numeric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._base.text_columns import words_in
from ..._base.typing import AnyArray
from ..._base.wording import counted


def holds_words(X: Any) -> bool:
    """Whether a list, array or series begins with a text."""
    found = np.asarray(X)
    return bool(found.size) and isinstance(found.flat[0], str | bytes)


def columns_from(X: Any, n_samples: int, n_columns: int | None = None) -> Any:
    """The output of ``features`` as a float matrix, its numbers of rows and columns checked.

    Frames, arrays and sparse matrices of any kind are accepted.
    """
    X = _as_matrix(X)
    if X.shape[0] != n_samples:
        raise ValueError(
            f"features= must give a row per sample, but it gives {counted(X.shape[0], 'row')} for "
            f"{counted(n_samples, 'sample')}."
        )
    if X.shape[1] == 0:
        raise ValueError(
            "features= gives no columns, so there is nothing to learn from: use features that the "
            "samples have (of texts, parts no longer than they are)."
        )
    if n_columns is not None and X.shape[1] != n_columns:
        raise ValueError(
            f"features= gives {counted(X.shape[1], 'column')}, but the model was fitted on "
            f"{n_columns}: its transform must give the same columns for all data."
        )
    return X


def _as_matrix(X: Any) -> Any:
    if not sparse.issparse(X):
        X = np.asarray(X)
    elif X.format not in ("csr", "csc"):
        X = X.tocsr()
    if X.ndim != 2 or X.dtype.kind == "c":
        what = "complex numbers" if X.dtype.kind == "c" else f"an array of {X.ndim} dimension(s)"
        raise ValueError(f"features= must give a matrix of real numbers, but it gives {what}.")
    if X.dtype in (np.float32, np.float64):
        return X
    return _as_numbers(X)


def _as_numbers(X: AnyArray) -> AnyArray:
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        found = words_in(X)
        what = f"{found.example} in column {found.key}" if found else "other objects"
        raise ValueError(
            f"features= must give numbers, but it gives {what}: encode what it passes through, for "
            "example with make_column_transformer((OneHotEncoder(), [names of columns]))."
        ) from error
