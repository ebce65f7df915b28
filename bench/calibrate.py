"""python -m bench calibrate: the rates of solvers/costs.py, as this machine has them.

Every rate is the CPU time of an elementary operation, divided by that of a multiply-add of a dense
product X·w: both on one thread, and on data that do not fit into the caches. Rates within a factor
of two of those in the file change no choice that matters; the table marks the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

import minimand as mm
from minimand.canonical import RowDual
from minimand.design import as_design
from minimand.solvers.costs import RATES

from .problems.synthetic import documents

_REPEATS = 5  # of which the fastest counts
_FAR = 2.0  # factor between a rate of the file and of the machine that is marked
_ROWS, _COLUMNS = 100_000, 100  # of the dense matrix: 80 MB
_WORDS, _LENGTH = 20_000, 80  # columns of the sparse matrix, and stored numbers of a row
_GRAM_ROWS, _GRAM_COLUMNS = 20_000, 400  # of the matrices that a Gram is formed of
_SYSTEM = 1000  # unknowns of a system that is factorised
_SWEEPS = 3


def main() -> None:
    """Print the table."""
    with threadpool_limits(1):
        found = rates()
    print("| work | rate in costs.py | measured here | |")
    print("|---|---|---|---|")
    for name, rate in RATES.items():
        factor = found[name] / rate
        remark = "" if 1 / _FAR <= factor <= _FAR else f"{factor:.2g} times as much"
        print(f"| {name} | {rate:.3g} | {found[name]:.3g} | {remark} |")


def rates() -> dict[str, float]:
    """Units per elementary operation of every kind."""
    rng = np.random.default_rng(0)
    dense = as_design(rng.standard_normal((_ROWS, _COLUMNS)))
    text = as_design(documents(_ROWS, _WORDS, _LENGTH, rng))
    wide = as_design(rng.standard_normal((_GRAM_ROWS, _GRAM_COLUMNS)))
    frequent = np.argsort(-text.column_sizes)[:_GRAM_COLUMNS]
    head = as_design(text.x[:_GRAM_ROWS, frequent].tocsr())
    w, words = np.ones(_COLUMNS), np.ones(_WORDS)
    few = rng.uniform(1.0, 2.0, _GRAM_ROWS)
    unit = _seconds(lambda: dense.matvec(w)) / dense.nnz
    pairs = float((np.diff(head.x.indptr).astype(float) ** 2).sum())
    matrix = _positive(rng, _SYSTEM)
    found = {
        "dense_product": 1.0,
        "sparse_product": _seconds(lambda: text.matvec(words)) / text.nnz / unit,
        "dense_gram": _seconds(lambda: wide.gram(few)) / (wide.nnz * _GRAM_COLUMNS) / unit,
        "sparse_gram": _seconds(lambda: head.gram(few)) / pairs / unit,
        "factor": _seconds(lambda: linalg.cholesky(matrix, check_finite=False)) / _SYSTEM**3 / unit,
        "terms": _terms(rng) / unit,
    }
    found["row"], found["dense_sweep"] = (t / unit for t in _sweep(rng, dense))
    _, found["sparse_sweep"] = (t / unit for t in _sweep(rng, text))
    return found


def _seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of the fastest of some calls, after one that warms up."""
    best = np.inf
    for _ in range(1 + _REPEATS):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return float(best)


def _positive(rng: np.random.Generator, size: int) -> np.ndarray:
    rows = rng.standard_normal((2 * size, size))
    return rows.T @ rows


def _terms(rng: np.random.Generator) -> float:
    """Seconds per row of the logistic loss, its slope and its curvature."""
    z, y = rng.standard_normal(_ROWS), np.where(rng.uniform(size=_ROWS) < 0.5, 1.0, -1.0)
    loss = mm.Logistic()
    return _seconds(lambda: loss.terms(z, y)) / _ROWS


def _sweep(rng: np.random.Generator, design: Any) -> tuple[float, float]:
    """Seconds of dual ascent per row, on rows of one number, and per stored number beside that."""
    single = as_design(np.ones((_ROWS, 1)))
    row = _ascent(rng, single) / _ROWS
    return row, max(_ascent(rng, design) / design.nnz - row * _ROWS / design.nnz, 0.0)


def _ascent(rng: np.random.Generator, design: Any) -> float:
    """Seconds of one sweep with the squared hinge, which visits rows that are settled too."""
    n, d = design.shape
    y = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    loss = mm.SquaredHinge().rowwise(y)

    def sweep() -> None:
        mass, l2 = np.full(n, 1.0 / n), np.full(d, 1e-4)
        RowDual(design, loss, mass, l2, False, np.zeros(n), np.zeros(d)).ascend(_SWEEPS, 0.0)

    return _seconds(sweep) / _SWEEPS
