"""Kernel machines on rows of the kernel matrix, where a factor of it would cost more.

The problem is posed on a `KernelDesign`, whose models are w = Σ aᵢφ(xᵢ). The referee judges them by
the kernel itself, so nothing is left out that a certificate would have to charge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ..._base.typing import Array
from ...design import GramDesign, KernelDesign
from ...features.low_rank import MEMORY, PivotedCholesky
from ...features.support_rows import SupportRows, expected_rank
from ...kernels import kernel_of
from ...kernels.rows import picked
from ...problem.objective import Objective
from ...solvers import ASKED, SOLVERS
from ...solvers import REGISTRY as NAMED
from ...solvers.kernel.costs import pivoted_factor
from ...solvers.traits import Trait
from .expansion import BySample, Expansion, joined

if TYPE_CHECKING:
    from ..posing.coded import Coded
    from ..problem import Posed

_FEWEST = 100  # rows; safeguard: a factor of fewer takes a few milliseconds
_ONE_PROBLEM = 1200  # rows whose kernel matrix is computed at once; measured, 20 columns
_SHARED = 6000  # the same where several problems share it, 288 MB; safeguard


def rows_of_kernel(estimator: Any, X: Any, coded: Coded) -> tuple[SupportRows, KernelDesign] | None:
    """The map and the design of a fit on rows of the kernel matrix; None for one on features.

    Such a fit is made if the solver that was named works on rows, or if the cheapest of those that
    do costs less than a factor alone. A kernel that is not known to be positive semidefinite is
    factorised in any case, because that shows whether it is.
    """
    kernel, loss = kernel_of(estimator.features), coded.settings.loss
    if kernel is None or estimator.in_queries or (loss.auto and loss.undecided):
        return None
    asked = estimator.solver
    named = not (isinstance(asked, str) and asked == "auto")
    if named and Trait.NO_COLUMNS not in NAMED.get(asked).shapes:
        return None
    if not named and (coded.n_samples < _FEWEST or not kernel.definite):
        return None
    mapped = SupportRows(clone(kernel))
    design = mapped.design(X, coded.weights)
    if named:
        if not kernel.definite:
            PivotedCholesky(clone(kernel)).fit(X)  # refuses what is not positive semidefinite
    elif not _costs_less(estimator, design, coded.objectives(design)):
        return None
    memory = MEMORY if estimator.memory is None else float(estimator.memory)
    most = _ONE_PROBLEM if coded.output.scores == 1 else _SHARED
    if coded.n_samples <= most and 8.0 * coded.n_samples**2 <= memory:
        design = GramDesign.of(design)
    return mapped, design


def _costs_less(estimator: Any, design: KernelDesign, objectives: Sequence[Objective]) -> bool:
    """Whether a solver on rows costs less than a factor of the kernel matrix."""
    control = estimator._control([])
    on_rows = [SOLVERS[name] for name in ASKED if Trait.NO_COLUMNS in SOLVERS[name].shapes]
    found = [solver.verdict(objectives[0], control) for solver in on_rows]
    accepted = [verdict.cost for verdict in found if verdict.ok]
    if not accepted:
        return False
    n, rank = design.shape[0], expected_rank(design)
    if 8.0 * n * rank > (MEMORY if estimator.memory is None else float(estimator.memory)):
        return True
    return len(objectives) * min(accepted) < pivoted_factor(n, rank)


def expansion(posed: Posed, mapped: SupportRows, parts: Sequence[Array]) -> Expansion:
    """The model by its support vectors, from the coefficients by sample of every problem."""
    by_sample: BySample = joined([o.slot for o in posed.objectives], list(parts))
    some = np.flatnonzero(by_sample.coefficients.any(axis=1))
    weights = posed.coded.weights
    numbers = some if weights is None else np.flatnonzero(weights)[some]
    coefficients, shown = (table[some] for table in by_sample)
    rows = mapped.training_rows(posed.X)
    mapped.supported_by(rows, numbers)
    given = picked(posed.X, numbers)
    return Expansion(numbers, coefficients, shown, rows[numbers], given, None)


def starts_on_rows(
    posed: Posed, known: Any, trained: Any, intercept: Any
) -> list[tuple[Array, Any] | None]:
    """The coefficients by sample of the last fit, for every problem, if it had as many samples.

    ``known`` is its `Expansion` and ``trained`` its `Training`, if there are any.
    """
    objectives, n = posed.objectives, posed.coded.n_samples
    if known is None or trained is None or trained.multipliers.shape[0] != n:
        return [None] * len(objectives)
    intercepts = np.atleast_1d(intercept)
    if not known.coefficients.shape[1] == intercepts.size == len(objectives):
        return [None] * len(objectives)
    table = np.zeros((n, len(objectives)))
    table[known.numbers] = known.coefficients
    weights = posed.coded.weights
    table = table if weights is None else table[np.flatnonzero(weights)]
    columns = zip(objectives, table.T)
    starts = [a.copy() if o.slot is None else a[o.slot.rows] for o, a in columns]
    # An intercept of the last fit must not stay in a model that has none.
    kept = intercepts if posed.coded.settings.intercept else np.zeros_like(intercepts)
    return [(a, float(b)) for a, b in zip(starts, kept)]
