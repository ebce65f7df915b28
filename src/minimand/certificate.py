"""The referee: how far can a point be from the optimum?

For dual multipliers θ (with uᵢ = massᵢ·θᵢ) that satisfy the constraints of the dual problem,

    P(w, b) − P* ≤ Σ massᵢ·[ℓ(zᵢ) + ℓ*(θᵢ) − θᵢzᵢ] + [Ω(w) + Ω*(−Xᵀu) + w·Xᵀu] + b·Σu.

Every bracket is a Fenchel-Young term, never negative, by sample and by feature; Σu = 0 when the
intercept is free, (Xᵀu)ⱼ = 0 for a free column, ≥ 0 for one that may only grow. The gap is that
sum and never P − D, which loses all digits. A solver never certifies itself: it asks `judge`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from ._typing import Array, BoolArray
from .intercept import balanced_gradient, best_shift
from .losses import Terms
from .objective import EPS, Objective, Point, dot
from .penalties import Separable
from .repair import balance, clear_rays
from .tangent import Tangent

UNATTAINED = (
    "the unpenalised columns fit the data perfectly (separable classes), so the loss falls for "
    "ever as the coefficients grow and no minimiser exists"
)
_NEGLIGIBLE = 1e-7  # share of the scale below which a penalty may as well be left out
Kind = Literal["global", "relaxation", "stationary"]
_MEANING = {
    "global": "no model has an objective below dual",
    "relaxation": "no model has an objective below dual, which need not be attained",
    "stationary": (
        "the convex problem that lies above the objective and touches it at the model is nowhere "
        "below dual: the model is stationary up to gap, but other minima may be lower"
    ),
}


class Dual(NamedTuple):
    """Multipliers θ, one per sample, the slope Xᵀ(mass∘θ) they give, and the bound they prove."""

    theta: Array
    slope: Array
    value: float = np.inf  # an upper bound of the dual objective; inf: not known yet
    exact: BoolArray | None = None  # columns whose slope is more than a stand-in; None: all

    def serves(self, w: Array) -> bool:
        """Whether the slopes that a model w needs are exact."""
        return self.exact is None or not (w != 0)[~self.exact].any()


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof of quality: the objective at the model lies within `gap` of the optimum.

    Where the loss or the penalty is not convex (kind "stationary") it lies within `gap` of the
    least value of the convex tangent problem at the model, and `dual` bounds that value, not the
    optimum.

    Attributes
    ----------
    primal, dual, gap : float
        P(model), a lower bound of the optimum, and their distance.
    relative : float
        gap divided by P(null) − mean infimum of the loss; this is what ``tol`` refers to.
    kind : {"global", "relaxation", "stationary"}
        What was proved: "global", a duality gap; "relaxation", a lower bound that need not close
        (for problems with discrete unknowns); "stationary", that no direction leads downhill.
        `meaning` says it in a sentence.
    objective : str
        The objective, in words.
    rounding : float
        Estimate of the rounding error of the gap itself.
    iterations, passes, seconds : int, float, float
        What the fit took.
    infeasibility : str
        Why there is no finite bound, where there is none.
    dual_point : ndarray
        The multipliers θ behind `dual`.
    by_sample, by_feature : ndarray or None
        The terms the gap is a sum of; filled by `minimand.certify`.
    """

    primal: float
    dual: float
    gap: float
    relative: float
    kind: Kind = "global"
    objective: str = ""
    rounding: float = 0.0
    iterations: int = 0
    passes: float = 0.0
    seconds: float = 0.0
    infeasibility: str = ""
    dual_point: Array | None = field(default=None, repr=False)
    by_sample: Array | None = field(default=None, repr=False)
    by_feature: Array | None = field(default=None, repr=False)

    @property
    def meaning(self) -> str:
        """What the gap proves, in words."""
        return _MEANING[self.kind]

    def __repr__(self) -> str:
        return (
            f"Certificate(primal={self.primal:.10g}, dual={self.dual:.10g}, gap={self.gap:.3g}, "
            f"relative={self.relative:.1e}, kind={self.kind!r}"
            + (f", infeasibility={self.infeasibility!r})" if self.infeasibility else ")")
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Finding:
    """What the referee found at a point."""

    point: Point
    primal: float
    gap: float
    dual: Dual
    slope: Array  # Xᵀ(mass∘gradient) at point.z with the best intercept
    infeasibility: str = ""
    kind: Kind = "global"

    def sizes(self, objective: Objective) -> tuple[float, float]:
        """√mean gradient² and mean(|value| + |gradient·z|) + Ω: what the rounding of P is of."""
        raise NotImplementedError(f"{type(self).__name__} must define sizes(objective)")

    def reaches(self, objective: Objective, target: float) -> bool:
        """Whether the gap is below the target, or is nothing but rounding."""
        if self.gap <= target:
            return True
        rounding = self.rounding(objective)
        # Rounding that drowns a problem which is not nothing itself is no excuse.
        excused = rounding <= 1e-3 * objective.scale or objective.constant_target
        return bool(np.isfinite(rounding)) and self.gap <= rounding and excused

    def rounding(self, objective: Objective) -> float:
        """Rounding error of the gap: of z = X w + b first, then of the terms it is made of.

        Σ|xᵢⱼwⱼ| is bounded by Cauchy-Schwarz: the root mean square of a column times |wⱼ|.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._rounding(objective)

    def _rounding(self, objective: Objective) -> float:
        w, b, _ = self.point
        slope, terms = self.sizes(objective)
        reach = dot(objective.root_spread, np.abs(w)) + abs(b)
        if objective.offset is not None:
            reach += float(np.max(np.abs(objective.offset)))
        size = slope * reach + terms
        return 4 * EPS * size if np.isfinite(size) else np.inf

    def _lower_bound(self, objective: Objective) -> float:
        """P − gap; where that is the difference of huge numbers, the least conceivable loss."""
        if not np.isfinite(self.gap):
            return -np.inf
        bound = self.primal - self.gap
        if abs(bound) < 1e-12 * abs(self.primal):  # nothing but the rounding of P is left
            return objective.infimum
        return bound

    def certificate(
        self, objective: Objective, iterations: int = 0, seconds: float = 0.0
    ) -> Certificate:
        """The same as a Certificate, with what the fit took."""
        scale = objective.scale
        relative = 0.0 if self.gap == 0 else (self.gap / scale if scale > 0 else np.inf)
        if objective.constant_target and self.reaches(objective, 0.0):
            relative = 0.0  # the null model is perfect: gap and scale are rounding, both
        return Certificate(
            primal=self.primal,
            dual=self._lower_bound(objective),
            gap=self.gap,
            relative=relative,
            kind=self.kind,
            objective=objective.words,
            rounding=self.rounding(objective),
            iterations=iterations,
            passes=objective.meter.passes,
            seconds=seconds,
            infeasibility=self.infeasibility,
            dual_point=self.dual.theta,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement(Finding):
    """The same, with what a solver needs to go on from there."""

    terms: Terms  # of the loss, at point.z
    by_sample: Array
    by_feature: Array
    promise: float  # the gap, or what it may become once unpenalised columns have been repaired

    def beats(self, other: Judgement) -> bool:
        """Whether to keep this point; without a bound of the optimum the objective alone counts."""
        if self.kind == "stationary":
            return self.primal <= other.primal
        return (self.gap, self.primal) <= (other.gap, other.primal)

    def sizes(self, objective: Objective) -> tuple[float, float]:
        """From the terms of the loss."""
        value, gradient, _ = self.terms
        slope = np.sqrt(dot(objective.mass * gradient, gradient))
        terms = objective.mean(np.abs(value) + np.abs(gradient * self.point.z))
        return slope, terms + objective.penalty.value(self.point.w)


class _Terms(NamedTuple):
    """The gap for one dual point, in parts."""

    gap: float
    by_sample: Array
    by_feature: Array
    dual: Dual
    infeasibility: str
    promise: float = np.inf  # of a gap that is infinite


def judge(
    objective: Objective,
    point: Point,
    duals: Iterable[Array] = (),
    known: Iterable[Dual] = (),
    *,
    raw: bool = True,
    thorough: bool = False,
) -> Judgement:
    """The smallest gap at ``point`` over several dual points.

    If the problem is not convex, the gap is that of its convex tangent at the point.

    Parameters
    ----------
    duals : multipliers θ proposed by a solver; they are moved into the dual's domain first.
    known : dual points that were judged before, whose slope needs no pass over the data.
    raw : whether the gradient of the loss at the point is a candidate too; it is the first
        column of the pass, and a solver needs its slope to go on. Without it, and without
        ``duals``, there is no pass at all.
    thorough : repair dual points for unpenalised columns even if the gap is large anyway, and
        try leaving out constraints that do not matter at the point.
    """
    if not objective.convex:
        tangent = Tangent.at(objective, point)
        duals = [tangent.dual_inside(dual) for dual in (*duals, *(dual.theta for dual in known))]
        inside = tangent.inside(point)
        return lifted(judge(tangent.problem, inside, duals, raw=raw, thorough=thorough), tangent)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _judge(objective, point, duals, known, raw, thorough)


def lifted(judgement: Judgement, tangent: Tangent) -> Judgement:
    """A judgement of a tangent problem, as one of the problem it lies above."""
    point = tangent.outside(judgement.point)
    whole, unit = tangent.whole, tangent.unit
    primal, gap = whole.primal(point), unit * judgement.gap
    theta, slope = tangent.dual_outside(judgement.dual.theta), unit * judgement.dual.slope
    return replace(
        judgement,
        point=point,
        primal=primal,
        gap=gap,
        dual=Dual(theta, tangent.spread(slope), primal - gap),
        terms=judgement.terms if whole.loss.convex else whole.loss.terms(point.z, whole.y),
        slope=tangent.spread(unit * judgement.slope),
        by_sample=unit * judgement.by_sample,
        by_feature=tangent.spread(unit * judgement.by_feature),
        promise=unit * judgement.promise,
        kind="stationary",
    )


def _judge(
    objective: Objective,
    point: Point,
    duals: Iterable[Array],
    known: Iterable[Dual],
    raw: bool,
    thorough: bool,
) -> Judgement:
    y = objective.y
    terms = objective.loss.terms(point.z, y)
    gradient = terms.gradient
    stationary = True
    if objective.intercept and _unbalanced(objective, gradient):
        shift = best_shift(objective, point.z)
        balanced = balanced_gradient(objective, point.z + shift)
        if balanced is None:
            gradient = objective.loss.gradient(point.z + shift, y) if shift else gradient
            balanced = balance(objective, gradient)
        gradient, stationary = balanced, False
    proposed = [_admissible(objective, theta) for theta in duals]
    known = [old for old in known if old.serves(point.w)]
    thetas = [gradient, *proposed] if raw or not (proposed or known) else proposed
    stationary = stationary and bool(thetas) and thetas[0] is gradient
    slopes = objective.slopes(point.w, thetas) if thetas else []
    fresh = [Dual(theta, slope, exact=exact) for theta, (slope, exact) in zip(thetas, slopes)]
    primal = objective.mean(terms.value) + objective.penalty.value(point.w)
    found = [
        _measure(objective, point, dual, raw=stationary and i == 0) for i, dual in enumerate(fresh)
    ]
    least = min((f.gap for f in found), default=np.inf)
    if objective.has_rays and not objective.loss.smooth:
        least = np.inf  # before its repair the gap of a gradient at kinks says nothing
    # An older dual point is measured only if the bound it proved could still win.
    promising = [old for old in known if not (found and primal - old.value >= least)]
    found += [_measure(objective, point, old) for old in promising]
    # θ = 0 is always feasible: nothing is further from the optimum than P − mean infimum.
    if not min(f.gap for f in found) <= objective.scale:
        found.append(_nothing(objective, point, terms))
    best = min(found, key=lambda f: f.gap)
    if objective.has_rays and np.isfinite(primal):
        best = _with_rays(objective, point, terms, found, thorough)
    if thorough and np.isfinite(primal):
        best = min([best, *_without_constraints(objective, point, terms, found)], key=_gap)
        best = min([best, *_without_penalty(objective, point, terms, fresh, best.gap)], key=_gap)
    gap = best.gap if np.isfinite(primal) else np.inf
    return Judgement(
        point=point,
        primal=primal,
        gap=gap,
        dual=best.dual._replace(value=primal - gap + slack(primal)),
        terms=terms,
        slope=(fresh or known)[0].slope,
        by_sample=best.by_sample,
        by_feature=best.by_feature,
        promise=min(gap, best.promise),
        infeasibility="" if np.isfinite(gap) else best.infeasibility or "the objective is infinite",
    )


def _unbalanced(objective: Objective, gradient: Array) -> bool:
    """Whether Σ mass·gradient is more than rounding: then the intercept is not the best one."""
    return not is_balanced(objective.mean(gradient), objective.mean(np.abs(gradient)))


def is_balanced(mean: float, size: float) -> bool:
    """Whether the mean of some numbers, of that mean size, is zero but for rounding."""
    return abs(mean) <= 16 * EPS * size


def _admissible(objective: Objective, theta: Array) -> Array:
    """θ moved into the domain of ℓ*, with Σ mass·θ = 0 if the intercept is free."""
    theta = objective.loss.into_domain(theta, objective.y)
    return balance(objective, theta) if objective.intercept else theta


def slack(primal: float) -> float:
    """Room for rounding when bounds are compared by subtraction."""
    return 1e-12 * abs(primal) if np.isfinite(primal) else 0.0


def _measure(objective: Objective, point: Point, dual: Dual, *, raw: bool = False) -> _Terms:
    """Scale the dual point into the domain of Ω* and add up the Fenchel-Young terms.

    With a small quadratic part, Ω* is finite but huge outside the l1 box; then the same point
    scaled into the box can be much better, so both are measured.
    """
    penalty = objective.penalty
    scales = {penalty.shrink(-dual.slope)}
    form = penalty.separable
    if form is not None and form.mixed:
        scales.add(form.shrink_into_box(-dual.slope))
    options = [_scaled(objective, point, dual, s, raw and s == 1.0) for s in scales]
    return min(options, key=lambda option: option.gap)


def _nothing(objective: Objective, point: Point, terms: Terms) -> _Terms:
    """The gap of θ = 0."""
    by_sample = objective.mass * (terms.value - objective.loss.infimum(objective.y))
    nothing = Dual(np.zeros_like(point.z), np.zeros_like(point.w))
    by_feature = objective.penalty.by_feature(point.w, nothing.slope)
    return _Terms(float(by_sample.sum() + by_feature.sum()), by_sample, by_feature, nothing, "")


def _scaled(objective: Objective, point: Point, dual: Dual, s: float, raw: bool) -> _Terms:
    """The gap of s·θ. With ``raw``, θ is the gradient at z and the samples' terms vanish."""
    if s != 1.0:
        dual = dual._replace(theta=s * dual.theta, slope=s * dual.slope)
    slope = dual.slope
    if objective.has_rays:
        slope = np.where(objective.penalty.unscalable(-slope), 0.0, slope)
    by_feature = objective.penalty.by_feature(point.w, -slope)
    if raw:
        by_sample = np.zeros_like(dual.theta)
    else:
        by_sample = objective.mass * objective.loss.fenchel_young(point.z, dual.theta, objective.y)
    gap = float(by_sample.sum() + by_feature.sum())
    # inf − inf in an overflowing term proves nothing.
    return _Terms(np.inf if np.isnan(gap) else gap, by_sample, by_feature, dual, "")


def _gap(terms: _Terms) -> float:
    return terms.gap


def _without_constraints(
    objective: Objective, point: Point, terms: Terms, found: list[_Terms]
) -> list[_Terms]:
    """The gaps of the problem without constraints that do not matter at the point.

    It has the same primal value and a lower optimum, so its bound holds here as well; far bounds
    and large balls multiply every rounding of the slope by their size, and here they are gone.
    """
    relaxed = objective.penalty.relaxed(point.w)
    if relaxed is None:
        return []
    other = objective.with_penalty(relaxed)
    again = [_measure(other, point, candidate.dual) for candidate in found]
    return [_with_rays(other, point, terms, again, True)] if other.has_rays else again


def _without_penalty(
    objective: Objective, point: Point, terms: Terms, duals: list[Dual], gap: float
) -> list[_Terms]:
    """The gap of the problem without its penalty, plus Ω(w), where that is next to nothing.

    A penalty far smaller than the loss (|r|^20 of large residuals) has a conjugate that turns the
    rounding of the slope into a huge term; its optimum cannot lie below that of the loss alone.
    """
    form, price = objective.penalty.separable, objective.penalty.value(point.w)
    if form is None or form.bounds is not None or not 0 < price <= _NEGLIGIBLE * objective.scale:
        return []
    if gap <= 2 * price or objective.n_features > objective.n_samples:
        return []
    nothing = np.zeros(objective.n_features)
    other = objective.with_penalty(Separable(nothing, nothing))
    found = [_measure(other, point, dual) for dual in duals if dual.exact is None]
    cleared = [_with_rays(other, point, terms, found, True)] if found else []
    return [each._replace(gap=each.gap + price) for each in cleared]


def _pull(objective: Objective, terms: Terms, slope: Array) -> float:
    """About what one step along the worst column with a wrong sign would gain: slope²/2h.

    At w = 0 the other terms of the gap of a cone all vanish, however far the optimum is. A loss
    without curvature is gained in proportion to the slope.
    """
    penalty = objective.penalty
    wrong = penalty.unscalable(-slope) & ~penalty.free
    if not wrong.any():
        return 0.0
    bend = objective.spread[wrong] * float(terms.curvature.max(initial=0.0))
    if not objective.loss.smooth and not bend.any():
        steep = objective.root_spread[wrong] * objective.mean(np.abs(terms.gradient))
        share = np.abs(slope[wrong]) / np.maximum(steep, 1e-300)
        return float(np.max(np.minimum(share, 1.0))) * objective.scale
    return float(np.max(0.5 * slope[wrong] ** 2 / np.maximum(bend, 1e-300)))


def _with_rays(
    objective: Objective, point: Point, terms: Terms, found: list[_Terms], thorough: bool
) -> _Terms:
    """Repair Xᵀu on unpenalised columns, for the dual point that promises the smallest gap.

    Repairing costs passes, so unless asked to be thorough it waits until the rest of the gap is
    small enough for it to matter.
    """
    if not objective.penalty.free.all():
        found = [f._replace(gap=f.gap + _pull(objective, terms, f.dual.slope)) for f in found]
    order = sorted(found, key=_gap)
    above = objective.mean(terms.value - objective.loss.infimum(objective.y))
    near = 1e-3 if thorough else 1e-5
    if not objective.loss.attained(objective.y) and above <= near * objective.scale:
        return order[0]._replace(gap=np.inf, infeasibility=UNATTAINED)
    if above <= EPS * objective.scale:
        perfect = _nothing(objective, point, terms)  # θ = 0 needs no repair
        if perfect.gap <= EPS * objective.scale:
            return perfect
    promising = thorough or order[0].gap <= 1e-3 * objective.scale
    if not promising:
        words = "not near a stationary point yet"
        return order[0]._replace(gap=np.inf, infeasibility=words, promise=order[0].gap)
    reason = ""
    repaired = [] if objective.loss.smooth else [_nothing(objective, point, terms)]
    for candidate in order:
        cleared = clear_rays(
            objective, point.w, candidate.dual.theta, candidate.dual.slope, terms.curvature
        )
        reason = cleared.reason
        if reason:
            continue
        fixed = _measure(objective, point, Dual(cleared.theta, cleared.slope))
        open_columns = objective.penalty.unscalable(-fixed.dual.slope)
        left = np.abs(point.w * fixed.dual.slope)[open_columns].sum()
        if np.isfinite(fixed.gap):
            fixed = fixed._replace(gap=fixed.gap + float(left) + cleared.charge)
            if objective.loss.smooth:
                return fixed
            repaired.append(fixed)  # at a kink the gradient is no better a start than others
        reason = "no dual point satisfies the constraint of the unpenalised columns"
    if repaired:
        return min(repaired, key=_gap)
    return order[0]._replace(gap=np.inf, infeasibility=reason, promise=order[0].gap)
