"""Paths in blocks of alphas: solved together on some columns, certified together on all of them.

One block takes four steps. *Expect*: the columns in the model, and those whose slopes, drawn on in
a line, come near their bound at the block's last alpha. *Settle*: all alphas of the block, one
after the other, on these columns alone. *Certify*: the referee judges every model on all of the
data, in one product with the design. *Accept* up to the first model that misses the tolerance:
columns that are out of bounds join in, and the block is solved again from there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ...certificate import Finding
from ...penalties import Separable
from ...problem.objective import Objective
from ..base import Control, Solution, observe
from ..history import History
from .trail import Trail

NAME = "working_set"  # descent on some columns, a look at all of them: here at many alphas
_ROUNDS = 20  # of a block without one more model accepted; a safeguard


class Settler(ABC):
    """How the problems of a block are solved on the columns that the path has met."""

    near: float  # share of the bound from which a forecast slope is expected to reach it
    most: int  # alphas at a time
    least: int = 1  # alphas of the first block, when nothing is known yet

    def expect(self, columns: IntArray) -> None:
        """A new block begins, for which these columns are expected to be enough."""
        self.meet(columns)

    @abstractmethod
    def meet(self, columns: IntArray) -> bool:
        """Let these columns take part too; whether one of them is new."""

    @abstractmethod
    def settled(
        self, forms: Sequence[Separable], alphas: Sequence[float], trail: Trail, start: Array | None
    ) -> Array:
        """Coefficients, a row per alpha, as far as they settle.

        ``start`` is where the first of them begins; None: where the trail leads.
        """

    @abstractmethod
    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterable[Finding]:
        """What the referee says of these models, one of each problem, on all columns."""

    def finer(self) -> bool:
        """Leave less of the gap from now on; whether there is any less to leave."""
        return False


class Blocks:
    """A path whose problems a settler takes, as far as it settles them."""

    def __init__(self, settler: Settler, control: Control) -> None:
        self._settler, self._control = settler, control
        self.size = min(settler.least, settler.most)  # alphas to take next

    def solved(
        self, problems: Sequence[Objective], alphas: Sequence[float], trail: Trail
    ) -> Iterator[Solution]:
        """Certified solutions of a block, as far as its problems settle: perhaps none."""
        settler, control = self._settler, self._control
        forms = [form_of(problem) for problem in problems]
        settler.expect(np.flatnonzero(_expected(forms[-1], alphas[-1], trail, settler.near)))
        done, rounds = 0, 0
        start: Array | None = None
        while rounds < _ROUNDS and not control.expired:
            coefs = settler.settled(forms[done:], alphas[done:], trail, start)
            first, start, missed = done, None, np.zeros(forms[0].l1.size, dtype=bool)
            judged = zip(coefs, settler.findings(problems[done : done + len(coefs)], coefs))
            for place, (w, finding) in enumerate(judged, first):
                if place == done and finding.reaches(problems[done], control.target):
                    solution = _passed(problems[done], finding, control)
                    trail.add(alphas[done], solution.point, solution.slope)
                    yield solution
                    if solution.stopped_by:
                        return
                    done += 1
                    continue
                start = w if place == done else start  # the first model that misses
                missed |= np.abs(finding.slope) > forms[place].l1
            if done == len(problems):
                self.size = min(2 * self.size, settler.most)
                return
            rounds = 0 if done > first else rounds + 1
            if start is not None:
                self.size = max(self.size // 2, settler.least)
            if settler.meet(np.flatnonzero(missed)) or done > first:
                continue
            if start is None or not settler.finer():
                return


def form_of(problem: Objective) -> Separable:
    """The penalty, which is a sum over features."""
    form = problem.penalty.sum_over_features
    assert form is not None
    return form


def _expected(form: Separable, alpha: float, trail: Trail, near: float) -> BoolArray:
    """Columns in the model, and those whose slopes come near their bound at that alpha."""
    if not len(trail):
        return form.l1 == 0
    return (np.abs(trail.slope(alpha)) >= near * form.l1) | (trail.coefs[-1] != 0)


def _passed(problem: Objective, finding: Finding, control: Control) -> Solution:
    """A model that has reached the tolerance, as a solution."""
    history = History(NAME, problem.words, control.target)
    said = observe(control, problem, finding, 0, history)
    certificate = finding.certificate(problem, 1, control.seconds)
    solution = Solution(finding.point, finding.slope, certificate, NAME, True, said, history)
    return solution.certified(certificate)
