"""Gamma and Tweedie: formulas, limits, and the models that scikit-learn fits with them."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import GammaRegressor, TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance

import minimand as mm
from minimand.testing import check_loss

RNG = np.random.default_rng(5)
N, D = 80, 5
X = RNG.standard_normal((N, D)) * np.geomspace(0.3, 3, D) + 0.5
MEAN = np.exp(0.2 * (X - X.mean(0)) @ RNG.standard_normal(D))
POSITIVE = RNG.gamma(2.0, MEAN / 2)
WITH_ZEROS = POSITIVE * (RNG.uniform(size=N) < 0.7)
S = RNG.uniform(0.2, 3.0, N)
LD = np.longdouble


@pytest.mark.parametrize("loss", [mm.Gamma(), mm.Tweedie(), mm.Tweedie(1), mm.Tweedie(2)], ids=repr)
def test_conformance(loss):
    check_loss(loss)


@pytest.mark.parametrize("power", [1.01, 1.99])
def test_conformance_near_the_ends(power):
    check_loss(mm.Tweedie(power), [1e-3, 1.0, 500.0])


@pytest.mark.parametrize("power", [1, 1.3, 1.5, 1.9, 2])
def test_the_value_is_half_the_deviance(power):
    y = POSITIVE if power == 2 else WITH_ZEROS
    z = RNG.standard_normal(N)
    want = mean_tweedie_deviance(y, np.exp(z), power=power) / 2
    assert mm.Tweedie(power).value(z, y).mean() == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(("power", "twin"), [(1, mm.Poisson()), (2, mm.Gamma())])
def test_the_ends_are_poisson_and_gamma(power, twin):
    z, u = RNG.uniform(-20, 20, N), 0.9 * RNG.uniform(-1, 1, N)
    y = np.where(WITH_ZEROS > 0, WITH_ZEROS, 2.0 - (power == 1) * 2.0)
    loss = mm.Tweedie(power)
    for name in ("value", "gradient", "curvature"):
        one, two = getattr(loss, name)(z, y), getattr(twin, name)(z, y)
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-13)
    inside = loss.into_domain(u, y)
    np.testing.assert_array_equal(inside, twin.into_domain(u, y))
    one, two = loss.fenchel_young(z, inside, y), twin.fenchel_young(z, inside, y)
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-12)
    one, two = loss.conjugate(inside, y), twin.conjugate(inside, y)
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("power", [1.05, 1.5, 1.95])
def test_fenchel_young_terms_keep_their_digits(power):
    """Against the Bregman divergence in extended precision, down to terms of 1e-20."""
    rng = np.random.default_rng(0)
    n = 5000
    y, s = np.exp(rng.uniform(-8, 8, n)), rng.uniform(-30, 30, n)
    z = s + np.exp(rng.uniform(-25, 2.5, n)) * rng.choice([-1, 1], n) + np.log(y)
    a = LD(power) - 1
    b, size, log_y = 1 - a, y.astype(LD) ** (1 - a), np.log(y.astype(LD))
    slope = lambda s: np.exp(b * s) - np.exp(-a * s)  # noqa: E731
    bend = lambda s: b * np.exp(b * s) + a * np.exp(-a * s)  # noqa: E731
    u = (size * slope(s.astype(LD))).astype(float)
    place = s.astype(LD)
    for _ in range(5):
        place = place + (u / size - slope(place)) / bend(place)
    d = z - log_y - place
    want = np.exp(-a * place) * (np.expm1(-a * d) + a * d) / a
    want = size * (want + np.exp(b * place) * (np.expm1(b * d) - b * d) / b)
    blur = 4e-16 * (np.abs(z) + 2 * np.abs(log_y) + np.abs(place) + 1)  # of z − ln y − s
    error = np.abs(mm.Tweedie(power).fenchel_young(z, u, y) - want)
    assert (error <= 1e-12 * want + 2 * size * bend(place) * blur * (np.abs(d) + blur)).all()


@pytest.mark.parametrize("power", [0, 0.5, -1, 2.1, 3, np.nan, np.inf, "a", None, True])
def test_powers_that_are_not_convex_are_refused(power):
    with pytest.raises(ValueError, match="power of Tweedie must be a number from 1"):
        mm.Regressor(mm.Tweedie(power)).fit(X, POSITIVE)


@pytest.mark.parametrize(
    ("loss", "y"),
    [(mm.Gamma(), [1.0, 0.0]), (mm.Tweedie(2), [0.0]), (mm.Tweedie(), [-1e-9]),
     (mm.Gamma(), [np.inf])],
    ids=repr,
)  # fmt: skip
def test_targets_outside_the_domain_are_refused(loss, y):
    with pytest.raises(ValueError, match="outside the domain"):
        loss.check_target(np.array(y))


def test_a_classifier_is_the_wrong_place():
    for loss in ("gamma", "tweedie"):
        with pytest.raises(ValueError, match="not classes"):
            mm.Classifier(loss).fit(X, POSITIVE > 1)


def pairs():
    for alpha, intercept in ((1e-3, True), (0.1, False)):
        how = {"alpha": alpha, "fit_intercept": intercept, "tol": 1e-12, "max_iter": 1000,
               "solver": "newton-cholesky"}  # fmt: skip
        yield "gamma", GammaRegressor(**how), POSITIVE
        for power in (1.3, 1.9):
            yield mm.Tweedie(power), TweedieRegressor(power=power, **how), WITH_ZEROS


@pytest.mark.parametrize("weight", [None, S], ids=["equal", "weighted"])
def test_agreement_with_scikit_learn(weight):
    for loss, peer, y in pairs():
        peer.fit(X, y, weight)
        ours = mm.Regressor(
            loss, "l2", alpha=peer.alpha, intercept=peer.fit_intercept, tol=1e-12
        ).fit(sparse.csr_array(X) if peer.alpha == 0.1 else X, y, weight)
        np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
        assert ours.intercept_ == pytest.approx(peer.intercept_, abs=1e-6)
        np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-5)
        audit = mm.certify(peer, X, y, weight, against=ours)
        assert audit.relative < 1e-9
        assert audit.primal == pytest.approx(ours.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("link", ["auto", "identity"])
def test_power_zero_is_ridge(link):
    peer = TweedieRegressor(power=0, alpha=0.3, link=link, tol=1e-12, max_iter=10_000).fit(X, MEAN)
    assert mm.certify(peer, X, MEAN).objective.startswith("mean squared(z, y) + 0.3·½‖w‖²")
    assert mm.certify(peer, X, MEAN).relative < 1e-9


@pytest.mark.parametrize(("power", "link"), [(3, "auto"), (0, "log"), (1.5, "identity")])
def test_other_links_are_refused_in_words(power, link):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = TweedieRegressor(power=power, link=link, max_iter=3).fit(X, POSITIVE)
    with pytest.raises(ValueError, match="cannot certify TweedieRegressor with power="):
        mm.certify(peer, X, POSITIVE)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("loss", [mm.Gamma(), mm.Tweedie(1.2), mm.Tweedie(1.8)], ids=repr)
@pytest.mark.parametrize("spread", [3.0, 15.0])
def test_wild_offsets_are_certified(loss, penalty, spread):
    rng = np.random.default_rng(int(spread))
    offset = spread * rng.standard_normal(N)
    y = POSITIVE if loss.target == "positive" else WITH_ZEROS
    model = mm.Regressor(loss, penalty, alpha=0.1).fit(X, y, offset=offset)
    assert model.certificate_.relative <= 1e-6
    again = mm.certify(model, X, y, offset=offset)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("loss", [mm.Gamma(), mm.Tweedie(1.2), mm.Tweedie(1.8)], ids=repr)
def test_offsets_that_drown_everything_stay_sound(loss):
    """e^±150 side by side: the fit may stop short, but it neither crashes nor claims too much."""
    offset = 60.0 * np.random.default_rng(0).standard_normal(N)
    y = POSITIVE if loss.target == "positive" else WITH_ZEROS
    models = []
    for penalty, solver in (("l2", "newton"), ("l2", "working_set"), ("l1", "working_set")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = mm.Regressor(loss, penalty, alpha=0.1, solver=solver).fit(X, y, offset=offset)
        assert model.certificate_.dual <= model.certificate_.primal
        models.append(model.certificate_)
    one, two = models[:2]  # of the same problem
    assert max(one.dual, two.dual) <= min(one.primal, two.primal) * (1 + 1e-9)


def test_offsets_beyond_the_floats():
    """Gamma has an intercept at which nothing overflows, and finds it; Tweedie has none."""
    offset = np.where(np.arange(N) % 2, 1e4, -1e4)
    assert mm.Regressor(mm.Gamma()).fit(X, POSITIVE, offset=offset).certificate_.relative <= 1e-6
    with pytest.raises(ValueError, match="overflows on these data: rescale"):
        mm.Regressor(mm.Tweedie()).fit(X, POSITIVE, offset=offset)
