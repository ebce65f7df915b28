"""Judge a fitted model on data: its objectives, its point of each, and the referee's judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.typing import Array, ArrayLike
from .._base.watch import interruption, watching
from ..certificate import Certificate, Judgement, judge
from ..estimators.base import Estimator
from ..estimators.inputs import data
from ..estimators.kernel_machines.expansion import Judged, Remainder, left_out
from ..estimators.outcome import Part, combined
from ..estimators.problem import score_count, split
from ..problem.objective import Objective
from ..problem.slot import sum_over_problems
from ..solvers import Control, solve
from .batches import check_intercept
from .foreign import kernel_machines, scikit_learn
from .foreign.objectives import problem_of

ENOUGH = 1e-6  # relative gap; convention: the default tol, below which no dual is solved for
TIGHT = 1e-9  # relative gap of the fit that supplies the dual point; safeguard: far below ENOUGH


class Given(NamedTuple):
    """The data that a model was fitted on, as a user passes them."""

    X: ArrayLike
    y: ArrayLike
    sample_weight: ArrayLike = None
    offset: ArrayLike = None


class Examination(NamedTuple):
    """A model's objectives, one per score or output, and the referee's judgement of each."""

    objectives: Sequence[Objective]
    judgements: list[Judgement]
    model: Any
    rest: Remainder | None = None  # what the factor of a kernel matrix leaves out

    @property
    def certificate(self) -> Certificate:
        """One certificate of all judgements."""
        if isinstance(self.model, Estimator):
            parts = self.model._fitted.output.parts
            return self.model._qualified(
                _summary(self.objectives, self.judgements, parts, self.rest)
            )
        parts = "outputs" if self.objectives[0].slot is None else "pairs of classes"
        return _summary(self.objectives, self.judgements, parts)


def examine(
    model: Any, given: Given, against: Any = None, max_seconds: float | None = None
) -> Examination:
    """Judge a fitted model as `certify` explains."""
    control = Control(tol=TIGHT, max_seconds=max_seconds)
    own = isinstance(model, Estimator)
    exact = isinstance(against, str) and against == "exact"
    rest = None
    if own:
        check_is_fitted(model)
        posed = model._posed_again(*given)
        objectives, coefs, intercepts = _own(model, posed.objectives)
        rest = left_out(model, posed, exact=exact)
    else:
        objectives, coefs, intercepts = foreign_models(model, given)
    if exact:
        if not own:
            raise TypeError("against='exact' is for models on features=Nystrom(kernel).")
        against = None
    duals = dual_points(against, objectives)
    if own and against is None:
        duals = _own_evidence(model, objectives)
    parts = []
    with watching() as watch:
        models = split(objectives, coefs, intercepts)
        for objective, (w, b), evidence in zip(objectives, models, duals):
            check_intercept(model, objective, b)
            first = judge(objective, objective.point(w, b), evidence, thorough=True)
            parts.append(_with_solved_dual(objective, first, control))
    found = Examination(objectives, parts, model, rest)
    if watch.interrupted:
        raise interruption("certify", found.certificate, found.certificate)
    return found


def _with_solved_dual(objective: Objective, first: Judgement, control: Control) -> Judgement:
    """If the gap is not small, a judgement with the dual point of a fit made here.

    The gradients of an inaccurate model give a loose dual point, and at a kink the subgradient is
    not unique. So the problem is solved, starting from the model, and the solution's dual point is
    used to judge the model.
    """
    if not objective.convex or first.reaches(objective, 0.0):
        return first
    enough = ENOUGH * objective.scale
    if first.gap <= enough or control.late():
        return first
    try:
        solution = solve(objective, "auto", replace(control), first.point)
    except ValueError:  # no solver accepts the problem; the first judgement remains valid
        return first
    theta = solution.certificate.dual_point
    if theta is None:
        return first
    again = judge(objective, first.point, [theta], raw=False, thorough=True)
    return again if again.gap < first.gap else first


def _own(model: Any, objectives: Sequence[Objective]) -> tuple[Sequence[Objective], Array, Array]:
    """The objectives of one of our models, one per score, and its point of each."""
    coefs = np.atleast_2d(model.coef_)
    intercepts = np.atleast_1d(model.intercept_)
    expected = (score_count(objectives), objectives[0].n_features)
    if coefs.shape != expected or intercepts.shape != expected[:1]:
        raise ValueError(
            f"coef_ has shape {np.shape(model.coef_)}, but these data need {expected} and one "
            "intercept_ per row: the model was changed after its fit."
        )
    return objectives, coefs, intercepts


def _own_evidence(model: Any, objectives: Sequence[Objective]) -> list[list[Array]]:
    """The dual points of a model's own fit, if the sizes match; the referee checks them."""
    try:
        return dual_points(model, objectives)
    except (TypeError, ValueError):
        return [[] for _ in objectives]


def _summary(
    objectives: Sequence[Objective],
    parts: list[Judgement],
    what: str,
    rest: Remainder | None = None,
) -> Certificate:
    problems = [Part.of(objective) for objective in objectives]
    found = []
    for part, objective in zip(parts, objectives):
        one = replace(part.certificate(objective), by_sample=part.by_sample)
        if rest is not None:
            own = rest.of_problem(objective)
            one = own.charged([Judged(objective, part.point, one)], ENOUGH)[0]
        found.append(one)
    whole = combined(found, problems, what)
    shares = [problem.share for problem in problems]
    by_sample = [s * np.asarray(one.by_sample) for s, one in zip(shares, found)]
    by_feature = None  # a design without columns has no features
    if objectives[0].has_columns:
        by_feature = np.sum([s * part.by_feature for s, part in zip(shares, parts)], axis=0)
    slots = [problem.slot for problem in problems]
    samples = sum_over_problems(slots, by_sample)
    by_score = whole.by_score
    if len(objectives) == 1:
        by_score = _by_class(objectives[0], by_sample[0], by_feature)
    return replace(whole, by_sample=samples, by_feature=by_feature, by_score=by_score)


def _by_class(objective: Objective, samples: Array, features: Array | None) -> Array | None:
    """The terms of the samples of every class and of its coefficients; None if they are shared."""
    if objective.loss.target != "class" or objective.loss.pooled or features is None:
        return None
    if np.shape(features) != objective.coef_shape or objective.n_scores < 2:
        return None
    labels = objective.y.astype(np.int64)
    found = np.bincount(labels, weights=samples, minlength=objective.n_scores)
    if len(found) != objective.n_scores:
        return None  # a class of reference has no coefficients
    return np.asarray(found + features.sum(axis=0))


def dual_points(against: Any, objectives: Sequence[Objective]) -> list[list[Array]]:
    """The dual points of ``against``, one list per problem."""
    if against is None:
        return [[] for _ in objectives]
    first, several = objectives[0], len(objectives) > 1
    shape = (first.n_samples, score_count(objectives))
    if first.slot is not None and several:
        shape = first.slot.shape
    certificate = (
        against if isinstance(against, Certificate) else getattr(against, "certificate_", None)
    )
    if certificate is None or certificate.dual_point is None:
        raise TypeError("against must be a fitted minimand estimator or a Certificate.")
    points = certificate.dual_point.reshape(certificate.dual_point.shape[0], -1)
    if points.shape != shape:
        raise ValueError(
            "against was fitted on other data: its dual point has shape "
            f"{points.shape}, but this problem has {shape}."
        )
    if first.n_scores > 1:
        return [[np.ascontiguousarray(points)]]
    return [
        [o.slot.cut(points) if o.slot and several else np.ascontiguousarray(points[:, i])]
        for i, o in enumerate(objectives)
    ]


def foreign_models(model: Any, given: Given) -> tuple[Sequence[Objective], Any, Array]:
    """The objectives of a scikit-learn model, one per output, and its point of each."""
    scikit_learn.check_known(model)
    check_is_fitted(model)
    X, y = data.check_xy(model, given.X, given.y, fitted=True, many=True)
    weights = data.check_weights(given.sample_weight, X.shape[0])
    shift = data.check_offset(given.offset, X.shape[0])
    if kernel_machines.is_kernel_machine(model):
        return kernel_machines.models_of(model, X, y, weights, shift)
    problem = problem_of(model, X, y, weights, shift)
    shape = (1, *np.shape(model.coef_))[-2:]
    if shape != (score_count(problem.objectives), X.shape[1]):
        raise ValueError(
            f"the model has coefficients of shape {np.shape(model.coef_)}, but X has {X.shape[1]} "
            f"features and y {score_count(problem.objectives)} output(s): pass the data it was "
            "fitted on."
        )
    coefs, intercepts = problem.points(model.coef_, model.intercept_)
    return problem.objectives, coefs, intercepts
