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
    """Tighten tol until the gap meets the target, then look half a decade back.

    Ends early when one fit takes longer than ``cap`` seconds, or when the gap, already small, has
    not improved on three rungs in a row.
    """
    tries: list[Try[T]] = []
    met: Try[T] | None = None
    stale = 0
    for tol in ladder:
        lap, result = clock(lambda tol=tol: fit(tol))  # type: ignore[misc]
        attempt = Try(tol, lap, result, judge(result))
        closest = min((t.gap for t in tries), default=_NEAR)
        # A loose tol may return the start unchanged, rung after rung: that is not a standstill.
        stale = stale + 1 if 0.9 * closest <= attempt.gap < _NEAR else 0
        tries.append(attempt)
        if attempt.gap <= target:
            met = attempt
            break
        if lap.wall > cap or stale == 3:
            break
    if met is not None and len(tries) > 1 and met.lap.wall < cap:
        between = (met.tol * tries[-2].tol) ** 0.5
        lap, result = clock(lambda: fit(between))
        attempt = Try(between, lap, result, judge(result))
        tries.append(attempt)
        if attempt.gap <= target:
            met = attempt
    capped = met is None and tries[-1].lap.wall > cap
    return Climb(met, min(tries, key=lambda t: t.gap), len(tries), capped)


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
