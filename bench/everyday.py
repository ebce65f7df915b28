"""python -m bench everyday: drop-ins and scikit-learn's models at their defaults, ordinary sizes.

Most fits are of 100 to 20,000 rows. Every cell is the time of ours divided by theirs, both warm,
both with their default parameters, the best of interleaved fits. Two sizes and the seed of all data
are drawn anew in every run, so that nothing can be tuned to them; `--seed` repeats a run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import linear_model, svm

from minimand import sklearn as ours

from . import machine
from .timing import clock

HERE = Path(__file__).resolve().parent
DENSE = (
    (150, 4), (442, 10), (569, 30), (2000, 20), (1797, 64), (5000, 100), (20000, 50), (500, 2000),
    (100, 20000),
)  # fmt: skip
SPARSE = ((2000, 5000), (20000, 50000))
STORED = 50  # numbers per row of sparse data
SMALL = 2000  # rows, from which the target is stricter
TARGETS = 1.3, 1.0  # ratios: below so many rows, and from there on
MEDIAN = 0.4  # target of the median of all cells
MODELS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("LinearRegression", {}, "number"),
    ("Ridge", {}, "number"),
    ("Lasso", {}, "number"),
    ("ElasticNet", {}, "number"),
    ("HuberRegressor", {}, "number"),
    ("QuantileRegressor", {}, "number"),
    ("LinearSVR", {}, "number"),
    ("RidgeCV", {}, "number"),
    ("LassoCV", {}, "number"),
    ("PoissonRegressor", {}, "count"),
    ("LogisticRegression", {}, "class"),
    ("LogisticRegression", {"l1_ratio": 1.0, "solver": "liblinear"}, "class"),
    ("LinearSVC", {}, "class"),
    ("LinearSVC", {"loss": "hinge"}, "class"),
    ("RidgeClassifier", {}, "class"),
    ("SGDClassifier", {"random_state": 0}, "class"),
    ("Perceptron", {"random_state": 0}, "class"),
)
_LONGEST = 20.0  # seconds of one fit, after which a cell is left out


class Data(NamedTuple):
    name: str
    X: Any
    targets: dict[str, np.ndarray]


class Cell(NamedTuple):
    model: str
    data: str
    rows: int
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def missed(self) -> bool:
        return self.ratio > TARGETS[self.rows >= SMALL]


def made(rows: int, columns: int, rng: np.random.Generator, *, few: bool = False) -> Data:
    """Columns with a common factor, a third of which matter; noise as large as the signal."""
    if few:
        X: Any = sparse.random_array(
            (rows, columns), density=min(1.0, STORED / columns), rng=rng, format="csr"
        )
    else:
        X = rng.normal(size=(rows, columns)) + 0.5 * rng.normal(size=(rows, 1))
    w = rng.normal(size=columns) * (rng.random(columns) < 1 / 3)
    score = X @ w
    score = (score - score.mean()) / score.std()
    y = score + rng.normal(size=rows)
    targets = {
        "number": y,
        "class": (y > 0).astype(int),
        "count": rng.poisson(np.exp(np.clip(0.5 * score, -5, 5))).astype(float),
    }
    return Data(f"{rows}×{columns}{' sparse' if few else ''}", X, targets)


def problems(rng: np.random.Generator, quick: bool) -> Iterator[Data]:
    """The fixed sizes, and two that nobody knew before."""
    drawn = [(int(10 ** rng.uniform(2, 4)), int(10 ** rng.uniform(0.5, 2))) for _ in range(2)]
    for rows, columns in (*(DENSE[:2] if quick else DENSE), *drawn[: 1 if quick else 2]):
        yield made(rows, columns, rng)
    for rows, columns in () if quick else SPARSE:
        yield made(rows, columns, rng, few=True)


def _theirs(name: str) -> type:
    return getattr(linear_model, name, None) or getattr(svm, name)


def _best(fits: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The best time of every fit, in turns, after one that is not counted."""
    best = [np.inf] * len(fits)
    for turn in range(repeats + 1):
        for i, fit in enumerate(fits):
            seconds = clock(fit)[0].wall
            best[i] = min(best[i], seconds) if turn else best[i]
            if seconds > _LONGEST:
                return [np.nan] * len(fits)
    return best


def cells(data: Data, repeats: int) -> Iterator[Cell]:
    """Every model on one data set; what scikit-learn's model refuses is left out."""
    for name, parameters, kind in MODELS:
        pair = getattr(ours, name)(**parameters), _theirs(name)(**parameters)
        fits = [partial(model.fit, data.X, data.targets[kind]) for model in pair]
        label = name + "".join(f" {value}" for key, value in parameters.items() if key == "loss")
        label += " l1" if "l1_ratio" in parameters else ""
        try:
            times = _best(fits, repeats)
        except ValueError as error:
            warnings.warn(f"{label} on {data.name} was left out: {error}", stacklevel=2)
            continue
        if np.isfinite(times).all():
            yield Cell(label, data.name, data.X.shape[0], *times)


def table(found: list[Cell], seed: int) -> str:
    """One row a model, one column a size; cells above their target are bold."""
    names = list(dict.fromkeys(cell.data for cell in found))
    known = {(cell.model, cell.data): cell for cell in found}
    lines = [
        "# Everyday sizes",
        "",
        f"Written by `python -m bench everyday`, seed {seed}: seconds of minimand's drop-in "
        "divided by those of scikit-learn's model, both at their defaults. Bold cells miss "
        f"their target (≤ {TARGETS[1]} from {SMALL} rows on, ≤ {TARGETS[0]} below).",
        "",
        f"- {machine.machine()}",
        f"- {len(found)} cells, median {median(cell.ratio for cell in found):.2f} "
        f"(target ≤ {MEDIAN}), {sum(cell.ratio > 1 for cell in found)} above 1, "
        f"{sum(cell.missed for cell in found)} bold.",
        "",
        "| model | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for model in dict.fromkeys(cell.model for cell in found):
        shown = [_shown(known.get((model, name))) for name in names]
        lines.append(f"| {model} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"**{cell.ratio:.2f}**" if cell.missed else f"{cell.ratio:.2f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench everyday", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="that of an earlier run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two sizes and a drawn one")
    parser.add_argument("--out", type=Path, default=HERE / "EVERYDAY.md")
    options = parser.parse_args(arguments)
    seed = int(time.time()) if options.seed is None else options.seed
    if warning := machine.busy():
        print(warning, flush=True)
    found: list[Cell] = []
    for data in problems(np.random.default_rng(seed), options.quick):
        some = list(cells(data, options.repeats))
        found += some
        for cell in some:
            mark = " !" if cell.missed else ""
            print(f"{cell.data:14} {cell.model:20} {cell.ratio:6.2f}{mark}", flush=True)
        options.out.write_text(table(found, seed), encoding="utf-8")
