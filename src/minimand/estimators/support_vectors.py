"""Support vectors, margins and slacks of a fitted model: what its dual point says of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, BoolArray, IntArray
from ..losses import Loss, Margin
from ..objective import Objective
from ..solvers import Solution


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit keeps of its samples; those of weight zero had no part in it."""

    multipliers: Array  # mass·θ, (n_samples, n_scores)
    alpha: float | None  # factor of ½‖w‖²; None where the penalty is another
    edge: float | None = None  # the margin beyond which the loss vanishes; None: there is none
    margins: Array | None = None  # y·z, (n_samples, n_scores); NaN for samples of weight zero
    tolerance: Array | None = None  # how far a margin may be from the edge and count as on it

    @classmethod
    def of(
        cls, objectives: list[Objective], solutions: list[Solution], weights: Array | None
    ) -> Self:
        """From the solutions of all scores; ``weights`` are those of all samples."""
        first = objectives[0]
        kept = None if weights is None or weights.all() else np.flatnonzero(weights)
        n = first.n_samples if weights is None else weights.size
        points = [s.certificate.dual_point for s in solutions]
        alpha = _factor(first)
        if any(point is None for point in points):
            return cls(np.full((n, len(points)), np.nan), alpha)
        theta = np.stack([first.mass * point for point in points if point is not None], axis=1)
        multipliers = _spread(theta, kept, n, 0.0)
        edge = edge_of(first.loss)
        if edge is None:
            return cls(multipliers, alpha)
        margins = np.stack([o.y * s.point.z for o, s in zip(objectives, solutions)], axis=1)
        tolerance = np.array([edge_tolerance(o, s) for o, s in zip(objectives, solutions)])
        return cls(multipliers, alpha, edge, _spread(margins, kept, n, np.nan), tolerance)


def _factor(objective: Objective) -> float | None:
    form = objective.penalty.separable
    if form is None or form.l1.any() or form.bounds is not None:
        return None
    factor = float(form.l2[0])
    return factor if factor > 0 and (form.l2 == factor).all() else None


def _spread(values: Array, kept: IntArray | None, n_samples: int, empty: float) -> Array:
    """Values of the samples that were kept, among those that were not."""
    if kept is None:
        return values
    whole = np.full((n_samples, *values.shape[1:]), empty)
    whole[kept] = values
    return whole


def edge_of(loss: Loss) -> float | None:
    """The margin from which on a loss vanishes, 1 for the hinge; None if there is none above 0."""
    pieces = loss.pieces if isinstance(loss, Margin) else None
    if pieces is None or pieces.slopes[-1] != 0 or pieces.curvatures[-1] != 0:
        return None
    edge = float(pieces.knots[-1])
    return edge if edge > 0 else None


def edge_tolerance(objective: Objective, solution: Solution) -> float:
    """The root of the gap: of a product that is below the gap, one factor is below the root."""
    pieces = objective.loss.pieces  # type: ignore[attr-defined]  # it has an edge
    size = max(float(pieces.jumps.max()), float(pieces.curvatures.max()))
    found = solution.certificate
    return float(np.sqrt(max(found.gap, found.rounding) / size))


@dataclass(frozen=True, eq=False, repr=False)
class MarginPoints:
    """Where the samples lie: on the margin, y·z = 1, inside it, y·z < 1, or beyond, y·z > 1.

    Of the three, one holds for each sample that has a weight.

    Attributes
    ----------
    on, inside, beyond : ndarray of bool, of shape (n_samples,) or (n_samples, n_classes)
        A margin within `tolerance` of 1 is on it.
    margins : ndarray of the same shape
        y·z, with y = ±1; NaN for samples of weight 0.
    tolerance : float
        Complementary slackness, α·(y·z − 1) = 0, is certified up to the gap; so one factor is
        below the root of the gap, and a margin nearer to 1 than that cannot be told from 1.
        A smaller ``tol`` of the fit makes it smaller.
    """

    on: BoolArray
    inside: BoolArray
    beyond: BoolArray
    margins: Array
    tolerance: float

    def __repr__(self) -> str:
        counts = {"on": self.on, "inside": self.inside, "beyond": self.beyond}
        words = ", ".join(f"{name}: {int(mask.sum())}" for name, mask in counts.items())
        return f"MarginPoints({words}; tolerance={self.tolerance:.1e})"


class SupportVectors:
    """The attributes that follow from multipliers, for any loss."""

    def _trained(self, name: str) -> Training:
        try:
            check_is_fitted(self)
        except ValueError as error:  # NotFittedError; hasattr must be able to ask
            raise AttributeError(f"{type(self).__name__} has no {name} before fit.") from error
        found: Training | None = getattr(self, "_training", None)
        if found is None or np.isnan(found.multipliers).any():
            raise AttributeError(
                f"{name} needs the multipliers of a fit: call fit, a model of a path has none."
            )
        return found

    @property
    def support_(self) -> IntArray:
        """Indices of the samples whose multiplier is not zero, for some class at least."""
        found = self._trained("support_").multipliers
        return np.flatnonzero(found.any(axis=1))

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the support vectors, (n_scores, n_support), with w = Σ dual_coef·x."""
        found = self._trained("dual_coef_")
        if found.alpha is None:
            raise AttributeError(
                "dual_coef_ needs the penalty L2, with one weight for all features: under another, "
                "w is no combination of samples."
            )
        return -found.multipliers[self.support_].T / found.alpha


class Margins(SupportVectors):
    """The attributes of a classifier whose loss vanishes beyond a margin."""

    coef_: Array

    def _edged(self, name: str) -> tuple[float, Array, Any]:
        found = self._trained(name)
        if found.edge is None or found.margins is None:
            raise AttributeError(
                f"{name} needs a loss that vanishes beyond a margin, such as Hinge() or "
                "SquaredHinge()."
            )
        return found.edge, found.margins, found.tolerance

    @property
    def margin_(self) -> Any:
        """Distance 1/‖w‖ from the plane to the margin; inf for w = 0."""
        edge = self._edged("margin_")[0]
        with np.errstate(divide="ignore"):
            distance = edge / np.linalg.norm(self.coef_, axis=1)
        return float(distance[0]) if distance.size == 1 else distance

    @property
    def slack_(self) -> Array:
        """max(0, 1 − y·z) of every sample, (n_samples,) or (n_samples, n_classes)."""
        edge, margins, _ = self._edged("slack_")
        return _flat(np.maximum(edge - margins, 0.0))

    @property
    def margin_points_(self) -> MarginPoints:
        """Which samples lie on the margin, inside it and beyond it."""
        edge, margins, tolerance = self._edged("margin_points_")
        ahead = margins - edge
        return MarginPoints(
            on=_flat(np.abs(ahead) <= tolerance),
            inside=_flat(ahead < -tolerance),
            beyond=_flat(ahead > tolerance),
            margins=_flat(margins),
            tolerance=float(np.max(tolerance)),
        )


def _flat(columns: Any) -> Any:
    return columns[:, 0] if columns.shape[1] == 1 else columns
