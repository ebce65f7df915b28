"""LogisticRegressionCV: C and l1_ratio by cross-validation over certified paths."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_method_params

from .._base.typing import AnyArray, Array, IntArray
from .._base.watch import as_far_as_it_came, reason
from ..audit.foreign.objectives import problem_of
from ..certificate import judge
from ..estimators.problem import split, stacked
from ..selection.path import solved_along
from ..solvers.in_parallel import in_threads
from .base import own_tolerance
from .classes import check_classes, classes_of
from .logistic import LogisticRegression
from .logistic.absent_classes import of_present_classes
from .logistic.candidates import Candidates, candidates_of
from .tuned_base import TunedDropIn


class Table(NamedTuple):
    """Results of the folds; the axes are fold, C and l1_ratio."""

    coefs: Array  # one row for two classes, else one per class; intercepts at the end, if any
    scores: Array
    iterations: IntArray
    short: IntArray  # fits that missed the tolerance


class LogisticRegressionCV(TunedDropIn, linear_model.LogisticRegressionCV):
    r"""Logistic regression, as `sklearn.linear_model.LogisticRegressionCV`: with C by CV.

    .. math:: \mathrm{score}(C, \rho) = \tfrac1K \sum_k \mathrm{score}_k(w^{(-k)}(C, \rho))

    Every model of every fold is certified to ``tol``. More than two classes have one multinomial
    model, as in `LogisticRegression`.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Their number, between 1e-4 and 1e4, or the values.
    l1_ratios : array-like, optional
        The values to choose from.
    cv : int, splitter or iterable, optional
        Five stratified folds by default; each must train on at least two classes.
    scoring : str or callable, optional
        A scorer, by default the accuracy.
    n_jobs : int, optional
        Number of folds that run at the same time, in threads.
    refit : bool, default=True
        Whether to fit the model of the best mean score on all data. Otherwise the best models of
        the folds are averaged; the average is not optimal, and ``certificate_`` has its true gap.
    use_legacy_attributes : bool
        Whether attributes have the shapes of scikit-learn before 1.10.
    fit_intercept, dual, penalty, solver, tol, max_iter, class_weight, verbose
        As in `LogisticRegression`.
    intercept_scaling, random_state
        As in `LogisticRegression`.

    Attributes
    ----------
    C_, l1_ratio_ : float, or ndarray of shape (1,) or (n_classes,)
        The best values.
    Cs_, l1_ratios_ : ndarray
        All candidate values.
    scores_, coefs_paths_, n_iter_
        Results of every fold, as in scikit-learn: arrays, or dicts of arrays by class.
    classes_, coef_, intercept_, certificate_
        Of the model on all data.

    Examples
    --------
    >>> from minimand.sklearn import LogisticRegressionCV
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     Cs=5, l1_ratios=(0.0, 1.0), scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit(X, y)
    >>> model.scores_.shape, model.certificate_.relative < 1e-6
    ((5, 2, 5), True)
    """

    _NUMERIC = False
    __init__ = own_tolerance(linear_model.LogisticRegressionCV)

    def _choose(
        self, X: Any, y: AnyArray, weights: Array | None, params: dict[str, Any], extra: Any
    ) -> None:
        candidates = candidates_of(self)
        X = X.astype(np.float64, copy=False)
        self.classes_ = classes_of(self, y, weights)
        if extra is not None:
            heard, split = extra.scorer.score, extra.splitter.split
        else:
            heard, split = ({} if weights is None else {"sample_weight": weights}), {}
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **split))
        table = self._table(candidates, X, y, weights, folds, heard)
        self.Cs_, self.l1_ratios_ = candidates.Cs, np.asarray(candidates.ratios)
        if self.refit:
            self._fit_best(candidates, table, X, y, weights)
        else:
            self._average(candidates, table, X, y, weights)
        self._store(candidates, table)
        if not reason():
            _warn_if_short(self, table)

    # Folds -----------------------------------------------------------------------------------

    def _table(
        self,
        candidates: Candidates,
        X: Any,
        y: AnyArray,
        weights: Array | None,
        folds: list[tuple[IntArray, IntArray]],
        heard: dict[str, Any],
    ) -> Table:
        """Every fold at every C and l1_ratio."""
        scorer = get_scorer(candidates.scoring)
        own = _is_accuracy(scorer) and heard.keys() <= {"sample_weight"}
        scorer = LogisticRegression.score if own else _with_labels(scorer, self.classes_)
        # Computed on all data, so that class weights do not vary between folds.
        by_class = _class_weights(self.class_weight, y, weights)
        models = [self._model(candidates, ratio, by_class) for ratio in candidates.ratios]
        for i, (train, _) in enumerate(folds):
            _check_fold(i, y[train], None if weights is None else weights[train], models[0])
        tasks = [(model, fold) for fold in folds for model in models]

        def work(i: int) -> tuple[AnyArray, ...]:
            model, fold = tasks[i]
            return _fold(model, candidates.Cs, X, y, weights, fold, scorer, heard)

        found = in_threads(work, len(tasks), effective_n_jobs(self.n_jobs))
        shape = (len(folds), len(models))
        columns = [np.array(part).reshape(*shape, *np.shape(part[0])) for part in zip(*found)]
        return Table(*(np.swapaxes(column, 1, 2) for column in columns))

    def _model(self, candidates: Candidates, ratio: float | None, class_weight: Any) -> Any:
        """The drop-in without CV, with C = 1."""
        model = LogisticRegression(
            l1_ratio=candidates.read(ratio),
            fit_intercept=self.fit_intercept,
            solver=self.solver,
            intercept_scaling=self.intercept_scaling,
            class_weight=class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=self.verbose,
        )
        model.classes_ = self.classes_
        return model

    # The choice ------------------------------------------------------------------------------

    def _fit_best(
        self, candidates: Candidates, table: Table, X: Any, y: AnyArray, weights: Array | None
    ) -> None:
        """Fit the model of the best mean score on all data; ties go to the first."""
        total = table.scores.sum(axis=0)
        at, ratio = np.unravel_index(np.argmax(total), total.shape)
        self.C_, self.l1_ratio_ = candidates.Cs[at], candidates.ratios[int(ratio)]
        model = self._model(candidates, self.l1_ratio_, self.class_weight).set_params(C=self.C_)
        as_far_as_it_came(model.fit, X, y, weights)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        self.certificate_ = model.certificate_

    def _average(
        self, candidates: Candidates, table: Table, X: Any, y: AnyArray, weights: Array | None
    ) -> None:
        """Average the folds' best models, and judge the average at the mean C and l1_ratio."""
        count, *grid = table.scores.shape
        best = np.argmax(table.scores.reshape(count, -1), axis=1)
        at, ratio = np.unravel_index(best, grid)
        w = table.coefs[np.arange(count), at, ratio].mean(axis=0)
        self.coef_, self.intercept_ = w, np.zeros(len(w))
        if self.fit_intercept:
            self.coef_, self.intercept_ = w[:, :-1].copy(), w[:, -1].copy()
        self.C_ = np.mean(candidates.Cs[at])
        best = [candidates.read(candidates.ratios[i]) for i in ratio]
        self.l1_ratio_ = 0.0 if candidates.unasked else float(np.mean(best))
        problem = problem_of(self, X, y, weights)
        points = split(problem.objectives, *problem.points(self.coef_, self.intercept_))
        objective, point = problem.objectives[0], problem.objectives[0].point(*points[0])
        self.certificate_ = judge(objective, point, thorough=True).certificate(objective)

    def _store(self, candidates: Candidates, table: Table) -> None:
        """Attributes in scikit-learn's shapes, old or new."""
        coefs, scores, iterations, _ = table
        if not candidates.legacy:
            self.C_ = float(self.C_)
            self.l1_ratio_ = candidates.read(self.l1_ratio_)
            # (n_folds, n_l1_ratios, n_cs, n_classes, n_dof): one row for two classes.
            self.coefs_paths_ = np.swapaxes(coefs, 1, 2)
            self.scores_ = np.swapaxes(scores, 1, 2)
            self.n_iter_ = np.swapaxes(iterations, 1, 2)
            return
        if candidates.unasked:
            coefs, scores, iterations = coefs[:, :, 0], scores[:, :, 0], iterations[:, :, 0]
        labels = self.classes_[-coefs.shape[-2] :]  # of two classes the second
        self.C_ = np.tile(self.C_, labels.size)
        self.l1_ratio_ = np.tile(self.l1_ratio_, labels.size)
        named: Any = (
            {label: coefs[..., row, :] for row, label in enumerate(labels)},
            {label: scores.copy() for label in labels},
        )
        self.coefs_paths_, self.scores_ = named
        self.n_iter_ = iterations[None]


def _fold(
    model: Any,
    Cs: Array,
    X: Any,
    y: AnyArray,
    weights: Array | None,
    fold: tuple[IntArray, IntArray],
    scorer: Any,
    heard: dict[str, Any],
) -> tuple[AnyArray, ...]:
    """One path on a fold: coefficients, scores and iterations at every C, in their order."""
    train, test = fold
    own = None if weights is None else weights[train]
    problem = of_present_classes(problem_of(model, X[train], y[train], own))
    # The problem is that of C = 1; a path goes from strong to weak penalties.
    order = np.argsort(Cs, kind="stable")
    alphas = problem.settings.factor / Cs[order]
    objective = problem.objectives[0]
    found = solved_along(problem.settings, objective, alphas, model._control([]))
    found = [found[i] for i in np.argsort(order)]
    params = _check_method_params(X, heard, indices=test)
    held_out, labels = X[test], y[test]
    table, scores = [], []
    for C, solution in zip(Cs, found):
        w, b = problem.attributes(*stacked([(solution.w, solution.b)]))
        fitted = LogisticRegression(C=C)
        fitted.classes_, fitted.coef_, fitted.intercept_ = model.classes_, w, b
        fitted.n_features_in_ = X.shape[1]
        scores.append(float(scorer(fitted, held_out, labels, **params)))
        table.append(np.column_stack([w, b]) if model.fit_intercept else w)
    iterations = np.array([max(s.certificate.iterations, 1) for s in found], dtype=np.int32)
    return np.stack(table), np.array(scores), iterations, np.array([not s.converged for s in found])


def _is_accuracy(scorer: Any) -> bool:
    """Whether a scorer is `LogisticRegression.score`, which spares scikit-learn's checks."""
    plain = getattr(scorer, "_score_func", None) is accuracy_score and scorer._sign == 1
    return plain and scorer._response_method == "predict" and not scorer._kwargs


def _with_labels(scorer: Any, classes: AnyArray) -> Any:
    """The scorer with the labels of all classes, as a fold may lack some of them."""
    if not hasattr(scorer, "_score_func"):
        return scorer
    known = inspect.signature(scorer._score_func).parameters
    if "labels" not in known:
        return scorer
    more = {"pos_label": classes[-1]} if "pos_label" in known and len(classes) == 2 else {}
    return make_scorer(
        scorer._score_func,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        **{"labels": classes, **more, **scorer._kwargs},
    )


def _class_weights(class_weight: Any, y: AnyArray, weights: Array | None) -> Any:
    """The factors as a dict, "balanced" on all data."""
    if not isinstance(class_weight, str):
        return class_weight
    classes, index = np.unique(y, return_inverse=True)
    totals = np.bincount(index, weights, classes.size)
    return dict(zip(classes.tolist(), (totals.sum() / (classes.size * totals)).tolist()))


def _check_fold(i: int, y: AnyArray, weights: Array | None, model: Any) -> None:
    try:
        check_classes(model, y, weights)
    except ValueError as error:
        raise ValueError(
            f"cv leaves fold {i} with samples of one class to train on, but logistic regression "
            "needs samples of at least 2 classes: use fewer folds or a stratified splitter."
        ) from error


def _warn_if_short(model: Any, table: Table) -> None:
    if table.short.any():
        warnings.warn(
            f"{type(model).__name__}: {table.short.sum()} of {table.short.size} fits on folds miss "
            f"tol={model.tol:g} after max_iter={model.max_iter} iterations; they are valid models: "
            "raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )
