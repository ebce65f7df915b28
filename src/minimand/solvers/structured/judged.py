"""The certificate of weights that were found elsewhere, for chains and for graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from ..._base.typing import Array
from ...certificate import Certificate
from ...problem.point import EPS
from ..base import Control
from .course import Course, Trained
from .crf.chains import train_crf
from .crf.graphs import GraphModel, null_loss, train_graph_crf
from .crf.penalised import ChainModel, ChainPoint
from .graph_problem import GraphProblem
from .graph_steps import share_wrong
from .max_margin.training import graph_vector, of_chains, train_graph_margin
from .penalty import penalty_value
from .perceptron import share_of_mistakes
from .problem import ChainProblem, ChainWeights

_ENOUGH = 1e-4  # relative gap; convention: labelers' default tol, below which no fit is made
_TIGHT = 1e-6  # relative gap of the fit that supplies the bound; safeguard

Fit = Callable[[Control], Trained]


def judge_chains(
    problem: ChainProblem,
    weights: ChainWeights,
    loss: str,
    others: Iterable[ChainWeights] = (),
    *,
    max_seconds: float | None = None,
) -> Certificate:
    """The certificate of the weights of a chain model.

    ``others`` are weights that may be nearer to the optimum: every point proves a bound. If their
    bounds are not enough, a fit of at most ``max_seconds`` supplies one.
    """
    if loss == "perceptron":
        return _counted(problem, share_of_mistakes(problem, weights))
    if loss == "max_margin":
        graphs = of_chains(problem)
        return judge_graphs(graphs, graph_vector(problem, weights), loss, max_seconds=max_seconds)
    model, layout = ChainModel(problem), problem.layout
    point = model.point(layout.vector(weights))
    bounds = [p.primal - p.gap for p in (model.point(layout.vector(w)) for w in others)]
    start = next(iter(others), weights)
    return _judged_crf(
        problem,
        point,
        model.likelihood.null_value(),
        bounds,
        lambda c: train_crf(problem, c, start),
        max_seconds,
    )


def judge_graphs(
    problem: GraphProblem, w: Array, loss: str, *, max_seconds: float | None = None
) -> Certificate:
    """The certificate of the weights of a graph model."""
    if loss == "perceptron":
        return _counted(problem, share_wrong(problem, w))
    if loss == "crf":
        point, scale = GraphModel(problem).point(w), null_loss(problem)
        return _judged_crf(
            problem, point, scale, [], lambda c: train_graph_crf(problem, c), max_seconds
        )
    found = problem.augmented(w, exact=True)
    primal = float(problem.mass @ found.values + penalty_value(problem, w))
    fit = train_graph_margin(problem, Control(tol=_ENOUGH, max_seconds=max_seconds), w)
    scale = float(fit.history.primal[0])
    rounding = 4 * EPS * (found.size + primal)
    gap = max(primal - fit.certificate.dual, 0.0)
    return _certificate(problem, scale, primal, gap, rounding)


def _judged_crf(
    problem: ChainProblem | GraphProblem,
    point: ChainPoint,
    scale: float,
    bounds: list[float],
    fit: Fit,
    max_seconds: float | None,
) -> Certificate:
    """The certificate by the marginals at the point, and by those of a fit if these leave a gap."""
    bound = max(0.0, point.primal - point.gap, *bounds)
    if point.primal - bound > max(_ENOUGH * scale, point.rounding):
        made = fit(Control(tol=_TIGHT, max_seconds=max_seconds))
        bound = max(bound, made.certificate.dual)
    gap = max(min(point.gap, point.primal - bound), 0.0)
    return _certificate(problem, scale, point.primal, gap, point.rounding)


def _certificate(
    problem: ChainProblem | GraphProblem,
    scale: float,
    primal: float,
    gap: float,
    rounding: float,
) -> Certificate:
    """The record of a judgement."""
    course = Course(problem, Control(), "certify", scale)
    return course.trained(None, primal, gap, rounding).certificate


def _counted(problem: ChainProblem | GraphProblem, wrong: float) -> Certificate:
    """The share of sequences or graphs that are labelled wrong, which is at least 0."""
    found = _certificate(problem, 1.0, wrong, wrong, 0.0)
    return replace(found, kind="relaxation" if wrong else "global")


def unchanged(problem: ChainProblem, weights: ChainWeights) -> bool:
    """Whether all weights that are not zero have a place in this problem."""
    again = problem.layout.weights(problem.layout.vector(weights))
    return all(
        a is None or b is None or np.array_equal(a, b) for a, b in zip(again, weights, strict=True)
    )
