"""Mehrotra's method for k scores a row that are coupled by risers.

minimise Σ massᵢ·ℓ(zᵢ) + Ω(W),   z = offset + X W + b,   W = (d, k)

The rows know the risers of ℓ (see `RowRises`). Eliminating these leaves, for every row, a matrix
Hᵢ = diag(groundᵢ) + the Laplacian of the nonnegative edgesᵢ between its scores, and one system in W
and b,

    (Σ massᵢ·xᵢxᵢᵀ ⊗ Hᵢ + diag(l2 + rates of Ω)) ΔW = −gradient.

A Laplacian is a sum of positive terms, so that nothing cancels where rates grow without limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..._base.typing import Array
from ...losses.curvature import Coupled
from ...penalties import Separable
from ...problem.objective import Objective, Point
from ..base import Control
from ..smooth.newton_scores import ScoresCholesky
from ..smooth.newton_systems import Step
from .central_path import CentralPath
from .slope_rises import Rises, of_penalty

_PINNED = 1e200  # curvature of a coefficient whose two bounds are equal; safeguard


class RowRises(Protocol):
    """The risers of the loss of all rows, and the variables that belong to single rows."""

    parts: list[Rises]

    def begin(self, z: Array, room: float) -> tuple[float, float]:
        """Start well inside; returns the typical size of a slack, and of a slope."""

    def system(self, z: Array) -> Coupled:
        """Newton's equations at μ = 0, reduced to H Δz."""

    def pulled(self, z: Array) -> Array:
        """The slopes in z after a step with Δz = 0."""

    def follow(self, dz: Array) -> None:
        """The change of the risers and of the rows' own variables, due to a step of z."""

    def move(self, primal: float) -> None:
        """Move the rows' own variables."""

    @property
    def theta(self) -> Array:
        """Multipliers of the rows, as the risers represent them."""


Solve = Callable[..., Step]


class ScoresInterior(CentralPath[Solve, Step]):
    """A point strictly inside all bounds, and the step that moves it along the central path."""

    nearest = 0.95  # measured: quantiles of 5000 rows with outliers take half the steps of 0.9995

    def __init__(
        self,
        objective: Objective,
        form: Separable,
        rows: RowRises,
        start: Point,
        control: Control,
        room: float = 1.0,
    ) -> None:
        self.objective, self.form, self.rows = objective, form, rows
        d, k = objective.coef_shape
        self.w, self.b = form.project(start.w).copy(), np.array(start.b, dtype=float)
        self._cholesky = ScoresCholesky(objective, form, control)
        flat = _flattened(form)
        self._features = of_penalty(flat, 1.0 / objective.n_samples)
        self._pinned = np.zeros((d, k), dtype=bool)
        if flat.bounds is not None:
            self._pinned = (flat.bounds[0] == flat.bounds[1]).reshape(d, k)
        self.all_lines = not form.l2.any()
        self.refresh()
        slack, steep = rows.begin(self.z, room)
        size = np.sqrt(np.where(objective.spread > 0, objective.spread, 1.0))
        wide = np.repeat(slack / size, k)
        self._features.begin(self.w.ravel(), wide, np.repeat(steep * size, k))
        self._parts = [*rows.parts, *([self._features] if self._features.count else [])]
        self._begin_path()

    def refresh(self) -> None:
        """The scores, recomputed from the coefficients."""
        self.z = self.objective.scores(self.w, self.b)

    @property
    def theta(self) -> Array:
        """Multipliers of the rows."""
        return self.rows.theta

    def model(self) -> tuple[Array, Array]:
        """The coefficients, with those that stop at zero or at a bound set there, and b."""
        w, features = self.w.copy(), self._features
        if features.count:
            assert features.where is not None
            stops = features.stays()
            w.ravel()[features.where[stops]] = features.knot[stops]
        return self.form.project(w), self.b

    def _system(self) -> Solve:
        curvature = self.rows.system(self.z).weighted(self.objective.mass)
        stiff = self._features.system(self.w.ravel())[0].reshape(self.w.shape)
        stiff[self._pinned] = _PINNED
        return self._cholesky.solver(curvature, stiff)

    def _solve(self, system: Solve) -> Step:
        objective = self.objective
        u = objective.weigh(self.rows.pulled(self.z))
        gradient = objective.backward(u) + self.form.l2 * self.w
        gradient += self._features.pulled(self.w.ravel()).reshape(self.w.shape)
        gradient[self._pinned] = 0.0
        step = system(gradient, u.sum(axis=0))
        self.rows.follow(step.dz)
        if self._features.count:
            self._features.follow(step.dw.ravel())
        return step

    def _move(self, step: Step, primal: float) -> None:
        self.w += primal * step.dw
        self.b += primal * step.db
        self.z += primal * step.dz
        self.rows.move(primal)


def _flattened(form: Separable) -> Separable:
    """The penalty of all coefficients in one row."""
    bounds = None
    if form.bounds is not None:
        bounds = form.bounds[0].ravel(), form.bounds[1].ravel()
    return Separable(form.l1.ravel(), form.l2.ravel(), bounds)
