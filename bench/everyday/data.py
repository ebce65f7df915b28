"""Data of ordinary sizes: the fixed ones, and two that nobody knew before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

DENSE = (
    (150, 4), (442, 10), (569, 30), (2000, 20), (1797, 64), (5000, 100), (20000, 50), (500, 2000),
    (100, 20000),
)  # fmt: skip
SPARSE = ((2000, 5000), (20000, 50000))
STORED = 50  # numbers per row of sparse data
CLASSES = 3  # of the target "classes"


class Data(NamedTuple):
    name: str
    X: Any
    targets: dict[str, np.ndarray]
    drawn: bool = False

    @property
    def numbers(self) -> int:
        """Stored numbers."""
        return int(self.X.nnz if sparse.issparse(self.X) else self.X.size)

    @property
    def wide(self) -> bool:
        """Whether a model without a penalty could fit every row, or nearly so."""
        return self.X.shape[0] < 10 * self.X.shape[1]


def made(
    rows: int, columns: int, rng: np.random.Generator, *, few: bool = False, drawn: bool = False
) -> Data:
    """Columns with a common factor, a third of which matter; noise as large as the signal."""
    if few:
        X: Any = sparse.random_array(
            (rows, columns), density=min(1.0, STORED / columns), rng=rng, format="csr"
        )
    else:
        X = rng.normal(size=(rows, columns)) + 0.5 * rng.normal(size=(rows, 1))
    w = rng.normal(size=columns) * (rng.random(columns) < 1 / 3)
    score = X @ w
    score = (score - score.mean()) / max(score.std(), 1e-300)
    y = score + rng.normal(size=rows)
    limits = np.quantile(y, np.arange(1, CLASSES) / CLASSES)
    targets = {
        "number": y,
        "numbers": np.stack([y, y + rng.normal(size=rows), rng.normal(size=rows)], axis=1),
        "positive": np.exp(0.5 * y),
        "share": expit(y),
        "class": (y > 0).astype(int),
        "classes": np.searchsorted(limits, y),
        "count": rng.poisson(np.exp(np.clip(0.5 * score, -5, 5))).astype(float),
    }
    return Data(f"{rows}×{columns}{' sparse' if few else ''}", X, targets, drawn)


def problems(rng: np.random.Generator, quick: bool) -> Iterator[Data]:
    """The fixed sizes, and two that nobody knew before; the same for the same seed."""
    drawn = [(int(10 ** rng.uniform(2, 4)), int(10 ** rng.uniform(0.5, 2))) for _ in range(2)]
    for rows, columns in DENSE[:2] if quick else DENSE:
        yield made(rows, columns, rng)
    for rows, columns in drawn[: 1 if quick else 2]:
        yield made(rows, columns, rng, drawn=True)
    for rows, columns in () if quick else SPARSE:
        yield made(rows, columns, rng, few=True)
