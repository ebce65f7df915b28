"""Paths that a limit of time, a callback or Ctrl-C ends before their last alpha."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from .._base.watch import StoppedError, current, undisturbed, watching
from ..certificate import judge
from ..certificate.finding import Dual
from ..problem.objective import Objective
from ..solvers import Control, Solution
from ..solvers.base import CALLBACK

T = TypeVar("T")


def collected(solutions: Iterable[Solution], control: Control) -> tuple[list[Solution], str]:
    """The solutions until a time limit, a callback or Ctrl-C stops them, and the reason.

    A callback that stops one solution stops everything in the enclosing scope, as Ctrl-C does.
    """
    around = current()
    found: list[Solution] = []
    with watching(control.late, hears=True) as watch:
        try:
            for solution in solutions:
                found.append(solution)
                if solution.stopped_by == CALLBACK:
                    watch.stop(CALLBACK)
                    if around is not None:
                        around.stop(CALLBACK)
                if watch.why():
                    break
        except KeyboardInterrupt:
            watch.interrupt()
        except StoppedError as stopped:
            watch.stop(stopped.reason)
        return found, watch.why()


def attempted(compute: Callable[[], T], control: Control) -> T | None:
    """The result of ``compute``; None if a time limit, a callback or Ctrl-C stops it."""
    with watching(control.late, hears=True) as watch:
        try:
            return compute()
        except KeyboardInterrupt:
            watch.interrupt()
        except StoppedError:
            pass
    return None


def completed(
    found: list[Solution],
    rest: Sequence[Objective],
    control: Control,
    reason: str,
) -> list[Solution]:
    """These solutions, and for the problems that are left their starting point.

    The starting point is the last model, or the null model. Its slopes are computed once; judging
    it under another penalty only needs the terms of the gap.
    """
    with undisturbed():
        known: list[Dual] = []
        for problem in rest:
            problem = problem.with_path_facts(None)
            point = found[-1].point.scored if found else problem.null
            # The tangent problem of a non-convex one changes with alpha: slopes cannot be reused.
            raw = not known or not problem.convex
            judgement = judge(problem, point, known=known, raw=raw, thorough=not problem.convex)
            known = [judgement.dual] if problem.convex else []
            target = control.tol * problem.scale
            found = [
                *found,
                Solution(
                    point,
                    judgement.slope,
                    judgement.certificate(problem, 0, control.seconds),
                    found[-1].solver if found else "none",
                    judgement.reaches(problem, target),
                    reason,
                ),
            ]
    return found
