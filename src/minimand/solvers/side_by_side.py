"""Several problems that differ in y alone: one after the other, or on a thread each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, replace

from ..threads import get_num_threads, one_core_thread
from .base import CALLBACK, INTERRUPT, Control, Solution, Solver

_SOMEBODY = (CALLBACK, INTERRUPT)  # who may stop all problems, not one only


@dataclass(eq=False)
class Halt:
    """Whether all problems shall stop, and why."""

    reason: str = ""

    def impose(self, control: Control) -> Control:
        """Make a solver stop when all shall stop, or not begin if that has been said already."""
        control.halted = lambda: self.reason
        if self.reason:
            control.callbacks, control.max_iter = (), 1
        return control


SolveOne = Callable[[int, list[Solution], Halt], Solution]


def solve_each(
    solve_one: SolveOne, count: int, solver: Solver | None, watched: bool
) -> list[Solution]:
    """Solutions of problems 0, 1, …, in their order.

    ``solve_one`` gets the number of a problem, the solutions before it and the `Halt`. On threads
    there are none before it: somebody who watches hears of one problem after the other. ``solver``
    is the one that all of them take, if it is known.
    """
    halt = Halt()
    alone = solver is not None and solver.side_by_side and count > 1
    jobs = min(get_num_threads(), count) if alone and not watched else 1
    # The kernels of each on one thread, always: then the models do not depend on their number.
    with one_core_thread() if alone else nullcontext():
        run = _in_turn if jobs == 1 else _on_threads
        solutions = run(solve_one, count, halt, jobs)
    if halt.reason:
        solutions = [s if s.converged else replace(s, stopped_by=halt.reason) for s in solutions]
    return solutions


def _in_turn(solve_one: SolveOne, count: int, halt: Halt, jobs: int) -> list[Solution]:
    solutions: list[Solution] = []
    for i in range(count):
        solutions.append(solve_one(i, list(solutions), halt))
        if solutions[-1].stopped_by.startswith(_SOMEBODY):
            halt.reason = halt.reason or solutions[-1].stopped_by
    return solutions


def _on_threads(solve_one: SolveOne, count: int, halt: Halt, jobs: int) -> list[Solution]:
    """Ctrl-C reaches this thread only: it is told to the others, who stop where they are."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(solve_one, i, [], halt) for i in range(count)]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            if any(future.exception() for future in done):
                halt.reason = "an error"  # it will be raised: nobody need go on
        except KeyboardInterrupt:
            halt.reason = INTERRUPT
    return [future.result() for future in futures]
