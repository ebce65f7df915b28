"""Drop-ins are scikit-learn's models: same parameters, optimum and attributes, and a proof."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from models import COUNTS, LABELS, NEWTON, THREE, TIGHT, D, N, S, X, Y, pair, shapes_agree, their
from scipy import sparse
from sklearn import linear_model as theirs
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV

import minimand as mm
from minimand import sklearn as ours

MODELS = [
    ("LinearRegression", {}, Y[:, 0], {}),
    ("Ridge", {"alpha": 2.0}, Y[:, 0], TIGHT),
    ("RidgeClassifier", {"alpha": 2.0}, LABELS, TIGHT),
    ("RidgeClassifier", {"class_weight": "balanced"}, LABELS, TIGHT),
    ("Lasso", {"alpha": 0.1}, Y[:, 0], TIGHT),
    ("ElasticNet", {"alpha": 0.1, "l1_ratio": 0.3}, Y[:, 0], TIGHT),
    ("ElasticNet", {"alpha": 0.1, "l1_ratio": 0.0}, Y[:, 0], TIGHT),
    ("LinearRegression", {"positive": True}, Y[:, 0], {}),
    ("Ridge", {"alpha": 2.0, "positive": True}, Y[:, 0], TIGHT),
    ("Lasso", {"alpha": 0.1, "positive": True}, Y[:, 0], TIGHT),
    ("ElasticNet", {"alpha": 0.1, "positive": True, "fit_intercept": False}, Y[:, 0], TIGHT),
    ("LogisticRegression", {"C": 0.3}, LABELS, TIGHT),
    ("LogisticRegression", {"C": np.inf}, LABELS, TIGHT),
    ("LogisticRegression", {"class_weight": {"yes": 3.0, "no": 1.0}}, LABELS, TIGHT),
    ("LogisticRegression", {"class_weight": "balanced", "fit_intercept": False}, LABELS, TIGHT),
    ("LogisticRegression", {"l1_ratio": 1.0, "C": 0.2, "solver": "saga"}, LABELS, TIGHT),
    ("LogisticRegression", {"l1_ratio": 0.4, "C": 0.2, "solver": "saga"}, LABELS, TIGHT),
    ("LogisticRegression", {"solver": "liblinear", "intercept_scaling": 2.0}, LABELS, TIGHT),
    ("LogisticRegression", {"solver": "liblinear", "l1_ratio": 1.0, "C": 0.5}, LABELS, TIGHT),
    ("PoissonRegressor", {"alpha": 0.1}, COUNTS, NEWTON),
    ("GammaRegressor", {"alpha": 0.1}, COUNTS + 0.5, NEWTON),
    ("TweedieRegressor", {"alpha": 0.1, "power": 1.5}, COUNTS, NEWTON),
    ("TweedieRegressor", {"alpha": 0.1}, Y[:, 0], NEWTON),
    ("LinearSVC", {"C": 0.3}, LABELS, TIGHT),
    ("LinearSVC", {"loss": "hinge", "intercept_scaling": 2.0}, LABELS, TIGHT),
    ("LinearSVC", {"penalty": "l1", "dual": False, "C": 0.2}, LABELS, TIGHT),
    ("LinearSVC", {"class_weight": {"yes": 3.0}, "fit_intercept": False}, LABELS, TIGHT),
    ("LinearSVC", {"C": 0.3}, THREE, TIGHT),
    ("LinearSVC", {"class_weight": "balanced", "loss": "hinge"}, THREE, TIGHT),
    ("LinearSVR", {"epsilon": 0.3}, Y[:, 0], TIGHT),
    ("LinearSVR", {"loss": "squared_epsilon_insensitive", "C": 0.1}, Y[:, 0], TIGHT),
    ("LinearSVR", {"fit_intercept": False}, Y[:, 0], TIGHT),
    ("QuantileRegressor", {"quantile": 0.7, "alpha": 0.1}, Y[:, 0], {}),
    ("QuantileRegressor", {"alpha": 0.0, "fit_intercept": False}, Y[:, 0], {}),
    ("HuberRegressor", {"epsilon": 1.35}, Y[:, 0], TIGHT),
    ("HuberRegressor", {"alpha": 5.0, "epsilon": 2.0, "fit_intercept": False}, Y[:, 0], TIGHT),
]


@pytest.mark.parametrize("weights", [None, S], ids=["equal", "weighted"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize(("name", "parameters", "y", "how"), MODELS)
def test_the_optimum_is_that_of_scikit_learn(name, parameters, y, how, kind, weights):
    peer, model = pair(name, parameters, **how)
    data = kind(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's, about iterations
        # Its least squares with positive=True take no sparse matrix.
        peer.fit(X if name == "LinearRegression" else data, y, sample_weight=weights)
    if name != "QuantileRegressor":  # which has no tol
        model.set_params(tol=1e-9)
    model.fit(data, y, sample_weight=weights)
    assert model.certificate_.relative <= 1e-9
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(model.predict(data).shape, peer.predict(data).shape)
    audit = mm.certify(peer, data, y, sample_weight=weights, against=model)
    assert audit.relative < 1e-6
    own = mm.certify(model, data, y, sample_weight=weights)
    assert own.primal == pytest.approx(model.certificate_.primal)
    assert own.objective == model.certificate_.objective


@pytest.mark.parametrize(
    ("quantile", "alpha", "slope"), [(0.51, 0.0, 10.0), (0.49, 0.0, 1.0), (0.5, 0.01, 1.0)]
)
def test_a_quantile_between_two_samples(quantile, alpha, slope):
    """Samples at 2 and 11 pull a line through (0, 1) apart: the quantile says which one wins."""
    model = ours.QuantileRegressor(quantile=quantile, alpha=alpha).fit([[0], [1], [1]], [1, 2, 11])
    np.testing.assert_allclose([model.intercept_, model.coef_[0]], [1.0, slope], rtol=1e-9)


@pytest.mark.parametrize("name", ours.__all__)
def test_parameters_are_those_of_scikit_learn(name):
    mine = inspect.signature(getattr(ours, name)).parameters
    other = inspect.signature(their(name)).parameters
    assert list(mine) == list(other)
    for key in mine:
        assert mine[key].kind == other[key].kind
        # A gap is what tol is about, except where rows are learnt one by one.
        supervised = hasattr(theirs, name) or hasattr(svm, name) or name == "KernelRidge"
        ours_alone = (
            key == "tol"
            and supervised
            and not name.startswith(("Perceptron", "PassiveAggressive", "SGD"))
        )
        expected = 1e-6 if ours_alone else other[key].default
        assert mine[key].default == expected
    assert isinstance(getattr(ours, name)(), their(name))


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("y", [Y[:, 0], Y, Y[:, :1]], ids=["vector", "matrix", "column"])
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso", "ElasticNet"])
def test_shapes_and_types_of_regressors(name, y, fit_intercept, precision):
    parameters = {"fit_intercept": fit_intercept, "alpha": 0.05}
    if name == "LinearRegression":
        del parameters["alpha"]
    data = X.astype(precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer, model = (m.fit(data, y) for m in pair(name, parameters))
    for attribute in {"coef_", "intercept_", "dual_gap_"} & set(vars(peer)):
        mine, other = getattr(model, attribute), getattr(peer, attribute)
        assert np.shape(mine) == np.shape(other), attribute
        assert getattr(mine, "dtype", float) == getattr(other, "dtype", float), attribute
    assert model.predict(data).shape == peer.predict(data).shape
    assert model.predict(data).dtype == peer.predict(data).dtype
    assert mm.certify(model, data, y).relative < 1e-6


def test_several_targets_are_several_problems():
    model = ours.Lasso(alpha=0.1, tol=1e-10).fit(X, Y)
    for k in range(Y.shape[1]):
        alone = ours.Lasso(alpha=0.1, tol=1e-10).fit(X, Y[:, k])
        np.testing.assert_allclose(model.coef_[k], alone.coef_, atol=1e-6)
        assert model.dual_gap_[k] <= 1e-10 * np.var(Y[:, k])
    assert model.sparse_coef_.shape == (3, D)
    assert len(model.n_iter_) == 3
    assert "3 outputs" in model.certificate_.objective


def test_a_strong_penalty_leaves_small_coefficients_and_not_none():
    model = ours.LogisticRegression(C=1e-9).fit(X, LABELS)
    peer = theirs.LogisticRegression(C=1e-9, tol=1e-14).fit(X, LABELS)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Ridge", [{"solver": s} for s in ("svd", "cholesky", "lsqr", "sag")]),
        ("Lasso", [{"selection": "random", "random_state": 1}, {"precompute": True}]),
        ("ElasticNet", [{"copy_X": False}, {"precompute": True}]),
        ("LogisticRegression", [{"solver": s} for s in ("newton-cg", "sag", "newton-cholesky")]),
        ("PoissonRegressor", [{"solver": "newton-cholesky"}]),
    ],
)
def test_options_that_choose_an_algorithm_change_nothing(name, options):
    y = {"LogisticRegression": LABELS, "PoissonRegressor": COUNTS}.get(name, Y[:, 0])
    before = X.copy()
    plain = getattr(ours, name)().fit(X, y)
    for option in options:
        np.testing.assert_array_equal(
            getattr(ours, name)(**option).fit(X, y).coef_, plain.coef_, str(option)
        )
    np.testing.assert_array_equal(X, before)
    with pytest.raises(ValueError, match="parameter of"):
        getattr(ours, name)().set_params(**dict.fromkeys(options[0], "nonsense")).fit(X, y)


def test_a_gram_matrix_is_checked():
    centred = X - X.mean(axis=0)
    plain = ours.Lasso(alpha=0.1).fit(centred, Y[:, 0])
    given = ours.Lasso(alpha=0.1, precompute=centred.T @ centred).fit(centred, Y[:, 0])
    np.testing.assert_array_equal(given.coef_, plain.coef_)
    with pytest.raises(ValueError, match="did not pass validation"):
        ours.Lasso(precompute=X.T @ X + 1.0).fit(centred, Y[:, 0])
    with pytest.raises(ValueError, match="precompute has shape"):
        ours.Lasso(precompute=np.eye(2)).fit(centred, Y[:, 0])
    with pytest.warns(UserWarning, match="recomputing Gram"):
        ours.Lasso(precompute=X.T @ X).fit(X, Y[:, 0])


@pytest.mark.parametrize("kind", [list, np.asarray], ids=["list", "array"])
@pytest.mark.parametrize(
    "name", ["LinearRegression", "Ridge", "Lasso", "LogisticRegression", "LinearSVC", "LassoCV"]
)
def test_numbers_that_are_texts_are_refused(name, kind):
    texts = kind([["1", "2"], ["3", "5"], ["4", "1"], ["2", "2"]] * 5)
    with pytest.raises(ValueError, match="X must hold numbers, but it holds text"):
        getattr(ours, name)().fit(texts, [0, 1, 1, 0] * 5)


def test_a_single_class_is_refused_in_words():
    with pytest.raises(ValueError, match="at least 2 classes"):
        ours.LogisticRegression().fit(X, np.ones(N))
    with pytest.raises(ValueError, match="at least 2 classes"):
        ours.LogisticRegression().fit(X, LABELS, sample_weight=LABELS == "yes")
    with pytest.raises(ValueError, match="at least 2 classes"):
        ours.LogisticRegression(class_weight={"yes": 0.0, "no": 1.0}).fit(X, LABELS)


def test_powers_whose_deviance_is_not_convex_are_refused():
    with pytest.raises(ValueError, match="convex"):
        ours.TweedieRegressor(power=3).fit(X, COUNTS + 1)


@pytest.mark.parametrize(
    ("penalty", "twin"),
    [("l1", {"l1_ratio": 1.0}), ("l2", {}), (None, {"C": np.inf}), ("elasticnet", {})],
)
def test_the_deprecated_penalty_still_says_which_model_is_meant(penalty, twin):
    extra = {"l1_ratio": 0.5} if penalty == "elasticnet" else {}
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        old = ours.LogisticRegression(penalty=penalty, **extra).fit(X, LABELS)
    new = ours.LogisticRegression(**extra, **twin).fit(X, LABELS)
    np.testing.assert_allclose(old.coef_, new.coef_, rtol=1e-10)


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet", "LogisticRegression", "PoissonRegressor"])
def test_warm_starts_take_up_where_the_last_fit_stopped(name):
    y = {"LogisticRegression": LABELS, "PoissonRegressor": COUNTS}.get(name, Y[:, 0])
    cold = getattr(ours, name)(tol=1e-10).fit(X, y)
    warm = getattr(ours, name)(tol=1e-10, warm_start=True).fit(X, y)
    passes = warm.certificate_.passes
    warm.fit(X, y)
    assert warm.certificate_.passes <= passes
    assert warm.certificate_.iterations <= 1
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)
    warm.set_params(fit_intercept=False).fit(X, y)
    assert not np.any(warm.intercept_)


def test_a_fit_that_stops_short_says_so_where_fit_was_called():
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as record:
        model = ours.LogisticRegression(C=1e6, max_iter=1).fit(X, LABELS)
    assert record[0].filename == __file__
    optimum = ours.LogisticRegression(C=1e6, tol=1e-12).fit(X, LABELS).certificate_.primal
    assert model.certificate_.dual <= optimum <= model.certificate_.primal


def test_they_behave_like_estimators():
    model = ours.Lasso(alpha=0.3).fit(X, Y[:, 0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    search = GridSearchCV(ours.Lasso(), {"alpha": [0.01, 0.1, 1.0]}).fit(X, Y[:, 0])
    peer = GridSearchCV(theirs.Lasso(tol=1e-8), {"alpha": [0.01, 0.1, 1.0]}).fit(X, Y[:, 0])
    assert search.best_params_ == peer.best_params_
    chosen = SelectFromModel(ours.Lasso(alpha=0.3)).fit(X, Y[:, 0]).get_support()
    np.testing.assert_array_equal(chosen, model.coef_ != 0)
    sparse_model = ours.LogisticRegression(l1_ratio=1.0, C=0.1).fit(X, LABELS).sparsify()
    assert sparse.issparse(sparse_model.coef_)
    dense = sparse_model.predict_proba(X)
    np.testing.assert_allclose(sparse_model.densify().predict_proba(X), dense)
    assert mm.certify(sparse_model.sparsify(), X, LABELS).relative < 1e-6


def test_what_single_precision_hands_over_is_what_is_certified():
    data = X.astype(np.float32)
    model = ours.Lasso(alpha=0.1).fit(data, Y[:, 0])
    residual = data.astype(float) @ model.coef_.astype(float) + float(model.intercept_) - Y[:, 0]
    value = 0.5 * np.mean(residual**2) + 0.1 * np.abs(model.coef_.astype(float)).sum()
    assert model.certificate_.primal == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("weights", [None, S], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("LassoCV", {"alphas": 12, "cv": 3}),
        ("LassoCV", {"alphas": [0.1, 1.0, 0.01], "fit_intercept": False}),
        ("LassoCV", {"alphas": 8, "positive": True}),
        ("ElasticNetCV", {"alphas": 8, "l1_ratio": [0.3, 0.9]}),
        ("ElasticNetCV", {"alphas": [0.1, 1.0], "l1_ratio": [0.3, 0.9], "eps": 0.01}),
    ],
)
def test_cross_validation_chooses_what_scikit_learn_chooses(name, parameters, weights):
    peer, model = pair(name, parameters, **TIGHT)
    peer.fit(X, Y[:, 0], sample_weight=weights)
    model.fit(X, Y[:, 0], sample_weight=weights)
    np.testing.assert_allclose(model.alphas_, peer.alphas_)
    np.testing.assert_allclose(model.mse_path_, peer.mse_path_, rtol=1e-3)
    assert model.alpha_ == pytest.approx(peer.alpha_)
    assert getattr(model, "l1_ratio_", 1.0) == getattr(peer, "l1_ratio_", 1.0)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    audit = mm.certify(peer, X, Y[:, 0], sample_weight=weights, against=model)
    assert audit.relative < 1e-6


def test_several_columns_are_not_for_cross_validation():
    with pytest.raises(ValueError, match="MultiTaskLassoCV"):
        ours.LassoCV().fit(X, Y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_intercepts_of_liblinear(fit_intercept):
    for kind in ("LinearSVC", "LogisticRegression"):
        rest = {"solver": "liblinear"} if kind == "LogisticRegression" else {}
        home = theirs if rest else svm
        pair = [
            getattr(where, kind)(fit_intercept=fit_intercept, **rest).fit(X, LABELS)
            for where in (ours, home)
        ]
        shapes_agree(*pair, ["intercept_", "coef_"])
        assert (pair[0].predict(X) == pair[1].predict(X)).mean() > 0.9
        assert mm.certify(pair[0], X, LABELS).relative <= 1e-6
