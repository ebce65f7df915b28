"""Pages of scripts of their own, results/NAME.md: what was measured, the machine, and a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from ..measures import machine
from ..measures.timing import Lap, clock

HERE = Path(__file__).resolve().parents[1]
SPENT = 15.0  # seconds after which a call is not repeated; safeguard: a page takes some minutes


def line(cells: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


class Page:
    """A page that is written again after every row, so that a run can be stopped at any time."""

    def __init__(self, name: str, title: str, words: str | None, head: Iterable[str]) -> None:
        """``words`` are the docstring of the script, of which all but the first line is shown."""
        head = list(head)
        parser = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=words)
        parser.add_argument("--quick", action="store_true", help="small sizes")
        parser.add_argument("--repeats", type=int, default=3, help="the best of so many counts")
        parser.add_argument("--out", type=Path, help="results/NAME.md; with --quick no file")
        self.options = parser.parse_args()
        if self.options.out is None and not self.options.quick:
            self.options.out = HERE / "results" / f"{name}.md"
        small = " Small sizes (`--quick`): not the real benchmark." if self.options.quick else ""
        warning = machine.busy()
        self._lines = [
            f"# {title}",
            "",
            f"Written by `python -m bench.{name}`.{small} " + _explanation(words),
            "",
            f"- {machine.machine()}",
            f"- {_libraries()}",
            *([f"- {warning}"] if warning else []),
            "",
            line(head),
            "|---" * len(head) + "|",
        ]
        print("\n".join(self._lines), flush=True)

    def row(self, cells: Iterable[str]) -> None:
        """Add a row, show it, and write the page (a quick run only where ``--out`` says)."""
        self._lines.append(line(cells))
        print(self._lines[-1], flush=True)
        if self.options.out is not None:
            self.options.out.write_text("\n".join(self._lines) + "\n", encoding="utf-8")

    def best(self, calls: dict[str, Callable[[], float]]) -> dict[str, tuple[Lap, float]]:
        """The best lap of every call, and its result; all take turns."""
        found: dict[str, tuple[Lap, float]] = {}
        spent = dict.fromkeys(calls, 0.0)
        for _ in range(self.options.repeats):
            for name, call in calls.items():
                if spent[name] > SPENT:
                    continue
                lap, value = clock(call)
                spent[name] += lap.wall
                if name not in found or lap.wall < found[name][0].wall:
                    found[name] = lap, value
        return found


def _explanation(words: str | None) -> str:
    return " ".join("".join((words or "").partition("\n\n")[2:]).split())


def _libraries() -> str:
    wanted = ("minimand", "scikit-learn", "faiss-cpu", "numpy", "scipy")
    found = machine.versions()
    python = ".".join(map(str, sys.version_info[:2]))
    return ", ".join([*(f"{name} {found[name]}" for name in wanted), f"Python {python}"])
