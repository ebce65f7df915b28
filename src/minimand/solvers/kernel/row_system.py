"""Kernel ridge regression: one Cholesky factor of the kernel matrix plus a diagonal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..traits import Trait
from . import costs
from .course import MEMORY
from .shifted import ShiftedKernel
from .smo import judged_coefficients, l2_of

_REFINEMENTS = 10  # rounds of iterative refinement; safeguard
_LEAST = 1e-8  # least shift, as a share of the largest k(x, x); safeguard: refinement still helps


class RowSystem(Solver):
    """(K + l2·M⁻¹) a + b = y − offset with Σa = 0, solved and refined; f = Σ aᵢ·k(xᵢ, ·).

    M holds the masses. b is eliminated by a second right side. Without an intercept b = 0, and a
    has any sum.
    """

    name = "row_system"
    null_may_do = False
    shapes = (Trait.ONE_SCORE, Trait.NO_COLUMNS)
    needs = (Trait.SQUARED, Trait.SQUARED_LENGTH)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """The squared loss and ½‖f‖², if the matrix fits into memory and is far from singular."""
        n = objective.n_samples
        if 2 * 8.0 * n * n > min(control.memory, MEMORY):
            return Verdict(False, f"memory has no room for a kernel matrix of {n} rows")
        largest = float(objective.design.row_lengths.max(initial=0.0))
        if not float(_shift(objective).min(initial=np.inf)) >= _LEAST * largest:
            return Verdict(False, "the penalty is so small that the system is all but singular")
        return Verdict(True, "squared loss and ‖f‖²: a linear system", costs.row_system(objective))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """The solution, then rounds of iterative refinement while they help."""
        a, shift = np.zeros(objective.n_samples), _shift(objective)
        judged, f = judged_coefficients(objective, a)
        yield judged
        matrix = ShiftedKernel(objective.design.row_gram(), shift)
        if not matrix.definite:
            raise ValueError("the kernel is not positive semidefinite on these rows.")
        target = objective.y if objective.offset is None else objective.y - objective.offset
        ones = matrix.solve(np.ones(a.size)) if objective.intercept else None
        b = 0.0
        for _ in range(_REFINEMENTS):
            step = matrix.solve(target - f - shift * a - b)
            if ones is not None:
                rise = (step.sum() + a.sum()) / ones.sum()
                step, b = step - rise * ones, b + rise
            a, before = a + step, judged.gap
            objective.keep_product(a, matrix.kernel_times(a))
            judged, f = judged_coefficients(objective, a)
            yield judged
            if not judged.gap < 0.5 * before:  # factor of the gap; safeguard
                return


def _shift(objective: Objective) -> Array:
    """l2/mass, what the penalty adds to the diagonal."""
    return l2_of(objective) / objective.mass
