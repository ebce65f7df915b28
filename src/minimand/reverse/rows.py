"""Rows as distances and kernels take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike
from ..design import Design
from ..estimators.inputs.data import check_weights
from ..estimators.inputs.matrix import as_matrix, matrix_of, rows_of_any_kind
from ..kernels import REGISTRY, Kernel
from ..kernels.rows import summed
from ..kernels.vectors import VectorKernel
from .finite_squares import with_finite_squares, with_finite_values

_UNEVEN = 1e-8  # of the largest value; safeguard: rounding of the user's own computation


def rows_for(estimator: Any, X: Any, *, of_numbers: bool, reset: bool) -> Any:
    """X as a finite matrix; or as it is, of any kind, where a kernel or a function reads it."""
    if not of_numbers:
        return rows_of_any_kind(estimator, X, reset=reset)
    found = as_matrix(estimator, X, reset=reset)
    return summed(matrix_of(found) if isinstance(found, Design) else found)


def tell_kernel(tags: Any, kernel: Any) -> Kernel | None:
    """Say in scikit-learn's tags what a kernel takes; nothing of a name that a fit would refuse."""
    try:
        known: Kernel = REGISTRY.get(kernel)
    except ValueError:
        return None
    tags.input_tags.sparse, tags.input_tags.pairwise = known.takes_sparse, known.pairwise
    return known


def kernel_rows(estimator: Any, X: Any, kernel: Kernel, *, reset: bool, copy: bool = False) -> Any:
    """X as a kernel takes it: a checked matrix, or rows of any kind.

    With ``copy`` the matrix is never X itself: a model keeps it, and the caller may change X.
    """
    of_numbers = isinstance(kernel, VectorKernel) or kernel.pairwise
    found = rows_for(estimator, X, of_numbers=of_numbers, reset=reset)
    if isinstance(kernel, VectorKernel):
        found = with_finite_squares(found)
    return found.copy() if copy and of_numbers and found is X else found


def all_values(kernel: Kernel, rows: Any) -> Array:
    """K in double precision; all of it is computed where symmetry is not known, else half."""
    if kernel.definite:
        return with_finite_values(np.asarray(kernel.gram(rows), dtype=float), kernel)
    gram = np.concatenate([part for _, part in kernel.blocks(rows, rows)], dtype=float)
    with_finite_values(gram, kernel)
    uneven = float(np.abs(gram - gram.T).max(initial=0.0))
    if uneven > _UNEVEN * max(float(np.abs(gram).max(initial=0.0)), 1e-300):
        raise ValueError(
            f"{kernel!r} is not symmetric on these rows: minimand.check_psd(K) shows where."
        )
    return gram


def row_weights(sample_weight: ArrayLike, n: int) -> Array:
    """The checked weights of n rows; ones if none are given."""
    found = check_weights(sample_weight, n)
    return np.ones(n) if found is None else found


def in_double(X: Any) -> Any:
    """A float32 matrix in double precision, else X.

    Values of kernels of float32 rows would be rounded to float32, which no certificate charges.
    """
    single = getattr(X, "dtype", None) == np.float32
    return X.astype(np.float64) if single and hasattr(X, "astype") else X


def refuse_rows_apart(degrees: Array, what: str) -> None:
    """Refuse new rows without affinity to any row of the fit, on which nothing can be based."""
    apart = np.flatnonzero(~(degrees > 0))
    if apart.size:
        raise ValueError(
            f"row {apart[0]} of X has no affinity to any row of the fit, so that it has no {what}: "
            "leave such rows out, or take a wider kernel."
        )
