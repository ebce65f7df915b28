"""Kernel ridge regression: one Cholesky factor of the kernel matrix plus a diagonal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from ..._base.typing import Array
from ...certificate import Judgement
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..traits import Trait
from . import costs
from .course import MEMORY
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
        matrix = _Shifted(objective.design.row_gram(), shift)
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


class _Shifted:
    """K + diag(shift), factorised in one triangle of K, so that the other one still has K."""

    def __init__(self, kernel: Array, shift: Array) -> None:
        self._diagonal = np.diag(kernel).copy()
        kernel = np.array(kernel.T, order="F")  # a copy: it may be the user's
        kernel.flat[:: kernel.shape[0] + 1] += shift
        self._both, failed = linalg.lapack.dpotrf(kernel, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise ValueError("the kernel is not positive semidefinite on these rows.")

    def solve(self, right: Array) -> Array:
        """(K + diag(shift))⁻¹ times a vector."""
        return np.asarray(linalg.cho_solve((self._both, True), right, check_finite=False))

    def kernel_times(self, a: Array) -> Array:
        """K a, from the triangle that was not overwritten and the diagonal."""
        found = linalg.blas.dsymv(1.0, self._both, a, lower=0)
        return np.asarray(found + (self._diagonal - np.diag(self._both)) * a)
