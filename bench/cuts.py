"""python -m bench.cuts: normalised cuts and kernel k-means.

Normalised cuts beside scikit-learn's SpectralClustering: both get the same rows and build the same
graph of 10 neighbours. Times are CPU seconds of one whole fit, those of minimand with its bound.
The objective is the normalised cut of the labels on that graph, and no cut is below the bound.
Kernel k-means is timed in units of one evaluation of its matrix of all pairs.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs

import minimand as mm

from .measures.timing import clock
from .pages.page import Page


def cuts(n: int, d: int, k: int) -> list[str]:
    """Seconds and cuts of both."""
    X, _ = make_blobs(n, centers=k, n_features=d, cluster_std=3.0, random_state=0)
    ours, cut = clock(lambda: mm.NormalizedCut(k, random_state=0).fit(X))
    peer = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
    theirs, found = clock(lambda: peer.fit(X))
    value = mm.normalized_cut(found.affinity_matrix_, found.labels_)
    judging, judged = clock(lambda: mm.certify(cut, X))
    return [
        f"NormalizedCut, {n}×{d}, k = {k}",
        f"{ours.cpu:.2f}",
        f"SpectralClustering: {theirs.cpu:.2f}",
        f"{ours.cpu / theirs.cpu:.2f}",
        f"{cut.inertia_:.4f} against {value:.4f}",
        f"{cut.certificate_.dual:.4f}; {judged.dual:.4f} by `certify` in {judging.cpu:.1f} s",
    ]


def kernel(n: int, k: int) -> list[str]:
    """A fit in units of one matrix."""
    X, _ = make_blobs(n, centers=k, n_features=10, cluster_std=3.0, random_state=0)
    rbf = mm.RBF(5.0)
    rows = rbf.rows(X, training=True)
    once, _ = clock(lambda: [float(np.sum(part)) for _, part in rbf.blocks(rows, rows)])
    fit, found = clock(lambda: mm.KernelKMeans(k, kernel=rbf, n_init=1, random_state=0).fit(X))
    return [
        f"KernelKMeans, {n}×10, k = {k}",
        f"{fit.cpu:.2f}",
        f"one Gram matrix: {once.cpu:.2f}",
        f"{fit.cpu / once.cpu:.2f}",
        f"{found.inertia_:.4f}",
        f"{found.certificate_.dual:.4f}",
    ]


def main() -> None:
    """Write the table."""
    head = ("problem", "minimand, s", "compared with, s", "ratio", "objective", "bound")
    page = Page("cuts", "Cuts", __doc__, head)
    n, many = (3000, 2000) if page.options.quick else (50_000, 20_000)
    for d in (2, 5):
        page.row(cuts(n, d, 8))
    page.row(kernel(many, 10))


if __name__ == "__main__":
    main()
