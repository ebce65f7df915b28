"""python -m bench.components: PCA and spectral embedding beside scikit-learn.

Everybody gets the same data, one after the other, and the best of some rounds counts.
What the components keep is judged with plain NumPy: the share of the variance for PCA, the sum of
the top eigenvalues for the others. minimand pays for its certificate within the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import decomposition, manifold
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

import minimand as mm

from .pages.page import Page
from .problems.base import Array
from .problems.single import SEED


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
    yield _many_rows(20_000 if small else 1_000_000)
    yield _both_sides(*((500, 400) if small else (4000, 3000)))
    yield _sparse(*((2000, 500) if small else (20_000, 5000)))
    yield _embedding(1000 if small else 20_000)


def _many_rows(n: int) -> Case:
    X = _tall(n, 100)
    single = X.astype(np.float32)
    return Case(
        f"PCA {n}×100, 10 components",
        {
            "minimand": lambda: _share(mm.PCA(10).fit(X)),
            "scikit-learn covariance_eigh": lambda: _share(
                decomposition.PCA(10, svd_solver="covariance_eigh").fit(X)
            ),
            "minimand float32": lambda: _share(mm.PCA(10).fit(single)),
        },
    )


def _both_sides(n: int, d: int) -> Case:
    rng = np.random.default_rng(SEED + 81)
    sizes = np.linspace(10, 1, 50)
    Z = (rng.standard_normal((n, 50)) * sizes) @ rng.standard_normal((50, d))
    Z += rng.standard_normal((n, d))
    return Case(
        f"PCA {n}×{d}, 10 components",
        {
            "minimand krylov": lambda: _share(mm.PCA(10, method="krylov", random_state=0).fit(Z)),
            "scikit-learn randomized": lambda: _share(
                decomposition.PCA(10, svd_solver="randomized", random_state=0).fit(Z)
            ),
        },
    )


def _sparse(n: int, d: int) -> Case:
    X = sparse.random(n, d, 0.005, "csr", random_state=SEED + 82)  # a flat spectrum: hard to tell
    return Case(
        f"PCA of a sparse matrix {n}×{d}, 10 components",
        {
            "minimand krylov": lambda: _share(mm.PCA(10, method="krylov", random_state=0).fit(X)),
            "scikit-learn arpack": lambda: _share(
                decomposition.PCA(10, svd_solver="arpack", random_state=0).fit(X)
            ),
        },
    )


def _embedding(n: int) -> Case:
    points = make_blobs(n, 10, centers=8, cluster_std=2.5, random_state=SEED)[0]
    graph = kneighbors_graph(points, 10, include_self=True)
    graph = sparse.csr_matrix(graph.maximum(graph.T))
    return Case(
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
    """Write a table with a row for every call."""
    head = ("problem", "", "wall s", "CPU s", "ratio (CPU)", "kept")
    page = Page("components", "Components", __doc__, head)
    for case in cases(page.options.quick):
        best = page.best(case.calls)
        peer = next(lap.cpu for name, (lap, _) in best.items() if "scikit" in name)
        for name, (lap, kept) in best.items():
            times = (f"{lap.wall:.3f}", f"{lap.cpu:.3f}", f"{lap.cpu / peer:.2f}")
            page.row([case.name, name, *times, f"{kept:.9f}"])


if __name__ == "__main__":
    main()
