"""What is particular to the support vector machines and quantiles among the drop-ins."""

import numpy as np
import pytest
from sklearn import linear_model, svm

import minimand as mm
from minimand.sklearn import HuberRegressor, LinearSVC, LinearSVR, QuantileRegressor

RNG = np.random.default_rng(11)
X = RNG.standard_normal((50, 4)) + 0.4
Z = X @ [1.0, -2.0, 0.5, 0.0] + RNG.standard_normal(50)
LABELS = np.where(Z > 0.3, "b", "a")
THREE = np.digitize(Z, [-1.0, 1.0])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_intercept_is_the_weight_of_a_column(loss):
    model = LinearSVC(loss=loss, C=0.5, intercept_scaling=3.0, tol=1e-10).fit(X, LABELS)
    wide = np.column_stack([X, np.full(50, 3.0)])
    plain = mm.Classifier(loss, "l2", alpha=1 / (0.5 * 50), intercept=False, tol=1e-10)
    plain.fit(wide, LABELS)
    np.testing.assert_allclose(model.coef_, plain.coef_[:, :-1], rtol=1e-5)
    np.testing.assert_allclose(model.intercept_, 3 * plain.coef_[:, -1], rtol=1e-5)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal)
    assert "penalised column" in model.certificate_.objective


def test_a_large_intercept_scaling_leaves_the_intercept_free():
    model = LinearSVR(epsilon=0.1, intercept_scaling=1e4, tol=1e-10).fit(X, Z + 5)
    free = mm.Regressor(mm.EpsilonInsensitive(0.1), "l2", alpha=1 / 50, tol=1e-10).fit(X, Z + 5)
    np.testing.assert_allclose(model.coef_, free.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_several_classes_are_as_many_problems(loss):
    model = LinearSVC(loss=loss, tol=1e-9).fit(X, THREE)
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    parts = [LinearSVC(loss=loss, tol=1e-9).fit(X, k == THREE) for k in range(3)]
    np.testing.assert_allclose(model.coef_, np.vstack([p.coef_ for p in parts]), atol=1e-4)
    total = sum(p.certificate_.primal for p in parts)
    assert model.certificate_.primal == pytest.approx(total, rel=1e-8)


def test_of_several_classes_only_the_one_against_the_rest_is_weighed():
    model = LinearSVC(class_weight={0: 4.0, 2: 0.5}, tol=1e-10).fit(X, THREE)
    for k, factor in enumerate([4.0, 1.0, 0.5]):
        weights = np.where(k == THREE, factor, 1.0)
        alone = LinearSVC(tol=1e-10).fit(X, k == THREE, sample_weight=weights)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-6)
    with pytest.raises(ValueError, match="class_weight is 0 for one of several"):
        LinearSVC(class_weight={0: 0.0, 1: 1.0, 2: 1.0}).fit(X, THREE)


@pytest.mark.parametrize("cls", [LinearSVC, LinearSVR, QuantileRegressor, HuberRegressor])
def test_without_an_intercept_it_is_zero(cls):
    y = THREE if cls is LinearSVC else Z
    model = cls(fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0.0
    assert type(model.n_iter_) is int
    assert model.coef_.dtype == np.float64
    assert cls().fit(X.astype(np.float32), y).coef_.dtype == np.float64


def test_what_there_is_no_model_for_is_refused_in_words():
    with pytest.raises(ValueError, match="penalty='l1' and loss='hinge' is not supported"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, LABELS)
    with pytest.raises(ValueError, match="at least 2 classes"):
        LinearSVC().fit(X, np.ones(50))
    with pytest.raises(ValueError, match="epsilon must be a number ≥ 0"):
        LinearSVR(epsilon=-0.1).fit(X, Z)
    with pytest.raises(ValueError, match="not anymore available"):
        QuantileRegressor(solver="interior-point").fit(X, Z)


@pytest.mark.parametrize("dual", [True, False, "auto"])
def test_dual_changes_nothing(dual):
    plain, other = LinearSVC(loss="hinge"), LinearSVC(loss="hinge", dual=dual, random_state=3)
    np.testing.assert_array_equal(plain.fit(X, LABELS).coef_, other.fit(X, LABELS).coef_)
    sparse, other = (LinearSVC(penalty="l1", dual=choice) for choice in ("auto", dual))
    np.testing.assert_array_equal(sparse.fit(X, LABELS).coef_, other.fit(X, LABELS).coef_)


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_names_of_solvers_lead_to_one_optimum(alpha):
    peer = linear_model.QuantileRegressor(quantile=0.3, alpha=alpha).fit(X, Z)
    for solver in ("highs", "highs-ds", "highs-ipm", "revised simplex"):
        model = QuantileRegressor(quantile=0.3, alpha=alpha, solver=solver).fit(X, Z)
        assert model.certificate_.relative <= 1e-10
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-7)
        assert np.sum(np.abs(model.predict(X) - Z) < 1e-9) >= np.count_nonzero(model.coef_) + 1


@pytest.mark.parametrize(
    ("peer", "y"),
    [
        (svm.LinearSVC(loss="hinge", max_iter=5), LABELS),
        (svm.LinearSVC(loss="hinge", max_iter=5), THREE),
        (svm.LinearSVR(max_iter=5), Z),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_audit_of_an_unfinished_peer_is_its_distance_from_the_optimum(peer, y):
    cls = {"LinearSVC": LinearSVC, "LinearSVR": LinearSVR}[type(peer).__name__]
    parameters = {k: v for k, v in peer.get_params().items() if k not in ("max_iter", "tol")}
    peer.fit(X, y)
    optimum = cls(**parameters, tol=1e-10).fit(X, y).certificate_.primal
    audit = mm.certify(peer, X, y)
    true = audit.primal - optimum
    assert true > 0
    assert audit.gap == pytest.approx(true, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [{"fit_intercept": False}, {"intercept_scaling": 2.0}])
@pytest.mark.parametrize("by_class", [None, {0: 3.0, 1: 0.5}, "balanced"])
def test_crammer_and_singer_have_the_optimum_of_liblinear(classes, intercept, by_class):
    y, weights = np.minimum(THREE, classes - 1), RNG.uniform(0.0, 2.0, 50)
    weights[:5] = 0.0
    settings = {"multi_class": "crammer_singer", "C": 0.5, "class_weight": by_class, **intercept}
    ours = LinearSVC(**settings, tol=1e-9).fit(X, y, weights)
    peer = svm.LinearSVC(**settings, tol=1e-9, max_iter=100_000).fit(X, y, weights)
    assert ours.coef_.shape == peer.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(peer.intercept_)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-4)
    audit = mm.certify(peer, X, y, weights)
    assert audit.relative <= 1e-6
    assert audit.primal == pytest.approx(ours.certificate_.primal, rel=1e-7)


def test_the_value_of_crammer_and_singer():
    model = LinearSVC(multi_class="crammer_singer", C=0.2, intercept_scaling=3.0).fit(X, THREE)
    z = model.decision_function(X)
    margins = z + (np.arange(3) != THREE[:, None])
    loss = margins.max(axis=1) - z[np.arange(50), THREE]
    half_squares = 0.5 * (model.coef_**2).sum() + 0.5 * ((model.intercept_ / 3.0) ** 2).sum()
    value = loss.mean() + half_squares / (0.2 * 50)
    assert model.certificate_.primal == pytest.approx(value)
    assert "penalised column" in model.certificate_.objective
    # The penalty and the loss have no effect, as in scikit-learn.
    other = LinearSVC("l1", "hinge", multi_class="crammer_singer", C=0.2, intercept_scaling=3.0)
    np.testing.assert_array_equal(other.fit(X, THREE).coef_, model.coef_)
