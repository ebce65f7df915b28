"""Normalised cuts beside scikit-learn's SpectralClustering: ``python -m bench.cuts``.

Both get the same rows and build the same graph of 10 neighbours; the times are of whole fits, those
of minimand with its bound. The value is the normalised cut of the labels on that graph. Kernel
k-means is timed in units of one evaluation of its matrix of all pairs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs

import minimand as mm

from .machine import machine


def timed(compute: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and the result."""
    begun = time.process_time()
    found = compute()
    return time.process_time() - begun, found


def cuts(n: int, d: int, k: int) -> str:
    """One line: seconds and cuts of both."""
    X, _ = make_blobs(n, centers=k, n_features=d, cluster_std=3.0, random_state=0)
    ours, cut = timed(lambda: mm.NormalizedCut(k, random_state=0).fit(X))
    peer = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
    theirs, found = timed(lambda: peer.fit(X))
    value = mm.normalized_cut(found.affinity_matrix_, found.labels_)
    return (
        f"| {n} × {d}, k = {k} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} | "
        f"{cut.inertia_:.4f} | {value:.4f} | {cut.certificate_.dual:.4f} |"
    )


def kernel(n: int, k: int) -> str:
    """One line: a fit in units of one matrix."""
    X, _ = make_blobs(n, centers=k, n_features=10, cluster_std=3.0, random_state=0)
    rbf = mm.RBF(5.0)
    rows = rbf.rows(X, training=True)
    once, _ = timed(lambda: [float(np.sum(part)) for _, part in rbf.blocks(rows, rows)])
    fit, _ = timed(lambda: mm.KernelKMeans(k, kernel=rbf, n_init=1, random_state=0).fit(X))
    return f"KernelKMeans, n = {n}, k = {k}: {fit:.2f} s, {fit / once:.2f} of one Gram matrix"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    n = parser.parse_args().rows
    print(machine(), end="\n\n")
    print("| rows | minimand [s] | scikit-learn [s] | ratio | cut | their cut | bound |")
    print("|---|---|---|---|---|---|---|")
    for d in (2, 5):
        print(cuts(n, d, 8), flush=True)
    print(f"\n{kernel(20_000, 10)}")


if __name__ == "__main__":
    main()
