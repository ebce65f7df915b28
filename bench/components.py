"""python -m bench.components: PCA and spectral embedding beside scikit-learn.

Everybody gets the same data, one after the other, and the best of some rounds counts. What the
components keep is judged with plain NumPy: the share of the variance for PCA, the sum of the top
eigenvalues for the others. minimand pays for its certificate within the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import decomposition, manifold
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

import minimand as mm

from .problem import Array
from .problems import SEED
from .timing import Lap, clock


class Case(NamedTuple):
    """Calls that fit, by name: ours first, the peer second; each gives what it keeps."""

    name: str
    calls: dict[str, Callable[[], float]]


def _tall(n: int, d: int) -> Array:
    """Correlated columns that are not centred."""
    rng = np.random.default_rng(SEED + 80)
    X = rng.standard_normal((n, d)) * np.linspace(1.0, 3.0, d)
    X[:, 1:] += 0.5 * X[:, :-1]
    return X + 1.0


def cases(small: bool) -> Iterator[Case]:
    """The problems, with data that are made when they are asked for."""
    n = 20_000 if small else 1_000_000
    X = _tall(n, 100)
    single = X.astype(np.float32)
    yield Case(
        f"PCA {n}×100, 10 components",
        {
            "minimand": lambda: _share(mm.PCA(10).fit(X)),
            "scikit-learn covariance_eigh": lambda: _share(
                decomposition.PCA(10, svd_solver="covariance_eigh").fit(X)
            ),
            "minimand float32": lambda: _share(mm.PCA(10).fit(single)),
        },
    )
    n, d = (500, 400) if small else (4000, 3000)
    rng = np.random.default_rng(SEED + 81)
    sizes = np.linspace(10, 1, 50)
    Z = (rng.standard_normal((n, 50)) * sizes) @ rng.standard_normal((50, d))
    Z += rng.standard_normal((n, d))
    yield Case(
        f"PCA {n}×{d}, 10 components",
        {
            "minimand krylov": lambda: _share(mm.PCA(10, method="krylov", random_state=0).fit(Z)),
            "scikit-learn randomized": lambda: _share(
                decomposition.PCA(10, svd_solver="randomized", random_state=0).fit(Z)
            ),
        },
    )
    n = 1000 if small else 20_000
    points = make_blobs(n, 10, centers=8, cluster_std=2.5, random_state=SEED)[0]
    graph = kneighbors_graph(points, 10, include_self=True)
    graph = sparse.csr_matrix(graph.maximum(graph.T))
    yield Case(
        f"spectral embedding, {n} rows, 10 neighbours, 7 components",
        {
            "minimand": lambda: _kept(
                graph, mm.NormalizedPCA(7, "precomputed", random_state=0).fit(graph).embedding_
            ),
            "scikit-learn arpack": lambda: _kept(
                graph, manifold.spectral_embedding(graph, n_components=7, random_state=0)
            ),
        },
    )


def _share(model: Any) -> float:
    return float(np.sum(model.explained_variance_ratio_, dtype=float))


def _kept(graph: Any, outputs: Array) -> float:
    """tr ỸᵀK̃Ỹ of orthonormal Ỹ that span the constant output and these."""
    root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    basis = np.linalg.qr(np.column_stack([root, outputs * root[:, None]]))[0]
    image = np.asarray(graph @ (basis / root[:, None])) / root[:, None]
    return float(np.vdot(basis, image))


def main() -> None:
    """Print a table with a row for every call."""
    parser = argparse.ArgumentParser(prog="python -m bench.components", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print("| problem | | wall s | CPU s | ratio (CPU) | kept |")
    print("|---|---|---|---|---|---|")
    for case in cases(options.quick):
        best: dict[str, tuple[Lap, float]] = {}
        for _ in range(options.repeats):
            for name, call in case.calls.items():
                lap, kept = clock(call)
                if name not in best or lap.cpu < best[name][0].cpu:
                    best[name] = lap, kept
        peer = next(lap.cpu for name, (lap, _) in best.items() if "scikit" in name)
        for name, (lap, kept) in best.items():
            ratio = f"{lap.cpu / peer:.2f}"
            print(
                f"| {case.name} | {name} | {lap.wall:.3f} | {lap.cpu:.3f} | {ratio} | {kept:.9f} |"
            )


if __name__ == "__main__":
    main()
