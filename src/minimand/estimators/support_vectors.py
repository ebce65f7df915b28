"""Support vectors, margins and slacks of a fitted model, from its dual point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.row_blocks import in_parts
from .._base.typing import Array, BoolArray, IntArray
from ..losses import Loss, Margin
from ..problem.objective import Objective
from ..problem.slot import Slot, as_table
from ..solvers import Solution
from .inputs.matrix import matrix_of
from .kernel_machines.expansion import Expansion


class _Rows(NamedTuple):
    """Where the samples of an objective are among those of ``fit``; None: they are the same."""

    kept: IntArray | None
    n_samples: int

    def for_all(self, values: Any, empty: float) -> Any:
        """The values for all samples of ``fit``, ``empty`` for those that were left out."""
        if self.kept is None:
            return values
        whole = np.full((self.n_samples, *values.shape[1:]), empty, dtype=values.dtype)
        whole[self.kept] = values
        return whole


@dataclass(frozen=True, eq=False)
class Places:
    """Margins of the samples of positive weight, and the margin from which on the loss is zero."""

    edge: float  # 1 for the hinge
    loss: Margin
    present: Array  # y·z, a column per score
    slopes: Array  # y·θ, a column per score
    gaps: Array  # of every score, or the largest
    rows: _Rows

    @property
    def margins(self) -> Array:
        """y·z, (n_samples, n_scores); NaN for samples of weight zero."""
        found: Array = self.rows.for_all(self.present, np.nan)
        return found

    @property
    def tolerance(self) -> Array:
        """A margin within this distance of the edge counts as on it.

        At an optimum (distance to the edge)·(distance of the slope from that of its piece) = 0 for
        every sample. The Fenchel-Young term bounds the product, so the smaller of the two distances
        is at most its root.
        """
        pieces = self.loss.pieces
        assert pieces is not None
        size = max(float(pieces.jumps.max()), 0.5 * float(pieces.curvatures.max()))
        root = np.empty(self.present.shape)
        for out, margins, slopes in in_parts(root, self.present, self.slopes):
            terms = self.loss.fenchel_young(margins, slopes, np.ones_like(margins))
            # 1 + 1e-9: factor; safeguard: rounding of the root
            np.multiply(1 + 1e-9, np.sqrt(np.maximum(terms, self.gaps) / size), out=out)
        found: Array = self.rows.for_all(root, 0.0)
        return found


class Seen(NamedTuple):
    """What a fit keeps of one of its problems and of the solution, without the data."""

    loss: Loss
    slot: Slot | None
    y: Array
    z: Array
    theta: Array
    multipliers: Array  # mass·θ
    factor: float | None  # of ½‖w‖²; None for other penalties
    weights: Array | None  # that a robust loss gives to its samples
    gap: float

    @classmethod
    def of(cls, objective: Objective, solution: Solution) -> Self | None:
        """None if there is no dual point."""
        certificate, z = solution.certificate, solution.point.z
        theta = certificate.dual_point
        if theta is None:
            return None
        mass = objective.row_mass if theta.ndim == 1 else objective.row_mass[:, None]
        return cls(
            objective.loss,
            objective.slot,
            objective.y,
            z,
            theta,
            mass * theta if objective.share == 1.0 else objective.share * (mass * theta),
            _factor(objective),
            None if objective.loss.quadratic else objective.loss.sample_weights(z, objective.y),
            max(certificate.gap, certificate.rounding),
        )


@dataclass(frozen=True, eq=False)
class Training:
    """What a fit keeps about its samples; samples of weight zero get zeros or NaN.

    Tables have a column per score. With one class against one other they have a column per other
    class, as in scikit-learn's SVC.
    """

    multipliers: Array  # mass·θ, (n_samples, n_scores)
    alpha: float | None  # factor of ½‖w‖²; None for other penalties
    places: Places | None = None  # None where the loss has no margin
    vectors: Any = None  # rows of φ(X) with a nonzero multiplier; None if the loss is flat nowhere
    weights: Array | None = None  # how much samples count, (n_samples, n_scores); None: all fully

    @classmethod
    def of(
        cls,
        objectives: Sequence[Objective],
        solutions: list[Solution],
        weights: Array | None,
        *,
        vectors: bool = True,
    ) -> Self | None:
        """From the solutions of all scores; ``weights`` has an entry for every sample of ``fit``.

        With ``vectors``, and if the loss is flat somewhere, the rows of φ(X) with a nonzero
        multiplier are kept.
        """
        found = cls.of_seen(list(map(Seen.of, objectives, solutions)), weights)
        first = objectives[0]
        if found is None or not vectors or first.loss.quadratic or not _has_flat_part(first):
            return found
        support = np.asarray(found.multipliers.any(axis=1))
        if weights is not None and not weights.all():
            support = support[weights > 0]
        design = first.design if first.slot is None else first.slot.design
        return replace(found, vectors=matrix_of(design.rows(np.flatnonzero(support))))

    @classmethod
    def of_seen(cls, problems: Sequence[Seen | None], weights: Array | None) -> Self | None:
        """What a fit keeps, without the rows of φ(X)."""
        if None in problems:
            return None
        known = cast("list[Seen]", problems)
        first = known[0]
        table = _table(known, list(map(attrgetter("multipliers"), known)))
        rows = _Rows(None, table.shape[0])
        if weights is not None and not weights.all():
            rows = _Rows(np.flatnonzero(weights), weights.size)
        multipliers = rows.for_all(table, 0.0)
        if first.loss.quadratic:  # no margin, and every sample has weight 1
            return cls(multipliers, first.factor)
        counted = [problem.weights for problem in known if problem.weights is not None]
        return cls(
            multipliers,
            first.factor,
            _places(known, rows),
            weights=rows.for_all(_table(known, counted), np.nan) if counted else None,
        )


def _table(problems: list[Seen], parts: list[Array]) -> Array:
    """The numbers of all problems, a column per score."""
    first = parts[0]
    if first.ndim == 2:
        return first
    if len(parts) == 1 and problems[0].slot is None:
        return first[:, None]
    return as_table([problem.slot for problem in problems], parts)


def _places(problems: list[Seen], rows: _Rows) -> Places | None:
    """Margins and slopes of all scores; None if the loss has no margin."""
    edge, loss = edge_of(problems[0].loss), problems[0].loss.snapshot()
    if edge is None:
        return None
    assert isinstance(loss, Margin)
    margins = _table(problems, [p.y * p.z for p in problems])
    slopes = _table(problems, [p.y * p.theta for p in problems])
    gaps = np.array([p.gap for p in problems])
    if problems[0].slot is not None:  # a column holds samples of several problems
        gaps = gaps.max(keepdims=True)
    return Places(edge, loss, margins, slopes, gaps, rows)


def _has_flat_part(objective: Objective) -> bool:
    """Whether the loss is flat somewhere, so that samples may have the multiplier 0."""
    if objective.n_scores > 1:
        return False
    plq = objective.kinks or objective.loss.plq(objective.y[:1])
    return plq is not None and bool(((plq.pieces.slopes == 0) & (plq.pieces.curvatures == 0)).any())


def _factor(objective: Objective) -> float | None:
    form = objective.penalty.function_of_norm
    l2 = None if form is None else form.ridge
    return objective.share * float(l2[0]) if l2 is not None and l2[0] > 0 else None


def edge_of(loss: Loss) -> float | None:
    """The margin from which on a loss is zero, 1 for the hinge; None if no positive one exists."""
    pieces = loss.pieces if isinstance(loss, Margin) else None
    if pieces is None or pieces.slopes[-1] != 0 or pieces.curvatures[-1] != 0:
        return None
    edge = float(pieces.knots[-1])
    return edge if edge > 0 else None


@dataclass(frozen=True, eq=False, repr=False)
class MarginPoints:
    """Where the samples lie: on the margin, y·z = 1, inside it, y·z < 1, or beyond, y·z > 1.

    Exactly one of the three holds for each sample of positive weight.

    Attributes
    ----------
    on, inside, beyond : ndarray of bool, of shape (n_samples,) or (n_samples, n_classes)
        A sample whose margin differs from 1 by at most `tolerance` is on it.
    margins : ndarray of the same shape
        y·z, with y = ±1; NaN for samples of weight 0.
    tolerance : ndarray of the same shape
        √p, where p is the larger of the gap and the sample's product α·(y·z − 1) of complementary
        slackness, with α as a share of C. At least one factor of a product is at most its root. So
        a margin within √p of 1 cannot be distinguished from 1, and for any other margin the
        multiplier is within √p of 0 or C. A smaller ``tol`` of the fit makes √p smaller.
    """

    on: BoolArray
    inside: BoolArray
    beyond: BoolArray
    margins: Array
    tolerance: Array

    def __repr__(self) -> str:
        counts = {"on": self.on, "inside": self.inside, "beyond": self.beyond}
        words = ", ".join(f"{name}: {int(mask.sum())}" for name, mask in counts.items())
        return f"MarginPoints({words}; tolerance={np.max(self.tolerance):.1e})"


class SupportVectors:
    """The attributes that follow from multipliers, for any loss."""

    def _trained(self, name: str) -> Training:
        try:
            check_is_fitted(self)
        except ValueError as error:  # NotFittedError; hasattr expects an AttributeError
            raise AttributeError(f"{type(self).__name__} has no {name} before fit.") from error
        found: Training | None = getattr(self, "_training", None)
        if found is None:
            raise AttributeError(
                f"{name} needs the multipliers of a fit: call fit, models of a path have none for "
                "this loss."
            )
        return found

    def _expanded(self) -> Expansion | None:
        """The model as a sum of kernel functions; None if it is no kernel machine."""
        found: Expansion | None = self.__dict__.get("_expansion")
        return found if found is not None and found.coef is self.__dict__.get("coef_") else None

    @property
    def support_(self) -> IntArray:
        """Indices of the samples whose multiplier is not zero for at least one class.

        Of a kernel machine they are the samples in f(x) = Σ dual_coef·k(xᵢ, x) + intercept.
        """
        expansion = self._expanded()
        if expansion is not None:
            return expansion.numbers
        found = self._trained("support_").multipliers
        return np.flatnonzero(found.any(axis=1))

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the support vectors, (n_scores, n_support), with w = Σ dual_coef·x.

        Of a kernel machine those of f(x) = Σ dual_coef·k(xᵢ, x) + intercept, rows `support_`.
        """
        expansion = self._expanded()
        if expansion is not None:
            return expansion.shown.T
        found = self._trained("dual_coef_")
        if found.alpha is None:
            raise AttributeError(
                "dual_coef_ needs the penalty L2, with one weight for all features: under another, "
                "w is no combination of samples."
            )
        return -found.multipliers[self.support_].T / found.alpha

    @property
    def support_vectors_(self) -> Any:
        """The samples whose multiplier is not zero, (n_support, n_features)."""
        expansion = self._expanded()
        if expansion is not None:
            return expansion.given
        found = self._trained("support_vectors_").vectors
        if found is None:
            raise AttributeError(
                "support_vectors_ needs a loss that is flat somewhere, such as Hinge() or "
                "EpsilonInsensitive(), and the samples of a fit, which models of a path do not "
                "keep: use X[support_]."
            )
        return found

    @property
    def sample_weights_(self) -> Array:
        """How much every sample counts, from 0 to 1, (n_samples,) or (n_samples, n_classes)."""
        found = self._trained("sample_weights_").weights
        if found is None:
            raise AttributeError(
                "sample_weights_ needs a robust loss, such as Huber(), GemanMcClure() or "
                "TruncatedSquared(): with this one every sample counts by its residual alone."
            )
        weights: Array = _flat(found)
        return weights


class Margins(SupportVectors):
    """The attributes of a classifier whose loss is zero beyond a margin."""

    coef_: Array

    def _places(self, name: str) -> Places:
        found = self._trained(name).places
        if found is None:
            raise AttributeError(
                f"{name} needs a loss that vanishes beyond a margin, such as Hinge() or "
                "SquaredHinge()."
            )
        return found

    @property
    def margin_(self) -> Any:
        """Distance 1/‖w‖ from the plane to the margin; inf for w = 0."""
        edge = self._places("margin_").edge
        with np.errstate(divide="ignore"):
            distance = edge / np.linalg.norm(self.coef_, axis=1)
        return float(distance[0]) if distance.size == 1 else distance

    @property
    def slack_(self) -> Array:
        """max(0, 1 − y·z) of every sample, (n_samples,) or (n_samples, n_classes)."""
        found = self._places("slack_")
        slack: Array = _flat(np.maximum(found.edge - found.margins, 0.0))
        return slack

    @property
    def margin_points_(self) -> MarginPoints:
        """Which samples lie on the margin, inside it and beyond it."""
        found = self._places("margin_points_")
        margins, tolerance = found.margins, found.tolerance
        ahead = margins - found.edge
        on = np.abs(ahead) <= tolerance
        return MarginPoints(
            on=_flat(on),
            inside=_flat(~on & (ahead < 0)),
            beyond=_flat(~on & (ahead > 0)),
            margins=_flat(margins),
            tolerance=_flat(tolerance),
        )


def _flat(columns: Any) -> Any:
    return columns[:, 0] if columns.shape[1] == 1 else columns
