"""From what a user passes to arrays a design can hold, with one clear sentence for bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import column_or_1d, validate_data

from .._typing import AnyArray, Array, ArrayLike

_MATRIX = {
    "accept_sparse": ("csr", "csc"),
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}


def check_xy(estimator: Any, X: ArrayLike, y: ArrayLike) -> tuple[Any, AnyArray]:
    """X as a float matrix, y as a vector; finite, and of equal length."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    X, y = validate_data(estimator, X, y, reset=True, multi_output=True, y_numeric=False, **_MATRIX)
    _check_finite(X, "X")
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(
            f"y has {y.shape[1]} columns; {type(estimator).__name__} takes one output, "
            "so fit one model per column."
        )
    return X, column_or_1d(y, warn=True)


def check_x(estimator: Any, X: ArrayLike) -> Any:
    """X for prediction: same features as in fit, finite."""
    X = validate_data(estimator, X, reset=False, **_MATRIX)
    _check_finite(X, "X")
    return X


def check_numbers(y: AnyArray) -> Array:
    """y as finite float64 numbers."""
    try:
        numbers = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers, but it has dtype {y.dtype}.") from error
    _check_finite(numbers, "y")
    return numbers


def _check_finite(x: Any, name: str) -> None:
    """One sentence that names the argument, the first bad entry, and what to do."""
    values = x.data if sparse.issparse(x) else x
    # A sum is one pass without temporaries; only a suspicious one is looked at closely.
    with np.errstate(all="ignore"):
        total = values.sum(dtype=np.float64)
    if np.isfinite(total) or np.isfinite(values).all():
        return
    what = "NaN" if np.isnan(values).any() else "infinity (inf)"
    where = ""
    if not sparse.issparse(x):
        place = np.argwhere(~np.isfinite(x))[0]
        where = f" (first at {', '.join(f'index {i}' for i in place)})"
    raise ValueError(f"{name} contains {what}{where}: impute or drop those entries before fitting.")


def check_weights(sample_weight: ArrayLike, n_samples: int) -> Array | None:
    """sample_weight as float64, or None for equal weights."""
    if sample_weight is None:
        return None
    weights = _vector(sample_weight, n_samples, "sample_weight")
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample: give at least one a weight.")
    return weights


def check_offset(offset: ArrayLike, n_samples: int) -> Array | None:
    """Offset as float64, or None."""
    return None if offset is None else _vector(offset, n_samples, "offset")


def _vector(values: ArrayLike, n_samples: int, name: str) -> Array:
    try:
        vector = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, one per sample.") from error
    if vector.ndim == 0:
        vector = np.full(n_samples, float(vector))
    if vector.ndim != 1:
        raise ValueError(f"{name} must be 1D: Sample weights must be 1D array or scalar."
                         if name == "sample_weight" else f"{name} must be 1D.")
    if vector.shape != (n_samples,):
        raise ValueError(
            f"{name} must have one number per sample: expected {n_samples}, got {vector.shape[0]}."
        )
    _check_finite(vector, name)
    return vector
