"""What a loss is: a function of a score z and a target y, with facts a solver may rely on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from .._typing import Array
from ..parameters import Parameterized
from ..registry import snake_case
from . import facts as facts_of
from . import probe
from .bracket import young_gap
from .pieces import PLQ, Pieces

if TYPE_CHECKING:
    from .concave import RobustLoss

Target = Literal["real", "sign", "unit", "count", "positive"]

_DOMAINS: dict[str, str] = {
    "real": "finite numbers",
    "sign": "the two labels −1 and +1",
    "unit": "numbers in [0, 1]",
    "count": "numbers that are not negative",
    "positive": "positive numbers",
}


class Terms(NamedTuple):
    """A loss at a point: its value, gradient and curvature in z, one number per sample each."""

    value: Array
    gradient: Array
    curvature: Array


class Loss(Parameterized):
    """A convex function of z for each y; knows no data, weights, 1/n or intercept.

    A subclass writes `value` and `gradient`; `curvature` if the loss is smooth; `conjugate`
    (ℓ*(u, y) = sup_z u·z − ℓ(z, y)) and `infimum` for the certificate. Most losses are a function
    of one number, the residual or the margin: then subclass `Distance` or `Margin` instead.
    """

    target: ClassVar[Target] = "real"
    smoothness: float = np.inf
    quadratic: ClassVar[bool] = False  # whether the curvature is 1 everywhere
    probabilistic: ClassVar[bool] = False  # whether transform(z) is a probability
    pooled: ClassVar[bool] = False  # whether it is one number for the whole set of samples

    def masses(self, weight: Array) -> Array:
        """What every sample counts in the objective, by its weight: a share of the mean."""
        mass = weight / weight.max()  # first, so that the sum cannot overflow
        return mass / mass.sum()

    def best_shift(self, z: Array, y: Array) -> float:
        """The b that minimises the loss at z + b: only a loss of the whole set is asked."""
        raise NotImplementedError(f"{type(self).__name__} must define best_shift(z, y)")

    def value(self, z: Array, y: Array) -> Array:
        """ℓ(z, y), elementwise."""
        raise NotImplementedError(f"{type(self).__name__} must define value(z, y)")

    def gradient(self, z: Array, y: Array) -> Array:
        """∂ℓ/∂z, elementwise; any subgradient where there is a kink."""
        raise NotImplementedError(f"{type(self).__name__} must define gradient(z, y)")

    def curvature(self, z: Array, y: Array) -> Array:
        """∂²ℓ/∂z², elementwise, not negative."""
        raise NotImplementedError(f"{type(self).__name__} must define curvature(z, y)")

    def majoriser(self, z: Array, y: Array) -> Array:
        """Curvature of a parabola that touches ℓ at z and lies above it: for cautious steps.

        The global bound where there is one, else the largest curvature at hand.
        """
        bound = self.smoothness
        if not np.isfinite(bound):
            bound = float(np.max(self.curvature(z, y), initial=0.0)) or 1.0
        return np.full(np.shape(z), bound)

    def terms(self, z: Array, y: Array) -> Terms:
        """Value, gradient and curvature together; a fused override may be faster."""
        return Terms(self.value(z, y), self.gradient(z, y), self.curvature(z, y))

    def slopes(self, z: Array, y: Array) -> tuple[Array, Array]:
        """Gradient and curvature, for those who have no use for a value that may be dear."""
        if type(self).terms is Loss.terms:
            return self.gradient(z, y), self.curvature(z, y)
        return self.terms(z, y)[1:]

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u, y) = sup_z u·z − ℓ(z, y), or an upper bound of it; inf outside its domain."""
        raise NotImplementedError(f"{type(self).__name__} must define conjugate(u, y)")

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """ℓ(z, y) + ℓ*(u, y) − u·z ≥ 0, zero iff u is a subgradient at z."""
        return np.maximum(self.value(z, y) + self.conjugate(u, y) - u * z, 0.0)

    def into_domain(self, u: Array, y: Array) -> Array:
        """The point of dom ℓ*(·, y) nearest to u (identity when that is everything)."""
        return u

    def room(self, u: Array, y: Array) -> Array:
        """How freely every uᵢ may move at little cost in ℓ*: for losses with kinks."""
        return np.ones_like(u)

    def infimum(self, y: Array) -> Array:
        """inf_z ℓ(z, y), or a lower bound of it."""
        return -self.conjugate(np.zeros_like(y, dtype=float), y)

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """argmin_t ℓ(t, y) + (t − z)²/(2·step), elementwise, by safeguarded Newton."""
        from .prox import proximal_point

        return proximal_point(self, z, y, step)

    def plq(self, y: Array) -> PLQ | None:
        """The piecewise linear-quadratic form for these targets; None where there is none."""
        return None

    def transform(self, z: Array) -> Array:
        """From the score to the scale of y: what `predict` returns."""
        return z

    @property
    def convex(self) -> bool:
        """Whether ℓ(·, y) is convex for every legal y."""
        return True

    @property
    def composed(self) -> RobustLoss | None:
        """A loss that is not convex as a concave function of one that is; None: it is not known.

        This is what gives it convex tangents, which a solver descends on.
        """
        return None

    @property
    def smooth(self) -> bool:
        """Whether the gradient is continuous, so that second-order methods apply."""
        return True

    @property
    def bounded(self) -> bool:
        """Whether ℓ(z, y) stays below some number however far z is off; no convex loss does."""
        return facts_of.is_bounded(self)

    @property
    def robust(self) -> bool:
        """Whether the pull ∂ℓ/∂z of one sample stays bounded however far it is off."""
        return facts_of.is_robust(self)

    @property
    def upper_bounds_zero_one(self) -> bool:
        """Whether ℓ ≥ 0, and ℓ ≥ 1 at every mistake (m ≤ 0); no, if it takes no labels."""
        return facts_of.is_above_zero_one(self)

    @property
    def calibrated(self) -> bool:
        """Whether minimising it leads to the fewest mistakes: see `minimand.is_calibrated`."""
        from .calibration import is_calibrated

        return bool(is_calibrated(self))

    @property
    def refusal(self) -> str:
        """Why no model can be fitted with this loss, in words; empty if one can."""
        if self.convex or self.composed is not None:
            return ""
        return "it is not convex, and has no convex tangents to descend on"

    @property
    def nearly_kinked(self) -> bool:
        """Whether the gradient, though continuous, turns faster than scores can be computed."""
        return False

    def attained(self, y: Array) -> bool:
        """Whether inf_z ℓ(z, y) is attained for all these y; log(1 + e^−m) never reaches 0."""
        return True

    @property
    def name(self) -> str:
        """The loss as it is printed in a certificate, e.g. ``huber(z, y; delta=1.35)``."""
        params = self.get_params(deep=False)
        inner = ", ".join(f"{key}={value!r}" for key, value in params.items())
        symbol = snake_case(type(self).__name__)
        return f"{symbol}(z, y{'; ' + inner if inner else ''})"

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
        }[self.target]()
        if not legal:
            raise ValueError(
                f"y is outside the domain of {type(self).__name__}: it takes "
                f"{_DOMAINS[self.target]}, but y ranges from {np.min(y):g} to {np.max(y):g}."
            )


class Unary(Loss):
    """A loss that is a function ψ of one number t: subclasses say what t is.

    A user writes ``psi``, ``dpsi`` and ``ddpsi``, vectorised over t, and nothing else: the
    conjugate defaults to a sound upper bound found by bracketing, and convexity and smoothness
    are probed rather than believed.
    """

    @property
    def pieces(self) -> Pieces | None:
        """ψ piece by piece, for a loss that is linear or quadratic between knots; else None.

        A class that says its pieces (as an attribute or a property) need not say anything else.
        """
        return None

    def _spelt_out(self, name: str) -> Pieces:
        if self.pieces is None:
            raise NotImplementedError(f"{type(self).__name__} must define {name}(t), or pieces")
        return self.pieces

    @property
    def _only_pieces(self) -> bool:
        """Whether there is no formula of its own, which may round better around a minimum."""
        return type(self).psi is Unary.psi

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """A bound of ψ'': from the pieces, where there are any; inf if nothing is known."""
        return np.inf if self.pieces is None else self.pieces.smoothness

    def psi(self, t: Array) -> Array:
        """ψ(t)."""
        return self._spelt_out("psi").value(t)

    def dpsi(self, t: Array) -> Array:
        """ψ'(t)."""
        return self._spelt_out("dpsi").slope(t)

    def ddpsi(self, t: Array) -> Array:
        """ψ''(t)."""
        return self._spelt_out("ddpsi").curvature(t)

    def young(self, t: Array, v: Array) -> Array:
        """ψ(t) + ψ*(v) − v·t, or an upper bound of it; inf where v is no slope of ψ."""
        if self.pieces is not None:
            return self.pieces.young(t, v)
        return young_gap(self.psi, self.dpsi, t, v)

    def dual(self, v: Array) -> Array:
        """ψ*(v) = sup_t v·t − ψ(t), or an upper bound of it."""
        if self.pieces is not None:
            return self.pieces.dual(v)
        zero = np.zeros_like(v, dtype=float)
        return self.young(zero, v) - self.psi(zero)

    facts: ClassVar[probe.Facts | None] = None  # proved on paper; None: find out by probing

    @property
    def _facts(self) -> probe.Facts:
        if self.facts is not None:
            return self.facts
        return self._probed if self.pieces is None else self.pieces.facts

    @cached_property
    def _probed(self) -> probe.Facts:
        return probe.inspect(self.psi, self.dpsi, self.ddpsi)

    @property
    def convex(self) -> bool:
        """Probed: ψ(b) ≥ ψ(a) + ψ'(a)·(b − a) on a grid of pairs over the whole axis."""
        return self._facts.violation is None

    @property
    def smooth(self) -> bool:
        """Probed: no jump of ψ' survives bisection."""
        return self._facts.kink is None

    def attained(self, y: Array) -> bool:
        """Probed: ψ' changes sign or vanishes."""
        return self._facts.attained

    def check_parameters(self) -> None:
        """Refuse, in words, a ψ whose slopes contradict convexity."""
        if not self.convex:
            raise ValueError(f"loss {self!r} is not convex: {self._facts.violation}")

    def check_target(self, y: Array) -> None:
        """Also probe ψ again at the scale of y, where its bends may be."""
        super().check_target(y)
        scale = float(np.max(np.abs(y), initial=0.0))
        if self.facts is None and self.pieces is None and scale > 0 and scale != 1:
            violation = probe.inspect(self.psi, self.dpsi, self.ddpsi, scale).violation
            if violation:
                raise ValueError(f"loss {self!r} is not convex: {violation}")


def _elementwise(values: Array, z: Array) -> Array:
    """One float64 per sample, also from a ψ'' that was written as a plain constant."""
    if np.shape(values) == np.shape(z) and getattr(values, "dtype", None) == np.float64:
        return values
    return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=float), np.shape(z)))


class Distance(Unary):
    """ℓ(z, y) = ψ(r) of the residual r = z − y.

    A ψ with kinks says its `pieces` (a `minimand.Pieces`) instead of psi, dpsi and ddpsi.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> class LogCosh(mm.Distance):
    ...     def psi(self, r): return np.abs(r) + np.log1p(np.exp(-2 * np.abs(r))) - np.log(2)
    ...     def dpsi(self, r): return np.tanh(r)
    ...     def ddpsi(self, r): return 1 - np.tanh(r) ** 2
    >>> LogCosh().convex
    True
    >>> float(LogCosh().conjugate(np.array([0.5]), np.array([0.0]))[0])   # known: 0.13081...
    0.130812...
    """

    def value(self, z: Array, y: Array) -> Array:
        """ψ(z − y)."""
        return _elementwise(self.psi(z - y), z)

    def gradient(self, z: Array, y: Array) -> Array:
        """ψ'(z − y)."""
        return _elementwise(self.dpsi(z - y), z)

    def curvature(self, z: Array, y: Array) -> Array:
        """ψ''(z − y)."""
        return _elementwise(self.ddpsi(z - y), z)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u, y) = u·y + ψ*(u)."""
        return u * y + self.dual(u)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """ψ(r) + ψ*(u) − u·r."""
        return self.young(z - y, u)

    def into_domain(self, u: Array, y: Array) -> Array:
        """u, clipped to the slopes that the pieces have."""
        return u if self.pieces is None else self.pieces.clip(u)

    def room(self, u: Array, y: Array) -> Array:
        """The distance of u from the slopes of linear pieces."""
        return super().room(u, y) if self.pieces is None else self.pieces.room(u)

    def plq(self, y: Array) -> PLQ | None:
        """ψ(z − y)."""
        return None if self.pieces is None else PLQ(self.pieces, np.ones_like(y), y)

    def terms(self, z: Array, y: Array) -> Terms:
        """Value, gradient and curvature, in one pass where there are pieces."""
        if self.pieces is None or not self._only_pieces:
            return super().terms(z, y)
        return Terms(*self.pieces.terms(z - y))

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Piece by piece where there are pieces, else by safeguarded Newton."""
        if self.pieces is None:
            return super().prox(z, y, step)
        return y + self.pieces.prox(z - y, step)

    def infimum(self, y: Array) -> Array:
        """inf ψ, the same for every y."""
        return np.full(np.shape(y), -float(self.dual(np.zeros(1))[0]))


class Margin(Unary):
    """ℓ(z, y) = ψ(m) of the margin m = y·z, with labels y = ±1.

    A ψ with kinks says its `pieces` (a `minimand.Pieces`) instead of psi, dpsi and ddpsi.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> class Exponential(mm.Margin):
    ...     def psi(self, m): return np.exp(-m)
    ...     def dpsi(self, m): return -np.exp(-m)
    ...     def ddpsi(self, m): return np.exp(-m)
    >>> y = np.array([1.0, -1.0])
    >>> Exponential().value(np.array([0.0, 0.0]), y)
    array([1., 1.])
    """

    target: ClassVar[Target] = "sign"

    def value(self, z: Array, y: Array) -> Array:
        """ψ(y·z)."""
        return _elementwise(self.psi(y * z), z)

    def gradient(self, z: Array, y: Array) -> Array:
        """y·ψ'(y·z)."""
        return _elementwise(y * self.dpsi(y * z), z)

    def curvature(self, z: Array, y: Array) -> Array:
        """ψ''(y·z), as y² = 1."""
        return _elementwise(self.ddpsi(y * z), z)

    def conjugate(self, u: Array, y: Array) -> Array:
        """ℓ*(u, y) = ψ*(y·u)."""
        return self.dual(y * u)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """ψ(m) + ψ*(v) − v·m with v = y·u."""
        return self.young(y * z, y * u)

    def into_domain(self, u: Array, y: Array) -> Array:
        """y·u, clipped to the slopes that the pieces have."""
        return u if self.pieces is None else y * self.pieces.clip(y * u)

    def room(self, u: Array, y: Array) -> Array:
        """The distance of y·u from the slopes of linear pieces."""
        return super().room(u, y) if self.pieces is None else self.pieces.room(y * u)

    def plq(self, y: Array) -> PLQ | None:
        """ψ(y·z)."""
        return None if self.pieces is None else PLQ(self.pieces, y, np.zeros_like(y))

    def terms(self, z: Array, y: Array) -> Terms:
        """Value, gradient and curvature, in one pass where there are pieces."""
        if self.pieces is None or not self._only_pieces:
            return super().terms(z, y)
        value, slope, curvature = self.pieces.terms(y * z)
        return Terms(value, y * slope, curvature)

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Piece by piece where there are pieces, else by safeguarded Newton."""
        if self.pieces is None:
            return super().prox(z, y, step)
        return y * self.pieces.prox(y * z, step)

    def infimum(self, y: Array) -> Array:
        """inf ψ, the same for every y."""
        return np.full(np.shape(y), -float(self.dual(np.zeros(1))[0]))
