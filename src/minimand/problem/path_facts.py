"""What the problems of a path, which differ in their penalty only, keep for each other."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from .._base.typing import Array, BoolArray, IntArray
from ..design import Design, Reach
from ..penalties import BoundPenalty

EPS = float(np.finfo(float).eps)
_SAFE = 1.0 - 1e-9  # factor; safeguard against the rounding of a bound
_MOST_PICKED = 0.125  # share of the columns, above which a pass over all of them is used; safeguard


class Problem(Protocol):
    """The part of an objective that this module uses."""

    @property
    def penalty(self) -> BoundPenalty:
        """The penalty."""

    @property
    def design(self) -> Design:
        """The data."""

    @property
    def row_mass(self) -> Array:
        """Weights of the rows."""

    @property
    def n_features(self) -> int:
        """Columns of the design."""

    @property
    def root_spread(self) -> Array:
        """Root mean square of every column."""

    @property
    def column_norms(self) -> Array:
        """Sizes of the columns, which are centred where there is an intercept."""

    def row_mean(self, values: Array) -> Any:
        """Σ massᵢ·valuesᵢ over rows."""

    def backward(self, u: Array) -> Array:
        """Xᵀ u."""

    def backward_on(self, columns: IntArray, u: Array) -> Array:
        """X_cᵀ u."""


class Forecast(NamedTuple):
    """The predicted next solution of a path: coefficients and slopes, extrapolated linearly."""

    w: Array
    slope: Array


class PathFacts:
    """Slopes and a forecast, kept from one problem of a path to the next."""

    def __init__(self) -> None:
        self.slopes = LastSlopes()
        self.forecast: Forecast | None = None


class LastSlopes:
    """Slopes Xᵀ(mass∘θ) without reading columns that cannot matter.

    By the Cauchy-Schwarz inequality a slope moves by at most ‖xⱼ‖·‖θ − θ'‖ (in the norm of the
    masses; xⱼ centred when Σ mass·θ = 0). If the slope of a column cannot have left the box
    |slope| ≤ l1 and its coefficient is zero, it adds nothing to the gap wherever in the box it is.
    Then its last known slope is used.
    """

    def __init__(self) -> None:
        self._theta: Array | None = None
        self._slope = np.zeros(0)  # the last slopes that were computed, by column
        self._reach = np.zeros(0)  # bounds on the distance from them to the slopes at _theta

    def of(self, objective: Problem, w: Array, theta: Array) -> tuple[Array, BoolArray | None]:
        """Slopes at θ for the certificate of a model w, and which are exact (None: all)."""
        moved = self._follow(objective, theta)
        look = moved & self._matters(objective, w)
        count = int(np.count_nonzero(look))
        picked = objective.design.access.columns is Reach.CHEAP
        if count > _MOST_PICKED * look.size or (count and not picked):
            self._slope = objective.backward(objective.row_mass * theta)
            self._reach = np.zeros_like(self._slope)
            return self._slope, None
        if count:
            places = np.flatnonzero(look)
            self._slope = self._slope.copy()
            self._slope[places] = objective.backward_on(places, objective.row_mass * theta)
            self._reach[places] = 0.0
        exact = ~(moved & ~look)
        return self._slope, None if exact.all() else exact

    def _follow(self, objective: Problem, theta: Array) -> BoolArray:
        """Update the bounds for θ; the columns whose slope has moved by more than rounding."""
        before, self._theta = self._theta, theta
        if before is None:
            self._reach = np.full(objective.n_features, np.inf)
            return np.ones(objective.n_features, dtype=bool)
        move = np.sqrt(objective.row_mean((theta - before) ** 2))
        self._reach = self._reach + objective.column_norms * move
        rounding = 2 * EPS * np.sqrt(objective.row_mean(theta * theta))
        return self._reach > rounding * objective.root_spread

    def _matters(self, objective: Problem, w: Array) -> BoolArray:
        """Columns whose slope may be outside the box, or matters inside it too."""
        form = objective.penalty.sum_over_features
        if form is None or not self._slope.size:
            return np.ones(objective.n_features, dtype=bool)
        outside = np.abs(self._slope) + self._reach > _SAFE * form.l1
        return outside | (w != 0) | (form.l1 == 0)
