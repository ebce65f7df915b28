"""Alpha by cross-validation."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._base.threads import get_num_threads
from .._base.typing import ArrayLike
from .._base.watch import chosen_so_far, stoppable
from .._base.wording import counted
from ..design import as_design
from ..estimators.inputs import data
from ..estimators.prepare import copy_of
from .best_estimator import DelegatesToBest
from .combinations import check_same_samples, combinations_of, measure_of, words_of
from .results import RULES
from .samples import Samples, folds_of, leaves_one_out, present_for
from .scores import Scorer, check_weights_are_heard, scorer_for
from .trials import Search, Trial, rows_of, table

_UNSCALED = 10.0  # ratio of standard deviations, above which columns count as not scaled; safeguard


class Tuned(DelegatesToBest):
    r"""An estimator whose alpha, and optionally other parameters, are found by cross-validation.

    Every fold is a path of certified models on its training part; the held-out loss

    .. math:: \mathrm{CV}(\alpha) = \tfrac1K \sum_k \frac{\sum_{i \in k} s_i\,
              \ell(z_i^{(-k)}(\alpha), y_i)}{\sum_{i \in k} s_i}

    of all models of a fold is computed in one matrix product. For the squared loss with many
    samples, folds are solved from sums over rows; leave-one-out with L2 needs no refitting at all.

    Parameters
    ----------
    estimator : Regressor, Classifier or Ranker
        Its ``alpha`` is ignored; its ``tol`` is met at every alpha and in every fold. Its
        ``max_seconds`` limits the whole search, and a callback that stops ends the whole search.
    alphas : int or array-like, default=100
        Their number or values, as in `minimand.path`. All folds share the grid of the whole data.
    cv : int, splitter, iterable or "loo", default=5
        Number of folds (stratified for classifiers, of whole queries for rankers), a scikit-learn
        splitter, pairs of rows (train, test), or ``"loo"``: leave one out, which is exact and quick
        for the squared loss with L2.
    rule : {"min", "1se"}, default="min"
        The best mean score, or the largest alpha within one standard error of it.
    scoring : str or callable, optional
        A scorer of scikit-learn. By default minus the mean loss of the model itself (½ squared
        error, half deviance, …) on the held-out samples, weighted by sample_weight. For a `Ranker`
        "ndcg", "mean_average_precision" or a callable (model, X, y, groups).
    refit : bool, default=True
        Whether to fit the path on all data, which gives `best_estimator_`.
    grid : dict or list of dict, optional
        Parameters beside alpha and the values to try, such as ``{"loss__delta": [1, 10]}``, with
        nested names for parts of the loss, the penalty or the features. Every combination has its
        own path on the same folds. Without ``scoring``, all are compared by the loss of
        ``estimator`` as passed. The combination with the best mean score is taken, and the rule
        chooses alpha within it.
    eps : float, optional
        The smallest alpha divided by the largest, as in `minimand.path`.
    n_jobs : int, optional
        Number of folds that run at the same time, in threads; by default as many as kernels may
        use. Always 1 if the estimator has callbacks.
    verbose : bool, default=False
        Print a line to stderr after every fold.

    Attributes
    ----------
    alpha_ : float
    alphas_ : ndarray
        The alphas of the chosen combination, decreasing.
    best_params_ : dict
        ``alpha_`` and the parameters of the chosen combination.
    best_index_ : int
        The row of `cv_results_` with ``best_params_``.
    chosen_ : dict of int
        The row that each rule would choose, by its name.
    best_score_ : float
        The mean score in that row.
    cv_results_ : dict of ndarray
        By combination, and in it by alpha: ``params``, ``param_alpha``, ``param_…`` of the grid,
        ``mean_test_score``, ``std_test_score``, ``sem_test_score`` (the standard error),
        ``rank_test_score``, ``split0_test_score`` …, ``mean_n_nonzero`` and ``max_relative_gap``
        (the worst certified gap of the folds). Exact leave-one-out fits no folds and has none of
        the last three.
    best_estimator_ : estimator
        The model at alpha_ on all data.
    certificate_ : Certificate
        The certificate of ``best_estimator_``.
    path_ : Path
        The models of all alphas on all data, with the parameters of the chosen combination.
    n_features_in_ : int
    classes_ : ndarray
        For classifiers.

    Notes
    -----
    ``class_weight`` applies to the fits only; the held-out loss is weighted by sample_weight alone.
    Folds have equal weight in the mean score, as in GridSearchCV, except with ``cv="loo"``, where
    samples have their sample_weight.

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
    >>> mixed = mm.Regressor("squared", mm.L1() + 1.0 * mm.L2())
    >>> grid = {"penalty__right__factor": [0.0, 0.1, 1.0]}
    >>> mm.Tuned(mixed, cv=5, grid=grid).fit(X, y).best_params_["penalty__right__factor"]
    0.0
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
        grid: Any = None,
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
        self.grid = grid
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
            Passed on to the splitter; for a `Ranker`, the query of every item.

        Raises
        ------
        Interrupted
            After Ctrl-C; its ``result`` is this object, with the best alpha among those scored so
            far (the largest alpha if none was).
        """
        probe = copy_of(self.estimator)
        scorer, jobs = self._checked(probe)
        if probe.in_queries:
            y = probe._with_groups(y, groups)
        combinations = combinations_of(probe, self.grid)
        measure = measure_of(probe, combinations) if scorer is None else None
        mapped = any(each.estimator.features is not None for each in combinations)
        given = self._samples(probe, (X, y, sample_weight, offset), mapped)
        check_weights_are_heard(scorer, given.weight is not None)
        samples = present_for(probe, given)
        for combination in combinations:
            check_same_samples(combination, given, samples)
        alone = leaves_one_out(self.cv)
        # Leave-one-out folds (n of n − 1 rows each) are made later, only if no formula applies.
        folds = [] if alone and not probe.in_queries else folds_of(self.cv, probe, samples, groups)
        search = Search(
            samples, folds, scorer, measure, self.alphas, self.eps, bool(self.refit), alone, jobs,
            bool(self.verbose), getattr(self, "feature_names_in_", None),
        )  # fmt: skip
        limits, self._scoring = probe._control([]), self.scoring
        with stoppable(self):
            trials, best = search.run(combinations, limits)
            self._choose(trials, best, len(combinations))
            # For callers that fit the model themselves: a start from the sums of the folds.
            sums, self._start = trials[best].sums, None
            if sums is not None and not self.refit and not trials[best].reason:
                self._start = sums.model(self.alpha_, limits)
        self._warn_if_short(trials, best, len(combinations))
        self._warn_at_the_edge(None if mapped else given.X)
        return self

    def _checked(self, probe: Any) -> tuple[Scorer | None, int]:
        """The scorer and the number of threads; bad arguments are refused in one sentence each."""
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
        return scorer_for(probe, self.scoring), int(jobs)

    def _samples(self, probe: Any, given: tuple[Any, Any, Any, Any], mapped: bool) -> Samples:
        """X, y, weights and offset as they were passed, checked."""
        X, y, sample_weight, offset = given
        loss = probe._checked_settings().loss
        X, y = data.check_xy(self, X, y, many=probe._takes_many(loss, y), mapped=mapped)
        y = probe._checked_target(y)
        weight = data.check_weights(sample_weight, len(y))
        scores = probe._output_of(y, weight, loss).scores
        return Samples(X, y, weight, data.check_offset(offset, len(y), scores))

    def _choose(self, trials: list[Trial], best: int, planned: int) -> None:
        """Set the attributes of the best combination and of the alpha that the rule chooses."""
        trial = trials[best]
        scores, (first, end) = trial.scores, rows_of(trials, best)
        place = scores.best(self.rule)
        self._rows = (first, end)  # rows of the chosen combination in the table
        self.best_index_ = first + place
        detail = f" on {scores.folds.sum()} of {counted(scores.folds.size, 'fold')}"
        if planned > 1:
            compared = max(sum(not each.reason for each in trials), 1)
            detail += f", in {compared} of {counted(planned, 'combination')}"
        self._course = chosen_so_far(int(scores.known.sum()), scores.known.size, detail)
        self.alphas_ = scores.alphas
        self.alpha_ = float(self.alphas_[place])
        self.best_score_ = float(scores.mean[place])
        self.cv_results_ = table(trials)
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.chosen_ = {rule: first + scores.best(rule) for rule in RULES}
        if is_classifier(trial.estimator):
            self.classes_ = trial.estimator.classes_
        if trial.path is not None:
            self.path_ = trial.path
            self.best_estimator_ = trial.path.model(place)

    def _warn_if_short(self, trials: list[Trial], best: int, planned: int) -> None:
        """Warn of fits that were not done or missed the tolerance, at the line that called fit."""
        short = sum(trial.short for trial in trials)
        reason = next((trial.reason for trial in trials if trial.reason), "")
        undone = len(trials) < planned or not all(trial.complete for trial in trials)
        if not undone and not short:
            return
        if undone and not reason:  # some part used up its share of the time
            reason = f"max_seconds={self.estimator.max_seconds}"
        scores = trials[best].scores
        stopped = f"was stopped by {reason}: " if reason else ""
        among = f"{len(trials)} of {counted(planned, 'combination')} were tried, " * (planned > 1)
        warnings.warn(
            f"Tuned: {stopped}{among}alpha was chosen among {scores.known.sum()} of "
            f"{counted(scores.known.size, 'alpha')} on {scores.folds.sum()} of "
            f"{counted(scores.folds.size, 'fold')}, and {counted(short, 'fit')} missed "
            f"tol={self.estimator.tol:g}; the model is valid: raise the limit or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _warn_at_the_edge(self, X: Any) -> None:
        """Warn if the best alpha is the smallest of the grid: a better one may lie below.

        Under one alpha, a column in small units is penalised more than others: so it may be small
        only for the sake of some columns.
        """
        last = len(self.alphas_) - 1
        place = self.chosen_["min"] - self._rows[0]
        if last == 0 or place < last or self.alphas_[last] == 0:
            return
        advice = ""
        if X is not None and (ratio := _ratio_of_scales(X)) > _UNSCALED:
            advice = (
                f", or features=StandardScaler() to the estimator, as the standard deviations of "
                f"the columns differ by a factor of {ratio:.2g}"
            )
        warnings.warn(
            f"Tuned: the best alpha is the smallest of the grid ({self.alphas_[last]:.3g}), so a "
            f"better one may lie below it: pass a smaller eps or smaller alphas{advice}.",
            UserWarning,
            stacklevel=3,
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean score against alpha with a band of one standard error.

        The best alpha and that of the 1-SE rule are marked. With a grid of combinations, the curve
        is that of the chosen one, which the title names.

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
        scoring = self._scoring
        label = "mean held-out loss" if scoring is None else f"mean {_name(scoring)}"
        first, end = self._rows
        results = {name: values[first:end] for name, values in self.cv_results_.items()}
        chosen = {rule: place - first for rule, place in self.chosen_.items()}
        ax = plot_scores(results, chosen, label, scoring is None, ax)
        params = {name: value for name, value in self.best_params_.items() if name != "alpha"}
        if params:
            ax.set_title(words_of(params), fontsize=9)
        return ax


def _name(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


def _ratio_of_scales(X: Any) -> float:
    """The largest standard deviation of a column over the smallest one that is not rounding."""
    design = as_design(X)
    mean, square = design.moments(np.full(design.shape[0], 1.0 / design.shape[0]))
    variance = square - mean * mean
    variance = variance[variance > 1e-12 * square]  # share of the square: rounding; safeguard
    return float(np.sqrt(variance.max() / variance.min())) if variance.size else 1.0
