"""X as a finite float matrix; other input is refused in one clear sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples, validate_data

from ..._base.text_columns import words_in
from ..._base.typing import AnyArray
from ...design import Design
from ...design.dense import in_lines
from .columns import holds_words
from .kinds import refuse_dates, unmasked

_MATRIX = {
    "accept_sparse": ("csr", "csc"),
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": False,
}
_COMPRESSED = (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array)


def as_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a finite float matrix; scikit-learn converts it and checks the feature names.

    An array without contiguous rows or columns is copied here, once for the whole fit.
    """
    plain = is_plain_matrix(X)
    if not plain:
        if isinstance(X, Design):
            return _design(estimator, X, reset)
        X = _check_form(X)
        plain = is_plain_matrix(X)
    if reset and plain:
        learn_width(estimator, X)
        check_finite(X, "X")
        return X if sparse.issparse(X) else in_lines(X)
    try:
        X = validate_data(estimator, X, reset=reset, skip_check_array=plain, **_MATRIX)
    except (TypeError, ValueError) as error:
        found = words_in(X)
        if found is None:
            # Only errors of the conversion are replaced; others already name what is wrong.
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


def _design(estimator: Any, X: Design, reset: bool) -> Design:
    """A design, checked: it has rows, finite numbers, and as many columns as the fit."""
    if 0 in X.shape:
        what = "sample" if X.shape[0] == 0 else "feature"
        raise ValueError(
            f"X has 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
        )
    if reset:
        learn_width(estimator, X)
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    name = type(X).__name__
    found = X.reduce(lambda x: [(np.shape(x), _is_matrix(x) and all_finite(x))])
    rows = 0
    for shape, _ in found:
        if len(shape) != 2 or shape[1] != X.shape[1]:
            raise ValueError(
                f"X is a {name} with {X.shape[1]} columns, but its rows from {rows} on come as a "
                f"matrix of shape {shape}: minimand.testing.check_design finds what is wrong."
            )
        rows += shape[0]
    if rows != X.shape[0]:
        raise ValueError(
            f"X is a {name} of {X.shape[0]} rows, but its blocks hold {rows}: "
            "minimand.testing.check_design finds what is wrong."
        )
    if not all(finite for _, finite in found):
        parts = X.gathered_blocks()
        if not all(map(_is_matrix, parts)):
            raise ValueError(f"X is a {name}, whose blocks must be arrays or sparse matrices.")
        check_finite(_joined(parts, X), "X")
    return X


def _is_matrix(x: Any) -> bool:
    """Whether a block is an array or a sparse matrix, not a list or NumPy's old matrix class."""
    return sparse.issparse(x) or (isinstance(x, np.ndarray) and not isinstance(x, np.matrix))


def rows_of_any_kind(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows of any kind, at least one; ``features`` checks their content, as in a pipeline."""
    if X is None:
        raise ValueError("X is None: pass what features= takes, with one row per sample.")
    if isinstance(X, Design):
        raise ValueError(
            "X is a Design, whose rows features= cannot read: pass the matrix itself, or leave "
            "features out."
        )
    try:
        n_samples = _num_samples(X)
    except TypeError as error:
        raise ValueError(
            f"X must hold samples that can be counted, not {X!r:.50}: pass a matrix, a data frame "
            "or a list with one entry per sample."
        ) from error
    if n_samples == 0:
        raise ValueError("X has 0 sample(s) while a minimum of 1 is required.")
    if reset:  # names and number of columns, where X has columns
        for name in ("feature_names_in_", "n_features_in_"):
            estimator.__dict__.pop(name, None)
        if not getattr(getattr(estimator, "features", None), "of_objects", False):
            validate_data(estimator, X, reset=True, skip_check_array=True)
    return X


def matrix_of(design: Design) -> Any:
    """The rows of a design, in memory."""
    return _joined(design.gathered_blocks(), design)


def _joined(parts: list[Any], design: Design) -> Any:
    if len(parts) == 1:
        return parts[0]
    if design.sparse or any(map(sparse.issparse, parts)):
        return sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix(design.shape)
    return np.concatenate(parts) if parts else np.zeros(design.shape)


def learn_width(estimator: Any, X: AnyArray | Design) -> None:
    """Set what scikit-learn's validate_data would set for an array without column names."""
    estimator.__dict__.pop("feature_names_in_", None)
    estimator.n_features_in_ = X.shape[1]


def is_plain(x: Any, kinds: str = "") -> bool:
    """Whether the array needs no conversion; scikit-learn's check takes as long as a small fit.

    X must have float32 or float64 entries; y may also have a dtype of the given ``kinds``.
    Subclasses of arrays, such as masked ones, are left to scikit-learn.
    """
    if type(x) is not np.ndarray:
        return False
    return x.dtype.kind in kinds or x.dtype in (np.float64, np.float32)


def is_plain_matrix(X: Any) -> bool:
    """Whether X, dense or compressed by rows or columns, is a float matrix with some entries."""
    if type(X) in _COMPRESSED:
        return X.dtype in (np.float64, np.float32) and len(X.shape) == 2 and min(X.shape) > 0
    return is_plain(X) and X.ndim == 2 and X.size > 0 and X.flags.aligned


def _check_form(X: Any) -> Any:
    """Refuse, before any conversion, what is not a matrix of real numbers with some rows."""
    if X is None:
        raise ValueError("X is None: pass a matrix with one row per sample.")
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # a DOK matrix is a dict, too
        raise ValueError(
            "X must be 2D, one row per sample, but it is a dict: make a data frame of its columns, "
            "as pandas.DataFrame(X) does."
        )
    X = unmasked(X, "X")
    if not hasattr(X, "shape"):
        X = _as_array(X)
    if len(X.shape) == 1 and holds_words(X):
        raise ValueError(
            "X must be 2D, one row per sample, but it is a list of texts: make columns of them, as "
            "features=TfidfVectorizer() of minimand.Regressor and minimand.Classifier does."
        )
    if len(X.shape) != 2:
        how = "X.reshape(-1, 1) for a single feature or X.reshape(1, -1) for a single sample"
        if len(X.shape) > 2:
            how = "X.reshape(len(X), -1) for all numbers of a sample in one row"
        raise ValueError(
            f"X must be 2D, one row per sample, but it is {len(X.shape)}D: Reshape your data, with "
            f"{how}."
        )
    for length, what in zip(X.shape, ("sample", "feature")):
        if length == 0:
            raise ValueError(
                f"X has 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
            )
    refuse_complex(X, "X")
    refuse_dates(X, "X")
    if isinstance(X, np.ndarray) and not X.flags.aligned:
        return X.copy()  # a field of packed records: its numbers are not aligned
    return X


def _as_array(X: Any) -> AnyArray:
    try:
        return np.asarray(X)
    except ValueError as error:  # rows of different lengths
        raise ValueError(
            "X must be a matrix, but its rows differ in length: give all samples the same features."
        ) from error


def refuse_complex(x: Any, name: str) -> None:
    """Refuse complex numbers: losses are defined for real scores."""
    if getattr(getattr(x, "dtype", None), "kind", "") == "c":
        raise ValueError(
            f"{name} is complex (Complex data not supported): pass real and imaginary parts apart."
        )


def check_finite(x: Any, name: str) -> None:
    """Refuse entries that are not finite, naming the argument, the first of them and a remedy."""
    if all_finite(x):
        return
    values = x.data if sparse.issparse(x) else x
    what = "NaN" if np.isnan(values).any() else "infinity (inf)"
    raise ValueError(
        f"{name} contains {what} (first at {_first_bad(x)}): impute or drop such entries first."
    )


def all_finite(x: Any) -> bool:
    """Whether all numbers are finite: by their sum; if that is not finite, they are looked at."""
    values = x.data if sparse.issparse(x) else x
    with np.errstate(all="ignore"):
        total = float(values.sum())
    return math.isfinite(total) or bool(np.isfinite(values).all())


def _first_bad(x: Any) -> str:
    """Row and column, or index, of the first entry that is not finite."""
    if sparse.issparse(x):
        entries = x.tocoo()
        bad = np.flatnonzero(~np.isfinite(entries.data))[0]
        return f"row {entries.row[bad]}, column {entries.col[bad]}"
    place = np.argwhere(~np.isfinite(x))[0]
    return f"index {place[0]}" if x.ndim == 1 else f"row {place[0]}, column {place[1]}"
