"""Small problems of every kind, each with an optimum from a generic method of SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from .._base.typing import Array
from ..design import KernelDesign, as_design
from ..kernels import Linear
from ..losses import (
    Absolute,
    Chebyshev,
    CrossEntropy,
    EpsilonInsensitive,
    Gamma,
    GemanMcClure,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    Squared,
    SquaredHinge,
    TanhMargin,
    TruncatedSquared,
    Tweedie,
)
from ..penalties import (
    L1,
    L2,
    L21,
    MCP,
    SCAD,
    Ball,
    Grouped,
    L2Ball,
    Lq,
    NonNegative,
    NoPenalty,
    Penalty,
)
from ..problem.objective import Objective
from ..problem.tangent import Tangent
from .battery_of_scores import several_scores


@lru_cache(maxsize=1)
def battery_with_optima() -> tuple[tuple[Objective, float], ...]:
    """Every problem with the objective that a generic method reaches: the optimum if convex."""
    single = ((objective, _generic_optimum(objective)) for objective in _battery())
    return *single, *_without_columns(), *several_scores()


def _without_columns() -> Iterator[tuple[Objective, float]]:
    """Squared loss or one with kinks, and L2, without columns; two of them with columns, too."""
    rng = np.random.default_rng(1)
    losses: list[Loss] = [Hinge(), EpsilonInsensitive(0.3), Quantile(0.7), Absolute()]
    losses += [Squared(), Squared()]  # with other weights and offsets
    for i, loss in enumerate(losses):
        plain = _problem(loss, L2(), 0.05, (40, 5), (i, 2 * i), rng)
        n, rows = plain.n_samples, plain.design.map_rows(np.asarray)
        hidden = replace(
            plain,
            penalty=L2().bind(n, 0.05),
            design=KernelDesign(Linear(), rows),
            words=f"{plain.words}, without columns",
        )
        best = _generic_optimum(plain)
        yield hidden, best
        if i in (0, 2):  # steps on rows, of a problem that has columns
            yield plain, best


def _battery() -> Iterator[Objective]:
    """Built-in losses × penalties, on matrices of different shapes and kinds."""
    losses: list[Loss] = [
        Squared(), Huber(0.5), Poisson(), CrossEntropy(), Logistic(), SquaredHinge(), Gamma(),
        Tweedie(),
    ]  # fmt: skip
    penalties: list[tuple[Penalty, float]] = [
        (L2(), 0.1), (L1(), 0.05), (L1() + 0.5 * L2(), 0.05), (NoPenalty(), 0.0),
        (L2() + NonNegative(), 0.1), (L2Ball(0.3), 0.0)
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    for i, loss in enumerate(losses):
        for j, (penalty, alpha) in enumerate(penalties):
            n, d = (40, 5) if (i + j) % 3 or isinstance(penalty, NoPenalty) else (10, 14)
            yield _problem(loss, penalty, alpha, (n, d), (i, j), rng)
    kinked: list[tuple[Loss, Penalty]] = [
        (Absolute(), L1()), (Quantile(0.7), NoPenalty()), (Hinge(), L1() + NonNegative()),
        (Chebyshev(), L1()), (Chebyshev(), L2()), (Chebyshev(), L1() + 0.5 * L2()),
        (Absolute(), L21(by="output")), (Logistic(), L21(by="output") + 0.5 * L2()),
        (Hinge(), L1() + 0.5 * L2()),
    ]  # fmt: skip
    for i, (loss, penalty) in enumerate(kinked):
        yield _problem(loss, penalty, 0.05, (40, 5), (i, i + 1), rng)
    not_convex: list[tuple[Loss, Penalty]] = [
        (Squared(), MCP()), (Poisson(), SCAD() + 0.1 * L2()), (Logistic(), Lq()),
        (GemanMcClure(), L2()), (TruncatedSquared(2.0), L1()), (TanhMargin(), L2() + MCP()),
    ]  # fmt: skip
    for i, (loss, penalty) in enumerate(not_convex):
        yield _problem(loss, penalty, 0.05, (40, 5), (i, i + 1), rng)


def _problem(
    loss: Loss,
    penalty: Penalty,
    alpha: float,
    shape: tuple[int, int],
    variant: tuple[int, int],
    rng: np.random.Generator,
) -> Objective:
    """Columns of different sizes; ``variant`` selects sparsity, weights, offset and intercept."""
    from scipy import sparse

    (n, d), (i, j) = shape, variant
    x = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d) + 1.0
    x[:, 1] *= rng.uniform(size=n) < 0.5
    z = (x - x.mean(axis=0)) / x.std(axis=0) @ rng.standard_normal(d) * 0.5
    return Objective(
        loss=loss,
        penalty=penalty.bind(d, alpha),
        design=as_design(sparse.csr_array(x) if j % 2 else x),
        y=_target(loss, z, rng),
        mass=loss.masses(np.ones(n) if i % 2 else rng.uniform(0.2, 3.0, n)),
        offset=0.1 * rng.standard_normal(n) if (i + j) % 2 else None,
        intercept=bool((i + j) % 4),
        words=f"{loss.name} + {penalty.formula(alpha)}, n={n}, d={d}",
    )


def _target(loss: Loss, z: Array, rng: np.random.Generator) -> Array:
    noisy = z + 1.5 * rng.standard_normal(z.shape)
    return {
        "real": lambda: noisy,
        "sign": lambda: np.where(noisy > 0, 1.0, -1.0),
        "unit": lambda: 1.0 / (1.0 + np.exp(-noisy)),
        "count": lambda: rng.poisson(np.exp(np.clip(z, -3, 3))).astype(float),
        "positive": lambda: np.exp(np.clip(noisy, -3, 3)),
    }[loss.target]()


def _generic_optimum(objective: Objective) -> float:
    """The objective after L-BFGS-B (SLSQP in a ball) on w = p − q with p, q ≥ 0.

    The result is an upper bound of the optimum even if SciPy has not converged. For a non-convex
    problem it is the objective at the minimiser of its first tangent problem.
    """
    from scipy import optimize

    whole = objective
    if not objective.convex:
        objective = Tangent.first(objective).problem
    d, ball = objective.n_features, objective.penalty
    form = ball.rest if isinstance(ball, Ball) else ball.sum_over_features or ball.sum_over_groups
    assert form is not None
    whole_norm = float(form.norm[0]) if isinstance(form, Grouped) else 0.0  # of a single group
    scale = np.sqrt(np.maximum(objective.moments(objective.row_mass).second, 1e-300))
    l1, l2 = form.l1, form.l2

    def split(x: Array) -> Array:
        return np.asarray((x[:d] - x[d : 2 * d]) / scale)

    def value(x: Array) -> tuple[float, Array]:
        w = split(x)
        z = objective.scores(w, float(x[-1]))
        terms = objective.loss.terms(z, objective.y)
        u = objective.weigh(terms.gradient)
        length = float(np.linalg.norm(w))
        pull = l2 + whole_norm / max(length, 1e-300)  # 1e-300: safeguard against 0/0
        slope = (objective.backward(u) + pull * w) / scale
        total = objective.mean(terms.value) + float(0.5 * (l2 @ w**2)) + whole_norm * length
        total += float((l1 / scale) @ (x[:d] + x[d : 2 * d]))
        grad = np.concatenate([slope + l1 / scale, -slope + l1 / scale, [u.sum()]])
        return total, grad

    bounded = None if isinstance(form, Grouped) else form.bounds
    lo, hi = bounded or (np.full(d, -np.inf), np.full(d, np.inf))
    edge = np.inf if objective.intercept else 0.0
    least = np.concatenate([np.maximum(lo, 0.0), np.maximum(-hi, 0.0)]) * np.tile(scale, 2)
    most = np.concatenate([np.maximum(hi, 0.0), np.maximum(-lo, 0.0)]) * np.tile(scale, 2)
    bounds = optimize.Bounds(np.append(least, -edge), np.append(most, edge))
    start = np.append(least, 0.0)
    if isinstance(ball, Ball):
        within = {"type": "ineq", "fun": lambda x: ball.radius - ball.size.radius(split(x))}
        found = optimize.minimize(
            value, start, jac=True, method="SLSQP", bounds=bounds, constraints=[within]
        )
    else:
        options = {"maxiter": 1500, "maxfun": 3000, "ftol": 1e-14, "gtol": 1e-10, "maxcor": 30}
        found = optimize.minimize(
            value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
    w = whole.penalty.project(split(found.x))
    return whole.primal(whole.point(w, float(found.x[-1])))
