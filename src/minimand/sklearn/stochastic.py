"""SGDClassifier and SGDRegressor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn import linear_model

from .._base.threads import get_num_threads
from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import interrupt, reason, stoppable
from ..audit.foreign.objectives import problem_of
from ..canonical.row_steps import EpochCourse, EpochRule, Rule
from ..certificate import Certificate, judge
from ..estimators.inputs.data import refuse_negative
from ..estimators.outcome import Part, combined
from ..losses import EpsilonInsensitive, Hinge
from ..problem.objective import Objective
from ..solvers.in_parallel import in_threads
from ..solvers.stochastic.learner import Learner, Steps
from ..solvers.stochastic.training import weights_of
from .epochs.online import OnlineClassifier, OnlineRegressor, seeds_of
from .epochs.passes import OnlineRule, check_finite, intercept_share, online_steps, penalties
from .epochs.progress import Progress

_SMALLEST = 1e-6  # step at which learning_rate="adaptive" ends; convention: scikit-learn's
_PASSIVE = ("pa1", "pa2")
_POWERS = {"constant": 0.0, "adaptive": 0.0, "optimal": 1.0}


class _Trained:
    """scikit-learn's checks, schedules and stopping rules around our compiled passes."""

    certificate_: Certificate

    def fit(
        self: Any,
        X: ArrayLike,
        y: ArrayLike,
        coef_init: ArrayLike = None,
        intercept_init: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Any:
        """Fit the model and certify it; stochastic steps usually leave a visible gap.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        coef_init, intercept_init : array-like, optional
            Where to start.
        sample_weight : array-like of shape (n_samples,), optional
        """
        self.__dict__.pop("certificate_", None)
        with stoppable(self):
            super().fit(X, y, coef_init, intercept_init, sample_weight)  # type: ignore[misc]
            objectives = self.__dict__.pop("_objectives", None)
            if objectives is not None:  # passive-aggressive steps have no objective
                self._judge(objectives)
        return self

    def _judge(self: Any, objectives: list[Objective]) -> None:
        """Set the certificate of the trained model."""
        coefs, intercepts = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        parts = [
            _judged(o, np.array(w, dtype=float), float(b))
            for o, w, b in zip(objectives, coefs, intercepts)
        ]
        whole = combined(parts, list(map(Part.of, objectives)), "outputs")
        self.certificate_ = replace(whole, iterations=int(self.n_iter_))

    def _forget_fit(self) -> None:
        """Remove the certificate of an earlier fit: a stream has none."""
        for name in ("_objectives", "certificate_"):
            self.__dict__.pop(name, None)

    def _rule(self: Any, X: Any) -> OnlineRule:
        """The passive-aggressive steps of ``learning_rate`` "pa1" and "pa2"."""
        self.__dict__.pop("_trained", None)  # of stochastic steps
        numbers = not hasattr(self, "classes_")
        ridge, lasso = penalties(self)
        if self.average and (ridge or lasso):
            raise ValueError(
                f"average={self.average!r} with learning_rate={self.learning_rate!r} needs "
                f"penalty=None, not {self.penalty!r}: passive-aggressive steps with a penalty "
                "know no average; set penalty=None or average=False."
            )
        rule = Rule.PA1 if self.learning_rate == "pa1" else Rule.PA2
        steps = online_steps(self, X, rule, self.eta0, int(self.average))
        loss = EpsilonInsensitive(float(self.epsilon)) if numbers else Hinge()
        return OnlineRule(loss, steps, ridge, lasso)

    def _learn_all(self: Any, X: Any, y: AnyArray, sample_weight: Array, max_iter: int) -> None:
        """Train every output, and set the attributes that scikit-learn's methods set."""
        refuse_negative(sample_weight)  # the objective would be unbounded
        # Split by labels, before rows of weight zero are left out.
        held_out = self._make_validation_split(y, sample_mask=sample_weight > 0)
        weights = np.asarray(sample_weight, dtype=float)
        problem = problem_of(self, X, y, None if (weights == 1).all() else weights)
        objectives = problem.objectives
        if objectives[0].n_samples != held_out.size:
            held_out = held_out[weights > 0]
        progress = Progress(self, X if (weights > 0).all() else X[weights > 0], held_out)
        seeds = seeds_of(self, len(objectives))
        self.__dict__.pop("_learners", None)  # of passive-aggressive steps
        known = len(getattr(self, "_trained", ())) == len(objectives)
        if self.t_ == 1.0 or not known or self.coef_ is not self._left:  # or coef_ was replaced
            starts = zip(np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))
            steps = self.t_ - 1.0
            few = objectives[0].design.sparse
            self._trained = [
                Learner.start(w, float(b), Rule.PLAIN, sparse=few, steps=steps) for w, b in starts
            ]
        if self.t_ > 1.0 or self.coef_.any():
            for learner in self._trained:
                learner.measure()
        # Outputs know nothing of one another: threads change how long it takes, and nothing else.
        workers = getattr(self, "n_jobs", None) or min(get_num_threads(), len(objectives))
        each = list(zip(objectives, self._trained, problem.mean_weights, seeds))
        epochs = in_threads(
            lambda i: self._train(*each[i], progress, max_iter),
            len(each),
            effective_n_jobs(workers),
        )
        self.n_iter_ = max(epochs)
        self.t_ += self.n_iter_ * X.shape[0]
        average = bool(self.average) and self.average <= self.t_ - 1.0
        models = [learner.model(o, average) for o, learner in zip(objectives, self._trained)]
        for (w, b), done in zip(models, epochs):
            check_finite(w, b, done)
        self.coef_ = np.stack([w for w, _ in models]).astype(X.dtype)
        self.intercept_ = np.array([b for _, b in models], dtype=X.dtype)
        self._objectives = objectives
        self._left = self.coef_

    def _train(
        self: Any,
        objective: Objective,
        learner: Learner,
        mean_weight: float,
        seed: int,
        progress: Progress,
        max_iter: int,
    ) -> int:
        """Epochs until the training objective or the held-out score no longer improves."""
        weight = weights_of(objective)
        rows = np.arange(objective.n_samples, dtype=np.uint32)
        share = intercept_share(self, progress.X)
        steps = self._steps(objective, mean_weight)._replace(intercept_share=share)
        tol = -np.inf if self.tol is None or max_iter == 1 else self.tol
        if tol > -np.inf and not progress.by_score:  # scikit-learn's penalty, beside its loss
            steps = steps._replace(add_up=mean_weight)
        when = EpochRule(seed, bool(self.shuffle), tol, self.n_iter_no_change, max_iter)
        course = EpochCourse()
        try:
            while course.done < max_iter and course.finite and not reason():
                course = progress.next(objective, learner, weight, rows, steps, when, course)
                if course.waited >= self.n_iter_no_change:
                    if self.learning_rate != "adaptive" or steps.eta <= _SMALLEST * mean_weight:
                        break
                    steps, course = steps._replace(eta=steps.eta / 5), course._replace(waited=0)
        except KeyboardInterrupt:  # the model is what was learnt so far
            interrupt()
        return course.done

    def _steps(self: Any, objective: Objective, mean_weight: float) -> Steps:
        """The step of row t: eta0, eta0/t^power_t, or 1/(alpha·(t₀ + t)).

        scikit-learn minimises Σ s·loss/n + penalty, here it is Σ s·loss/Σs + (n/Σs)·penalty: steps
        that are Σs/n times as long are the same steps.
        """
        steps = Steps(
            mean_weight * float(self.eta0),
            power=_POWERS.get(self.learning_rate, float(self.power_t)),
            average_from=float(self.average) - 1.0 if self.average else np.inf,
            average_power=0.0,
        )
        if self.learning_rate != "optimal":
            return steps
        # Léon Bottou's rule: the first step is about as long as the final w.
        reach = np.sqrt(1.0 / np.sqrt(self.alpha))
        slope = float(objective.loss.gradient(np.array([-reach]), np.ones(1))[0])
        t0 = max(1.0, slope) / (reach * self.alpha)
        return steps._replace(eta=mean_weight / self.alpha, t0=t0 - 1.0)


def _judged(objective: Objective, w: Array, b: float) -> Certificate:
    with np.errstate(over="ignore", invalid="ignore"):  # the gap is then infinite
        return judge(objective, objective.point(w, b), thorough=True).certificate(objective)


class SGDClassifier(_Trained, OnlineClassifier, linear_model.SGDClassifier):
    r"""Stochastic training, as `sklearn.linear_model.SGDClassifier`, with a certificate.

    .. math:: \min_{w,b} \frac{1}{n}\sum_i s_i\,\ell(x_i^T w + b, y_i)
        + \alpha\,(\rho\|w\|_1 + \tfrac{1}{2}(1-\rho)\|w\|_2^2)

    Parameters, losses, schedules and stopping rules are scikit-learn's, and so is the meaning of
    ``tol``, since stochastic steps stop early by design. All coefficients count in the objective of
    an epoch; in scikit-learn's only those of the last row do, so that it takes fewer epochs on
    sparse data. The part of an l1 step that is cut off at zero is applied later. Classes are
    trained in ``n_jobs`` threads, by default in all.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, t_
        As in scikit-learn.
    certificate_ : Certificate
        After `fit`; for a stream use `minimand.certify`. There is none with ``learning_rate`` "pa1"
        or "pa2": passive-aggressive steps have no objective.

    Examples
    --------
    >>> from minimand.sklearn import SGDClassifier
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SGDClassifier(random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.85, model.certificate_.gap >= 0
    (True, True)
    """

    def _fit_binary(self: Any, X: Any, y: AnyArray, **how: Any) -> None:
        if self.learning_rate in _PASSIVE:
            super()._fit_binary(X, y, **how)
        else:
            self._learn_all(X, y, how["sample_weight"], how["max_iter"])

    def _fit_multiclass(self: Any, X: Any, y: AnyArray, **how: Any) -> None:
        if self.learning_rate in _PASSIVE:
            super()._fit_multiclass(X, y, **how)
        else:
            self._learn_all(X, y, how["sample_weight"], how["max_iter"])

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike = None, sample_weight: ArrayLike = None
    ) -> Self:
        """One pass over a batch, in random order if ``shuffle``; parameters as in scikit-learn."""
        super().partial_fit(X, y, classes, sample_weight)
        self._forget_fit()
        return self


class SGDRegressor(_Trained, OnlineRegressor, linear_model.SGDRegressor):
    r"""Stochastic training, as `sklearn.linear_model.SGDRegressor`, with a certificate.

    Parameters, losses, schedules and stopping rules are scikit-learn's; see `SGDClassifier`.

    Examples
    --------
    >>> from minimand.sklearn import SGDRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGDRegressor(alpha=0.01, random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.5, model.certificate_.relative < 0.1
    (True, True)
    """

    def _fit_regressor(self: Any, X: Any, y: AnyArray, *how: Any) -> None:
        if self.learning_rate in _PASSIVE:
            super()._fit_regressor(X, y, *how)
            return
        if not hasattr(self, "t_"):
            self.t_ = 1.0
        self._learn_all(X, y, *how[-2:])  # the weights, and max_iter
        self.coef_ = self._left = self.coef_[0]

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """One pass over a batch, in random order if ``shuffle``; parameters as in scikit-learn."""
        super().partial_fit(X, y, sample_weight)
        self._forget_fit()
        return self
