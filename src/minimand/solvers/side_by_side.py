"""Several problems, solved on a thread each: passes over the data release Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

from .base import INTERRUPT, STOP, Solution, State


@dataclass(eq=False)
class Halt:
    """Whether all problems shall stop, and why."""

    reason: str = ""

    def listen(self, state: State) -> Any:
        """A callback of the solvers."""
        return STOP if self.reason else None


def side_by_side(
    solve_one: Callable[[int, Halt], Solution], count: int, jobs: int
) -> list[Solution]:
    """Solutions of problems 0, 1, …, so many at a time, in their order.

    Ctrl-C reaches this thread only: it is told to the others, who then stop where they are, and
    those that have not begun are asked for no more than where they begin.
    """
    halt = Halt()
    with ThreadPoolExecutor(min(jobs, count)) as pool:
        futures = [pool.submit(solve_one, i, halt) for i in range(count)]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            if any(future.exception() for future in done):
                halt.reason = "an error"  # it will be raised: nobody need go on
        except KeyboardInterrupt:
            halt.reason = INTERRUPT
    solutions = [future.result() for future in futures]
    if halt.reason:
        solutions = [s if s.converged else replace(s, stopped_by=halt.reason) for s in solutions]
    return solutions
