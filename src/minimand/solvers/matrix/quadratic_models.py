"""Quadratic models of a smooth loss and a penalty on singular values, in the metric of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...losses.curvature import Curvature, Diagonal
from ...penalties.spectral import Factors, SingularValues
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control
from ..steps.linearised import Linearised
from ..steps.step_size import lipschitz
from .central_path import follow
from .gram_descent import Correction, Descent, correction
from .metric import Blocks, Coupled, Gram, Metric, Plain
from .resolvent_steps import split

_MOST_BLOCKS = 4e6  # numbers in a matrix for every score; safeguard of memory: 32 MB
_MOST = 2000  # steps on one quadratic model; safeguard
_FIRST = 300  # proximal steps before columns count as being of different units; safeguard
_SHARE = 0.3  # of the target that the model of a quadratic loss is solved to; safeguard
_INNER = 0.05  # share of ½⟨D, GD⟩, D the step, to which a model is solved; safeguard
_TIGHTER = 0.1  # factor of that accuracy if the referee asks for more; safeguard
_PROGRESS = 0.5  # factor of the gap that another round must gain; safeguard
_NEAR = 10.0  # targets: an estimated gap below it is worth a judgement of its own; safeguard
_GROWTH, _FALL = 2.0, 0.7  # factors of the curvature after too long a step, or not; safeguard
_TRIALS = 60  # doublings of the curvature; safeguard
_STEEP = 0.9  # share of the gain promised by a model that may be lost to its error; safeguard

# A step adds a floor to the curvature. Measured on digits (softmax) and heavy tails (Huber): a
# floor that ignores the curvature makes Newton's steps short, and none makes them endless.
_FLOOR = 1e-4  # share of the mean curvature at the point
_FLAT_FLOOR = 0.03  # share of the largest curvature, times the share of scores without any


class _Found(NamedTuple):
    """The minimiser of a quadratic model, with its factors."""

    point: Point
    factors: Factors


def the_model(objective: Objective, control: Control, judgement: Judgement) -> Iterator[Judgement]:
    """The squared loss is its own quadratic model; more rounds only mend the rounding of V."""
    metric, form, share = Gram(objective), form_of(objective), _SHARE
    while np.isfinite(judgement.primal):
        before, point = judgement, judgement.point
        descent = Descent(metric, metric.times(point.w) - before.slope, form, point.w)
        found = _solve(descent, _below(share * control.target), control)
        new = recentred(objective, objective.point(descent.w, point.b))
        duals = [_corrected(objective, metric, new, found)]
        judgement = judge(objective, new, duals, known=[before.dual], raw=False)
        yield judgement
        if control.expired or not judgement.gap < _PROGRESS * before.gap:
            return
        judgement = judge(objective, new, known=[judgement.dual])  # for the slope at this point
        share *= _TIGHTER


def _solve(descent: Descent, enough: Callable[[Correction], bool], control: Control) -> Correction:
    """Proximal steps; after some, methods that units of columns do not slow."""
    found = descent.run(enough, _FIRST, lambda: control.expired)
    if enough(found) or control.expired:
        return found
    better = follow(descent, enough, lambda: control.expired)
    better = better or split(descent, enough, lambda: control.expired)
    return better or descent.run(enough, _MOST, lambda: control.expired)


def _below(target: float) -> Callable[[Correction], bool]:
    """Whether an estimated gap is below the target."""
    return lambda found: found.gap <= target


def _corrected(objective: Objective, metric: Metric, point: Point, found: Correction) -> Array:
    """Multipliers whose slope is the subgradient of Ω nearest to that of the gradient."""
    gradient = objective.loss.gradient(point.z, objective.y)
    return gradient + metric.lifted(objective, found.step)


def several_models(
    objective: Objective, control: Control, judgement: Judgement, formed: bool
) -> Iterator[Judgement]:
    """Models at points extrapolated by momentum, or at the last one if they follow the curvature.

    ``formed`` says whether the metric is that of the data.
    """
    course = _Course(objective, control, judgement, formed)
    ahead, last, age = Linearised.of(judgement), judgement.point, 0
    while np.isfinite(judgement.primal):
        found = course.step(ahead, last.w)
        if found is None:  # the time is over
            yield judgement
            return
        judgement = course.judged(judgement, found)
        yield judgement
        moved = course.metric.times(found.point.w - last.w)
        uphill = float(np.vdot(ahead.point.w - found.point.w, moved)) > 0
        age = 0 if uphill or course.local else age + 1
        ahead = course.extrapolated(judgement, last, age)
        last = judgement.point


class _Course:
    """What the steps of one fit share: the metric, and the factor m of its curvature."""

    def __init__(
        self, objective: Objective, control: Control, first: Judgement, formed: bool
    ) -> None:
        self.objective, self.control, self.form = objective, control, form_of(objective)
        curvature = first.terms.curvature
        self.local = formed and _is_local(objective, control, curvature)
        """Whether the metric is made anew from the curvature at every point."""
        mean = objective.row_total_of(lambda h: h, curvature.bound) / objective.n_scores
        most = objective.loss.smoothness
        self._share, self._most = _SHARE, np.inf if self.local else most
        self._bend = 1.0 if self.local else min(max(mean, 1e-300), most)
        self.metric: Metric = Plain(0.0)
        if formed:
            self.metric = self._plain = Gram(objective)
            self._steepest = most if np.isfinite(most) else mean
        else:
            self.metric = Plain(lipschitz(objective, objective.mass))
        self._renew(first)

    def _renew(self, judgement: Judgement) -> None:
        """The metric at a new point, if it follows the curvature."""
        if not self.local:
            return
        objective, curvature = self.objective, judgement.terms.curvature
        h, k = curvature.bound, objective.n_scores
        mean = objective.row_total_of(lambda h: h, h) / k
        flat = objective.row_total_of(lambda h: (h == 0).astype(float), h) / k
        floor = _FLOOR * mean + _FLAT_FLOOR * flat * self._steepest
        if isinstance(curvature, Diagonal):
            self.metric = Blocks(objective, curvature.h, floor * self._plain.matrix)
        else:
            self.metric = Coupled(objective, curvature, floor * self._plain.matrix)

    def step(self, ahead: Linearised, start: Array) -> _Found | None:
        """The minimiser of the model at a point, its curvature doubled until it is good enough.

        None if the time ends before it is.

        The Bregman divergence is a mean of Fenchel-Young terms: no digits cancel. At most m⟨D, GD⟩
        is gained by the model, so a smaller divergence means that the objective falls; momentum
        needs one of half that size.
        """
        allowed = _STEEP if self.local else 0.5
        for _ in range(_TRIALS):
            found, bent = self._minimised(ahead, start)
            divergence = self.objective.mean_young(found.point.z, ahead.gradient)
            if self._bend >= self._most or divergence <= allowed * self._bend * bent:
                break
            if self.control.expired:
                return None
            self._bend = min(_GROWTH * self._bend, self._most)
        self._bend = max(_FALL * self._bend, 1.0 if self.local else 1e-300)
        return found

    def _minimised(self, ahead: Linearised, start: Array) -> tuple[_Found, float]:
        """The minimiser W of the model, and ⟨D, GD⟩ for its distance D from the point."""
        at, metric, bend = ahead.point, self.metric, self._bend
        linear = metric.times(at.w) - ahead.slope / bend
        descent = Descent(metric, linear, self.form.times(1.0 / bend), start)
        enough = self._share * self.control.target / bend

        def bent() -> float:
            moved = descent.w - at.w
            return float(np.vdot(moved, metric.times(moved)))

        if metric.formed:
            _solve(descent, lambda f: f.gap <= max(enough, 0.5 * _INNER * bent()), self.control)
        else:
            descent.step()
        assert descent.factors is not None
        z = at.z + self.objective.forward(descent.w - at.w)
        point = recentred(self.objective, Point(descent.w, at.b, z))
        return _Found(point, descent.factors), bent()

    def judged(self, before: Judgement, found: _Found) -> Judgement:
        """The gradient as dual point, and the corrected one where it promises to be enough."""
        target = self.control.target
        raw = judge(self.objective, found.point, known=[before.dual])
        if not self.metric.formed or raw.reaches(self.objective, target):
            return raw
        self._renew(raw)
        better = correction(self.metric, self.form, found.factors, -raw.slope)
        promise = better.gap if self.local else better.gap / self._bend
        best = raw
        if promise <= min(_NEAR * target, raw.gap):
            dual = _corrected(self.objective, self.metric, found.point, better)
            again = judge(self.objective, found.point, [dual], known=[raw.dual], raw=False)
            best = replace(again, slope=raw.slope) if again.gap < raw.gap else raw
        if promise <= target < best.gap:
            self._share *= _TIGHTER  # only a more accurate point can prove more
        return best

    def extrapolated(self, judgement: Judgement, last: Point, age: int) -> Linearised:
        """The point ahead by the momentum age/(age + 3), with the best intercepts."""
        share = age / (age + 3.0)
        if share == 0.0:
            return Linearised.of(judgement)
        ahead = Linearised.ahead(self.objective, last, judgement.point, share)
        return Linearised.of(judgement) if ahead is None else ahead


def form_of(objective: Objective) -> SingularValues:
    """The penalty, which the traits have shown to be a function of singular values."""
    form = objective.penalty.singular_values
    assert form is not None
    return form


def _is_local(objective: Objective, control: Control, curvature: Curvature) -> bool:
    """Whether matrices of the curvature are small enough to be made at every point."""
    d, k = objective.n_features, objective.n_scores
    size = k * d * d if isinstance(curvature, Diagonal) else (k * d) ** 2
    return size <= min(_MOST_BLOCKS, control.memory / 24.0)
