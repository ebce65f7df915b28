"""Tuned searches parameters beside alpha: each combination on a warm path, on the same folds."""

from __future__ import annotations

import re
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.preprocessing import PolynomialFeatures, StandardScaler, scale

import minimand as mm

mpl.use("agg")

X, Y = load_diabetes(return_X_y=True)
X, Y = scale(X)[:150], Y[:150]
ALPHAS = [1.0, 3.0, 10.0]
MIXED = mm.Regressor("squared", mm.L1() + 1.0 * mm.L2(), tol=1e-9)
FACTORS = {"penalty__right__factor": [0.01, 1.0]}
pytestmark = pytest.mark.filterwarnings("ignore:Tuned. the best alpha is the smallest")


def test_all_combinations_agree_with_a_grid_search() -> None:
    estimator = mm.Regressor(mm.Huber(), mm.L1() + 1.0 * mm.L2(), tol=1e-9)
    grid = {"loss__delta": [10.0, 50.0], **FACTORS}
    folds = KFold(3)
    scoring = "neg_mean_absolute_error"
    tuned = mm.Tuned(estimator, ALPHAS, cv=folds, scoring=scoring, grid=grid).fit(X, Y)
    search = GridSearchCV(estimator, {**grid, "alpha": ALPHAS}, cv=folds, scoring=scoring)
    search.fit(X, Y)
    rows = _same_rows(tuned, search)
    assert len(rows) == len(set(rows)) == 12
    for column in ("mean_test_score", "std_test_score", "split2_test_score"):
        ours = tuned.cv_results_[column]
        assert_allclose(ours, search.cv_results_[column][rows], rtol=1e-5)
    assert_array_equal(
        tuned.cv_results_["rank_test_score"], search.cv_results_["rank_test_score"][rows]
    )
    assert tuned.best_params_ == search.best_params_
    assert tuned.best_params_ == tuned.cv_results_["params"][tuned.best_index_]
    assert_allclose(tuned.best_estimator_.coef_, search.best_estimator_.coef_, rtol=1e-4)
    assert tuned.best_estimator_.loss.delta == search.best_params_["loss__delta"]
    assert tuned.certificate_.relative <= 1e-9
    column = tuned.cv_results_["param_loss__delta"]
    assert [p["loss__delta"] for p in tuned.cv_results_["params"]] == column.tolist()


def _same_rows(tuned: Any, search: Any) -> list[int]:
    """Where a grid search has the combinations of a Tuned."""
    theirs = search.cv_results_["params"]
    return [theirs.index(params) for params in tuned.cv_results_["params"]]


def test_a_combination_is_what_it_would_be_alone() -> None:
    found = mm.Tuned(MIXED, alphas=6, cv=3, grid=FACTORS, rule="1se").fit(X, Y)
    factor = found.best_params_["penalty__right__factor"]
    alone = mm.Tuned(clone(MIXED).set_params(penalty__right__factor=factor), 6, 3, "1se").fit(X, Y)
    first = 6 * FACTORS["penalty__right__factor"].index(factor)
    assert_array_equal(found.alphas_, alone.alphas_)
    assert found.alpha_ == alone.alpha_
    assert found.best_index_ == first + alone.best_index_
    assert found.chosen_ == {rule: first + i for rule, i in alone.chosen_.items()}
    part = slice(first, first + 6)
    assert_array_equal(
        found.cv_results_["mean_test_score"][part], alone.cv_results_["mean_test_score"]
    )
    assert_array_equal(found.path_.coefs, alone.path_.coefs)
    assert found.best_score_ == alone.best_score_
    # Within the best combination: of all others, none has a better mean score.
    best = found.cv_results_["mean_test_score"][found.chosen_["min"]]
    assert best == found.cv_results_["mean_test_score"].max()


def test_random_folds_are_drawn_once() -> None:
    cv = ShuffleSplit(3, random_state=None)
    same = {"tol": [1e-9, 1e-9]}
    tuned = mm.Tuned(MIXED, ALPHAS, cv=cv, grid=same).fit(X, Y)
    scores = tuned.cv_results_["split0_test_score"]
    assert_array_equal(scores[:3], scores[3:])


def test_losses_are_compared_by_that_of_the_estimator() -> None:
    estimator = mm.Regressor(mm.Huber(20.0), alpha=1.0, tol=1e-9)
    grid = {"loss__delta": [5.0, 20.0, 1e6]}
    tuned = mm.Tuned(estimator, [0.1, 0.01], cv=KFold(3), grid=grid).fit(X, Y)

    def held_out(model: Any, X: Any, y: Any) -> float:
        return -float(mm.Huber(20.0).value(model.decision_function(X), y).mean())

    search = GridSearchCV(estimator, {**grid, "alpha": [0.1, 0.01]}, cv=3, scoring=held_out)
    search.fit(X, Y)
    theirs = search.cv_results_["mean_test_score"][_same_rows(tuned, search)]
    assert_allclose(tuned.cv_results_["mean_test_score"], theirs, rtol=1e-6)
    # Squared loss in folds, measured by another: neither sums over rows nor a formula may serve.
    squared = mm.Tuned(estimator, [0.1], cv="loo", grid={"loss": ["squared"]}).fit(X[:40], Y[:40])
    wide = mm.Tuned(estimator, [0.1], cv="loo", grid={"loss__delta": [1e9]}).fit(X[:40], Y[:40])
    assert squared.best_score_ == pytest.approx(wide.best_score_, rel=1e-6)


def test_features_are_searched_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (120, 2))
    y = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(120)
    estimator = mm.Regressor(features=PolynomialFeatures(1, include_bias=False))
    tuned = mm.Tuned(estimator, 8, grid={"features__degree": [1, 2]}, cv=3).fit(X, y)
    assert tuned.best_params_["features__degree"] == 2
    assert tuned.score(X, y) > 0.9
    grid = {"features": [None, PolynomialFeatures(2, include_bias=False)]}
    tuned = mm.Tuned(mm.Regressor(), 8, grid=grid, cv=3).fit(X, y)
    assert tuned.best_params_["features"] is grid["features"][1]
    assert tuned.best_index_ >= 8
    assert tuned.score(X, y) > 0.9


def test_classifiers_and_lists_of_grids() -> None:
    X, y = load_wine(return_X_y=True)
    grid = [{"penalty": ["l1"]}, {"penalty": ["l2"], "class_weight": [None, "balanced"]}]
    estimator = mm.Classifier(features=StandardScaler())
    tuned = mm.Tuned(estimator, 5, grid=grid, cv=3, scoring="accuracy").fit(X, y)
    assert tuned.best_score_ > 0.95
    assert len(tuned.cv_results_["params"]) == 15
    masked = np.ma.getmaskarray(tuned.cv_results_["param_class_weight"])
    assert_array_equal(masked, np.arange(15) < 5)
    assert_array_equal(tuned.classes_, [0, 1, 2])
    assert tuned.predict(X).shape == y.shape


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (3, "grid must be a dict of lists"),
        ([], "grid must be a dict of lists"),
        ([3], "grid must hold names of parameters and lists of values, not 3"),
        ({"alpha": [1]}, "cannot search alpha, as it is chosen along the path .* alphas="),
        ({"max_seconds": [1]}, "cannot search max_seconds"),
        ({"loss__delta": 3}, r"grid\['loss__delta'\] must be a list of values to try, not 3"),
        ({"loss": "huber"}, r"grid\['loss'\] must be a list"),
        ({"loss__delta": []}, "must be a list"),
        ({"lost": [1]}, "grid with lost=1 is refused: Invalid parameter 'lost' for Regressor"),
        ({"loss__c": [1]}, "grid with loss__c=1 is refused: Invalid parameter 'c' for Huber"),
        ({"loss__delta": [1, -1]}, "loss__delta=-1 is refused: delta of Huber must be"),
        ({"features__x": [1]}, "features__x=1 is refused: "),
        ({"loss": ["poisson"]}, r"says nothing of the scores of loss='poisson': pass a scoring"),
    ],
)
def test_bad_grids_are_refused_before_anything_is_fitted(grid: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        mm.Tuned(mm.Regressor(mm.Huber(), features=StandardScaler()), grid=grid).fit(None, None)
    assert re.search(r"\. \S", str(caught.value)) is None
    assert str(caught.value).endswith(".")


def test_classes_of_weight_zero_are_not_searched() -> None:
    grid = {"class_weight": [None, {0: 0.0, 1: 1.0, 2: 1.0}]}
    with pytest.raises(ValueError, match="leaves out classes that the estimator does not"):
        mm.Tuned(mm.Classifier(), 3, grid=grid).fit(*load_wine(return_X_y=True))


def test_time_is_shared_and_a_stop_stops_all() -> None:
    grid = {"loss__delta": [1.0, 10.0, 100.0]}
    quick = mm.Regressor(mm.Huber(), "l1", max_seconds=1e-9)
    with pytest.warns(ConvergenceWarning, match="3 of 3 combinations were tried"):
        tuned = mm.Tuned(quick, 4, cv=2, grid=grid).fit(X, Y)
    assert tuned.predict(X).shape == Y.shape

    calls: list[Any] = []

    def stop_late(state: Any) -> Any:
        calls.append(state)
        return mm.STOP if len(calls) > 150 else None

    stopped = mm.Regressor(mm.Huber(), "l1", callbacks=[stop_late])
    with pytest.warns(ConvergenceWarning, match=r"stopped by a callback: \d of 3 combinations"):
        tuned = mm.Tuned(stopped, 20, cv=3, grid=grid).fit(X, Y)
    assert len(tuned.cv_results_["params"]) < 60
    assert tuned.best_estimator_.certificate_.gap >= 0


def test_the_plot_shows_the_chosen_combination() -> None:
    tuned = mm.Tuned(MIXED, 5, cv=3, grid=FACTORS).fit(X, Y)
    ax = tuned.plot()
    factor = tuned.best_params_["penalty__right__factor"]
    assert ax.get_title() == f"penalty__right__factor={factor}"
    curve = next(line for line in ax.lines if line.get_label() == "mean held-out loss")
    first = tuned.best_index_ // 5 * 5
    assert_array_equal(curve.get_ydata(), -tuned.cv_results_["mean_test_score"][first : first + 5])
    plain = mm.Tuned(MIXED, 5, cv=3).fit(X, Y)
    assert plain.plot().get_title() == ""
    assert plain.best_params_ == {"alpha": plain.alpha_}


def test_without_refit_there_are_parameters_but_no_model() -> None:
    tuned = mm.Tuned(MIXED, ALPHAS, cv=3, refit=False, grid=FACTORS).fit(X, Y)
    assert set(tuned.best_params_) == {"alpha", "penalty__right__factor"}
    assert not hasattr(tuned, "path_")
    model = clone(MIXED).set_params(**tuned.best_params_).fit(X, Y)
    assert model.score(X, Y) > 0.3
