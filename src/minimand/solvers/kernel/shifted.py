"""A kernel matrix plus a diagonal, factorised in the memory of the kernel matrix."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..._base.typing import Array


class ShiftedKernel:
    """K + diag(shift), factorised in one triangle of K, so that the other one still has K.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        K, symmetric.
    shift : float or ndarray of shape (n,)
    copy : bool, default=True
        Whether K is somebody else's. If it is not, it has to be C-ordered and of float64.

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.solvers.kernel.shifted import ShiftedKernel
    >>> matrix = ShiftedKernel(np.array([[2.0, 1.0], [1.0, 2.0]]), 1.0)
    >>> matrix.solve(np.array([4.0, 4.0])), matrix.kernel_times(np.array([1.0, 0.0]))
    (array([1., 1.]), array([2., 1.]))
    """

    def __init__(self, kernel: Array, shift: float | Array, *, copy: bool = True) -> None:
        self.diagonal = np.diag(kernel).copy()
        kernel = np.array(kernel.T, order="F") if copy else kernel.T
        kernel.flat[:: kernel.shape[0] + 1] += shift
        self._shifted = self.diagonal + shift
        self._both, failed = linalg.lapack.dpotrf(kernel, lower=1, clean=0, overwrite_a=1)
        self.definite = not failed

    def solve(self, right: Array) -> Array:
        """(K + diag(shift))⁻¹ times a vector or the columns of a table, if it is ``definite``."""
        return np.asarray(linalg.cho_solve((self._both, True), right, check_finite=False))

    def nearest(self, right: Array) -> Array:
        """The least squares solution, which also exists if the matrix is singular."""
        matrix = np.triu(self._both, 1)
        matrix += matrix.T
        matrix.flat[:: matrix.shape[0] + 1] = self._shifted
        return np.asarray(linalg.lstsq(matrix, right)[0])

    def kernel_times(self, a: Array) -> Array:
        """K a, from the triangle that was not overwritten and the diagonal."""
        found = linalg.blas.dsymv(1.0, self._both, a, lower=0)
        return np.asarray(found + (self.diagonal - np.diag(self._both)) * a)
