"""Conversion of any matrix to a design; centring and scaling without a copy of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .._base.typing import AnyArray, Array
from .base import Block, Design, Moments, dense_block
from .dense import DenseDesign
from .sparse import SparseDesign

T = TypeVar("T")

_FULL = 0.5  # share of numbers that are stored, from which a dense copy is faster; measured
# on six losses and penalties at 3000×100, 2000×1000 and 300×3000
_SMALL = 2e4  # stored numbers, below which fits are short in any form; safeguard
_LARGE = 2.5e7  # numbers of a dense copy at most, 200 MB; safeguard


def as_design(x: Any, *, to_fit: bool = False) -> Design:
    """A design for a NumPy array, a SciPy sparse matrix or array, or a design.

    With ``to_fit``, a sparse matrix with few zeros is copied to a dense one: many passes follow.
    """
    if isinstance(x, Design):
        return x
    if not sparse.issparse(x):
        return DenseDesign(np.asarray(x))
    design = SparseDesign(x)
    n, d = design.shape
    if not to_fit or design.nnz < max(_SMALL, _FULL * n * d) or n * d > _LARGE:
        return design
    return DenseDesign(design.x.toarray(order="C" if design.x.format == "csr" else "F"))


def with_units(design: Design, units: Array) -> Design:
    """A copy in memory of X·diag(units), without rounding if the units are powers of two."""
    blocks = design.gathered_blocks()
    if design.sparse:
        return as_design(sparse.vstack(blocks, dtype=float) @ sparse.diags_array(units))
    copy = np.asfortranarray(np.concatenate(blocks, dtype=float))
    copy *= units
    return as_design(copy)


class Standardized(Design):
    """(X − 1·shiftᵀ)·diag(1/scale), as an operator on the unchanged X.

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.design import Standardized, as_design
    >>> x = as_design(np.array([[1.0, 10.0], [3.0, 30.0]]))
    >>> Standardized(x, shift=np.array([2.0, 20.0]), scale=np.array([1.0, 10.0])).rmatvec(
    ...     np.array([0.0, 1.0]))
    array([1., 1.])
    """

    def __init__(self, inner: Design, shift: Array, scale: Array) -> None:
        if shift.shape != (inner.shape[1],) or scale.shape != (inner.shape[1],):
            raise ValueError("shift and scale must hold one number per column.")
        if not (scale > 0).all():
            raise ValueError("scale must be positive.")
        self.inner, self.shift, self.scale = inner, shift, scale
        self.shape = inner.shape

    @property
    def nnz(self) -> int:
        """Stored numbers of the inner design."""
        return self.inner.nnz

    def blocks(self) -> Iterator[Block]:
        """Dense standardised copies of the inner blocks, one at a time."""
        for block in self.inner.blocks():
            yield Block(block.rows, (dense_block(block.matrix) - self.shift) / self.scale)

    def matvec(self, w: Array) -> Array:
        """X (w/scale) − shift·(w/scale)."""
        w = (w.T / self.scale).T
        return self.inner.matvec(w) - self.shift @ w

    def map_rows(self, f: Callable[..., Array], *rowwise: AnyArray) -> Array:
        """f of the standardised parts of the inner design, which need not have blocks."""
        return self.inner.map_rows(self._of_standardised(f), *rowwise)

    def reduce(self, f: Callable[..., T], *rowwise: AnyArray) -> T:
        """The sum of f over them."""
        return self.inner.reduce(self._of_standardised(f), *rowwise)

    def _of_standardised(self, f: Callable[..., T]) -> Callable[..., T]:
        return lambda x, *parts: f((dense_block(x) - self.shift) / self.scale, *parts)

    def rmatvec(self, u: Array) -> Array:
        """(Xᵀu − shift·Σu)/scale."""
        v = self.inner.rmatvec(u) - np.multiply.outer(self.shift, u.sum(axis=0))
        return (v.T / self.scale).T

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """The product of the inner design, with the shift of the columns added to that of z."""
        v = v / self.scale
        g, t = self.inner.curvature_product(v, shift - float(self.shift @ v), h)
        return (g - self.shift * float(h @ t)) / self.scale, t

    def simplex_product(self, table: Array, p: Array, scale: Array) -> Array:
        """The product of the inner design for k scores, corrected for the shift of the columns."""
        size = np.append(self.scale, 1.0)[:, None]
        inner = table / size
        inner[-1] -= self.shift @ inner[:-1]
        g = self.inner.simplex_product(inner, p, scale)
        g[:-1] -= np.multiply.outer(self.shift, g[-1])
        return np.asarray(g / size)

    def moments(self, h: Array) -> Moments:
        """Moments of the standardised columns."""
        first, second = self.inner.moments(h)
        total = h.sum()
        centred = second - 2.0 * self.shift * first + self.shift**2 * total
        return Moments((first - self.shift * total) / self.scale, centred / self.scale**2)
