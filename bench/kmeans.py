"""k-means against scikit-learn and faiss: python -m bench.kmeans writes RESULTS-kmeans.md.

Everybody begins at the same rows and goes on until no row changes its cluster, or for 100
iterations (faiss does not stop before). Seconds of one fit without its certificate, which the
others do not have and which has a column of its own; the best of some repeats, libraries in turn.
faiss is left out if it is not installed (pip install faiss-cpu).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn import cluster

from minimand.reverse.kmeans.bound import lower_bound
from minimand.reverse.kmeans.distances import Euclidean
from minimand.reverse.kmeans.lloyd import Lloyd
from minimand.reverse.kmeans.rows import Rows
from minimand.reverse.kmeans.seeding import plus_plus_rows

from .machine import machine

ITERATIONS = 100
OUT = Path(__file__).resolve().parent / "RESULTS-kmeans.md"


class Case(NamedTuple):
    name: str
    n: int
    d: int
    k: int
    blobs: bool
    dtype: Any


CASES = [
    Case("clusters, float32", 200_000, 32, 100, True, np.float32),
    Case("uniform, float32", 200_000, 32, 100, False, np.float32),
    Case("clusters, float64", 200_000, 32, 100, True, np.float64),
    Case("uniform, float64", 200_000, 32, 100, False, np.float64),
    Case("many centres, float32", 50_000, 128, 1000, True, np.float32),
    Case("few centres, float64", 200_000, 16, 8, True, np.float64),
]


def rows_of(case: Case) -> Any:
    rng = np.random.default_rng(0)
    if not case.blobs:
        return rng.uniform(size=(case.n, case.d)).astype(case.dtype)
    centers = rng.uniform(-10, 10, size=(case.k, case.d))
    noise = 4.0 * rng.standard_normal((case.n, case.d))
    return (centers[rng.integers(case.k, size=case.n)] + noise).astype(case.dtype)


def ours(X: Any, start: Any) -> float:
    run = Lloyd(Rows.of(X, None, Euclidean()), start.astype(float))
    for _ in run.steps(lambda fall, shift: False, ITERATIONS):
        pass
    return run.finished(X.dtype)[2]


def sklearn(X: Any, start: Any) -> float:
    model = cluster.KMeans(len(start), init=start, n_init=1, tol=0.0, max_iter=ITERATIONS)
    return float(model.fit(X).inertia_)


def faiss(X: Any, start: Any) -> float:
    import faiss as library

    most = len(X)  # it would take a sample of the rows otherwise
    model = library.Kmeans(
        X.shape[1], len(start), niter=ITERATIONS, max_points_per_centroid=most, verbose=False
    )
    model.train(X, init_centroids=start)
    return float(model.obj[-1])


def our_seeds(X: Any, k: int) -> float:
    rows = Rows.of(X, None, Euclidean())
    plus_plus_rows(rows, k, np.random.RandomState(0))
    return 0.0


def sklearn_seeds(X: Any, k: int) -> float:
    cluster.kmeans_plusplus(X, k, random_state=0)
    return 0.0


def best_times(
    calls: dict[str, Callable[[], float]], repeats: int
) -> dict[str, tuple[float, float]]:
    """Seconds and objective of every call, the best of some rounds in which all take a turn."""
    best: dict[str, tuple[float, float]] = {}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            value = call()
            seconds = time.perf_counter() - start
            best[name] = min(best.get(name, (np.inf, 0.0)), (seconds, value))
    return best


def line(case: Case, repeats: int) -> str:
    X = rows_of(case)
    start = X[np.random.default_rng(1).choice(case.n, case.k, replace=False)]
    calls = {"ours": lambda: ours(X, start), "sklearn": lambda: sklearn(X, start)}
    if case.dtype == np.float32 and _has_faiss():
        calls["faiss"] = lambda: faiss(X, start)
    fits = best_times(calls, repeats)
    seeds = best_times(
        {"ours": lambda: our_seeds(X, case.k), "sklearn": lambda: sklearn_seeds(X, case.k)}, 1
    )
    begun = time.perf_counter()
    lower_bound(Rows.of(X, None, Euclidean()), case.k)
    bound = time.perf_counter() - begun
    mine = fits["ours"][0]
    cells = [f"{case.name}, {case.n}×{case.d}, k = {case.k}", f"{mine:.2f}", f"{bound:.2f}"]
    for name in ("sklearn", "faiss"):
        known = fits.get(name)
        cells.append(f"{known[0]:.2f} ({mine / known[0]:.2f})" if known else "")
    cells.append(f"{seeds['ours'][0]:.2f}")
    cells.append(f"{seeds['sklearn'][0]:.2f} ({seeds['ours'][0] / seeds['sklearn'][0]:.2f})")
    return "| " + " | ".join(cells) + " |"


def _has_faiss() -> bool:
    try:
        import faiss as _  # noqa: F401
    except ImportError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    options = parser.parse_args()
    head = "| | minimand | its bound | scikit-learn (ratio) | faiss (ratio) | k-means++ | "
    lines = [
        "# k-means",
        "",
        (__doc__ or "").split("\n\n")[1].strip(),
        "",
        f"Machine: {machine()}.",
        "",
        head + "scikit-learn's (ratio) |",
        "|---" * 7 + "|",
    ]
    for case in CASES:
        small = case._replace(n=case.n // 10) if options.quick else case
        lines.append(line(small, options.repeats))
        print(lines[-1], flush=True)
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
