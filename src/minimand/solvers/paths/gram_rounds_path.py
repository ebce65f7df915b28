"""The squared loss with kinks on many dense columns at many alphas: rounds on a remembered Gram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..._base.typing import Array, IntArray
from ...penalties import Separable
from ...problem.objective import Objective
from ..base import Control, Solution
from ..sparse.gram_rounds import MOST_COLUMNS, gram_of, minimised
from .judged_path import At, PathOfRounds, is_kinked


def applies(base: Objective, at: At, alphas: Sequence[float]) -> bool:
    """Whether there is room for a Gram of all columns that these problems may need."""
    if base.design.sparse or min(base.design.shape) > MOST_COLUMNS:
        return False
    return is_kinked(base, at, alphas)


def solutions(
    base: Objective, at: At, alphas: Sequence[float], control: Control
) -> Iterator[Solution]:
    """Certified solutions in the order of the alphas, as far as nobody says stop."""
    yield from _RememberedPath(base, control).along(at, alphas)


class _RememberedPath(PathOfRounds):
    """Rounds on the Gram of the columns met so far."""

    near = 0.98
    share = 0.2

    def _descend(self, form: Separable, columns: IntArray, w: Array, tol: float) -> Array:
        """Descent and Newton steps on the Gram of all columns met so far."""
        gram = gram_of(self._base)
        gram.add(columns)
        return minimised(form, gram, w, tol, self._control)
