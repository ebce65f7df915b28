"""Rows as distances and kernels take them."""

from __future__ import annotations

from typing import Any

from ..design import Design
from ..estimators.inputs.matrix import as_matrix, matrix_of, rows_of_any_kind


def rows_for(estimator: Any, X: Any, *, of_numbers: bool, reset: bool) -> Any:
    """X as a finite matrix; or as it is, of any kind, where a kernel or a function reads it."""
    if not of_numbers:
        return rows_of_any_kind(estimator, X, reset=reset)
    found = as_matrix(estimator, X, reset=reset)
    return matrix_of(found) if isinstance(found, Design) else found
