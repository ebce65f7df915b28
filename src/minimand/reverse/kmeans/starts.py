"""Several starts of one algorithm, of which the best result is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._base.typing import AnyArray, Array
from ..._base.watch import StoppedError, interrupt, undisturbed, watching
from ...solvers.history import History
from ..base import Course
from .batches import MiniBatches
from .lloyd import Lloyd

Run = Lloyd | MiniBatches


class Found(NamedTuple):
    """The result of a start, in the precision of X."""

    centers: Array
    labels: AnyArray
    primal: float
    run: Run
    history: History


def best_of_starts(
    course: Course,
    starts: int,
    begin: Callable[[], Run],
    steps: Callable[[Any], Iterator[tuple[None, float, float]]],
    dtype: Any,
) -> Found:
    """The best result of so many starts; of fewer, if the fit is stopped before."""
    best: Found | None = None
    for _ in range(starts):
        run = _begun(begin, first=best is None)
        if run is None:
            break
        course.restart()
        course.follow(steps(run), lambda run=run: run.passes)  # type: ignore[misc]
        with undisturbed():
            found = Found(*run.finished(dtype), run, course.history)
        if best is None or found.primal < best.primal:
            best = found
        if course.stops():
            break
    assert best is not None
    course.history = best.history
    return best


def _begun(begin: Callable[[], Run], *, first: bool) -> Run | None:
    """A new start; None if there is a model and a reason to stop."""
    try:
        with watching(hears=not first):
            return begin()
    except KeyboardInterrupt:
        if first:
            raise
        interrupt()
    except StoppedError:
        pass
    return None


def weights_of(labels: AnyArray, weights: Array | None, k: int) -> Array:
    """The weight of every cluster."""
    return np.bincount(labels, weights, minlength=k).astype(float)
