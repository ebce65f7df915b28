"""Tuned chooses what a plain search over the same folds chooses, with the same scores."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold

import minimand as mm
from minimand.estimators.prepare import posed_for_path
from minimand.selection.fold_sums import FoldSums
from minimand.selection.samples import Samples, folds_of
from minimand.selection.scores import check_scoring, with_offset
from minimand.solvers import Control

RNG = np.random.default_rng(7)
N = 90
X = RNG.standard_normal((N, 12))
X[:, 5] = X[:, 4] + 0.1 * RNG.standard_normal(N)
SIGNAL = X[:, :4] @ np.array([1.0, -0.8, 0.5, 0.3])
Y = SIGNAL + RNG.standard_normal(N) + 2.0
COUNTS = RNG.poisson(np.exp(0.5 * SIGNAL))
LABELS = np.where(SIGNAL + 0.5 * RNG.standard_normal(N) > 0, "yes", "no")
THREE = np.digitize(SIGNAL, [-0.7, 0.7])
WEIGHTS = RNG.integers(1, 4, N).astype(float)
OFFSET = 0.3 * RNG.standard_normal(N)
GROUPS = np.repeat(np.arange(30), 3)
TIGHT = {"tol": 1e-11}
TWO = np.column_stack([Y, 0.5 * SIGNAL - X[:, 6] + RNG.standard_normal(N)])

CASES = {
    "lasso": (mm.Regressor("squared", "l1", **TIGHT), Y),
    "ridge": (mm.Regressor("squared", "l2", **TIGHT), Y),
    "elastic net": (mm.Regressor("squared", 0.5 * mm.L1() + 0.5 * mm.L2(), **TIGHT), Y),
    "without intercept": (mm.Regressor("squared", "l1", intercept=False, **TIGHT), Y),
    "rows": (mm.Regressor("squared", mm.L21(), **TIGHT), TWO),
    "rows with squares": (mm.Regressor("squared", mm.L21() + 0.4 * mm.L2(), **TIGHT), TWO),
    "rows with weights, no intercept": (
        mm.Regressor("squared", mm.L21(np.linspace(0.5, 2.0, 12)), intercept=False, **TIGHT),
        TWO,
    ),
    "rows with l1": (mm.Regressor("squared", mm.L21() + 0.3 * mm.L1(), **TIGHT), TWO),
    "groups": (mm.Regressor("squared", mm.GroupL2(np.arange(12) // 3), **TIGHT), Y),
    "huber": (mm.Regressor("huber", "l1", **TIGHT), Y),
    "poisson": (mm.Regressor("poisson", "l2", **TIGHT), COUNTS),
    "L1 logistic": (mm.Classifier("logistic", "l1", **TIGHT), LABELS),
    "L2 logistic": (mm.Classifier("logistic", "l2", class_weight="balanced", **TIGHT), LABELS),
    "one versus rest": (mm.Classifier("squared_hinge", "l1", **TIGHT), THREE),
}


def own_loss(model, X, y, weight, offset):
    """The mean loss of a fitted model, summed over scores: the definition, without any grid."""
    z = model.decision_function(X, offset).reshape(len(y), -1)
    loss = model._checked_settings().loss
    columns = zip(z.T, model._fitted.output.columns(np.asarray(y)))
    return sum(
        np.average(loss.value(np.ascontiguousarray(c), t), weights=weight) for c, t in columns
    )


def assert_same_predictions(ours, theirs):
    if ours.dtype.kind == "f":
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    else:
        np.testing.assert_array_equal(ours, theirs)


def refitted_scores(estimator, X, y, alphas, folds, weight=None, offset=None):
    """(n_folds, n_alphas): every model fitted by itself."""

    def part(values, rows):
        return None if values is None else values[rows]

    scores = np.empty((len(folds), len(alphas)))
    for k, (train, test) in enumerate(folds):
        for a, alpha in enumerate(alphas):
            model = clone(estimator).set_params(alpha=alpha)
            model.fit(X[train], y[train], part(weight, train), part(offset, train))
            scores[k, a] = -own_loss(
                model, X[test], y[test], part(weight, test), part(offset, test)
            )
    return scores


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights, offset, groups"])
def test_scores_are_those_of_refitting(name, weighted):
    estimator, y = CASES[name]
    weight, offset = (WEIGHTS, OFFSET) if weighted else (None, None)
    cv = GroupKFold(3) if weighted else KFold(3, shuffle=True, random_state=0)
    tuned = mm.Tuned(estimator, alphas=6, cv=cv, eps=0.02)
    groups = GROUPS if weighted else None
    tuned.fit(X, y, sample_weight=weight, offset=offset, groups=groups)
    folds = list(cv.split(X, y, groups))
    expected = refitted_scores(estimator, X, y, tuned.alphas_, folds, weight, offset)
    for k, row in enumerate(expected):
        np.testing.assert_allclose(tuned.cv_results_[f"split{k}_test_score"], row, rtol=2e-5)
    np.testing.assert_allclose(
        tuned.cv_results_["mean_test_score"], expected.mean(axis=0), rtol=2e-5
    )
    np.testing.assert_allclose(tuned.cv_results_["std_test_score"], expected.std(axis=0), rtol=1e-4)
    assert tuned.best_index_ == np.argmax(expected.mean(axis=0))
    assert tuned.alpha_ == tuned.alphas_[tuned.best_index_]
    assert (tuned.cv_results_["max_relative_gap"] <= 1e-10).all()


@pytest.mark.parametrize(
    ("name", "scoring"),
    [
        ("lasso", "neg_mean_squared_error"),
        ("ridge", "r2"),
        ("elastic net", "neg_mean_absolute_error"),
        ("poisson", "neg_mean_poisson_deviance"),
        ("L1 logistic", "roc_auc"),
        ("L2 logistic", "neg_log_loss"),
        ("one versus rest", "balanced_accuracy"),
    ],
)
def test_grid_search_on_the_same_folds(name, scoring):
    estimator, y = CASES[name]
    cv = StratifiedKFold(3) if y.dtype.kind in "UO" or name == "one versus rest" else KFold(3)
    tuned = mm.Tuned(estimator, alphas=5, cv=3, scoring=scoring, eps=0.02).fit(X, y)
    search = GridSearchCV(estimator, {"alpha": tuned.alphas_}, cv=cv, scoring=scoring).fit(X, y)
    for column in ("mean_test_score", "std_test_score", "rank_test_score"):
        ours, theirs = tuned.cv_results_[column], search.cv_results_[column]
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-7)
    assert tuned.best_index_ == search.best_index_
    assert tuned.alpha_ == search.best_params_["alpha"]
    assert tuned.best_score_ == pytest.approx(search.best_score_)
    assert_same_predictions(tuned.predict(X), search.predict(X))
    assert tuned.score(X, y) == pytest.approx(search.score(X, y))


@pytest.mark.parametrize("name", ["lasso", "ridge", "rows with squares", "poisson", "L1 logistic"])
def test_weight_k_is_k_copies_in_the_same_fold(name):
    estimator, y = CASES[name]
    weight = RNG.integers(0, 3, N).astype(float)
    rows = np.repeat(np.arange(N), weight.astype(int))
    folds = list(KFold(3).split(X))
    copies = [
        (np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test)))
        for train, test in folds
    ]
    weighted = mm.Tuned(estimator, alphas=6, cv=folds).fit(X, y, sample_weight=weight)
    copied = mm.Tuned(estimator, alphas=weighted.alphas_, cv=copies).fit(X[rows], y[rows])
    for column in ("mean_test_score", "std_test_score", "split1_test_score"):
        ours, theirs = weighted.cv_results_[column], copied.cv_results_[column]
        np.testing.assert_allclose(ours, theirs, rtol=2e-5)
    assert weighted.alpha_ == copied.alpha_
    np.testing.assert_allclose(weighted.path_.coefs, copied.path_.coefs, atol=1e-4)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, np.asfortranarray])
@pytest.mark.parametrize("name", ["lasso", "rows", "L2 logistic"])
def test_every_kind_of_matrix_gives_the_same(make, name):
    estimator, y = CASES[name]
    plain = mm.Tuned(estimator, alphas=5).fit(X, y)
    other = mm.Tuned(estimator, alphas=5).fit(make(X), y)
    np.testing.assert_allclose(
        other.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-8
    )
    assert_same_predictions(other.predict(make(X)), plain.predict(X))


def test_threads_change_nothing_but_the_time():
    estimator, y = CASES["L1 logistic"]
    one = mm.Tuned(estimator, alphas=8, n_jobs=1).fit(X, y)
    three = mm.Tuned(estimator, alphas=8, n_jobs=3).fit(X, y)
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], three.cv_results_["mean_test_score"], rtol=1e-9
    )


def test_scorers_hear_of_weights_and_offsets():
    estimator, y = CASES["lasso"]
    cv = ShuffleSplit(2, random_state=0)
    alphas = [0.3, 0.03]
    tuned = mm.Tuned(estimator, alphas=alphas, cv=cv, scoring="neg_mean_squared_error")
    tuned.fit(X, y, sample_weight=WEIGHTS, offset=OFFSET)
    own = mm.Tuned(estimator, alphas=alphas, cv=cv).fit(X, y, sample_weight=WEIGHTS, offset=OFFSET)
    np.testing.assert_allclose(
        tuned.cv_results_["mean_test_score"], 2 * own.cv_results_["mean_test_score"]
    )
    given = tuned.score(X, y, sample_weight=WEIGHTS, offset=OFFSET)
    residual = y - tuned.predict(X, OFFSET)
    assert given == pytest.approx(-np.average(residual**2, weights=WEIGHTS))
    assert tuned.best_estimator_.predict(X[:2]).shape == (2,)  # the model itself has no offset


def test_a_scorer_sees_the_offset_in_every_method():
    estimator, y = CASES["L2 logistic"]
    model = clone(estimator).fit(X, y, offset=OFFSET)
    shifted = with_offset(clone(estimator).fit(X, y, offset=OFFSET), OFFSET)
    np.testing.assert_array_equal(shifted.predict_proba(X), model.predict_proba(X, OFFSET))
    assert get_scorer("accuracy")(shifted, X, y) == model.score(X, y, offset=OFFSET)
    assert check_scoring(None) is None
    assert len(Samples(X, y).take(np.arange(3))) == 3


def test_features_are_fitted_on_each_training_part():
    from sklearn.preprocessing import StandardScaler

    estimator = mm.Regressor("squared", "l1", features=StandardScaler(), **TIGHT)
    tuned = mm.Tuned(estimator, alphas=4, cv=3).fit(X * 100, Y)
    expected = refitted_scores(estimator, X * 100, Y, tuned.alphas_, list(KFold(3).split(X)))
    np.testing.assert_allclose(
        tuned.cv_results_["mean_test_score"], expected.mean(axis=0), rtol=1e-7
    )


@pytest.mark.parametrize("name", ["lasso", "elastic net", "rows", "rows with squares"])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_folds_in_arrays_are_those_of_single_models(name, far, monkeypatch):
    """Far from zero, sums have fewer digits than the tolerance, and the rows are asked."""
    estimator, y = CASES[name]
    data = X + far
    fast = mm.Tuned(estimator, alphas=7, cv=4, refit=False).fit(data, y, WEIGHTS)
    monkeypatch.setattr(FoldSums, "models", lambda *_: None)
    slow = mm.Tuned(estimator, alphas=7, cv=4, refit=False).fit(data, y, WEIGHTS)
    for column in ("mean_test_score", "std_test_score", "mean_n_nonzero"):
        ours, theirs = fast.cv_results_[column], slow.cv_results_[column]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    least = 1e-9 if far else 1e-11  # what rounding leaves, and tol
    assert (fast.cv_results_["max_relative_gap"] <= least).all()
    assert fast.alpha_ == slow.alpha_


def fold_sums_of(estimator, y, alphas):
    samples = Samples(X, y)
    _, problem = posed_for_path(estimator, X, y, None, None)
    folds = folds_of(3, estimator, samples, None)
    sums = FoldSums(problem.coded.settings, problem.objectives[0], samples, folds)
    return sums, sums.models(0, np.asarray(alphas), Control(tol=1e-6))


@pytest.mark.parametrize(
    "name", ["lasso", "elastic net", "rows", "rows with weights, no intercept"]
)
def test_models_of_a_fold_are_optimal_on_its_rows(name):
    """By the referee on the rows themselves, which knows nothing of sums."""
    estimator, y = CASES[name]
    alphas = [0.3, 0.1, 0.01]
    _, found = fold_sums_of(estimator, y, alphas)
    train = folds_of(3, estimator, Samples(X, y), None)[0].train
    for w, b, relative, alpha in zip(found.coefs, found.shifts, found.relative, alphas):
        model = clone(estimator).set_params(alpha=alpha).fit(X[train], y[train])
        model.coef_, model.intercept_ = w.T, b
        exact = mm.certify(model, X[train], y[train])
        assert exact.relative <= relative + 1e-13 <= 1e-6


@pytest.mark.parametrize(
    "penalty",
    [mm.L2(), mm.MCP(), mm.L1() + mm.NonNegative(), mm.L21(by="output"), mm.L21(squared=True)],
    ids=repr,
)
def test_other_penalties_are_no_sums_of_arrays(penalty):
    estimator = mm.Regressor("squared", penalty)
    y = TWO if isinstance(penalty, mm.L21) else Y
    assert fold_sums_of(estimator, y, [0.3, 0.1])[1] is None


def test_weights_of_outputs_are_no_plain_sums():
    estimator = mm.Regressor(mm.OverScores("squared", weights=[1.0, 3.0]), mm.L21(), **TIGHT)
    tuned = mm.Tuned(estimator, alphas=5, cv=3).fit(X, TWO)
    folds = list(KFold(3).split(X))
    for k, (train, test) in enumerate(folds):
        for alpha, score in zip(tuned.alphas_, tuned.cv_results_[f"split{k}_test_score"]):
            model = clone(estimator).set_params(alpha=alpha).fit(X[train], TWO[train])
            off = model.decision_function(X[test]) - TWO[test]
            assert score == pytest.approx(-0.5 * np.mean(off**2 @ [1.0, 3.0]), rel=2e-5)
