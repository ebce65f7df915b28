"""The data matrix as an operator: the only way in which anything touches X."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._base.typing import AnyArray, Array, IntArray

T = TypeVar("T")


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


class DescentProblem(NamedTuple):
    """Σ qᵢtᵢ + ½hᵢtᵢ² + Σ l1ⱼ|wⱼ| + ½ l2ⱼwⱼ² over t = X_c(w − w₀) + b, for the compiled descent."""

    columns: IntArray
    h: Array
    l1: Array
    l2: Array
    centre: bool  # whether b is free
    bounds: tuple[Array, Array] | None = None  # of w, which keeps them if it starts in them


class Descent(NamedTuple):
    """What a run of coordinate descent did: the intercept's move, sweeps, last decrease."""

    shift: float
    sweeps: int
    decrease: float


AscentMemory = tuple[float, float, int, float]
"""The intercept, its step, how many rows are not skipped, and how far from a knot they are."""


class AscentProblem(NamedTuple):
    """A loss of single rows with an L2 penalty, as the compiled ascent sees it."""

    psi: tuple[Array, Array, Array, Array, Array] | str  # pieces, or the name of another function
    rows: tuple[Array, Array, Array, Array]  # sign, shift, mass, and squares
    inverse: Array  # 1/l2; one number where all are equal
    intercept: tuple[bool, float]  # whether it is free, and about how far a t is from a knot


class AscentState(NamedTuple):
    """What an ascent moves, v and w in place, and what it remembers."""

    v: Array
    w: Array
    order: AnyArray
    memory: AscentMemory


class Ascent(NamedTuple):
    """What a run of dual coordinate ascent did, and what it wants to be told the next time."""

    memory: AscentMemory
    sweeps: float
    gap: float  # an estimate


class OnlineRule(NamedTuple):
    """What a row with score z = x·w + b does to a model that learns row by row.

    Its loss is max(0, threshold − y·z), or max(0, |y − z| − threshold) for ``numbers``; where that
    is not flat, w moves along ±x and b by ``share`` as much. ``step`` 0 moves by ``rate``; 1 is
    PA-I, min(rate, loss/‖x‖²); 2 is PA-II, loss/(‖x‖² + 1/(2·rate)). The penalty is
    ridge·½‖w‖² + lasso·‖w‖₁; ``average`` is the step that averaging begins with, 0 for never.
    """

    step: int
    numbers: bool
    threshold: float
    rate: float
    ridge: float = 0.0
    lasso: float = 0.0
    share: float = 1.0
    average: int = 0


OnlineClock = tuple[float, float, float, float]
"""The intercept, its drift, 1 + rows so far, and what the l1 norm may have taken."""


class OnlineReport(NamedTuple):
    """What one pass did: the clock, losses and penalties it met added up, rows that moved w."""

    clock: OnlineClock
    objective: float
    moves: int


class RowSteps(NamedTuple):
    """Stochastic steps, as the compiled passes take them: see `solvers.learner`."""

    adaptive: bool
    models: tuple[int, int, int]  # groups, models in each, numbers of a coefficient in a model
    slopes: tuple[int, tuple[Array, Array, Array, Array, Array], Array, bool]
    rows: tuple[Array, Array, Array, AnyArray]
    penalty: tuple[Array, Array]
    options: tuple[float, float, float, float, float, float, float, float, bool, bool]


class Design:
    """An n×d matrix of which only products are needed.

    A subclass must say its `shape` and give its `blocks`; every other operation then has a
    default that makes one pass over the blocks, so data on disk or on other machines needs
    nothing more. Designs in memory override what they can do faster.
    """

    shape: tuple[int, int]

    def blocks(self) -> Iterator[Block]:
        """The rows, in order, as in-memory pieces."""
        raise NotImplementedError(f"{type(self).__name__} must define blocks()")

    def reduce(self, f: Callable[..., T], *rowwise: Array) -> T:
        """Σ over blocks of f(matrix, *rows of each rowwise array): the one pass."""
        total: T | None = None
        for block in self.blocks():
            part = f(block.matrix, *(array[block.rows] for array in rowwise))
            total = part if total is None else _add(total, part)
        if total is None:
            raise ValueError("a design without rows cannot be reduced")
        return total

    def matvec(self, w: Array) -> Array:
        """X w; w is (d,) or (d, k)."""
        out = np.empty((self.shape[0], *w.shape[1:]))
        for block in self.blocks():
            out[block.rows] = block.matrix @ w
        return out

    def rmatvec(self, u: Array) -> Array:
        """Xᵀ u; u is (n,) or (n, k)."""
        return self.reduce(lambda x, part: np.asarray(x.T @ part), u)

    def scores_of(self, coefs: Array) -> Array:
        """Coefs Xᵀ: the scores of many models, a row for each, as their coefficients are."""
        if len(coefs) == 1:
            return self.matvec(coefs[0])[None]
        return np.ascontiguousarray(self.matvec(np.ascontiguousarray(coefs.T)).T)

    def slopes_of(self, u: Array) -> Array:
        """U X: the slopes of many dual points, likewise."""
        if len(u) == 1:
            return self.rmatvec(u[0])[None]
        return np.ascontiguousarray(self.rmatvec(np.ascontiguousarray(u.T)).T)

    def rmatvec_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u for some columns."""
        return self.columns(columns).rmatvec(u)

    @property
    def picks_columns(self) -> bool:
        """Whether a few columns can be reached without a pass over the others."""
        return False

    def ready_to_pick(self) -> None:
        """Make what `picks_columns` needs, where many problems will use it."""

    def curvature_product(self, v: Array, shift: float, h: Array) -> tuple[Array, Array]:
        """(Xᵀ(h∘t), t) with t = X v + shift: a Hessian times a vector, and its scores."""
        scores = np.empty(self.shape[0])
        image = np.zeros(self.shape[1])
        for block in self.blocks():
            scores[block.rows] = block.matrix @ v + shift
            image += block.matrix.T @ (h[block.rows] * scores[block.rows])
        return image, scores

    def moments(self, h: Array) -> Moments:
        """First and second moments of the columns under the row weights h."""

        def sums(x: np.ndarray, part: Array) -> tuple[Array, Array]:
            x = _dense(x)
            return part @ x, part @ (x * x)

        return Moments(*self.reduce(sums, h))

    def gram(self, h: Array, columns: IntArray | None = None) -> Array:
        """X_cᵀ diag(h) X_c for some columns (all by default), dense."""

        def product(x: np.ndarray, part: Array) -> Array:
            x = _dense(x if columns is None else x[:, columns])
            return (x * part[:, None]).T @ x

        return self.reduce(product, h)

    def covariance(self, h: Array, columns: IntArray | None = None) -> Covariance:
        """The Gram of the columns centred by their h-weighted means: what a free intercept leaves.

        Σh must be positive. This default subtracts afterwards; where columns have means far
        larger than their spread, a design should centre before it multiplies.
        """
        total = float(h.sum())
        first = self.moments(h).first
        mean = (first if columns is None else first[columns]) / total
        matrix = self.gram(h, columns) - np.outer(mean, mean * total)
        return Covariance(without_constants(matrix, mean * mean * total, 1e-13), mean)

    def columns(self, columns: IntArray) -> Design:
        """Those columns, gathered in memory."""
        from .wrap import as_design

        return as_design(
            np.asfortranarray(np.concatenate([_dense(b.matrix[:, columns]) for b in self.blocks()]))
        )

    def rows(self, rows: IntArray) -> Design:
        """Those rows, gathered in memory (``rows`` increasing)."""
        from .wrap import as_design

        kept = []
        for block in self.blocks():
            inside = rows[(rows >= block.rows.start) & (rows < block.rows.stop)]
            kept.append(_dense(block.matrix)[inside - block.rows.start])
        return as_design(np.concatenate(kept))

    def thinned(self, every: int) -> Design:
        """Every k-th row."""
        return self.rows(np.arange(0, self.shape[0], every))

    def row_gram(self, weights: Array, centre: Array | None = None) -> Array:
        """(X − 1·centreᵀ) diag(weights) (X − 1·centreᵀ)ᵀ, dense n×n."""
        rows = np.concatenate([_dense(block.matrix) for block in self.blocks()])
        return scaled_row_gram(rows, weights, centre)

    def row_product(self, a: Array) -> Array:
        """X Xᵀa, a of shape (n,) or (n, k): the scores of w = Xᵀa.

        A design without columns must define it.
        """
        return self.matvec(self.rmatvec(a))

    def descend(
        self, problem: DescentProblem, q: Array, w: Array, sweeps: int, tol: float
    ) -> Descent:
        """Coordinate descent over some columns; see `canonical.Weighted`. Changes w and q."""
        gathered = self.columns(problem.columns)
        everything = np.arange(problem.columns.size)
        return gathered.descend(problem._replace(columns=everything), q, w, sweeps, tol)

    @cached_property
    def in_rows(self) -> Design:
        """The same matrix in memory with its rows together, for `ascend` and `online_pass`."""
        return self.rows(np.arange(self.shape[0]))

    @property
    def rows_together(self) -> bool:
        """Whether `in_rows` needs no copy."""
        return False

    def row_squares(self, inverse: Array) -> Array:
        """Σⱼ inverseⱼ·xᵢⱼ² of every row; ``inverse`` may be one number."""
        return self.in_rows.row_squares(inverse)

    @cached_property
    def row_lengths(self) -> Array:
        """Σⱼ xᵢⱼ² of every row: every alpha and every class asks for it."""
        return self.row_squares(np.ones(1))

    def ascend(
        self, problem: AscentProblem, state: AscentState, epochs: int, tol: float, seed: int
    ) -> Ascent:
        """Coordinate ascent over the rows; see `canonical.RowDual`. Changes the state."""
        return self.in_rows.ascend(problem, state, epochs, tol, seed)

    def online_pass(
        self,
        rule: OnlineRule,
        rows: tuple[Array, Array, AnyArray],
        state: tuple[Array, Array, Array, Array],
        clock: OnlineClock,
    ) -> OnlineReport:
        """One pass over rows (y, weight, order); see `solvers.online.Learner`. Changes state."""
        return self.in_rows.online_pass(rule, rows, state, clock)

    def step_rows(self, steps: RowSteps, fields: Array, memory: Array) -> None:
        """Stochastic steps over rows, one after the other; changes fields and memory."""
        self.in_rows.step_rows(steps, fields, memory)

    @property
    def nnz(self) -> int:
        """Stored numbers: what one pass costs."""
        return self.shape[0] * self.shape[1]

    @property
    def column_sizes(self) -> IntArray:
        """Stored numbers of every column: what descending along it costs."""
        return np.full(self.shape[1], self.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether zeros are not stored."""
        return False

    @property
    def by_rows(self) -> bool:
        """Whether sparse rows lie together, so that a Gram of some columns is cheap."""
        return False


def plain(x: AnyArray, dtype: Any = None) -> AnyArray:
    """The vector or matrix in C order, aligned, of that type: itself where it is so already."""
    return np.require(x, dtype, ("C", "A"))


def without_constants(matrix: Array, removed: Array, noise: float) -> Array:
    """Zero the rows and columns of a covariance that are nothing but rounding.

    ``removed`` is what centring took from the diagonal. A column that is constant up to rounding
    would otherwise pass for one of tiny variance, and take steps of 1e14.
    """
    constant = np.diag(matrix) <= noise * removed
    if constant.any():
        matrix[constant] = 0.0
        matrix[:, constant] = 0.0
    return matrix


def scaled_row_gram(rows: np.ndarray, weights: Array, centre: Array | None) -> Array:
    """The row Gram of a dense matrix, in float64, centred before it is multiplied."""
    scaled = rows - centre if centre is not None else rows.astype(np.float64)
    scaled *= np.sqrt(weights)
    return np.asarray(scaled @ scaled.T)


def _dense(x: np.ndarray) -> Array:
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=float)


def _add(total: Any, part: Any) -> Any:
    if isinstance(total, tuple):
        return tuple(a + b for a, b in zip(total, part))
    return total + part
