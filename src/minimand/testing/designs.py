"""`check_design`: what a data matrix must obey."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike
from ..canonical import DescentProblem, descend
from ..design import Design, Reach
from .require import require


def check_design(design: Design, X_dense: ArrayLike, *, rtol: float = 1e-10) -> None:
    """Check every operation of a design against the dense formula.

    Parameters
    ----------
    design : Design
        A design with at least two rows and two columns. One without columns, as its `access` says,
        is checked for the inner products of its rows: `row_gram`, `row_lengths`, `cross`, `rows`.
    X_dense : array-like of shape (n, d)
        The same matrix as a NumPy array; of a design without columns any matrix whose rows have
        the same inner products.
    rtol : float, default=1e-10
        Allowed rounding, relative to the sum of absolute values of the products.

    Raises
    ------
    AssertionError
        One sentence with the operation that differs.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> from minimand.design import as_design
    >>> X = np.arange(12.0).reshape(4, 3)
    >>> mm.testing.check_design(as_design(X), X)
    """
    X = np.asarray(X_dense, dtype=float)
    name = type(design).__name__
    rng = np.random.default_rng(0)
    if design.access.columns is Reach.NONE:
        require(design.shape[0] == X.shape[0], f"{name}: {design.shape[0]} rows, not {len(X)}.")
        _check_row_products(design, X, rng, rtol)
        return
    require(design.shape == X.shape, f"{name}: shape is {design.shape}, not {X.shape}.")
    require(0 <= design.nnz <= X.size, f"{name}: nnz={design.nnz} is impossible.")
    if design.access.blocks is not Reach.NONE:
        _check_blocks(design, X, rtol)
    _check_passes(design, X, rtol)
    _check_products(design, X, rng, rtol)
    _check_pieces(design, X, rng, rtol)
    _check_row_products(design, X, rng, rtol)
    _check_weighted_rows(design, X, rng, rtol)
    _check_access(design, X)
    for centre in (False, True):
        _check_descent(design, X, rng, centre)


def _same(design: Design, what: str, got: Any, want: Array, size: Array, rtol: float) -> None:
    name = type(design).__name__
    got = np.asarray(got)
    require(got.shape == want.shape, f"{name}.{what}: shape {got.shape}, not {want.shape}.")
    require(got.dtype == np.float64, f"{name}.{what}: dtype {got.dtype}, not float64.")
    worst = float(np.max(np.abs(got - want) - rtol * size, initial=-1.0))
    require(worst <= 0, f"{name}.{what} differs from the dense formula by {worst:.3g}.")


def _check_blocks(design: Design, X: Array, rtol: float) -> None:
    name, at = type(design).__name__, 0
    for block in design.blocks():
        require(block.rows.start == at, f"{name}.blocks: rows are not in order at row {at}.")
        matrix: Any = block.matrix
        part = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
        want = X[block.rows]
        _same(design, "blocks", part, want, np.abs(want) + np.abs(X).max(), rtol)
        at = block.rows.stop
    require(at == X.shape[0], f"{name}.blocks: {at} rows instead of {X.shape[0]}.")


def _check_passes(design: Design, X: Array, rtol: float) -> None:
    """`reduce` adds arrays and joins lists; `map_rows` stacks blocks in order."""
    name, n = type(design).__name__, X.shape[0]
    place = np.arange(n, dtype=float)
    joined = design.reduce(lambda x, part: [part.copy()], place)
    in_order = np.array_equal(np.concatenate(joined), place)
    require(in_order, f"{name}.reduce: lists are not joined in the order of the rows.")
    mapped = design.map_rows(lambda x, part: part + np.asarray(x @ np.zeros(X.shape[1])), place)
    require(np.array_equal(mapped, place), f"{name}.map_rows: rows are not in order.")
    ones = np.ones(n)
    total, count = design.reduce(lambda x, part: (np.asarray(x.T @ part), float(part.sum())), ones)
    _same(design, "reduce", total, X.sum(axis=0), X.shape[0] * np.abs(X).max() + 0 * total, rtol)
    require(count == X.shape[0], f"{name}.reduce: rowwise arrays are not cut like the rows.")


def _check_products(design: Design, X: Array, rng: np.random.Generator, rtol: float) -> None:
    n, d = int(X.shape[0]), int(X.shape[1])
    A = np.abs(X)
    for w in (
        rng.standard_normal(d),
        np.zeros(d),
        rng.standard_normal((d, 3)),
        np.asfortranarray(rng.standard_normal((d, 2))),
        rng.standard_normal(2 * d)[::2],
    ):
        _same(design, "matvec", design.matvec(w), X @ w, A @ np.abs(w) + A.max(), rtol)
    for u in (
        rng.standard_normal(n),
        rng.standard_normal((n, 3)),
        np.asfortranarray(rng.standard_normal((n, 2))),
        rng.standard_normal(2 * n)[::2],
    ):
        _same(design, "rmatvec", design.rmatvec(u), X.T @ u, A.T @ np.abs(u) + A.max(), rtol)
    h = rng.uniform(0.0, 2.0, n) * (rng.uniform(size=n) < 0.8)
    v, shift = rng.standard_normal(d), 0.7
    image, scores = design.curvature_product(v, shift, h)
    t = h * (X @ v + shift)
    size = h * (A @ np.abs(v) + shift)
    _same(design, "curvature_product", image, X.T @ t, A.T @ size + A.max(), rtol)
    _same(design, "curvature_product", scores, X @ v + shift, A @ np.abs(v) + A.max() + 1, rtol)
    p, steps = rng.dirichlet(np.ones(3), size=n), rng.standard_normal((d + 1, 3))
    found = design.simplex_product(steps, p, h)
    t = X @ steps[:-1] + steps[-1]
    u = h[:, None] * p * (t - (p * t).sum(axis=1, keepdims=True))
    size = h[:, None] * (A @ np.abs(steps[:-1]) + np.abs(steps[-1])).max(axis=1, keepdims=True)
    size = np.repeat(size, 3, axis=1)
    _same(design, "simplex_product", found[:-1], X.T @ u, A.T @ size + A.max(), rtol)
    _same(design, "simplex_product", found[-1], u.sum(axis=0), size.sum(axis=0) + A.max() + 1, rtol)
    first, second = design.moments(h)
    square = A.max() ** 2 * (h.sum() + 1.0) + np.zeros(d)
    _same(design, "moments.first", first, h @ X, A.max() * (h.sum() + 1.0) + np.zeros(d), rtol)
    _same(design, "moments.second", second, h @ X**2, square, rtol)


def _check_pieces(design: Design, X: Array, rng: np.random.Generator, rtol: float) -> None:
    n, d = int(X.shape[0]), int(X.shape[1])
    h = rng.uniform(0.1, 2.0, n)
    square = np.abs(X).max() ** 2 * n + 1e-300
    full = (X * h[:, None]).T @ X
    _same(design, "gram", design.gram(h), full, square + 0 * full, rtol)
    some = rng.permutation(d)[: max(1, d // 2)].astype(np.int64)
    for columns in (np.sort(some), some, np.arange(d)):
        want = full[np.ix_(columns, columns)]
        got = design.gram(h, columns)
        _same(design, "gram(columns)", got, want, square + 0 * want, rtol)
        piece = design.columns(columns)
        w = rng.standard_normal(columns.size)
        want = X[:, columns] @ w
        size = np.abs(X).max() * np.abs(w).sum() + 0 * want
        _same(design, "columns", piece.matvec(w), want, size, rtol)
        u = rng.standard_normal(n)
        want = X[:, columns].T @ u
        size = np.abs(X).max() * np.abs(u).sum() + 0 * want
        _same(design, "rmatvec_on", design.rmatvec_on(columns, u), want, size, rtol)
    rows = np.flatnonzero(rng.uniform(size=n) < 0.6)
    rows = rows if rows.size else np.array([n - 1])
    w = rng.standard_normal(d)
    want = X[rows] @ w
    size = np.abs(X).max() * np.abs(w).sum() + 0 * want
    _same(design, "rows", design.rows(rows).matvec(w), want, size, rtol)


def _check_row_products(design: Design, X: Array, rng: np.random.Generator, rtol: float) -> None:
    """Inner products of all and of some rows, which a design without columns has too."""
    gram = X @ X.T
    size = np.abs(X) @ np.abs(X).T + np.abs(X).max() ** 2
    _same(design, "row_gram", design.row_gram(), gram, size, rtol)
    _same(design, "row_lengths", design.row_lengths, np.diag(gram), np.diag(size), rtol)
    rows = np.flatnonzero(rng.uniform(size=X.shape[0]) < 0.6)
    rows = rows if rows.size else np.array([X.shape[0] - 1])
    some = design.rows(rows)
    part = np.ix_(rows, rows)
    _same(design, "rows.row_gram", some.row_gram(), gram[part], size[part], rtol)
    _same(design, "cross", design.cross(some), gram[rows], size[rows], rtol)
    for a in (rng.standard_normal(len(X)), rng.standard_normal((len(X), 2))):
        _same(design, "row_product", design.row_product(a), gram @ a, size @ np.abs(a), rtol)


def _check_weighted_rows(design: Design, X: Array, rng: np.random.Generator, rtol: float) -> None:
    d = int(X.shape[1])
    weights, centre = rng.uniform(0.0, 2.0, d), rng.standard_normal(d)
    for middle in (None, centre):
        moved = X if middle is None else X - middle
        want = (moved * weights) @ moved.T
        size = (np.abs(X).max() + np.abs(centre).max()) ** 2 * weights.sum() + 0 * want
        _same(design, "row_gram(weights)", design.row_gram(weights, middle), want, size, rtol)
    for inverse in (weights, np.array([0.5])):
        want = (X * X * inverse).sum(axis=1)
        size = (X * X).max() * d * 2.0 + 0 * want
        _same(design, "row_squares", design.row_squares(inverse), want, size, rtol)


def _check_access(design: Design, X: Array) -> None:
    """What `access` calls cheap is not copied, and `row_copy_bytes` counts a copy of the rows."""
    name = type(design).__name__
    cheap = design.access.rows is Reach.CHEAP
    require(
        cheap == (design.row_copy_bytes == 0),
        f"{name}: access.rows is {design.access.rows.name}, but row_copy_bytes is "
        f"{design.row_copy_bytes:g}.",
    )
    require(
        design.column_sizes.shape == X.shape[1:],
        f"{name}.column_sizes has shape {design.column_sizes.shape}, not {X.shape[1:]}.",
    )


def _check_descent(design: Design, X: Array, rng: np.random.Generator, centre: bool) -> None:
    """Descent ends where Σ qᵢtᵢ + ½hᵢtᵢ² + Σ l1|w| + ½ l2w² is stationary, t = X_c(w − w₀) + b."""
    n, d = int(X.shape[0]), int(X.shape[1])
    columns = np.sort(rng.permutation(d)[: max(1, (3 * d) // 4)]).astype(np.int64)
    c = X[:, columns]
    h, q0 = rng.uniform(0.2, 1.0, n) / n, rng.standard_normal(n) / n
    w0 = np.zeros(columns.size)
    w, q = w0.copy(), q0.copy()
    l1 = 0.3 * np.abs(c.T @ (q0 - centre * h * (q0.sum() / h.sum()))) + 1e-12
    l2 = 0.1 * (h @ c**2) + 1e-12
    shift = 0.0
    problem = DescentProblem(columns, h, l1, l2, centre)
    for _ in range(20):
        done = descend(design, problem, q, w, sweeps=200, tol=0.0)
        shift += done.shift
    where = f"{type(design).__name__}.column_lines, by descent (centre={centre})"
    require(centre or shift == 0.0, f"{where}: the intercept moved.")
    moved = h * (c @ (w - w0) + shift)
    drift = np.abs(q - q0 - moved).max()
    size = np.abs(q0).max() + np.abs(moved).max()
    require(drift <= 1e-8 * size, f"{where}: q was not kept up to date ({drift:.3g}).")
    slope = c.T @ q + l2 * w
    tol = 1e-6 * (np.abs(c).T @ np.abs(q0) + l1)
    at_zero = np.maximum(np.abs(slope) - l1, 0.0)
    stationary = np.where(w != 0, np.abs(slope + l1 * np.sign(w)), at_zero)
    require((stationary <= tol).all(), f"{where}: it does not end at a stationary point.")
    if centre:
        require(abs(q.sum()) <= 1e-8 * np.abs(q0).sum(), f"{where}: Σq is not zero at the end.")
