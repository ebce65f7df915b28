"""Data read from a folder given by --data; nothing here is needed to run the rest."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from .base import Array


def a9a(folder: Path) -> tuple[Any, Array, Any, Array]:
    """Train and test parts, CSR with 123 columns, y = ±1."""
    parts: list[Any] = []
    for name in ("a9a.gz", "a9a.t.gz"):
        with gzip.open(folder / "a9a" / name) as file:
            X, y = load_svmlight_file(file, n_features=123)
        index = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # saga takes no int64
        parts += [sparse.csr_matrix((X.data, *index), shape=X.shape), y]
    return parts[0], parts[1], parts[2], parts[3]


def leukemia(folder: Path) -> tuple[Array, Array]:
    """38 × 7129, Fortran order, y = ±1."""
    with np.load(folder / "leukemia" / "leukemia.npz", allow_pickle=False) as file:
        X, y = file["X"], file["y"]
    return np.asfortranarray(X, dtype=float), np.where(y > 0, 1.0, -1.0)


def newsgroups(folder: Path) -> tuple[Any, Array, Any, Array]:
    """Train and test parts, CSR tf-idf as float64, y = 0 … 19."""
    parts: list[Any] = []
    for name in ("train", "test"):
        path = folder / "20newsgroups" / f"20news_tfidf_{name}.npz"
        with np.load(path, allow_pickle=False) as file:
            indptr = file["indptr"].astype(np.int32)
            data = file["data"].astype(np.float64)
            X = sparse.csr_matrix((data, file["indices"], indptr), shape=tuple(file["shape"]))
            X.sort_indices()
            parts += [X, file["y"].astype(float)]
    return parts[0], parts[1], parts[2], parts[3]


def mnist(folder: Path) -> tuple[Array, Array, Array, Array]:
    """Train and test parts, 60,000 and 10,000 images of 784 greys from 0 to 1, y = 0 … 9."""
    with np.load(folder / "mnist" / "mnist.npz", allow_pickle=False) as file:
        images = [file[f"{key}_{part}"] for part in ("train", "test") for key in ("X", "y")]
    X, y, X_test, y_test = images
    flat = [np.ascontiguousarray(x.reshape(len(x), -1), dtype=float) / 255 for x in (X, X_test)]
    return flat[0], y.astype(float), flat[1], y_test.astype(float)
