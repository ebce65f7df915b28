"""Paths in blocks of alphas: solved on some columns, certified on all columns in one product.

One block takes four steps. *Expect*: the columns in the model, and those whose slopes, extrapolated
linearly, come near their bound at the block's last alpha. *Settle*: solve all alphas of the block,
one after the other, on these columns. *Certify*: the referee judges every model on all of the data,
in one product with the design. *Accept* up to the first model that misses the tolerance: columns
that are out of bounds are added, and the block is solved again from there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ...certificate import Finding
from ...problem.objective import Objective
from ..base import Control, Solution, observe
from ..history import History
from .gram_kernels import Form
from .trail import Trail

_ROUNDS = 20  # rounds of a block without one more model accepted; safeguard


class Settler(ABC):
    """How the problems of a block are solved on the columns that the path has used."""

    near = 0.95  # share of the bound, from which a forecast slope is expected to reach it; measured
    # on Grams and curves of 100×20000 to 10000×100: 0.9 to 1 differ by up to 15 %, but 0.5 takes up
    # to 13 times as long; descent on sparse columns was not measured
    most: int  # alphas per block
    least: int = 1  # alphas of the first block, when there is no forecast yet
    name: str = "working_set"  # the solver that does the same at one alpha

    def expect(self, columns: IntArray) -> None:
        """Begin a new block, for which these columns are expected to be enough."""
        self.meet(columns)

    @abstractmethod
    def meet(self, columns: IntArray) -> bool:
        """Add these columns; returns whether one of them is new."""

    @abstractmethod
    def settled(
        self, forms: Sequence[Any], alphas: Sequence[float], trail: Trail, start: Array | None
    ) -> Array:
        """Coefficients, a row per alpha, up to the first alpha that does not converge.

        ``start`` is the start of the first one; None: the extrapolation of the trail.
        """

    @abstractmethod
    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterable[Finding]:
        """The referee's results for these models, one per problem, on all columns."""

    def finer(self) -> bool:
        """Use a finer tolerance from now on; returns False if there is none."""
        return False


class Blocks:
    """A path solved by a settler, as far as that converges."""

    def __init__(self, settler: Settler, control: Control) -> None:
        self._settler, self._control = settler, control
        self.size = min(settler.least, settler.most)  # alphas of the next block

    def solved(
        self, problems: Sequence[Objective], alphas: Sequence[float], trail: Trail
    ) -> Iterator[Solution]:
        """Certified solutions of a block, up to the first that does not converge; perhaps none."""
        settler, control = self._settler, self._control
        forms = [form_of(problem) for problem in problems]
        settler.expect(np.flatnonzero(_expected(forms[-1], alphas[-1], trail, settler.near)))
        done, rounds = 0, 0
        start: Array | None = None
        while rounds < _ROUNDS and not control.expired:
            coefs = settler.settled(forms[done:], alphas[done:], trail, start)
            first, start, missed = done, None, np.zeros(len(forms[0].l1), dtype=bool)
            judged = zip(coefs, settler.findings(problems[done : done + len(coefs)], coefs))
            for place, (w, finding) in enumerate(judged, first):
                if place == done and finding.reaches(problems[done], control.target):
                    solution = _passed(problems[done], finding, control, settler.name)
                    trail.add(alphas[done], solution.point, solution.slope)
                    yield solution
                    if solution.stopped_by:
                        return
                    done += 1
                    continue
                start = w if place == done else start  # the first model that misses
                missed |= forms[place].reached(finding.slope, w, 1.0)
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


def form_of(problem: Objective) -> Form:
    """The penalty, which must be a sum over features, or over groups of them."""
    penalty = problem.penalty
    found = penalty.sum_over_features if problem.n_scores == 1 else None
    form = found or penalty.sum_over_groups
    assert form is not None
    return form


def _expected(form: Form, alpha: float, trail: Trail, near: float) -> BoolArray:
    """Columns in the model, and those whose slopes come near their bound at that alpha."""
    if not len(trail):
        nothing = np.zeros_like(form.l1)
        return form.reached(nothing, nothing, near)
    return form.reached(trail.slope(alpha), trail.coefs[-1], near)


def _passed(problem: Objective, finding: Finding, control: Control, name: str) -> Solution:
    """A model that has reached the tolerance, as a solution."""
    history = History(name, problem.words, control.target)
    said = observe(control, problem, finding, 0, history)
    certificate = finding.certificate(problem, 1, control.seconds)
    solution = Solution(
        finding.point, finding.slope, certificate, name, True, said, history, finding.mean_loss
    )
    return solution.certified(certificate)
