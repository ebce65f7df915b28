"""The problem of a ranker: items sorted by query, and a loss over the pairs of every query."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.typing import Array, ArrayLike
from ...design import DenseDesign, as_design
from ...metrics import rows_of_queries
from ...outputs.queries import Runs
from ...penalties.checked import check_bound
from ...problem.objective import Objective
from ...problem.slot import Slot
from ..inputs import data
from ..settings import Settings


def relevance_and_query(estimator: Any, y: ArrayLike, groups: ArrayLike) -> Array:
    """y of two columns: the relevance of every item, and the number of its query."""
    relevance = data.check_numbers(data.check_vector(estimator, y))
    number = np.empty(relevance.size)
    for i, rows in enumerate(rows_of_queries(groups, relevance.size)):
        number[rows] = i
    return np.column_stack([relevance, number])


def query_problem(
    settings: Settings, X: Any, target: Array, weights: Array | None, offset: Array | None
) -> Objective:
    """The problem on the items of queries that have pairs and a weight, query by query."""
    whole, runs = as_design(X), Runs.of(target, weights)
    in_order = np.array_equal(runs.order, np.arange(whole.shape[0]))
    design = whole if in_order else whole.rows(runs.order)
    if isinstance(design, DenseDesign):  # a constant in a column changes no difference of scores
        design = design.from_first_row
    loss, alpha = settings.loss.bind(runs.units), settings.factor
    penalty = settings.penalty.bind(design.shape[1], alpha)
    if not settings.penalty.proved:
        check_bound(settings.penalty, penalty, design.shape[1])
    form = penalty.sum_over_features
    if form is None or form.has_constraints or form.free.any():
        raise ValueError(
            "Ranker needs an L1 or L2 on every coefficient, without constraints, but "
            f"penalty={settings.penalty!r} with alpha={alpha:g} is none: use penalty='l2' or 'l1', "
            "or a sum of both, and an alpha above 0."
        )
    place, n_present = np.arange(whole.shape[0]), whole.shape[0]
    if weights is not None and not weights.all():
        place, n_present = np.cumsum(weights > 0) - 1, int(np.count_nonzero(weights))
        whole = whole.rows(np.flatnonzero(weights))
    slot = Slot(place[runs.order], np.zeros_like(runs.order), (n_present, 1), whole)
    return Objective(
        loss=loss,
        penalty=penalty,
        design=design,
        y=runs.y,
        mass=loss.masses(runs.weights),
        offset=None if offset is None else np.ascontiguousarray(offset[runs.order]),
        intercept=False,
        words=settings.words_with_score(alpha, offset=offset is not None, intercept=False),
        slot=slot,
    )
