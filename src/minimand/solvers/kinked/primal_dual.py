"""A primal-dual interior-point method for piecewise linear-quadratic losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, Solver, Verdict
from ..shape import rows_suffice_for_kinks
from ..traits import Trait

if TYPE_CHECKING:
    from ...losses import PLQ
    from .interior import InteriorPoint
    from .vertex import Offer

_LARGEST = 5000  # unknowns of the system that every iteration factorises; safeguard
_PATIENCE = 50  # iterations in which the products must halve; safeguard: unscaled data take many
_CENTRED = 0.5  # least share of the products that a step aims at if they do not fall; safeguard
_ITERATIONS = 200  # iterations; safeguard
_AGAIN, _WIDER = 2, 30.0  # restarts when stuck, and the factor by which slacks widen; safeguard
_FAR = 1e-4  # share of the scale: products above it are not due to rounding; safeguard
_DONE = 1e-3  # share of the target: with products below it, only slopes can be wrong; safeguard
_IDLE = 4  # judgements in a row without a better point, then the end; safeguard
_NEAR = 4.0  # targets: an estimated gap below it is judged; safeguard
_CORNER = 0.01  # targets: the same where the solution is a corner; safeguard
_SHARPER, _SHARPEN = 2, 1e-3  # times that zeros are sought, and the factor of products; safeguard


class PrimalDual(Solver):
    """Mehrotra's predictor-corrector method on ψ' ∈ [lowest, highest], w and their slacks.

    Every kink of the loss, of |wⱼ| and of a bound is a pair of numbers whose product is driven to
    zero; see `interior`. It takes about twenty systems of d unknowns, for any scaling of columns.
    A start that is a corner of a problem of straight pieces is first moved along edges (`pivots`).
    Steps far from the optimum are not judged: callbacks and the history see the last few only.
    ``max_iter`` counts all steps.
    """

    name = "primal_dual"
    needs = Trait.PIECES, Trait.SUM_OVER_FEATURES
    least_cost = costs.LEAST_INTERIOR_POINTS

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Losses with pieces and penalties that are a sum over features; not both n and d large."""
        form = objective.penalty.sum_over_features
        assert form is not None
        n, d = objective.design.shape
        size = n if rows_suffice_for_kinks(objective, form) else d
        # Bytes: three d×d matrices and 16 numbers per row.
        memory = 8.0 * (3 * size * size + 16 * n)
        if size > _LARGEST or memory > control.memory:
            return Verdict(
                False, f"a dense system of {size} unknowns in every iteration is too large"
            )
        words = "pieces of lines and parabolas: an interior-point method"
        return Verdict(True, words, costs.interior_points(objective, size))

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Judged points, once the method's own estimate of the gap is near the target."""
        from .pivots import next_corner  # not needed for a verdict
        from .row_reduction import reduced, worth_reducing

        form, plq = objective.penalty.sum_over_features, objective.loss.plq(objective.y)
        assert form is not None
        assert plq is not None
        corner = next_corner(objective, plq, form, start)
        if corner is not None:
            yield _judged(objective, corner, control)
        judgement: Judgement | None = None
        if start is not objective.null or _null_may_do(objective, form):
            judgement = judge(objective, recentred(objective, start))
            yield judgement
        cornered = plq.pieces.linear and not form.l2.all()
        near_enough = (_CORNER if cornered else _NEAR) * control.target
        begin = start if judgement is None else judgement.point
        if worth_reducing(objective, plq):
            target = min(0.5 * control.target, near_enough)
            for offer in reduced(objective, plq, form, begin, control, target):
                judgement = _judged(objective, offer, control)
                yield judgement
                begin = judgement.point
        walk = _Walk(objective, plq, form, begin, control, near_enough)
        yield from walk.judged(by_rows=rows_suffice_for_kinks(objective, form))
        if not walk.over and objective.n_features <= _LARGEST:
            yield from walk.judged(by_rows=False)  # rows that are all but equal are no system
        if walk.taken >= walk.most == control.max_iter:
            control.ended_by = f"max_iter={control.max_iter}"


class _Walk:
    """Interior points that walk towards the optimum, and what the referee says of the last ones."""

    def __init__(
        self,
        objective: Objective,
        plq: PLQ,
        form: Separable,
        begin: Point,
        control: Control,
        near_enough: float,
    ) -> None:
        self.objective, self.plq, self.form, self.begin = objective, plq, form, begin
        self.control, self.near_enough = control, near_enough
        self.taken, self._by_rows = 0, False
        self.most = _ITERATIONS if control.max_iter is None else min(_ITERATIONS, control.max_iter)

    @property
    def over(self) -> bool:
        """Whether no other walk may follow: columns were tried, or a limit is reached."""
        return not self._by_rows or self.taken >= self.most or self.control.expired

    def judged(self, *, by_rows: bool) -> Iterator[Judgement]:
        """One walk, on systems of rows or of columns, until it is stuck."""
        from .central_path import Limits  # not needed for a verdict
        from .vertex import offered

        objective, control, near_enough = self.objective, self.control, self.near_enough
        self._by_rows = by_rows
        idle, again, sharper = 0, _AGAIN, _SHARPER
        inner = self._interior(1.0)
        best: Judgement | None = None
        full: Judgement | None = None  # reaches the target, but not with the zeros of the optimum
        while self.taken < self.most:
            steps, stuck = inner.walk(
                Limits(near_enough, self.most - self.taken, patience=_PATIENCE, centred=_CENTRED)
            )
            self.taken += steps
            near = inner.products <= near_enough
            if stuck and again and not near and inner.products > _FAR * objective.scale:
                again -= 1
                inner = self._interior(_WIDER ** (_AGAIN - again))
                continue
            inner.refresh()
            offer = offered(inner, near or stuck)
            found = _judged(objective, offer, control)
            if found.reaches(objective, control.target):
                if sharper and not stuck and not control.expired and _lacks_zeros(found, offer):
                    full, sharper, near_enough = found, sharper - 1, _SHARPEN * near_enough
                    continue
            elif full is not None:
                found = full
            yield found
            # 0.9: factor of the gap that is progress; safeguard.
            idles = best is not None and not found.gap < 0.9 * best.gap
            idle = idle + 1 if idles and inner.products <= _DONE * near_enough else 0
            best = found if best is None or found.beats(best) else best
            if stuck or idle >= _IDLE:
                return
        if full is not None:
            yield full

    def _interior(self, room: float) -> InteriorPoint:
        from .interior import InteriorPoint

        return InteriorPoint(
            self.objective, self.plq, self.form, self.begin, room=room, by_rows=self._by_rows
        )


def _lacks_zeros(found: Judgement, offer: Offer) -> bool:
    """Whether a model with more coefficients at zero was offered, but was not near enough."""
    fewest = min(np.count_nonzero(w) for w, _ in offer.models)
    return bool(np.count_nonzero(found.point.w) > fewest)


def _null_may_do(objective: Objective, form: Separable) -> bool:
    """Whether w = 0 may be the optimum: by a kink or a bound there, or since it fits perfectly."""
    kept = form.makes_zeros or form.has_constraints
    return kept or objective.constant_target or not objective.scale > 0


def _judged(objective: Objective, offer: Offer, control: Control) -> Judgement:
    """The first of the offered models that reaches the target, or the best.

    The first multipliers belong to the first model, and mostly prove it; others are asked after.
    """
    first, *others = offer.models
    point = recentred(objective, objective.point(*first))
    best = judge(objective, point, offer.thetas[:1], raw=False)
    if offer.thetas[1:] and not best.reaches(objective, control.target):
        best = judge(objective, point, offer.thetas[1:], [best.dual], raw=False)
    for model in others:
        if best.reaches(objective, control.target):
            break
        point = recentred(objective, objective.point(*model))
        judgement = judge(objective, point, (), [best.dual], raw=False)
        best = judgement if judgement.beats(best) else best
    return replace(best, fresh=True)  # scores of the offered models were computed from these
