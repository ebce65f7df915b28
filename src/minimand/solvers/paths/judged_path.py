"""What paths of the squared loss share that settle many alphas before they are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ...certificate import Finding
from ...certificate.least_squares import Models
from ...penalties import Separable
from ...problem.objective import Objective
from .. import solve
from ..base import Control, Solution, observe
from ..history import History

At = Callable[[Objective, float], Objective]

_NAME = "working_set"  # descent on some columns, a look at all of them: here at many alphas
_FARTHEST = 2.0  # steps like the last one that a line is drawn on for
_FINER = 0.03  # factor of the share that a descent may leave, where that was too much
_ROUNDS = 20  # for one alpha


def is_kinked(base: Objective, at: At, alphas: Sequence[float]) -> bool:
    """Whether these are problems of the squared loss with an l1 part and nothing else."""
    if not base.loss.quadratic or len(alphas) < 2:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(base.scale):
            return False
    least = at(base, min(alphas))
    form = least.penalty.separable
    if form is None or form.bounds is not None or not least.convex or least.has_rays:
        return False
    return bool(form.l1.any())


class JudgedPath:
    """How far a path has come: the last model, and the slopes of the last two."""

    block = 1  # alphas at a time

    def __init__(self, base: Objective, control: Control) -> None:
        _ = base.root_spread  # now, so that all problems share it
        control.target = control.tol * base.scale
        self._base, self._control = base, control
        self._w = np.zeros(base.n_features)  # where to start
        self._trail: list[tuple[float, Array, Array]] = []  # alphas, models and their slopes

    def solved(self, problems: list[Objective], alphas: list[float]) -> Iterator[Solution]:
        """Certified solutions of these problems, in turn."""
        raise NotImplementedError(f"{type(self).__name__} must define solved(problems, alphas)")

    def along(self, at: At, alphas: Sequence[float]) -> Iterator[Solution]:
        """Solutions in the order of the alphas, as far as nobody says stop."""
        rest = [float(alpha) for alpha in alphas]
        while rest and not self._control.expired:
            block = rest[: self.block]
            for solution in self.solved([at(self._base, alpha) for alpha in block], block):
                yield solution
                rest = rest[1:]
                if solution.stopped_by:
                    return

    def _ahead(self, alpha: float) -> float:
        """How many steps like the last one lead to this alpha; 0 where there is no line to draw."""
        if len(self._trail) < 2 or self._trail[0][0] == self._trail[1][0]:
            return 0.0
        older, old = self._trail[0][0], self._trail[1][0]
        return (alpha - old) / (old - older)

    def _forecast_slope(self, alpha: float) -> Array:
        """The slopes of the last two models, drawn on in a line."""
        last, ahead = self._trail[-1][2], self._ahead(alpha)
        return last + ahead * (last - self._trail[0][2]) if ahead else last

    def _passed(self, problem: Objective, finding: Finding, alpha: float) -> Solution:
        """A model that has reached the tolerance, as a solution."""
        history = History(_NAME, problem.words, self._control.target)
        said = observe(self._control, problem, finding, 0, history)
        certificate = finding.certificate(problem, 1, self._control.seconds)
        solution = Solution(finding.point, finding.slope, certificate, _NAME, True, said, history)
        return self._kept(solution.certified(certificate), alpha)

    def _alone(self, problem: Objective, alpha: float) -> Solution:
        """What descent did not settle, solved by itself."""
        start = problem.point(self._w, 0.0)
        return self._kept(solve(problem, "auto", replace(self._control), start), alpha)

    def _kept(self, solution: Solution, alpha: float) -> Solution:
        self._w = solution.w
        self._trail = [*self._trail[-1:], (alpha, solution.w, solution.slope)]
        return solution


class PathOfRounds(JudgedPath):
    """One alpha at a time, in rounds.

    A round is a descent on the columns that are in the model or are expected to enter it, and a
    look at all columns, which is the certificate at the same time. Columns that are found out of
    bounds join in. Rounds go on until the gap is small enough, nearly always after the first.
    """

    near: float  # share of the bound from which a forecast slope is expected to reach it
    share: float  # of the gap, that a descent may leave

    def _descend(self, form: Separable, columns: IntArray, w: Array, tol: float) -> Array:
        """Coefficients that minimise on these columns, up to ``tol``, from w on."""
        raise NotImplementedError(f"{type(self).__name__} must define _descend")

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
        share = self.share
        for _ in range(_ROUNDS):
            w = self._descend(form, columns, w, share * target)
            finding = Models(self._base, w[None], np.zeros(1)).finding(0, problem)
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

    def _expected(self, form: Separable, alpha: float) -> BoolArray:
        """Columns whose slopes, drawn on in a line, come near their bound; those that have none."""
        if not self._trail:
            return form.l1 == 0
        return np.abs(self._forecast_slope(alpha)) >= self.near * form.l1


def form_of(problem: Objective) -> Separable:
    """The penalty, which is a sum over features."""
    form = problem.penalty.separable
    assert form is not None
    return form
