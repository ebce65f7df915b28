"""From what a user passes to arrays a design can hold, with one clear sentence for bad input."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_array, validate_data

from ..._base.typing import AnyArray, Array, ArrayLike
from ..._base.wording import counted
from ...design.base import plain
from ...design.dense import in_lines
from ...outputs.classes import distinct
from .columns import holds_words, words_in
from .kinds import as_labels, refuse_dates, refuse_mixed, unmasked

_FEW = 20  # classes up to which scikit-learn does not wonder whether y is a measurement
_MATRIX = {
    "accept_sparse": ("csr", "csc"),
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}


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
    may have several columns. With ``mapped``, X is whatever ``features`` make a matrix of; by
    default that depends on whether the estimator has some.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    mapped = _has_features(estimator) if mapped is None else mapped
    X = (_rows if mapped else _matrix)(estimator, X, reset=not fitted)
    y = _target(estimator, y, many)
    n_samples = _num_samples(X)
    if y.shape[0] != n_samples:
        raise ValueError(
            f"X and y must hold the same samples, but X has {counted(n_samples, 'row')} "
            f"and y has {y.shape[0]}."
        )
    return X, y


def check_x(estimator: Any, X: ArrayLike) -> Any:
    """X for prediction: same features as in fit, finite."""
    return (_rows if _has_features(estimator) else _matrix)(estimator, X, reset=False)


def check_labels(y: AnyArray) -> None:
    """Y must hold labels of one type: strings, booleans, whole numbers, but no measurements."""
    if y.dtype.kind == "O":
        refuse_mixed(y, "y")
    if (
        _is_plain(y, "iub")
        and y.ndim == 1
        and (y.dtype.kind != "f" or (y == np.rint(y)).all())
        and distinct(y).size <= _FEW
    ):
        return
    try:
        check_classification_targets(y)
    except ValueError as error:
        kind = "continuous" if y.dtype.kind == "f" else "unknown"
        raise ValueError(
            f"y holds no class labels (Unknown label type: {kind}): pass strings, booleans or "
            "whole numbers, or use minimand.Regressor for a continuous y."
        ) from error


def check_numbers(y: AnyArray) -> Array:
    """Y as finite float64 numbers."""
    refuse_dates(y, "y")
    try:
        numbers = plain(y, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers, but it has dtype {y.dtype}: use minimand.Classifier for labels."
        ) from error
    check_finite(numbers, "y")
    return numbers


def check_finite(x: Any, name: str) -> None:
    """One sentence that names the argument, the first bad entry, and what to do."""
    values = x.data if sparse.issparse(x) else x
    if _all_finite(values):
        return
    what = "NaN" if np.isnan(values).any() else "infinity (inf)"
    raise ValueError(
        f"{name} contains {what} (first at {_first_bad(x)}): impute or drop such entries first."
    )


def _all_finite(values: AnyArray) -> bool:
    """A sum is one pass without temporaries; only a suspicious one is looked at closely."""
    with np.errstate(all="ignore"):
        total = float(values.sum(dtype=np.float64))
    return math.isfinite(total) or bool(np.isfinite(values).all())


def _first_bad(x: Any) -> str:
    """Row and column, or index, of the first entry that is not finite."""
    if sparse.issparse(x):
        entries = x.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))[0]
        return f"row {entries.row[bad]}, column {entries.col[bad]}"
    place = np.argwhere(~np.isfinite(x))[0]
    return f"index {place[0]}" if x.ndim == 1 else f"row {place[0]}, column {place[1]}"


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
    """Such a sample would want its loss to be large."""
    if (weights < 0).any():
        raise ValueError(
            "sample_weight must not be negative, but its smallest entry is "
            f"{weights.min():g}: use 0 to leave a sample out."
        )


def check_offset(offset: ArrayLike, n_samples: int) -> Array | None:
    """Offset as float64, or None."""
    return None if offset is None else _vector(offset, n_samples, "offset")


def _has_features(estimator: Any) -> bool:
    return getattr(estimator, "features", None) is not None


def _rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Some rows of any kind; what is in them is for ``features`` to judge, as in a pipeline."""
    if X is None:
        raise ValueError("X is None: pass what features= takes, with one row per sample.")
    try:
        n_samples = _num_samples(X)
    except TypeError as error:
        raise ValueError(
            f"X must hold samples that can be counted, not {X!r:.50}: pass a matrix, a data frame "
            "or a list with one entry per sample."
        ) from error
    if n_samples == 0:
        raise ValueError("X has 0 sample(s) while a minimum of 1 is required.")
    if reset:  # names and the number of columns, as far as there are any
        for name in ("feature_names_in_", "n_features_in_"):
            estimator.__dict__.pop(name, None)
        validate_data(estimator, X, reset=True, skip_check_array=True)
    return X


def _matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a finite float matrix; scikit-learn converts it and minds the feature names.

    An odd layout is copied here, once for all that will be done with X.
    """
    X = _check_form(X)
    if reset and _is_plain(X):
        learn_width(estimator, X)
        check_finite(X, "X")
        return in_lines(X)
    try:
        X = validate_data(estimator, X, reset=reset, skip_check_array=_is_plain(X), **_MATRIX)
    except (TypeError, ValueError) as error:
        found = words_in(X)
        if found is None:
            # Others than those of a conversion name what is wrong, e.g. with the feature names.
            if not str(error).startswith("float()"):
                raise
            raise TypeError(
                f"X must hold numbers, but some entry is no number ({error}): encode such columns "
                "first."
            ) from error
        advice = "encode such columns first"
        if hasattr(getattr(estimator, "estimator", estimator), "features"):
            advice += (
                ", for example with features=make_column_transformer((OneHotEncoder(), "
                f"[{found.key}]), remainder='passthrough')"
            )
        raise ValueError(
            f"X must hold numbers, but column {found.key} holds text, {found.example}: {advice}."
        ) from error
    check_finite(X, "X")
    return X if sparse.issparse(X) else in_lines(X)


def learn_width(estimator: Any, X: AnyArray) -> None:
    """What scikit-learn's validate_data notes of an array, whose columns have no names."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = X.shape[1]


def in_order(X: Any, y: Any, *, many: bool = False) -> bool:
    """Whether there is nothing to convert in X and y, and nothing to complain about.

    scikit-learn takes a small fit's time to find that out.
    """
    return (
        _is_plain(X)
        and _is_plain(y, "fiub")
        and X.ndim == 2
        and min(X.shape) > 0
        and 1 <= y.ndim <= 1 + many
        and y.size > 0
        and X.shape[0] == y.shape[0]
        and _all_finite(X)
        and _all_finite(y)
    )


def _is_plain(x: Any, kinds: str = "") -> bool:
    """Whether there is nothing to convert; to be told so by scikit-learn takes a small fit's time.

    X must have float32 or float64 entries, y may have any of some ``kinds``. Subclasses of arrays,
    masked ones for instance, are for scikit-learn to judge.
    """
    if type(x) is not np.ndarray:
        return False
    return x.dtype.kind in kinds or x.dtype in (np.float64, np.float32)


def _check_form(X: Any) -> Any:
    """Refuse, before any conversion, what is not a matrix of real numbers with some rows."""
    if X is None:
        raise ValueError("X is None: pass a matrix with one row per sample.")
    X = unmasked(X, "X")
    if not hasattr(X, "shape"):
        X = _as_array(X)
    if len(X.shape) == 1 and holds_words(X):
        raise ValueError(
            "X must be 2D, one row per sample, but it is a list of texts: make columns of them, as "
            "features=TfidfVectorizer() of minimand.Regressor and minimand.Classifier does."
        )
    if len(X.shape) != 2:
        raise ValueError(
            f"X must be 2D, one row per sample, but it is {len(X.shape)}D: Reshape your data, with "
            "X.reshape(-1, 1) for a single feature or X.reshape(1, -1) for a single sample."
        )
    for length, what in zip(X.shape, ("sample", "feature")):
        if length == 0:
            raise ValueError(
                f"X has 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
            )
    _refuse_complex(X, "X")
    refuse_dates(X, "X")
    if isinstance(X, np.ndarray) and not X.flags.aligned:
        return X.copy()  # a field of packed records: its numbers lie between addresses
    return X


def _as_array(X: Any) -> AnyArray:
    try:
        return np.asarray(X)
    except ValueError as error:  # rows of different lengths
        raise ValueError(
            "X must be a matrix, but its rows differ in length: give all samples the same features."
        ) from error


def _refuse_complex(x: Any, name: str) -> None:
    if getattr(getattr(x, "dtype", None), "kind", "") == "c":
        raise ValueError(
            f"{name} is complex (Complex data not supported): pass real and imaginary parts apart."
        )


def _target(estimator: Any, y: Any, many: bool) -> AnyArray:
    """Y as a vector, or ``many`` columns, of whatever type it has; finite if that is floating."""
    if sparse.issparse(y):
        raise ValueError("y is sparse, but must be a dense vector: pass y.toarray().ravel().")
    y = unmasked(y, "y") if hasattr(y, "shape") else as_labels(y)
    _refuse_complex(y, "y")
    if len(y.shape) not in (1, 2):
        raise ValueError(f"y must be 1D, one entry per sample, but it is {len(y.shape)}D.")
    if not _is_plain(y, "fiub"):
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
        stacklevel=6,
    )
    return y[:, 0]


def _vector(values: ArrayLike, n_samples: int, name: str) -> Array:
    """One finite float64 number per sample; a single number stands for all samples."""
    _refuse_complex(values, name)
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
