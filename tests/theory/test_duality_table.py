"""Duality as an object: weak and strong duality, multipliers, complementary slackness."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, QuantileRegressor
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from svm_oracle import soft_margin

import minimand as mm

CANCER = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER[0])[:200, :6], CANCER[1][:200]
DIABETES = load_diabetes(return_X_y=True)
DIABETES = scale(DIABETES[0])[:150], DIABETES[1][:150]


@settings(max_examples=40, deadline=None)
@given(st.floats(-100, 100))
def test_the_smallest_program(b):
    """min x² with x ≥ b: x* = max(0, b), α* = 2·max(0, b), dual −α²/4 + αb, gap 0."""
    model = mm.Regressor("squared", mm.L2() + mm.Box(b, np.inf), alpha=2.0, intercept=False)
    found = mm.duality(model.fit([[0.0]], [0.0]), [[0.0]], [0.0])
    (bound,) = found.constraints
    x, alpha = model.coef_[0], bound.multiplier
    np.testing.assert_allclose(x, max(0, b), atol=1e-12)
    np.testing.assert_allclose(alpha, 2 * max(0, b), atol=1e-12)
    np.testing.assert_allclose(found.primal, max(0, b) ** 2, atol=1e-12)
    np.testing.assert_allclose(found.dual, -(alpha**2) / 4 + alpha * b, atol=1e-9 * (1 + b * b))
    np.testing.assert_allclose(bound.slack, x - b, atol=1e-12)
    assert bound.product <= 1e-9 * (1 + b * b)


FITS = {
    "hinge": (mm.Classifier("hinge", "l2", alpha=0.02), CANCER),
    "hinge l1": (mm.Classifier("hinge", "l1", alpha=0.02), CANCER),
    "squared hinge": (mm.Classifier("squared_hinge", "l2", alpha=0.02), CANCER),
    "logistic": (mm.Classifier("logistic", "l1", alpha=0.02), CANCER),
    "iris": (mm.Classifier("hinge", "l2", alpha=0.02), load_iris(return_X_y=True)),
    "lasso": (mm.Regressor("squared", "l1", alpha=1.0), DIABETES),
    "quantile": (mm.Regressor(mm.Quantile(0.8), "l2", alpha=0.1), DIABETES),
    "median": (mm.Regressor("absolute", "no_penalty"), DIABETES),
    "tube": (mm.Regressor(mm.EpsilonInsensitive(20.0), "l2", alpha=0.1), DIABETES),
    "box": (mm.Regressor("huber", mm.L1() + mm.Box(-1.0, 2.0), alpha=0.01), DIABETES),
    "ball": (mm.Regressor("squared", mm.L2Ball(5.0)), DIABETES),
}


@pytest.mark.parametrize("name", FITS)
def test_complementary_slackness_of_any_fit(name):
    model, (X, y) = FITS[name]
    found = mm.duality(model.fit(X, y), X, y)
    certificate = found.certificate
    assert found.dual <= found.primal  # weak duality
    assert certificate.relative <= 1e-6  # strong duality
    tables = found.samples if isinstance(found.samples, list) else [found.samples]
    products = np.concatenate([table.product for table in tables])
    assert (products >= 0).all()
    total = products.sum() + certificate.by_feature.sum()
    np.testing.assert_allclose(total, found.gap, rtol=1e-6, atol=1e-14 * abs(found.primal))
    for row in found.constraints:
        assert row.multiplier >= 0
        assert row.slack >= -1e-9
        assert row.product <= found.gap + 1e-9 * abs(found.primal)
    assert found.multipliers.shape == (len(y), len(tables))[: 1 + (len(tables) > 1)]
    assert str(found).startswith(f"minimise {certificate.objective}\nprimal ")
    assert ("≥ -1" in str(found)) == (name == "box")
    assert ("‖w‖₂ ≤ 5" in str(found)) == (name == "ball")


def test_multipliers_are_prices():
    """By how much the optimum grows when a score must be better by one unit."""
    X, y = CANCER
    model = mm.Classifier("hinge", "l2", alpha=0.02, tol=1e-12).fit(X, y)
    found = mm.duality(model, X, y)
    signs, step = np.where(y == 1, 1.0, -1.0), 1e-5
    for i in (*np.flatnonzero(found.samples.free)[:2], *np.flatnonzero(found.samples.bound)[:2], 0):
        values = []
        for move in (-step, step):  # a lower score is a tighter constraint
            offset = np.zeros(len(y))
            offset[i] = -signs[i] * move
            again = mm.Classifier("hinge", "l2", alpha=0.02, tol=1e-13).fit(X, y, offset=offset)
            values.append(again.certificate_.primal)
        growth = (values[1] - values[0]) / (2 * step)
        np.testing.assert_allclose(found.multipliers[i], growth, atol=1e-5)


@pytest.mark.parametrize("alpha", [1.0, 0.02, 1e-4])
def test_the_three_cases(alpha):
    X, y = CANCER
    model = mm.Classifier("hinge", "l2", alpha=alpha, tol=1e-10).fit(X, y)
    table = mm.duality(model, X, y).samples
    assert (table.zero.astype(int) + table.free + table.bound == 1).all()
    np.testing.assert_allclose(table.largest, 1 / 200)
    assert (table.value[table.zero] >= 1 - 1e-4).all()
    np.testing.assert_allclose(table.value[table.free], 1, atol=1e-4)
    assert (table.value[table.bound] <= 1 + 1e-4).all()
    np.testing.assert_array_equal(np.flatnonzero(~table.zero), model.support_)
    C = 1 / (alpha * 200)
    np.testing.assert_allclose(
        np.abs(model.dual_coef_[0]), table.multiplier[model.support_] / alpha, atol=1e-9 * C
    )


def test_the_intercept_is_an_interval_without_a_free_support_vector():
    """With equal classes and a small C all α = C, and every b in an interval is optimal."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((10, 2)) + 1, rng.standard_normal((10, 2)) - 1])
    y = np.repeat([1, 0], 10)
    C = 1e-3
    model = mm.Classifier("hinge", "l2", alpha=1 / (20 * C), tol=1e-12).fit(X, y)
    found = mm.duality(model, X, y)
    assert found.samples.bound.all()
    low, high = found.intercept_interval
    assert low < model.intercept_[0] < high
    assert high - low > 1.0
    signs = 2.0 * y - 1
    best = soft_margin(X, signs, C)[3]

    def value(b):
        w = model.coef_[0]
        return 0.5 * w @ w + C * np.maximum(1 - signs * (X @ w + b), 0).sum()

    for b in (low, 0.5 * (low + high), high):
        np.testing.assert_allclose(value(b), best, rtol=1e-9)
    assert value(low - 0.1) > best * (1 + 1e-6)
    assert value(high + 0.1) > best * (1 + 1e-6)


def test_the_intercept_is_a_number_beside_a_free_support_vector():
    X, y = CANCER
    model = mm.Classifier("hinge", "l2", alpha=0.02, tol=1e-12).fit(X, y)
    low, high = mm.duality(model, X, y).intercept_interval
    np.testing.assert_allclose([low, high], model.intercept_[0], atol=1e-5)
    for other in (mm.Classifier("logistic"), mm.Classifier("hinge", intercept=False)):
        low, high = mm.duality(other.fit(X, y), X, y).intercept_interval
        np.testing.assert_allclose([low, high], other.intercept_[0], atol=1e-7)


def test_the_hard_margin_has_a_table_too():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]])
    y = np.array([0, 0, 1, 1])
    found = mm.duality(mm.HardMargin().fit(X, y), X, y)
    np.testing.assert_allclose(found.primal, 0.5)
    np.testing.assert_allclose(found.multipliers, [0, 0.5, 0.5, 0], atol=1e-9)
    np.testing.assert_allclose(found.samples.slack, [1, 0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(found.intercept_interval, -2.0)
    assert found.samples.zero.tolist() == [True, False, False, True]
    assert not found.samples.bound.any()
    with pytest.raises(ValueError, match="takes no sample_weight"):
        mm.duality(mm.HardMargin().fit(X, y), X, y, np.ones(4))


def test_models_of_another_library_have_one_as_well():
    X, y = DIABETES
    found = mm.duality(Lasso(alpha=1.0, tol=1e-8).fit(X, y), X, y)
    assert found.certificate.relative <= 1e-5
    found = mm.duality(SVC(kernel="linear", C=0.1, tol=1e-6).fit(*CANCER), *CANCER)
    assert found.samples.zero.any()
    assert "margin y·z" in found.table(most=3)
    assert "and 197 more" in found.table(most=3)


FOREIGN = {
    "SVC": (SVC(kernel="linear", C=0.3), CANCER),
    "balanced": (SVC(kernel="linear", C=0.3, class_weight="balanced"), CANCER),
    "LinearSVC": (LinearSVC(loss="hinge", C=0.3, random_state=0), CANCER),
    "no intercept": (LinearSVC(loss="hinge", C=0.3, fit_intercept=False, random_state=0), CANCER),
    "squared": (LinearSVC(C=0.3, dual=False), CANCER),
    "l1": (LinearSVC(C=0.3, dual=False, penalty="l1"), CANCER),
    "classes": (LinearSVC(loss="hinge", C=0.3, random_state=0), load_iris(return_X_y=True)),
    "SVR": (SVR(kernel="linear", epsilon=10.0), DIABETES),
    "LinearSVR": (LinearSVR(epsilon=10.0, max_iter=100_000, random_state=0), DIABETES),
    "QuantileRegressor": (QuantileRegressor(quantile=0.7, alpha=0.1), DIABETES),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FOREIGN)
def test_certify_solves_the_dual_of_a_foreign_model(name):
    model, (X, y) = FOREIGN[name]
    audit = mm.certify(model.fit(X, y), X, y)
    assert audit.relative <= 1e-3  # without a solved dual, most are far above
    assert audit.dual <= audit.primal


def test_a_foreign_gap_is_the_true_suboptimality():
    X, y = CANCER
    peer = LinearSVC(loss="hinge", C=0.3, fit_intercept=False, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning):
        peer.fit(X, y)
    audit = mm.certify(peer, X, y)
    best = soft_margin(X, 2.0 * y - 1, 0.3, intercept=False)[3] / (0.3 * 200)
    np.testing.assert_allclose(audit.dual, best, rtol=1e-7)
    np.testing.assert_allclose(audit.gap, audit.primal - best, rtol=1e-3, atol=1e-8)


BAD = {
    "kernel": (SVC(kernel="sigmoid"), CANCER, "SVC: the kernel is not positive semidefinite"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_certified_is_refused_in_words(name):
    model, (X, y), words = BAD[name]
    with pytest.raises(ValueError, match=words):
        mm.certify(model.fit(X, y), X, y)
