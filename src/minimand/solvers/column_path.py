"""The squared loss with kinks on sparse columns at many alphas: descents on the columns.

A round is a descent on the columns that are in the model or are expected to enter it, and a look
at all columns, which is the certificate at the same time. Columns that are found out of bounds join
in. Rounds go on until the gap is small enough, nearly always after the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._typing import Array, IntArray
from ..canonical import Weighted
from ..certificate import Finding
from ..objective import Objective
from ..penalties import Separable
from ..squares import Models
from .base import Control, Solution
from .judged_path import At, JudgedPath, form_of, is_kinked
from .support import polish

_NEAR = 0.95  # share of the bound from which a forecast slope is expected to reach it
_FARTHEST = 2.0  # steps like the last one that a line is drawn on for
_SHARE = 1e-4  # of the gap, that the last sweep may still gain
_FINER = 0.03  # the next share, where that was too much
_SWEEPS = 20  # before Newton steps on the support are tried
_FINE = 1e-7  # share of its energy that such a step may leave
_STEPS = 10  # of them in a round
_ROUNDS = 20  # for one alpha


def applies(base: Objective, at: At, alphas: Sequence[float]) -> bool:
    """Whether all of these problems are descents on sparse columns."""
    return base.design.sparse and is_kinked(base, at, alphas)


def solutions(
    base: Objective, at: At, alphas: Sequence[float], control: Control
) -> Iterator[Solution]:
    """Certified solutions in the order of the alphas, as far as nobody says stop."""
    yield from _ColumnPath(base, control).along(at, alphas)


class _ColumnPath(JudgedPath):
    """How far the path has come on the columns themselves."""

    def solved(self, problems: list[Objective], alphas: list[float]) -> Iterator[Solution]:
        """One problem after the other."""
        for problem, alpha in zip(problems, alphas):
            finding = self._settled(problem, alpha)
            if finding is None:
                yield self._alone(problem, alpha)
            else:
                yield self._passed(problem, finding, alpha)

    def _settled(self, problem: Objective, alpha: float) -> Finding | None:
        """What the referee says where the rounds end; None if that is not good enough."""
        form, target = form_of(problem), self._control.target
        w = self._forecast(alpha)
        columns = np.flatnonzero((w != 0) | self._expected(form, alpha))
        share = _SHARE
        for _ in range(_ROUNDS):
            w = self._descend(form, columns, w, share * target)
            models = Models(self._base, w[None], np.zeros(1))
            finding = models.finding(0, problem)
            if finding.reaches(problem, target):
                return finding
            outside = np.abs(finding.slope) > form.l1
            outside[columns] = False
            if outside.any():
                columns = np.union1d(columns, np.flatnonzero(outside))
            else:
                share *= _FINER
            self._w = w
            if self._control.expired:
                break
        return None

    def _forecast(self, alpha: float) -> Array:
        """The last two models drawn on in a line, without what would leave or change its sign."""
        ahead = self._ahead(alpha)
        if not 0 < ahead <= _FARTHEST:
            return self._w
        (_, older, _), (_, last, _) = self._trail
        w = last + ahead * (last - older)
        w[last * w <= 0] = 0.0
        return w

    def _expected(self, form: Separable, alpha: float) -> Array:
        """Columns whose slopes, drawn on in a line, come near their bound; those that have none."""
        if not self._trail:
            return form.l1 == 0
        return np.abs(self._forecast_slope(alpha)) >= _NEAR * form.l1

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
            polish(model, inner, values, base.spread[columns], tol, _FINE)
            done = model.descend(inner, values, _SWEEPS, tol)
        full = np.zeros_like(w)
        full[columns] = values
        return full
