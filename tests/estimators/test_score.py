"""score: D² of the model's own loss, with the offset that predict takes."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, d2_pinball_score, d2_tweedie_score, r2_score

import minimand as mm


def _counts() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    exposure = rng.uniform(1, 5, 60)
    y = rng.poisson(exposure * np.exp(X[:, 0])).astype(float)
    return X, y, rng.uniform(0.5, 2, 60), np.log(exposure)


def test_score_uses_the_offset_and_the_weights():
    X, y, weight, offset = _counts()
    model = mm.Regressor("poisson", "l2", alpha=0.01).fit(X, y, offset=offset)

    def mean_loss(z):
        return np.average(mm.Poisson().value(z, y), weights=weight)

    best = np.log((weight @ y) / (weight @ np.exp(offset)))  # of the constants: a closed form
    expected = 1 - mean_loss(model.decision_function(X, offset)) / mean_loss(offset + best)
    got = model.score(X, y, sample_weight=weight, offset=offset)
    assert got == pytest.approx(expected)
    assert got > model.score(X, y)
    bare = mm.Regressor("poisson", "l2", alpha=0.01).fit(X, y)
    assert bare.score(X, y, weight) == pytest.approx(
        d2_tweedie_score(y, bare.predict(X), sample_weight=weight, power=1)
    )


@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
def test_quantiles_score_by_their_own_loss(q):
    X, y = load_diabetes(return_X_y=True)
    model = mm.Regressor(mm.Quantile(q), "l2", alpha=1e-4).fit(X, y)
    expected = d2_pinball_score(y, model.predict(X), alpha=q)
    assert model.score(X, y) == pytest.approx(expected, abs=1e-9)
    assert model.score(X, y) > 0.02


@pytest.mark.parametrize("intercept", [True, False])
def test_the_squared_loss_scores_by_r2(intercept):
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    model = mm.Regressor(intercept=intercept).fit(X, y)
    expected = r2_score(y, model.predict(X), sample_weight=weight)
    assert model.score(X, y, weight) == pytest.approx(expected)
    path = mm.path(model, X, y, alphas=[model.alpha_])
    assert path.score[0] == pytest.approx(model.score(X, y))
    assert mm.Tuned(model, alphas=[model.alpha_]).fit(X, y).score(X, y) == pytest.approx(
        model.score(X, y)
    )


@pytest.mark.parametrize(
    "loss",
    ["absolute", "huber", "chebyshev", "epsilon_insensitive", "geman_mc_clure", "poisson",
     "gamma", mm.Tweedie(1.5), "cross_entropy", "squared_epsilon_insensitive", "truncated_squared",
     mm.Lp(3)],
)  # fmt: skip
def test_1_is_perfect_and_0_the_best_constant(loss):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (40, 2))
    model = mm.Regressor(loss, alpha=1e-3).fit(X, np.full(40, 0.25))
    model.coef_, model.intercept_ = np.array([0.5, -0.8]), -1.5
    y = model.predict(X)
    assert model.score(X, y) == pytest.approx(1.0, abs=1e-12)
    model.coef_ = np.zeros(2)
    for b in np.linspace(-4, 4, 25):
        model.intercept_ = float(b)
        assert model.score(X, y) <= 1e-9
    constant = mm.Regressor(loss, "no_penalty").fit(np.zeros((40, 1)), y)
    model.intercept_ = constant.intercept_
    assert model.score(X, y) == pytest.approx(0.0, abs=1e-9)


def test_constant_targets_score_as_r2_does():
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = np.full(30, 0.1)
    for loss in ("squared", "absolute", "poisson", "cross_entropy", mm.Quantile(0.9)):
        model = mm.Regressor(loss).fit(X, y)
        assert model.score(X, y) == 1.0
        model.coef_ = np.array([1.0, 0.0])
        assert model.score(X, y) == 0.0
    none = mm.Regressor("poisson").fit(X, np.zeros(30))  # the best constant lies at −inf
    assert none.score(X, np.zeros(30)) == 1.0
    wide = mm.Regressor(mm.EpsilonInsensitive(0.5)).fit(X, y)
    wide.intercept_ += 0.2  # inside the tube: another constant, but none is better
    assert wide.score(X, y) == 1.0
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        assert np.isnan(model.score(X[:1], y[:1]))


def test_score_refuses_targets_outside_the_domain_of_the_loss():
    X, y, _, _ = _counts()
    model = mm.Regressor("poisson").fit(X, y)
    with pytest.raises(ValueError, match="outside the domain of Poisson"):
        model.score(X, y - 10)


def test_accuracy_uses_the_offset():
    rng = np.random.default_rng(0)
    X, offset = rng.standard_normal((80, 2)), 3 * rng.standard_normal(80)
    y = np.where(X[:, 0] + offset > 0, "b", "a")
    model = mm.Classifier(alpha=0.01).fit(X, y, offset=offset)
    assert model.score(X, y, offset=offset) == accuracy_score(y, model.predict(X, offset=offset))


def test_a_constant_second_derivative_is_fine():
    class Square(mm.Distance):
        def psi(self, r):
            return 0.5 * r * r

        def dpsi(self, r):
            return r

        def ddpsi(self, r):
            return 1.0

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    mm.testing.check_loss(Square())
    for penalty in ("l1", "l2"):
        own = mm.Regressor(Square(), penalty, alpha=0.1).fit(X, y)
        built_in = mm.Regressor("squared", penalty, alpha=0.1).fit(X, y)
        np.testing.assert_allclose(own.coef_, built_in.coef_, atol=1e-6)
