"""python -m bench.nystrom: ridge regression on Nyström features beside scikit-learn.

Both take the same data, the kernel exp(−‖x − z‖²/(2τ²)), as many landmarks and the same penalty.
scikit-learn draws its landmarks evenly and factorises without refinement; minimand draws them by
randomly pivoted Cholesky and pays for its certificate within the time. Every call runs in a
process of its own, which also tells its peak memory. Where scikit-learn would need more memory
than the machine has (three matrices of features), its transformer is called in blocks of rows,
whose normal equations are added up and solved.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import minimand as mm

from .measures.timing import Lap, clock
from .pages.tables import Tables
from .problems.base import Array
from .problems.single import SEED

_COLUMNS, _TAU, _NEW, _BLOCK = 10, 3.0, 20_000, 20_000


class Run(NamedTuple):
    """Of one call: its time, the error on new rows, the peak of memory in GB, the gap."""

    lap: Lap
    error: float
    memory: float
    gap: float


def data(n: int) -> tuple[Array, Array]:
    """Rows of ten numbers, and a smooth function of them with noise."""
    rng = np.random.default_rng(SEED + 90)
    X = rng.standard_normal((n, _COLUMNS))
    clean = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + np.exp(-(X[:, 3] ** 2)) + 0.3 * X[:, 4]
    return X, clean + 0.3 * rng.standard_normal(n)


def ours(X: Array, y: Array, rank: int, tol: float) -> mm.Regressor:
    """With the default alpha, which is that of Ridge(alpha=1)."""
    features = mm.Nystrom(mm.RBF(_TAU), rank, random_state=0)
    return mm.Regressor(features=features, tol=tol).fit(X, y)


def pipeline(X: Array, y: Array, rank: int) -> object:
    """As the documentation of scikit-learn has it."""
    return make_pipeline(_transformer(rank), Ridge(1.0)).fit(X, y)


class InBlocks:
    """scikit-learn's transformer on blocks of rows, and the ridge of their sums."""

    def __init__(self, X: Array, y: Array, rank: int) -> None:
        self.map = _transformer(rank).fit(X)
        sums, slope, first = np.zeros((rank, rank)), np.zeros(rank), np.zeros(rank)
        for start in range(0, len(X), _BLOCK):
            z = self.map.transform(X[start : start + _BLOCK])
            sums += z.T @ z
            slope += z.T @ y[start : start + _BLOCK]
            first += z.sum(axis=0)
        n, level = len(X), float(y.mean())
        sums -= np.outer(first, first / n)
        sums.flat[:: rank + 1] += 1.0
        self.coef = linalg.solve(sums, slope - first * level, assume_a="pos")
        self.intercept = level - float(first / n @ self.coef)

    def predict(self, X: Array) -> Array:
        """Scores of new rows."""
        return np.asarray(self.map.transform(X) @ self.coef + self.intercept)


def _transformer(rank: int) -> Nystroem:
    return Nystroem(gamma=0.5 / _TAU**2, n_components=rank, random_state=0)


def run(who: str, n: int, rank: int, tol: float) -> Run:
    """Fit once in this process."""
    X, y = data(n + _NEW)
    fits: dict[str, Callable[[], Any]] = {
        "minimand": lambda: ours(X[:n], y[:n], rank, tol),
        "scikit-learn": lambda: pipeline(X[:n], y[:n], rank),
        "scikit-learn in blocks": lambda: InBlocks(X[:n], y[:n], rank),
    }
    lap, model = clock(fits[who])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kilobytes on Linux
    error = float(np.sqrt(np.mean((model.predict(X[n:]) - y[n:]) ** 2)))
    gap = model.certificate_.relative if isinstance(model, mm.Regressor) else np.nan
    return Run(lap, error, peak, gap)


def main() -> None:
    """Print a table with a row for every size and library."""
    parser = argparse.ArgumentParser(prog="python -m bench.nystrom", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000, 1_000_000])
    parser.add_argument("--rank", type=int, default=1000)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    page = Tables("Ridge regression on Nyström features", "minimand", "scikit-learn")
    page.head("rows", "rank", "", "wall s", "CPU s", "ratio", "error", "relative gap", "peak GB")
    for n in options.rows:
        fits = 3 * 8.0 * n * options.rank < 0.8 * room
        peer = "scikit-learn" if fits else "scikit-learn in blocks"
        best: dict[str, Run] = {}
        for _ in range(options.repeats):
            for who in ("minimand", peer):
                # A process of its own for every call, so that peaks of memory are its own.
                context = multiprocessing.get_context("spawn")
                with ProcessPoolExecutor(1, mp_context=context) as pool:
                    found = pool.submit(run, who, n, options.rank, options.tol).result()
                if who not in best or found.lap.wall < best[who].lap.wall:
                    best[who] = found
        for who, (lap, error, memory, gap) in best.items():
            ratio = f"{lap.wall / best[peer].lap.wall:.2f}"
            times = (f"{lap.wall:.2f}", f"{lap.cpu:.2f}", ratio)
            page.row(n, options.rank, who, *times, f"{error:.5f}", f"{gap:.1e}", f"{memory:.2f}")
    page.write(options.out)


if __name__ == "__main__":
    main()
