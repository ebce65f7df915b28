"""The data matrix as an operator: all other code reads X through these methods only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .. import _core
from .._base.typing import AnyArray, Array, IntArray
from .access import Access, Reach
from .rough import RoughProducts

T = TypeVar("T")

Lines = AnyArray | _core.Compressed
"""Rows or columns as compiled kernels read them: contiguous in an array, or CSR or CSC."""


def kernel_for(
    lines: Lines, compressed: Callable[..., T], dense: Callable[..., T]
) -> Callable[..., T]:
    """The one of two compiled kernels that takes lines as they are stored."""
    return compressed if isinstance(lines, _core.Compressed) else dense


class Block(NamedTuple):
    """Some consecutive rows of a design, in memory as a dense or sparse matrix."""

    rows: slice
    matrix: np.ndarray


class Moments(NamedTuple):
    """Per column: Σ hᵢxᵢⱼ and Σ hᵢxᵢⱼ²."""

    first: Array
    second: Array


class Covariance(NamedTuple):
    """Σ hᵢ(xᵢ − mean)(xᵢ − mean)ᵀ and the mean Σhx/Σh, for some columns."""

    matrix: Array
    mean: Array


class Design:
    """An n×d matrix that is used through its products only.

    A subclass must set `shape` and define `blocks`, or define `map_rows` and `reduce`, as a
    cluster would; every other operation uses these two, in one pass. Designs in memory override
    operations that they can do faster, and say in `access` what is cheap.
    """

    shape: tuple[int, int]

    sparse: bool = False
    """Whether the design leaves out zeros."""

    constant_below: float = 4e-7
    """The standard deviation, as a share of the mean, of columns that `covariance` takes for
    constant at most; the root of the noise there, rounded up."""

    @property
    def about(self) -> Array:
        """What `covariance` subtracts from the columns before it multiplies them; here nothing."""
        return np.zeros(self.shape[1])

    # What a subclass must define: blocks, or the two passes over them ------------------------

    def blocks(self) -> Iterator[Block]:
        """The rows, in order, as matrices in memory."""
        raise NotImplementedError(f"{type(self).__name__} must define blocks()")

    def _each_block(self, f: Callable[..., T], *rowwise: AnyArray) -> Iterator[tuple[slice, T]]:
        """The rows of every block, in order, and f(matrix, *these rows of each rowwise array)."""
        for block in self.blocks():
            yield block.rows, f(block.matrix, *(array[block.rows] for array in rowwise))

    def map_rows(self, f: Callable[..., Array], *rowwise: AnyArray) -> Array:
        """f(matrix, *rows of each rowwise array) for every block, stacked vertically.

        f returns a row of numbers, or one number, for every row of its block.
        """
        whole: Array | None = None
        for rows, part in self._each_block(f, *rowwise):
            if whole is None:
                whole = np.empty((self.shape[0], *part.shape[1:]))
            whole[rows] = part
        return _unless_empty(whole)

    def reduce(self, f: Callable[..., T], *rowwise: AnyArray) -> T:
        """Σ over blocks of f(matrix, *rows of each rowwise array).

        f returns an array or a number, which is summed over blocks; a list, which is joined in
        the order of the rows; or a tuple of these.
        """
        total: T | None = None
        for _, part in self._each_block(f, *rowwise):
            total = part if total is None else _add(total, part)
        return _unless_empty(total)

    def gathered_blocks(self) -> list[Any]:
        """The matrices of all blocks, in the order of the rows: together all of X, in memory."""
        return self.reduce(lambda x: [x]) if self.shape[0] else []

    # What verdicts of solvers ask -----------------------------------------------------------

    @property
    def access(self) -> Access:
        """What can be read without a copy; by default blocks only, if the class defines them."""
        blocks = Reach.NONE if type(self).blocks is Design.blocks else Reach.CHEAP
        return Access(blocks=blocks)

    @property
    def row_copy_bytes(self) -> float:
        """Bytes that `row_lines` copies (8 per number); 0 if rows are contiguous in memory."""
        return 0.0 if self.access.rows is Reach.CHEAP else 8.0 * self.shape[0] * self.shape[1]

    @property
    def nnz(self) -> int:
        """Stored numbers, the cost of one pass."""
        return self.shape[0] * self.shape[1]

    @property
    def reading(self) -> float:
        """What a number costs in a pass, in units of one that lies in memory."""
        return 1.0

    @property
    def nnz_for_scores(self) -> int:
        """Numbers that a product with k vectors reads: see `ready_for_scores`."""
        return self.nnz

    @property
    def column_sizes(self) -> IntArray:
        """Stored numbers of every column, the cost of a coordinate step."""
        return np.full(self.shape[1], self.shape[0])

    def ready_to_pick(self) -> None:
        """Make columns cheap, by a copy if needed, because many problems will read them."""

    def ready_for_scores(self, memory: float) -> None:
        """Make products with k vectors cheap, by a copy of at most ``memory`` bytes if it helps."""

    def rough_products(self, memory: float) -> RoughProducts | None:
        """`simplex_product` in single precision, from a copy of at most ``memory`` bytes."""
        return None

    # Products --------------------------------------------------------------------------------

    def matvec(self, w: Array) -> Array:
        """X w; w is (d,) or (d, k)."""
        return self.map_rows(lambda x: x @ w)

    def rmatvec(self, u: Array) -> Array:
        """Xᵀ u; u is (n,) or (n, k)."""
        return self.reduce(lambda x, part: np.asarray(x.T @ part), u)

    def scores_of(self, coefs: Array) -> Array:
        """Coefs Xᵀ: scores of many models, one model per row of ``coefs`` and of the result."""
        if len(coefs) == 1:
            return self.matvec(coefs[0])[None]
        return np.ascontiguousarray(self.matvec(np.ascontiguousarray(coefs.T)).T)

    def slopes_of(self, u: Array) -> Array:
        """U X: slopes of many dual points, one per row."""
        if len(u) == 1:
            return self.rmatvec(u[0])[None]
        return np.ascontiguousarray(self.rmatvec(np.ascontiguousarray(u.T)).T)

    def rmatvec_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u for some columns."""
        return self.reduce(lambda x, part: np.asarray(x[:, columns].T @ part), u)

    def scores_and_sums(
        self, w: Array, f: Callable[..., Array], *rowwise: AnyArray
    ) -> tuple[Array, Array]:
        """(Xᵀf(t, *rowwise), t) with t = X w in one pass; f acts on every row by itself."""

        def product(x: np.ndarray, *parts: AnyArray) -> tuple[Array, list[Array]]:
            t = np.asarray(x @ w)
            return np.asarray(x.T @ f(t, *parts)), [t]

        image, scores = self.reduce(product, *rowwise)
        return image, np.concatenate(scores)

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """(Xᵀ(h∘t), t) with t = X v + shift: a Hessian times a vector, and the scores t."""
        image, scores = self.scores_and_sums(v, lambda t, part: part * (t + shift), h)
        return image, scores + shift

    def simplex_product(self, table: Array, p: Array, scale: Array) -> Array:
        """[X 1]ᵀu with u = scale∘(diag(p) − ppᵀ)t by row and t = [X 1]·table, all (n, k).

        This is the Hessian of a softmax times a step; the last row of tables is for intercepts.
        """
        v, shift = table[:-1], table[-1]

        def product(x: np.ndarray, law: Array, weights: Array) -> tuple[Array, Array]:
            u = _core.simplex_times(law, weights, np.ascontiguousarray(x @ v + shift))
            return np.asarray(x.T @ u), u.sum(axis=0)

        return np.vstack(self.reduce(product, p, scale))

    def moments(self, h: Array) -> Moments:
        """First and second moments of the columns under the row weights h."""

        def sums(x: np.ndarray, part: Array) -> tuple[Array, Array]:
            x = dense_block(x)
            return part @ x, part @ (x * x)

        return Moments(*self.reduce(sums, h))

    @property
    def squares_of_all(self) -> bool:
        """Whether `column_squares` reads all rows, so that the means cost no further pass."""
        return True

    def column_squares(self, h: Array) -> Array:
        """Σ hᵢxᵢⱼ² of every column, as a size; from some rows where a pass would take long."""
        return self.moments(h).second

    def score_sizes(self, w: Array, sizes: Array) -> Any:
        """Σⱼ sizeⱼ·|wⱼ|, of the parts that a score is the sum of; ``sizes`` are of the columns."""
        return _core.dot(sizes, np.abs(w)) if w.ndim == 1 else sizes @ np.abs(w)

    def slope_sizes(self, sizes: Array) -> Array:
        """Sizes of the numbers that products with columns of these sizes are computed from."""
        return sizes

    def images(self, matrix: Array) -> Iterator[Block]:
        """The rows of X·matrix, in order; some at a time where there are blocks."""
        if self.access.blocks is Reach.NONE:
            yield Block(slice(0, self.shape[0]), self.matvec(matrix))
            return
        for block in self.blocks():
            yield Block(block.rows, np.asarray(block.matrix @ matrix))

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """X_cᵀ diag(h) X_c for some columns (all by default), dense."""

        def product(x: np.ndarray, part: Array) -> Array:
            x = dense_block(x if columns is None else x[:, columns])
            return (x * part[:, None]).T @ x

        return self.reduce(product, h)

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The Gram matrix of columns centred by h-weighted means, as a free intercept needs it.

        Σh must be positive. This default subtracts the means after multiplying; a design whose
        columns may have means far larger than their spread should centre first.
        """
        total = float(h.sum())
        first = self.moments(h).first
        mean = (first if columns is None else first[columns]) / total
        matrix = self.gram(h, columns) - np.outer(mean, mean * total)
        noise = 1e-13  # share of the subtracted part; safeguard, some hundred ulp
        return Covariance(without_constants(matrix, mean * mean * total, noise), mean)

    # Inner products of rows, which a design without columns has too ----------------------------

    def row_gram(self, weights: Array | None = None, centre: Array | None = None) -> Array:
        """(X − 1·centreᵀ) diag(weights) (X − 1·centreᵀ)ᵀ, dense n×n; weights are one by default.

        Each pass over the blocks does as many rows as take no more memory than the result.
        """
        n, d = self.shape
        found, size = np.empty((n, n)), max(1, n * n // max(d, 1))

        def scaled(x: np.ndarray) -> Array:
            return scaled_rows(dense_block(x), weights, centre)

        for start in range(0, n, size):
            some = self.rows(np.arange(start, min(start + size, n))).map_rows(scaled).T
            found[:, start : start + size] = self._scaled_times(scaled, some)
        return found

    def _scaled_times(self, scaled: Callable[[np.ndarray], Array], right: Array) -> Array:
        return self.map_rows(lambda x: scaled(x) @ right)

    def cross(self, new: Design) -> Array:
        """Inner products of the rows of another design with those of this one, (m, n)."""
        other = new.map_rows(dense_block)
        return np.ascontiguousarray(self.map_rows(lambda x: x @ other.T).T)

    def row_product(self, a: Array) -> Array:
        """X Xᵀa, a of shape (n,) or (n, k): the scores of w = Xᵀa."""
        if self.access.columns is Reach.NONE:
            return self.row_gram() @ a
        return self.matvec(self.rmatvec(a))

    def row_squares(self, inverse: Array) -> Array:
        """Σⱼ inverseⱼ·xᵢⱼ² of every row; ``inverse`` may be one number."""
        weights = np.broadcast_to(inverse, self.shape[1:])

        def squares(x: np.ndarray) -> Array:
            x = dense_block(x)
            return (x * x) @ weights

        return self.map_rows(squares)

    @cached_property
    def row_lengths(self) -> Array:
        """Σⱼ xᵢⱼ² of every row, the diagonal of `row_gram`; cached for other alphas and classes."""
        return self.row_squares(np.ones(1))

    # Parts of the matrix -----------------------------------------------------------------------

    def columns(self, columns: IntArray) -> Design:
        """The given columns, copied into memory."""
        from .wrap import as_design

        return as_design(np.asfortranarray(self.map_rows(lambda x: dense_block(x[:, columns]))))

    def rows(self, rows: IntArray) -> Design:
        """The given rows, copied into memory (``rows`` increasing)."""
        from .wrap import as_design

        def kept(x: np.ndarray, times: IntArray) -> list[Array]:
            return [dense_block(x)[np.repeat(np.arange(times.size), times)]]

        times = np.bincount(rows, minlength=self.shape[0])
        return as_design(np.concatenate(self.reduce(kept, times)))

    def thinned(self, every: int) -> Design:
        """Every ``every``-th row."""
        return self.rows(np.arange(0, self.shape[0], every))

    @cached_property
    def row_lines(self) -> Lines:
        """All rows, each contiguous, as compiled kernels read them.

        If `access` does not call rows cheap, this copies the data into memory and keeps the copy; a
        solver that needs it compares `row_copy_bytes` with the memory limit first.
        """
        return self.rows(np.arange(self.shape[0])).row_lines

    def column_lines(self, columns: IntArray) -> tuple[Lines, IntArray]:
        """A matrix in which the given columns are contiguous, and their positions in it.

        By default a copy of these columns.
        """
        return self.columns(columns).column_lines(np.arange(columns.size))


def plain(x: AnyArray, dtype: Any = None) -> AnyArray:
    """The array in C order, aligned, of that dtype; not copied if it is so already."""
    return np.require(x, dtype, ("C", "A"))


def without_constants(matrix: Array, removed: Array, noise: float) -> Array:
    """Zero the rows and columns of a covariance that are nothing but rounding.

    ``removed`` is what centring subtracted from the diagonal, ``noise`` the share of it that counts
    as rounding. A column that is constant up to rounding would otherwise look like a column of tiny
    variance, and Newton steps along it would be of size 1e14.
    """
    constant = np.diag(matrix) <= noise * removed
    if constant.any():
        matrix[constant] = 0.0
        matrix[:, constant] = 0.0
    return matrix


def scaled_rows(rows: np.ndarray, weights: Array | None, centre: Array | None) -> Array:
    """A float64 copy of dense rows, centred and then multiplied by √weights.

    Its product with its own transpose is the row Gram; centring first keeps that accurate.
    """
    scaled = rows - centre if centre is not None else rows.astype(np.float64)
    if weights is not None:
        scaled *= np.sqrt(weights)
    return scaled


def dense_block(x: np.ndarray) -> Array:
    """The matrix of a block as a float64 array."""
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float)


def _add(total: Any, part: Any) -> Any:
    if isinstance(total, tuple):
        return tuple(_add(a, b) for a, b in zip(total, part))
    if isinstance(total, list):
        total.extend(part)  # a new list for every block would take the square of their number
        return total
    return total + part


def _unless_empty(found: T | None) -> T:
    if found is None:
        raise ValueError("a design without rows cannot be reduced")
    return found
