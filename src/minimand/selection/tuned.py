"""Alpha by cross-validation."""

from __future__ import annotations

import numbers
import sys
import time
import warnings
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._typing import ArrayLike
from ..estimators import data
from ..estimators.class_weights import weighted_by_class
from ..estimators.prepare import copy_of, prepare, weights_of
from ..objective import Objective
from ..threads import get_num_threads
from ..wording import counted
from .chosen import ChosenModel
from .cross_validation import cross_validate, with_sums
from .folds import CrossValidation, Halt, Outcome
from .grid import grid_of
from .path import along, gathered
from .results import RULES, Scores
from .samples import Samples, folds_of, leaves_one_out
from .scores import Scorer, check_scoring, check_weights_are_heard
from .training import trained


class Tuned(ChosenModel):
    r"""An estimator whose alpha is chosen by cross-validation over a path.

    Every fold is a path of certified models on its training part; the held-out loss

    .. math:: \mathrm{CV}(\alpha) = \tfrac1K \sum_k \frac{\sum_{i \in k} s_i\,
              \ell(z_i^{(-k)}(\alpha), y_i)}{\sum_{i \in k} s_i}

    of all its models comes from one product. For the squared loss with many samples, folds are
    sums over all rows less the sums over the fold; leave-one-out with L2 needs no refitting at all.

    Parameters
    ----------
    estimator : Regressor or Classifier
        Its alpha is not used; its tol is met at every alpha and in every fold. Its ``max_seconds``
        is for all of the tuning, and what a callback stops is all of the tuning, too.
    alphas : int or array-like, default=100
        How many, or which: as in `minimand.path`. All folds share the grid of the whole data.
    cv : int, splitter, iterable or "loo", default=5
        Number of folds (stratified for classifiers), a scikit-learn splitter, pairs of rows (train,
        test), or ``"loo"``: leave one out, which is exact and quick for the squared loss with L2.
    rule : {"min", "1se"}, default="min"
        The best mean score, or the largest alpha within one standard error of it.
    scoring : str or callable, optional
        A scorer of scikit-learn. By default minus the mean loss of the model itself (½ squared
        error, half deviance, …) on the held-out samples, weighted by sample_weight.
    refit : bool, default=True
        Whether to fit the path on all data, which gives `best_estimator_`.
    eps : float, optional
        The smallest alpha relative to the largest, as in `minimand.path`.
    n_jobs : int, optional
        Folds to work on at a time, in threads; by default as many as kernels may use. One after
        the other where the estimator has callbacks.
    verbose : bool, default=False
        Say on stderr when a part is done.

    Attributes
    ----------
    alpha_ : float
    alphas_ : ndarray
        The grid, decreasing.
    best_index_ : int
    chosen_ : dict of int
        The index that each rule would choose, by its name.
    best_score_ : float
        Mean score at alpha_.
    cv_results_ : dict of ndarray
        By alpha: ``param_alpha``, ``mean_test_score``, ``std_test_score``, ``sem_test_score`` (the
        standard error), ``rank_test_score``, ``split0_test_score`` …, ``mean_n_nonzero`` and
        ``max_relative_gap`` (the worst certified gap of the folds). Exact leave-one-out fits no
        folds and has only the former five.
    best_estimator_ : estimator
        The model at alpha_ on all data.
    certificate_ : Certificate
        Of that model.
    path_ : Path
        The models of all alphas on all data.
    n_features_in_ : int
    classes_ : ndarray
        For classifiers.

    Notes
    -----
    ``class_weight`` shapes the fits; the held-out loss is weighted by sample_weight alone. Folds
    count alike whatever their weight, as in GridSearchCV, except with ``cv="loo"``, where samples
    count by theirs.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lasso = mm.Tuned(mm.Regressor("squared", "l1"), cv=5, rule="1se").fit(X, y)
    >>> int((lasso.best_estimator_.coef_ != 0).sum()), lasso.certificate_.relative <= 1e-6
    (6, True)
    >>> ridge = mm.Tuned(mm.Regressor("squared", "l2"), cv="loo").fit(X, y)
    >>> f"{ridge.alpha_:.0e}", f"{-2 * ridge.best_score_:.0f}"   # and the mean squared error
    ('9e-06', '3000')
    """

    def __init__(
        self,
        estimator: Any,
        alphas: Any = 100,
        cv: Any = 5,
        rule: str = "min",
        scoring: Any = None,
        refit: bool = True,
        *,
        eps: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.scoring = scoring
        self.refit = refit
        self.eps = eps
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        offset: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> Self:
        """Choose alpha and fit the model.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in the estimator's own ``fit``.
        groups : array-like of shape (n_samples,), optional
            Passed on to the splitter.
        """
        scorer, jobs = self._checked()
        probe = copy_of(self.estimator)
        probe._checked_settings()
        samples = self._samples(X, y, sample_weight, offset)
        check_weights_are_heard(scorer, samples.weight is not None)
        alone = leaves_one_out(self.cv)
        # n folds of n − 1 rows each are made only if there is no formula for them.
        folds = [] if alone else folds_of(self.cv, probe, samples, groups)
        objectives = prepare(probe, samples.X, samples.y, samples.weight, samples.offset)
        settings = probe._checked_settings()
        if hasattr(self, "feature_names_in_"):
            probe.feature_names_in_ = self.feature_names_in_
        self.alphas_ = grid_of(settings, objectives, self.alphas, self.eps, float(probe.tol))
        control, halt = probe._control([]), Halt()
        task = CrossValidation(
            probe, settings, samples, self.alphas_, folds, scorer, control, halt,
            alone=alone, verbose=bool(self.verbose),
        )  # fmt: skip
        task = with_sums(task, objectives[0])
        # What folds leave undone when the time is up, the path has done already.
        jobs = 1 if control.callbacks else jobs
        short = self._fit_path(task, objectives, jobs) if self.refit else 0
        scores, outcomes = cross_validate(task, objectives, jobs)
        self._choose(probe, scores, outcomes)
        # Whoever fits the model by himself may start where the sums of the folds lead.
        self._start = None
        if task.sums is not None and not self.refit and not halt.reason:
            self._start = task.sums.model(self.alpha_, control)
        self._warn_if_short(scores, halt, short + sum(o.short for o in outcomes))
        self._warn_at_the_edge()
        return self

    def _checked(self) -> tuple[Scorer | None, int]:
        """The scorer and the number of threads; one sentence for every bad argument."""
        if self.rule not in RULES:
            raise ValueError(f"rule must be 'min' or '1se', not {self.rule!r}.")
        for name in ("refit", "verbose"):
            if not isinstance(getattr(self, name), bool | np.bool_ | numbers.Integral):
                raise ValueError(f"{name} must be True or False, not {getattr(self, name)!r}.")
        wrong = isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, numbers.Integral)
        if self.n_jobs is not None and (wrong or self.n_jobs == 0):
            raise ValueError(
                f"n_jobs must be a number of threads, −1 for all cores, or None, "
                f"not {self.n_jobs!r}."
            )
        jobs = get_num_threads() if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        return check_scoring(self.scoring), int(jobs)

    def _samples(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> Samples:
        X, y = data.check_xy(self, X, y)
        weight = data.check_weights(sample_weight, len(y))
        if is_classifier(self.estimator):
            data.check_labels(y)
            by_class = weighted_by_class(self.estimator.class_weight, y, weight)
            if by_class is not None and not by_class.all():  # a class of weight 0 is absent
                weight = np.where(by_class > 0, 1.0 if weight is None else weight, 0.0)
        return Samples(X, y, weight, data.check_offset(offset, len(y)))

    def _fit_path(self, task: CrossValidation, objectives: list[Objective], jobs: int) -> int:
        """The path on all data; how many of its models miss the tolerance.

        Its part of the time is as much as a fold has.
        """
        parts = 1 - (-len(task.folds) // jobs)
        began = time.perf_counter()
        probe, settings, halt, samples = task.estimator, task.settings, task.halt, task.samples
        sums = None if task.sums is None else task.sums.whole
        columns = []
        for k, objective in enumerate(objectives):
            limits = task.control.share(parts + len(objectives) - k - 1)
            if halt.event.is_set():
                limits.callbacks, limits.max_iter = (), 1
            found = list(along(settings, objective, self.alphas_, limits, probe.solver, sums))
            columns.append(found)
            for reason in {s.stopped_by for s in found} & Halt.REASONS:
                halt.say(reason)
        weights = weights_of(probe, samples.y, samples.weight)
        columns, training = trained(
            settings, objectives, self.alphas_, columns, weights, task.control.tol
        )
        self.path_ = gathered(probe, objectives, self.alphas_, columns, training)
        if self.verbose:
            seconds = time.perf_counter() - began
            print(f"Tuned: path on all data, {seconds:.2f} s", file=sys.stderr)
        return sum(not s.converged for column in columns for s in column)

    def _choose(self, probe: Any, scores: Scores, outcomes: list[Outcome]) -> None:
        self.best_index_ = scores.best(self.rule)
        self.alpha_ = float(self.alphas_[self.best_index_])
        self.best_score_ = float(scores.mean[self.best_index_])
        self.cv_results_ = scores.table(outcomes)
        self.chosen_ = {rule: scores.best(rule) for rule in RULES}
        if is_classifier(probe):
            self.classes_ = probe.classes_
        if self.refit:
            self.best_estimator_ = self.path_.model(self.best_index_)

    def _warn_if_short(self, scores: Scores, halt: Halt, short: int) -> None:
        """Say what was left undone, at the line that called fit."""
        if not halt.reason and not short:
            return
        stopped = f"was stopped by {halt.reason}: " if halt.reason else ""
        warnings.warn(
            f"Tuned: {stopped}alpha was chosen among {scores.known.sum()} of "
            f"{counted(scores.known.size, 'alpha')} on {scores.folds.sum()} of "
            f"{counted(scores.folds.size, 'fold')}, and {counted(short, 'fit')} missed "
            f"tol={self.estimator.tol:g}; the model is valid: raise the limit or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _warn_at_the_edge(self) -> None:
        """Say so where the best alpha is the last of the grid, and a better one may lie below."""
        last = len(self.alphas_) - 1
        if last == 0 or self.chosen_["min"] < last or self.alphas_[last] == 0:
            return
        warnings.warn(
            f"Tuned: the best alpha is the smallest of the grid ({self.alphas_[last]:.3g}), so a "
            "better one may lie below it: pass a smaller eps or smaller alphas.",
            UserWarning,
            stacklevel=3,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean score against alpha with a band of one standard error.

        Both the best alpha and that of the 1-SE rule are marked.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from ..report.tuning import plot_scores

        check_is_fitted(self)
        label = "mean held-out loss" if self.scoring is None else f"mean {_name(self.scoring)}"
        return plot_scores(self.cv_results_, self.chosen_, label, self.scoring is None, ax)


def _name(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
