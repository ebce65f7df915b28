"""The base classes of penalties: as the user writes them, and bound to a number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .._base.parameters import Parameterized
from .._base.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from .algebra import Scaled, Sum
    from .grouped import Grouped
    from .separable import Separable
    from .spectral import SingularValues


class Plane(NamedTuple):
    """The position of w and v in the plane they span: ‖w‖, and v along w and across it."""

    norm: float
    along: float
    across: float


class DualPoint(Protocol):
    """What a penalty reads of a dual point."""

    @property
    def slope(self) -> Array:
        """Xᵀu, in the shape of w; Ω* is taken at v = −slope."""

    @property
    def plane(self) -> Plane | None:
        """For a design without columns: the norms and products of w and v; else None."""


class Young(NamedTuple):
    """A Fenchel-Young term Ω(w) + Ω*(v) − v·w ≥ 0: its total, and by feature or group."""

    total: float
    parts: Array | None = None


class BoundPenalty:
    """α·Ω for a known number of coefficients, as the objective, the referee and solvers use it.

    A subclass writes `value`, `by_feature`, `shrink`, `times` and `free`, and `prox` if it has one.
    Solvers learn the kind of penalty from the properties at the end, whose defaults say that
    nothing is known about it.
    """

    def value(self, w: Array) -> float:
        """Ω(w)."""
        raise NotImplementedError(f"{type(self).__name__} must define value(w)")

    def fenchel_young(self, w: Array, dual: DualPoint) -> Young:
        """Ω(w) + Ω*(v) − v·w with v = −slope; inf outside dom Ω*."""
        if dual.plane is not None:
            form = self.function_of_norm
            return Young(np.inf if form is None else young_in_plane(form, dual.plane))
        terms = self.by_feature(w, -dual.slope)
        return Young(float(terms.sum()), terms)

    def by_feature(self, w: Array, v: Array) -> Array:
        """The Fenchel-Young terms, in the shape of w or one per group."""
        raise NotImplementedError(f"{type(self).__name__} must define by_feature(w, v)")

    def shrink(self, v: Array) -> float:
        """The largest s ≤ 1 with Ω*(s·v) finite; `unscalable` columns are left out."""
        raise NotImplementedError(f"{type(self).__name__} must define shrink(v)")

    def dual_norm(self, v: Array) -> float | None:
        """The least s for which w = 0 minimises s·Ω(w) − v·w, the alpha_max of a slope −v.

        None if there is no such s for every v, because Ω has no kink at w = 0 in some direction.
        """
        return None

    @property
    def quadratic_floor(self) -> float:
        """A number c with Ω(w) ≥ ½c‖w‖² for all w; 0 if none is known."""
        return 0.0

    def shares(self, v: Array) -> set[float]:
        """Scales s to try for the dual point s·v: the largest, and others that may be better."""
        return {self.shrink(v)}

    def unscalable(self, v: Array) -> BoolArray:
        """Columns where Ω*(s·v) is infinite for every s > 0, so that scaling v is not enough.

        On a free column this is every v ≠ 0; on a column with one bound it is every v that points
        away from the bound.
        """
        return self.free & (v != 0)

    def prox(self, w: Array, step: float) -> Array:
        """argmin_x Ω(x) + ‖x − w‖²/(2·step)."""
        raise NotImplementedError(f"{type(self).__name__} must define prox(w, step)")

    def slope_along(self, w: Array, step: Array, *, leaving: bool) -> float:
        """The derivative of t ↦ Ω(w + t·step) at 0; at a kink, on the side where the step is.

        That is the side ahead if the step begins here (``leaving``), else the side behind.
        """
        raise NotImplementedError(f"{type(self).__name__} must define slope_along(w, step)")

    def times(self, factor: float) -> BoundPenalty:
        """factor·Ω, factor > 0; constraints stay as they are."""
        raise NotImplementedError(f"{type(self).__name__} must define times(factor)")

    def project(self, w: Array) -> Array:
        """The nearest point where Ω is finite: w itself unless Ω has constraints."""
        return w

    def relaxed(self, w: Array) -> BoundPenalty | None:
        """A penalty ≤ Ω that equals Ω at w, without the constraints that are inactive at w."""
        return None

    def in_units(self, units: Array) -> BoundPenalty | None:
        """The penalty as a function of x, w = units∘x; None if it has no such form."""
        return None

    def faint(self, reach: Array, slope: Array, share: float) -> BoolArray:
        """Features whose penalty at |w| = reach has at most that share of a slope."""
        return np.zeros(reach.shape, dtype=bool)

    def without(self, features: BoolArray) -> BoundPenalty:
        """A penalty ≤ Ω that does not depend on these `faint` features."""
        return self

    # Properties that solvers ask for ----------------------------------------------------------

    @property
    def free(self) -> BoolArray:
        """Columns without any penalty, on which a dual point must have v = 0."""
        raise NotImplementedError(f"{type(self).__name__} must define free")

    @property
    def sum_over_features(self) -> Separable | None:
        """The form Σ l1ⱼ|wⱼ| + ½ l2ⱼ wⱼ² within bounds, if Ω is one."""
        return None

    @property
    def sum_over_groups(self) -> Grouped | None:
        """The form Σ norm_g‖w_g‖₂ + Σ l1ⱼ|wⱼ| + ½ l2ⱼwⱼ² over groups g of coefficients."""
        return None

    @property
    def row_sizes(self) -> tuple[Array, Array] | None:
        """The numbers kinkⱼ and l2ⱼ of Σ kinkⱼ‖wⱼ‖ + ½ Σ l2ⱼ‖wⱼ‖², if Ω is one and none are both 0.

        wⱼ is the coefficient of feature j, or the row of W that holds one for every score.
        """
        return None

    @property
    def function_of_norm(self) -> Separable | None:
        """The same form as a function of the single number ‖w‖₂, if Ω is one."""
        return None

    singular_values: SingularValues | None = None
    """The form l1·Σσ + ½·square·(Σσ)² + ½·l2·Σσ² of the singular values of W, if Ω is one."""

    @property
    def ridge(self) -> Array | None:
        """l2 if Ω = ½ Σ l2ⱼ wⱼ² without any other part; zero for free columns."""
        return None

    @property
    def makes_zeros(self) -> bool:
        """Whether Ω has a kink that keeps coefficients, rows or groups at exactly zero."""
        return False

    @property
    def has_constraints(self) -> bool:
        """Whether Ω is infinite somewhere."""
        return False


class Majoriser(NamedTuple):
    """A convex penalty that lies above a non-convex one, up to a constant.

    ``columns`` are the columns it applies to, None for all; the other coefficients stay zero.
    """

    penalty: BoundPenalty
    columns: IntArray | None


@runtime_checkable
class Majorised(Protocol):
    """What a non-convex bound penalty has in addition: convex penalties above it."""

    def majoriser(self, w: Array) -> Majoriser:
        """A majoriser that touches Ω at w, without the coefficients that cannot leave zero."""

    def first_majoriser(self) -> Majoriser:
        """A majoriser to start from, on all columns: a lasso."""


class Penalty(Parameterized):
    """A function Ω(w); ``0.1 * L1() + L2()`` is one too.

    A subclass writes `bind`, and `formula` for its printed form; the other methods use these. A
    norm may write `value` and `prox` instead of `bind`. Coefficients are a vector w, or a matrix
    with a row per feature and a column per score: ``bind`` gets the number of features d, or the
    shape (d, k).
    """

    __array_ufunc__ = None  # makes np.float64(0.1) * L1() call L1.__rmul__
    proved: bool = False  # whether what `bind` returns is; else a fit checks it

    @property
    def couples_scores(self) -> bool:
        """Whether Ω(W) of a matrix is more than the sum of Ω over its columns, one per score."""
        return False

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """α·Ω over vectors of length d, or matrices of shape (d, k).

        Raises ValueError where parameters do not fit.
        """
        own = type(self)
        if own.value is Penalty.value or own.prox is Penalty.prox:
            raise NotImplementedError(
                f"{own.__name__} must define bind(n_features, alpha), or, if it is a norm, "
                "value(w) and prox(w, step)."
            )
        from .norm import Norm, check_norm
        from .separable import NoPenalty

        if alpha == 0:
            return NoPenalty().bind(n_features)
        bound = Norm(self, float(alpha), n_features)
        check_norm(bound)
        return bound

    def formula(self, factor: float = 1.0) -> str:
        """factor·Ω(w) as printed in a certificate."""
        return f"{number(factor)}{self!r}(w)"

    def words(self, factor: float = 1.0) -> str:
        """The formula, or ``"0"`` if the factor is 0."""
        return self.formula(factor) if factor else "0"

    def value(self, w: Array) -> float:
        """Ω(w)."""
        w = np.asarray(w, float)
        return self.bind(shape_of(w)).value(w)

    def conjugate(self, v: Array) -> float:
        """Ω*(v) = sup_w v·w − Ω(w)."""
        v = np.asarray(v, float)
        bound = self.bind(shape_of(v))
        w = bound.project(np.zeros_like(v))  # any point where Ω is finite
        return float(bound.by_feature(w, v).sum() + np.vdot(v, w)) - bound.value(w)

    def prox(self, w: Array, step: float) -> Array:
        """argmin_x Ω(x) + ‖x − w‖²/(2·step)."""
        w = np.asarray(w, float)
        return self.bind(shape_of(w)).prox(w, step)

    def scaled(self, alpha: float) -> Penalty:
        """The term of the objective, α·Ω; constraints ignore alpha."""
        return alpha * self

    def __mul__(self, factor: float) -> Scaled:
        from .algebra import Scaled

        return Scaled(factor, self)

    __rmul__ = __mul__

    def __add__(self, other: Penalty) -> Sum:
        from .algebra import Sum

        if not isinstance(other, Penalty):
            return NotImplemented
        return Sum(self, other)


def young_in_plane(form: Separable, plane: Plane) -> float:
    """The term of r(‖w‖), r the ``form``: [r(t) + r*(s) − t·s] + [t·s − v·w], t = ‖w‖, s = ‖v‖.

    The second bracket is t·(s − along); s − along would cancel where s and along are almost equal.
    """
    t, along, across = plane
    s = float(np.hypot(along, across))
    left = across * (across / (s + along)) if along > 0 else s - along
    return float(form.by_feature(np.array([t]), np.array([s]))[0]) + t * left


def shape_of(w: Array) -> Any:
    """The argument of `bind` for these coefficients: their number, or their shape if 2-D."""
    return w.shape[0] if w.ndim == 1 else w.shape


def number(x: float) -> str:
    """A factor as it is printed; the empty string for 1."""
    return "" if x == 1 else f"{x:g}·"
