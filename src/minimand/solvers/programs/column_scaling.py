"""Centring and scaling of columns, so that linear programs are well scaled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.typing import Array, IntArray
from ...design import Design

_VARIES = 1e-13  # share of a column's mean square: least variance; safeguard against rounding


class ColumnScaling(NamedTuple):
    """x ↦ (x − shift)/scale, with a column of ones for the intercept if there is one.

    Dense columns are centred, which changes only the intercept; sparse columns keep their zeros.
    """

    shift: Array
    scale: Array
    intercept: bool

    @classmethod
    def of(cls, design: Design, weight: Array, *, intercept: bool) -> ColumnScaling:
        """Every column gets mean 0 if it is dense and there is an intercept, and mean square 1."""
        first, second = design.moments(weight / weight.sum())
        shift = first if intercept and not design.sparse else np.zeros(design.shape[1])
        # A smaller variance about the mean may be rounding only.
        shift = np.where(second - shift * shift > _VARIES * second, shift, 0.0)
        scale = np.sqrt(second - shift * shift)
        return cls(shift, np.where(scale > 0, scale, 1.0), intercept)

    def rows(self, design: Design, rows: IntArray | None = None) -> Any:
        """The design, or some rows of it, with scaled columns; sparse if the design is."""
        x = matrix_of(design, rows)
        x = x / self.scale[None, :] if design.sparse else (x - self.shift) / self.scale
        return beside(x, np.ones(x.shape[0])) if self.intercept else x

    def model(self, v: Array) -> tuple[Array, float]:
        """Coefficients of scaled columns as coefficients and intercept of the original ones."""
        d = self.scale.size
        w = v[:d] / self.scale
        return w, float(v[d] - self.shift @ w) if self.intercept else 0.0


def matrix_of(design: Design, rows: IntArray | None = None) -> Any:
    """The design, or some rows of it, as one float64 matrix; sparse if the design is."""
    parts = (design if rows is None else design.rows(rows)).gathered_blocks()
    if design.sparse:
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr", dtype=float)
    return np.vstack(parts).astype(float, copy=False)


def scaled_rows(matrix: Any, factor: Array) -> Any:
    """diag(factor)·matrix."""
    if sparse.issparse(matrix):
        return sparse.diags_array(factor) @ matrix
    return factor[:, None] * matrix


def beside(*matrices: Any) -> Any:
    """Matrices joined horizontally; sparse if one of them is."""
    columns = [m if m.ndim == 2 else m[:, None] for m in matrices]
    if any(sparse.issparse(m) for m in columns):
        return sparse.hstack([sparse.csr_array(m) for m in columns], format="csr")
    return np.hstack(columns)
