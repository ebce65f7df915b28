"""Several problems that differ in y only: one after the other, or on one thread each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TypeVar

from .._base.threads import get_num_threads, one_core_thread
from .._base.watch import Watch, current, watching
from .base import CALLBACK, Solution, Solver

_NAP = 0.1  # seconds between two checks for signals; safeguard

T = TypeVar("T")
SolveOne = Callable[[int, list[Solution]], Solution]


def solve_each(
    solve_one: SolveOne, count: int, solver: Solver | None, watched: bool
) -> list[Solution]:
    """Solutions of problems 0, 1, …, in their order.

    ``solve_one`` gets the number of a problem and the solutions before it; on threads, an empty
    list. With ``watched``, callbacks need one problem after the other, so no threads are used.
    ``solver`` is the common solver of all problems, if it is known. A stop of one problem stops
    all: problems that have not begun are judged at their start.
    """
    alone = solver is not None and solver.parallel and count > 1
    jobs = min(get_num_threads(), count) if alone and not watched else 1
    # Each problem's kernels use one thread, so that models do not depend on the number of threads.
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
    """``work`` on 0, 1, …, ``jobs`` at a time; an error of one, or Ctrl-C, stops all of them.

    Ctrl-C reaches the main thread only, which waits here and stops the others.
    """
    around = current()
    with watching() as watch:
        found = _each(work, count, jobs, watch)
    if watch.interrupted and around is None:
        raise KeyboardInterrupt  # there is no surrounding scope that could report it
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
                # With a timeout, since a signal received by another thread does not wake this one.
                done, left = wait(left, timeout=_NAP, return_when=FIRST_EXCEPTION)
                if any(future.exception() for future in done):
                    watch.stop("an error")  # the error will be raised, so the others can stop
        except KeyboardInterrupt:
            watch.interrupt()
    return [future.result() for future in futures]
