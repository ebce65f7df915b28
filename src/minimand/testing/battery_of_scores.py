"""Small problems of several scores per row, of groups, and of runs of rows, with their optima."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._base.typing import Array
from ..design import as_design
from ..losses import (
    Absolute,
    CrammerSinger,
    Huber,
    Logistic,
    Loss,
    Multinomial,
    OverScores,
    PairwiseHinge,
    PairwiseSquaredHinge,
    Quantiles,
    Squared,
    TopK,
    WeightedRanking,
)
from ..penalties import L1, L2, L21, GroupL2, Penalty, TraceNorm
from ..problem.objective import Objective
from ..problem.tangent import Tangent

_GROUPS = [0, 0, 1]
_SIZE = 24, 3  # samples and features; safeguard: a generic method must find the optimum soon
_QUERIES = np.arange(0, 25, 6)


def several_scores() -> Iterator[tuple[Objective, float]]:
    """Every problem with the objective that a generic method reaches."""
    problems: list[tuple[Loss, Penalty, bool]] = [
        (Multinomial(), L2(), True), (Multinomial(), L1() + 0.5 * L2(), True),
        (Multinomial(reference=0), L21(), False), (OverScores(Huber(0.5)), L21(), True),
        (OverScores(Squared()), L21(squared=True), True),
        (OverScores(Huber(0.5)), L21(squared=True), False),
        (OverScores(Squared()), TraceNorm(), True), (Multinomial(), TraceNorm(), True),
        (OverScores(Huber(0.5)), TraceNorm(squared=True), False),
        (OverScores(Absolute()), TraceNorm(), True), (OverScores(Absolute()), TraceNorm(), False),
        (CrammerSinger(), L2(), True), (CrammerSinger(), L2(), False), (TopK(2), L2(), True),
        (WeightedRanking([0.0, 1.0]), L2(), True), (WeightedRanking([0.5, 1.0]), L2(), False),
        (Quantiles(), L1(), True), (Quantiles(), L2(), False),
        (Quantiles(crossing=False), L1(), True), (Quantiles(crossing=False), L2(), True),
        (Logistic(), GroupL2(_GROUPS), True), (Huber(0.5), GroupL2(_GROUPS, squared=True), True),
        (PairwiseSquaredHinge().bind(_QUERIES), L2(), False),
        (PairwiseSquaredHinge().bind(_QUERIES), L2(), False),
        (PairwiseHinge().bind(_QUERIES), L2(), False),
        (PairwiseHinge().bind(_QUERIES), L2(), False),
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    for i, (loss, penalty, intercept) in enumerate(problems):
        objective = _problem(loss, penalty, intercept, rng, weighted=bool(i % 2))
        yield objective, _generic_optimum(objective)


def _problem(
    loss: Loss, penalty: Penalty, intercept: bool, rng: np.random.Generator, *, weighted: bool
) -> Objective:
    n, d = _SIZE
    x = rng.standard_normal((n, d)) * [1.0, 2.0, 0.5]
    scores = x @ rng.standard_normal((d, 3)) + rng.standard_normal((n, 3))
    y, k = scores[:, 0].copy(), 1
    if loss.target == "class":
        y, k = np.argmax(scores, axis=1).astype(float), loss.scores_for(3)
    elif loss.by_score is not None:
        y, k = scores, 3
    elif loss.joint:
        k = loss.scores_for(1)
    elif loss.target == "sign":
        y = np.where(y > 0, 1.0, -1.0)
    elif loss.unit == "run":
        y = np.digitize(y, [-1.0, 1.0]).astype(float)
    units = n if loss.unit == "row" else len(_QUERIES) - 1
    alpha = 0.05
    return Objective(
        loss=loss,
        penalty=penalty.bind(d if k == 1 else (d, k), alpha),
        design=as_design(x),
        y=y,
        mass=loss.masses(rng.uniform(0.5, 2.0, units) if weighted else np.ones(units)),
        intercept=intercept,
        n_scores=k,
        words=f"{loss.name} + {penalty.formula(alpha)}, {k} scores",
    )


def _generic_optimum(objective: Objective) -> float:
    """The objective after Powell's method, which needs no gradients: an upper bound of the optimum.

    Only values of the loss and of the penalty enter, none of the library's derivatives. For a
    non-convex problem it is the objective at the minimiser of its first tangent problem.
    """
    from scipy import optimize

    whole = objective
    if not objective.convex:
        objective = Tangent.first(objective).problem
    size = int(np.prod(objective.coef_shape))

    def value(x: Array) -> float:
        w = x[:size].reshape(objective.coef_shape)
        found = objective.primal(objective.point(w, _intercepts(objective, x[size:])))
        return found if np.isfinite(found) else 1e300

    start = np.zeros(size + (objective.n_scores if objective.intercept else 0))
    start[size:] = np.ravel(objective.null.b)[: start.size - size]
    options = {"maxfev": 3000, "xtol": 1e-8, "ftol": 1e-12}
    found = optimize.minimize(value, start, method="Powell", options=options).x
    w = found[:size].reshape(objective.coef_shape)
    return whole.primal(whole.point(w, _intercepts(objective, found[size:])))


def _intercepts(objective: Objective, x: Array) -> float | Array:
    if not x.size:
        return objective.no_shift
    return x if objective.n_scores > 1 else float(x[0])
