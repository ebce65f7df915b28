"""Problems of k scores that do not touch each other: k problems of one score on the same data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..choose import choose_solver
from ..loop import run
from ..traits import Trait

_SHARE = 0.5  # of the target that the gaps of all scores add up to; safeguard


class ByScore(Solver):
    """A sum over scores under a penalty that is a sum over features, score by score.

    Every score is solved by the cheapest solver that accepts its problem; callbacks see the start
    and the result.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.solvers.ByScore().name
    'by_score'
    """

    name = "by_score"
    shapes = (Trait.COLUMNS,)
    kind = (*Solver.kind, Trait.SCORES_APART)
    needs = (Trait.SUM_OVER_FEATURES,)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Whatever a solver accepts for one score."""
        first = _of_score(objective, 0)
        try:
            solver = choose_solver(first, control)
        except ValueError as refusal:
            return Verdict(False, f"no solver takes the problem of one score: {refusal}")
        words = f"scores that do not touch each other, each by {solver.name!r}"
        cost = solver.verdict(first, control).cost
        return Verdict(True, words, objective.n_scores * cost)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The start, then the solutions of all scores."""
        judgement = judge(objective, recentred(objective, start))
        if not judgement.reaches(objective, control.target):
            yield judgement
        k, share = objective.n_scores, _SHARE
        while True:
            w, b, theta = judgement.point.w.copy(), np.zeros(k), np.zeros_like(judgement.point.z)
            for c in range(k):
                problem = _of_score(objective, c)
                tol = share * control.target / k / max(problem.scale, 1e-300)
                limits = replace(control.share(k - c), tol=tol, callbacks=(), max_iter=None)
                found = run(choose_solver(problem, limits), problem, limits, replaceable=True)
                w[:, c], b[c] = found.w, found.b
                dual = found.certificate.dual_point
                theta[:, c] = 0.0 if dual is None else dual
            before = judgement
            judgement = judge(objective, objective.point(w, b), [theta], [before.dual], raw=False)
            yield judgement
            share *= 0.1
            if control.expired or not judgement.gap < 0.5 * before.gap:
                return


def _of_score(objective: Objective, c: int) -> Objective:
    """The problem of one score."""
    loss, form = objective.loss.of_score(c), objective.penalty.sum_over_features
    assert loss is not None
    assert form is not None
    y = objective.y if objective.y.ndim == 1 else np.ascontiguousarray(objective.y[:, c])
    offset = None if objective.offset is None else np.ascontiguousarray(objective.offset[:, c])
    return replace(
        objective,
        loss=loss,
        penalty=_column(form, c),
        y=y,
        offset=offset,
        n_scores=1,
        path_facts=None,
        known=objective.facts,
    )


def _column(form: Separable, c: int) -> Separable:
    """The penalty of one score."""

    def column(values: Array) -> Array:
        return np.ascontiguousarray(values[:, c])

    bounds = None if form.bounds is None else (column(form.bounds[0]), column(form.bounds[1]))
    return Separable(column(form.l1), column(form.l2), bounds)
