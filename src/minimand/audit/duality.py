"""`duality`: primal, dual, multipliers and complementary slackness of a fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike
from ..certificate import Certificate, Judgement
from ..estimators.base import Estimator
from ..estimators.hard_margin import HardMargin
from ..estimators.support_vectors import edge_of
from ..outputs import PairsOutput
from ..penalties import Separable
from ..penalties.ball import Ball
from ..problem.intercept import best_shift
from ..problem.objective import Objective
from ..solvers.programs.hard_margin import Widest
from .certify import refuse_weights
from .duality_tables import Constraint, Duality, SampleTable
from .examination import Examination, Given, examine


def duality(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
) -> Duality:
    """The dual of a fitted model: multipliers and slacks of samples and constraints.

    Parameters
    ----------
    model : anything that `certify` takes
        A fitted `Regressor`, `Classifier` or `HardMargin`, or a model that scikit-learn fitted.
    X, y, sample_weight, offset
        The data it was fitted on.

    Returns
    -------
    Duality

    Notes
    -----
    With multipliers θ (uᵢ = massᵢθᵢ) the dual objective is −Σ massᵢ·ℓ*(θᵢ) − Ω*(−Xᵀu), with Σu = 0
    if there is an intercept. Weak duality: it is never above the primal. Strong duality: at the
    optimum the two are equal, and then every product in the table is zero.

    Examples
    --------
    The support vector machine: α = 0, 0 < α < C or α = C.

    >>> import numpy as np, minimand as mm
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> model = mm.Classifier("hinge", "l2", alpha=0.5).fit(X, y)
    >>> found = mm.duality(model, X, y)
    >>> found.samples.zero.tolist()              # −2 and 2 lie beyond the margin
    [True, False, False, True]

    min x² subject to x ≥ 3 is a fit without data: x* = 3, the multiplier of the bound is 6.

    >>> model = mm.Regressor("squared", mm.L2() + mm.Box(3, np.inf), alpha=2, intercept=False)
    >>> print(mm.duality(model.fit([[0.0]], [0.0]), [[0.0]], [0.0]))
    minimise mean squared(z, y) + 2·½‖w‖² + I(3 ≤ w ≤ inf), z = X w
    primal 9, dual 9, gap 0
      sample      score z        slack   multiplier    product
           0            0            0            0    0.0e+00
    w[0] ≥ 3: multiplier 6, slack 0, product 0.0e+00
    """
    if isinstance(model, HardMargin):
        refuse_weights(model, sample_weight, offset)
        best, certificate = model.judged(X, y)
        return _of_plane(best, certificate, model._with_intercept)
    found = examine(model, Given(X, y, sample_weight, offset))
    if found.objectives[0].n_scores > 1:
        return _of_many_scores(found)
    judged = list(zip(found.objectives, found.judgements))
    samples = [_samples(*pair) for pair in judged]
    single = len(samples) == 1
    if not single:
        names = _names(model, len(samples))
        samples = [replace(table, name=name) for table, name in zip(samples, names)]
    intervals = [_interval(*pair) for pair in judged]
    return Duality(
        certificate=found.certificate,
        samples=samples[0] if single else samples,
        intercept_interval=intervals[0] if single else intervals,
        constraints=list(_constraints(found)),
    )


def _names(model: Any, count: int) -> list[str]:
    """What every problem is about."""
    output = model._fitted.output if isinstance(model, Estimator) else None
    if isinstance(output, PairsOutput):
        return [f"class {pair}" for pair in output.names]
    names = [f"class {label} against the rest" for label in getattr(model, "classes_", ())]
    return names or [f"output {i}" for i in range(count)]


def _of_many_scores(found: Examination) -> Duality:
    """The tables of a problem of several scores: one per score, with its column of multipliers.

    A sample has one product, that of all its scores: it stands in the table of each of them.
    """
    (objective,), (judgement,) = found.objectives, found.judgements
    labels = list(getattr(found.model, "classes_", range(objective.n_scores)))
    if len(labels) > objective.n_scores:  # the class of reference has no score
        del labels[objective.loss.reference]  # type: ignore[attr-defined]
    what = "class" if hasattr(found.model, "classes_") else "output"
    tables = [
        SampleTable(
            value=np.ascontiguousarray(judgement.point.z[:, c]),
            slack=judgement.terms.value,
            multiplier=objective.row_mass * judgement.dual.theta[:, c],
            largest=np.full(objective.n_samples, np.inf),
            product=judgement.by_sample,
            name=f"{what} {label}",
        )
        for c, label in zip(range(objective.n_scores), labels)
    ]
    b, shift = judgement.point.b, np.zeros(objective.n_scores)
    if objective.intercept:
        shift = np.broadcast_to(best_shift(objective, judgement.point.z), b.shape)
    intervals = [(float(at), float(at)) for at in b + shift]
    return Duality(found.certificate, tables, intervals, list(_constraints(found)))


def _samples(objective: Objective, judgement: Judgement) -> SampleTable:
    """The table of one score's samples."""
    z, theta = judgement.point.z, judgement.dual.theta
    edge = edge_of(objective.loss)
    if edge is None:
        plq = objective.loss.plq(objective.y)
        steepest = np.inf
        if plq is not None:
            steepest = max(abs(plq.pieces.lowest), abs(plq.pieces.highest))
        return SampleTable(
            value=z,
            slack=judgement.terms.value,
            multiplier=objective.row_mass * theta,
            largest=objective.row_mass * steepest,
            product=judgement.by_sample,
        )
    margins = objective.y * z
    steepest = -objective.loss.plq(objective.y).pieces.lowest  # type: ignore[union-attr]
    return SampleTable(
        value=margins,
        slack=np.maximum(edge - margins, 0.0),
        multiplier=np.maximum(-objective.row_mass * objective.y * theta, 0.0),
        largest=objective.row_mass * steepest,
        product=judgement.by_sample,
        heading="margin y·z",
    )


def _interval(objective: Objective, judgement: Judgement) -> tuple[float, float]:
    """The interval of intercepts that are optimal with the given coefficients."""
    b, z = judgement.point.b, judgement.point.z
    if not objective.intercept:
        return 0.0, 0.0
    plq = objective.loss.plq(objective.y)
    if plq is None:
        shift = best_shift(objective, z)
        return b + shift, b + shift
    low, high = plq.best_shifts(z, objective.mass)
    return float(b + low), float(b + high)


def _constraints(found: Examination) -> Iterator[Constraint]:
    """Multipliers of the bounds and the ball of the penalty, for every score."""
    many = len(found.objectives) > 1
    for i, (objective, judgement) in enumerate(zip(found.objectives, found.judgements)):
        name = f"w[{i}, {{}}]" if many else "w[{}]"
        if objective.n_scores > 1:
            name = "w[{1}, {0}]"  # coef_ has a row per score
        w, v = judgement.point.w, -judgement.dual.slope
        penalty: Any = objective.penalty
        if isinstance(penalty, Ball):
            multiplier, norm = penalty.multiplier(v), penalty.size.norm
            left = penalty.radius - penalty.size.radius(w)
            words = f"‖w‖{'₁' if norm == 'l1' else '₂'} ≤ {penalty.radius:g}"
            yield Constraint(words, multiplier, left)
            penalty = penalty.with_multiplier(multiplier)
        if isinstance(penalty, Separable) and penalty.bounds is not None:
            yield from _bounds(penalty, w, v, name)


def _bounds(form: Separable, w: Array, v: Array, name: str) -> Iterator[Constraint]:
    """λ = slope of l1|·| + ½ l2(·)² − v·(·) at the bound, inwards; 0 if that is downhill."""
    assert form.bounds is not None
    lo, hi = form.bounds
    for j in map(tuple, np.argwhere(np.isfinite(lo))):
        slope = form.l1[j] * (1.0 if lo[j] >= 0 else -1.0) + form.l2[j] * lo[j] - v[j]
        yield Constraint(f"{name.format(*j)} ≥ {lo[j]:g}", max(float(slope), 0.0), w[j] - lo[j])
    for j in map(tuple, np.argwhere(np.isfinite(hi))):
        slope = form.l1[j] * (1.0 if hi[j] > 0 else -1.0) + form.l2[j] * hi[j] - v[j]
        yield Constraint(f"{name.format(*j)} ≤ {hi[j]:g}", max(-float(slope), 0.0), hi[j] - w[j])


def _of_plane(best: Widest, certificate: Certificate, intercept: bool) -> Duality:
    """The table of a hard margin: constraints y·z ≥ 1 whose multipliers have no upper end."""
    samples = SampleTable(
        value=best.margins,
        slack=best.margins - 1.0,
        multiplier=best.alpha,
        largest=np.full(best.alpha.shape, np.inf),
        product=best.by_sample,
        heading="margin y·z",
    )
    low, high = best.intercepts if intercept else (0.0, 0.0)
    return Duality(certificate, samples, (low, high))
