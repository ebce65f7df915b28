"""Whether a matrix is positive semidefinite, with a vector that proves it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.eigenvalues import largest_eigenpairs
from .._base.typing import Array
from .base import Kernel

_ULPS = 16.0  # of the largest eigenvalue and row of the matrix; safeguard: rounding of its entries


@dataclass(frozen=True, eq=False)
class Definiteness:
    """What `check_psd` found; true if the matrix is symmetric and positive semidefinite.

    Attributes
    ----------
    ok : bool
    smallest : float
        The smallest eigenvalue of the symmetric part.
    tolerance : float
        Eigenvalues above −tolerance are zero up to rounding.
    reason : str
        What is wrong, in words; empty if nothing is.
    witness : ndarray of shape (n,) or None
        A vector v of length one with vᵀKv = `smallest` < 0; None if there is none.
    """

    ok: bool
    smallest: float
    tolerance: float
    reason: str = ""
    witness: Array | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.ok


def check_psd(K: Any, X: Any = None) -> Definiteness:
    """Whether K is symmetric and positive semidefinite, as the Gram matrix of every kernel is.

    Parameters
    ----------
    K : array-like of shape (n, n), or a Kernel
    X : rows, optional
        With a Kernel: the rows whose Gram matrix is checked.

    Returns
    -------
    Definiteness
        True or false; if it is false, with a `witness` v for which vᵀKv < 0, or the `reason`.

    Examples
    --------
    >>> import minimand as mm
    >>> bool(mm.check_psd([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> found = mm.check_psd([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(found), round(found.smallest, 6)
    (False, -1.0)
    >>> v = found.witness
    >>> float(v @ [[1.0, 2.0], [2.0, 1.0]] @ v) < 0
    True
    """
    matrix = np.asarray(K(X) if isinstance(K, Kernel) else K)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"K must be a square matrix, but its shape is {matrix.shape}.")
    if matrix.dtype.kind == "c":
        raise ValueError("K must be a matrix of real numbers, but it holds complex ones.")
    unit = float(np.finfo(np.float32 if matrix.dtype == np.float32 else np.float64).eps)
    matrix = matrix.astype(float)
    if not np.isfinite(matrix).all():
        raise ValueError("K must be finite, but it holds NaN or infinity.")
    n = matrix.shape[0]
    largest = max(float(np.abs(matrix).max()), float(np.finfo(float).tiny))  # rounding underflows
    if isinstance(K, Kernel):  # whose values may be differences of larger numbers
        bound = K.bind(X)
        sizes = bound.sizes(bound.rows(X, training=True))
        largest = max(largest, float(np.max(sizes, initial=0.0)))
    tolerance = _ULPS * unit * n * largest
    values, vectors = largest_eigenpairs(-0.5 * (matrix + matrix.T), 1)
    smallest, v = -float(values[0]), vectors[:, 0]
    witness = v if smallest < -tolerance else None
    uneven = np.abs(matrix - matrix.T)
    reason = ""
    if uneven.max() > tolerance:
        i, j = np.unravel_index(int(np.argmax(uneven)), uneven.shape)
        reason = (
            f"K is not symmetric: entry ({i}, {j}) is {matrix[i, j]:g}, but ({j}, {i}) is "
            f"{matrix[j, i]:g}"
        )
    elif witness is not None:
        reason = f"vᵀKv = {smallest:.3g} < 0 for the witness v"
    return Definiteness(not reason, smallest, tolerance, reason, witness)
