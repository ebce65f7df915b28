"""The Weisfeiler-Lehman kernel on graphs of molecules: ``python -m bench.graphs --data FOLDER``.

The Gram matrix of MUTAG and NCI1 by minimand and by grakel (if it is installed), h = 5 rounds, best
of some repeats after a warm-up, and the accuracy of a support vector machine on it in ten folds, C
chosen within the training part of every fold. Both kernels count the same parts, so that the
matrices must be equal.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import minimand as mm
from minimand.sklearn import SVC

from .measures.machine import machine

ROUNDS = 5  # of relabelling; convention of this table
CANDIDATES = {"C": [0.01, 0.1, 1.0, 10.0]}  # of the normalised kernel


def read(path: Path) -> tuple[list[Any], np.ndarray]:
    """Graphs as (adjacency, labels), and their classes."""
    with gzip.open(path, "rt") as file:
        numbers = [[int(word) for word in line.split()] for line in file]
    (count,), *lines = numbers
    graphs, classes, at = [], [], 0
    for _ in range(count):
        size, label = lines[at]
        adjacency, tags = np.zeros((size, size)), []
        for node, (tag, degree, *neighbours) in enumerate(lines[at + 1 : at + 1 + size]):
            assert len(neighbours) == degree
            adjacency[node, neighbours] = 1.0
            tags.append(tag)
        graphs.append((adjacency, tags))
        classes.append(label)
        at += 1 + size
    return graphs, np.array(classes)


def ours(graphs: list[Any]) -> np.ndarray:
    """The Gram matrix by minimand."""
    return mm.WeisfeilerLehman(ROUNDS)(graphs)


def theirs(graphs: list[Any]) -> np.ndarray | None:
    """The same by grakel; None if it is not installed."""
    try:
        from grakel import Graph
        from grakel.kernels import VertexHistogram, WeisfeilerLehman
    except ImportError:
        return None
    given = [Graph(matrix, dict(enumerate(tags))) for matrix, tags in graphs]
    kernel = WeisfeilerLehman(n_iter=ROUNDS, base_graph_kernel=VertexHistogram)
    return np.asarray(kernel.fit_transform(given), dtype=float)


def best(compute: Callable[[list[Any]], Any], graphs: list[Any], repeats: int) -> float:
    """Seconds of the fastest of some runs."""
    laps = []
    for _ in range(repeats):
        begun = time.perf_counter()
        compute(graphs)
        laps.append(time.perf_counter() - begun)
    return min(laps)


def accuracy(gram: np.ndarray, classes: np.ndarray) -> float:
    """Share of right predictions in ten folds, of a machine on the normalised kernel."""
    root = np.sqrt(np.diag(gram))
    search = GridSearchCV(SVC(kernel="precomputed", tol=1e-4), CANDIDATES, cv=3)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return float(np.mean(cross_val_score(search, gram / np.outer(root, root), classes, cv=folds)))


def row_of(name: str, graphs: list[Any], classes: np.ndarray, repeats: int) -> list[str]:
    """A line of the table."""
    gram, peer = ours(graphs), theirs(graphs)
    own, other = best(ours, graphs, repeats), float("nan")
    if peer is not None:
        other = best(theirs, graphs, repeats)
    same = "no peer" if peer is None else str(bool(np.array_equal(gram, peer)))
    clocks = [f"{own:.3f}", f"{other:.3f}", f"{own / other:.3f}"]
    return [f"{name} ({len(graphs)})", *clocks, same, f"{100 * accuracy(gram, classes):.2f} %"]


def _page(table: list[list[str]]) -> str:
    """The table in Markdown, with what it was made with."""
    head, *rows = table
    body = "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])
    return (
        "# The Weisfeiler-Lehman kernel on graphs of molecules\n\nWritten by `python -m "
        f"bench.graphs`: Gram matrices, {ROUNDS} rounds; {machine()}.\n\n{body}\n"
    )


def main() -> None:
    """Print a row per data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=["MUTAG", "NCI1"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a Markdown file for the table")
    options = parser.parse_args()
    heads = "graphs", "minimand s", "grakel s", "ratio", "equal matrices", "accuracy"
    table = [list(heads)]
    print(machine(), " | ".join(heads), sep="\n")
    for name in options.only:
        graphs, classes = read(options.data / "graphs" / f"{name}.txt.gz")
        table.append(row_of(name, graphs, classes, options.repeats))
        print(" | ".join(table[-1]), flush=True)
        if options.out is not None:
            options.out.write_text(_page(table))


if __name__ == "__main__":
    main()
