"""Row generation: solve among the active samples, add those that violate optimality most, repeat.

Only rows of K that matter are computed. Each round solves the problem of the active samples to a
tenth of what all samples violate, and then admits violators, more of them the more there are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._base.typing import Array, IntArray
from ...canonical import BoxSteps
from .active_rows import AT_ONCE, ActiveRows
from .free_steps import free_steps, free_work

FIRST = 256  # rows to begin with, and the least number to add; measured on MNIST
_SHARE = 0.1  # of the violation of all samples that the active ones may leave; measured on MNIST
_GROWTH = 0.5  # rows to add, as a share of those that are active; measured
_NEARLY_ALL = 0.6  # share of active samples from which on all rows are computed; measured
_PER_SAMPLE = 10.0  # share of samples whose terms of the gap are small anyway, inverse; measured
_ROUNDS = 1000  # safeguard
_PATIENCE = 12  # rounds without progress; safeguard: scores are then computed anew
_IDLE = 3  # rounds without progress, after which Newton's steps are tried in any case; safeguard
_PROGRESS = 0.9  # factor of the gap that counts as progress; safeguard


def first_rows(active: ActiveRows, seed: int = 0) -> None:
    """Admit the samples that are not at zero, and some others at random."""
    n, count = active.a.size, min(FIRST, active.most)
    moved = np.flatnonzero(active.a)
    if moved.size > active.most // 2:
        moved = moved[: active.most // 2]
    others = np.setdiff1d(np.arange(n), moved)
    few = min(max(count - moved.size, count // 4), others.size, active.most - moved.size)
    drawn = np.random.default_rng(seed).choice(others, few, replace=False)
    admit_or_all(active, np.sort(np.concatenate([moved, drawn])))


def admit_or_all(active: ActiveRows, positions: IntArray) -> None:
    """Admit some positions; all of them if not much fewer than all would be active."""
    n = active.a.size
    if active.most == n and active.count + positions.size > _NEARLY_ALL * n:
        positions = np.arange(active.count, n)
    active.admit(positions)


def generate(active: ActiveRows, goal: float, ends: Callable[[], bool]) -> float:
    """Rounds until the gap of the box problem, by f as it is known, is at most goal; the gap."""
    before, least, waited, spent = np.inf, np.inf, 0, 0.0
    violation, violations, gap = _state(active)
    for _ in range(_ROUNDS):
        if gap <= goal or ends() or waited > _PATIENCE:
            return gap
        aim = _SHARE * min(violation, before)
        found, spent = _moved(active, aim, goal, spent, waited)
        before = violation
        violation, violations, gap = _state(active)
        outside = violations[active.count :]
        worse = np.flatnonzero(outside > 0.5 * max(found.violation, _SHARE * violation))
        if not worse.size and found.steps == 0:
            # Active samples that violate optimality have no partner among the active ones.
            worse = np.arange(outside.size)
        if worse.size and gap > goal:
            _admit_worst(active, violations, worse + active.count)
        waited = 0 if gap < _PROGRESS * least else waited + 1
        least = min(gap, least)
    return gap


def settle(active: ActiveRows, goal: float, ends: Callable[[], bool]) -> float:
    """The same where all rows are in memory, so that no sample has to be admitted.

    A sample adds at most its violation times its range to the gap, and most samples add nothing.
    """
    if active.count <= AT_ONCE:
        gap = _settled_at_once(active, goal, ends)
        if gap <= goal or ends():
            return gap
    ranges = float((active.box.high - active.box.low).sum())
    aim = _PER_SAMPLE * goal / max(ranges, 1e-300)  # safeguard: no range at all
    least, waited, spent = np.inf, 0, 0.0
    for _ in range(_ROUNDS):
        found, spent = _moved(active, aim, goal, spent, waited)
        _, _, gap = _state(active)
        waited = 0 if gap < _PROGRESS * least else waited + 1
        least = min(gap, least)
        if gap <= goal or ends() or waited > _PATIENCE:
            break
        if found.violation <= aim:
            aim *= _SHARE
    return gap


def _settled_at_once(active: ActiveRows, goal: float, ends: Callable[[], bool]) -> float:
    """Compiled steps of pairs until they are slow, then those of all free samples, in turns."""
    gap, waited = active.settle(goal), 0
    while gap > goal and waited <= _IDLE and not ends() and free_steps(active, goal):
        before, gap = gap, active.settle(goal)
        waited = 0 if gap < _PROGRESS * before else waited + 1
    return gap


def _moved(
    active: ActiveRows, aim: float, goal: float, spent: float, waited: int
) -> tuple[BoxSteps, float]:
    """Steps of pairs, and of all free samples if pairs have cost as much, or get nowhere.

    The second number says what steps of pairs have cost since then.
    """
    found = active.steps(aim)
    spent += active.work_of(found)
    if found.violation <= aim:
        return found, spent
    if (waited >= _IDLE or spent >= free_work(active)) and free_steps(active, goal):
        spent = 0.0
    return found, spent


def _state(active: ActiveRows) -> tuple[float, Array, float]:
    """What all samples violate, what each of them violates at the best level, and the gap."""
    box, a, f = active.box, active.a, active.f
    up, down = box.slopes(a, f)
    levels = box.levels(a, f)
    level = levels[box.group]
    violations = np.maximum(up - level, level - down)
    worst = max(float(violations.max(initial=0.0)), 0.0)
    return worst, violations, box.gap(a, f, levels)


def _admit_worst(active: ActiveRows, violations: Array, worse: IntArray) -> None:
    """Admit the worst violators, in the place of samples that rest at a bound if need be."""
    count = min(worse.size, max(FIRST, int(_GROWTH * active.count)))
    count = min(count, max(active.most // 2, 1))
    if count > active.room:
        least = np.argsort(violations[: active.count], kind="stable")[: count - active.room]
        chosen = np.sort(worse[np.argsort(-violations[worse], kind="stable")[:count]])
        samples = active.order[chosen]
        active.dismiss(np.sort(least))
        places = np.empty(active.order.size, np.intp)
        places[active.order] = np.arange(active.order.size)
        active.admit(np.sort(places[samples]))
        return
    worst = worse[np.argsort(-violations[worse], kind="stable")[:count]]
    admit_or_all(active, np.sort(worst))
