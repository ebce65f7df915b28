"""The shape of a problem: how its rows and columns weigh against the penalty."""

from __future__ import annotations

import math

import numpy as np

from .._base.threads import one_blas_thread
from .._base.typing import Array
from ..losses import Pieces
from ..penalties import Separable
from ..problem.objective import Objective

_LOOK = 2e4  # stored numbers, below which a look at some rows takes as long as sweeps; measured
_SAMPLE = 1000  # rows that are enough for a rough mean square of every column (safeguard)
_SAMPLED = 32  # rows that tell how alike rows are, at most (safeguard)
_SPARED = 8  # at least as many rows for each of them: a look takes less than a fit (safeguard)


def rows_suffice(objective: Objective, form: Separable) -> bool:
    """Whether there are fewer rows than columns and every column is penalised."""
    n, d = objective.design.shape
    return n < d and form.l2_everywhere


def rows_suffice_for_kinks(objective: Objective, form: Separable) -> bool:
    """The same for interior points, where a kink or a bound of the penalty is curved as well."""
    n, d = objective.design.shape
    bent = (form.l2 > 0) | (form.l1 > 0)
    return n < d and bool(bent.all())


def rough_spread(objective: Objective) -> Array:
    """Σ mass·x² of every column; of the squared loss, which others solve faster, from some rows."""
    every = objective.n_samples // _SAMPLE
    exact = not objective.loss.quadratic or objective.design.sparse or every <= 1
    if exact or objective.facts.spread is not None:
        return objective.spread
    return objective.thinned(every).spread


def too_large(objective: Objective) -> bool:
    """Whether the squares of a column overflow, so that no step can be found."""
    return not np.isfinite(objective.root_spread).all()


def heaviest(objective: Objective) -> float:
    """The largest mass of a row: 1/n where all weigh the same."""
    return float(objective.row_mass.max(initial=0.0))


def rows_at_work(objective: Objective) -> int:
    """Rows of which multipliers are expected: twice those of the rarer class, and all of others.

    Where only small margins cost anything, all multipliers of a class have one sign, and with an
    intercept those of both classes have the same sum: so no more rows of the frequent class can
    reach their bound than there are rows of the rare one.
    """
    found, n = objective.rowwise, objective.n_samples
    if found is None or not objective.intercept or not isinstance(found.psi, Pieces):
        return n
    if found.psi.highest > 0.0:
        return n
    positive = int(np.count_nonzero(found.sign > 0))
    return min(n, 2 * max(min(positive, n - positive), 1))


class Shape:
    """How rows and columns weigh against the penalty."""

    def __init__(self, objective: Objective, form: Separable) -> None:
        n, spread = max(objective.n_samples, 1), rough_spread(objective)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = spread / form.l2
            if not math.isfinite(ratio.sum()):
                ratio = np.nan_to_num(ratio, nan=0.0, posinf=1e300)
        self._objective = objective
        self.n, self.sparse, self.nnz = n, objective.design.sparse, objective.design.nnz
        self.sweep = "sparse_sweep" if self.sparse else "dense_sweep"
        self.weight = float(ratio.sum()) * heaviest(objective)
        """mass·‖x‖²/l2 of the heaviest row: what it adds to the curvature of its dual variable."""
        self.columns = float((ratio / (1.0 + ratio)).sum())
        """Columns whose data outweigh their penalty, one with as much of both for a half."""
        self._ratio = ratio
        self.at_work = max(rows_at_work(objective), 1)

    @property
    def steep(self) -> float:
        """How much the data outweigh the penalty, on average over the columns."""
        return float(self._ratio.mean()) if self._ratio.size else 0.0

    @property
    def dependent(self) -> float:
        """The share of the rows at work that the columns cannot keep apart.

        Along n − d directions of the dual nothing but the loss itself holds the multipliers: there
        sweeps are slow if rows weigh much. Rows that are no more than the columns are all but
        orthogonal, and what they weigh does not matter.
        """
        return max(0.0, 1.0 - self.columns / self.at_work)

    @property
    def uneven(self) -> float:
        """How unequal the curvatures of the dual are, by which sweeps grow."""
        if self.dependent >= 1.0 or self.weight <= 1.0:
            return 1.0 + self.weight * self.dependent
        if self.nnz < _LOOK:
            return 1.0 + self.weight  # as if rows were alike: to know better would take longer
        apart = self._apart() * (self._room if self._objective.loss.quadratic else 1.0)
        held = (1.0 + self.weight) / (1.0 + self.weight * apart)
        return max(held, 1.0 + self.weight * self.dependent)

    @property
    def _room(self) -> float:
        """The least eigenvalue of the Gram matrix of random rows of length 1, (1 − √(n/d))².

        Multipliers with bounds are held by these; without, sweeps are as slow as it is small.
        """
        return max(1.0 - float(np.sqrt(self.n / max(self.columns, 1e-300))), 0.0) ** 2

    def _apart(self) -> float:
        """The share of a row that is its own: about 1 of random ones, little if factors rule them.

        The median eigenvalue of the Gram matrix of some rows of length 1.
        """
        every = max(-(-self.n // _SAMPLED), _SPARED)
        rows = self._objective.design.rows(np.arange(0, self.n, every))
        gram = rows.row_gram()
        size = np.sqrt(np.diag(gram))
        size[size == 0] = 1.0
        with one_blas_thread():
            found = np.linalg.eigvalsh(gram / size / size[:, None])
        return float(np.clip(np.median(found), 1e-12, 1.0))

    @property
    def crowded(self) -> float:
        """1 where rows at work are at most twice as many as columns, 0 from four times on.

        So few rows can be separated, or interpolated: the model that a Newton step believes in
        loses and gains rows with every step, a few at a time.
        """
        return float(np.clip(2.0 - 0.5 * self.at_work / max(self.columns, 1e-300), 0.0, 1.0))
