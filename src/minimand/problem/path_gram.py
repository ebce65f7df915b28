"""The Gram matrix of the columns that a path has used; under the squared loss it is constant."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from .._base.threads import one_blas_thread
from .._base.typing import Array, IntArray
from ..design import Design
from ..losses.curvature import beside

_FIRST = 256  # columns of the first allocation; safeguard
_GROWTH = 1.6  # factor by which the allocation grows; safeguard
_RESERVED = 1 << 28  # bytes of columns that are reserved at once; safeguard: 256 MB, of which the
# system hands out only what is written to
_SMALL = 2e8  # multiply-adds of a product, up to which BLAS has one thread; safeguard: its threads
# wait for the next one by spinning, on the cores that our own kernels use


class PathGram:
    """½ wᵀG w + qᵀw over the columns used so far, which is the mean loss up to a constant.

    Columns are centred by the masses when there is an intercept. The matrix that holds G is larger
    than needed; its unused part is zero, and so are the coefficients there. Beyond ``most``
    columns there is no G any more, only the columns A with G = AᵀA.
    """

    def __init__(
        self,
        design: Design,
        mass: Array,
        centred: bool,
        residual: Array,
        most: int | None = None,
    ) -> None:
        self._design, self._mass, self._centred = design, mass, centred
        self._most = design.shape[1] if most is None else most
        self._residual = residual  # the gradient of the loss at w = 0
        self._columns = np.zeros(0, dtype=np.int64)
        self._known = np.zeros(design.shape[1], dtype=bool)
        self._scaled = np.zeros((design.shape[0], 0), order="F")
        self.gram = np.zeros((0, 0))
        self.linear = np.zeros((0, *residual.shape[1:]))

    @classmethod
    def of_all(
        cls, design: Design, gram: Array, linear: Array, columns: IntArray | None = None
    ) -> PathGram:
        """All columns at once, in this order, whose Gram G and linear term q somebody knows."""
        d = len(linear)
        whole = cls(design, np.zeros(0), False, np.zeros(0))
        whole.gram, whole.linear = np.ascontiguousarray(gram), np.ascontiguousarray(linear)
        whole._columns = np.arange(d) if columns is None else columns
        whole._known = np.ones(d, dtype=bool)
        return whole

    @property
    def columns(self) -> IntArray:
        """The columns used so far, in the order of G."""
        return self._columns

    @property
    def lines(self) -> Array:
        """Aᵀ: the columns used so far, centred and times the roots of the masses."""
        return self._scaled[:, : self._columns.size].T

    @property
    def has_gram(self) -> bool:
        """Whether there is a G."""
        return self.capacity <= self._most or not self._scaled.size

    @property
    def capacity(self) -> int:
        """The number of columns for which there is memory."""
        return self.linear.shape[0]

    def missing(self, columns: IntArray) -> IntArray:
        """The columns that are not yet in G."""
        return columns[~self._known[columns]]

    def add(self, columns: IntArray) -> None:
        """Add columns: their products with each other and with all the others."""
        new = self.missing(columns)
        if not new.size:
            return
        before, after = self._columns.size, self._columns.size + new.size
        self._reserve(after)
        small = self._mass.size * after * new.size <= _SMALL or not self.has_gram
        with one_blas_thread() if small else nullcontext():
            self._multiply(new, before, after)
        self._columns = np.concatenate([self._columns, new])
        self._known[new] = True

    def _multiply(self, new: IntArray, before: int, after: int) -> None:
        """Write the new columns, and their products."""
        block = self._scaled[:, before:after]
        _fill_with_columns(block, self._design.columns(new))
        _weigh_columns(block, self._mass, self._centred)
        if self.has_gram:
            products = self._scaled[:, :after].T @ block
            self.gram[:after, before:after] = products
            self.gram[before:after, :before] = products[:before].T
        root = np.sqrt(self._mass)
        self.linear[before:after] = block.T @ (beside(root, self._residual) * self._residual)

    def _reserve(self, count: int) -> None:
        """Reserve memory for ``count`` columns."""
        if count <= self.capacity:
            return
        room = min(max(_FIRST, count, int(_GROWTH * self.capacity)), self._design.shape[1])
        if count <= self._most < room:
            room = self._most
        if room <= self._most:
            self.gram = _enlarged(self.gram, (room, room), np.zeros)
        else:
            self.gram = np.zeros((0, 0))
        self.linear = _enlarged(self.linear, (room, *self.linear.shape[1:]), np.zeros)
        n, d = self._design.shape
        lines = d if 8 * n * d <= _RESERVED else room
        if self._scaled.shape[1] < lines:
            shape = self._mass.size, lines
            self._scaled = _enlarged(self._scaled, shape, lambda shape: np.empty(shape, order="F"))


def lines_of(design: Design, mass: Array, centred: bool) -> tuple[Array, Array]:
    """The columns as lines, minus their means under the masses if centred; and these means."""
    columns = np.empty(design.shape, order="F")
    _fill_with_columns(columns, design)
    mean = _centre_columns(columns, mass) if centred else np.zeros(design.shape[1])
    return columns.T, mean


def _fill_with_columns(block: Array, design: Design) -> None:
    """Write all numbers of a design into an array."""
    if design.sparse:
        block[:] = design.matvec(np.eye(design.shape[1]))
        return
    start = 0
    for part in design.gathered_blocks():
        block[start : start + len(part)] = part
        start += len(part)


def _weigh_columns(block: Array, h: Array, centred: bool) -> None:
    """Centre columns by their means under h, or not, times √h, in place.

    The products of such columns are their covariances under h.
    """
    if centred:
        _centre_columns(block, h)
    block *= np.sqrt(h)[:, None]


def _centre_columns(block: Array, h: Array) -> Array:
    """Subtract the means under h from the columns, in place; the means.

    Those that are constant up to rounding become zero.
    """
    size, mean = _squares(block, h), h @ block / h.sum()
    block -= mean
    # Share of mean²; safeguard: constant up to rounding, see `without_constants`.
    block[:, _squares(block, h) <= 1e-26 * size] = 0.0
    return mean


def _squares(block: Array, h: Array) -> Array:
    """Σ hᵢxᵢ² of every column."""
    return np.einsum("ij,ij,i->j", block, block, h)


def _enlarged(
    array: Array, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Array]
) -> Array:
    larger = make(shape)
    larger[tuple(slice(size) for size in array.shape)] = array
    return larger
