"""The largest eigenvalues of a symmetric matrix in memory, whatever its spectrum is like."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .typing import Array

_SHORT = 64  # side, up to which all eigenvalues take less time than some; measured at 32 to 128


def largest_eigenpairs(matrix: Array, count: int) -> tuple[Array, Array]:
    """The ``count`` largest eigenvalues of a symmetric matrix, ascending, and eigenvectors.

    LAPACK's method for some of the eigenvectors can fail where many eigenvalues are equal, as
    those of a kernel matrix that is almost the identity: it says so, or finds too few of them and
    does not. All of them are computed then.
    """
    side = matrix.shape[0]
    count = min(count, side)
    if count == side:
        return np.linalg.eigh(matrix)
    try:
        values, vectors = linalg.eigh(
            matrix, subset_by_index=[side - count, side - 1], check_finite=False
        )
    except linalg.LinAlgError:
        values, vectors = np.zeros(0), np.zeros((side, 0))
    if values.size < count:
        values, vectors = linalg.eigh(matrix, driver="evd", check_finite=False)
        values, vectors = values[-count:], np.ascontiguousarray(vectors[:, -count:])
    return values, vectors


def largest_eigenvalues(matrix: Array, count: int) -> Array:
    """The ``count`` largest eigenvalues, ascending."""
    side = matrix.shape[0]
    count = min(count, side)
    if side <= _SHORT:
        return np.asarray(np.linalg.eigvalsh(matrix)[side - count :])
    try:
        found = linalg.eigvalsh(
            matrix, subset_by_index=[side - count, side - 1], check_finite=False
        )
    except linalg.LinAlgError:
        found = np.zeros(0)
    if found.size < count:
        found = linalg.eigvalsh(matrix, driver="evd", check_finite=False)[-count:]
    return np.asarray(found)
