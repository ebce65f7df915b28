"""What a penalty is, and its form once the number of features is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .._base.parameters import Parameterized
from .._base.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from .algebra import Scaled, Sum
    from .separable import Separable


class Plane(NamedTuple):
    """Where w and v lie in the plane that they span: ‖w‖, and v along w and across it."""

    norm: float
    along: float
    across: float


class DualPoint(Protocol):
    """What a penalty is told of a dual point."""

    @property
    def slope(self) -> Array:
        """Xᵀu, in the shape of w; v = −slope is where Ω* is asked."""

    @property
    def plane(self) -> Plane | None:
        """Of a design without columns: w and v, as far as functions of ‖w‖ depend on them."""


class Young(NamedTuple):
    """A Fenchel-Young term Ω(w) + Ω*(v) − v·w ≥ 0: the whole, and by feature or group."""

    total: float
    parts: Array | None = None


class BoundPenalty:
    """α·Ω for known coefficients: all that the objective, the referee and the solvers ask for.

    A subclass writes `value`, `by_feature`, `shrink`, `times` and `free`, and `prox` if it has one.
    Solvers learn what kind of penalty it is from the questions at the end; their answers here are
    those of a penalty of which nothing is known.
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
        """The same terms one by one, in the shape of w or one per group."""
        raise NotImplementedError(f"{type(self).__name__} must define by_feature(w, v)")

    def shrink(self, v: Array) -> float:
        """The largest s ≤ 1 with Ω*(s·v) finite, unscalable columns left out."""
        raise NotImplementedError(f"{type(self).__name__} must define shrink(v)")

    def shares(self, v: Array) -> set[float]:
        """Scales s for which s·v may prove most: the largest one, and others worth a look."""
        return {self.shrink(v)}

    def unscalable(self, v: Array) -> BoolArray:
        """Columns where Ω*(s·v) is infinite for every s > 0: v must be moved, not scaled.

        On a free column that is every v ≠ 0; on one that is bounded on one side only, every v
        that pulls to the other.
        """
        return self.free & (v != 0)

    def prox(self, w: Array, step: float) -> Array:
        """argmin_x Ω(x) + ‖x − w‖²/(2·step)."""
        raise NotImplementedError(f"{type(self).__name__} must define prox(w, step)")

    def times(self, factor: float) -> BoundPenalty:
        """factor·Ω, factor > 0; constraints stay as they are."""
        raise NotImplementedError(f"{type(self).__name__} must define times(factor)")

    def project(self, w: Array) -> Array:
        """The nearest point where Ω is finite: w itself, unless there are constraints."""
        return w

    def relaxed(self, w: Array) -> BoundPenalty | None:
        """A penalty ≤ Ω, equal at w, with constraints left out that do not matter there."""
        return None

    # Questions -------------------------------------------------------------------------------

    @property
    def free(self) -> BoolArray:
        """Columns without any penalty, where the dual point must satisfy v = 0."""
        raise NotImplementedError(f"{type(self).__name__} must define free")

    @property
    def sum_over_features(self) -> Separable | None:
        """The form Σ l1ⱼ|wⱼ| + ½ l2ⱼ wⱼ² within bounds, if Ω is one."""
        return None

    @property
    def sum_over_rows(self) -> Separable | None:
        """The same form of the norms ‖wⱼ‖₂ of the rows of w, one for each feature, if Ω is one."""
        return None

    @property
    def function_of_norm(self) -> Separable | None:
        """The same form of one number, ‖w‖₂, if Ω is a function of that alone."""
        return None

    @property
    def ridge(self) -> Array | None:
        """l2 where Ω = ½ Σ l2ⱼ wⱼ² and nothing else; zero for columns that are free."""
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

    ``columns`` are those that it is about, None for all; the other coefficients are zero.
    """

    penalty: BoundPenalty
    columns: IntArray | None


@runtime_checkable
class Majorised(Protocol):
    """What a bound penalty that is not convex has beside the rest: convex ones above it."""

    def majoriser(self, w: Array) -> Majoriser:
        """One that touches it at w; coefficients that cannot leave zero are left out."""

    def first_majoriser(self) -> Majoriser:
        """One to start from, on all columns: the lasso."""


class Penalty(Parameterized):
    """A function Ω(w); ``0.1 * L1() + L2()`` is one too.

    A subclass writes `bind`, and `formula` for its words; everything else follows. A norm of any
    kind may write `value` and `prox` instead of `bind`. Coefficients are a vector w, or a matrix
    with a row for every feature and a column for every score: ``bind`` is told the number of
    features d, or the shape (d, k).
    """

    __array_ufunc__ = None  # so that np.float64(0.1) * L1() asks L1, not NumPy

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
        """factor·Ω(w) as it is printed in a certificate."""
        return f"{number(factor)}{self!r}(w)"

    def words(self, factor: float = 1.0) -> str:
        """The formula, or ``"0"`` where a factor of 0 leaves nothing of it."""
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
        """What enters the objective: α·Ω; constraints ignore alpha."""
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

    The second bracket is t·(s − along), where s and along may be all but equal.
    """
    t, along, across = plane
    s = float(np.hypot(along, across))
    left = across * (across / (s + along)) if along > 0 else s - along
    return float(form.by_feature(np.array([t]), np.array([s]))[0]) + t * left


def shape_of(w: Array) -> Any:
    """What `bind` is told of such coefficients: their number, or their shape if they have two."""
    return w.shape[0] if w.ndim == 1 else w.shape


def number(x: float) -> str:
    """A factor as it is printed: nothing for 1."""
    return "" if x == 1 else f"{x:g}·"
