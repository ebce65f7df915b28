"""Constraints: penalties that are 0 where they hold and infinite elsewhere, for every alpha.

In formulas I(…) is 0 where … holds and ∞ elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike
from .ball import Ball, Size, absolute, square
from .base import Penalty
from .separable import Separable


class Constraint(Penalty):
    """A penalty that holds for every alpha, 0 included."""

    proved = True

    def words(self, factor: float = 1.0) -> str:
        """The formula, also for a factor of 0."""
        return self.formula()


class NonNegative(Constraint):
    """wⱼ ≥ 0 for every feature.

    Notes
    -----
    wⱼ = 0 is optimal iff ∂ⱼL ≥ 0, L the mean loss; wⱼ > 0 ⇒ ∂ⱼL = 0.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> X, y = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]]), np.array([1.0, 3.0, -2.0])
    >>> mm.Regressor("squared", mm.NonNegative(), intercept=False).fit(X, y).coef_
    array([1., 0.])
    """

    def bind(self, n_features: Any, alpha: float = 1.0) -> Separable:
        """lo = 0, hi = ∞."""
        return _within(np.zeros(n_features), np.full(n_features, np.inf))

    def formula(self, factor: float = 1.0) -> str:
        """I(w ≥ 0)."""
        return "I(w ≥ 0)"


class Box(Constraint):
    """loⱼ ≤ wⱼ ≤ hiⱼ.

    Parameters
    ----------
    lo, hi : float or array-like of shape (n_features,), default=0 and 1
        One number for all features or one for each; -inf and inf leave a side open.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Box(-1.0, 1.0).value([0.5, -1.0])
    0.0
    >>> mm.Box(-1.0, 1.0).value([0.5, -2.0])
    inf
    >>> (mm.L2() + mm.Box(0.0, 1.0)).prox([3.0, -1.0, 0.5], step=1.0)
    array([1.  , 0.  , 0.25])
    """

    def __init__(self, lo: ArrayLike = 0.0, hi: ArrayLike = 1.0) -> None:
        self.lo = lo
        self.hi = hi

    def bind(self, n_features: Any, alpha: float = 1.0) -> Separable:
        """The bounds, one per feature."""
        lo, hi = _limits(self.lo, n_features, "lo"), _limits(self.hi, n_features, "hi")
        wrong = (lo > hi) | (lo == np.inf) | (hi == -np.inf)
        if wrong.any():
            j = int(np.argwhere(wrong)[0, 0])
            low, high = float(lo[wrong][0]), float(hi[wrong][0])
            raise ValueError(
                f"lo and hi of Box leave feature {j} no value: lo={low:g}, hi={high:g}; "
                "make lo the smaller one."
            )
        return _within(lo, hi)

    def formula(self, factor: float = 1.0) -> str:
        """I(lo ≤ w ≤ hi)."""
        lo, hi = (_shown(x, name) for x, name in ((self.lo, "lo"), (self.hi, "hi")))
        return f"I({lo} ≤ w ≤ {hi})"


class _BallConstraint(Constraint):
    """Base of both balls: a radius and a norm."""

    def __init__(self, r: float = 1.0) -> None:
        self.r = r

    def _ball(self, n_features: Any, size: Size) -> Ball:
        is_number = isinstance(self.r, int | float | np.number) and not isinstance(self.r, bool)
        if not is_number or not np.isfinite(self.r) or self.r < 0:
            raise ValueError(
                f"r of {type(self).__name__} must be a finite number ≥ 0, not {self.r!r}."
            )
        rest = Separable(np.zeros(n_features), np.zeros(n_features))
        return Ball(rest, float(self.r), size)


class L1Ball(_BallConstraint):
    """‖w‖₁ ≤ r: the lasso in its constrained form.

    Parameters
    ----------
    r : float, default=1.0
        The radius; 0 leaves the intercept alone.

    Notes
    -----
    For some multiplier λ ≥ 0 the solution is that of ``L1()`` with alpha = λ; λ = 0 if the
    solution without a penalty lies inside.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mm.Regressor("squared", mm.L1Ball(500.0)).fit(X, y)
    >>> print(f"{abs(model.coef_).sum():.6g}", (model.coef_ != 0).sum())
    500 2
    """

    def bind(self, n_features: Any, alpha: float = 1.0) -> Ball:
        """The ball of the 1-norm."""
        return self._ball(n_features, absolute)

    def formula(self, factor: float = 1.0) -> str:
        """I(‖w‖₁ ≤ r)."""
        return f"I(‖w‖₁ ≤ {self.r:g})"


class L2Ball(_BallConstraint):
    """‖w‖₂ ≤ r: ridge in its constrained form.

    Parameters
    ----------
    r : float, default=1.0
        The radius; 0 leaves the intercept alone.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.L2Ball(5.0).prox([6.0, 8.0], step=1.0).round(12)
    array([3., 4.])
    """

    def bind(self, n_features: Any, alpha: float = 1.0) -> Ball:
        """The ball of the 2-norm."""
        return self._ball(n_features, square)

    def formula(self, factor: float = 1.0) -> str:
        """I(‖w‖₂ ≤ r)."""
        return f"I(‖w‖₂ ≤ {self.r:g})"


def _within(lo: Array, hi: Array) -> Separable:
    """A penalty of bounds only; no bounds at all if every side is open."""
    bounds = None if np.isinf(lo).all() and np.isinf(hi).all() else (lo, hi)
    return Separable(np.zeros(lo.shape), np.zeros(lo.shape), bounds)


def _limits(limit: ArrayLike, n_features: Any, name: str) -> Array:
    """One bound per feature."""
    try:
        array = np.asarray(limit, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} of Box must be a number or one per feature.") from error
    count = n_features if np.ndim(n_features) == 0 else n_features[0]
    if array.shape not in ((), (count,)):
        raise ValueError(
            f"{name} of Box must be a number or hold one per feature: expected shape "
            f"({count},), got {array.shape}."
        )
    if np.isnan(array).any():
        raise ValueError(f"{name} of Box must not be NaN; -inf and inf leave a side open.")
    beside = array[:, None] if array.ndim and np.ndim(n_features) else array
    return np.full(n_features, beside)


def _shown(limit: Any, name: str) -> str:
    """A scalar bound as a number, an array of bounds by its name."""
    return f"{limit:g}" if np.ndim(limit) == 0 else f"{name}ⱼ"
