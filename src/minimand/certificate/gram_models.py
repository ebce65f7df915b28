r"""The referee for models of the squared loss from sums over the rows, without a pass over them.

With C = cov(x), c = cov(x, t), v = var(t) and t = y − offset (mean products without an intercept),
the residuals r of a model w with its best intercept have

    mean r² = wᵀC w − 2cᵀw + v,   slopes g = C w − c,

and the gap of `least_squares` needs nothing else. The sums are rounded. An inner product of n
numbers is off by at most γ‖a‖‖b‖, γ = n·ulp/2, in whatever order it is added up. With
eⱼ = √γ·‖xⱼ‖ and E = eₜ + Σ|wⱼ|eⱼ the slopes are therefore off by at most eⱼE, and mean r² by at
most E². A column that was taken for constant may still vary by dⱼ: that adds dⱼA + ρⱼD to the
first and 2AD to the second, where D = Σ|wⱼ|dⱼ, ρ holds the standard deviations and
A = ρₜ + Σ|wⱼ|ρⱼ.

Slopes are enlarged by what they may be off before the dual point is scaled into its domain. Then
the gap gets 3(E² + 2AD): at most two thirds for Σ|wⱼ|·2·(what slope j is off), the rest for
mean r² in P and for rounding here. An intercept that is off by β from the best one adds ½β².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .. import _core
from .._base.threads import one_blas_thread
from .._base.typing import Array
from ..problem.condensed import Sums
from ..problem.objective import EPS, Objective
from ..problem.point import LatePoint, Later
from .finding import Certificate, Dual, Finding
from .referee import slack

_CHANGED = 1e-6  # share of mean r² by which the data must have been changed; safeguard


@dataclass(frozen=True, eq=False, kw_only=True)
class GramFinding(Finding):
    """The referee's result for a model of the squared loss; no array has a number per row."""

    square: float  # mean r²
    charge: float  # what the rounding of the sums may be, which the gap includes
    multipliers: Later  # θ

    @property
    def mean_loss(self) -> float:
        """Half the mean square."""
        return 0.5 * self.square

    def rounding(self, objective: Objective) -> float:
        """As for other findings, with mean |r·z| ≤ √(mean r²)·(size of z), and the charge."""
        reach = objective.reach(self.point)
        if objective.offset is not None:
            reach += float(np.max(np.abs(objective.offset)))
        return 4 * EPS * (2.0 * sqrt(self.square) * reach + self.primal) + self.charge

    def certificate(
        self, objective: Objective, iterations: int = 0, seconds: float = 0.0
    ) -> Certificate:
        """The result as a Certificate, whose dual point is computed when it is asked for."""
        return super().certificate(objective, iterations, seconds).awaiting(self.multipliers)


class GramModels:
    """Models of one data set under the squared loss, judged from sums over its rows."""

    def __init__(self, base: Objective, sums: Sums) -> None:
        d, central = base.n_features, sums.central
        mean = sums.centre + sums.first / sums.weight
        self._base = base
        self.gram = np.ascontiguousarray(central[:d, :d])
        self.linear, self.square = -central[:d, d], float(central[d, d])
        self._mean, self._target = mean[:d], float(mean[d])
        self._errors = np.sqrt(sums.noise / sums.weight)  # e, that of t last
        self._hidden = sums.hidden  # the standard deviations that may be left of columns
        spread = np.sqrt(np.maximum(np.diag(central), 0.0))
        self._spread = spread + np.append(self._hidden, 0.0)
        self._ulps = EPS * (base.n_samples + d + 16)  # as in `sums`

    def charges(self, coefs: Array) -> Array:
        """What the rounding of the sums may add to the gap of each model."""
        size = np.abs(coefs)
        total, lost, reach = self._sizes(size)
        charge = 3.0 * (total**2 + 2.0 * reach * lost)
        if self._base.intercept:
            shift = self._ulps * (abs(self._target) + size @ np.abs(self._mean))
            charge += 0.5 * shift**2
        return charge

    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterator[Finding]:
        """The referee's result for each row of coefficients, on its problem."""
        size = np.abs(coefs)
        total, lost, reach = self._sizes(size)
        with one_blas_thread():
            slopes = coefs @ self.gram + self.linear
        squares = np.maximum(self.square + (coefs * (slopes + self.linear)).sum(axis=1), 0.0)
        off = np.multiply.outer(total, self._errors[:-1])
        if self._hidden.any():
            off += np.multiply.outer(reach, self._hidden)
            off += np.multiply.outer(lost, self._spread[:-1])
        wide = slopes + np.copysign(off, slopes)
        most = squares + total**2 + 2.0 * reach * lost
        charges = self.charges(coefs)
        shifts = self._target - coefs @ self._mean if self._base.intercept else np.zeros(len(coefs))
        for i, problem in enumerate(problems):
            form = problem.penalty.sum_over_features
            assert form is not None
            gap, s, price = _core.gap_of_squares(
                float(most[i]), wide[i], coefs[i], form.l1, form.l2
            )
            primal, charge = 0.5 * float(squares[i]) + price, float(charges[i])
            z = self._scores(coefs[i], float(shifts[i]), float(squares[i]), charge)
            yield GramFinding(
                point=LatePoint(coefs[i], float(shifts[i]), z),  # type: ignore[arg-type]
                primal=primal,
                gap=gap + charge,
                dual=Dual(np.empty(0), s * slopes[i], primal - gap - charge + slack(primal)),
                slope=slopes[i],
                square=float(squares[i]),
                charge=charge,
                multipliers=Later(lambda z=z, s=s: s * (z() - self._base.y)),  # type: ignore[misc]
            )

    def _sizes(self, size: Array) -> tuple[Array, Array, Array]:
        """E, D and A of models with these |w|."""
        total = self._errors[-1] + size @ self._errors[:-1]
        reach = self._spread[-1] + size @ self._spread[:-1]
        return total, size @ self._hidden, reach

    def _scores(self, w: Array, b: float, square: float, charge: float) -> Later:
        """The scores of a model on the data, which must be the same then."""
        base = self._base

        def compute() -> Array:
            z = base.scores(w, b)
            found = base.mean(np.square(z - base.y))
            if not abs(found - square) <= _CHANGED * square + 100.0 * charge:  # 100: safeguard
                raise ValueError(
                    "X or y was changed after the models were fitted, so that their scores and "
                    "multipliers can no longer be computed: keep the data as they were."
                )
            return z

        return Later(compute)
