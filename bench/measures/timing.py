"""Clocks: one call with a cap, the climb of a tolerance ladder, and interleaved repeats."""

from __future__ import annotations

import gc
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
_NEAR = 1e-2  # a gap below this is progress
_AGAIN = 0.2  # seconds


class Lap(NamedTuple):
    """Seconds on the wall, and on all processors of this process together."""

    wall: float
    cpu: float


class OverCap(BaseException):
    """A call took too long; no Exception, so that no library swallows it."""


@contextmanager
def limit(seconds: float | None) -> Iterator[None]:
    """Raise `OverCap` after so many seconds, as soon as the call is back in Python code.

    Peers written in C are interrupted between their calls only, so they have their own limits of
    iterations besides. Where the system has no such signal, there is no cap.
    """
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise OverCap

    before, hook = signal.signal(signal.SIGALRM, stop), sys.unraisablehook
    sys.unraisablehook = lambda event: None if event.exc_type is OverCap else hook(event)
    # Again and again: a callback out of C code may be the one that is interrupted, to no effect.
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    except SystemError as error:  # what compiled code makes of an exception raised within it
        if isinstance(error.__cause__ or error.__context__, OverCap):
            raise OverCap from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook


def clock(call: Callable[[], T], cap: float | None = None) -> tuple[Lap, T]:
    """Time one call; garbage is collected before, warnings are muted.

    A result that was computed in another process brings the time that it took there.
    """
    gc.collect()
    with warnings.catch_warnings(), limit(cap):
        warnings.simplefilter("ignore")
        cpu, wall = time.process_time(), time.perf_counter()
        result = call()
        here = Lap(time.perf_counter() - wall, time.process_time() - cpu)
        return getattr(result, "lap", None) or here, result


@dataclass(frozen=True)
class Try(Generic[T]):
    """One fit: the tolerance given, the time it took, the result, and its judged gap."""

    tol: float
    lap: Lap
    result: T | None  # None if it was stopped at the cap
    gap: float


@dataclass(frozen=True)
class Climb(Generic[T]):
    """The rung to be timed (None if no rung met the target) and the smallest gap seen."""

    met: Try[T] | None
    closest: Try[T]
    tries: int
    capped: bool  # ended because fits took too long


def climb(
    fit: Callable[[float], T],
    judge: Callable[[T], float],
    ladder: Sequence[float],
    target: float,
    cap: float,
    forgiven: int = 1,
) -> Climb[T]:
    """Tighten tol until the gap meets the target, then keep the fastest rung near by that does.

    A fit is stopped after ``cap`` seconds. Time need not grow as tol shrinks (a loose tol can make
    a solver stall), so ``forgiven`` such rungs are; the climb ends at the next one, or after twice
    the cap in all. After the first success half a decade back is tried too, unless ``cap`` seconds
    are spent already, and a decade further, unless an eighth of them. It also ends when the gap,
    already small, has not improved on three rungs in a row.
    """

    def attempt(tol: float) -> Try[T]:
        try:
            lap, result = clock(lambda: fit(tol), cap)
        except OverCap:
            return Try(tol, Lap(cap, cap), None, float("inf"))
        return Try(tol, lap, result, judge(result))

    tries: list[Try[T]] = []
    stale, stopped, spent = 0, 0, 0.0
    for tol in ladder:
        new = attempt(tol)
        closest = min((t.gap for t in tries), default=_NEAR)
        # A loose tol may return the start unchanged, rung after rung: that is not a standstill.
        stale = stale + 1 if 0.9 * closest <= new.gap < _NEAR else 0
        spent += new.lap.wall
        stopped += new.result is None
        tries.append(new)
        capped = stopped > forgiven or spent >= 2 * cap
        if new.gap <= target or capped or stale == 3:
            break
    last = tries[-1]
    if last.gap <= target and spent < cap and len(ladder) > 1:  # a direct method has one rung
        looser = [(last.tol * tries[-2].tol) ** 0.5] if len(tries) > 1 else []
        tighter = [last.tol / 10] if spent < cap / 8 else []
        tries += [attempt(tol) for tol in (*looser, *tighter)]
    met = min((t for t in tries if t.gap <= target), key=lambda t: t.lap.wall, default=None)
    return Climb(met, min(tries, key=lambda t: t.gap), len(tries), met is None and capped)


def best_of(
    calls: dict[str, Callable[[], T]],
    meets: Callable[[T], bool],
    known: dict[str, Lap],
    repeats: int,
    cap: float,
) -> dict[str, Lap]:
    """The best time of every call over interleaved rounds, counting only results that meet the gap.

    Rounds are interleaved so that a slow minute of the machine hits everybody. Results are judged
    every time, because a peer with racing threads may meet the gap only now and then. Nobody is
    called again after ``cap`` seconds in all, counting the known time.
    """
    best = dict(known)
    spent = {name: known[name].wall if name in known else 0.0 for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            if spent[name] > cap:
                continue
            lap, result = clock(call)
            spent[name] += lap.wall
            if meets(result):
                best[name] = _smaller(best.get(name, lap), lap)
    return best


def _smaller(a: Lap, b: Lap) -> Lap:
    """The best of either clock."""
    return Lap(min(a.wall, b.wall), min(a.cpu, b.cpu))
