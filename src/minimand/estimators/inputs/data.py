"""From what a user passes to arrays a design can hold, with one clear sentence for bad input."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_array

from ..._base.typing import AnyArray, Array, ArrayLike
from ..._base.wording import counted
from ...design.base import plain
from ...outputs.classes import distinct
from .kinds import as_labels, refuse_dates, refuse_mixed, unmasked
from .matrix import (
    all_finite,
    as_matrix,
    check_finite,
    is_plain,
    is_plain_matrix,
    refuse_complex,
    rows_of_any_kind,
)

_FEW = 20  # classes; convention: scikit-learn asks from there on whether y is continuous


def check_xy(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    fitted: bool = False,
    many: bool = False,
    mapped: bool | None = None,
) -> tuple[Any, AnyArray]:
    """X as a float matrix, y as a vector; finite, and of equal length.

    With ``fitted``, X must have the features that the estimator was fitted on; with ``many``, y
    may have several columns. With ``mapped``, X is raw input of ``features`` and need not be a
    matrix; the default is whether the estimator has ``features``. X may also be a Design.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    if mapped is None:
        mapped = _has_features(estimator, fitted)
    X = (rows_of_any_kind if mapped else as_matrix)(estimator, X, reset=not fitted)
    y = _target(estimator, y, many)
    n_samples = _num_samples(X)
    if y.shape[0] != n_samples:
        raise ValueError(
            f"X and y must hold the same samples, but X has {counted(n_samples, 'row')} "
            f"and y has {y.shape[0]}."
        )
    return X, y


def check_vector(estimator: Any, y: ArrayLike) -> AnyArray:
    """Y as a vector by itself; finite."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    return _target(estimator, y, many=False)


def check_x(estimator: Any, X: ArrayLike) -> Any:
    """X for prediction: same features as in fit, finite."""
    return (rows_of_any_kind if _has_features(estimator, True) else as_matrix)(
        estimator, X, reset=False
    )


def check_labels(y: AnyArray, instead: str = "Regressor") -> None:
    """Y must hold labels of one type: strings, booleans, whole numbers, but no measurements.

    ``instead`` is the model for measurements, which the message names.
    """
    if y.dtype.kind == "O":
        refuse_mixed(y, "y")
    if few_labels(y) is not None:
        return
    try:
        check_classification_targets(y)
    except ValueError as error:
        kind = "continuous" if y.dtype.kind == "f" else "unknown"
        raise ValueError(
            f"y holds no class labels (Unknown label type: {kind}): pass strings, booleans or "
            f"whole numbers, or use minimand.{instead} for a continuous y."
        ) from error


def few_labels(y: Any) -> AnyArray | None:
    """The labels of y, sorted, if they are a few whole numbers or booleans; otherwise None.

    Such labels need no other check: those of scikit-learn take as long as a small fit.
    """
    if not is_plain(y, "iub") or y.ndim != 1 or y.size == 0:
        return None
    if y.dtype.kind == "f" and not (y == np.rint(y)).all():
        return None
    found = distinct(y)
    return found if found.size <= _FEW else None


def n_columns(y: Any) -> int:
    """The number of columns of y; 1 for a vector and for anything that is no table."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple):
        return len(y[0])
    return int(shape[1]) if shape is not None and len(shape) == 2 else 1


def check_indicator(y: AnyArray) -> None:
    """Y of several columns must hold zeros and ones, a column for every label."""
    if y.dtype.kind not in "fiub" or not np.isin(y, (0, 1)).all():
        raise ValueError(
            f"y has {y.shape[1]} columns, so it must hold zeros and ones, a column for every label "
            "that a sample may have; pass one column of labels if every sample has one label."
        )


def check_numbers(y: AnyArray) -> Array:
    """Y as finite float64 numbers; a y of floating type was checked to be finite before."""
    if y.dtype in (np.float64, np.float32):
        return plain(y, np.float64)
    refuse_dates(y, "y")
    try:
        numbers = plain(y, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers, but it has dtype {y.dtype}: use minimand.Classifier for labels, "
            "or code levels that have an order as numbers."
        ) from error
    check_finite(numbers, "y")
    return numbers


def check_weights(sample_weight: ArrayLike, n_samples: int) -> Array | None:
    """sample_weight as float64, or None for equal weights."""
    if sample_weight is None:
        return None
    weights = _vector(sample_weight, n_samples, "sample_weight")
    refuse_negative(weights)
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample: give at least one a weight.")
    return weights


def refuse_negative(weights: Array) -> None:
    """Refuse negative weights: they would reward a large loss."""
    if (weights < 0).any():
        raise ValueError(
            "sample_weight must not be negative, but its smallest entry is "
            f"{weights.min():g}: use 0 to leave a sample out."
        )


def check_offset(offset: ArrayLike, n_samples: int, n_scores: int = 1) -> Array | None:
    """Offset as float64, one number per sample or one per score; None if there is none."""
    if offset is None:
        return None
    if n_scores > 1 and np.shape(offset) == (n_samples, n_scores):
        flat = np.ravel(np.asarray(offset))
        return _vector(flat, flat.size, "offset").reshape(n_samples, n_scores)
    return _vector(offset, n_samples, "offset")


def _has_features(estimator: Any, fitted: bool) -> bool:
    """Whether the estimator maps X by ``features``; for a fitted model, whether its fit did."""
    if fitted:
        return "features_" in estimator.__dict__
    return getattr(estimator, "features", None) is not None


def in_order(X: Any, y: Any, *, many: bool = False) -> bool:
    """Whether X and y are valid and need no conversion.

    The check is here because scikit-learn's own takes as long as a small fit.
    """
    return (
        is_plain_matrix(X)
        and is_plain(y, "fiub")
        and 1 <= y.ndim <= 1 + many
        and y.size > 0
        and X.shape[0] == y.shape[0]
        and all_finite(X)
        and all_finite(y)
    )


def _target(estimator: Any, y: Any, many: bool) -> AnyArray:
    """Y as a vector (several columns if ``many``), its type kept; finite if that is floating."""
    if is_plain(y, "iub") and y.ndim == 1:
        if y.dtype.kind == "f":
            check_finite(y, "y")
        return y
    if sparse.issparse(y):
        raise ValueError("y is sparse, but must be a dense vector: pass y.toarray().ravel().")
    if isinstance(y, Mapping):
        raise ValueError("y must be 1D, one entry per sample, but it is a dict: pass its values.")
    y = unmasked(y, "y") if hasattr(y, "shape") else as_labels(y)
    refuse_complex(y, "y")
    if len(y.shape) not in (1, 2):
        raise ValueError(f"y must be 1D, one entry per sample, but it is {len(y.shape)}D.")
    if not is_plain(y, "fiub"):
        y = check_array(
            y, ensure_2d=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0
        )
    if y.ndim == 2 and not many:
        y = _single_column(estimator, y)
    if y.dtype.kind == "f":
        check_finite(y, "y")
    return y


def _single_column(estimator: Any, y: AnyArray) -> AnyArray:
    if y.shape[1] != 1:
        raise ValueError(
            f"y has {y.shape[1]} columns; {type(estimator).__name__} takes one output, "
            "so fit one model per column."
        )
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected: pass y.ravel().",
        DataConversionWarning,
        stacklevel=7,
    )
    return y[:, 0]


def _vector(values: ArrayLike, n_samples: int, name: str) -> Array:
    """One finite float64 number per sample; a single number stands for all samples."""
    refuse_complex(values, name)
    values = unmasked(values, name)
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, one per sample.") from error
    if vector.ndim == 0:
        vector = np.full(n_samples, vector.item())
    if vector.ndim != 1:
        raise ValueError(
            f"{name} must be 1D, one number per sample, but it has shape {vector.shape}."
        )
    if vector.shape != (n_samples,):
        raise ValueError(
            f"{name} must have one number per sample: expected {n_samples}, got {vector.shape[0]}."
        )
    check_finite(vector, name)
    return plain(vector)
