"""Sequential minimal optimisation for kernel machines, on rows that are generated when needed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ...canonical import Box
from ...certificate import Judgement, judge
from ...certificate.finding import Dual
from ...design import Design
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, HandOver, Solver, Verdict
from ..traits import Trait
from . import costs
from .course import CORRECTIONS, Course

_EASY = 1e4  # reach up to which steps of pairs are quick; measured on iris, digits, wine, cancer


class Smo(Solver):
    """Moves pairs of dual coefficients along the direction that gains most (second order).

    f = K a is updated from rows of K in float32 and computed anew in float64 for every certificate,
    from where the steps go on: so the precision of the rows limits the speed, not the result. Rows
    are generated for samples that violate optimality, at most as many as fit into ``memory``.
    """

    name = "smo"
    null_may_do = False
    shapes = (Trait.ONE_SCORE, Trait.NO_COLUMNS)
    needs = (Trait.STRAIGHT_PIECES, Trait.SQUARED_LENGTH)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses of one or two kinks that have their minimum between them; ½‖f‖² as penalty."""
        if not box_exists(objective):
            return Verdict(
                False, f"{objective.loss!r} is not a line up and a line down around its minimum"
            )
        cost = max(_reach(objective) / _EASY, 1.0) * costs.pairs(objective)
        return Verdict(True, "straight pieces and ‖f‖²: steps of pairs", cost)

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """Rounds of row generation, each followed by exact scores."""
        box = box_of(objective)
        a = _feasible(box, self._first(objective, start, box))
        judged, f = self._judged(objective, a)
        yield judged
        target = control.target / l2_of(objective)  # the dual problem is divided by l2
        course = Course(box, a, f, self._rows(objective), control.memory)
        for _ in range(CORRECTIONS):
            a = course.advanced(target, lambda: control.expired)
            before = judged.gap
            judged, f = self._judged(objective, a)
            yield judged
            if not course.corrected(a, f, judged.gap, before, control.target):
                return

    # What differs where the rows have columns --------------------------------------------------

    def _rows(self, objective: Objective) -> Design:
        """The design without columns that gives rows of K."""
        return objective.design

    def _first(self, objective: Objective, start: Point, box: Box) -> Array:
        """The coefficients to begin with."""
        return start.w

    def _judged(self, objective: Objective, a: Array) -> tuple[Judgement, Array]:
        """The certificate of coefficients, and their exact scores."""
        return judged_coefficients(objective, a)


def judged_coefficients(objective: Objective, a: Array) -> tuple[Judgement, Array]:
    """The certificate of coefficients a with the best intercept, and their exact f = K a."""
    l2 = l2_of(objective)
    point = objective.point(a, objective.no_shift)
    f = point.z if objective.offset is None else point.z - objective.offset
    f = f.copy()
    point = recentred(objective, point) if objective.intercept else point
    dual = Dual(theta_of(objective, a), -l2 * a, image=-l2 * f)
    found = judge(objective, point, known=[dual], raw=False)
    objective.keep_product(point.w, f.copy())  # the final judgement is of the same coefficients
    return found, f


def _reach(objective: Objective) -> float:
    """How far a coefficient at its bound moves its own score, in units of the spread of targets.

    Where it is large the bounds do not help against a kernel matrix that is nearly singular, so
    that steps of pairs are slow.
    """
    box, lengths = box_of(objective), objective.design.row_lengths
    spread = 0.5 * float(box.above.max() - box.below.min())
    reach = float(np.max(np.maximum(box.high, -box.low) * lengths, initial=0.0))
    return reach / spread if spread > 0 else 0.0


def theta_of(objective: Objective, a: Array) -> Array:
    """The multipliers −l2·a/mass, in the domain of the conjugate."""
    scaled, mass = -l2_of(objective) * a, objective.mass
    theta = np.divide(scaled, mass, out=np.zeros(a.size), where=mass > 0)
    return objective.loss.into_domain(theta, objective.y)  # rounding of the quotient


def l2_of(objective: Objective) -> float:
    """The factor of ½‖f‖²."""
    form = objective.penalty.function_of_norm
    assert form is not None
    return float(form.l2[0])


def box_exists(objective: Objective) -> bool:
    """Whether the loss is a falling and a rising line, with or without a flat one between."""
    plq = objective.loss.plq(objective.y)
    assert plq is not None
    slopes = plq.pieces.slopes
    return bool(slopes[0] <= 0 <= slopes[-1]) and (
        slopes.size == 2 or (slopes.size == 3 and slopes[1] == 0)
    )


def box_of(objective: Objective) -> Box:
    """The dual problem in a = −mass·θ/l2, the coefficients of w = Σ aᵢφ(xᵢ)."""
    plq = objective.loss.plq(objective.y)
    assert plq is not None
    knots = np.sort(plq.sign * (plq.pieces.knots[:, None] + plq.shift), axis=0)
    if objective.offset is not None:
        knots = knots - objective.offset
    scale = objective.mass / l2_of(objective)
    ends = np.sort(-plq.sign * plq.pieces.slopes[[0, -1], None], axis=0) * scale
    group = np.zeros(objective.n_samples, np.uint8)
    low, high = ends
    return Box(low, high, knots[-1].copy(), knots[0].copy(), group, objective.intercept)


def _feasible(box: Box, a: Array) -> Array:
    """The coefficients of a start moved into the box, and to a sum of zero with an intercept."""
    inside = np.clip(a, box.low, box.high)
    if box.balanced:
        up, down = float(inside[inside > 0].sum()), float(-inside[inside < 0].sum())
        if up > down:
            inside[inside > 0] *= down / up
        elif down > up:
            inside[inside < 0] *= up / down
    return box.with_sums(inside)
