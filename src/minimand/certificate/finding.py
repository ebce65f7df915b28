"""What the referee hands over: `Certificate` to users, `Finding` and `Judgement` to solvers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from .._base.typing import Array, BoolArray
from ..losses import Terms
from ..penalties import Plane
from ..problem.objective import EPS, Objective, Point

Kind = Literal["global", "relaxation", "stationary"]
_LONG = 100_000  # numbers that are worth freeing: a safeguard, copying the rest takes 10 μs
_MEANING = {
    "global": "no model has an objective below dual",
    "relaxation": "no model has an objective below dual, which need not be attained",
    "stationary": (
        "the convex problem that lies above the objective and touches it at the model is nowhere "
        "below dual: the model is stationary up to gap, but other minima may be lower"
    ),
}


class Dual(NamedTuple):
    """Multipliers θ in the shape of z, the slope Xᵀ(mass∘θ) they give, and the bound they prove.

    Of a design without columns, the slope is mass∘θ itself; ``image`` and ``plane`` say what that
    amounts to.
    """

    theta: Array
    slope: Array
    value: float = np.inf  # an upper bound of the dual objective; inf: not known yet
    exact: BoolArray | None = None  # columns whose slope is more than a stand-in; None: all
    image: Array | None = None  # of a design without columns: K(mass∘θ)
    plane: Plane | None = None  # and where −Xᵀ(mass∘θ) is, seen from some w

    def scaled(self, s: float) -> Dual:
        """S times the multipliers."""
        image = None if self.image is None else s * self.image
        return self._replace(theta=s * self.theta, slope=s * self.slope, image=image)

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
        Estimate of the rounding error of the gap itself. Unpenalised columns that depend on others
        but for their last places are taken to depend on them; what the exact optimum could gain
        from the difference, which no model in working precision can, is part of it.
    iterations, passes, seconds : int, float, float
        What the fit took.
    infeasibility : str
        Why there is no finite bound, where there is none; or why no model attains the infimum that
        the gap is to.
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
        # Rounding that drowns a problem which is not nothing itself is no excuse.
        most = np.inf if objective.constant_target else 1e-3 * objective.scale
        if not self.gap <= most:
            return False  # whatever the rounding is, which takes sums over all rows
        rounding = self.rounding(objective)
        return math.isfinite(rounding) and self.gap <= rounding <= most

    def remark(self, objective: Objective) -> str:
        """Why no model attains the infimum that the gap is to, in words; mostly empty."""
        return ""

    def hidden(self, objective: Objective) -> float:
        """What the exact optimum may gain from columns that differ in their last places only."""
        return 0.0

    def rounding(self, objective: Objective) -> float:
        """Rounding error of the gap: of z = X w + b first, then of the terms it is made of.

        The size of z is that of its parts, which may cancel.
        """
        slope, terms = self.sizes(objective)
        reach = objective.reach(self.point)
        if objective.offset is not None:
            reach += float(np.max(np.abs(objective.offset)))
        size = slope * reach + terms
        hidden = objective.hidden_rounding(self.point.z)
        return 4 * EPS * size + 2 * hidden if math.isfinite(size) else np.inf

    def _lower_bound(self, objective: Objective) -> float:
        """P − gap; where that is the difference of huge numbers, the least conceivable loss."""
        if not math.isfinite(self.gap):
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
            rounding=self.rounding(objective) + self.hidden(objective),
            iterations=iterations,
            passes=objective.meter.passes,
            seconds=seconds,
            infeasibility=self.infeasibility or self.remark(objective),
            dual_point=self.dual.theta,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement(Finding):
    """The same, with what a solver needs to go on from there."""

    terms: Terms  # of the loss, at point.z
    samples: Callable[[], Array]  # makes `by_sample`, which most have no use for
    by_feature: Any  # in the shape of w or by group; None where the penalty does not say
    promise: float  # the gap, or what it may become once unpenalised columns have been repaired

    def beats(self, other: Judgement) -> bool:
        """Whether to keep this point; without a bound of the optimum the objective alone counts."""
        if self.kind == "stationary":
            return self.primal <= other.primal
        return (self.gap, self.primal) <= (other.gap, other.primal)

    def remark(self, objective: Objective) -> str:
        """From the samples that cost next to nothing."""
        from .recession import falls_for_ever

        if self.kind != "global" or not math.isfinite(self.gap):
            return ""
        return falls_for_ever(objective, self.point, self.terms, self.gap)

    def hidden(self, objective: Objective) -> float:
        """From a second repair, which clears these directions too."""
        from .measure import hidden_gain  # which needs this file

        if self.kind != "global" or not math.isfinite(self.gap):
            return 0.0
        return hidden_gain(objective, self.point, self.terms, self.dual, self.gap)

    @property
    def by_sample(self) -> Array:
        """The terms of the gap, one for each unit of the loss."""
        return self.samples()

    @property
    def summary(self) -> Judgement:
        """The same without scores and terms where these are long, as long as the data; θ stays."""
        if self.point.z.size < _LONG:
            return self
        nothing = np.empty(0)
        point = self.point._replace(z=nothing)
        terms = Terms(nothing, nothing, nothing)
        return replace(self, point=point, terms=terms, samples=lambda: nothing)

    def sizes(self, objective: Objective) -> tuple[float, float]:
        """From the terms of the loss; its rounding goes with z and y, unless it is a square."""
        value, gradient, _ = self.terms
        z, y = self.point.z, objective.y
        with np.errstate(over="ignore", invalid="ignore"):
            slope = math.sqrt(objective.row_total_of(np.square, gradient))
            # Classes have no size: only a y that is compared with z has one.
            share = 0.0 if objective.loss.quadratic or y.shape != z.shape else 1.0
            steep = objective.row_total_of(
                lambda theta, z, *y: abs(theta) * (abs(z) + share * abs(y[0]) if y else abs(z)),
                gradient,
                z,
                *((y,) if share else ()),
            )
            terms = objective.mean(np.abs(value)) + steep
            return slope, terms + objective.price(self.point)
