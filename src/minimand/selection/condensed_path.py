"""A path where samples outnumber features and no block engine takes it: on d + 1 rows.

Bounds and non-convex penalties leave the squared loss to the solvers of single fits, one alpha
after the other. They pass over the rows many times, of which a condensed problem has few. Its
solutions are certified on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from ..problem.condensed import Sums, condense, sums
from ..problem.objective import Objective
from ..solvers import Control, Solution
from ..solvers.paths.certified_together import certify_together
from ..solvers.paths.path import solve_path
from .stopping import collected

_BATCH = 1 << 23  # scores held at a time

At = Callable[[Objective, float], Objective]


def condensed_path(
    objective: Objective,
    at: At,
    alphas: list[float],
    control: Control,
    known: Sums | None = None,
) -> Iterator[Solution]:
    """Solutions of a problem with the squared loss by way of its condensed twin.

    ``known`` are the sums over all rows, where somebody has them. Every solution is judged on the
    data themselves; one that misses the tolerance there is solved there.
    """
    small = condense(objective, sums(objective) if known is None else known)
    solutions, places = solve_path(small.objective, at, alphas, control), iter(alphas)
    size = max(1, _BATCH // max(objective.n_samples, 1))
    stopped = ""
    while not stopped:
        batch, stopped = collected(islice(solutions, size), control)
        if not batch:
            return
        problems = [at(objective, alpha) for alpha in islice(places, len(batch))]
        coefs = np.stack([s.w for s in batch])
        found = [(s.solver, s.certificate.iterations, s.stopped_by) for s in batch]
        certified = certify_together(
            objective, problems, coefs, small.intercepts(coefs), control, found
        )
        for solution, twin in zip(certified, batch):
            yield solution.certified(solution.certificate, twin.history)
