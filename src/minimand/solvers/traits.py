"""Named properties of problems, which solvers require.

A solver declares the traits that it needs; they are compared with those of an objective here, in
one place, and only solvers that lack none of them are asked what a problem would cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from ..losses import Loss
from ..penalties import Ball, SquaredNorm
from ..problem.objective import Objective


class Trait(Enum):
    """A property of a problem; its value is the message for a problem without it."""

    __hash__ = object.__hash__  # every member is one object; Enum's own hash is a Python call

    CONVEX_LOSS = "the loss is not convex; 'graduated' minimises its tangents"
    CONVEX_PENALTY = "the penalty is not convex; 'reweighted' minimises its tangents"
    NONCONVEX_LOSS = "the loss is convex: it needs no graduation"
    NONCONVEX_PENALTY = "the penalty is convex: it needs no tangents"
    MEAN_OVER_SAMPLES = "{loss!r} is one number for {unit}, not a mean over samples"
    LARGEST_RESIDUAL = "{loss!r} is not the largest residual of the whole set"
    OVER_RUNS = "{loss!r} is a mean over samples, not over runs of them"
    NO_INTERCEPT = "there is an intercept, and {solver!r} knows none"
    ONE_SCORE = "every row has several scores, and {solver!r} takes problems of one"
    COLUMNS = "the design has no columns, and {solver!r} works on columns"
    NO_COLUMNS = "the design has columns, and {solver!r} works on inner products of rows"
    SMOOTH = "{loss!r} has kinks; {solver!r} needs a smooth loss"
    CURVED_ENOUGH = "{loss!r} all but has kinks; Newton's steps stall"
    COUPLED = "one score per row and a sum over features: 'primal_dual' takes kinks as they are"
    SMOOTHABLE = "{loss!r} has kinks that no solver here can round off"
    KINKED = "{loss!r} has no kinks; {solver!r} is for losses that have"
    SQUARED = "{loss!r} is not the squared loss"
    PIECES = "{loss!r} is not linear or quadratic piece by piece"
    STRAIGHT_PIECES = "{loss!r} is not made of straight pieces"
    ROWS_SOLVED_EXACTLY = "{loss!r} is neither piecewise quadratic nor logistic"
    SUM_OVER_GROUPS = "the penalty is not a sum over groups of coefficients"
    CLASS_MARGINS = "{loss!r} is not a sum of class margins in decreasing order"
    SUM_OVER_FEATURES = "the penalty is not a sum over features, as L1() and L2() are"
    NO_L1 = "the penalty has kinks; {solver!r} takes L2 or no penalty"
    NO_BOUNDS = "the coefficients are bounded; {solver!r} knows no bounds"
    NO_L2 = "the penalty has a quadratic part; 'constraint_generation' takes it with Chebyshev"
    SOME_L2 = "the penalty has no quadratic part; 'simplex' finds an exact vertex"
    L2_EVERYWHERE = "the penalty is not L2 on every coefficient"
    SQUARED_LENGTH = "the penalty is not a multiple of ‖w‖²"
    SQUARED_NORM = "the penalty is no squared norm of groups"
    NORM_OF_ALL = "the penalty is not the norm of all coefficients together"
    SCORES_APART = "there is one score per row, or {loss!r} couples them"
    IN_ORDER = "{loss!r} keeps no scores in order"
    SINGULAR_VALUES = "the penalty is no function of singular values, as TraceNorm is"
    BALL = "the penalty is no ball that a multiplier would replace"


def traits_of(objective: Objective) -> frozenset[Trait]:
    """All traits that a problem has."""
    return frozenset((*_of_shape(objective), *_of_loss(objective), *_of_penalty(objective)))


def _of_shape(objective: Objective) -> list[Trait]:
    found = [Trait.ONE_SCORE] if objective.n_scores == 1 else []
    found += [] if objective.intercept else [Trait.NO_INTERCEPT]
    return [*found, Trait.COLUMNS if objective.has_columns else Trait.NO_COLUMNS]


def _of_loss(objective: Objective) -> list[Trait]:
    loss = objective.loss
    if not loss.convex:  # its tangents have traits of their own, so the rest does not matter
        return [Trait.NONCONVEX_LOSS, *([] if loss.pooled else [Trait.MEAN_OVER_SAMPLES])]
    found = [Trait.CONVEX_LOSS]
    if objective.n_scores > 1 and loss.of_score(0) is not None:
        found.append(Trait.SCORES_APART)
    if loss.in_order:
        found.append(Trait.IN_ORDER)
    if loss.largest_residual:
        return [*found, Trait.LARGEST_RESIDUAL, Trait.STRAIGHT_PIECES]
    if loss.pooled:
        found += [Trait.OVER_RUNS] if loss.unit == "run" else []
        return [*found, Trait.SMOOTH] if loss.smooth else found
    smooth = loss.smooth
    found += [Trait.MEAN_OVER_SAMPLES, Trait.SMOOTH if smooth else Trait.KINKED]
    pieces = loss.plq(objective.y) if smooth else objective.kinks
    if loss.flows:
        found.append(Trait.CLASS_MARGINS)
    if not loss.nearly_kinked:
        found.append(Trait.CURVED_ENOUGH)
    if loss.quadratic:
        found.append(Trait.SQUARED)
    if pieces is not None:
        found += [Trait.PIECES, Trait.ROWS_SOLVED_EXACTLY]
        if pieces.pieces.linear:
            found.append(Trait.STRAIGHT_PIECES)
    elif objective.rowwise is not None and objective.rowwise.row_by_row:
        found.append(Trait.ROWS_SOLVED_EXACTLY)
    return found


def _of_penalty(objective: Objective) -> list[Trait]:
    penalty = objective.penalty
    convex = not hasattr(penalty, "majoriser")
    found = [Trait.CONVEX_PENALTY if convex else Trait.NONCONVEX_PENALTY]
    if isinstance(penalty, Ball):
        found.append(Trait.BALL)
    if isinstance(penalty, SquaredNorm):
        found.append(Trait.SQUARED_NORM)
    if penalty.singular_values is not None:
        found.append(Trait.SINGULAR_VALUES)
    length = penalty.function_of_norm
    if length is not None and length.ridge is not None and length.l2_everywhere:
        found.append(Trait.SQUARED_LENGTH)
    if length is not None and length.l1.any() and length.bounds is None:
        found.append(Trait.NORM_OF_ALL)
    form = penalty.sum_over_features
    # Without bounds, a sum over features is one over groups of a single coefficient.
    if (form is not None and form.bounds is None) or penalty.sum_over_groups is not None:
        found.append(Trait.SUM_OVER_GROUPS)
    if form is None or objective.n_scores > 1 or objective.loss.unit != "row":
        found += _of_coupled(objective.loss)
    if form is None:
        return found
    found.append(Trait.SUM_OVER_FEATURES)
    if not form.makes_zeros:
        found.append(Trait.NO_L1)
    if not form.has_constraints:
        found.append(Trait.NO_BOUNDS)
    found.append(Trait.SOME_L2 if form.l2.any() else Trait.NO_L2)
    if form.ridge is not None and form.l2_everywhere:
        found.append(Trait.L2_EVERYWHERE)
    return found


def _of_coupled(loss: Loss) -> list[Trait]:
    """Traits of a problem that does not fall apart into rows of one score and single features."""
    rounds = loss.convex and (loss.pooled or not loss.smooth) and loss.smoothed(1.0) is not None
    return [Trait.COUPLED, Trait.SMOOTHABLE] if rounds else [Trait.COUPLED]


def missing(needs: Iterable[Trait], traits: frozenset[Trait]) -> list[Trait]:
    """The traits that a solver needs and a problem does not have."""
    return [trait for trait in needs if trait not in traits]
