"""The squared loss with kinks at many alphas: descents on a Gram, one after the other, compiled.

What is solved together is judged together: scores and slopes of many models are two products with
the data. Where columns are many, the Gram holds those that the path has met; a finding that
finds others out of bounds has them added, and the alphas from there on solved again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ... import _core
from ..._base.typing import Array
from ..._base.watch import interrupt
from ...canonical import Quadratic
from ...certificate.least_squares import Models
from ...penalties import Separable
from ...problem.objective import Objective
from ...problem.path_gram import RememberedGram
from ..base import Control, Solution
from .judged_path import At, JudgedPath, form_of, is_kinked

_MOST_COLUMNS = 1000  # that are taken all at once
_MOST_ROWS = 500  # of problems with more columns: larger supports want a Newton step at every alpha
_SHARE = 0.1  # of the gap that may be left on the Gram
_EPOCHS = 8, 64  # sweeps, at least and at most, before a Newton step on the support is tried
_STEP = 3e5  # products that such a step costs at least, for which sweeps may go on
_EASY = 5  # alphas that are settled in a row without such a step
_STEPS = 50  # Newton steps for one alpha
_NUMBERS = 1 << 22  # scores or slopes held at a time, beside the solutions themselves
_FEW = 10  # alphas at a time while columns are still being met
_NEAR = 0.9  # share of the bound from which a forecast slope is expected to reach it
_FEWEST = 50  # columns to meet at a time


def applies(base: Objective, at: At, alphas: Sequence[float]) -> bool:
    """Whether all of these problems are descents on one Gram that is not too large."""
    n, d = base.design.shape
    if base.design.sparse or (d > _MOST_COLUMNS and n > _MOST_ROWS):
        return False
    return is_kinked(base, at, alphas)


def solutions(
    base: Objective, at: At, alphas: Sequence[float], control: Control
) -> Iterator[Solution]:
    """Certified solutions in the order of the alphas, as far as nobody says stop.

    An alpha that descent does not settle is solved by itself.
    """
    yield from _GramPath(base, control).along(at, alphas)


class _GramPath(JudgedPath):
    """The Gram of the columns met so far, and how far the path has come on it."""

    def __init__(self, base: Objective, control: Control) -> None:
        super().__init__(base, control)
        gradient = base.loss.gradient(base.null.z, base.y)
        self._gram = RememberedGram(base.design, base.mass, base.intercept, gradient)
        self._square = base.mean(gradient * gradient)
        n, d = base.design.shape
        self._everything = d <= _MOST_COLUMNS
        if self._everything:
            self._gram.add(np.arange(d))
        room = max(1, _NUMBERS // max(n, d))
        self.block = room if self._everything else min(_FEW, room)  # alphas at a time
        self._epochs = _EPOCHS[1]

    def solved(self, problems: list[Objective], alphas: list[float]) -> Iterator[Solution]:
        """Solutions of these problems; some columns are met on the way."""
        forms = [form_of(problem) for problem in problems]
        self._expect(forms[-1], alphas[-1])
        done = 0
        while done < len(problems):
            coefs = self._descend(forms[done:], alphas[done:])
            models = Models(self._base, coefs, np.zeros(len(coefs))) if len(coefs) else None
            first, met = done, self._gram.columns.size
            while models is not None and done < first + len(coefs):
                finding = models.finding(done - first, problems[done])
                if not finding.reaches(problems[done], self._control.target):
                    self._meet(forms[done], models.duals[done - first].slope)
                    break
                yield self._passed(problems[done], finding, alphas[done])
                done += 1
            if done < len(problems) and met == self._gram.columns.size:
                yield self._alone(problems[done], alphas[done])
                done += 1

    def _expect(self, form: Separable, alpha: float) -> None:
        """Meet the columns whose slopes, drawn on in a line, reach their bound at that alpha."""
        if self._everything or not self._trail:
            return
        slope = self._forecast_slope(alpha)
        self._gram.add(np.flatnonzero(np.abs(slope) >= _NEAR * form.l1))

    def _meet(self, form: Separable, slope: Array) -> None:
        """Meet the columns that are out of bounds, and a few that are nearly so."""
        if self._everything:
            return
        bounded = form.l1 > 0
        ratio = np.where(bounded, np.abs(slope) / np.where(bounded, form.l1, 1.0), np.inf)
        ratio[self._gram.columns] = 0.0
        outside = int(np.count_nonzero(ratio > 1.0))
        if outside:
            count = min(max(outside, _FEWEST), ratio.size)
            self._gram.add(np.argpartition(-ratio, count - 1)[:count])

    def _descend(self, forms: list[Separable], alphas: list[float]) -> Array:
        """Coefficients, a row per alpha, as far as descent and Newton steps settle them."""
        gram, columns, control = self._gram, self._gram.columns, self._control
        count, size = len(forms), gram.capacity
        l1, l2 = np.ones((count, size)), np.zeros((count, size))
        for i, form in enumerate(forms):
            l1[i, : columns.size], l2[i, : columns.size] = form.l1[columns], form.l2[columns]
        coefs, values = np.zeros((count, size)), np.array(alphas)
        coefs[0, : columns.size] = self._w[columns]
        model, done, steps = Quadratic(gram.gram, gram.linear), 0, 0
        try:
            while steps < _STEPS and not control.expired:
                reached = _core.cd_gram_path(
                    gram.gram, gram.linear, self._square, values, l1, l2, coefs, done,
                    _SHARE * control.target, self._epochs, _STEP,
                )  # fmt: skip
                # Where sweeps crawl they will go on to; Newton steps also make forecasts exact.
                lean = self._epochs // 2 if reached - done < _EASY else 2 * self._epochs
                self._epochs = min(max(lean, _EPOCHS[0]), _EPOCHS[1])
                done, steps = reached, steps + 1 if reached == done else 0
                if done == count or not model.polish(Separable(l1[done], l2[done]), coefs[done]):
                    break
        except KeyboardInterrupt:
            interrupt()  # what has been found is judged, and nothing else begun
        full = np.zeros((done, self._w.size))
        full[:, columns] = coefs[:done, : columns.size]
        return full
