"""Passes of models that learn row by row, until they no longer improve the model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ... import _core
from ..._base.typing import AnyArray, Array
from ..._base.watch import interrupt, reason
from ...canonical.row_steps import EpochCourse, EpochRule, Rule
from ...design import Design, as_design
from ...losses import Loss
from ...penalties import Separable
from ...problem.objective import Objective
from ...solvers.stochastic.learner import Learner, Steps

_SPARSE_SHARE = 0.01  # share of a step for the intercept if X is sparse; convention: scikit-learn's


def intercept_share(model: Any, X: Any) -> float:
    """The share of a step that the intercept takes."""
    if not model.fit_intercept:
        return 0.0
    return _SPARSE_SHARE if sparse.issparse(X) else 1.0


def online_steps(model: Any, X: Any, rule: Rule, size: float, average: int = 0) -> Steps:
    """Steps of an online rule with η or C, averaged from step number ``average`` on; 0: never."""
    begin = average - 1.0 if average else np.inf
    share = intercept_share(model, X)
    return Steps(float(size), rule=rule, average_from=begin, intercept_share=share)


def penalties(model: Any) -> tuple[float, float]:
    """The factors of ½‖w‖² and of ‖w‖₁."""
    if model.penalty is None:
        return 0.0, 0.0
    ratio = {"l2": 0.0, "l1": 1.0}.get(model.penalty)
    if ratio is None:
        ratio = float(model.l1_ratio or 0.0)
    return float(model.alpha) * (1.0 - ratio), float(model.alpha) * ratio


class OnlineRule(NamedTuple):
    """What a row does to a model: a loss, steps along its slope, and factors of ½‖w‖² and ‖w‖₁."""

    loss: Loss
    steps: Steps
    ridge: float = 0.0
    lasso: float = 0.0

    def on(self, design: Design, y: Array) -> Objective:
        """The problem that passes over these rows know."""
        n, d = design.shape
        penalty = Separable(np.full(d, self.lasso), np.full(d, self.ridge))
        intercept = self.steps.intercept_share > 0
        mass = np.full(n, 1.0 / max(n, 1))
        return Objective(self.loss, penalty, design, y, mass, intercept=intercept)


class Learnt(NamedTuple):
    """How many passes there were, and the model, averaged if the steps say so."""

    epochs: int
    w: Array
    b: float


class Epochs:
    """Passes of a model with scikit-learn's parameters over its data.

    Parameters
    ----------
    model : estimator
        ``shuffle``, ``tol``, ``n_iter_no_change``, ``early_stopping`` and ``verbose`` are read.
    X, held_out : matrix and boolean mask
        The rows that are not held out are learnt from.
    max_iter : int
        Most passes.
    """

    def __init__(self, model: Any, X: Any, held_out: AnyArray, max_iter: int) -> None:
        self.model, self.max_iter = model, max_iter
        self.design: Design = as_design(X)
        self.held_out = held_out
        self._begun = 0  # passes

    def run(
        self, learner: Learner, rule: OnlineRule, y: Array, weight: Array, seed: int, score: Any
    ) -> Learnt:
        """Passes until the mean loss, or the held-out score, has not improved for a while.

        Ctrl-C ends them and keeps the current model.
        """
        objective = rule.on(self.design, y)
        steps = rule.steps._replace(add_up=1.0)
        try:
            self._run(learner, objective, steps, weight, seed, score)
        except KeyboardInterrupt:
            interrupt()
        return Learnt(self._begun, *learner.model(objective, average=True))

    def _run(
        self,
        learner: Learner,
        objective: Objective,
        steps: Steps,
        weight: Array,
        seed: int,
        score: Any,
    ) -> None:
        model, order = self.model, np.arange(objective.n_samples, dtype=np.uint32)
        tol = -np.inf if model.tol is None else float(model.tol)
        learner.forget_penalty()
        self._begun = 0
        alone = not (model.early_stopping or model.verbose > 0 or self.held_out.any())
        most = learner.short_epochs(objective, steps) if alone else 0
        when = EpochRule(seed, bool(model.shuffle), tol, model.n_iter_no_change, 0)
        course = EpochCourse()
        while course.done < self.max_iter and not reason():
            if most:
                few = when._replace(most=min(most, self.max_iter - course.done))
                course = learner.learn_epochs(objective, weight, order, steps, few, course)
            else:
                given = (objective, steps, weight, order)
                course = self._one_more(learner, given, when, score, course)
            self._begun = course.done
            check_finite(*learner.model(objective, average=False), course.done)
            if course.waited >= model.n_iter_no_change:
                break

    def _one_more(
        self,
        learner: Learner,
        given: tuple[Objective, Steps, Array, AnyArray],
        when: EpochRule,
        score: Any,
        course: EpochCourse,
    ) -> EpochCourse:
        """One pass; its objective is the mean loss of its rows, or minus the held-out score."""
        objective, steps, weight, order = given
        model, epoch = self.model, course.done + 1
        self._begun = epoch
        if when.shuffle:
            _core.shuffle_rows(order, when.seed)  # the last order, shuffled again
        rows = order[~self.held_out[order]]
        learner.learn(objective, weight, rows, steps)
        w, b = learner.model(objective, average=False)
        check_finite(w, b, epoch)
        value = float(learner.paid()[0]) / max(rows.size, 1)
        if model.early_stopping:
            value = -float(score(w, b))
        if model.verbose > 0:
            what = "validation score" if model.early_stopping else "minus the objective"
            print(f"Epoch {epoch}: norm {np.linalg.norm(w):.4g}, {what} {-value:.6g}")
        stale = when.tol > -np.inf and value > course.best - when.tol
        return EpochCourse(epoch, min(course.best, value), course.waited + 1 if stale else 0)


def check_finite(w: Array, b: float, epoch: int) -> None:
    """Refuse a model that is not finite, as scikit-learn does."""
    if not (np.isfinite(w).all() and np.isfinite(b)):
        raise ValueError(
            f"Floating-point under-/overflow occurred at epoch #{epoch}. Scaling input data "
            "with StandardScaler or MinMaxScaler might help."
        )
