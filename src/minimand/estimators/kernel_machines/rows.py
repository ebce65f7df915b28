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
from ...design import KernelDesign
from ...features.low_rank import MEMORY, PivotedCholesky
from ...features.support_rows import SupportRows, expected_rank
from ...kernels import kernel_of
from ...kernels.rows import picked
from ...problem.objective import Objective
from ...solvers import ASKED, SOLVERS, costs
from ...solvers import REGISTRY as NAMED
from ...solvers.traits import Trait
from .expansion import BySample, Expansion, joined

if TYPE_CHECKING:
    from ..posing.coded import Coded
    from ..problem import Posed

_FEWEST = 1000  # rows; safeguard: a factor of fewer takes a fraction of a second


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
    design = mapped.design(X)
    if named:
        if not kernel.definite:
            PivotedCholesky(clone(kernel)).fit(X)  # refuses what is not positive semidefinite
        return mapped, design
    return (mapped, design) if _costs_less(estimator, design, coded.objectives(design)) else None


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
    return len(objectives) * min(accepted) < costs.pivoted_factor(n, rank)


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
