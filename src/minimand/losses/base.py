"""The base class of losses: functions of a score z and a target y, with facts for solvers."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from .._base.parameters import Parameterized
from .._base.registry import snake_case
from .._base.typing import Array, IntArray
from .._base.wording import brief
from .curvature import as_curvature
from .pieces import PLQ, Rowwise

if TYPE_CHECKING:
    from .concave import RobustLoss

Target = Literal["real", "sign", "unit", "count", "positive", "class", "vector"]
Unit = Literal["row", "run", "set"]

_DOMAINS: dict[str, str] = {
    "real": "finite numbers",
    "sign": "the two labels −1 and +1",
    "unit": "numbers in [0, 1]",
    "count": "numbers that are not negative",
    "positive": "positive numbers",
    "class": "the numbers 0, 1, … of classes",
    "vector": "rows of finite numbers",
}


class Terms(NamedTuple):
    """A loss at a point: its value by unit, its gradient and its curvature in z."""

    value: Array
    gradient: Array
    curvature: Any  # a `Curvature`, or one number per row that stands for a `Diagonal`


class ShiftedSums(NamedTuple):
    """Σ mass·ℓ(z + b), its slope in b, the size of the slope's terms, its second derivative."""

    value: float
    slope: Array
    size: Array
    hessian: Array


class Loss(Parameterized):
    """A convex function of z for each y; it holds no data, weights, 1/n or intercept.

    A subclass writes `value` and `gradient`; `curvature` if the loss is smooth; `conjugate`
    (ℓ*(u, y) = sup_z u·z − ℓ(z, y)) and `infimum` for the certificate. Most losses are a function
    of one number, the residual or the margin: then subclass `Distance` or `Margin` instead.

    z holds a score for every row, (n,), or k scores, (n, k). A loss has one value per unit, by
    default a row. The unit may also be a run of rows (`unit` = "run"; `bind` says where runs begin)
    or all rows (`unit` = "set"). `value`, `conjugate`, `fenchel_young` and `infimum` return one
    number per unit; `gradient`, `into_domain` and `room` return the shape of z.
    """

    target: ClassVar[Target] = "real"
    smoothness: float = np.inf
    quadratic: ClassVar[bool] = False  # whether the curvature is 1 everywhere
    probabilistic: ClassVar[bool] = False  # whether transform(z) is a probability
    joint: ClassVar[bool] = False  # whether it couples the scores of a row: one problem for all
    proved: bool = False  # whether its formulas are; else a fit tries them at some rows
    in_pairs: ClassVar[bool] = False  # whether every pair of classes is a problem by itself
    flows: ClassVar[bool] = False  # whether multipliers flow from y to other classes: `class_flows`
    in_order: bool = False  # whether it is infinite unless the scores of a row are in order
    level_free: bool = False  # whether one number added to all scores of a row changes nothing
    by_score: Loss | None = None  # the loss of one score, if this one is a sum over scores
    weighing: str = ""  # weights of targets in words, for the formula of an objective
    unit: ClassVar[Unit] = "row"  # a loss has one value per unit
    largest_residual: ClassVar[bool] = False  # whether it is maxᵢ |zᵢ − yᵢ| over the whole set
    units: IntArray | None = None  # of a loss over runs: where each begins, and where the last ends
    auto: ClassVar[Mapping[str, float]] = {}  # parameters that may be "auto", in units of the noise

    @property
    def pooled(self) -> bool:
        """Whether units hold more than single rows."""
        return self.unit != "row"

    @property
    def of_one_score(self) -> Loss:
        """The loss of one score, of which this one may be a sum; else this loss itself."""
        return self.by_score or self

    def of_score(self, c: int) -> Loss | None:
        """The loss of score c, if the scores of a row do not touch each other; else None."""
        return None

    def score_weights(self, n_scores: int) -> Array | None:
        """The weight of every score in that sum; None if all are 1."""
        return None

    def refuse_score_weights(self) -> None:
        """Raise ValueError if scores have weights: for problems with a single score."""

    def target_weights(self, y: Array) -> Array | None:
        """A weight for every number in y, by which its term counts; None if all are 1."""
        return None

    @property
    def low_code(self) -> float:
        """The code of a sample that is not of a class: −1, or 0 for losses of y in [0, 1]."""
        return 0.0 if self.target in ("unit", "count") else -1.0

    def scores_for(self, n_classes: int) -> int:
        """Scores per row that a loss of ``joint`` scores has for that many classes."""
        return n_classes

    def class_scores(self, z: Array) -> Array:
        """One score per class, of which the largest wins; z itself unless a class has none."""
        return z

    @property
    def undecided(self) -> list[str]:
        """Parameters that are "auto": a fit sets them in proportion to the noise."""
        return [name for name in self.auto if isinstance(getattr(self, name), str)]

    def decided(self, noise: float) -> Self:
        """The same loss with numbers in place of "auto"."""
        return self.copy(**{name: self.auto[name] * noise for name in self.undecided})

    def sample_weights(self, z: Array, y: Array) -> Array | None:
        """The weights, from 0 to 1, of the weighted convex fit with the same solution.

        None if there are no such weights: all samples count fully, or the loss has a kink.
        """
        robust = self.composed
        return None if robust is None or robust is self else robust.sample_weights(z, y)

    def equal_masses(self, n_samples: int) -> Array:
        """The masses where all samples have one weight, without another vector of their length."""
        if type(self).masses is not Loss.masses:
            return self.masses(np.ones(n_samples))
        return np.full(n_samples, 1.0 / n_samples)

    def bind(self, units: IntArray) -> Self:
        """The same loss over these runs of rows: run i goes from row units[i] to units[i + 1]."""
        units = np.asarray(units, dtype=np.int64)
        if units.ndim != 1 or units.size < 2 or units[0] != 0 or (np.diff(units) <= 0).any():
            raise ValueError(
                "units must be the rows where runs begin, increasing from 0, and the number of "
                "rows at the end: no run is empty."
            )
        bound = copy.copy(self)
        bound.units = units
        return bound

    def masses(self, weight: Array) -> Array:
        """The mass of every unit in the objective: its weight as a share of the total."""
        mass = weight / weight.max()  # first, so that the sum cannot overflow
        mass /= mass.sum()
        return mass

    def best_shift(self, z: Array, y: Array, mass: Array) -> float | Array | None:
        """The b that minimises Σ mass·ℓ(z + b, y), if there is a formula; None: it is searched.

        A loss with kinks needs a formula if its units are not rows, or if it has k scores.
        """
        return None

    def value(self, z: Array, y: Array) -> Array:
        """ℓ(z, y), one number per unit."""
        raise NotImplementedError(f"{type(self).__name__} must define value(z, y)")

    def gradient(self, z: Array, y: Array) -> Array:
        """∂ℓ/∂z, in the shape of z; any subgradient where there is a kink."""
        raise NotImplementedError(f"{type(self).__name__} must define gradient(z, y)")

    def curvature(self, z: Array, y: Array) -> Any:
        """∂²ℓ/∂z², a `Curvature`; an array in the shape of z stands for a diagonal one.

        By default that of k scores is found from the gradient, by differences.
        """
        if self.unit != "row" or np.ndim(z) != 2:
            raise NotImplementedError(f"{type(self).__name__} must define curvature(z, y)")
        from .numeric.differences import differenced

        return differenced(self, z, y)

    def majoriser(self, z: Array, y: Array) -> Array:
        """Curvature of a parabola that touches ℓ at z and lies above it, for safe steps.

        The global bound if there is one, else the largest curvature at these z.
        """
        bound = self.smoothness
        if not np.isfinite(bound):
            bound = as_curvature(self.curvature(z, y)).max or 1.0
        return np.full(np.shape(z), bound)

    def terms(self, z: Array, y: Array) -> Terms:
        """Value, gradient and curvature; a subclass may compute them in one pass."""
        return Terms(self.value(z, y), self.gradient(z, y), self.curvature(z, y))

    def slopes(self, z: Array, y: Array) -> tuple[Array, Any]:
        """Gradient and curvature, without the value, which may be expensive."""
        if type(self).terms is Loss.terms:
            return self.gradient(z, y), self.curvature(z, y)
        return self.terms(z, y)[1:]

    def shifted_sums(self, z: Array, b: Array, y: Array, mass: Array) -> ShiftedSums:
        """Sums over rows that are units, for the best intercepts of k scores; see `ShiftedSums`."""
        value, gradient, curvature = self.terms(z + b, y)
        hessian = as_curvature(curvature).weighted(mass).over_scores()
        slope, size = np.asarray(mass @ gradient), np.asarray(mass @ np.abs(gradient))
        return ShiftedSums(float(mass @ value), slope, size, hessian)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u, y) = sup_z u·z − ℓ(z, y), or an upper bound of it; inf outside its domain."""
        raise NotImplementedError(f"{type(self).__name__} must define conjugate(u, y)")

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """ℓ(z, y) + ℓ*(u, y) − u·z ≥ 0, zero iff u is a subgradient at z."""
        product = self.by_unit(u * z)
        return np.maximum(self.value(z, y) + self.conjugate(u, y) - product, 0.0)

    def by_unit(self, values: Array) -> Array:
        """Sums over the scores and the rows of every unit of numbers in the shape of z."""
        by_row = values if values.ndim == 1 else values.sum(axis=1)
        if self.unit == "row":
            return by_row
        if self.unit == "set":
            return by_row.sum(keepdims=True)
        return np.add.reduceat(by_row, runs_of(self)[:-1])

    def smoothed(self, width: float) -> Loss | None:
        """A smooth loss within O(width) of it whose slopes are legal multipliers; None: none."""
        return None

    def into_domain(self, u: Array, y: Array) -> Array:
        """The point of dom ℓ*(·, y) nearest to u; u itself if ℓ* is finite everywhere."""
        return u

    def room(self, u: Array, y: Array) -> Array:
        """How far every uᵢ can move at little cost in ℓ*, for losses with kinks."""
        return np.ones_like(u)

    def infimum(self, y: Array) -> Array:
        """inf_z ℓ(z, y), or a lower bound of it."""
        return -self.conjugate(np.zeros_like(y, dtype=float), y)

    def noise(self, z: Array, y: Array) -> float | Array:
        """The rounding error of `value` beyond a few ulps of its size."""
        return 0.0

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """argmin_t ℓ(t, y) + ‖t − z‖²/(2·step); by default of one score, by safeguarded Newton."""
        if self.joint:
            raise NotImplementedError(f"{type(self).__name__} must define prox(z, y, step)")
        from .numeric.prox import proximal_point

        return proximal_point(self, z, y, step)

    def plq(self, y: Array) -> PLQ | None:
        """The piecewise linear-quadratic form for these targets; None if there is none."""
        return None

    def rowwise(self, y: Array) -> Rowwise | None:
        """The form for compiled kernels: pieces, or a ψ that they know."""
        plq = self.plq(y)
        return None if plq is None else Rowwise(*plq)

    def softmax_classes(self, y: Array) -> IntArray | None:
        """The numbers of the classes, if the loss is a softmax of a score each; else None."""
        return None

    def transform(self, z: Array) -> Array:
        """The score on the scale of y, which `predict` returns."""
        return z

    @property
    def convex(self) -> bool:
        """Whether ℓ(·, y) is convex for every legal y."""
        return True

    @property
    def composed(self) -> RobustLoss | None:
        """A non-convex loss as a concave function of a convex one; None if it has no such form.

        Solvers minimise the convex tangents that follow from this form.
        """
        return None

    def tangent(self, z: Array, y: Array, share: float = 1.0) -> tuple[Loss, Array] | None:
        """A convex loss above one that is a difference of two, and its y; None: it is no such.

        With ``share`` = 1 it touches at z: what is subtracted is replaced by its tangent, or by a
        share of that.
        """
        return None

    @property
    def smooth(self) -> bool:
        """Whether the gradient is continuous, so that second-order methods apply."""
        return True

    @property
    def bounded(self) -> bool:
        """Whether ℓ(z, y) is bounded in z; no convex loss is."""
        from .analysis.facts import is_bounded

        return is_bounded(self)

    @property
    def robust(self) -> bool:
        """Whether the gradient ∂ℓ/∂z of one sample is bounded."""
        from .analysis.facts import is_robust

        return is_robust(self)

    @property
    def upper_bounds_zero_one(self) -> bool:
        """Whether ℓ ≥ 0, and ℓ ≥ 1 at every mistake (m ≤ 0); False if it does not take labels."""
        from .analysis.facts import is_above_zero_one

        return is_above_zero_one(self)

    @property
    def calibrated(self) -> bool:
        """Whether minimising the loss minimises the mistakes: see `minimand.is_calibrated`."""
        from .analysis.calibration import is_calibrated

        return bool(is_calibrated(self))

    @property
    def refusal(self) -> str:
        """Why no model can be fitted with this loss, in words; empty if one can."""
        if self.convex or self.composed is not None:
            return ""
        return "it is not convex, and has no convex tangents to descend on"

    @property
    def nearly_kinked(self) -> bool:
        """Whether the gradient, though continuous, changes much within the rounding of a score."""
        return False

    def attained(self, y: Array) -> bool:
        """Whether inf_z ℓ(z, y) is attained for all these y; log(1 + e^−m) never reaches 0."""
        return True

    @property
    def name(self) -> str:
        """The loss as it is printed in a certificate, e.g. ``huber(z, y; delta=1.35)``."""
        symbol, params = snake_case(type(self).__name__), self.get_params(deep=False)
        if not params:
            return f"{symbol}(z, y)"
        return (
            f"{symbol}(z, y; {', '.join(f'{key}={brief(value)}' for key, value in params.items())})"
        )

    def check_parameters(self) -> None:
        """Raise ValueError, in one sentence, for a parameter outside its range."""

    def check_target(self, y: Array) -> None:
        """Raise ValueError, in one sentence, for a y outside the domain of the loss."""
        legal = {
            "real": lambda: np.isfinite(y).all(),
            "sign": lambda: np.isin(y, (-1.0, 1.0)).all(),
            "unit": lambda: ((y >= 0) & (y <= 1)).all(),
            "count": lambda: ((y >= 0) & np.isfinite(y)).all(),
            "positive": lambda: ((y > 0) & np.isfinite(y)).all(),
            "vector": lambda: np.isfinite(y).all(),
            "class": lambda: ((y >= 0) & np.isfinite(y) & (y == np.floor(y))).all(),
        }[self.target]()
        if not legal:
            raise ValueError(
                f"y is outside the domain of {type(self).__name__}: it takes "
                f"{_DOMAINS[self.target]}, but y ranges from {np.min(y):g} to {np.max(y):g}."
            )


def runs_of(loss: Loss) -> IntArray:
    """The units of a loss over runs of rows, which must have been bound to them."""
    if loss.units is None:
        raise ValueError(f"{loss!r} is a loss over runs of rows: bind(units) says where they are.")
    return loss.units
