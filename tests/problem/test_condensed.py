"""d + 1 rows stand for n: the same objective, the same optimum, and folds by subtraction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

import minimand as mm
from minimand.estimators.prepare import posed
from minimand.problem.condensed import condense, is_worthwhile, middle, sums
from minimand.selection.fold_sums import Divided, FoldSums
from minimand.selection.samples import Fold, Samples


def problem(n=120, d=6, *, intercept=True, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, d)) + 3.0) * np.logspace(-scale, scale, d)
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    estimator = mm.Regressor("squared", "l1", alpha=0.1, intercept=intercept)
    weight, offset = rng.integers(0, 3, n), rng.standard_normal(n)
    return posed(estimator, X, y, weight, offset).objectives[0]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.floats(0, 2))
def test_the_objective_is_the_same(seed, intercept, scale):
    full = problem(intercept=intercept, seed=seed, scale=scale)
    small = condense(full, sums(full, middle(full)))
    w = np.random.default_rng(seed).standard_normal(full.n_features)
    b = float(small.intercepts(w)) if intercept else 0.0
    expected = full.primal(full.point(w, b))
    assert small.objective.primal(small.objective.point(w, 0.0)) == pytest.approx(expected, 1e-9)
    assert small.objective.scale == pytest.approx(full.scale, rel=1e-9)
    if intercept:  # and b is the best one
        for move in (-1e-3, 1e-3):
            assert full.primal(full.point(w, b + move)) > expected


@pytest.mark.parametrize("columns", ["duplicated", "constant", "zero", "collinear"])
def test_singular_columns(columns):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 5))
    X[:, 4] = {
        "duplicated": X[:, 0],
        "constant": 7.0,
        "zero": 0.0,
        "collinear": X[:, 0] - 2 * X[:, 1],
    }[columns]
    y = X[:, 0] + rng.standard_normal(100)
    path = mm.path(mm.Regressor("squared", "l1", tol=1e-9), X, y, alphas=15)
    for i in (3, 9, 14):
        cold = mm.Regressor("squared", "l1", alpha=path.alphas[i], tol=1e-9).fit(X, y)
        np.testing.assert_allclose(path.model(i).predict(X), cold.predict(X), atol=1e-3)
        bound = 1e-9 * (cold.certificate_.primal + path.certificates[i].primal)
        assert abs(path.certificates[i].primal - cold.certificate_.primal) <= bound
        assert path.certificates[i].relative <= 1e-9


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "cv",
    [KFold(4), ShuffleSplit(3, test_size=0.3, random_state=0), ShuffleSplit(2, train_size=0.2)],
)
def test_sums_by_subtraction_are_sums(intercept, cv):
    full = problem(intercept=intercept)
    train = [np.sort(rows) for rows, _ in cv.split(full.y)]
    divided = Divided(full, train)
    for i, rows in enumerate(train):
        found = divided.training(i)
        direct = sums(full, found.centre, rows)
        assert found.weight == pytest.approx(direct.weight)
        size = np.sqrt(np.diag(direct.second))
        error = np.abs(found.second - direct.second) / np.outer(size, size)
        assert error.max() < 1e-12


def test_a_fold_that_holds_nearly_all_of_a_column_is_summed_directly():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 3))
    X[:, 2] *= 1e-7
    X[:25, 2] = 1e3 * rng.standard_normal(25)  # beside these the others are rounding
    full = posed(mm.Regressor("squared", "l1"), X, X[:, 0]).objectives[0]
    train = [rows for rows, _ in KFold(4).split(X)]
    found = Divided(full, train).training(0)
    direct = sums(full, rows=train[0])
    np.testing.assert_array_equal(found.second, direct.second)


def test_folds_from_sums_equal_folds_from_rows():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 8)) + 5.0
    X[:, 7] = X[:, 6] + 1e-4 * rng.standard_normal(200)
    y = X[:, 0] - X[:, 6] + rng.standard_normal(200)
    weight = rng.integers(0, 3, 200)
    for penalty in ("l1", "l2", mm.L1() + mm.L2()):
        # A named solver works on the rows themselves.
        shared = mm.Regressor("squared", penalty, tol=1e-10)
        named = mm.Regressor(
            "squared",
            penalty,
            tol=1e-10,
            solver="closed_form" if penalty == "l2" else "working_set",
        )
        ours = mm.Tuned(shared, alphas=8).fit(X, y, weight)
        theirs = mm.Tuned(named, alphas=ours.alphas_).fit(X, y, weight)
        for column in ("mean_test_score", "std_test_score"):
            np.testing.assert_allclose(
                ours.cv_results_[column], theirs.cv_results_[column], rtol=1e-6
            )
        assert ours.cv_results_["max_relative_gap"].max() <= 1e-10


def test_sums_that_do_not_hold_on_the_rows_are_dropped():
    """Columns that agree to seven digits: a Gram has lost what tells them apart."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 4))
    X[:, 1] = X[:, 0] + 1e-7 * rng.standard_normal(200)
    y = 1e7 * (X[:, 1] - X[:, 0]) + X[:, 2] + 0.1 * rng.standard_normal(200)
    ridge = mm.Regressor("squared", "l2", tol=1e-8)
    alphas = [1e-4, 1e-12]
    tuned = mm.Tuned(ridge, alphas=alphas, cv=3).fit(X, y)
    scores = np.empty((3, 2))
    for k, (train, test) in enumerate(KFold(3).split(X)):
        for a, alpha in enumerate(alphas):
            model = mm.Regressor("squared", "l2", alpha=alpha, tol=1e-8).fit(X[train], y[train])
            scores[k, a] = -0.5 * np.mean((model.predict(X[test]) - y[test]) ** 2)
    np.testing.assert_allclose(tuned.cv_results_["mean_test_score"], scores.mean(axis=0), rtol=1e-3)
    assert tuned.cv_results_["max_relative_gap"].max() <= 1e-8


def test_it_is_for_many_rows_and_the_squared_loss():
    full = problem()
    assert is_worthwhile(full)
    assert not is_worthwhile(full, rows=20)
    huber = posed(mm.Regressor("huber", "l1"), full.design.x, full.y).objectives[0]
    assert not is_worthwhile(huber)


def fold_sums(X, y, folds, weight=None, offset=None, *, intercept=True):
    estimator = mm.Regressor("squared", "l1", alpha=1.0, intercept=intercept)
    full = posed(estimator, X, y, weight, offset).objectives[0]
    return FoldSums(estimator._checked_settings(), full, Samples(X, y, weight, offset), folds)


@pytest.mark.parametrize("intercept", [True, False])
def test_held_out_losses_from_sums_are_those_of_the_rows(intercept):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 5)) * np.logspace(-3, 3, 5) + 7.0
    y, offset = rng.standard_normal(150) + X[:, 0], rng.standard_normal(150)
    weight = rng.integers(0, 3, 150).astype(float)
    folds = [Fold(*rows) for rows in KFold(3, shuffle=True, random_state=0).split(X)]
    shared = fold_sums(X, y, folds, weight, offset, intercept=intercept)
    coefs = rng.standard_normal((4, 5)) / np.logspace(-3, 3, 5)
    intercepts = rng.standard_normal(4) if intercept else np.zeros(4)
    for i, (_, test) in enumerate(folds):
        r = X[test] @ coefs.T + intercepts + (offset - y)[test, None]
        expected = 0.5 * weight[test] @ r**2 / weight[test].sum()
        found = shared.held_out_losses(i, coefs, intercepts)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_held_out_losses_that_sums_cannot_tell_are_left_to_the_rows():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((100, 3))
    y = X @ [1.0, 2.0, -1.0]
    every = [Fold(*rows) for rows in KFold(4).split(X)]
    perfect, none = np.array([[1.0, 2.0, -1.0]]), np.zeros(1)
    assert fold_sums(X, y, every).held_out_losses(0, perfect, none) is None  # digits are lost
    assert fold_sums(X, y, every).held_out_losses(0, 0.5 * perfect, none) is not None
    partly = [Fold(train, test[:10]) for train, test in every]  # other rows than are left out
    assert fold_sums(X, y, partly).held_out_losses(0, 0.5 * perfect, none) is None


def test_tuning_where_models_are_perfect_or_folds_overlap():
    """Scores come from the rows where sums cannot tell them, and are those of GridSearchCV."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 4))
    y = X @ [1.0, 2.0, -1.0, 0.0]
    alphas = [1.0, 1e-3, 1e-9]
    lasso = mm.Regressor("squared", "l1", tol=1e-12)
    for cv in (KFold(3), ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=1)):
        tuned = mm.Tuned(lasso, alphas, cv, refit=False).fit(X, y)
        search = GridSearchCV(lasso, {"alpha": alphas}, scoring="neg_mean_squared_error", cv=cv)
        scores = search.fit(X, y).cv_results_["mean_test_score"]
        np.testing.assert_allclose(2 * tuned.cv_results_["mean_test_score"], scores, rtol=1e-3)
