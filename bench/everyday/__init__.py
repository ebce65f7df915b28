"""python -m bench everyday: minimand and scikit-learn at ordinary sizes, as people run them.

Most fits are of 100 to 20,000 rows, many of them inside searches. Drop-ins are compared at their
defaults (`drop_ins`), losses of `Regressor` and `Classifier` with the scikit-learn model of the
same objective at the gap that this model reaches (`natives`), and searches, cross-validations and
ensembles as a whole (`searches`). Every cell is the time of ours divided by theirs, both warm, the
best of interleaved fits. Two sizes and the seed of all data are drawn anew in every run, so that
nothing can be tuned to them; `--seed` repeats a run, `--only` and `--sizes` take parts of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from ..measures import machine
from . import drop_ins, natives, searches
from .cells import Cell, Turns
from .data import Data, problems
from .table import markdown

HERE = Path(__file__).resolve().parent.parent
PARTS: dict[str, Callable[[Data, Turns], Iterator[Cell]]] = {
    "drop-ins": drop_ins.cells,
    "natives": natives.cells,
    "searches": searches.cells,
}


def main(arguments: list[str] | None = None) -> None:
    options = _parse(arguments)
    seed = int(time.time()) if options.seed is None else options.seed
    if warning := machine.busy():
        print(warning, flush=True)
    found: dict[str, list[Cell]] = {}
    turns = Turns(options.repeats, options.cpu, tuple(options.only))
    write = partial(options.out.write_text, encoding="utf-8")
    for part in options.parts:
        begun = time.perf_counter()
        found[part] = []
        for data in problems(np.random.default_rng(seed), options.quick):
            if options.sizes and data.name.replace("×", "x").split()[0] not in options.sizes:
                continue
            for cell in PARTS[part](data, turns):
                found[part].append(cell)
                print(f"{cell.data:18} {cell.row:28} {cell.words()}", flush=True)
            write(markdown(found, seed))
        print(f"{part}: {time.perf_counter() - begun:.0f} seconds", flush=True)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench everyday", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="that of an earlier run")
    parser.add_argument("--repeats", type=int, default=5, help="timed fits, at most")
    parser.add_argument("--quick", action="store_true", help="two sizes and a drawn one")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--only", nargs="+", default=[], help="rows with one of these words")
    parser.add_argument("--sizes", nargs="+", default=[], help="for example 150x4 2000x5000")
    parser.add_argument("--cpu", action="store_true", help="processor time, for a busy machine")
    parser.add_argument("--out", type=Path, default=HERE / "EVERYDAY.md")
    return parser.parse_args(arguments)
