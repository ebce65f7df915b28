"""Quantiles in order as a problem of absolute values, for the interior-point method.

The loss of a quantile is ½|r| + (½ − q)r. The order z_c ≤ z_{c+1} is kept by a steep price
M·max(0, t) = ½M|t| + ½M·t of t = z_c − z_{c+1}, exact once M exceeds the multipliers of the order.
So the problem of k scores is one of absolute values and a linear term in all coefficients: a row
for every score, and one for every pair of neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...design import as_design
from ...losses import PLQ, Absolute, Quantiles
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective, Point
from ..base import Control
from ..programs.column_scaling import beside, matrix_of
from .interior import InteriorPoint, Pull
from .vertex import offered

_DENSE = 2e7  # numbers of a dense matrix of all rows, beyond which it is sparse; safeguard
# M at first, in units of a slope, its growth, and how often; measured on the diabetes data: steep
# prices take twice the steps, and few rows need them.
_PRICE, _STEEPER, _ROUNDS = 0.5, 3.0, 8
_CROSSED = 1e-7  # share of the largest score: crossing that another price must cure; safeguard
_PATIENCE = 100  # steps in which the products must halve; safeguard
_CENTRED = 0.1  # least share of the products that a step aims at if they do not fall; safeguard
_SHARE = 0.01  # of the target: products at which the method stops; safeguard


def solutions(objective: Objective, control: Control, judgement: Judgement) -> Iterator[Judgement]:
    """A judged solution for every price, from low to high, until no scores cross."""
    price = _PRICE
    for _ in range(_ROUNDS):
        rows = _lifted(objective, price, judgement.point)
        inner = rows.interior(judgement.point.w)
        _walk(inner, control, _SHARE * control.target)
        offer = offered(inner, near=True)
        thetas = [rows.multipliers(theta, price) for theta in offer.thetas]
        crossed = 0.0
        for lifted, _ in offer.models:
            w, b = rows.model(lifted)
            point = objective.point(w, b)
            crossed = max(crossed, _crossing(point.z))
            # The best intercepts are in order, but rounding breaks their ties.
            found = _in_order(objective, recentred(objective, point))
            judged = judge(objective, found, thetas, [judgement.dual], raw=False)
            judgement = judged if judged.beats(judgement) else judgement
        yield judgement
        if control.expired or crossed <= _CROSSED:
            return
        price *= _STEEPER


class _Lifted(NamedTuple):
    """The problem of absolute values: a row for every score and for every pair of neighbours."""

    rows: Objective
    plq: PLQ
    form: Separable
    pull: Array
    levels: Array
    shift: Array  # intercepts that the targets already take off

    def interior(self, start: Array) -> InteriorPoint:
        """The method, begun at coefficients with a column for every score."""
        columns = np.vstack([start, np.zeros(self.shift.size)])
        begin = Point(np.ascontiguousarray(columns.T).ravel(), 0.0, np.empty(0))
        return InteriorPoint(self.rows, self.plq, self.form, begin, Pull(self.pull, 0.0))

    def model(self, lifted: Array) -> tuple[Array, Array]:
        """Coefficients (d, k) and intercepts."""
        columns = lifted.reshape(self.levels.size, -1).T
        return np.ascontiguousarray(columns[:-1]), columns[-1] + self.shift

    def multipliers(self, slopes: Array, price: float) -> Array:
        """θ of every score: the slope of its quantile, and those of the order on both sides."""
        k = self.levels.size
        parts = slopes.reshape(2 * k - 1, -1)
        order = 0.5 * price * (parts[k:] + 1.0)
        theta = 0.5 * parts[:k] + (0.5 - self.levels)[:, None]
        theta[:-1] += order
        theta[1:] -= order
        return np.ascontiguousarray(theta.T)


def _walk(inner: InteriorPoint, control: Control, target: float) -> None:
    """Steps until the products are small, or no longer fall."""
    least, waited = np.inf, 0
    while inner.products > target and waited < _PATIENCE and not control.expired:
        length = inner.step(_CENTRED if waited > 3 else 0.0)
        waited = 0 if inner.products < 0.5 * least else waited + 1
        least = min(least, inner.products)
        if not length > 1e-12:  # a step of no length; safeguard
            return


def _lifted(objective: Objective, price: float, start: Point) -> _Lifted:
    """The problem for a price of crossing; intercepts are counted from those of a start.

    A start without coefficients is then zero, for which the method takes wide slacks.
    """
    loss, form, k = objective.loss, objective.penalty.sum_over_features, objective.n_scores
    assert isinstance(loss, Quantiles)
    assert form is not None
    one = beside(matrix_of(objective.design), np.ones(objective.n_samples))
    kinds = np.vstack([np.eye(k), -np.diff(np.eye(k), axis=0)])
    size = float(kinds.size) * one.shape[0] * one.shape[1]
    if sparse.issparse(one) or size > _DENSE:
        matrix = sparse.kron(sparse.csr_array(kinds), sparse.csr_array(one), format="csr")
    else:
        matrix = np.kron(kinds, one)
    offset = np.zeros((objective.n_samples, k)) if objective.offset is None else objective.offset
    offset = offset + start.b
    targets = np.concatenate([(objective.y[:, None] - offset).T, np.diff(offset, axis=1).T])
    weights = np.concatenate([np.full(k, 0.5), np.full(k - 1, 0.5 * price)])
    lines = np.concatenate([0.5 - loss.levels, np.full(k - 1, 0.5 * price)])
    rows = Objective(
        loss=Absolute(),
        penalty=_flattened(form),
        design=as_design(matrix),
        y=targets.ravel(),
        mass=np.multiply.outer(weights, objective.mass).ravel(),
        intercept=False,
    )
    plq = Absolute().plq(rows.y)
    assert plq is not None
    pull = rows.backward(np.multiply.outer(lines, objective.mass).ravel())
    flat = rows.penalty.sum_over_features
    assert flat is not None
    return _Lifted(rows, plq, flat, pull, loss.levels, np.asarray(start.b))


def _flattened(form: Separable) -> Separable:
    """The penalty of all scores one after the other, each with its intercept, which is free."""

    def flat(values: Array, free: float) -> Array:
        columns = np.vstack([values, np.full(values.shape[1], free)])
        return np.ascontiguousarray(columns.T).ravel()

    bounds = None
    if form.bounds is not None:
        bounds = flat(form.bounds[0], -np.inf), flat(form.bounds[1], np.inf)
    return Separable(flat(form.l1, 0.0), flat(form.l2, 0.0), bounds)


def _crossing(z: Array) -> float:
    """The most by which neighbouring scores of a row are out of order, in units of the largest."""
    return max(float(-np.diff(z, axis=1).min()), 0.0) / max(float(np.abs(z).max()), 1e-300)


def _in_order(objective: Objective, point: Point) -> Point:
    """The model with intercepts so far apart that no scores cross."""
    worst = -np.diff(point.z, axis=1).min(axis=0)
    if (worst < 0).all():
        return point
    # Twice the rounding of a score, so that another order of summation cannot bring it back.
    margin = 16 * EPS * (1.0 + np.sqrt(objective.n_features)) * float(np.abs(point.z).max())
    shift = np.append(0.0, np.cumsum(np.maximum(worst + margin, 0.0)))
    shift -= shift.mean()
    return Point(point.w, point.b + shift, point.z + shift)
