"""The Huber loss and its scale together: min over w, b and σ ≥ 0 of

    F = σ + Σ massᵢ·σ·H(rᵢ/σ) + Ω(w),   r = z − y,   H(t) = t² for |t| ≤ ε, 2ε|t| − ε² beyond.

H is twice the Huber loss: with σ fixed, F = σ + (2/σ)·P_σ, where P_σ is the mean of Huber(εσ) plus
½σΩ. F is convex in all three together, since σ·H(r/σ) is the maximum over |θ| ≤ 2ε of the linear
functions θr − σθ²/4. So for every such θ, with u = mass∘θ,

    F ≥ σ·(1 − ¼ mean θ²) − mean θy − Ω*(−Xᵀu),

a bound for all σ ≥ 0 at once if mean θ² ≤ 4. In terms of φ = ½σθ, a dual point of P_σ, the gap is

    F − bound = (2/σ)·gap_σ(φ) + σ·(1 − mean φ²/σ²),

two terms ≥ 0; the first is what the referee finds for P_σ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array
from ..._core import huber_scale
from ...certificate import Certificate, Dual, Judgement, judge, relative_gap
from ...losses import Huber
from ...penalties import Separable
from ...penalties.base import number
from ...problem.objective import EPS, Objective, Point

_ROOM = 1e-14  # share of σ² by which rounding may carry mean φ² beyond it; safeguard
_TRIES = 4  # times that multipliers are shrunk, as a repair may stretch them; safeguard
LEAST_SCALE = 10 * EPS  # least σ as a share of the null model's objective, or of 1; safeguard


class Joint(NamedTuple):
    """The referee's result for w, b and σ together; ``theta`` is feasible for every σ."""

    sigma: float
    judgement: Judgement  # with σ fixed
    primal: float
    gap: float
    theta: Array
    unused: float  # the share of σ in the gap
    rounding: float

    def reaches(self, target: float, scale: float) -> bool:
        """Whether the gap is below the target, or only rounding; σ itself is never 0."""
        if scale == 0:
            return self.gap <= self.rounding + LEAST_SCALE
        # 1e-3: share of the scale above which rounding does not excuse a gap; safeguard.
        return self.gap <= max(target, self.rounding if self.rounding <= 1e-3 * scale else 0.0)


@dataclass(frozen=True, eq=False)
class Scaled:
    """P_σ for one σ; `at` gives it for another."""

    objective: Objective
    sigma: float

    @property
    def epsilon(self) -> float:
        """ε, where H becomes linear."""
        assert isinstance(self.objective.loss, Huber)
        return float(self.objective.loss.delta) / self.sigma

    def at(self, sigma: float) -> Scaled:
        """The same problem with another σ; facts about X are shared."""
        old, form = self.objective, self.objective.penalty.sum_over_features
        assert form is not None
        penalty = Separable(form.l1, sigma / self.sigma * form.l2)
        cached = {"constant_target": old.constant_target}
        loss = Huber(self.epsilon * sigma)
        return Scaled(old.altered(cached, loss=loss, penalty=penalty, known=old.facts), sigma)

    def value(self, point: Point) -> float:
        """F."""
        return self.sigma + 2.0 / self.sigma * self.objective.primal(point)

    def best(self, point: Point) -> float:
        """The σ that minimises F at a point."""
        return best_scale(point.z - self.objective.y, self.objective.mass, self.epsilon)[0]

    def excess(self, point: Point) -> float:
        """Mean min(r²/σ², ε²): above 1 where a larger σ would be better, by the slope of F."""
        t = np.minimum(np.abs(point.z - self.objective.y) / self.sigma, self.epsilon)
        return self.objective.mean(t * t)

    def judged(self, point: Point, thetas: Iterable[Array] = (), enough: float = -np.inf) -> Joint:
        """The smallest gap of (point, σ), by the slopes at the point and by other multipliers.

        A gap of at most ``enough`` ends the comparison, since further bounds cost passes.
        """
        thetas = list(thetas)
        for theta in thetas if enough >= 0 else []:
            quick = self._joint(self._with(point, 0.5 * self.sigma * theta, thorough=False))
            if quick.gap <= enough:
                return quick
        found = [judge(self.objective, point, thorough=True)]
        found += [self._with(point, 0.5 * self.sigma * theta) for theta in thetas]
        return min((self._joint(each) for each in found), key=lambda joint: joint.gap)

    def _with(self, point: Point, phi: Array, thorough: bool = True) -> Judgement:
        return judge(self.objective, point, [phi], raw=False, thorough=thorough)

    def _without(self, found: Judgement) -> Judgement:
        """The judgement by φ = 0."""
        objective, w, value = self.objective, found.point.w, found.terms.value
        nothing = np.zeros_like(w)
        return replace(
            found,
            gap=found.primal,
            dual=Dual(np.zeros_like(found.point.z), nothing),
            samples=lambda: objective.mass * value,
            by_feature=objective.penalty.by_feature(w, nothing),
            infeasibility="",
        )

    def _joint(self, found: Judgement) -> Joint:
        """Shrink the multipliers to mean φ² ≤ σ²; if that fails use φ = 0, whose bound is 0."""
        for _ in range(_TRIES):
            share = self.objective.mean((found.dual.theta / self.sigma) ** 2)
            if share <= 1.0 + _ROOM:
                break
            found = self._with(found.point, (1.0 - EPS) / np.sqrt(share) * found.dual.theta)
        if not share <= 1.0 + _ROOM or not found.gap <= found.primal:
            share, found = 0.0, self._without(found)
        unused = self.sigma * max(1.0 - share, 0.0)
        gap = 2.0 / self.sigma * found.gap + unused
        return Joint(
            sigma=self.sigma,
            judgement=found,
            primal=self.sigma + 2.0 / self.sigma * found.primal,
            gap=gap,
            theta=2.0 / self.sigma * found.dual.theta,
            unused=unused,
            rounding=2.0 / self.sigma * found.rounding(self.objective) + 4 * EPS * self.sigma,
        )

    def audited(self, joint: Joint, scale: float) -> Certificate:
        """The certificate with its terms; the share of σ is spread over all samples."""
        terms = 2.0 / self.sigma * joint.judgement.by_sample + joint.unused * self.objective.mass
        by_feature = 2.0 / self.sigma * joint.judgement.by_feature
        return replace(self.certificate(joint, scale), by_sample=terms, by_feature=by_feature)

    def certificate(
        self, joint: Joint, scale: float, iterations: int = 0, seconds: float = 0.0
    ) -> Certificate:
        """The gap in w, b and σ, with the formula of the joint problem."""
        relative = relative_gap(joint.gap, scale)
        if scale == 0 and joint.reaches(0.0, scale):
            relative = 0.0  # the null model is perfect, so there is no scale to compare with
        return Certificate(
            primal=joint.primal,
            dual=joint.primal - joint.gap,
            gap=joint.gap,
            relative=relative,
            objective=self._words,
            rounding=joint.rounding + 2.0 / self.sigma * joint.judgement.hidden(self.objective),
            iterations=iterations,
            passes=self.objective.meter.passes,
            seconds=seconds,
            infeasibility=joint.judgement.infeasibility,
            dual_point=joint.theta,
        )

    @property
    def _words(self) -> str:
        form = self.objective.penalty.sum_over_features
        assert form is not None
        factor = number(float(2.0 / self.sigma * form.l2.max(initial=0.0)))
        score = self.objective.words.rpartition("z = ")[2]
        loss = f"σ + mean 2σ·huber((z − y)/σ; delta={self.epsilon:.6g})"
        return f"{loss} + {factor}½‖w‖², z = {score}, σ ≥ 0"


def best_scale(r: Array, mass: Array, epsilon: float) -> tuple[float, float]:
    """The best σ for these residuals, with mean min(r², (εσ)²) = σ², and F without Ω there.

    σ is 0 if most residuals vanish, or if one is not finite.
    """
    return huber_scale(r, mass, epsilon)
