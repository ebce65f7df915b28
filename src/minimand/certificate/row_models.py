"""The referee for many models of the squared loss of several outputs under a norm for every row.

As in `least_squares`, the residuals r are the dual point, scaled by s, and the samples' part of the
gap is ½(1 − s)²·mean‖r‖². With v = −s·Xᵀ(mass∘r), the part of row j is what `Grouped` says of a
group without an l1 part: q is v, cut off at the length normⱼ, and

    normⱼ‖w‖ − q·w = (normⱼ − ‖q‖)‖w‖ + ½‖q‖‖w‖·‖w/‖w‖ − q/‖q‖‖²,   (v − q − l2ⱼw)²/2l2ⱼ.

Every step is one call for all models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._base.row_blocks import shifted
from .._base.typing import Array, BoolArray
from ..penalties import Strengths
from ..problem.intercept import recentred
from ..problem.objective import EPS, Objective, Point, dot
from .charges import charged, is_moderate
from .finding import Dual, Finding, is_balanced, slack
from .least_squares import SquaresFinding, used_columns
from .referee import judge
from .smooth_models import smooth_findings


def row_findings(base: Objective, problems: Sequence[Objective], coefs: Array) -> Iterator[Finding]:
    """As `smooth_findings`, all models at once if loss and penalties allow it."""
    strengths = Strengths.of([p.penalty for p in problems]) if base.is_squared else None
    if strengths is None or not is_moderate(coefs):
        yield from smooth_findings(base, problems, coefs)
        return
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        models = _Models.of(base, coefs)
        charges = charged(strengths, coefs, models.slopes, models.squares)
    primals = 0.5 * models.squares + charges.price
    for i, problem in enumerate(problems):
        gap, s, primal = float(charges.gap[i]), float(charges.s[i]), float(primals[i])
        if not (models.balanced[i] and gap <= base.scale and is_moderate(models.slopes[i])):
            yield from smooth_findings(base, [problem], coefs[i : i + 1])
            continue
        problem.meter.passes += 2.0 / len(coefs)
        theta, slope = models.residuals[i], models.slopes[i]
        if s != 1.0:
            theta *= s  # in place: nobody else needs the residuals
        bound = primal - gap + slack(primal)
        yield SquaresFinding(
            point=Point(coefs[i], models.shifts[i], models.scores[i]),
            primal=primal,
            gap=gap,
            dual=Dual(theta, slope if s == 1.0 else s * slope, bound),
            slope=slope,
            square=float(models.squares[i]),
            score_times=float(models.score_times[i]),
            fresh=True,
        )


def rows_at(objective: Objective, strengths: Strengths, w: Array) -> Finding:
    """The result for one model, from its coefficients alone, with its best intercept."""
    if not is_moderate(w):
        return judge(objective, recentred(objective, objective.point(w, objective.no_shift)))
    mass, shift = objective.mass, objective.no_shift
    z = objective.design.matvec(w)
    if objective.offset is not None:
        z += objective.offset
    r = z - objective.y
    if objective.intercept:
        shift = -(mass @ r)
        shift -= mass @ shifted(r, shift)  # for the digits of the first
        shifted(z, shift, in_place=True)
        r = z - objective.y
    # A product with a column is a loop over every row: slower than a copy of the column.
    weighted = np.repeat(mass, r.shape[1]).reshape(r.shape) * r
    if objective.intercept and not is_balanced(mass @ r, mass @ np.abs(r)):
        return judge(objective, Point(w, shift, z))  # the residuals are no valid dual point
    slope = objective.design.rmatvec(weighted)
    objective.meter.passes += 2.0
    square = dot(weighted, r)
    [price], [gap], [s] = charged(strengths, w[None], slope[None], np.array([square])).tolist()
    if not (gap <= objective.scale and is_moderate(slope)):
        return judge(objective, Point(w, shift, z))
    primal = 0.5 * square + price
    dual = Dual(r if s == 1.0 else s * r, s * slope, primal - gap + slack(primal))
    return SquaresFinding(
        point=Point(w, shift, z),
        primal=primal,
        gap=gap,
        dual=dual,
        slope=slope,
        square=square,
        score_times=float(np.abs(weighted * z).sum()),
        fresh=True,
    )


def rows_at_null(
    objective: Objective, strengths: Strengths, residual: Array, slope: Array
) -> SquaresFinding:
    """As `squares_at_null`: the result for w = 0, whose residuals are the dual point."""
    null, square = objective.null, 2.0 * objective.null_loss
    charges = charged(strengths, null.w[None], slope[None], np.array([square]))
    s = float(charges.s[0])
    return SquaresFinding(
        point=null,
        primal=objective.null_primal,
        gap=min(float(charges.gap[0]), objective.scale),
        dual=Dual(s * residual, s * slope),
        slope=slope,
        square=square,
        score_times=objective.row_total_of(lambda r, z: np.abs(r * z), residual, null.z),
        fresh=True,
    )


class _Models(NamedTuple):
    """Models along the first axis: what their gaps need of the data."""

    scores: Array
    shifts: Array
    residuals: Array
    slopes: Array
    squares: Array  # mean ‖r‖²
    score_times: Array  # mean Σ|r·z|
    balanced: BoolArray  # whether the residuals of every output have the mean zero up to rounding

    @classmethod
    def of(cls, base: Objective, coefs: Array) -> _Models:
        """Two products with the design; with a free intercept, each model gets its best one."""
        models, d, k = coefs.shape
        some, used = used_columns(base.design, coefs)
        beside = np.ascontiguousarray(np.moveaxis(used, 0, 1)).reshape(used.shape[1], models * k)
        z = np.asarray(some.matvec(beside)).reshape(-1, models, k)
        if base.offset is not None:
            z += base.offset[:, None, :]
        mass, y = base.mass, base.y[:, None, :]
        shifts = np.zeros((models, k))
        r = z - y
        balanced: BoolArray = np.ones(models, dtype=bool)
        flat = r.reshape(len(r), -1)
        if base.intercept:
            # A second pass for the digits of the first.
            shift = -(mass @ flat)
            shift -= mass @ (flat + shift)
            shifts = shift.reshape(models, k)
            z += shifts
            np.subtract(z, y, out=r)
            even = np.abs(mass @ flat) <= 16 * EPS * (mass @ np.abs(flat))  # as in `is_balanced`
            balanced = np.asarray(even.reshape(models, k).all(axis=1))
        slopes = base.design.rmatvec(mass[:, None] * flat).reshape(d, models, k)
        squares = (mass @ np.square(flat)).reshape(models, k).sum(axis=1)
        times = (mass @ np.abs(flat * z.reshape(flat.shape))).reshape(models, k).sum(axis=1)
        z, r, slopes = (np.ascontiguousarray(np.moveaxis(a, 1, 0)) for a in (z, r, slopes))
        return cls(z, shifts, r, slopes, squares, times, balanced)


def lengths(rows: Array) -> Array:
    """‖row‖₂ of every model."""
    return np.sqrt(np.einsum("mdk,mdk->md", rows, rows))
