"""The squared loss with kinks on sparse columns at many alphas: descents on the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..._base.typing import Array, IntArray
from ...canonical import Weighted
from ...penalties import Separable
from ...problem.objective import Objective
from ..base import Control, Solution
from ..sparse.support_newton import polish
from .judged_path import At, PathOfRounds, is_kinked

_SWEEPS = 20  # before Newton steps on the support are tried
_FINE = 1e-7  # share of its energy that such a step may leave
_STEPS = 10  # of them in a round


def applies(base: Objective, at: At, alphas: Sequence[float]) -> bool:
    """Whether all of these problems are descents on sparse columns."""
    return base.design.sparse and is_kinked(base, at, alphas)


def solutions(
    base: Objective, at: At, alphas: Sequence[float], control: Control
) -> Iterator[Solution]:
    """Certified solutions in the order of the alphas, as far as nobody says stop."""
    yield from _ColumnPath(base, control).along(at, alphas)


class _ColumnPath(PathOfRounds):
    """Rounds on the columns themselves."""

    near = 0.95
    share = 1e-4

    def _descend(self, form: Separable, columns: IntArray, w: Array, tol: float) -> Array:
        """Coordinate descent on some columns, with Newton steps on the support where it crawls."""
        if not columns.size:
            return w
        base = self._base
        residual = base.scores(w, 0.0) - base.y
        if base.intercept:
            residual -= base.mean(residual)
        inner, values = form.take(columns), w[columns]
        model = Weighted(base.design, columns, base.mass, base.mass * residual, base.intercept)
        done = model.descend(inner, values, _SWEEPS, tol)
        if done.decrease > tol:
            gathered = base.design.columns(columns)
            model = Weighted(gathered, np.arange(columns.size), model.h, model.q, model.centre)
        for _ in range(_STEPS):
            if not done.decrease > tol or self._control.expired:
                break
            polish(model, inner, values, base.spread[columns], model.slope, tol, _FINE)
            done = model.descend(inner, values, _SWEEPS, tol)
        full = np.zeros_like(w)
        full[columns] = values
        return full
