"""python -m bench.kmeans: k-means and its seeding beside scikit-learn and faiss.

Everybody begins at the same rows and goes on until no row changes its cluster, or for 100
iterations (faiss does not stop before; its ratio is also shown by iteration). Wall seconds of one
fit without its certificate, which the others do not have and which has a column of its own; the
best of some rounds, libraries in turn. faiss computes in float32 only, and is left out if it is not
installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import cluster

from minimand.reverse.kmeans.bound import lower_bound
from minimand.reverse.kmeans.distances import Euclidean
from minimand.reverse.kmeans.lloyd import Lloyd
from minimand.reverse.kmeans.rows import Rows
from minimand.reverse.kmeans.seeding import plus_plus_rows

from .measures.timing import Lap
from .pages.page import Page

ITERATIONS = 100


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
    """The iterations that it took."""
    run = Lloyd(Rows.of(X, None, Euclidean()), start.astype(float))
    for _ in run.steps(lambda fall, shift: False, ITERATIONS):
        pass
    run.finished(X.dtype)
    return float(run.iterations)


def sklearn(X: Any, start: Any) -> float:
    model = cluster.KMeans(len(start), init=start, n_init=1, tol=0.0, max_iter=ITERATIONS)
    return float(model.fit(X).n_iter_)


def faiss(X: Any, start: Any) -> float:
    import faiss as library

    most = len(X)  # it would take a sample of the rows otherwise
    model = library.Kmeans(
        X.shape[1], len(start), niter=ITERATIONS, max_points_per_centroid=most, verbose=False
    )
    model.train(X, init_centroids=start)
    return float(ITERATIONS)


def our_seeds(X: Any, k: int) -> float:
    plus_plus_rows(Rows.of(X, None, Euclidean()), k, np.random.RandomState(0))
    return 0.0


def sklearn_seeds(X: Any, k: int) -> float:
    cluster.kmeans_plusplus(X, k, random_state=0)
    return 0.0


def row(case: Case, page: Page) -> list[str]:
    """Times and ratios of one case."""
    X = rows_of(case)
    start = X[np.random.default_rng(1).choice(case.n, case.k, replace=False)]
    calls: dict[str, Callable[[], float]] = {
        "ours": lambda: ours(X, start),
        "sklearn": lambda: sklearn(X, start),
    }
    if case.dtype == np.float32 and _has_faiss():
        calls["faiss"] = lambda: faiss(X, start)
    fits = page.best(calls)
    seeds = page.best(
        {"ours": lambda: our_seeds(X, case.k), "sklearn": lambda: sklearn_seeds(X, case.k)}
    )
    begun = time.perf_counter()
    lower_bound(Rows.of(X, None, Euclidean()), case.k)
    bound = time.perf_counter() - begun
    lap, rounds = fits["ours"]
    return [
        f"{case.name}, {case.n}×{case.d}, k = {case.k}",
        f"{lap.wall:.2f} ({rounds:.0f})",
        f"{bound:.2f}",
        _beside(fits["ours"], fits["sklearn"]),
        _beside(fits["ours"], fits["faiss"], by_round=True) if "faiss" in fits else "",
        f"{seeds['ours'][0].wall:.2f}",
        _beside(seeds["ours"], seeds["sklearn"]),
    ]


def _beside(mine: tuple[Lap, float], theirs: tuple[Lap, float], *, by_round: bool = False) -> str:
    ratio = mine[0].wall / theirs[0].wall
    each = f", {ratio * theirs[1] / mine[1]:.2f} an iteration" if by_round else ""
    return f"{theirs[0].wall:.2f} ({ratio:.2f}{each})"


def _has_faiss() -> bool:
    try:
        import faiss as _  # noqa: F401
    except ImportError:
        return False
    return True


def main() -> None:
    head = (
        "problem",
        "minimand (iterations)",
        "its bound",
        "scikit-learn (ratio)",
        "faiss (ratio)",
        "k-means++",
        "scikit-learn's (ratio)",
    )
    page = Page("kmeans", "k-means", __doc__, head)
    for case in CASES:
        page.row(row(case._replace(n=case.n // 10) if page.options.quick else case, page))


if __name__ == "__main__":
    main()
