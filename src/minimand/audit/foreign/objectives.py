"""What a scikit-learn model minimises on given data: an Objective per output, and its points.

`scikit_learn` and `celer_skglm` say which loss and penalty; this module combines them with X, y
and the weights. `certify` and the drop-ins of `minimand.sklearn` use it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import AnyArray, Array
from ...design.sparse import SparseDesign
from ...estimators.inputs.class_weights import weighted_by_class
from ...estimators.inputs.data import check_numbers
from ...estimators.posing.coded import build
from ...estimators.settings import Settings
from ...losses import OverScores
from ...outputs import ClassOutput, columns_of
from ...problem.objective import Objective
from .formulation import Formulation
from .scikit_learn import check_known, read


@dataclass(frozen=True)
class Problem:
    """What a model minimises on given data: one objective per output, sharing the design."""

    objectives: list[Objective]
    settings: Settings  # of the first
    constant: float = 0.0
    mean_weights: tuple[float, ...] = ()  # of all rows, per objective

    def points(self, coef: Any, intercept: Any) -> tuple[Array, Array]:
        """Coefficients (k, d) and intercepts (k,) as the objectives have them."""
        coef = coef.toarray() if sparse.issparse(coef) else coef
        w = np.atleast_2d(np.asarray(coef, dtype=float))
        b = np.broadcast_to(np.ravel(np.asarray(intercept, dtype=float)), w.shape[:1])
        if self.constant:
            w, b = np.column_stack([w, b / self.constant]), np.zeros(w.shape[0])
        return w, b

    def attributes(self, w: Array, b: Array) -> tuple[Array, Array]:
        """The inverse of `points`: coefficients and intercepts as the model has them."""
        return (w[:, :-1], w[:, -1] * self.constant) if self.constant else (w, b)


def problem_of(
    model: Any, X: Any, y: AnyArray, weights: Array | None, offset: Array | None = None
) -> Problem:
    """The problem of a scikit-learn model on data that have been checked."""
    name = check_known(model)
    weigh = _WEIGHTS.get(name, _weighted)
    apart = name in _WEIGH_THE_ONE and getattr(model, "multi_class", "ovr") == "ovr"
    if apart and len(model.classes_) > 2 and model.class_weight is not None:
        plain = np.ones(y.shape[0]) if weights is None else weights
        weighted = weigh(model, y, plain)
        assert weighted is not None
        return _one_versus_rest(model, X, y, plain, weighted, offset)
    return _problem(model, X, y, weigh(model, y, weights), offset)


def _problem(
    model: Any,
    X: Any,
    y: AnyArray,
    weights: Array | None,
    offset: Array | None,
    outputs: slice = slice(None),
) -> Problem:
    """The problem of a model with these weights, all of it or some outputs."""
    total = float(X.shape[0] if weights is None else weights.sum())
    formulation = read(model, lambda: total)
    if formulation.constant:
        X = with_constant_column(X, formulation.constant)
    if formulation.coupled:
        return _coupled(model, X, y, weights, offset, formulation)
    targets = _targets(model, y, formulation)[outputs]
    for target in targets:
        formulation.loss.check_target(target)
    alphas = alpha_of(formulation, X.shape[0], total, len(targets))
    intercept = bool(formulation.intercept) and not formulation.constant
    settings = [Settings(formulation.loss, formulation.penalty, alpha) for alpha in alphas]
    note = _note(formulation)
    first = build(settings[0], X, targets[0], weights, offset, intercept, note=note)
    kept = slice(None) if weights is None or weights.all() else np.flatnonzero(weights)
    others = [
        _for_output(first, settings[0], own, target[kept])
        for own, target in zip(settings[1:], targets[1:])
    ]
    means = (total / X.shape[0],) * len(targets)
    return Problem([first, *others], settings[0], formulation.constant, means)


def _coupled(
    model: Any,
    X: Any,
    y: AnyArray,
    weights: Array | None,
    offset: Array | None,
    formulation: Formulation,
) -> Problem:
    """One problem of all outputs, because the loss or the penalty couples them."""
    total = float(X.shape[0] if weights is None else weights.sum())
    loss, free = formulation.loss, bool(formulation.intercept) and not formulation.constant
    if formulation.labels:
        refuse_unknown(model, y)
        output = ClassOutput(loss, model.classes_)
        target, scores = output.encode(y), output.scores
    else:
        target = np.ascontiguousarray(check_numbers(y if y.ndim == 2 else y[:, None]))
        scores = target.shape[1]
        loss, target = (OverScores(loss), target) if scores > 1 else (loss, target[:, 0])
    (alpha,) = alpha_of(formulation, X.shape[0], total, 1)
    settings = Settings(loss, formulation.penalty, alpha)
    if offset is not None and offset.ndim == 1 and scores > 1:
        offset = np.repeat(offset[:, None], scores, axis=1)
    note = _note(formulation)
    objective = build(settings, X, target, weights, offset, free, scores, note)
    return Problem([objective], settings, formulation.constant, (total / X.shape[0],))


def _note(formulation: Formulation) -> str:
    """What the words of the objective say of a penalised intercept."""
    penalised = " (the intercept is a penalised column of X, as liblinear has it)"
    return penalised if formulation.constant else ""


def refuse_unknown(model: Any, y: AnyArray) -> None:
    """Refuse labels that the model was not fitted on."""
    classes = model.classes_
    if len(classes) == 2 and y.dtype.kind in "iufb" and classes.dtype.kind in "iufb":
        unknown = (y != classes[0]) & (y != classes[1])  # a tenth of the time of isin
    else:
        unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y holds labels that the model has never seen: {np.unique(y[unknown])!r}."
        )


def alpha_of(formulation: Formulation, n_rows: int, total: float, n_outputs: int) -> list[float]:
    """Alpha per output for the mean loss Σ s·loss/Σs, also if the model has Σ s·loss/n."""
    alphas = _per_output(formulation.alpha, n_outputs)
    return [alpha * (n_rows / total) for alpha in alphas] if formulation.per_row else alphas


def _one_versus_rest(
    model: Any, X: Any, y: AnyArray, plain: Array, weighted: Array, offset: Array | None
) -> Problem:
    """One-versus-rest problems in which class_weight applies to the one class only."""
    if (weighted[plain > 0] == 0).any():
        raise ValueError(
            "class_weight is 0 for one of several classes: leave its samples out instead."
        )
    parts = [
        _problem(model, X, y, np.where(y == label, weighted, plain), offset, slice(k, k + 1))
        for k, label in enumerate(model.classes_)
    ]
    objectives = [part.objectives[0] for part in parts]
    means = tuple(part.mean_weights[0] for part in parts)
    return Problem(objectives, parts[0].settings, parts[0].constant, means)


def _for_output(first: Objective, shared: Settings, own: Settings, target: Array) -> Objective:
    """The first objective with another target, and another alpha if it has its own."""
    objective = first.with_target(target)
    if own.alpha == shared.alpha:
        return objective
    words = objective.words.replace(shared.words, own.words)
    return replace(
        objective, penalty=own.penalty.bind(first.coef_shape[0], own.factor), words=words
    )


def _per_output(alpha: Any, n_outputs: int) -> list[float]:
    alphas: list[float] = np.ravel(np.asarray(alpha, dtype=float)).tolist()
    if len(alphas) not in (1, n_outputs):
        raise ValueError(
            f"Number of targets and number of penalties do not correspond: {len(alphas)} != "
            f"{n_outputs}; pass one alpha, or one per column of y."
        )
    return alphas * (n_outputs if len(alphas) == 1 else 1)


def _weighted(model: Any, y: AnyArray, weights: Array | None) -> Array | None:
    classes = getattr(model, "classes_", None)
    return weighted_by_class(getattr(model, "class_weight", None), y, weights, classes)


def _weighted_by_count(model: Any, y: AnyArray, weights: Array | None) -> Array | None:
    """For models whose class_weight="balanced" counts samples and ignores sample_weight."""
    if y.ndim == 2 and model.class_weight is not None:
        raise ValueError(
            "class_weight needs one label per sample, but y has several columns: pass "
            "sample_weight instead."
        )
    factors = weighted_by_class(model.class_weight, y, None, getattr(model, "classes_", None))
    if factors is None or weights is None:
        return factors if weights is None else weights
    return factors * weights


def weighted_by_fit(model: Any, y: AnyArray, weights: Array | None) -> Array | None:
    """For models that keep the weight of each of their classes."""
    refuse_unknown(model, y)
    if (model.class_weight_ == 1.0).all():
        return weights
    factors = model.class_weight_[np.searchsorted(model.classes_, y)]
    return np.asarray(factors if weights is None else factors * weights)


_WEIGHTS = {
    "RidgeClassifier": _weighted_by_count,
    "SGDClassifier": _weighted_by_count,
    "SVC": weighted_by_fit,
}
_WEIGH_THE_ONE = ("LinearSVC", "SGDClassifier")


def with_constant_column(X: Any, constant: float) -> Any:
    """[X constant·1], for solvers that penalise the intercept as one more coefficient."""
    if sparse.issparse(X):
        return SparseDesign(X).and_constant(float(constant))
    n, d = X.shape
    found = np.empty((n, d + 1))
    found[:, :d], found[:, d] = X, constant
    return found


def _targets(model: Any, y: AnyArray, formulation: Formulation) -> list[Array]:
    """y as the loss wants it, one vector per output: ±1 by the model's own classes, or numbers."""
    if not formulation.labels:
        return columns_of(check_numbers(y))
    if y.ndim == 2:  # several labels per sample, each of them yes or no
        return [np.where(column > 0, 1.0, -1.0) for column in y.T]
    refuse_unknown(model, y)
    if len(model.classes_) == 1:
        return [np.full(y.shape[0], -1.0)]
    return ClassOutput(formulation.loss, model.classes_).columns(y)
