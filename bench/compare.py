"""One problem, everybody: warm up, climb to the target gap, repeat, judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .judge import TARGET, Judge, Model, judge_of
from .peers import minimand
from .peers.base import Peer, single_threaded
from .problem import Problem
from .timing import Climb, Lap, best_of, climb, clock

OURS = "minimand"
ALONE = " (1 thread)"
NEVER = Lap(float("inf"), float("inf"))
Say = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A line of a problem's table."""

    solver: str
    lap: Lap
    gap: float
    nonzeros: int
    tol: float
    met: bool
    remark: str = ""
    accuracy: tuple[float, float] | None = None  # train, test

    @property
    def seconds(self) -> float:
        return self.lap.wall


@dataclass(frozen=True)
class Table:
    """Everything measured on one problem."""

    problem: Problem
    judge: Judge
    rows: list[Row]
    notes: list[str]
    lowest: float  # lowest primal value of any peer

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
    climb: Climb[Model]
    cold: float


def compare(problem: Problem, peers: dict[str, Peer], repeats: int, cap: float, say: Say) -> Table:
    """Time minimand and the problem's peers to the common gap."""
    notes: list[str] = []
    judge = judge_of(problem)
    say(f"  reference P = {judge.reference:.12g}, bound within {judge.slack:.1e}")
    runners: list[_Runner] = []
    for name in problem.peers:
        if name not in peers:
            notes.append(f"{name}: not installed.")
            continue
        try:
            runner = _run(problem, peers[name], judge, cap)
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
    closest = [judge.primal(r.climb.closest.result) for r in runners]
    return Table(problem, judge, rows, notes, min(closest, default=float("inf")))


def _repeat(
    problem: Problem, judge: Judge, runners: list[_Runner], repeats: int, cap: float
) -> dict[str, Lap]:
    """Best times by name: ours, and those of the peers that met the target."""
    calls: dict[str, Callable[[], Model]] = {OURS: lambda: minimand.fit(problem, TARGET).model}
    clock(calls[OURS])
    known: dict[str, Lap] = {}
    for runner in runners:
        if (met := runner.climb.met) is not None:
            name, fit = runner.peer.name, runner.peer.fit
            calls[name] = partial(fit, problem, met.tol)
            known[name] = met.lap
            if runner.peer.pooled and met.lap.wall <= cap / 4:
                calls[name + ALONE] = partial(single_threaded(fit), problem, met.tol)
    return best_of(calls, lambda m: judge.relative(m) <= TARGET, known, repeats, cap / 4)


def _run(problem: Problem, peer: Peer, judge: Judge, cap: float) -> _Runner:
    cold, _ = clock(lambda: peer.fit(problem, peer.ladder[0]))
    found = climb(lambda tol: peer.fit(problem, tol), judge.relative, peer.ladder, TARGET, cap)
    return _Runner(peer, found, cold.wall)


def _our_row(problem: Problem, judge: Judge, lap: Lap) -> Row:
    model, own, solver = minimand.fit(problem, TARGET)
    gap = judge.relative(model)
    remark = f"{solver}; own certificate {own:.1e}"
    if own < gap - judge.slack - 1e-12:
        remark += " BELOW the judge's"
    return Row(
        OURS, lap, gap, model.nonzeros, TARGET, gap <= TARGET, remark, _accuracy(problem, model)
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
        why = f"over {cap:.0f} s a fit" if runner.climb.capped else "no tighter tol helped"
        why = f"{why}; {runner.peer.limit}" if runner.peer.limit else why
        remarks.append(f"never reached the gap ({why})")
    return Row(
        runner.peer.name,
        lap,
        shown.gap,
        shown.result.nonzeros,
        shown.tol,
        met is not None,
        "; ".join(remarks),
        _accuracy(problem, shown.result),
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
