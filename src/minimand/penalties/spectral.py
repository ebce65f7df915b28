"""Penalties on the singular values of a coefficient matrix, which lower its rank.

With singular values σ of W and s = Σσ = ‖W‖_tr,

    Ω(W) = l1·s + ½·square·s² + ½·l2·‖W‖²

The dual norm of the trace norm is the largest singular value ‖V‖, so that without the last part
Ω*(V) = (‖V‖ − l1)₊²/(2·square), or the constraint ‖V‖ ≤ l1 if there is no square. With it, V is
split into A + C, the nearest A with singular values up to some level and C = l2 times the proximal
point: any such A proves an upper bound of Ω*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from .._base.typing import Array, BoolArray
from .base import BoundPenalty, Penalty, number
from .separable import NoPenalty, Separable

_EPS = float(np.finfo(float).eps)
_WORTH_A_GRAM = 32  # singular values, from which the largest come from a Gram; safeguard
_KEEPS_DIGITS = 1e-4  # share of ‖W‖ that such a value must have; safeguard: 8 digits are left
_ROUNDING = 4.0  # eps per row and column, the error of a singular value; safeguard


class Factors(NamedTuple):
    """W = U diag(σ) Vᵀ with σ > 0: columns of U, and rows of Vᵀ."""

    left: Array
    values: Array
    right: Array

    @property
    def matrix(self) -> Array:
        """W."""
        return (self.left * self.values) @ self.right


def _above(matrix: Array, level: float) -> Factors:
    """The singular values above a level, and their vectors.

    Of large matrices only those are computed, from the smaller Gram matrix. A square keeps half of
    the digits of a singular value that is far below the largest one: not where that would show.
    """
    least = min(matrix.shape)
    if least < _WORTH_A_GRAM or not level >= _KEEPS_DIGITS * float(np.linalg.norm(matrix)):
        u, sigma, v = np.linalg.svd(matrix, full_matrices=False)
        rank = int(np.count_nonzero(sigma > level))
        return Factors(u[:, :rank], sigma[:rank], v[:rank])
    long = matrix if matrix.shape[1] == least else matrix.T
    squares, vectors = linalg.eigh(
        long.T @ long, subset_by_value=(level * level, np.inf), overwrite_a=True, check_finite=False
    )
    values, right = np.sqrt(squares[::-1]), vectors[:, ::-1]
    left = (long @ right) / values
    return Factors(left, values, right.T) if long is matrix else Factors(right, values, left.T)


@dataclass(frozen=True, eq=False)
class SingularValues(BoundPenalty):
    """l1·Σσ + ½·square·(Σσ)² + ½·l2·Σσ² over the singular values of W; of a vector, σ = ‖w‖."""

    l1: float
    square: float
    l2: float
    shape: tuple[int, ...]

    def __add__(self, other: BoundPenalty) -> SingularValues:
        if isinstance(other, SingularValues):
            sums = {name: getattr(self, name) + getattr(other, name) for name in _FACTORS}
            return replace(self, **sums)
        form = other.function_of_norm
        if form is None or form.has_constraints or form.makes_zeros:
            return NotImplemented  # the conjugate of such a sum is not known
        return replace(self, l2=self.l2 + float(form.l2[0]))

    __radd__ = __add__

    def times(self, factor: float) -> SingularValues:
        """Factor times all parts."""
        return replace(self, **{name: factor * getattr(self, name) for name in _FACTORS})

    def value(self, w: Array) -> float:
        """l1·s + ½·square·s² + ½·l2·‖W‖²."""
        if not np.isfinite(w).all():
            return np.inf
        s = self._sum(w)
        return self.l1 * s + 0.5 * self.square * s * s + 0.5 * self.l2 * float(np.vdot(w, w))

    def _matrix(self, w: Array) -> Array:
        return w[:, None] if w.ndim == 1 else w

    def _sum(self, w: Array) -> float:
        return float(spectrum(self._matrix(w)).sum())

    # The dual ----------------------------------------------------------------------------------

    def top(self, v: Array, margins: float = 1.0) -> float:
        """The largest singular value plus so many times its possible rounding: never too small."""
        d, k = self._matrix(v).shape
        largest = float(spectrum(self._matrix(v)).max(initial=0.0))
        return largest * (1.0 + margins * _ROUNDING * _EPS * (d + k))

    def dual_norm(self, v: Array) -> float | None:
        """‖V‖/l1; None without an l1 part, which alone makes W = 0 a solution."""
        return self.top(v) / self.l1 if self.l1 > 0 else None

    @property
    def quadratic_floor(self) -> float:
        """square + l2, as Σσ ≥ ‖W‖."""
        return self.square + self.l2

    def by_feature(self, w: Array, v: Array) -> Array:
        """The term of the whole matrix, the only group; inf outside dom Ω*.

        With m = (‖A‖ − l1)₊/square it is ½·square·(s − m)² + (l1 + square·m)·s − A·W, beside
        ½‖√l2·W − C/√l2‖²; the difference is never negative, because A·W ≤ ‖A‖·s.
        """
        if not (np.isfinite(w).all() and np.isfinite(v).all()):
            return np.array([np.inf])
        top, a, c = self._split(v)
        if top > self.l1 and self.square == 0:
            return np.array([np.inf])
        s = self._sum(w)
        wanted = max(top - self.l1, 0.0) / self.square if self.square > 0 else s
        term = 0.5 * self.square * (s - wanted) ** 2
        term += max(max(top, self.l1) * s - float(np.vdot(a, w)), 0.0)
        if self.l2 > 0:
            rest = np.sqrt(self.l2) * w - c / np.sqrt(self.l2)
            term += 0.5 * float(np.vdot(rest, rest))
        return np.array([term])

    def _split(self, v: Array) -> tuple[float, Array, Array]:
        """V = A + C for the quadratic part, if there is one, and a bound of ‖A‖."""
        if self.l2 == 0:
            return self.top(v), v, np.zeros_like(v)
        c = self.l2 * replace(self, l2=0.0).times(1.0 / self.l2).prox(v / self.l2, 1.0)
        a = v - c
        top = self.top(a)
        if self.square == 0 and top > self.l1:  # by rounding: C takes it
            a = a * (self.l1 / self.top(a, 2.0))
            top, c = min(top, self.l1), v - a
        return top, a, c

    def shrink(self, v: Array) -> float:
        """l1/‖V‖, at most 1; 1 with another part, whose conjugate is finite everywhere."""
        return 1.0 if self.l2 > 0 or self.square > 0 else self._into_ball(v)

    def shares(self, v: Array) -> set[float]:
        """Also the largest scale with ‖V‖ ≤ l1: beyond it Ω* is finite but may be huge."""
        largest = self.shrink(v)
        return {largest, self._into_ball(v)} if self.l1 > 0 else {largest}

    def _into_ball(self, v: Array) -> float:
        top = self.top(v, 2.0)
        return 1.0 if top <= self.l1 else self.l1 / top

    # The proximal point --------------------------------------------------------------------------

    def prox(self, w: Array, step: float) -> Array:
        """U max(σ − t, 0) Vᵀ/(1 + step·l2)."""
        return self.shrunk(w, step).matrix.reshape(w.shape)

    def shrunk(self, w: Array, step: float) -> Factors:
        """The proximal point by its factors: its singular values are (σ − t)₊/(1 + step·l2)."""
        matrix, e = self._matrix(w), 1.0 + step * self.l2
        if self.square == 0:
            found = _above(matrix, step * self.l1)
            return found._replace(values=(found.values - step * self.l1) / e)
        u, sigma, v = np.linalg.svd(matrix, full_matrices=False)
        left = np.maximum(sigma - self._level(sigma, step), 0.0) / e
        rank = int(np.count_nonzero(left))
        return Factors(u[:, :rank], left[:rank], v[:rank])

    def _level(self, sigma: Array, step: float) -> float:
        """t = step·(l1 + square·Σ(σ − t)₊/e), e = 1 + step·l2: exact, from the sorted σ."""
        if self.square == 0 or not sigma.size:
            return step * self.l1
        e = 1.0 + step * self.l2
        count = np.arange(1, sigma.size + 1)
        levels = (
            step * (self.l1 * e + self.square * np.cumsum(sigma)) / (e + step * self.square * count)
        )
        above = np.flatnonzero(sigma > levels)  # a beginning of the list: the levels first fall
        return float(levels[above[-1]]) if above.size else float(step * self.l1)

    def nearest_subgradient(self, at: Factors, v: Array) -> Array:
        """The V of ∂Ω(W) nearest to a given one: t·(U₀V₀ᵀ + N) + l2·W, t = l1 + square·s, ‖N‖ ≤ 1.

        N is orthogonal to W on both sides.
        """
        level = self.l1 + self.square * float(at.values.sum())
        rest = self._matrix(v) - self.l2 * at.matrix
        across = rest - at.left @ (at.left.T @ rest)
        across -= (across @ at.right.T) @ at.right
        beyond = _above(across, level)
        across -= (beyond.left * (beyond.values - level)) @ beyond.right
        fixed = level * (at.left @ at.right) + self.l2 * at.matrix
        return (fixed + across).reshape(v.shape)

    # What kind of penalty it is -----------------------------------------------------------------

    @property
    def free(self) -> BoolArray:
        """No coefficient."""
        return np.zeros(self.shape, dtype=bool)

    @property
    def singular_values(self) -> SingularValues:  # type: ignore[override]
        """The penalty itself."""
        return self

    @property
    def function_of_norm(self) -> Separable | None:
        """The same form if W is a vector: its only singular value is its length."""
        if len(self.shape) > 1 and min(self.shape) > 1:
            return None
        return Separable(np.array([self.l1]), np.array([self.square + self.l2]))

    @property
    def makes_zeros(self) -> bool:
        """Whether singular values become zero."""
        return self.l1 > 0 or self.square > 0


_FACTORS = ("l1", "square", "l2")


class TraceNorm(Penalty):
    r"""The sum of the singular values of W, rows features and columns outputs: low rank.

    .. math:: \|W\|_{\mathrm{tr}} = \sum_i \sigma_i(W), \qquad
              \tfrac12\|W\|_{\mathrm{tr}}^2 \text{ if squared}

    Outputs are then predicted from a few directions of the features. The rank falls as alpha grows,
    and W = 0 from the alpha on that is the largest singular value of the slope at W = 0. With one
    output it is the length ‖w‖₂. It lowers the rank and does not remove single features or outputs:
    a matrix of rank one may have no zero at all.

    Parameters
    ----------
    squared : bool, default=False
        Penalise half the square of the norm. Both trace the same models: the plain norm at alpha is
        the squared one at alpha/‖W‖_tr.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> W = np.diag([3.0, 1.0])
    >>> mm.TraceNorm().value(W), mm.TraceNorm(squared=True).value(W)
    (4.0, 8.0)
    >>> mm.TraceNorm().prox(W, 1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    proved = True

    couples_scores = True

    def __init__(self, squared: bool = False) -> None:
        self.squared = squared

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """α times the norm, or half its square."""
        if not isinstance(self.squared, bool | np.bool_):
            raise ValueError(f"squared of TraceNorm must be True or False, not {self.squared!r}.")
        if alpha == 0:
            return NoPenalty().bind(n_features)
        shape = (int(n_features),) if np.ndim(n_features) == 0 else tuple(n_features)
        l1, square = (0.0, float(alpha)) if self.squared else (float(alpha), 0.0)
        return SingularValues(l1, square, 0.0, shape)

    def formula(self, factor: float = 1.0) -> str:
        """factor·‖w‖_tr, or factor·½‖w‖²_tr."""
        return f"{number(factor)}{'½‖w‖²_tr' if self.squared else '‖w‖_tr'}"


def spectrum(matrix: Array) -> Array:
    """The singular values of a matrix, in decreasing order."""
    if not matrix.size:
        return np.zeros(0)
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=float)
