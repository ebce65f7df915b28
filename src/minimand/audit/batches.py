"""Certifies a fitted model on batches of data, in one pass or two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.typing import Array
from ..certificate import Certificate
from ..certificate.second_pass import Aim
from ..certificate.streamed import Tally
from ..estimators.base import Estimator
from ..estimators.batches import naming_batch, numbered
from ..estimators.inputs import data
from ..estimators.outcome import Part, combined
from ..estimators.settings import Settings
from ..estimators.stream import batch_of
from ..penalties import BoundPenalty
from ..problem.objective import Objective
from .foreign import scikit_learn
from .foreign.kernel_machines import is_kernel_machine
from .foreign.objectives import Problem, alpha_of, problem_of

_CLOSED = 1e-6  # share of the scale; convention: the default tol, which needs no second pass


class _Part(NamedTuple):
    """One score on one batch: its objective, whose masses are not used, and the rows' weights."""

    objective: Objective
    weight: Array


def certify_batches(model: Any, batches: Iterable[Any]) -> Certificate:
    """The certificate of a model from passes over batches (X, y) or (X, y, sample_weight).

    One pass; then a second if a gap is left, the loss is smooth and ``batches`` can be read again.
    """
    view = _Own(model) if isinstance(model, Estimator) else _Foreign(model)
    again = not isinstance(batches, Iterator)
    tallies, n_rows = _tallied(view, batches, curved=again)
    found, scale = _certificate(view, tallies, n_rows)
    if not again or found.gap <= max(_CLOSED * scale, found.rounding):
        return found
    aims = [tally.aim(view.penalty(k, tally, n_rows)[0]) for k, tally in enumerate(tallies)]
    if any(aim is None for aim in aims):
        return found
    more, n_more = _tallied(view, batches, aims=aims)
    if n_more != n_rows or any(not a.same_data(b) for a, b in zip(tallies, more)):
        return found  # the data changed between the passes (another order of rows is allowed)
    better, _ = _certificate(view, more, n_rows)
    return replace(better if better.gap < found.gap else found, passes=2.0)


def _tallied(
    view: _Own | _Foreign,
    batches: Iterable[Any],
    *,
    curved: bool = False,
    aims: Sequence[Aim | None] | None = None,
) -> tuple[list[Tally], int]:
    """The sums of one pass, per score, and the number of rows."""
    tallies: list[Tally] = []
    n_rows = 0
    for number, (X, y, weights) in numbered(batches):
        with naming_batch(number):
            parts = view.parts(X, y, weights)
        if not tallies:
            tallies = _begin(view, parts, curved, aims or [None] * len(parts))
        for tally, (objective, weight) in zip(tallies, parts):
            tally.add(objective.design, objective.y, weight)
        n_rows += len(y)
    if not tallies and aims is None:
        raise ValueError("batches is empty: there is nothing to certify on.")
    for tally in tallies:
        tally.finish()
    return tallies, n_rows


def _certificate(
    view: _Own | _Foreign, tallies: list[Tally], n_rows: int
) -> tuple[Certificate, float]:
    """The certificate of all scores, and the scale of its gap."""
    found, scales = [], []
    for k, tally in enumerate(tallies):
        penalty, words = view.penalty(k, tally, n_rows)
        found.append(tally.certificate(penalty, words))
        scales.append(tally.least_scale(penalty))
    whole = combined(found, list(map(Part, scales)), view.what)
    by_feature = np.sum([np.asarray(c.by_feature) for c in found], axis=0)
    whole = view.qualified(replace(whole, passes=1.0, by_feature=by_feature))
    return whole, float(sum(scales))


def _begin(
    view: _Own | _Foreign, parts: list[_Part], curved: bool, aims: Sequence[Aim | None]
) -> list[Tally]:
    if parts[0].objective.n_scores > 1:
        raise ValueError(
            f"batches certify problems of one score, and {parts[0].objective.words or 'this one'} "
            "couples several: pass X and y."
        )
    coefs, intercepts = view.points()
    shape = (len(parts), parts[0].objective.n_features)
    if coefs.shape != shape:
        raise ValueError(
            f"the model has coefficients of shape {coefs.shape}, but these data need {shape}: pass "
            "the data it was fitted on."
        )
    tallies = []
    for (objective, _), w, b, aim in zip(parts, coefs, intercepts, aims):
        check_intercept(view.model, objective, b)
        if objective.loss.unit != "row" or not objective.convex:
            loss = objective.loss
            what = repr(loss) if loss.unit != "row" or not loss.convex else "the model's penalty"
            raise ValueError(
                f"batches certify convex means over samples with convex penalties, and {what} is "
                "none: pass X and y."
            )
        model = objective.loss, w, float(b), objective.intercept, objective.penalty
        tallies.append(Tally(*model, curved=curved, aim=aim))
    return tallies


def check_intercept(model: Any, objective: Objective, b: Any) -> None:
    """Refuse a nonzero intercept in a model that was fitted without one."""
    if not objective.intercept and np.any(b):
        first = np.ravel(b)[np.flatnonzero(b)[0]]
        raise ValueError(
            f"{type(model).__name__} has intercept_={first:g}, but its parameters say that it was "
            "fitted without one: certify it with the parameters it was fitted with."
        )


def _refuse_balanced(class_weight: Any) -> None:
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} needs all of y at once: pass X and y, or set "
            "class_weight to the weights themselves, a dict by class."
        )


class _Own:
    """A minimand model."""

    what = "classes"

    def __init__(self, model: Any) -> None:
        check_is_fitted(model)
        _refuse_balanced(model._fitted.settings.class_weight)
        self.model = model
        self.first: list[Objective] = []

    def parts(self, X: Any, y: Any, weights: Any) -> list[_Part]:
        """The next batch."""
        batch = batch_of(self.model, self.model._fitted.settings, X, y, None, weights)
        found, weight = batch.objectives, batch.weight
        if not weight.all():
            kept = np.flatnonzero(weight)
            found, weight = [objective.on_rows(kept) for objective in found], weight[kept]
        self.first = self.first or self.model._described(found)
        return [_Part(objective, weight) for objective in found]

    def points(self) -> tuple[Array, Array]:
        """Coefficients and intercepts, per score."""
        coefs = np.atleast_2d(np.asarray(self.model.coef_, dtype=float))
        return np.ascontiguousarray(coefs), np.atleast_1d(self.model.intercept_)

    def penalty(self, k: int, tally: Tally, n_rows: int) -> tuple[BoundPenalty, str]:
        """The penalty of a score, and its objective in words."""
        return self.first[k].penalty, self.first[k].words

    def qualified(self, certificate: Certificate) -> Certificate:
        """The certificate, marked as stationary if features were learnt."""
        return self.model._qualified(certificate)


class _Foreign:
    """A model of scikit-learn, whose alpha may depend on the total weight of all rows."""

    what = "outputs"

    def __init__(self, model: Any) -> None:
        scikit_learn.check_known(model)
        if scikit_learn.has_joint_scale(model):
            raise ValueError(
                f"{type(model).__name__} has a scale beside its coefficients, which is not "
                "certified in batches: pass X and y."
            )
        if is_kernel_machine(model):
            raise ValueError(
                f"{type(model).__name__} compares all samples by a kernel, and is not certified in "
                "batches: pass X and y."
            )
        check_is_fitted(model)
        _refuse_balanced(getattr(model, "class_weight", None))
        self.model = model
        self.first: Problem | None = None

    def parts(self, X: Any, y: Any, weights: Any) -> list[_Part]:
        """The next batch."""
        X, y = data.check_xy(self.model, X, y, fitted=True, many=True)
        checked = data.check_weights(weights, X.shape[0])
        problem = problem_of(self.model, X, y, checked)
        self.first = self.first or problem
        totals = (mean * X.shape[0] for mean in problem.mean_weights)
        return [_Part(o, o.mass * total) for o, total in zip(problem.objectives, totals)]

    def points(self) -> tuple[Array, Array]:
        """Coefficients and intercepts, per output."""
        assert self.first is not None
        return self.first.points(self.model.coef_, self.model.intercept_)

    def penalty(self, k: int, tally: Tally, n_rows: int) -> tuple[BoundPenalty, str]:
        """The penalty of an output on all rows, and its objective in words."""
        assert self.first is not None
        formulation = scikit_learn.read(self.model, lambda: tally.total)
        alpha = alpha_of(formulation, n_rows, tally.total, len(self.first.objectives))[k]
        settings = Settings(formulation.loss, formulation.penalty, alpha)
        words = self.first.objectives[0].words.replace(self.first.settings.words, settings.words)
        return formulation.penalty.bind(tally.w.size, alpha), words

    def qualified(self, certificate: Certificate) -> Certificate:
        """The certificate, unchanged."""
        return certificate
