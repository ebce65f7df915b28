"""`check_features`: what a feature map must obey."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._base.typing import Array, ArrayLike
from ..features import Features
from .require import require


def check_features(features: Features, X: ArrayLike = None) -> None:
    """Check every law a feature map must obey.

    A fitted copy leaves the map as it is; equal seeds give equal columns; rows are mapped one by
    one; there is a name for every column; columns are finite, and not all of them constant; what
    is sparse gives what its dense form gives.

    Parameters
    ----------
    features : Features
        With a ``random_state``, if it draws numbers.
    X : array-like of shape (n_samples, n_features), optional
        Rows to map; by default 30 rows of 4 random numbers, some of them zero.

    Raises
    ------
    AssertionError
        One sentence with the law that is broken.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.testing.check_features(mm.Monomials(3))
    """
    name = type(features).__name__
    rows = _rows() if X is None else np.asarray(X, dtype=float)
    before = dict(vars(features))
    bound = features.bind(rows)
    require(vars(features) == before, f"{name}: bind changed the object itself.")
    mapped = _dense(bound.transform(rows))
    n = rows.shape[0]
    require(mapped.shape[0] == n, f"{name}: {n} rows gave {mapped.shape[0]}.")
    require(np.isfinite(mapped).all(), f"{name}: a column is not finite.")
    require(np.ptp(mapped, axis=0).any(), f"{name}: every column is constant.")
    again = _dense(clone(features).fit_transform(rows))
    require(_close(mapped, again), f"{name}: two fits differ; does it have a random_state?")
    alone = np.concatenate([_dense(bound.transform(rows[i : i + 1])) for i in range(n)])
    require(_close(mapped, alone), f"{name}: a row is mapped differently when it is alone.")
    names = bound.get_feature_names_out()
    count = len(set(names))
    require(count == mapped.shape[1], f"{name}: {count} names for {mapped.shape[1]} columns.")
    if features.takes_sparse:
        for layout in (sparse.csr_array, sparse.csc_array):
            thin = _dense(features.bind(layout(rows)).transform(layout(rows)))
            require(_close(mapped, thin), f"{name}: sparse rows are mapped differently.")


def _rows() -> Array:
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.7)


def _dense(x: Any) -> Array:
    return np.asarray(x.toarray() if sparse.issparse(x) else x, dtype=float)


def _close(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-9, atol=1e-9))
