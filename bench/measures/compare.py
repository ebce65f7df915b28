"""One problem, everybody: warm up, climb to the target gap, repeat, judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..peers import minimand
from ..peers.base import Peer, single_threaded
from ..problems.base import Problem
from ..problems.tuning import tuning_judge_of
from .judge import Model, judge_of
from .timing import Climb, Lap, OverCap, best_of, climb, clock

OURS = "minimand"
ALONE = " (1 thread)"
_COMPILING = 60.0  # seconds that a first call may take
_LEAST_CAP = 2.0  # seconds that every peer is given for a fit at least
_HOPELESS = 10.0  # times minimand's own fit, after which a peer's fit is stopped
NEVER = Lap(float("inf"), float("inf"))
Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A line of a problem's table."""

    solver: str
    lap: Lap
    gap: float
    nonzeros: int | None
    tol: float
    met: bool
    remark: str = ""
    accuracy: tuple[float, float] | None = None  # train, test
    stopped: bool = False  # at the cap, at every tolerance

    @property
    def seconds(self) -> float:
        return self.lap.wall


@dataclass(frozen=True)
class Table:
    """Everything measured on one problem."""

    problem: Problem
    judge: Any
    rows: list[Row]
    notes: list[str]
    lowest: float  # objective of any peer above the reference's, relative

    @property
    def ours(self) -> Row:
        return self.rows[0]

    @property
    def fastest(self) -> Row | None:
        """The fastest peer that reached the gap."""
        return min((r for r in self.rows[1:] if r.met), key=lambda r: r.seconds, default=None)

    @property
    def ratio(self) -> float | None:
        """Wall time, minimand ÷ fastest peer: what the targets are about."""
        return self.ours.lap.wall / self.fastest.lap.wall if self.fastest else None

    @property
    def cpu_ratio(self) -> float | None:
        """CPU time, minimand ÷ the peer that needed least: steadier on a busy machine."""
        least = min((r.lap.cpu for r in self.rows[1:] if r.met), default=None)
        return self.ours.lap.cpu / least if least else None


@dataclass
class _Runner:
    peer: Peer
    climb: Climb[Any]
    cold: float


def _judge_of(problem: Problem) -> Any:
    return tuning_judge_of(problem) if problem.folds else judge_of(problem)


def compare(problem: Problem, peers: dict[str, Peer], repeats: int, cap: float, say: Say) -> Table:
    """Time minimand and the problem's peers to the common gap."""
    notes: list[str] = []
    judge = _judge_of(problem)
    say(f"  reference: {judge.words()}")
    cap = problem.seconds = min(cap, max(_LEAST_CAP, _hopeless(problem) * _our_time(problem)))
    runners: list[_Runner] = []
    for name in problem.peers:
        if name not in peers:
            notes.append(f"{name}: not installed.")
            continue
        try:
            runner = _run(problem, peers[name], judge, cap)
        except OverCap:
            notes.append(f"{name}: still not warm after {max(cap, _COMPILING):.0f} s.")
            say(f"  {notes[-1]}")
            continue
        except Exception as error:  # a peer that fails is reported, not hidden
            notes.append(f"{name}: failed with {type(error).__name__}: {error}")
            say(f"  {notes[-1]}")
            continue
        runners.append(runner)
        met = runner.climb.met or runner.climb.closest
        say(f"  {name}: {met.lap.wall:.3f} s, gap {met.gap:.1e}, tol {met.tol:.0e}")
    best = _repeat(problem, judge, runners, repeats, cap)
    rows = [_our_row(problem, judge, best.get(OURS, NEVER))]
    ours = rows[0]
    say(f"  {OURS}: {ours.seconds:.3f} s ({ours.lap.cpu:.3f} CPU), gap {ours.gap:.1e}")
    rows += sorted(
        (_row(problem, runner, best, cap) for runner in runners),
        key=lambda row: (not row.met, row.seconds),
    )
    closest = [r.climb.closest.result for r in runners if r.climb.closest.result is not None]
    lowest = min((judge.above(result) for result in closest), default=float("inf"))
    return Table(problem, judge, rows, notes, lowest)


def _hopeless(problem: Problem) -> float:
    """Times minimand's own fit that peers get: enough to show whether the target is met."""
    return max(_HOPELESS, 1.2 / problem.target if problem.target else 0.0)


def _our_time(problem: Problem) -> float:
    """Seconds of a warm fit of minimand."""
    clock(lambda: minimand.fit(problem.warm_up(), problem.gap))
    return clock(lambda: minimand.fit(problem, problem.gap))[0].wall


def _repeat(
    problem: Problem, judge: Any, runners: list[_Runner], repeats: int, cap: float
) -> dict[str, Lap]:
    """Best times by name: ours, and those of the peers that met the target."""
    calls: dict[str, Callable[[], Any]] = {OURS: lambda: minimand.fit(problem, problem.gap).model}
    clock(calls[OURS])
    known: dict[str, Lap] = {}
    for runner in runners:
        if (met := runner.climb.met) is not None:
            name, fit = runner.peer.name, runner.peer.fit
            calls[name] = partial(fit, problem, met.tol)
            known[name] = met.lap
            if runner.peer.pooled and met.lap.wall <= cap / 4:
                calls[name + ALONE] = partial(single_threaded(fit), problem, met.tol)
    return best_of(calls, lambda m: judge.relative(m) <= problem.gap, known, repeats, cap / 4)


def _run(problem: Problem, peer: Peer, judge: Any, cap: float) -> _Runner:
    cold, _ = clock(lambda: peer.fit(problem.warm_up(), peer.ladder[0]), max(cap, _COMPILING))
    # Paths are long; one that is over the cap at a loose tol is not tried at a tighter one.
    forgiven = 1 if problem.alphas is None else 0
    found = climb(
        lambda tol: peer.fit(problem, tol), judge.relative, peer.ladder, problem.gap, cap, forgiven
    )
    return _Runner(peer, found, cold.wall)


def _our_row(problem: Problem, judge: Any, lap: Lap) -> Row:
    model, own, how, _ = minimand.fit(problem, problem.gap)
    gap = judge.relative(model)
    remark = f"{how}; own certificate {own:.1e}{judge.remark(model)}"
    if own < gap - judge.slack - 1e-12:
        remark += " BELOW the judge's"
    return Row(
        OURS,
        lap,
        gap,
        model.nonzeros(problem),
        problem.gap,
        gap <= problem.gap,
        remark,
        _accuracy(problem, model),
    )


def _row(problem: Problem, runner: _Runner, best: dict[str, Lap], cap: float) -> Row:
    met = runner.climb.met
    shown = met or runner.climb.closest
    lap = best.get(runner.peer.name, shown.lap)
    remarks = []
    if (alone := best.get(runner.peer.name + ALONE, NEVER)).wall < lap.wall:
        lap = alone
        remarks.append("faster on 1 thread")
    if runner.peer.compiles:
        remarks.append(f"first call {runner.cold:.1f} s (compiles)")
    if met is None:
        why = (
            f"over {cap:.0f} s"
            if runner.climb.capped or shown.result is None
            else "no tighter tol helped"
        )
        why = f"{why}; {runner.peer.limit}" if runner.peer.limit else why
        remarks.append(f"never reached the gap ({why})")
    return Row(
        runner.peer.name,
        lap,
        shown.gap,
        None if shown.result is None else shown.result.nonzeros(problem),
        shown.tol,
        met is not None,
        "; ".join(remarks),
        None if shown.result is None else _accuracy(problem, shown.result),
        stopped=shown.result is None,
    )


def _accuracy(problem: Problem, model: Model) -> tuple[float, float] | None:
    """Share of right labels on the training and test part, where there is one."""
    if problem.test is None:
        return None
    return _hits(problem.X, problem.y, model), _hits(*problem.test, model)


def _hits(X: object, y: np.ndarray, model: Model) -> float:
    z = np.asarray(X @ model.w.T) + model.b  # type: ignore[operator]
    label = np.where(z[:, 0] > 0, 1.0, -1.0) if z.shape[1] == 1 else z.argmax(axis=1)
    return float((label == y).mean())
