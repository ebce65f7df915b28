"""Max-margin training: cost-augmented labellings are collected, their dual is solved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...._base.typing import Array
from ..graph_problem import GraphProblem
from .centres import Centres
from .master import Judged, Master, Model
from .small_master import solve_small

_SHARE = 0.2  # of the gap: what passes over known planes may leave; measured on OCR letters
_PASSES = 60  # of them between two searches for new planes, at most; measured on OCR letters
_IDLE = 40  # passes after which a plane without weight is dropped; measured on OCR letters
_THIN = 0.01  # of the gap of a round: what zeros in place of small weights may cost; safeguard
_LOOSE = 1.0  # share of the news of a round that messages may miss, or programs follow; safeguard


def margin_rounds(problem: GraphProblem, start: Array | None = None) -> Iterator[Judged]:
    """Models and bounds, the gap smaller from round to round; the caller decides when to stop.

    The first is that of w = 0; labellings that violate the margin at ``start`` join in then.
    """
    master = Master(problem)
    ascent = master.ascent
    best = model = master.at(np.zeros(problem.size))
    judged = master.judged(best)
    yield judged
    if start is not None:
        model = master.start(start)
        best = min(best, model, key=lambda one: one.primal)
    centres = Centres.of(master, best)
    mean, solved = model.w, model
    number, share = 0, _SHARE
    while True:
        same = best is model
        model = _exact_if_needed(master, model)
        best = model if same else _exact_if_needed(master, best)
        ascent.forget(_IDLE)  # not after the passes: a program is to see what is new
        for one in (model, best, solved):  # some may be one model, which tells nothing again
            master.collect(one)
        goal = master.open(model)
        ascent.run(_PASSES, share * goal, number)
        number += 1
        programs: list[Array] = []
        if master.left() <= _SHARE * goal:
            share = min(_SHARE, 2.0 * share)
        else:  # units see each other's steps, so that they met less than is left in the end
            share *= 0.5
            programs = solve_small(master)
            ascent.refresh()
        model = solved = master.at(ascent.weights())
        if programs:  # where weights of the ascent have few correct digits, they are better
            solved = _thin([master.at(w) for w in programs], _THIN * goal)
            model = min(model, solved, key=lambda one: one.primal)
        best = min(best, model, key=lambda one: one.primal)
        if not problem.l1:  # whose zeros means do not have
            mean = model.w if number == 1 else 0.5 * (mean + model.w)
            best = min(best, master.at(mean), key=lambda one: one.primal)
        judged = master.judged(best)
        yield judged
        if centres is not None:
            centres.follow(model)


def _thin(models: list[Model], cost: float) -> Model:
    """The last model, which has zeros in place of small weights, unless they cost too much."""
    return models[-1] if models[-1].primal <= models[0].primal + cost else models[0]


def _exact_if_needed(master: Master, model: Model) -> Model:
    """The model with programs solved where the labellings of messages tell the dual little news.

    Of what the bounds of wide graphs exceed known planes by, their labellings may miss a share.
    """
    wide = sorted(model.found.relaxed)
    if not wide:
        return model
    mass = master.problem.mass
    news = float(mass[wide] @ np.maximum(master.news(model), 0.0)[wide])
    loose = model.found.loose(mass) > _LOOSE * news
    return master.at(model.w, exact=True) if loose else model
