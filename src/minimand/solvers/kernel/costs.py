"""What solvers on rows of a kernel matrix will cost, in the units of `solvers.costs`."""

from __future__ import annotations

from ...problem.objective import Objective
from ..costs import RATES, factor

_ACTIVE = 0.4  # share of the rows of a kernel matrix that are computed; measured, 12000×30, MNIST
_PAIR_READS = 10.0  # reads of each of them by steps of pairs; measured at 12000×30
_PIVOTED = 1 / 12  # units per n·rank² of a pivoted factor; measured at 2000×2000


def pairs(objective: Objective) -> float:
    """Steps of pairs on some rows of a kernel matrix, and a pass in float64 for the certificate."""
    return 2.0 * _ACTIVE * _values(objective) + _PAIR_READS * _ACTIVE * objective.n_samples**2


def row_system(objective: Objective) -> float:
    """The whole kernel matrix and its Cholesky factor."""
    return _values(objective) + factor(objective.n_samples)


def pivoted_factor(n: int, rank: float) -> float:
    """A factor of a kernel matrix, n rows of so many columns."""
    return _PIVOTED * n * rank * rank


def _values(objective: Objective) -> float:
    """All values of the kernel."""
    width = getattr(objective.design, "width", 1)
    return objective.n_samples**2 * (RATES["dense_gram"] * width + RATES["terms"])
