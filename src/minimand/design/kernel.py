"""A kernel as a design without columns: inner products of features that are not computed."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .._base.typing import AnyArray, Array, IntArray
from .access import Access, Reach
from .base import Design


class PairFunction(Protocol):
    """What a design asks of a kernel; see `minimand.kernels.Kernel`."""

    def block(self, x: Any, z: Any) -> Array:
        """k(xᵢ, zⱼ) for all pairs; z are training rows."""

    def fill(self, x: Any, z: Any, out: AnyArray) -> None:
        """Write the values of `block` to an array of float32 or float64."""

    def diagonal(self, x: Any) -> Array:
        """k(xᵢ, xᵢ)."""

    def gram(self, x: Any) -> Array:
        """The symmetric matrix of all pairs."""

    def times(self, x: Any, z: Any, a: Array) -> Array:
        """Σⱼ k(xᵢ, zⱼ)·aⱼ, without the whole matrix."""

    def doubt(self, x: Any, unit: float) -> tuple[float, float]:
        """By how much computed values may differ from exact ones: a share of them, and a number."""


class KernelDesign(Design):
    """The rows φ(x) of which a kernel knows the inner products, of shape (n, 0).

    Parameters
    ----------
    kernel : Kernel
        Bound to the training rows.
    inputs : what ``kernel.rows(X, training=True)`` gave
    """

    def __init__(self, kernel: PairFunction, inputs: Any) -> None:
        self.kernel = kernel
        self.inputs = inputs
        n = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
        self.shape = (int(n), 0)

    @property
    def access(self) -> Access:
        """Rows by a copy; no columns and no blocks."""
        return Access(columns=Reach.NONE, rows=Reach.COPY, blocks=Reach.NONE)

    @property
    def row_copy_bytes(self) -> float:
        """Bytes of the rows that a kernel compares."""
        return float(getattr(self.inputs, "nbytes", 8 * self.shape[0]))

    @property
    def width(self) -> int:
        """Numbers that a kernel value reads."""
        parts = getattr(self.inputs, "parts", None)  # of a sum; counts of parts are one thing
        first = parts[0] if isinstance(parts, tuple) else self.inputs
        shape = getattr(first, "shape", (0, 1))
        return int(shape[1]) if len(shape) > 1 else 1

    @property
    def nnz(self) -> int:
        """What one pass computes: the values of all pairs."""
        return self.shape[0] * self.shape[0]

    def row_gram(self, weights: Array | None = None, centre: Array | None = None) -> Array:
        """K in float64, all of it."""
        assert weights is None
        assert centre is None
        return np.asarray(self.kernel.gram(self.inputs), dtype=float)

    def row_product(self, a: Array) -> Array:
        """K a, from the rows whose a is not zero."""
        used = np.flatnonzero(a if a.ndim == 1 else a.any(axis=1))
        if not used.size:
            return np.zeros(a.shape)
        some = self.inputs if used.size == self.shape[0] else self.inputs[used]
        return np.asarray(self.kernel.times(self.inputs, some, a[used]), dtype=float)

    def row_scores(self, rows: IntArray, used: IntArray, a: Array) -> Array:
        """Σⱼ k(xᵢ, xⱼ)·aⱼ of some rows i, over some rows j."""
        return np.asarray(self.kernel.times(self.inputs[rows], self.inputs[used], a), dtype=float)

    def doubt(self, unit: float) -> tuple[float, float]:
        """By how much values among the rows may differ from exact ones; see `PairFunction`."""
        return self.kernel.doubt(self.inputs, unit)

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """What solvers of several problems on these rows keep of them."""
        return {}

    def cross(self, new: Design) -> Array:
        """k of the rows of another such design with those of this one."""
        assert isinstance(new, KernelDesign)
        return np.asarray(self.kernel.block(new.inputs, self.inputs), dtype=float)

    @cached_property
    def row_lengths(self) -> Array:
        """k(xᵢ, xᵢ)."""
        return np.asarray(self.kernel.diagonal(self.inputs), dtype=float)

    def rows(self, rows: IntArray) -> KernelDesign:
        """The given rows."""
        return KernelDesign(self.kernel, self.inputs[rows])

    def thinned(self, every: int) -> KernelDesign:
        """Every ``every``-th row."""
        return self.rows(np.arange(0, self.shape[0], every))
