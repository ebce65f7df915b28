"""`check_kernel`: what a kernel must obey."""

from __future__ import annotations

import pickle
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._base.typing import Array
from ..kernels import Kernel, check_psd
from ..kernels.rows import picked
from .require import require

_CLOSE = 1e-9  # relative to the largest value; safeguard: rounding of sums of some hundred terms


def check_kernel(kernel: Kernel, X: Any = None) -> None:
    """Check every law a kernel must obey.

    Values are finite; the Gram matrix is symmetric and positive semidefinite; its diagonal is
    ``diag``; a pair has the same value alone as among others; the explicit features, if they are
    finite, have these inner products; binding leaves the object as it is; copies are equal; what is
    sparse or in single precision gives what its dense form gives.

    Parameters
    ----------
    kernel : Kernel
    X : rows that the kernel compares, optional
        By default 30 rows of 4 positive numbers, some of them zero.

    Raises
    ------
    AssertionError
        One sentence with the law that is broken.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.testing.check_kernel(mm.RBF(tau="median") * mm.Linear() + 1.0)
    """
    name = repr(kernel)
    X = _rows() if X is None else X
    before = dict(vars(kernel))
    bound = kernel.bind(X)
    require(vars(kernel) == before, f"{name}: bind changed the object itself.")
    require(not bound.unbound, f"{name}: after bind it still needs {bound.unbound}.")
    gram = np.asarray(bound(X), dtype=float)
    n = gram.shape[0]
    require(gram.shape == (n, n), f"{name}: k(X) is not square.")
    require(np.isfinite(gram).all(), f"{name}: a value is not finite.")
    found = check_psd(gram)
    require(found, f"{name}: {found.reason}.")
    require(_close(np.diag(gram), bound.diag(X), gram), f"{name}: diag(X) is not that of k(X).")
    require(_close(kernel(X), gram, gram), f"{name}: k(X) differs from bind(X)(X).")
    _check_blocks(bound, X, gram, name)
    _check_copies(kernel, X, gram, name)
    _check_features(bound, X, gram, name)
    if kernel.takes_sparse and isinstance(X, np.ndarray):
        thin = kernel(sparse.csr_array(X))
        require(_close(thin, gram, gram), f"{name}: sparse rows have other values.")
        single = np.asarray(kernel(X.astype(np.float32)), dtype=float)
        size = 1e-3 * max(float(np.abs(gram).max()), 1.0)  # 1e-3: safeguard, single precision
        require(np.abs(single - gram).max() <= size, f"{name}: float32 rows have other values.")


def _check_blocks(bound: Kernel, X: Any, gram: Array, name: str) -> None:
    """A pair has one value, wherever it stands."""
    some = np.arange(0, gram.shape[0], 3)
    rows = picked(X, some)
    require(_close(bound(rows, X), gram[some], gram), f"{name}: some rows have other values alone.")
    x = bound.rows(X, training=True)
    cut = bound.block(x, x[some])
    require(_close(cut, gram[:, some], gram), f"{name}: cutting rows(X) changes values.")


def _check_copies(kernel: Kernel, X: Any, gram: Array, name: str) -> None:
    """Clones and pickles are the same kernel."""
    copies = {"clone": clone(kernel)}
    # No pickle can hold a function without a name.
    with suppress(AttributeError, pickle.PicklingError):
        copies["pickle"] = pickle.loads(pickle.dumps(kernel))
    for what, copy in copies.items():
        require(repr(copy) == name, f"{name}: its {what} has other parameters.")
        require(_close(copy(X), gram, gram), f"{name}: its {what} has other values.")


def _check_features(bound: Kernel, X: Any, gram: Array, name: str) -> None:
    """Explicit features have the kernel as their inner product."""
    try:
        phi = bound.features(X)
    except ValueError:
        return  # there is no finite map, which is said in words
    products = phi @ phi.T
    products = products.toarray() if sparse.issparse(products) else products
    require(_close(products, gram, gram), f"{name}: features(X) have other inner products.")


def _rows() -> Array:
    rng = np.random.default_rng(0)
    rows = rng.exponential(size=(30, 4)) * (rng.random((30, 4)) < 0.7)
    rows[:, 0] += 0.1  # no row is zero: a normalised kernel needs k(x, x) > 0
    return rows


def _close(a: Array, b: Array, gram: Array) -> bool:
    size = max(float(np.abs(gram).max()), 1e-300)  # 1e-300: safeguard against 0
    return a.shape == b.shape and bool(np.abs(np.asarray(a) - b).max() <= _CLOSE * size)
