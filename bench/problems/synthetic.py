"""Data made from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .base import Array


def sparse_normal(n: int, d: int, per_row: int, rng: np.random.Generator) -> Any:
    """CSC with standard normal values at random positions."""
    columns = rng.integers(d, size=n * per_row)
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.csc_matrix((rng.standard_normal(n * per_row), (rows, columns)), shape=(n, d))
    X.sum_duplicates()
    return X


def documents(n: int, d: int, per_row: int, rng: np.random.Generator, zipf: bool = True) -> Any:
    """CSR like a tf-idf matrix: `per_row` words a row, positive values, rows of unit norm.

    Words follow a shifted Zipf law, or all are equally frequent.
    """
    popularity = 1.0 / (np.arange(d) + 50.0) if zipf else np.ones(d)
    edges = np.cumsum(popularity / popularity.sum())
    draws = 3 * per_row
    words = np.searchsorted(edges, rng.random((n, draws))).clip(max=d - 1)
    words.sort(axis=1)
    first = np.ones((n, draws), dtype=bool)
    first[:, 1:] = words[:, 1:] != words[:, :-1]
    # Keep `per_row` of the distinct words of every row, at random.
    lottery = np.where(first, rng.random((n, draws)), 2.0)
    kept = np.argpartition(lottery, per_row, axis=1)[:, :per_row]
    kept.sort(axis=1)
    present = np.take_along_axis(first, kept, axis=1)
    columns = np.take_along_axis(words, kept, axis=1)
    counts = 1.0 + rng.poisson(0.4, size=columns.shape)
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    X = sparse.csr_matrix(
        ((1.0 + np.log(counts))[present], columns[present].astype(np.int32), indptr), shape=(n, d)
    )
    X.data *= _idf(X)[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def _idf(X: Any) -> Array:
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    return np.asarray(np.log((1.0 + X.shape[0]) / (1.0 + frequency)) + 1.0)


def correlated(n: int, d: int, rng: np.random.Generator) -> Array:
    """Dense, C order, standard normal columns with correlations around 0.3 to 0.5."""
    factors = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) / np.sqrt(5)
    return np.ascontiguousarray(0.6 * factors + 0.8 * rng.standard_normal((n, d)))


def autoregressive(n: int, d: int, rho: float, rng: np.random.Generator) -> Array:
    """Dense, Fortran order, standard normal columns, correlation ρ^|i−j|."""
    X = np.asfortranarray(rng.standard_normal((n, d)))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X


def sparse_truth(d: int, k: int, rng: np.random.Generator) -> Array:
    w = np.zeros(d)
    w[rng.choice(d, size=k, replace=False)] = rng.standard_normal(k)
    return w


def noisy_labels(z: Array, rng: np.random.Generator) -> Array:
    """±1 with P(+1) = σ(z)."""
    return np.where(rng.random(z.shape[0]) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0)
