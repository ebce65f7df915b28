"""Rows that are computed a block at a time, whenever they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from .._base.in_order import in_order
from .._base.threads import get_num_threads
from .._base.typing import AnyArray, Array, IntArray
from .._base.watch import look
from .base import Block, Covariance, Design, Lines, dense_block
from .dense import centred_covariance

_BLOCK = 1 << 20  # numbers of a block, 8 MB; measured: less costs threads, more costs a cache
_TILE = 1 << 18  # the same of a block of one thread, 2 MB; measured: smaller ones cost as much
_TALL = 2048  # rows of blocks whose Gram is taken; safeguard: adding Grams takes less than they do
_FEWEST = 64  # rows of a block; safeguard, likewise
_SAMPLE = 4096  # rows that tell the sizes and rough means of columns; safeguard
_WELL = 1e6  # condition of RRᵀ, up to which sums of squares are multiplied by R⁻¹ afterwards: they
# lose six digits at most; safeguard
_POWERS = 30  # of a matrix whose norm is estimated, within a few percent; safeguard
_COMPUTING = 4.0  # what computing a number costs, in units of reading one; measured, RBF of ten

T = TypeVar("T")


class InBlocks(Design):
    """A design whose blocks take long: it has few passes, and keeps the sums over all rows."""

    _known: tuple[Array, Covariance] | None = None  # row weights, and the covariance by them

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """One pass, with a product of every tall block."""
        (found,) = self._summed(lambda x, part: (_squares(x, part),), h, columns)
        return found

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """One pass, centred about rough means; the last one of all columns is kept."""
        if columns is None and self._known is not None and self._known[0] is h:
            return self._copied(self._known[1])
        centre = self.centre if columns is None else self.centre[columns]

        def product(x: Array, part: Array) -> tuple[Array, ...]:
            near = x - centre
            return _squares(near, part), part @ near

        matrix, first = self._summed(product, h, columns)
        found = centred_covariance(matrix, first, centre, float(h.sum()))
        if columns is None:
            self._known = h, found
            return self._copied(found)
        return found

    def _summed(
        self,
        product: Callable[[Array, Array], tuple[Array, ...]],
        h: Array,
        columns: IntArray | None,
    ) -> tuple[Array, ...]:
        """The sums over all rows of what a product gives for tall blocks and their weights."""
        totals: tuple[Array, ...] = ()

        def work(tall: Array, part: Array) -> tuple[Array, ...]:
            return product(tall if columns is None else tall[:, columns], part)

        for parts in self._of_tall_blocks(work, h):
            for total, part in zip(totals, parts):
                total += part
            totals = totals or parts
        return totals

    def _of_tall_blocks(self, f: Callable[[Array, Array], T], h: Array) -> Iterator[T]:
        """f(matrix, weights) of blocks that are joined until they are tall, in order."""
        joined: list[Array] = []
        done = 0
        for block in self.blocks():
            joined.append(dense_block(block.matrix))
            end = block.rows.stop
            if end - done >= _TALL or end == self.shape[0]:
                yield f(_joined(joined), h[done:end])
                joined, done = [], end

    @staticmethod
    def _copied(found: Covariance) -> Covariance:
        return Covariance(found.matrix.copy(), found.mean)  # users change the matrix

    @cached_property
    def centre(self) -> Array:
        """Means of some rows."""
        some = self.thinned(max(1, self.shape[0] // _SAMPLE))
        return some.rmatvec(np.full(some.shape[0], 1.0 / some.shape[0]))

    @property
    def squares_of_all(self) -> bool:
        """False: some rows tell the sizes."""
        return False

    def column_squares(self, h: Array) -> Array:
        """Estimates from some rows, whose weights are raised to add up to those of all."""
        every = max(1, self.shape[0] // _SAMPLE)
        part = np.ascontiguousarray(h[::every])
        if every == 1 or not part.any():
            return self.moments(h).second
        return self.thinned(every).moments(part * (float(h.sum()) / float(part.sum()))).second

    @cached_property
    def row_lines(self) -> Lines:
        """A copy of all rows."""
        return np.ascontiguousarray(self.map_rows(dense_block))


class ComputedDesign(InBlocks):
    """φ(x) of every row, computed in blocks when they are asked for.

    Parameters
    ----------
    compute : callable
        φ of some rows, as a matrix: the same numbers whatever other rows it is asked for.
    inputs : rows that are cut by ``inputs[rows]``
    n_columns : int
    room : float, default=0
        Bytes of blocks that are kept for later passes.
    in_threads : bool, default=False
        Whether ``compute`` may run on several threads at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from minimand.design import ComputedDesign
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> ComputedDesign(np.square, x, 2).matvec(np.array([1.0, 0.0]))
    array([ 0.,  4., 16.])
    """

    def __init__(
        self,
        compute: Callable[[Any], AnyArray],
        inputs: Any,
        n_columns: int,
        room: float = 0.0,
        *,
        in_threads: bool = False,
    ) -> None:
        self.compute, self.inputs, self.room, self.in_threads = compute, inputs, room, in_threads
        n = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
        self.shape = (int(n), int(n_columns))
        self._kept: dict[int, Array] = {}  # blocks by their first rows

    @property
    def reading(self) -> float:
        """One for numbers that are kept, more for those that are computed again."""
        whole = 8.0 * max(self.nnz, 1)
        return 1.0 + _COMPUTING * max(0.0, 1.0 - self.room / whole)

    def blocks(self) -> Iterator[Block]:
        """The rows, each block as it is computed or was kept."""
        for rows in self._runs():
            look()
            yield Block(rows, self._block(rows))

    def _each_block(self, f: Callable[..., T], *rowwise: AnyArray) -> Iterator[tuple[slice, T]]:
        """The same for every block, on a thread of its own where rows may be computed so."""
        runs = self._runs()
        if not self.in_threads:
            yield from super()._each_block(f, *rowwise)
            return

        def work(rows: slice) -> tuple[slice, T]:
            return rows, f(self._block(rows), *(array[rows] for array in rowwise))

        yield from in_order(work, runs, min(get_num_threads(), len(runs)))

    def _of_tall_blocks(self, f: Callable[[Array, Array], T], h: Array) -> Iterator[T]:
        """The same, with a thread for every tall block where rows may be computed so."""
        if not self.in_threads:
            yield from super()._of_tall_blocks(f, h)
            return
        runs = self._runs()
        many = max(1, -(-_TALL // (runs[0].stop - runs[0].start)))

        def work(group: list[slice]) -> T:
            tall = _joined([self._block(rows) for rows in group])
            return f(tall, h[group[0].start : group[-1].stop])

        groups = [runs[first : first + many] for first in range(0, len(runs), many)]
        yield from in_order(work, groups, min(get_num_threads(), len(groups)))

    def _runs(self) -> list[slice]:
        """The rows of the blocks."""
        n, d = self.shape
        size = max(_FEWEST, (_TILE if self.in_threads else _BLOCK) // max(d, 1))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def _block(self, rows: slice) -> Array:
        """Some rows, computed or kept; the first rows are kept, as many as there is room for."""
        found = self._kept.get(rows.start)
        if found is None:
            found = np.ascontiguousarray(self.compute(self.inputs[rows]), dtype=float)
            if 8.0 * self.shape[1] * rows.stop <= self.room:
                found.flags.writeable = False
                self._kept[rows.start] = found
        return found

    def rows(self, rows: IntArray) -> ComputedDesign:
        """The given rows, computed when they are asked for; they have their share of the room."""
        share = self.room * rows.size / max(self.shape[0], 1)
        inputs, width = self.inputs[rows], self.shape[1]
        return ComputedDesign(self.compute, inputs, width, share, in_threads=self.in_threads)


class Whitened(InBlocks):
    """X R⁻ᵀ for a lower triangle R, as an operator on the unchanged X.

    Products take a triangular solve with a vector. Sums of squares are those of X with R⁻¹ on
    either side, unless R is so close to singular that digits would be lost: then every row takes
    a solve.
    """

    def __init__(self, inner: Design, triangle: Array) -> None:
        self.inner, self.triangle = inner, np.asfortranarray(triangle)
        self.shape = inner.shape

    @property
    def reading(self) -> float:
        """What the inner design says."""
        return self.inner.reading

    def _outwards(self, w: Array) -> Array:
        """R⁻ᵀw, the coefficients of the inner columns."""
        found = solve_triangular(self.triangle, w, lower=True, trans="T", check_finite=False)
        return np.ascontiguousarray(found)

    def _inwards(self, v: Array) -> Array:
        """R⁻¹v, of products with the inner columns."""
        found = solve_triangular(self.triangle, v, lower=True, check_finite=False)
        return np.ascontiguousarray(found)

    def blocks(self) -> Iterator[Block]:
        """The inner blocks, each row multiplied by R⁻ᵀ."""
        for block in self.inner.blocks():
            yield Block(block.rows, self._inwards(dense_block(block.matrix).T).T)

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """R⁻¹ (Xᵀ diag(h) X) R⁻ᵀ."""
        if columns is not None or not self._well_conditioned:
            return super().gram(h, columns)
        return self._either_side(self.inner.gram(h))

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The same of centred columns, and R⁻¹ times their means."""
        if columns is not None or not self._well_conditioned:
            return super().covariance(h, columns)
        found = self.inner.covariance(h)
        return Covariance(self._either_side(found.matrix), self._inwards(found.mean))

    def _either_side(self, matrix: Array) -> Array:
        """R⁻¹·matrix·R⁻ᵀ of a symmetric matrix, symmetric to the last digit."""
        found = self._inwards(self._inwards(matrix).T)
        return np.asarray(0.5 * (found + found.T))

    @cached_property
    def _well_conditioned(self) -> bool:
        """Whether ‖R‖²·‖R⁻¹‖², about, is small."""
        triangle = self.triangle
        large = _largest(lambda v: triangle @ (triangle.T @ v), self.shape[1])
        inverse = _largest(lambda v: self._outwards(self._inwards(v)), self.shape[1])
        return large * inverse <= _WELL

    def images(self, matrix: Array) -> Iterator[Block]:
        """The rows of X R⁻ᵀ·matrix, from products with the inner columns."""
        return self.inner.images(self._outwards(matrix))

    def matvec(self, w: Array) -> Array:
        """X (R⁻ᵀw)."""
        return self.inner.matvec(self._outwards(w))

    def rmatvec(self, u: Array) -> Array:
        """R⁻¹ (Xᵀu)."""
        return self._inwards(self.inner.rmatvec(u))

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """The product with XᵀHX, and R⁻¹ before and behind it."""
        image, t = self.inner.curvature_product(self._outwards(v), shift, h)
        return self._inwards(image), t

    def scores_and_sums(
        self, w: Array, f: Callable[..., Array], *rowwise: AnyArray
    ) -> tuple[Array, Array]:
        """Those of the inner design, with R⁻¹ before and behind them."""
        image, t = self.inner.scores_and_sums(self._outwards(w), f, *rowwise)
        return self._inwards(image), t

    def simplex_product(self, table: Array, p: Array, scale: Array) -> Array:
        """The product for k scores, with R⁻¹ before and behind that of the inner design."""
        inner = np.vstack([self._outwards(table[:-1]), table[-1:]])
        found = self.inner.simplex_product(inner, p, scale)
        return np.vstack([self._inwards(found[:-1]), found[-1:]])

    def score_sizes(self, w: Array, sizes: Array) -> Any:
        """Sizes of the sums over inner columns, in which more may cancel."""
        return np.maximum(
            super().score_sizes(w, sizes),
            self.inner.score_sizes(self._outwards(w), self._inner_sizes),
        )

    def slope_sizes(self, sizes: Array) -> Array:
        """Sizes of the sums R⁻¹(Xᵀu), in which more may cancel than in Xᵀu."""
        return np.maximum(sizes, np.abs(self._inverse) @ self._inner_sizes)

    @cached_property
    def _inverse(self) -> Array:
        """R⁻¹."""
        return self._inwards(np.eye(self.shape[1]))

    @cached_property
    def _inner_sizes(self) -> Array:
        """Root mean squares of the inner columns."""
        n = self.shape[0]
        return np.sqrt(self.inner.column_squares(np.full(n, 1.0 / n)))

    def rows(self, rows: IntArray) -> Whitened:
        """The given rows."""
        return Whitened(self.inner.rows(rows), self.triangle)


def _joined(blocks: list[Array]) -> Array:
    return np.concatenate(blocks) if len(blocks) > 1 else np.ascontiguousarray(blocks[0])


def _squares(x: Array, h: Array) -> Array:
    """Xᵀ diag(h) X of rows in memory, which BLAS takes half the time for if no weight is < 0."""
    if h.min(initial=0.0) < 0:
        return np.asarray((x * h[:, None]).T @ x)
    root = x * np.sqrt(h)[:, None]
    return np.asarray(root.T @ root)


def _largest(product: Callable[[Array], Array], size: int) -> float:
    """The largest eigenvalue of a positive semidefinite matrix, about, by powers of it."""
    v = np.random.default_rng(0).standard_normal(size)
    length = 0.0
    for _ in range(_POWERS):
        v = product(v / np.linalg.norm(v))
        length = float(np.linalg.norm(v))
        if not 0.0 < length < np.inf:
            return length
    return length
