"""The referee for many models of the squared loss of several outputs under a norm for every row.

As in `least_squares`, the residuals r are the dual point, scaled by s, and the samples' part of the
gap is ½(1 − s)²·mean‖r‖². With v = −s·Xᵀ(mass∘r), the part of row j is what `Grouped` says of a
group without an l1 part: q is v, cut off at the length normⱼ, and

    normⱼ‖w‖ − q·w = (normⱼ − ‖q‖)‖w‖ + ½‖q‖‖w‖·‖w/‖w‖ − q/‖q‖‖²,   (v − q − l2ⱼw)²/2l2ⱼ.

Every step is one NumPy call for all models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._base.typing import Array, BoolArray
from ..losses import Squared
from ..penalties import Strengths
from ..penalties.partition import divided
from ..problem.objective import EPS, Objective, Point
from .finding import Dual, Finding, slack
from .least_squares import SquaresFinding, used_columns
from .smooth_models import smooth_findings

_INSIDE = 1.0 - 1e-14  # factor; safeguard: scaled points stay inside with rounding
_LONG, _SHORT = 1e150, 1e-150  # sizes whose squares would overflow or vanish; safeguard


def row_findings(base: Objective, problems: Sequence[Objective], coefs: Array) -> Iterator[Finding]:
    """As `smooth_findings`, all models at once if loss and penalties allow it."""
    strengths = Strengths.of([p.penalty for p in problems]) if is_squared(base) else None
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
        )


def is_squared(base: Objective) -> bool:
    """Whether the loss is Σ½(z − y)² over outputs of equal weight."""
    loss, shape = base.loss, (base.n_samples, base.n_scores)
    alike = base.has_columns and base.units is None and base.y.shape == shape
    return alike and loss.quadratic and isinstance(loss.by_score, Squared)


def is_moderate(values: Array) -> bool:
    """Whether squares of the largest number neither overflow nor vanish."""
    most = float(np.abs(values).max(initial=0.0))
    return most == 0 or _SHORT < most < _LONG


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


class Charges(NamedTuple):
    """For each model its penalty, the gap, and the scale of the dual point that proves it."""

    price: Array
    gap: Array
    s: Array


def charged(strengths: Strengths, coefs: Array, slopes: Array, squares: Array) -> Charges:
    """The least gap of the residuals scaled into the domain of Ω*, and into the balls."""
    norm, l2 = strengths
    rows = _Rows(norm, l2, coefs, slopes, squares)
    over = rows.length > norm
    share = np.where(over, divided(norm, rows.length) * _INSIDE, 1.0)
    largest = np.where(l2 > 0, 1.0, share).min(axis=1, initial=1.0)
    into_balls = np.where(norm > 0, share, 1.0).min(axis=1, initial=1.0)
    gap, s = rows.gap(largest), largest
    if (into_balls < largest).any():
        other = rows.gap(into_balls)
        better = other < gap
        gap, s = np.where(better, other, gap), np.where(better, into_balls, largest)
    return Charges(strengths.values(rows.size), gap, s)


class _Rows:
    """Coefficients and slopes of several models by rows, with their lengths and angles."""

    def __init__(self, norm: Array, l2: Array, coefs: Array, slopes: Array, squares: Array) -> None:
        self._norm, self._l2, self._squares = norm, l2, squares
        self._coefs, self._slopes = coefs, slopes
        self.size, self.length = lengths(coefs), lengths(slopes)
        apart = divided(coefs, np.broadcast_to(self.size[:, :, None], coefs.shape))
        apart += divided(slopes, np.broadcast_to(self.length[:, :, None], slopes.shape))
        self._angle = 0.5 * self.size * np.square(apart).sum(axis=2)

    def gap(self, s: Array) -> Array:
        """The gap of each model with s times the residuals."""
        norm, l2, reach = self._norm, self._l2, s[:, None] * self.length
        inside = np.minimum(reach, norm)
        terms = self.size * np.maximum(norm - reach, 0.0) + inside * self._angle
        rest = np.where(reach > norm, 1.0 - divided(norm, reach), 0.0)
        curved = l2 > 0
        if curved.any():
            # v − q − l2·w, but for the sign.
            missing = (s[:, None] * rest)[:, :, None] * self._slopes + l2[:, :, None] * self._coefs
            under = np.where(curved, 2.0 * l2, 1.0)
            terms += np.where(curved, np.square(missing).sum(axis=2) / under, 0.0)
        terms = np.where(~curved & (reach > norm), np.inf, terms)
        gap: Array = 0.5 * (1.0 - s) ** 2 * self._squares + terms.sum(axis=1)
        return gap


def lengths(rows: Array) -> Array:
    """‖row‖₂ of every model."""
    return np.sqrt(np.einsum("mdk,mdk->md", rows, rows))
