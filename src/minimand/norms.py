"""Norms of matrices: induced by norms of vectors, of singular values, and of blocks of rows.

W is any matrix; in a model with many outputs its rows are features and its columns are outputs.
Small values are what a penalty rewards: of U = [1 1; 0 0], V = [1 0; 1 0] and the identity, U has
the smallest block (2, 1) norm, since one of its rows vanishes, and U and V have the smallest trace
norm, since their rank is 1.

Examples
--------
>>> import minimand as mm
>>> mm.norms.induced([[1.0, 2.0], [0.0, -3.0]], 1)
5.0
>>> mm.norms.schatten([[3.0, 0.0], [0.0, -4.0]], 1)
7.0
>>> mm.norms.block([[3.0, 4.0], [0.0, 2.0]], 2, 1)
7.0
"""

from __future__ import annotations

import numbers

import numpy as np

from ._base.typing import Array, ArrayLike

__all__ = ["block", "induced", "schatten"]


def induced(W: ArrayLike, p: float) -> float:
    r"""The norm that a norm of vectors induces.

    .. math:: \|W\|_p = \max_{x \ne 0} \|Wx\|_p / \|x\|_p

    For p = 1 it is the largest absolute sum of a column, for p = ∞ that of a row, for p = 2 the
    largest singular value. For other p it is NP-hard to compute, and refused.

    Parameters
    ----------
    W : array-like of shape (d, k)
    p : {1, 2, inf}

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> W = [[1.0, 1.0], [0.0, 0.0]]
    >>> mm.norms.induced(W, 1), mm.norms.induced(W, np.inf)
    (1.0, 2.0)
    >>> round(mm.norms.induced(W, 2), 6)
    1.414214
    """
    matrix, p = _matrix(W), _exponent("p", p)
    if p == 1:
        return float(np.abs(matrix).sum(axis=0).max(initial=0.0))
    if p == np.inf:
        return float(np.abs(matrix).sum(axis=1).max(initial=0.0))
    if p == 2:
        return schatten(matrix, np.inf)
    raise ValueError(f"p of an induced norm must be 1, 2 or inf, not {p:g}: others are NP-hard.")


def schatten(W: ArrayLike, p: float) -> float:
    r"""The p-norm of the singular values.

    .. math:: \|\sigma(W)\|_p = \Bigl(\sum_i \sigma_i^p\Bigr)^{1/p}

    p = 1 is the trace norm, p = 2 the Frobenius norm, p = ∞ the spectral norm. The dual norm is
    that of p/(p − 1).

    Parameters
    ----------
    W : array-like of shape (d, k)
    p : float
        At least 1; may be infinite.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> [mm.norms.schatten(np.diag([3.0, 4.0]), p) for p in (1, 2, np.inf)]
    [7.0, 5.0, 4.0]
    """
    matrix, p = _matrix(W), _exponent("p", p)
    if not matrix.size:
        return 0.0
    values = np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=float)
    return float(_of_rows(values[None, :], p)[0])


def block(W: ArrayLike, p: float, q: float) -> float:
    r"""The q-norm of the p-norms of the rows.

    .. math:: \|W\|_{p,q} = \Bigl(\sum_i \|W_{i:}\|_p^q\Bigr)^{1/q}

    (p, q) = (2, 1) is Σ row 2-norms, small if whole rows vanish; (2, 2) is the Frobenius norm. The
    dual norm is that of p/(p − 1) and q/(q − 1). Lecture notes sometimes print the general formula
    with p and q exchanged, beside the same ‖W‖₂,₁.

    Parameters
    ----------
    W : array-like of shape (d, k)
    p, q : float
        At least 1; may be infinite.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.norms.block([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]], 2, 1)
    7.0
    """
    matrix, p, q = _matrix(W), _exponent("p", p), _exponent("q", q)
    return float(_of_rows(_of_rows(matrix, p)[None, :], q)[0])


def _of_rows(matrix: Array, p: float) -> Array:
    """The p-norm of every row, in units of its largest entry so that powers do not overflow."""
    size = np.abs(matrix)
    most = size.max(axis=1, initial=0.0)
    if p == np.inf:
        return most
    unit = np.where((most > 0) & np.isfinite(most), most, 1.0)
    return np.asarray(unit * ((size / unit[:, None]) ** p).sum(axis=1) ** (1.0 / p))


def _matrix(W: ArrayLike) -> Array:
    """W as a matrix of numbers, checked."""
    try:
        matrix = np.asarray(W, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError("W must be a matrix of numbers.") from error
    if matrix.ndim != 2:
        raise ValueError(f"W must be a matrix, but it has the shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise ValueError("W holds numbers that are not finite.")
    return matrix


def _exponent(name: str, p: float) -> float:
    """A number ≥ 1, checked."""
    if not isinstance(p, numbers.Real) or isinstance(p, bool) or not float(p) >= 1:
        raise ValueError(f"{name} of a norm must be a number that is at least 1, not {p!r}.")
    return float(p)
