"""Losses whose scale is "auto": the noise of the data, whatever the outliers, units and alpha."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import minimand as mm
from minimand._base.weighted import median

RNG = np.random.default_rng(0)
N, NOISE = 200, 0.3
X = RNG.standard_normal((N, 3))
W = np.array([1.0, 2.0, -3.0])
CLEAN = X @ W + 1.0 + NOISE * RNG.standard_normal(N)
Y = CLEAN + np.where(np.arange(N) < 20, 50.0, 0.0)
LOSSES = {
    mm.GemanMcClure: ("sigma", 2.0),
    mm.TruncatedSquared: ("c", 3.0),
    mm.Huber: ("delta", 1.345),
}


def fitted(kind=mm.GemanMcClure, penalty="l2", alpha=1e-3, X=X, y=Y, **rest):
    return mm.Regressor(kind("auto"), penalty, alpha=alpha).fit(X, y, **rest)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_number_is_a_multiple_of_the_noise(kind):
    name, factor = LOSSES[kind]
    model = fitted(kind)
    assert getattr(model.loss_, name) == pytest.approx(factor * NOISE, rel=0.2)
    assert model.loss.get_params() == {name: "auto"}
    assert clone(model).loss == kind("auto")
    np.testing.assert_allclose(model.coef_, W, atol=0.15)
    assert f"{name}={getattr(model.loss_, name)!r}" in model.certificate_.objective


@pytest.mark.parametrize("kind", LOSSES)
def test_it_is_the_fit_with_that_number(kind):
    model = fitted(kind)
    given = mm.Regressor(model.loss_, alpha=1e-3).fit(X, Y)
    np.testing.assert_allclose(model.coef_, given.coef_)
    assert mm.certify(model, X, Y).gap == mm.certify(given, X, Y).gap
    assert not hasattr(given, "loss_")


def test_units_of_y_and_x_and_alpha_do_not_matter():
    sigma = fitted().loss_.sigma
    assert fitted(y=1e5 * Y).loss_.sigma == pytest.approx(1e5 * sigma, rel=0.05)
    assert fitted(X=X * [1e-3, 1.0, 1e4] + [0, 1e4, 0]).loss_.sigma == pytest.approx(
        sigma, rel=0.05
    )
    assert fitted(alpha=10.0).loss_.sigma == fitted(alpha=0.0).loss_.sigma == sigma


def test_weights_are_copies():
    weight = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
    weight[-5:] = 0.0
    rows = np.repeat(np.arange(N), weight.astype(int))
    weighted = fitted(sample_weight=weight).loss_.sigma
    assert weighted == pytest.approx(fitted(X=X[rows], y=Y[rows]).loss_.sigma, rel=0.02)


@pytest.mark.parametrize(
    ("y", "rows"),
    [(np.ones(N), N), (X @ W, N), (np.zeros(N), N), (np.r_[1.0, np.zeros(N - 1)], N), (Y, 4)],
    ids=["constant", "perfect", "zero", "one spike", "fewer rows than parameters"],
)
@pytest.mark.parametrize("kind", LOSSES)
def test_whatever_the_residuals_the_number_is_positive(kind, y, rows):
    model = fitted(kind, X=X[:rows], y=y[:rows])
    (value,) = model.loss_.get_params().values()
    assert np.isfinite(value)
    assert value > 0
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "penalty", [mm.MCP(), mm.L1Ball(4.0), mm.NonNegative() + mm.L1()], ids=repr
)
def test_any_penalty(penalty):
    assert fitted(penalty=penalty).loss_.sigma == fitted().loss_.sigma


def test_paths_and_tuning_have_one_number_for_all_models():
    estimator = mm.Regressor(mm.Huber("auto"), "l1")
    delta = fitted(mm.Huber, "l1").loss_.delta
    path = mm.path(estimator, X, Y, alphas=3)
    assert [path.model(i).loss for i in range(3)] == [mm.Huber(delta)] * 3
    assert mm.alpha_max(estimator, X, Y) == mm.alpha_max(mm.Regressor(mm.Huber(delta), "l1"), X, Y)
    tuned = mm.Tuned(estimator, cv=3, alphas=3).fit(X, Y)
    assert tuned.best_estimator_.loss == mm.Huber(delta)
    assert estimator.loss == mm.Huber("auto")
    assert f"delta={delta!r}" in str(mm.explain(estimator, X, Y))


def test_a_new_fit_finds_a_new_number():
    model = fitted()
    before = model.loss_.sigma
    assert model.fit(X, 10 * Y).loss_.sigma == pytest.approx(10 * before, rel=0.05)
    assert not hasattr(model.set_params(loss="squared").fit(X, Y), "loss_")


def test_a_grid_may_hold_auto():
    search = GridSearchCV(mm.Regressor("huber"), {"loss__delta": ["auto", 1e3]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"loss__delta": "auto"}


def test_classes_share_one_number():
    model = mm.Classifier(mm.TruncatedSquared("auto"), alpha=0.1).fit(X, np.digitize(Y, [-2, 4]))
    assert model.loss_.c > 0
    assert model.sample_weights_.shape == (N, 3)


def test_batches_have_no_residuals_to_learn_from():
    model = mm.Regressor(mm.Huber("auto"))
    with pytest.raises(ValueError, match="delta='auto' of Huber needs all samples at once: pass a"):
        model.partial_fit(X, Y)
    batches = [(X[:100], Y[:100]), (X[100:], Y[100:])]
    assert mm.certify(fitted(mm.Huber), batches=batches).relative < 1.0


def test_other_words_are_refused():
    for kind, (name, _) in LOSSES.items():
        with pytest.raises(
            ValueError, match=f"{name} of .* a positive number or 'auto', not 'mad'"
        ):
            mm.Regressor(kind("mad")).fit(X, Y)


def test_the_median_of_weighted_numbers():
    values = np.array([3.0, 1.0, 2.0, 10.0])
    assert median(values, np.ones(4)) == 2.5
    assert median(values, np.array([1.0, 1.0, 1.0, 2.0])) == 3.0
    assert median(values, np.array([0.1, 0.1, 0.7, 0.1])) == 2.0


@pytest.mark.parametrize("seed", range(4))
def test_the_noise_does_not_depend_on_the_layout(seed):
    """One-hot columns: the first fit passes through many samples, up to rounding or exactly."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 12, 400), rng.integers(0, 6, 400)
    numbers = np.round(rng.standard_normal((400, 2)), 1)
    X = np.hstack([np.eye(12)[a], np.eye(6)[b], numbers])
    y = rng.standard_normal(12)[a] + rng.standard_normal(6)[b] + rng.standard_t(2, 400)
    one, other = (
        mm.Regressor(mm.GemanMcClure(sigma="auto"), alpha=0.01).fit(layout(X), y).loss_.sigma
        for layout in (np.ascontiguousarray, np.asfortranarray)
    )
    assert one == pytest.approx(other, rel=1e-9)
