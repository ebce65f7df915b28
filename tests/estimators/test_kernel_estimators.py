"""Estimators with kernels: inputs of any kind, parameters, pickles, searches, refusals."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=60)
LABELS = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")


def test_short_names_and_nested_parameters():
    model = mm.Classifier("hinge", features="rbf").set_params(features__tau=2.0)
    assert model.features == mm.RBF(2.0)
    search = GridSearchCV(model, {"features__tau": [0.01, 1.0]}, cv=3).fit(X, LABELS)
    assert search.best_params_ == {"features__tau": 1.0}
    both = mm.Regressor(features=mm.RBF() + mm.Linear())
    assert clone(both).set_params(features__left__tau=3.0).features.left.tau == 3.0
    assert both.features.left.tau == 1.0
    with pytest.raises(ValueError, match="features='gaussian' is not known: write 'rbf'"):
        mm.Regressor(features="gaussian").fit(X, Y)
    with pytest.raises(ValueError, match="tau of RBF must be a positive number"):
        mm.Regressor(features=mm.RBF(-1.0)).fit(X, Y)


def test_the_fit_does_not_change_with_its_kernel():
    kernel = mm.RBF(1.0)
    model = mm.Regressor(features=kernel).fit(X, Y)
    before = model.predict(X)
    kernel.tau = 5.0
    np.testing.assert_array_equal(model.predict(X), before)


def test_pickles_predict_the_same_and_hold_support_vectors_only():
    model = mm.Classifier("hinge", features=mm.RBF("median")).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert model.features_.kernel_.tau > 1.0


def test_precomputed_matrices_are_cut_in_folds():
    kernel = mm.RBF(1.0)
    plain = mm.Classifier("logistic", features=kernel, alpha=0.01)
    given = mm.Classifier("logistic", features=mm.Precomputed(), alpha=0.01)
    one = cross_val_score(plain, X, LABELS, cv=3)
    two = cross_val_score(given, kernel(X), LABELS, cv=3)
    np.testing.assert_array_equal(one, two)
    new = RNG.normal(size=(5, 3))
    found = given.fit(kernel(X), LABELS).decision_function(kernel(new, X))
    np.testing.assert_allclose(found, plain.fit(X, LABELS).decision_function(new), atol=1e-9)
    with pytest.raises(ValueError, match="expecting 60 features"):
        given.predict(kernel(new))


def test_texts_frames_and_sparse_rows():
    words = ["kernel", "colonel", "matrix", "metric", "matter", "corner"]
    shared = mm.Callable(lambda a, b: len(set(a) & set(b)), by_pair=True)
    model = mm.Classifier("hinge", features=shared + 1.0).fit(words, [0, 0, 1, 1, 1, 0])
    assert model.predict(["colony"]).shape == (1,)
    assert model.support_vectors_ == [words[i] for i in model.support_]
    thin = sparse.csr_array(X * (X > 0))
    one = mm.Regressor(features=mm.RBF()).fit(thin, Y)
    two = mm.Regressor(features=mm.RBF()).fit(thin.toarray(), Y)
    np.testing.assert_allclose(one.predict(thin), two.predict(thin.toarray()), atol=1e-9)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    part = mm.Regressor(features=mm.RBF().on(["a"]) + mm.Linear().on(["c"])).fit(frame, Y)
    assert part.predict(frame).shape == (60,)
    with pytest.raises(ValueError, match="feature names"):
        part.predict(frame.rename(columns={"a": "z"}))


def test_paths_and_tuning_serve_kernels():
    estimator = mm.Classifier("logistic", features=mm.RBF(1.5))
    found = mm.path(estimator, X, LABELS, alphas=6)
    assert max(c.relative for c in found.certificates) <= 1e-6
    alone = mm.Classifier("logistic", features=mm.RBF(1.5), alpha=found.alphas[3]).fit(X, LABELS)
    one, two = found.certificates[3], alone.certificate_
    assert abs(one.primal - two.primal) <= one.gap + two.gap + 1e-12
    tuned = mm.Tuned(estimator, cv=3).fit(X, LABELS)
    assert tuned.best_estimator_.certificate_.relative <= 1e-6


def test_streams_refuse_kernels_in_words():
    with pytest.raises(ValueError, match="sums over all rows"):
        mm.Regressor(features=mm.RBF()).partial_fit(X, Y)
    model = mm.Regressor(features=mm.RBF(), solver="sgd", random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.set_params(max_iter=3).fit(X, Y)
    before = model.predict(X)
    model.partial_fit(X, Y)
    assert not np.array_equal(model.predict(X), before)


def test_other_columns_are_refused():
    model = mm.Regressor(features=mm.RBF()).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but Regressor is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        mm.Regressor(features=mm.RBF()).fit(np.where(X > 2, np.nan, X), Y)


def test_learnt_bandwidths_and_centring_predict_new_rows():
    for kernel in (mm.RBF("median").center(), mm.Polynomial(2).normalize(), mm.RBF() @ np.tanh):
        model = mm.Regressor("huber", features=kernel).fit(X, Y)
        z = kernel.bind(X)(X[:4] + 0.1, X[model.support_]) @ model.dual_coef_[0]
        found = model.predict(X[:4] + 0.1)
        np.testing.assert_allclose(found, z + model.intercept_, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "hinge"])
def test_rankers_with_kernels_at_small_alphas(loss):
    rng = np.random.default_rng(0)
    items, queries = rng.normal(size=(200, 8)), np.repeat(np.arange(10), 20)
    relevance = np.digitize(items[:, 0], [0, 1])
    model = mm.Ranker(loss, alpha=1e-3, features=mm.RBF(3.0), tol=1e-5)
    assert model.fit(items, relevance, groups=queries).certificate_.relative <= 1e-5
