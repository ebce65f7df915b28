"""One class against one other: the laws of pairs of classes."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

import minimand as mm
from minimand.losses.joint.one_vs_one import pairs_of_classes

LOSSES = [mm.Hinge(), mm.SquaredHinge(), mm.Logistic(), mm.CrossEntropy()]


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    kept = rng.permutation(150)[:90]  # classes of different sizes, in any order
    return X[kept], np.array(["setosa", "versicolor", "virginica"])[y[kept]]


def test_it_is_the_svm_of_scikit_learn(flowers):
    X, y = flowers
    ours = mm.Classifier(mm.OneVsOne(mm.Hinge()), tol=1e-10).fit(X, y)
    theirs = SVC(kernel="linear", C=1.0, tol=1e-10).fit(X, y)
    # Theirs are positive for the lower class.
    np.testing.assert_allclose(ours.coef_, -theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0] == 2
    mine, its = np.abs(ours.dual_coef_).sum(), np.abs(theirs.dual_coef_).sum()
    assert mine == pytest.approx(its, rel=1e-4)


def test_the_loss_may_be_named(flowers):
    X, y = flowers
    named = mm.Classifier(mm.OneVsOne("hinge")).fit(X, y)
    given = mm.Classifier(mm.OneVsOne(mm.Hinge())).fit(X, y)
    np.testing.assert_array_equal(named.coef_, given.coef_)


def test_with_a_kernel_it_is_the_svm_of_that_kernel(flowers):
    X, y = flowers
    ours = mm.Classifier(mm.OneVsOne(mm.Hinge()), features=mm.RBF(tau=2.0), tol=1e-9).fit(X, y)
    theirs = SVC(gamma=1 / 8, C=1.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, -theirs.intercept_, atol=1e-4)
    assert ours.certificate_.relative <= 1e-9
    assert mm.certify(ours, X, y).relative <= 1e-6


def by_support(model, X, y):
    """The coefficients of every pair from `dual_coef_`, which has a row per other class."""
    low, high = pairs_of_classes(len(model.classes_))
    numbers = np.searchsorted(model.classes_, y)[model.support_]
    rows = X[model.support_]
    return [
        (model.dual_coef_[b - 1] * (numbers == a) + model.dual_coef_[a] * (numbers == b)) @ rows
        for a, b in zip(low, high)
    ]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_pair_is_a_problem_by_itself(loss, flowers):
    X, y = flowers
    model = mm.Classifier(mm.OneVsOne(loss), alpha=0.02, tol=1e-10).fit(X, y)
    for coef, b, low, high in zip(model.coef_, model.intercept_, *pairs_of_classes(3)):
        pair = np.isin(y, model.classes_[[low, high]])
        # The mean over all samples: the penalty weighs more in the mean over a pair.
        alone = mm.Classifier(loss, alpha=0.02 / pair.mean(), tol=1e-10).fit(X[pair], y[pair])
        np.testing.assert_allclose(coef, alone.coef_[0], atol=1e-4)
        np.testing.assert_allclose(b, alone.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_certificate_bounds_the_sum_over_pairs(loss, flowers):
    X, y = flowers
    model = mm.Classifier(mm.OneVsOne(loss), alpha=0.02).fit(X, y)
    z = X @ model.coef_.T + model.intercept_
    numbers = np.searchsorted(model.classes_, y)
    value = mm.OneVsOne(loss).value(z, numbers).mean() + 0.01 * (model.coef_**2).sum()
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)
    assert model.certificate_.relative <= 1e-6
    again = mm.certify(model, X, y)
    assert again.dual <= value + 1e-12
    assert again.relative <= 1e-6
    assert again.by_sample.shape == y.shape
    model.coef_ = model.coef_ + 0.1
    worse = mm.certify(model, X, y)
    assert worse.gap >= worse.primal - value - 1e-12 > 0
    assert worse.dual <= value + 1e-12


def test_the_loss_is_the_sum_over_the_pairs_of_a_class():
    rng = np.random.default_rng(1)
    z, y, loss = rng.standard_normal((20, 6)), rng.integers(0, 4, 20), mm.Logistic()
    low, high = pairs_of_classes(4)
    by_hand = [
        sum(
            float(loss.value(np.array([s]), np.array([1.0 if c == b else -1.0]))[0])
            for s, a, b in zip(row, low, high)
            if c in (a, b)
        )
        for row, c in zip(z, y)
    ]
    np.testing.assert_allclose(mm.OneVsOne(loss).value(z, y), by_hand)
    step = 1e-6 * rng.standard_normal(z.shape)
    change = mm.OneVsOne(loss).value(z + step, y) - mm.OneVsOne(loss).value(z - step, y)
    slope = (mm.OneVsOne(loss).gradient(z, y) * 2 * step).sum(axis=1)
    np.testing.assert_allclose(change, slope, atol=1e-12)


def test_votes_decide_and_the_sum_of_scores_breaks_ties():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    model = mm.Classifier(mm.OneVsOne(mm.Logistic()), alpha=0.01).fit(X, y)
    z = X @ model.coef_.T + model.intercept_
    theirs = _ovr_decision_function(z > 0, z, 3)
    np.testing.assert_allclose(model.decision_function(X), theirs)
    assert (model.predict(X) == model.classes_[theirs.argmax(axis=1)]).all()


@pytest.mark.parametrize("penalty", ["l2", mm.L1(), mm.L1() + 0.1 * mm.L2()], ids=repr)
def test_weights_are_copies(penalty, flowers):
    X, y = flowers
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    model = mm.Classifier(mm.OneVsOne(mm.SquaredHinge()), penalty, alpha=0.01, tol=1e-9)
    weighted = mm.Classifier(**model.get_params(deep=False)).fit(X, y, weights)
    copies = model.fit(np.repeat(X, weights.astype(int), axis=0), np.repeat(y, weights.astype(int)))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, atol=1e-3)
    assert weighted.certificate_.primal == pytest.approx(copies.certificate_.primal, abs=1e-7)
    assert mm.certify(weighted, X, y, weights).relative <= 1e-6
    assert weighted.slack_.shape == (len(y), 2)
    assert np.isnan(weighted.slack_[weights == 0]).all()


def test_two_classes_are_the_loss_itself(flowers):
    X, y = flowers
    two = y != "setosa"
    pair = mm.Classifier(mm.OneVsOne(mm.Hinge()), alpha=0.1).fit(X[two], y[two])
    plain = mm.Classifier(mm.Hinge(), alpha=0.1).fit(X[two], y[two])
    np.testing.assert_array_equal(pair.coef_, plain.coef_)
    assert pair.decision_function(X).ndim == 1
    zero = mm.Classifier(mm.OneVsOne(mm.Hinge()), class_weight={"setosa": 0}).fit(X, y)
    assert zero.coef_.shape == (1, 4)
    assert len(zero.classes_) == 2


def test_paths_and_tuning(flowers):
    X, y = flowers
    base = mm.Classifier(mm.OneVsOne(mm.Logistic()), "l1")
    path = mm.path(base, X, y, alphas=6)
    assert not path.coefs[0].any()
    assert path.coefs[1].any()
    assert max(c.relative for c in path.certificates) <= 1e-6
    model = mm.Classifier(base.loss, "l1", alpha=path.alphas[3]).fit(X, y)
    np.testing.assert_allclose(path.coefs[3], model.coef_, atol=1e-2)
    assert (path.model(3).predict(X) == model.predict(X)).mean() > 0.95
    assert path._names()[4] == "setosa or virginica: w0"
    tuned = mm.Tuned(base, alphas=path.alphas, cv=3).fit(X, y)
    from sklearn.model_selection import StratifiedKFold

    losses = []
    for train, test in StratifiedKFold(3).split(X, y):
        fold = mm.Classifier(base.loss, "l1", alpha=tuned.alpha_, tol=1e-9).fit(X[train], y[train])
        z = X[test] @ fold.coef_.T + fold.intercept_
        losses.append(base.loss.value(z, np.searchsorted(fold.classes_, y[test])).mean())
    assert tuned.best_score_ == pytest.approx(-np.mean(losses), abs=1e-4)


def test_coefficients_are_sums_over_support_vectors(flowers):
    X, y = flowers
    path = mm.path(mm.Classifier(mm.OneVsOne(mm.Hinge()), tol=1e-10), X, y, alphas=[0.1, 0.01])
    model = mm.Classifier(mm.OneVsOne(mm.Hinge()), alpha=0.01, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(by_support(model, X, y), model.coef_, atol=1e-3)
    np.testing.assert_allclose(by_support(path.model(1), X, y), path.coefs[1], atol=1e-3)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert len(model.support_) < len(y)


def test_sparse_data_saved_models_and_offsets(flowers):
    X, y = flowers
    model = mm.Classifier(mm.OneVsOne(mm.Logistic()), alpha=0.01, tol=1e-9).fit(X, y)
    thin = mm.Classifier(**model.get_params(deep=False)).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, model.coef_, atol=1e-4)
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    offset = np.random.default_rng(3).standard_normal((len(y), 3))
    moved = mm.Classifier(**model.get_params(deep=False)).fit(X, y, offset=offset)
    pair = np.isin(y, model.classes_[[0, 2]])
    alone = mm.Classifier("logistic", alpha=0.01 / pair.mean(), tol=1e-9)
    alone.fit(X[pair], y[pair], offset=offset[pair, 1])
    np.testing.assert_allclose(moved.coef_[1], alone.coef_[0], atol=1e-4)
    assert moved.decision_function(X, offset=offset).shape == (len(y), 3)


def test_classes_of_one_sample():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((32, 3)), np.array([0] * 15 + [1] * 15 + [2, 3])
    model = mm.Classifier(mm.OneVsOne(mm.Hinge())).fit(X, y)
    assert model.coef_.shape == (6, 3)
    assert model.certificate_.relative <= 1e-6
    assert set(model.predict(X)) <= {0, 1, 2, 3}


def test_few_problems_are_in_memory_at_a_time():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((60, 3)), np.arange(60) % 12
    model = mm.Classifier(mm.OneVsOne(mm.Logistic()))
    problems = model._posed(X, y).objectives
    assert len(problems) == 66 == len(list(problems))
    assert len(problems._made) <= 4
    assert problems[-1].n_samples == 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"penalty": mm.TraceNorm()}, "for every pair by itself"),
        ({"loss": mm.OneVsOne(mm.Multinomial())}, "must be a loss of one score"),
    ],
)
def test_refusals(change, words, flowers):
    X, y = flowers
    model = mm.Classifier(mm.OneVsOne(mm.Logistic())).set_params(**change)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_what_votes_do_not_give(flowers):
    X, y = flowers
    model = mm.Classifier(mm.OneVsOne(mm.Logistic()))
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model.fit(X, y), "predict_proba")
    assert mm.Calibrated(model).fit(X, y).predict_proba(X).shape == (len(y), 3)
    with pytest.raises(ValueError, match="one class per sample"):
        model.fit(X, np.column_stack([y == "setosa", y == "virginica"]).astype(int))
    grid = {"loss": [mm.OneVsOne(mm.Logistic()), mm.OneVsRest(mm.Logistic())]}
    with pytest.raises(ValueError, match="pass a scoring"):
        mm.Tuned(mm.Classifier(), alphas=2, cv=3, grid=grid).fit(X, y)
