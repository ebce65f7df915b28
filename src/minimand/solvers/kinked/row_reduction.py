"""Problems with many rows: samples far from every kink are replaced by their linear loss.

Near the optimum the loss of most samples is linear, and a sum of linear functions is one linear
function. A solution on some of the rows tells which samples these are; the others, near a kink,
form a small problem with a linear term for the rest. Its solution, multipliers included, solves the
whole problem if no sample has crossed a kink; samples that have are added and the problem is solved
again. (Portnoy and Koenker's preprocessing, for every piecewise linear loss and every penalty.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..._base.typing import Array, BoolArray
from ...losses import PLQ
from ...penalties import Separable
from ...problem.objective import Meter, Objective, Point
from ..base import Control
from .central_path import Limits
from .interior import InteriorPoint, Pull
from .vertex import Offer, offered

_WORTH = 3000  # rows, below which all of them are used; measured on 4 to 100 columns
_ROUNDS = 6  # rounds; safeguard
_LOST = 4.0  # crossings per kept row, beyond which wider bands hardly help; measured on noise
_BAND = 2.2  # width of the band about kinks, in errors of a solution on some rows; safeguard
_ROUGH = 1e-3  # share of the scale: gap of a first guess; safeguard
_FAIR = 1e-4  # share of the scale: gap of a first solution with all rows; safeguard
_LEAST = 20  # rows per unknown that are kept at least; safeguard
_STEPS = 60  # interior-point steps; safeguard


def worth_reducing(objective: Objective, plq: PLQ) -> bool:
    """Whether most rows can be expected to be far from every kink."""
    n, d = objective.design.shape
    # 40: rows per unknown; safeguard.
    return plq.pieces.linear and n >= _WORTH and n >= 40 * (d + 1)


def reduced(
    objective: Objective, plq: PLQ, form: Separable, start: Point, control: Control, target: float
) -> Iterator[Offer]:
    """Models near the target with multipliers, as long as enough rows can be left out."""
    n, d = objective.design.shape
    sample = int((n * np.sqrt(d + 1.0)) ** (2 / 3))
    thin = objective.thinned(max(n // sample, 2))
    point = _guess(thin, form, start, control)
    point = objective.point(point.w, point.b)
    crossed = np.zeros(n, dtype=bool)
    share = _BAND * np.sqrt((d + 1.0) / thin.n_samples)
    accuracy = max(target, _FAIR * objective.scale)
    for _ in range(_ROUNDS):
        slopes = plq.pieces.slope(plq.at(point.z))
        kept = _nearest(plq, plq.at(point.z), share) | crossed
        inner = _inner(objective, plq, form, point, kept, slopes)
        arrived = walk(inner, accuracy)
        offer = offered(inner, accuracy == target)
        found = objective.point(*offer.models[0])
        crossed = (plq.pieces.slope(plq.at(found.z)) != slopes) & ~kept
        # 0.1: share of the kept rows that may cross; safeguard.
        if arrived and crossed.sum() <= 0.1 * kept.sum():
            point = found
            if accuracy == target:  # a rougher model would be judged in vain
                yield Offer(offer.models, [_whole(plq, slopes, kept, few) for few in offer.thetas])
            share, accuracy = max(0.25 * share, _LEAST * (d + 1) / n), target
        elif crossed.sum() > _LOST * kept.sum():
            return
        else:
            share, crossed = 2 * share, np.zeros(n, dtype=bool)
        if share >= 0.5 or control.expired:
            return


def _whole(plq: PLQ, slopes: Array, kept: BoolArray, few: Array) -> Array:
    """Multipliers of all samples: those of the kept rows, and the slopes of the others."""
    theta = plq.sign * slopes
    theta[kept] = few
    return theta


def walk(inner: InteriorPoint, target: float) -> bool:
    """Steps until the estimated gap is below the target; whether it was reached.

    Too few rows may not balance the linear term of the others, and then the point diverges.
    """
    far = 1e3 * inner.products  # factor by which products may grow; safeguard
    inner.walk(Limits(target, _STEPS, far))
    return inner.products <= target


def _guess(thin: Objective, form: Separable, start: Point, control: Control) -> Point:
    """A rough solution on some of the rows."""
    plq = thin.loss.plq(thin.y)
    assert plq is not None
    begin = Point(start.w, start.b, np.empty(0))
    target = _ROUGH * thin.scale
    if worth_reducing(thin, plq):
        for offer in reduced(thin, plq, form, begin, control, target):
            w, b = offer.models[0]
            return Point(w, b, np.empty(0))
    inner = InteriorPoint(thin, plq, form, begin)
    walk(inner, target)
    return Point(inner.w, inner.b, np.empty(0))


def _nearest(plq: PLQ, t: Array, share: float) -> BoolArray:
    """The given share of the samples, those nearest to a kink."""
    kinks = plq.pieces.knots[plq.pieces.jumps > 0]
    distance = np.min([np.abs(t - kink) for kink in kinks], axis=0)
    count = min(int(share * t.size) + 1, t.size)
    return distance <= np.partition(distance, count - 1)[count - 1]


def _inner(
    objective: Objective, plq: PLQ, form: Separable, start: Point, kept: BoolArray, slopes: Array
) -> InteriorPoint:
    """The problem on the kept rows, with the others as linear functions of the given slopes."""
    if kept.all():
        return InteriorPoint(objective, plq, form, start)
    rows = np.flatnonzero(kept)
    mass = objective.mass[rows]
    problem = replace(
        objective,
        design=objective.design.rows(rows),
        y=objective.y[rows],
        mass=mass,
        offset=None if objective.offset is None else objective.offset[rows],
        meter=Meter(),
        path_facts=None,
    )
    problem.facts.spread = objective.spread * float(mass.sum())
    few = PLQ(plq.pieces, plq.sign[rows], plq.shift[rows])
    lines = np.where(kept, 0.0, objective.mass * plq.sign * slopes)
    pull = Pull(objective.backward(lines), float(lines.sum()))
    return InteriorPoint(problem, few, form, start, pull)
