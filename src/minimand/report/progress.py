"""The progress bar of ``verbose=True``: the share of the gap's digits that is done."""

from __future__ import annotations

import math
import sys
from typing import Any

from ..solvers import State


class Bar:
    """Shows iteration, passes and the gap; a rich bar if rich is installed, else plain lines.

    Where no gap closes, ``shows`` names the number of the state to show: "primal", the objective.
    """

    def __init__(self, label: str, shows: str = "gap") -> None:
        self._label, self._shows = label, shows
        self._first: float | None = None
        self._progress: Any = None
        self._task: Any = None
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[facts]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
            )
            self._progress.start()
            self._task = self._progress.add_task(label, total=1.0, facts="")
        except ImportError:
            pass  # rich is an extra: plain lines below

    def __call__(self, state: State) -> None:
        """Draw one state."""
        number = f"gap {state.gap:.2e}" if self._shows == "gap" else f"objective {state.primal:.6g}"
        facts = f"iteration {state.iteration}  passes {state.passes:g}  {number}"
        if self._progress is None:
            print(f"{self._label}: {facts}", file=sys.stderr)
            return
        self._progress.update(self._task, completed=self._fraction(state), facts=facts)

    def _fraction(self, state: State) -> float:
        """Share of the digits between the first gap and the target that is done."""
        if self._shows != "gap" or not math.isfinite(state.gap):
            return 0.0
        goal = max(state.target, 1e-300)  # safeguard: log of 0
        if state.gap <= goal:
            return 1.0
        if self._first is None:
            self._first = state.gap
        whole = math.log(self._first / goal)
        return max(0.0, 1.0 - math.log(state.gap / goal) / whole) if whole > 0 else 1.0

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._progress is not None:
            self._progress.stop()
