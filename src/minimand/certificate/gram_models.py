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

With several outputs under a norm for every row of W, the same holds of lengths in place of sizes:
‖wⱼ‖ of the rows, and eₜ, ρₜ and β over the outputs. The slopes of row j are off by a vector no
longer than eⱼE, since Σⱼ‖wⱼ‖eⱼ bounds the length of (Σⱼ|wⱼc|eⱼ)c; mean ‖r‖² is off by at most E².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._base.threads import one_blas_thread
from .._base.typing import Array
from ..penalties import Strengths
from ..penalties.partition import divided
from ..problem.condensed import Sums
from ..problem.objective import EPS, Objective
from ..problem.point import LatePoint, Later
from .charges import Charges, charged
from .finding import Certificate, Dual, Finding
from .referee import slack
from .row_models import lengths

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


class Judged(NamedTuple):
    """What the sums tell of models along the first axis; gaps include the charges."""

    slopes: Array
    squares: Array  # mean ‖r‖²
    charges: Array
    gaps: Array
    scales: Array  # of the residuals as dual points
    prices: Array  # Ω(w)
    shifts: Array  # the best intercepts


class GramModels:
    """Models of one data set under the squared loss, judged from sums over its rows.

    The rows may be some of those of ``base``.
    """

    def __init__(self, base: Objective, sums: Sums) -> None:
        d, central = base.n_features, sums.central
        mean = sums.centre + sums.first / sums.weight
        several = (-1,) if base.n_scores == 1 else (-1, base.n_scores)
        self._base = base
        self.gram = np.ascontiguousarray(central[:d, :d])
        self.linear = np.ascontiguousarray(-central[:d, d:]).reshape(several)
        self.square = float(np.trace(central[d:, d:]))
        self._mean, self._target = mean[:d], mean[d:]
        self._errors = _with_targets(np.sqrt(sums.noise / sums.weight), d)  # e
        self._hidden = sums.hidden  # the standard deviations that may be left of columns
        spread = _with_targets(np.sqrt(np.maximum(np.diag(central), 0.0)), d)
        self._spread = spread + np.append(self._hidden, 0.0)
        self._ulps = EPS * (base.n_samples + d + 16)  # as in `sums`

    def charges(self, coefs: Array) -> Array:
        """What the rounding of the sums may add to the gap of each model."""
        return self._charges(_sizes(coefs))

    def judged(self, strengths: Strengths, coefs: Array) -> Judged:
        """All models at once, each under its penalty."""
        size = _sizes(coefs)
        total, lost, reach = self._reaches(size)
        slopes = self._products(coefs) + self.linear
        inner = (coefs * (slopes + self.linear)).reshape(len(coefs), -1).sum(axis=1)
        squares = np.maximum(self.square + inner, 0.0)
        off = np.multiply.outer(total, self._errors[:-1])
        if self._hidden.any():
            off += np.multiply.outer(reach, self._hidden)
            off += np.multiply.outer(lost, self._spread[:-1])
        most, charge = squares + total**2 + 2.0 * reach * lost, self._charges(size)
        found = _gaps(strengths, coefs, _longer(slopes, off), most)
        shifts = np.zeros((len(coefs), *self.linear.shape[1:]))
        if self._base.intercept:
            target = self._target if coefs.ndim == 3 else self._target[0]
            shifts = target - np.tensordot(coefs, self._mean, (1, 0))
        return Judged(slopes, squares, charge, found.gap + charge, found.s, found.price, shifts)

    def findings(self, problems: Sequence[Objective], coefs: Array) -> Iterator[Finding]:
        """The referee's result for each row of coefficients, on its problem."""
        strengths = Strengths.of([problem.penalty for problem in problems])
        assert strengths is not None
        all_models = self.judged(strengths, coefs)
        one = coefs.ndim == 2
        for w, slope, square, charge, gap, s, price, shift in zip(coefs, *all_models):
            primal, b = 0.5 * float(square) + float(price), float(shift) if one else shift
            z = self._scores(w, b, float(square), float(charge))
            yield GramFinding(
                point=LatePoint(w, b, z),  # type: ignore[arg-type]
                primal=primal,
                gap=float(gap),
                dual=Dual(np.empty(0), s * slope, primal - float(gap) + slack(primal)),
                slope=slope,
                square=float(square),
                charge=float(charge),
                multipliers=Later(lambda z=z, s=s: s * (z() - self._base.y)),  # type: ignore[misc]
            )

    def _products(self, coefs: Array) -> Array:
        """C w of every model."""
        with one_blas_thread():
            if coefs.ndim == 2:
                return coefs @ self.gram
            models, d, k = coefs.shape
            beside = np.ascontiguousarray(np.moveaxis(coefs, 0, 1)).reshape(d, models * k)
            found = (self.gram @ beside).reshape(d, models, k)
        return np.ascontiguousarray(np.moveaxis(found, 1, 0))

    def _reaches(self, size: Array) -> tuple[Array, Array, Array]:
        """E, D and A of models with these ‖w‖."""
        total = self._errors[-1] + size @ self._errors[:-1]
        reach = self._spread[-1] + size @ self._spread[:-1]
        return total, size @ self._hidden, reach

    def _charges(self, size: Array) -> Array:
        total, lost, reach = self._reaches(size)
        charge: Array = 3.0 * (total**2 + 2.0 * reach * lost)
        if self._base.intercept:
            away = np.sqrt(self._target @ self._target) + size @ np.abs(self._mean)
            charge += 0.5 * (self._ulps * away) ** 2
        return charge

    def _scores(self, w: Array, b: Any, square: float, charge: float) -> Later:
        """The scores of a model on the data, which must be the same then."""
        base = self._base

        def compute() -> Array:
            z = base.scores(w, b)
            found = base.row_total_of(lambda z, y: np.square(z - y), z, base.y)
            if not abs(found - square) <= _CHANGED * square + 100.0 * charge:  # 100: safeguard
                raise ValueError(
                    "X or y was changed after the models were fitted, so that their scores and "
                    "multipliers can no longer be computed: keep the data as they were."
                )
            return z

        return Later(compute)


def _with_targets(numbers: Array, d: int) -> Array:
    """The numbers of d columns, and one for all targets: the length of theirs."""
    return np.append(numbers[:d], np.sqrt(numbers[d:] @ numbers[d:]))


def _sizes(coefs: Array) -> Array:
    """|wⱼ|, or the lengths of the rows."""
    return np.abs(coefs) if coefs.ndim == 2 else lengths(coefs)


def _longer(slopes: Array, off: Array) -> Array:
    """The slopes, each longer by so much, in their own directions."""
    if slopes.ndim == 2:
        return slopes + np.copysign(off, slopes)
    length, even = lengths(slopes), 1.0 / np.sqrt(slopes.shape[2])
    whole = np.broadcast_to(length[:, :, None], slopes.shape)
    return slopes + off[:, :, None] * divided(slopes, whole, even)


def _gaps(strengths: Strengths, coefs: Array, slopes: Array, squares: Array) -> Charges:
    """Prices, gaps and scales of the residuals as dual points, without charges."""
    if coefs.ndim == 3:
        return charged(strengths, coefs, slopes, squares)
    found = np.empty((3, len(coefs)))
    _core.gaps_of_squares(squares, slopes, coefs, *strengths, found)
    gaps, scales, prices = found
    return Charges(prices, gaps, scales)
