"""Rows that kernels compare: matrices, parts that belong together, and rows of any kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _num_samples

from .._base.text_columns import key_of, words_in
from .._base.typing import Array


class Parts:
    """Several things with an entry for each row, which are cut together."""

    __slots__ = ("parts",)

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __iter__(self) -> Any:
        return iter(self.parts)

    def __len__(self) -> int:
        return count(self.parts[0])

    def __getitem__(self, rows: Any) -> Parts:
        return Parts(*(part[rows] for part in self.parts))

    def __getstate__(self) -> tuple[Any, ...]:
        return self.parts

    def __setstate__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts


class AsGiven:
    """Rows as the user gave them: a list, a data frame, a matrix."""

    __slots__ = ("given",)

    def __init__(self, given: Any) -> None:
        self.given = given

    def __len__(self) -> int:
        return int(_num_samples(self.given))

    def __getitem__(self, rows: Any) -> AsGiven:
        return AsGiven(picked(self.given, rows))

    def __getstate__(self) -> Any:
        return (self.given,)

    def __setstate__(self, state: Any) -> None:
        (self.given,) = state


def count(x: Any) -> int:
    """The number of rows."""
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def picked(X: Any, rows: Any) -> Any:
    """Some rows of whatever a user passes, by numbers or a slice."""
    if sparse.issparse(X) and X.format not in ("csr", "csc"):
        X = X.tocsr()
    if isinstance(rows, slice):
        rows = np.arange(_num_samples(X))[rows]
    return _safe_indexing(X, rows)


def columns_of(X: Any, columns: Any) -> Any:
    """Some columns of a matrix or data frame; a single one, not in a list, as a vector."""
    single = isinstance(columns, str | int | np.integer)
    names = getattr(X, "columns", None)
    if sparse.issparse(X) and X.format not in ("csr", "csc"):
        X = X.tocsr()
    elif names is None and not sparse.issparse(X):
        X = np.asarray(X)
    try:
        return _safe_indexing(X, columns if single else list(columns), axis=1)
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(
            f"on({columns!r}) names columns that X does not have: pass numbers of columns, or "
            "names of columns of a data frame."
        ) from error


def matrix(X: Any) -> Any:
    """X as a finite matrix of float32 or float64, in C order or CSR."""
    kinds: Any = [np.float64, np.float32]
    ready = sparse.issparse(X) and X.format == "csr" and X.dtype in (np.float64, np.float32)
    try:
        return summed(
            check_array(
                X, accept_sparse="csr", dtype=None if ready else kinds, order="C", input_name="X"
            )
        )
    except (TypeError, ValueError) as error:
        reason = _unusable(X)
        if not reason:
            raise
        raise ValueError(reason) from error


def summed(X: Any) -> Any:
    """X, in a copy if it is sparse and has several entries for one cell, which count as their sum.

    Distances of scikit-learn take such entries for numbers of their own.
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _unusable(X: Any) -> str:
    """Where a table holds what is no finite number, in words; empty if that is not the reason."""
    if sparse.issparse(X):
        return ""
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    if len(X.shape) == 1 and X.shape[0] and isinstance(text := next(iter(X)), str | bytes):
        return (
            f"X must be a matrix of numbers, but it holds a text for each row, {text[:30]!r}: take "
            "a kernel of texts such as features=minimand.Spectrum(3), or make numbers of the texts "
            "first, for example with scikit-learn's TfidfVectorizer."
        )
    if len(X.shape) != 2:
        return ""
    found = words_in(X)
    if found is not None:
        return (
            f"X must hold numbers, but column {found.key} holds text, {found.example}: encode such "
            "columns first, or leave them out with kernel.on(columns)."
        )
    try:
        values = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return ""
    bad = np.argwhere(~np.isfinite(values))
    if not bad.size:
        return ""
    row, column = bad[0]
    what = "NaN" if np.isnan(values[row, column]) else "infinity (inf)"
    return (
        f"X contains {what} (first at row {row}, column {key_of(X, int(column))}): impute or drop "
        "such entries first."
    )


def together(x: Any, z: Any) -> tuple[Any, Any]:
    """Both rows in a form in which their features have the same columns."""
    if isinstance(x, Parts):
        pairs = [together(*pair) for pair in zip(x, z)]
        return Parts(*(one for one, _ in pairs)), Parts(*(other for _, other in pairs))
    return x.joined(z) if hasattr(x, "joined") else (x, z)


def check_widths(x: Any, z: Any) -> None:
    """Refuse rows of different lengths."""
    if x.shape[1] != z.shape[1]:
        raise ValueError(
            f"X has {x.shape[1]} features, but the kernel is expecting {z.shape[1]} features as "
            "input."
        )


def products(x: Any, z: Any) -> Array:
    """Inner products of all pairs of rows, dense."""
    check_widths(x, z)
    found = x @ z.T
    return np.ascontiguousarray(found.toarray() if sparse.issparse(found) else found)


def product_rounding(d: int, unit: float) -> float:
    """How far a computed x·z of d entries may be from the exact one, as a share of ‖x‖·‖z‖.

    ``unit`` is the rounding of one operation; the entries are rounded first.
    """
    return (d + 2.0) * unit / max(1.0 - (d + 2.0) * unit, 1e-3)  # 1e-3: safeguard


def squares(x: Any) -> Array:
    """‖xᵢ‖² in float64."""
    if sparse.issparse(x):
        x = x.astype(np.float64)
        return np.asarray(x.multiply(x).sum(axis=1), dtype=float).ravel()
    return np.einsum("ij,ij->i", x, x, dtype=np.float64)


def dense(x: Any) -> Array:
    """A C-ordered array of the rows."""
    return np.ascontiguousarray(x.toarray() if sparse.issparse(x) else x)


def of_one_type(matrices: Iterable[Any]) -> list[Array]:
    """Dense matrices of one type, float32 if all are."""
    found = [dense(x) for x in matrices]
    kind = np.result_type(*found)
    return [np.ascontiguousarray(x, dtype=kind) for x in found]
