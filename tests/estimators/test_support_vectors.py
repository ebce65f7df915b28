"""Support vectors and the weights of samples: what a fit says of the rows it was given."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm

RNG = np.random.default_rng(1)
X = RNG.standard_normal((80, 3))
Y = X @ [1.0, 2.0, -1.0] + 0.3 * RNG.standard_normal(80)
Y[:8] += 30.0
THREE = np.digitize(Y, [-1.0, 1.0])
WEIGHT = np.where(np.arange(80) % 5 == 0, 0.0, 1.5)


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (mm.Classifier("hinge", alpha=0.1), Y > 0),
        (mm.Classifier("squared_hinge", alpha=0.1), THREE),
        (mm.Regressor("epsilon_insensitive", alpha=0.1), Y),
    ],
    ids=["hinge", "squared hinge", "tube"],
)
def test_coefficients_are_made_of_support_vectors(model, y, as_matrix):
    model.fit(as_matrix(X), y, sample_weight=WEIGHT)
    vectors = model.support_vectors_
    assert sparse.issparse(vectors) == (as_matrix is not np.asarray)
    dense = vectors.toarray() if sparse.issparse(vectors) else vectors
    np.testing.assert_array_equal(dense, X[model.support_])
    assert len(dense) < 80
    combined = model.dual_coef_ @ dense
    np.testing.assert_allclose(combined, np.atleast_2d(model.coef_), atol=1e-4)


def test_with_features_they_are_rows_of_these():
    model = mm.Classifier("hinge", alpha=0.1, features=mm.Monomials(2)).fit(X, Y > 0)
    mapped = model.features_.transform(X)
    np.testing.assert_allclose(model.support_vectors_, mapped[model.support_])
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, atol=1e-4)


def test_the_hard_margin_has_them_too():
    model = mm.HardMargin().fit(X, X[:, 0] > 0)
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_)


def test_others_say_why_they_have_none():
    for model in (mm.Regressor().fit(X, Y), mm.Classifier().fit(X, Y > 0)):
        with pytest.raises(AttributeError, match="flat somewhere, such as Hinge"):
            model.support_vectors_
        with pytest.raises(AttributeError, match="needs a robust loss, such as Huber"):
            model.sample_weights_
    with pytest.raises(AttributeError, match="before fit"):
        mm.Classifier("hinge").support_vectors_
    best = mm.Tuned(mm.Classifier("hinge"), cv=3, alphas=3).fit(X, Y > 0).best_estimator_
    with pytest.raises(AttributeError, match=r"models of a path do not keep: use X\[support_\]"):
        best.support_vectors_
    assert not hasattr(mm.Classifier("hinge").fit(X, Y > 0).partial_fit(X, Y > 0), "support_")


class PseudoHuber(mm.Distance):
    def psi(self, t):
        return 2.0 * t * t / (np.sqrt(1 + t * t) + 1)

    def dpsi(self, t):
        return 2.0 * t / np.sqrt(1 + t * t)

    def ddpsi(self, t):
        return 2.0 / (1 + t * t) ** 1.5


class Cauchy(mm.RobustLoss):
    def curve(self, s):
        return 5 * np.log1p(s)

    def slope(self, s):
        return 5 / (1 + s)


ROBUST = [
    mm.Huber(0.5),
    mm.GemanMcClure(1.0),
    mm.TruncatedSquared(2.0),
    mm.Huber("auto"),
    PseudoHuber(),
    Cauchy(),
]


@pytest.mark.parametrize("loss", ROBUST, ids=repr)
def test_least_squares_with_these_weights_have_the_same_solution(loss):
    model = mm.Regressor(loss, "no_penalty", tol=1e-12).fit(X, Y)
    weights = model.sample_weights_
    assert weights.shape == (80,)
    assert weights.min() >= 0
    assert weights.max() == pytest.approx(1.0, abs=0.01)
    assert weights[:8].max() < 0.1  # the outliers
    again = mm.Regressor("squared", "no_penalty").fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-4)


def test_vectors_of_features_that_are_learnt_are_those_that_were_learnt():
    layer = mm.HiddenLayer(2, random_state=0)
    model = mm.Classifier("squared_hinge", alpha=0.1, features=layer, random_state=0)
    model.fit(X, Y > 0, sample_weight=WEIGHT)
    mapped = model.features_.transform(X)[model.support_]
    np.testing.assert_array_equal(model.support_vectors_, mapped)
    combined = model.dual_coef_ @ model.support_vectors_
    np.testing.assert_allclose(combined, model.coef_, atol=1e-3)


def test_formulas():
    model = mm.Regressor(mm.GemanMcClure(2.0), alpha=0.1).fit(X, Y)
    r = model.predict(X) - Y
    np.testing.assert_allclose(model.sample_weights_, 1 / (1 + r**2 / 4) ** 2, atol=1e-9)
    model = mm.Regressor(mm.Huber(0.5), alpha=0.1).fit(X, Y)
    r = np.abs(model.predict(X) - Y)
    np.testing.assert_allclose(model.sample_weights_, np.minimum(1, 0.5 / r), atol=1e-9)
    model = mm.Classifier("tanh_margin", alpha=0.1).fit(X, Y > 0)
    m = np.where(Y > 0, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(model.sample_weights_, 1 / (1 + np.exp(-2 * m)), atol=1e-9)


def test_powers_below_one_count_by_the_median_residual():
    model = mm.Regressor(mm.Lp(0.5), "no_penalty").fit(X, Y)
    r = np.abs(model.predict(X) - Y)
    expected = np.minimum(1, np.sqrt(np.median(r) / np.maximum(r, 1e-300)))
    np.testing.assert_allclose(model.sample_weights_, expected, rtol=1e-6)


def test_weights_of_classes_and_of_samples_without_weight():
    model = mm.Classifier("tanh_margin", alpha=0.1).fit(X, THREE, sample_weight=WEIGHT)
    assert model.sample_weights_.shape == (80, 3)
    np.testing.assert_array_equal(np.isnan(model.sample_weights_).all(axis=1), WEIGHT == 0)


@pytest.mark.parametrize("loss", [mm.Absolute(), mm.Quantile(0.9), mm.Squared(), mm.Lp(1.5)])
def test_no_weights_where_they_would_mean_nothing(loss):
    assert not hasattr(mm.Regressor(loss, alpha=0.1).fit(X, Y), "sample_weights_")
