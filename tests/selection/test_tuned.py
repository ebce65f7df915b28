"""Tuned as users meet it: rules, attributes, stops."""

import pickle
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import minimand as mm
from minimand.selection.results import Scores

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:120], Y[:120]
LASSO = mm.Regressor("squared", "l1")


@pytest.fixture(scope="module")
def lasso():
    return mm.Tuned(LASSO, alphas=40).fit(X, Y)


# Rules -------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(1, 12), st.integers(0, 10**6))
def test_the_rules_by_their_definitions(folds, count, seed):
    rng = np.random.default_rng(seed)
    by_fold = rng.standard_normal((folds, count)).round(1)
    alphas = np.geomspace(1.0, 0.01, count)
    scores = Scores(alphas, by_fold, np.ones(folds))
    mean, error = by_fold.mean(axis=0), by_fold.std(axis=0, ddof=1) / np.sqrt(folds)
    np.testing.assert_allclose(scores.mean, mean, atol=1e-12)
    np.testing.assert_allclose(scores.error, error, atol=1e-12)
    best = scores.best("min")
    assert scores.mean[best] == scores.mean.max()
    assert (scores.mean[:best] < scores.mean[best]).all()  # of equals, the largest alpha
    simple = scores.best("1se")
    assert simple <= best
    assert scores.mean[simple] >= scores.mean[best] - scores.error[best]
    assert (scores.mean[:simple] < scores.mean[best] - scores.error[best]).all()


def test_the_rule_chooses_the_model(lasso):
    simple = mm.Tuned(LASSO, alphas=40, rule="1se").fit(X, Y)
    assert simple.alpha_ > lasso.alpha_
    np.testing.assert_array_equal(
        simple.cv_results_["mean_test_score"], lasso.cv_results_["mean_test_score"]
    )
    fewer = np.count_nonzero(simple.best_estimator_.coef_)
    assert fewer < np.count_nonzero(lasso.best_estimator_.coef_)


def test_scores_that_are_not_finite_lose():
    scores = Scores(np.array([3.0, 2.0, 1.0]), np.array([[np.nan, 1.0, 2.0]] * 3), np.ones(3))
    assert scores.best("min") == 2
    assert scores.best("1se") == 2
    assert scores.table([])["rank_test_score"].tolist() == [3, 2, 1]
    with pytest.raises(ValueError, match="no alpha has a finite score"):
        Scores(np.ones(1), np.full((2, 1), np.nan), np.ones(2)).best("min")


# Attributes --------------------------------------------------------------------------------------


def test_attributes(lasso):
    results = lasso.cv_results_
    assert lasso.alphas_.shape == (40,)
    assert (np.diff(lasso.alphas_) < 0).all()
    assert lasso.alpha_ == results["param_alpha"][lasso.best_index_]
    assert lasso.best_score_ == results["mean_test_score"].max()
    assert results["rank_test_score"][lasso.best_index_] == 1
    assert results["params"][3] == {"alpha": lasso.alphas_[3]}
    assert {len(column) for column in results.values()} == {40}
    assert sum(key.startswith("split") for key in results) == 5
    assert lasso.certificate_.relative <= 1e-6
    assert lasso.certificate_ is lasso.best_estimator_.certificate_
    assert lasso.best_estimator_.alpha == lasso.alpha_
    assert pd.DataFrame(results).shape[0] == 40
    np.testing.assert_array_equal(lasso.predict(X), lasso.best_estimator_.predict(X))
    assert lasso.score(X, Y) == lasso.best_estimator_.score(X, Y)
    assert not hasattr(lasso, "predict_proba")
    assert not hasattr(lasso, "classes_")


@pytest.mark.parametrize("index", [0, 11, 39])
def test_every_model_of_the_path_is_a_cold_fit(lasso, index):
    warm = lasso.path_.model(index)
    cold = clone(LASSO).set_params(alpha=lasso.alphas_[index]).fit(X, Y)
    scale = cold.certificate_.gap / (cold.certificate_.relative or 1.0) or 1e4
    assert abs(warm.certificate_.primal - cold.certificate_.primal) <= 2e-6 * scale
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), rtol=0.02)
    assert mm.certify(warm, X, Y).relative <= 1e-6


def test_grids_of_the_user_in_any_order():
    tuned = mm.Tuned(LASSO, alphas=[0.1, 2.0, 0.5], cv=3).fit(X, Y)
    np.testing.assert_array_equal(tuned.alphas_, [2.0, 0.5, 0.1])
    assert tuned.path_.coefs.shape == (3, 10)
    one = mm.Tuned(LASSO, alphas=[0.5], cv=3).fit(X, Y)
    assert one.alpha_ == 0.5
    assert one.best_score_ == pytest.approx(tuned.cv_results_["mean_test_score"][1])
    with_zero = mm.Tuned(LASSO, alphas=[0.0, 0.5], cv=3).fit(X, Y)
    assert with_zero.alphas_[-1] == 0.0


def test_eps_sets_the_end_of_the_grid():
    tuned = mm.Tuned(LASSO, alphas=5, eps=0.1, cv=2).fit(X, Y)
    assert tuned.alphas_[-1] == pytest.approx(0.1 * tuned.alphas_[0])


def test_without_refit_there_is_no_model():
    tuned = mm.Tuned(LASSO, alphas=5, refit=False).fit(X, Y)
    assert not hasattr(tuned, "best_estimator_")
    assert not hasattr(tuned, "path_")
    assert tuned.alpha_ > 0
    with pytest.raises(AttributeError, match="refit=False leaves no model"):
        tuned.predict(X)


def test_classifiers_have_classes_and_probabilities():
    y = np.where(Y > 140, "high", "low")
    tuned = mm.Tuned(mm.Classifier("logistic", "l1"), alphas=5, cv=3).fit(X, y)
    assert tuned.classes_.tolist() == ["high", "low"]
    np.testing.assert_allclose(tuned.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(tuned.predict_log_proba(X)), tuned.predict_proba(X))
    assert tuned.decision_function(X).shape == (120,)
    assert set(tuned.predict(X)) <= {"high", "low"}
    assert not hasattr(mm.Tuned(mm.Classifier("squared_hinge")), "predict_proba")


def test_names_of_columns_are_kept():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    tuned = mm.Tuned(LASSO, alphas=5, cv=3).fit(frame, Y)
    assert tuned.feature_names_in_.tolist() == list(frame.columns)
    assert tuned.path_.model(2).feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        tuned.predict(frame[frame.columns[::-1]])


def test_clone_pickle_and_nested_parameters(lasso):
    again = pickle.loads(pickle.dumps(lasso))
    np.testing.assert_array_equal(again.predict(X), lasso.predict(X))
    nested = clone(mm.Tuned(mm.Regressor("squared", mm.L1())))
    nested.set_params(estimator__penalty__weights=[0.0] + [1.0] * 9, estimator__tol=1e-7, cv=3)
    assert nested.estimator.penalty.weights[0] == 0.0
    assert nested.get_params()["estimator__tol"] == 1e-7
    fitted = nested.set_params(alphas=4).fit(X, Y)
    assert fitted.path_.coefs[0, 0] != 0
    assert np.count_nonzero(fitted.path_.coefs[0, 1:]) == 0
    search = GridSearchCV(
        mm.Tuned(mm.Regressor(mm.Huber(), "l1"), alphas=3, cv=2),
        {"estimator__loss__delta": [5, 50]},
    )
    scores = search.fit(X, Y).cv_results_["mean_test_score"]
    assert scores[0] != scores[1]  # the two deltas arrived at the two fits
    assert search.best_params_ == {"estimator__loss__delta": (5, 50)[scores.argmax()]}
    steps = make_pipeline(StandardScaler(), mm.Tuned(LASSO, alphas=3, cv=2)).fit(X, Y)
    assert steps.predict(X).shape == Y.shape


def test_splitters_of_every_kind():
    masks = [(np.arange(120) % 2 == k, np.arange(120) % 2 != k) for k in (0, 1)]
    rows = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in masks]
    by_mask = mm.Tuned(LASSO, alphas=4, cv=masks).fit(X, Y)
    by_rows = mm.Tuned(LASSO, alphas=4, cv=iter(rows)).fit(X, Y)
    np.testing.assert_allclose(
        by_mask.cv_results_["mean_test_score"], by_rows.cv_results_["mean_test_score"]
    )
    future = mm.Tuned(LASSO, alphas=4, cv=TimeSeriesSplit(3)).fit(X, Y)
    assert "split2_test_score" in future.cv_results_
    repeated = [(np.r_[r, r[:5]], t) for r, t in rows]  # rows may be drawn twice
    drawn = mm.Tuned(LASSO, alphas=by_rows.alphas_, cv=repeated).fit(X, Y)
    weights = np.ones(60)
    weights[:5] = 2.0
    model = clone(LASSO).set_params(alpha=by_rows.alphas_[2])
    model.fit(X[rows[0][0]], Y[rows[0][0]], sample_weight=weights)
    loss = 0.5 * np.mean((model.predict(X[rows[0][1]]) - Y[rows[0][1]]) ** 2)
    assert -drawn.cv_results_["split0_test_score"][2] == pytest.approx(loss, rel=1e-3)


def test_folds_that_test_on_weight_zero_only_do_not_count():
    weight = np.ones(120)
    weight[:40] = 0.0
    tuned = mm.Tuned(LASSO, alphas=4, cv=KFold(3)).fit(X, Y, sample_weight=weight)
    rest = mm.Tuned(LASSO, alphas=tuned.alphas_, cv=KFold(2)).fit(X[40:], Y[40:])
    np.testing.assert_allclose(
        tuned.cv_results_["mean_test_score"], rest.cv_results_["mean_test_score"], rtol=1e-6
    )


def test_verbose_tells_of_every_part(capsys):
    mm.Tuned(LASSO, alphas=3, cv=3, verbose=True).fit(X, Y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Tuned: path on all data")
    assert {line.split(",")[0] for line in lines[1:]} == {
        f"Tuned: fold {k} of 3" for k in (1, 2, 3)
    }


# Stops -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "working_set"])
def test_a_callback_that_stops_at_once_leaves_a_valid_model(solver):
    stop = mm.Regressor("squared", "l1", callbacks=[lambda state: mm.STOP], solver=solver)
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        tuned = mm.Tuned(stop, alphas=20).fit(X, Y)
    assert np.isfinite(tuned.predict(X)).all()
    audit = mm.certify(tuned.best_estimator_, X, Y)
    assert tuned.certificate_.gap >= 0
    assert audit.primal == pytest.approx(tuned.certificate_.primal)


def test_a_callback_that_stops_in_a_fold_leaves_what_is_known():
    seen = []

    def stop(state):
        seen.append(state)
        return mm.STOP if len(seen) > limit else None

    limit = 10**9
    estimator = mm.Regressor("poisson", "l1", callbacks=[stop])
    whole = mm.Tuned(estimator, alphas=10, cv=3).fit(X, Y)
    calls, limit = len(seen), 0
    seen.clear()
    mm.path(mm.Regressor("poisson", "l1", callbacks=[seen.append]), X, Y, alphas=10)
    limit = (len(seen) + calls) // 2  # the path is done, some folds are not
    seen.clear()
    with pytest.warns(ConvergenceWarning, match=r"on \d of 3 folds"):
        tuned = mm.Tuned(estimator, alphas=10, cv=3).fit(X, Y)
    assert tuned.certificate_.relative <= 1e-6  # the path had been finished
    first = whole.cv_results_["split0_test_score"]
    np.testing.assert_allclose(tuned.cv_results_["split0_test_score"], first, rtol=1e-6)
    assert np.isnan(tuned.cv_results_["split2_test_score"]).any()


def test_the_time_is_for_everything():
    rng = np.random.default_rng(0)
    big = rng.standard_normal((300, 400))
    labels = big[:, 0] > 0
    estimator = mm.Classifier("logistic", "l1", max_seconds=0.05)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        tuned = mm.Tuned(estimator, alphas=100, eps=1e-6).fit(big, labels)
    assert np.isfinite(tuned.certificate_.gap)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_the_folds(jobs, monkeypatch):
    """Ctrl-C as the main thread sees it, while folds are being fitted."""
    from minimand.selection import folds
    from minimand.solvers import in_parallel as side_by_side

    if jobs == 1:
        slow = [lambda state: (_ for _ in ()).throw(KeyboardInterrupt)]
        estimator = mm.Regressor("poisson", "l1", callbacks=slow)
    else:
        started = threading.Event()

        def interrupted(futures, **options):
            started.wait(10)
            raise KeyboardInterrupt

        def outcome(self, i, inner=folds.CrossValidation.outcome):
            started.set()
            return inner(self, i)

        monkeypatch.setattr(side_by_side, "wait", interrupted)
        monkeypatch.setattr(folds.CrossValidation, "outcome", outcome)
        estimator = mm.Regressor("poisson", "l1")
    with pytest.raises(mm.Interrupted, match="Ctrl-C") as stopped:
        mm.Tuned(estimator, alphas=30, n_jobs=jobs).fit(X, Y)
    tuned = stopped.value.result
    assert np.isfinite(tuned.predict(X)).all()
    assert tuned.certificate_.dual <= tuned.certificate_.primal


def test_a_limit_on_iterations_warns_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned = mm.Tuned(mm.Regressor("poisson", "l1", max_iter=1, tol=1e-12), alphas=10, cv=2)
        tuned.fit(sparse.csr_array(X), Y)  # whose alphas are solved one by one
    found = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(found) == 1
    assert "fits missed tol=1e-12" in str(found[0].message)
    assert found[0].filename == __file__


def test_path_after_a_stop_only_judges():
    calls = []

    def stop(state):
        calls.append(time.perf_counter())
        return mm.STOP if len(calls) == 4 else None

    estimator = mm.Regressor("poisson", "l1", callbacks=[stop])
    with pytest.warns(ConvergenceWarning, match="stopped by"):
        path = mm.path(estimator, X, Y, alphas=12)
    assert len(path) == 12
    assert len(calls) == 4
    assert all(c.gap >= 0 for c in path.certificates)


# Refusals ----------------------------------------------------------------------------------------


def test_a_class_of_weight_zero_is_absent():
    y = np.repeat([0, 1, 2], 40)[np.random.default_rng(0).permutation(120)]
    kept = y < 2
    folds = list(KFold(3).split(X))
    small = np.cumsum(kept) - 1
    inside = [(small[a[kept[a]]], small[b[kept[b]]]) for a, b in folds]
    zero = mm.Classifier("logistic", "l2", class_weight={0: 1.0, 1: 2.0, 2: 0.0})
    ours = mm.Tuned(zero, alphas=4, cv=folds).fit(X, y)
    plain = mm.Classifier("logistic", "l2", class_weight={0: 1.0, 1: 2.0})
    theirs = mm.Tuned(plain, alphas=ours.alphas_, cv=inside).fit(X[kept], y[kept])
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-5
    )
    assert ours.classes_.tolist() == [0, 1]


def test_the_edge_of_the_grid_is_told():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match="the best alpha is the smallest of the grid"):
        mm.Tuned(mm.Regressor("squared", "l1"), alphas=[2.0, 1.0]).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.Tuned(mm.Regressor("squared", "l1")).fit(X, y)


def test_at_the_edge_of_the_grid_columns_in_other_units_are_told():
    X, y = load_diabetes(return_X_y=True)
    model = mm.Regressor("squared", "l1")
    mixed = X * np.geomspace(1.0, 50.0, 10)
    with pytest.warns(UserWarning, match=r"features=StandardScaler.*by a factor of 50"):
        mm.Tuned(model, alphas=[2.0, 1.0]).fit(mixed, y)
    with pytest.warns(UserWarning, match="smaller alphas.$"):  # nothing to scale
        mm.Tuned(model, alphas=[2.0, 1.0]).fit(np.c_[X, np.ones(len(X))], y)
