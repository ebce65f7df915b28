"""What the certificate of components that were found batch by batch has to know of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...certificate.eigenvalues.relaxation import top_of_matrix
from ...design import as_design
from ...reverse.components.stream import ScatterStream

_ULPS = 8.0  # of sums, times the root of the number of terms; safeguard


class Lost(NamedTuple):
    """Sums over all rows so far."""

    error: float  # Σ‖x − x̂‖², x̂ = x̄ + VVᵀ(x − x̄)
    best: float  # no k directions lose less, up to rounding
    total: float  # Σ‖x − x̄‖²
    rounding: float


class RowsSoFar:
    """The rows themselves while they are fewer than the columns, then the sum of their products.

    Both have at most d² numbers, and the smaller side is the one whose eigenvalues are computed.
    """

    def __init__(self, d: int) -> None:
        self._rows = np.empty((0, d))
        self._sums: ScatterStream | None = None

    def add(self, rows: Any) -> None:
        """Add a batch; it is copied."""
        d = self._rows.shape[1]
        if self._sums is None and self._rows.shape[0] + rows.shape[0] < d:
            dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=float)
            self._rows = np.concatenate([self._rows, dense])
            return
        if self._sums is None:
            self._sums = ScatterStream(d, True)
            if len(self._rows):
                self._sums.update(as_design(self._rows), np.ones(len(self._rows)))
            self._rows = np.empty((0, d))
        self._sums.update(as_design(rows), np.ones(rows.shape[0]))

    def lost(self, v: Array) -> Lost:
        """What the columns of ``v`` lose, which may be not quite orthonormal by rounding.

        That is tr(I − VVᵀ)C(I − VVᵀ). Directions as many as the rank of centred rows can be, the
        smaller of n − 1 and d, can lose nothing: this bound takes no eigenvalues.
        """
        d, k = v.shape
        if self._sums is not None:
            matrix, rounding = self._sums.matrix, self._sums.rounding
            image = matrix @ v
            kept, crossing, n = float(np.vdot(v, image)), v.T @ image, self._sums.rows
        else:
            # Centred twice: the rounding is then that of the spread, whatever the mean is.
            x = self._rows - self._rows.mean(axis=0)
            x -= x.mean(axis=0)
            outputs, n = x @ v, len(x)
            crossing = outputs.T @ outputs
            kept = float(np.trace(crossing))
            matrix = x @ x.T if k < n - 1 else np.diag(np.einsum("ij,ij->i", x, x))
            rounding = 0.0
        total = float(np.trace(matrix))
        # Of products with each of the directions, sums of d numbers.
        rounding += _ULPS * EPS * k * d**0.5 * float(np.linalg.norm(matrix))
        rounding += _ULPS * EPS * (d * k) ** 0.5 * total
        best = 0.0
        if k < min(n - 1, d):
            top = top_of_matrix(matrix, k)
            best, rounding = top.total - top.attained, rounding + top.rounding
        error = total - 2.0 * kept + float(np.vdot(v.T @ v, crossing))
        return Lost(max(error, best), best, total, rounding)
