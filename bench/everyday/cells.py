"""One cell of a table: two fits of the same thing, timed in turns."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..measures.timing import OverCap, limit

SMALL = 2000  # rows, from which the target is stricter
TARGETS = 1.3, 1.0  # ratios: below so many rows, and from there on
_LONG = 0.7  # seconds of a pair of fits, after which it is not repeated
_BUDGET = 0.7  # seconds of all repeats of a pair
_CAP = 10.0  # seconds of one fit, after which it is stopped


class Turns(NamedTuple):
    """Which cells are measured, how often, and by which clock."""

    repeats: int = 5
    cpu: bool = False
    only: tuple[str, ...] = ()

    def wants(self, row: str) -> bool:
        """Whether the name of the row has one of the words in it, if there are any."""
        return not self.only or any(word.lower() in row.lower() for word in self.only)


class Cell(NamedTuple):
    row: str
    data: str
    rows: int
    ours: float  # seconds
    theirs: float | None = None  # None: scikit-learn has no such model
    gap: float | None = None  # relative, which both reach

    @property
    def ratio(self) -> float | None:
        return None if self.theirs is None else self.ours / self.theirs

    @property
    def missed(self) -> bool:
        return self.ratio is not None and self.ratio > TARGETS[self.rows >= SMALL]

    def words(self) -> str:
        """The ratio, and a mark if it is too large; or milliseconds."""
        if self.ratio is None:
            return f"({1e3 * self.ours:.1f} ms)"
        return f"{self.ratio:6.2f}" + (" !" if self.missed else "")


def best(fits: list[Callable[[], Any]], turns: Turns) -> list[float]:
    """The best time of every fit, in turns.

    The first turn warms up, and counts only where fits are so long that this does not matter.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = [_seconds(fit, turns.cpu) for fit in fits]
        if sum(first) > _LONG:
            return first
        found, spent = [np.inf] * len(fits), 0.0
        for _ in range(turns.repeats):
            for i, fit in enumerate(fits):
                seconds = _seconds(fit, turns.cpu)
                found[i], spent = min(found[i], seconds), spent + seconds
            if spent > _BUDGET:
                break
        return found


def _seconds(fit: Callable[[], Any], cpu: bool) -> float:
    """Infinite for a fit that is stopped at the cap; code in C is stopped when it returns."""
    gc.collect()
    clock = time.process_time if cpu else time.perf_counter
    begun = clock()
    try:
        with limit(_CAP):
            fit()
    except OverCap:
        return np.inf
    return clock() - begun
