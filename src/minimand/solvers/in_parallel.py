"""Several problems that differ in y alone: one after the other, or on a thread each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TypeVar

from .._base.threads import get_num_threads, one_core_thread
from .._base.watch import Watch, current, watching
from .base import CALLBACK, Solution, Solver

_NAP = 0.1  # seconds; a safeguard

T = TypeVar("T")
SolveOne = Callable[[int, list[Solution]], Solution]


def solve_each(
    solve_one: SolveOne, count: int, solver: Solver | None, watched: bool
) -> list[Solution]:
    """Solutions of problems 0, 1, …, in their order.

    ``solve_one`` gets the number of a problem and the solutions before it. On threads there are
    none before it: somebody who watches hears of one problem after the other. ``solver`` is the
    one that all of them take, if it is known. Who stops one stops all: those that have not begun
    are judged where they would.
    """
    alone = solver is not None and solver.parallel and count > 1
    jobs = min(get_num_threads(), count) if alone and not watched else 1
    # The kernels of each on one thread, always: then the models do not depend on their number.
    with watching() as watch, one_core_thread() if alone else nullcontext():
        run = _in_turn if jobs == 1 else _on_threads
        return run(solve_one, count, watch, jobs)


def _in_turn(solve_one: SolveOne, count: int, watch: Watch, jobs: int) -> list[Solution]:
    solutions: list[Solution] = []
    for i in range(count):
        solutions.append(solve_one(i, list(solutions)))
        if solutions[-1].stopped_by == CALLBACK:
            watch.stop(CALLBACK)
    return solutions


def _on_threads(solve_one: SolveOne, count: int, watch: Watch, jobs: int) -> list[Solution]:
    return in_threads(lambda i: solve_one(i, []), count, jobs)


def in_threads(work: Callable[[int], T], count: int, jobs: int) -> list[T]:
    """``work`` on 0, 1, …, so many at a time; an error of one, or Ctrl-C, stops all of them.

    Ctrl-C reaches the main thread only, which waits here and tells the others.
    """
    around = current()
    with watching() as watch:
        found = _each(work, count, jobs, watch)
    if watch.interrupted and around is None:
        raise KeyboardInterrupt  # nobody is there to hear of it in another way
    return found


def _each(work: Callable[[int], T], count: int, jobs: int, watch: Watch) -> list[T]:
    if jobs == 1:
        return [work(i) for i in range(count)]

    def within(i: int) -> T:
        with watching(within=watch):
            return work(i)

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(within, i) for i in range(count)]
        try:
            left = set(futures)
            while left and not watch.reason:
                # Not for long: a signal that another thread got does not wake this one.
                done, left = wait(left, timeout=_NAP, return_when=FIRST_EXCEPTION)
                if any(future.exception() for future in done):
                    watch.stop("an error")  # it will be raised: nobody need go on
        except KeyboardInterrupt:
            watch.interrupt()
    return [future.result() for future in futures]
