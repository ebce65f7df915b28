"""Reverse least squares: from predictors of the outputs to predictors of the inputs, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..._base.linear_system import EPS, solver_for
from ..._base.typing import Array, ArrayLike


def forward_from_reverse(X: ArrayLike, Y: ArrayLike, U: ArrayLike) -> Array:
    r"""The projection W that predicts Y from X, given the matrix U that rebuilds X from Y.

    .. math:: W^* = \arg\min_W \tfrac12\|XW - Y\|_F^2, \quad
              U^* = \arg\min_U \tfrac12\|X - YU\|_F^2, \qquad
              W = (X^\top X)^+ U^\top (Y^\top Y)

    Both optima satisfy :math:`X^\top X W = X^\top Y = U^\top Y^\top Y`, so that each follows from
    the other. This is how components and clusters, which are found in the reverse form, are carried
    to new points: their outputs are X_new W. With dependent columns W is the solution of least
    norm, X⁺Y.

    Parameters
    ----------
    X : array-like of shape (n, d)
    Y : array-like of shape (n, k)
    U : array-like of shape (k, d)
        As `reverse_from_forward` gives it, or the centres of clusters.

    Returns
    -------
    W : ndarray of shape (d, k)

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> Y = np.eye(3)[np.arange(30) % 3]                    # three clusters
    >>> U = np.linalg.pinv(Y) @ X                           # their means
    >>> W = mm.forward_from_reverse(X, Y, U)
    >>> bool(np.allclose(W, np.linalg.lstsq(X, Y)[0]))
    True
    """
    x, y = _matrix("X", X), _matrix("Y", Y)
    u = _matrix("U", U)
    _check_shape("U", u, (y.shape[1], x.shape[1]))
    _check_rows(x, y)
    return _gram_inverse(x, u.T @ (y.T @ y))


def reverse_from_forward(X: ArrayLike, Y: ArrayLike, W: ArrayLike) -> Array:
    r"""The matrix U that rebuilds X from Y, given the projection W that predicts Y from X.

    .. math:: U = (Y^\top Y)^+ W^\top (X^\top X)

    The other direction of `forward_from_reverse`; with dependent columns of Y the solution of least
    norm, Y⁺X.

    Parameters
    ----------
    X : array-like of shape (n, d)
    Y : array-like of shape (n, k)
    W : array-like of shape (d, k)

    Returns
    -------
    U : ndarray of shape (k, d)

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> Y = np.eye(3)[np.arange(30) % 3]
    >>> W = np.linalg.lstsq(X, Y)[0]
    >>> U = mm.reverse_from_forward(X, Y, W)
    >>> bool(np.allclose(U, [X[i::3].mean(axis=0) for i in range(3)]))    # the means of clusters
    True
    """
    x, y = _matrix("X", X), _matrix("Y", Y)
    w = _matrix("W", W)
    _check_shape("W", w, (x.shape[1], y.shape[1]))
    _check_rows(x, y)
    return _gram_inverse(y, (x @ w).T @ x)


def kernel_from_reverse(
    K: ArrayLike, Y: ArrayLike, B: ArrayLike = None, beta: float = 0.0
) -> Array:
    r"""The coefficients A of f(x) = Σ aᵢ·k(xᵢ, x) that predict Y, given the reverse form U = BΦ.

    .. math:: A = (K + \beta I)^{-1} B^\top (Y^\top Y), \qquad B^* = Y^+

    The same conversion where the rows are known by their inner products K only: the outputs of a
    new row are :math:`k(x, X)\,A`. Without ``B`` it is Y⁺, and then A = (K + βI)⁻¹Y: the kernel
    ridge regression of Y.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Values of a kernel.
    Y : array-like of shape (n, k)
    B : array-like of shape (k, n), optional
    beta : float, default=0
        The ridge β ≥ 0; with 0 and a singular K the pseudo-inverse is taken.

    Returns
    -------
    A : ndarray of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> x = np.linspace(0, 1, 6)[:, None]
    >>> K, Y = mm.RBF(0.2)(x), np.eye(2)[[0, 0, 0, 1, 1, 1]]
    >>> A = mm.kernel_from_reverse(K, Y, beta=1e-9)
    >>> (K @ A).argmax(axis=1)
    array([0, 0, 0, 1, 1, 1])
    """
    gram, y = _matrix("K", K), _matrix("Y", Y)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"K must be a square matrix, but its shape is {gram.shape}.")
    if not (np.isfinite(beta) and beta >= 0):
        raise ValueError(f"beta must be a finite number ≥ 0, not {beta!r}.")
    _check_rows(gram, y, "K")
    right = y
    if B is not None:
        b = _matrix("B", B)
        _check_shape("B", b, (y.shape[1], gram.shape[0]))
        right = b.T @ (y.T @ y)
    if beta == 0:
        return np.asarray(linalg.pinvh(0.5 * (gram + gram.T), check_finite=False) @ right)
    return np.asarray(solver_for(gram + float(beta) * np.eye(gram.shape[0]))(right))


def _gram_inverse(x: Array, right: Array) -> Array:
    """(XᵀX)⁺ right, by the singular values of X."""
    _, sizes, turns = linalg.svd(x, full_matrices=False, check_finite=False)
    kept = sizes > max(x.shape) * EPS * sizes.max(initial=0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, sizes, 1.0), 0.0) ** 2
    return np.asarray(turns.T @ (inverse[:, None] * (turns @ right)))


def _matrix(name: str, value: Any) -> Array:
    """A finite matrix of numbers; a vector is one column."""
    if sparse.issparse(value):
        value = value.toarray()
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of numbers.") from error
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or not found.size:
        raise ValueError(f"{name} must be a matrix with entries, but its shape is {found.shape}.")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} contains NaN or infinity: impute or drop such entries first.")
    return found


def _check_rows(x: Array, y: Array, name: str = "X") -> None:
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            f"{name} and Y must hold the same samples, but {name} has {x.shape[0]} rows and Y has "
            f"{y.shape[0]}."
        )


def _check_shape(name: str, value: Array, shape: tuple[int, int]) -> None:
    if value.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, but it has {value.shape}.")
