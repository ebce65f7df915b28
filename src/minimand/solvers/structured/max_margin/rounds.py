"""Max-margin training: cost-augmented labellings are collected, and the dual over them is solved.

P(w) = Σ s_i max_c [Δ_i(c) + w·(φ_i(c) − φ_i(y_i))] + alpha/2·‖w‖²,
D(β) = Σ s_i Σ_c β_ic Δ_i(c) − alpha/2·‖w(β)‖²,   w(β) = −1/alpha Σ s_i β_ic (φ_i(c) − φ_i(y_i)),

where β_i is a distribution over the labellings of unit i. Every β proves that no w has a smaller P.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .... import _core
from ...._base.typing import Array
from ..graph_problem import Augmented, GraphProblem
from .planes import planes_of
from .small_master import solve_small

_SHARE = 0.2  # of the gap: what passes over known planes may leave; measured on OCR letters
_PASSES = 60  # of them between two searches for new planes, at most; measured on OCR letters
_IDLE = 40  # passes after which a plane without weight is dropped; measured on OCR letters
_LOOSE = 1.0  # share of the news of a round that messages may miss, or programs follow; safeguard
_NEWS = 1e-12  # of the size of P: a violation above it is a new plane; safeguard


class Judged(NamedTuple):
    """The best model so far, and the bound that is proved."""

    w: Array
    primal: float
    gap: float
    by_unit: Array  # the terms of the gap; with ½alpha‖w − w(β)‖², they sum to it
    size: float  # of the numbers in P that are subtracted; for its rounding

    @property
    def dual(self) -> float:
        """No model has a smaller objective."""
        return self.primal - self.gap


class _Model(NamedTuple):
    """Weights with their objective."""

    w: Array
    primal: float
    found: Augmented


def margin_rounds(problem: GraphProblem, start: Array | None = None) -> Iterator[Judged]:
    """Models and bounds, the gap smaller from round to round; the caller decides when to stop.

    The first is that of w = 0; labellings that violate the margin at ``start`` join in then.
    """
    nodes, edges = problem.row_tuples()
    present = None if problem.present is None else problem.present.ravel().astype(np.float64)
    alpha, k = problem.l2, problem.n_labels
    ascent = _core.PlaneAscent(nodes, edges, k, problem.mass, alpha, present)
    best = model = _at(problem, np.zeros(problem.size))
    judged = _judged(problem, ascent, best)
    yield judged
    if start is not None:
        model = _at(problem, start)
        best = min(best, model, key=lambda one: one.primal)
    mean, solved = model.w, model
    number, share = 0, _SHARE
    while True:
        same = best is model
        model = _exact_if_needed(problem, ascent, model)
        best = model if same else _exact_if_needed(problem, ascent, best)
        ascent.forget(_IDLE)  # not after the passes: a program is to see what is new
        for one in (model, best, solved):  # some may be one model, which tells nothing again
            _collect(problem, ascent, one)
        own = judged if best is model else _judged(problem, ascent, model)
        ascent.run(_PASSES, share * own.gap, number)
        number += 1
        program: Array | None = None
        if _left(problem, ascent) <= _SHARE * own.gap:
            share = min(_SHARE, 2.0 * share)
        else:  # units see each other's steps, so that they met less than is left in the end
            share *= 0.5
            program = solve_small(problem, ascent)
            ascent.refresh()
        model = solved = _at(problem, ascent.weights())
        if program is not None:  # where weights of the ascent have few correct digits, it is better
            solved = _at(problem, program)
            model = min(model, solved, key=lambda one: one.primal)
        mean = model.w if number == 1 else 0.5 * (mean + model.w)
        best = min(best, model, _at(problem, mean), key=lambda one: one.primal)
        judged = _judged(problem, ascent, best)
        yield judged


def _at(problem: GraphProblem, w: Array, *, exact: bool = False) -> _Model:
    """One search for the cost-augmented labellings at some weights."""
    found = problem.augmented(w, exact=exact)
    primal = float(problem.mass @ found.values + 0.5 * problem.l2 * (w @ w))
    return _Model(w, primal, found)


def _exact_if_needed(problem: GraphProblem, ascent: _core.PlaneAscent, model: _Model) -> _Model:
    """The model with programs solved where the labellings of messages tell the dual little news.

    Of what the bounds of wide graphs exceed known planes by, their labellings may miss a share.
    """
    wide = sorted(model.found.relaxed)
    if not wide:
        return model
    _, known = ascent.measure(model.w)
    news = float(problem.mass[wide] @ np.maximum(model.found.values - known, 0.0)[wide])
    loose = model.found.loose(problem.mass) > _LOOSE * news
    return _at(problem, model.w, exact=True) if loose else model


def _judged(problem: GraphProblem, ascent: _core.PlaneAscent, model: _Model) -> Judged:
    """The gap P(w) − D(β), as a sum of terms none of which is negative.

    Σ s_i {max_c [Δ + w·a_ic] − Σ_c β_ic [Δ_ic + w·a_ic]} + alpha/2·‖w − w(β)‖².
    """
    held, _ = ascent.measure(model.w)
    terms = problem.mass * np.maximum(model.found.values - held, 0.0)
    apart = model.w - ascent.weights()
    gap = float(terms.sum() + 0.5 * problem.l2 * (apart @ apart))
    return Judged(model.w, model.primal, gap, terms, model.found.size)


def _left(problem: GraphProblem, ascent: _core.PlaneAscent) -> float:
    """What the linear terms of all units could gain together, over known planes."""
    ascent.refresh()
    held, best = ascent.measure(ascent.weights())
    return float(problem.mass @ (best - held))


def _collect(problem: GraphProblem, ascent: _core.PlaneAscent, model: _Model) -> None:
    """Add the labellings that lie above all known planes at these weights."""
    _, known = ascent.measure(model.w)
    above = model.found.values - known
    size = 1.0 + np.abs(model.found.values)
    units = np.flatnonzero((above > _NEWS * size) & (problem.mass > 0))
    if units.size:
        ascent.add(*planes_of(problem, model.found, units))
