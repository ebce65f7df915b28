"""python -m bench: run the problems and write RESULTS.md.

`calibrate` prints the rates of costs; `everyday` compares drop-ins with scikit-learn's models at
ordinary sizes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from . import peers
from .measures import compare, machine, memory, small, stochastic
from .pages.report import Results, markdown
from .problems import kinks, multinomial, paths, several, single, tuning
from .problems.base import Problem

HERE = Path(__file__).resolve().parent
SMALL, MEMORY = "small", "memory"
SYNTHETIC = (
    single.SYNTHETIC
    | kinks.SYNTHETIC
    | paths.SYNTHETIC
    | tuning.SYNTHETIC
    | multinomial.SYNTHETIC
    | several.SYNTHETIC
)
FROM_FOLDER = single.REAL | multinomial.REAL | several.REAL
REAL = [*single.REAL, *paths.REAL, *multinomial.REAL, *several.REAL]
STOCHASTIC = [*stochastic.SYNTHETIC, *stochastic.REAL]
NAMES = [*SYNTHETIC, *REAL, *STOCHASTIC, SMALL, MEMORY]
CAP, QUICK_CAP = 60.0, 10.0  # seconds a peer may take for one fit, or one path


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "task",
        nargs="?",
        choices=("run", "calibrate"),
        default="run",
        help="run the problems, or measure the rates that estimates of cost are made of",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", default=["*"], help="names, or patterns: 'path_*'"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--repeats", type=int, default=5, help="timed fits of every solver")
    parser.add_argument("--list", action="store_true", help="name the problems and stop")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args(arguments)
    for pattern in options.only:
        if not any(fnmatchcase(name, pattern) for name in NAMES):
            parser.error(f"--only: no problem is called {pattern!r}; --list names them")
    options.only = [n for n in NAMES if any(fnmatchcase(n, pattern) for pattern in options.only)]
    return options


def main(arguments: list[str] | None = None) -> None:
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["everyday"]:
        from .everyday import main as everyday

        everyday(words[1:])
        return
    options = parse(arguments)
    if options.list:
        print("\n".join(NAMES))
        return
    if options.task == "calibrate":
        from .calibrate import main as calibrate

        calibrate()
        return
    say = partial(print, flush=True)
    found, notes = peers.load()
    results = Results(
        notes=notes,
        quick=options.quick,
        repeats=options.repeats,
        load=machine.load(),
        build=machine.build(),
    )
    if warning := machine.busy(results.load):
        results.notes.append(warning)
        say(warning)
    cap = QUICK_CAP if options.quick else CAP
    for name, make in _chosen(options, results):
        say(name)
        problem = make()
        say(f"  {problem.describe()}")
        results.tables.append(compare.compare(problem, found, options.repeats, cap, say))
        _write(options.out, results)
    for name, case in _stochastic(options, results):
        say(name)
        results.epochs += stochastic.measure(name, case(), options.repeats, say)
        _write(options.out, results)
    if SMALL in options.only:
        say(SMALL)
        results.small = small.checks(*((50, 2) if options.quick else (500, 5)), say)
    if MEMORY in options.only:
        say(MEMORY)
        results.memory = memory.checks(list(memory.NAMES), options.quick, say)
    if machine.build() != results.build:
        results.notes.append("WARNING: minimand changed on disk during the run; run again.")
    _write(options.out, results)
    say(f"wrote {os.path.relpath(options.out)}")


def _chosen(
    options: argparse.Namespace, results: Results
) -> Iterator[tuple[str, Callable[[], Problem]]]:
    """The problems asked for, in order; real data only where the folder exists."""
    for name in options.only:
        if name in tuning.SYNTHETIC and (reason := tuning.missing()):
            results.notes.append(f"{name} was skipped: {reason}.")
        elif name in SYNTHETIC:
            yield name, partial(SYNTHETIC[name], options.quick)
        elif name in REAL and not options.data.is_dir():
            results.notes.append(f"{name} was skipped: no folder with real data (--data).")
        elif name in FROM_FOLDER:
            yield name, partial(FROM_FOLDER[name], options.data)
        elif name in paths.REAL:
            yield name, partial(paths.REAL[name], options.quick, options.data)


def _stochastic(
    options: argparse.Namespace, results: Results
) -> Iterator[tuple[str, Callable[[], stochastic.Case]]]:
    """The cases of stochastic training that were asked for."""
    for name in options.only:
        if name in stochastic.SYNTHETIC:
            yield name, partial(stochastic.SYNTHETIC[name], options.quick)
        elif name in stochastic.REAL and not options.data.is_dir():
            results.notes.append(f"{name} was skipped: no folder with real data (--data).")
        elif name in stochastic.REAL:
            yield name, partial(stochastic.REAL[name], options.data)


def _write(path: Path, results: Results) -> None:
    path.write_text(markdown(results), encoding="utf-8")


if __name__ == "__main__":
    main()
