"""Features of a kernel machine that was fitted on kernel values, without a factor of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._base.typing import Array, IntArray
from ..design import KernelDesign
from ..kernels.rows import count
from .low_rank import PivotedCholesky
from .pivoted_cholesky import Factor, Greedy, factorise

_LOOKED_AT = 400  # rows from which the rank is estimated; safeguard: they take milliseconds


class SupportRows(PivotedCholesky):
    r"""The features of a kernel in the span of the support vectors of a model.

    The model was fitted on rows of the kernel matrix. It predicts with Σ aᵢ·k(xᵢ, x), so that the
    factor of the support vectors, k(S, S) = LLᵀ, is computed only if features are asked for: by
    ``coef_``, or for a certificate on other data.
    """

    pivots_: IntArray

    def design(self, X: Any, weights: Array | None = None) -> KernelDesign:
        """The rows of the fit as a design without columns."""
        rows = self._bound_rows(X, weights)
        return KernelDesign(self.kernel_, self.kernel_.prepared(rows))

    def supported_by(self, rows: Any, numbers: IntArray) -> None:
        """Take the rows of these numbers as support vectors; the first row if there are none."""
        self._rows = rows[numbers if numbers.size else np.zeros(1, dtype=np.intp)]
        self.pivots_ = numbers
        for name in ("_span", "_landmarks", "_triangle"):  # of earlier rows
            self.__dict__.pop(name, None)

    def coordinates(self, coefficients: Array) -> Array:
        """φ̂-coordinates (k, r) of the functions Σ aᵢ·k(xᵢ, ·), a of shape (n_support, k)."""
        if not coefficients.shape[0]:
            return np.zeros((coefficients.shape[1], self.rank_))
        values = self.kernel_.times(self._landmarks, self._rows, coefficients)
        found: Array = solve_triangular(self._triangle, values, lower=True, check_finite=False)
        return np.ascontiguousarray(found.T)

    @property
    def complete(self) -> bool:
        """The fit had the kernel itself."""
        return True

    @cached_property
    def _span(self) -> tuple[Any, Array]:
        """The support vectors that span all of them, and the factor of their kernel matrix."""
        found = factorise(self.kernel_, self._rows, count(self._rows), Greedy())
        return self._rows[found.pivots], found.triangle

    @cached_property
    def _landmarks(self) -> Any:
        return self._span[0]

    @cached_property
    def _triangle(self) -> Array:  # type: ignore[override]  # may be set, as all cached ones
        return self._span[1]


def expected_rank(design: KernelDesign) -> float:
    """The numerical rank of a kernel matrix, from those of some of its rows and half of these.

    It is taken to grow by the same power of the number of rows. A ValueError says that the kernel
    is not positive semidefinite on these rows.
    """
    n = design.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(np.intp))
    rank = _factor_of(design, some).pivots.size
    if some.size == n or rank == 0:
        return float(rank)
    half = _factor_of(design, some[::2]).pivots.size
    power = np.clip(np.log2(rank / max(half, 1)), 0.0, 1.0)
    return float(min(n, rank * (n / some.size) ** power))


def _factor_of(design: KernelDesign, rows: IntArray) -> Factor:
    some: Any = design.rows(rows)
    return factorise(some.kernel, some.inputs, rows.size, Greedy())
