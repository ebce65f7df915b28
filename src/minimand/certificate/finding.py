"""The results of the referee: `Certificate` for users, `Finding` and `Judgement` for solvers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from .._base.typing import Array, BoolArray
from ..losses import Terms
from ..penalties import Plane
from ..problem.objective import EPS, Objective, Point

Kind = Literal["global", "relaxation", "stationary"]
_LONG = 100_000  # numbers in an array worth freeing; safeguard: copying the rest takes 10 μs
_MEANING = {
    "global": "no model has an objective below dual",
    "relaxation": "no model has an objective below dual, which need not be attained",
    "stationary": (
        "the convex problem that lies above the objective and touches it at the model is nowhere "
        "below dual: the model is stationary up to gap, but other minima may be lower"
    ),
}


class Dual(NamedTuple):
    """Multipliers θ in the shape of z, their slope Xᵀ(mass∘θ), and the bound they prove.

    For a design without columns the slope is mass∘θ itself; ``image`` and ``plane`` hold the
    products that a penalty needs instead.
    """

    theta: Array
    slope: Array
    value: float = np.inf  # an upper bound of the dual objective; inf: not known yet
    exact: BoolArray | None = None  # columns whose slope is exact, not a last known one; None: all
    image: Array | None = None  # for a design without columns: K(mass∘θ)
    plane: Plane | None = None  # and the position of −Xᵀ(mass∘θ) relative to some w

    def scaled(self, s: float) -> Dual:
        """s times the multipliers."""
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
        Estimate of the rounding error of the gap itself. Unpenalised columns that differ from a
        combination of others in their last places only are treated as dependent; what the exact
        optimum could gain from that difference, and no model in working precision can, is included.
    iterations, passes, seconds : int, float, float
        The costs of the fit.
    infeasibility : str
        Why there is no finite bound, if there is none; or why no model attains the infimum to
        which the gap is measured.
    dual_point : ndarray
        The multipliers θ behind `dual`.
    by_sample, by_feature : ndarray or None
        The terms whose sum is the gap; filled by `minimand.certify`.
    by_score : ndarray or None
        The same by class, pair of classes or output, if each is a problem of its own. If classes
        are one problem, `minimand.certify` adds up the terms of the samples of a class and of its
        coefficients, where the penalty has a term for each of them.
    certain : bool
        False if `dual` rests on random vectors, which are misleading in one case of 10¹⁶; otherwise
        nothing but rounding is uncertain.
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
    # No class attribute as default: a missing one is computed by `__getattr__`.
    dual_point: Array | None = field(default_factory=lambda: None, repr=False)
    by_sample: Array | None = field(default=None, repr=False)
    by_feature: Array | None = field(default=None, repr=False)
    by_score: Array | None = field(default=None, repr=False)
    certain: bool = True

    @property
    def meaning(self) -> str:
        """What the gap proves, in words."""
        return _MEANING[self.kind]

    def awaiting(self, multipliers: Callable[[], Array]) -> Certificate:
        """The certificate itself, whose ``dual_point`` is computed when it is first asked for."""
        self.__dict__.pop("dual_point", None)
        self.__dict__["_later"] = multipliers
        return self

    def __getstate__(self) -> dict[str, Any]:
        """All numbers, so that nothing is left to compute from data that are not stored."""
        _ = self.dual_point
        return dict(self.__dict__)

    if not TYPE_CHECKING:  # which would take any name then

        def __getattr__(self, name: str) -> Any:
            """The dual point, if it has not been computed yet."""
            if name != "dual_point" or "_later" not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.__dict__["dual_point"] = found = self.__dict__["_later"]()
            del self.__dict__["_later"]
            return found

    def __repr__(self) -> str:
        return (
            f"Certificate(primal={self.primal:.10g}, dual={self.dual:.10g}, gap={self.gap:.3g}, "
            f"relative={self.relative:.1e}, kind={self.kind!r}"
            + (f", infeasibility={self.infeasibility!r}" if self.infeasibility else "")
            + (")" if self.certain else ", certain=False)")
        )


class Course(NamedTuple):
    """Points before a finding, from the starting point on, which one compiled call has visited.

    ``models`` are their (w, b) in rows, recorded only if somebody watches the fit.
    """

    primal: list[float]
    passes: list[float]
    models: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Finding:
    """The referee's result at a point."""

    point: Point
    primal: float
    gap: float
    dual: Dual
    slope: Array  # Xᵀ(mass∘gradient) at point.z with the best intercept
    infeasibility: str = ""
    kind: Kind = "global"
    fresh: bool = False  # whether it was computed from the coefficients alone
    course: Course | None = None

    @property
    def mean_loss(self) -> float | None:
        """The mean loss at the point, if it is known without another sum over the samples."""
        return None

    @property
    def summary(self) -> Self:
        """The finding without long arrays that another judgement can compute again."""
        return self

    def beats(self, other: Finding) -> bool:
        """Whether this point is the better one; without a finite bound, by the objective alone."""
        if self.kind == "stationary":
            return self.primal <= other.primal
        return (self.gap, self.primal) <= (other.gap, other.primal)

    def sizes(self, objective: Objective) -> tuple[float, float]:
        """√mean gradient² and mean(|value| + |gradient·z|) + Ω, which set the rounding of P."""
        raise NotImplementedError(f"{type(self).__name__} must define sizes(objective)")

    def reaches(self, objective: Objective, target: float) -> bool:
        """Whether the gap is below the target, or is only rounding."""
        if self.gap <= target:
            return True
        # Rounding that exceeds 1e-3 of the scale (safeguard) does not excuse a gap.
        most = np.inf if objective.constant_target else 1e-3 * objective.scale
        if not self.gap <= most:
            return False  # without the rounding, whose estimate takes sums over all rows
        rounding = self.rounding(objective)
        return math.isfinite(rounding) and self.gap <= rounding <= most

    def remark(self, objective: Objective) -> str:
        """Why no model attains the infimum to which the gap is measured; usually empty."""
        return ""

    def hidden(self, objective: Objective) -> float:
        """What the exact optimum may gain from columns that differ in their last places only."""
        return 0.0

    def rounding(self, objective: Objective) -> float:
        """Rounding error of the gap: that of z = X w + b, and that of the terms of the gap.

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
        """P − gap; where the two cancel, the mean infimum of the loss."""
        if not math.isfinite(self.gap):
            return -np.inf
        bound = self.primal - self.gap
        if abs(bound) < 1e-12 * abs(self.primal):  # only the rounding of P is left
            return objective.infimum
        return bound

    def certificate(
        self, objective: Objective, iterations: int = 0, seconds: float = 0.0
    ) -> Certificate:
        """The result as a Certificate, with the costs of the fit."""
        relative = relative_gap(self.gap, objective.scale)
        if objective.constant_target and self.reaches(objective, 0.0):
            relative = 0.0  # the null model is perfect: gap and scale are both rounding
        rounding, remark = self.rounding(objective), self.infeasibility
        if objective.has_free_columns:
            rounding += self.hidden(objective)
            remark = remark or self.remark(objective)
        return Certificate(
            primal=self.primal,
            dual=self._lower_bound(objective),
            gap=self.gap,
            relative=relative,
            kind=self.kind,
            objective=objective.words,
            rounding=rounding,
            iterations=iterations,
            passes=objective.meter.passes,
            seconds=seconds,
            infeasibility=remark,
            dual_point=self.dual.theta,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgement(Finding):
    """A finding with what a solver needs to go on."""

    terms: Terms  # of the loss, at point.z
    samples: Callable[[], Array]  # computes `by_sample`, which is rarely needed
    by_feature: Any  # in the shape of w or per group; None if the penalty has no breakdown
    promise: float  # the gap, or what it may become after unpenalised columns are repaired

    def remark(self, objective: Objective) -> str:
        """From the samples with almost no loss."""
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
        """The terms of the gap, one per unit of the loss."""
        return self.samples()

    @property
    def summary(self) -> Self:
        """The judgement without scores and terms if these are long; θ is kept."""
        if self.point.z.size < _LONG:
            return self
        nothing = np.empty(0)
        point = self.point._replace(z=nothing)
        terms = Terms(nothing, nothing, nothing)
        return replace(self, point=point, terms=terms, samples=lambda: nothing, fresh=False)

    def sizes(self, objective: Objective) -> tuple[float, float]:
        """From the terms of the loss; its rounding grows with z and y, unless it is a square."""
        value, gradient, _ = self.terms
        z, y = self.point.z, objective.y
        with np.errstate(over="ignore", invalid="ignore"):
            slope = math.sqrt(objective.row_total_of(np.square, gradient))
            # Class labels have no size: y counts only if it is compared with z.
            share = 0.0 if objective.loss.quadratic or y.shape != z.shape else 1.0
            steep = objective.row_total_of(
                lambda theta, z, *y: abs(theta) * (abs(z) + share * abs(y[0]) if y else abs(z)),
                gradient,
                z,
                *((y,) if share else ()),
            )
            terms = objective.mean(np.abs(value)) + steep
            return slope, terms + objective.price(self.point)


def relative_gap(gap: float, scale: float) -> float:
    """gap/scale; where the scale is zero, 0 for a gap of 0 and infinite for any other."""
    return 0.0 if gap == 0 else (gap / scale if scale > 0 else np.inf)


def bounded(
    primal: float, bound: float, scale: float, rounding: float = 0.0, **fields: Any
) -> Certificate:
    """The certificate of an objective value and a lower bound of the optimum."""
    gap = max(primal - bound, 0.0)
    closed = not scale > 0 and gap <= rounding  # there is nothing but rounding
    return Certificate(
        primal=primal,
        dual=min(bound, primal),
        gap=gap,
        relative=0.0 if closed else relative_gap(gap, scale),
        rounding=rounding,
        **fields,
    )


def is_balanced(mean: Any, size: Any) -> bool:
    """Whether means of numbers of these mean sizes are zero up to rounding (16 ulp, safeguard)."""
    balanced = abs(mean) <= 16 * EPS * size
    return bool(balanced if isinstance(mean, float) else balanced.all())


def slack(primal: float) -> float:
    """Allowance for rounding when bounds are compared by subtraction; safeguard."""
    return 1e-12 * abs(primal) if math.isfinite(primal) else 0.0
