"""Clocks: one call, the climb of a tolerance ladder, and interleaved repeats."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
_NEAR = 1e-2  # a gap below this is progress


class Lap(NamedTuple):
    """Seconds on the wall, and on all processors of this process together."""

    wall: float
    cpu: float


def clock(call: Callable[[], T]) -> tuple[Lap, T]:
    """Time one call; garbage is collected before, warnings are muted."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cpu, wall = time.process_time(), time.perf_counter()
        result = call()
        return Lap(time.perf_counter() - wall, time.process_time() - cpu), result


@dataclass(frozen=True)
class Try(Generic[T]):
    """One fit: the tolerance given, the time it took, the result, and its judged gap."""

    tol: float
    lap: Lap
    result: T
    gap: float


@dataclass(frozen=True)
class Climb(Generic[T]):
    """The rung to be timed (None if no rung met the target) and the smallest gap seen."""

    met: Try[T] | None
    closest: Try[T]
    tries: int
    capped: bool  # ended because a fit took too long


def climb(
    fit: Callable[[float], T],
    judge: Callable[[T], float],
    ladder: Sequence[float],
    target: float,
    cap: float,
) -> Climb[T]:
    """Tighten tol until the gap meets the target, then keep the fastest rung near by that does.

    Time need not grow as tol shrinks (a loose tol can make a solver stall), so one rung longer
    than ``cap`` seconds is forgiven, two in a row are not, and after the first success half a
    decade back and a decade further are tried too. The climb also ends when the gap, already
    small, has not improved on three rungs in a row.
    """

    def attempt(tol: float) -> Try[T]:
        lap, result = clock(lambda: fit(tol))
        return Try(tol, lap, result, judge(result))

    tries: list[Try[T]] = []
    stale = slow = 0
    for tol in ladder:
        new = attempt(tol)
        closest = min((t.gap for t in tries), default=_NEAR)
        # A loose tol may return the start unchanged, rung after rung: that is not a standstill.
        stale = stale + 1 if 0.9 * closest <= new.gap < _NEAR else 0
        slow = slow + 1 if new.lap.wall > cap else 0
        tries.append(new)
        if new.gap <= target or slow == 2 or stale == 3:
            break
    last = tries[-1]
    if last.gap <= target and last.lap.wall <= cap:
        looser = [(last.tol * tries[-2].tol) ** 0.5] if len(tries) > 1 else []
        tries += [attempt(tol) for tol in (*looser, last.tol / 10)]
    met = min((t for t in tries if t.gap <= target), key=lambda t: t.lap.wall, default=None)
    return Climb(met, min(tries, key=lambda t: t.gap), len(tries), met is None and slow == 2)


def best_of(
    calls: dict[str, Callable[[], T]],
    meets: Callable[[T], bool],
    known: dict[str, Lap],
    repeats: int,
    cap: float,
) -> dict[str, Lap]:
    """The best time of every call over interleaved rounds, counting only results that meet the gap.

    Rounds are interleaved so that a slow minute of the machine hits everybody. Results are judged
    every time, because a peer with racing threads may meet the gap only now and then. A call known
    to take longer than ``cap`` keeps its known time.
    """
    best = dict(known)
    for _ in range(repeats):
        for name, call in calls.items():
            if name in known and known[name].wall > cap:
                continue
            lap, result = clock(call)
            if meets(result):
                best[name] = _smaller(best.get(name, lap), lap)
    return best


def _smaller(a: Lap, b: Lap) -> Lap:
    """The best of either clock."""
    return Lap(min(a.wall, b.wall), min(a.cpu, b.cpu))
