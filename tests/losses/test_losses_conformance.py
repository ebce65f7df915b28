"""Every built-in loss, and losses of three one-liners, against the public conformance suite."""

import numpy as np
import pytest
from scipy import optimize

import minimand as mm
from minimand.testing import check_loss
from own_models import Exponential, LogCosh, SmoothHinge

BUILT_IN = [
    mm.Squared(),
    mm.Huber(),
    mm.Huber(delta=0.05),
    mm.Huber(delta=30.0),
    mm.Poisson(),
    mm.CrossEntropy(),
    mm.Logistic(),
    mm.SquaredHinge(),
    mm.Chebyshev(),
]


@pytest.mark.parametrize("loss", BUILT_IN, ids=repr)
def test_built_in(loss):
    check_loss(loss)


@pytest.mark.parametrize("loss", [Exponential(), LogCosh(), SmoothHinge()], ids=repr)
def test_three_one_liners(loss):
    check_loss(loss)


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (mm.Squared(), [1e6, -1e-6]),
        (mm.Poisson(), [1e-3, 1e3]),
        (mm.CrossEntropy(), [1e-6, 1 - 1e-6]),
        (mm.Huber(2.0), [1e4]),
    ],
    ids=repr,
)
def test_targets_of_other_sizes(loss, y):
    check_loss(loss, y)


# The suite itself must see what is wrong.


class WrongGradient(LogCosh):
    convex = smooth = True

    def check_parameters(self):
        pass

    def gradient(self, z, y):
        return np.tanh(z - y) * 1.001


class WrongCurvature(LogCosh):
    def ddpsi(self, r):
        return 1.1 - np.tanh(r) ** 2


class LowConjugate(LogCosh):
    def conjugate(self, u, y):
        return super().conjugate(u, y) - 1e-3


class LowYoung(mm.Squared):
    def young(self, t, v):
        return 0.499 * (t - v) ** 2


class HighInfimum(mm.Squared):
    def infimum(self, y):
        return np.full(np.shape(y), 1e-3)


class BadDomain(mm.Huber):
    def into_domain(self, u, y):
        return np.clip(u, -0.5, 0.5)


class BadProx(mm.Squared):
    def prox(self, z, y, step):
        return (z + 1.01 * step * y) / (1.0 + step)


class BadTerms(mm.Squared):
    def terms(self, z, y):
        value, gradient, curvature = super().terms(z, y)
        return type(super().terms(z, y))(value, gradient * (1 + 1e-9), curvature)


class NaNFarOut(mm.Squared):
    def psi(self, t):
        return np.where(np.abs(t) > 1e7, np.nan, 0.5 * t * t)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (WrongGradient(), "gradient is not the slope"),
        (WrongCurvature(), "curvature is not the slope"),
        (LowConjugate(), "conjugate is less than"),
        (LowYoung(), "Fenchel-Young term is too small"),
        (HighInfimum(), "infimum is greater"),
        (BadDomain(), "not the nearest point"),
        (BadProx(), "prox is not the minimiser"),
        (BadTerms(), "terms differ from gradient"),
        (NaNFarOut(), "value is NaN"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_the_suite_sees_mistakes(loss, words):
    with pytest.raises(AssertionError, match=words):
        check_loss(loss)


# Known numbers.


def test_prox_of_poisson_is_the_root():
    for z, y, step in [(-100.0, 200.0, 50.0), (300.0, 0.0, 2.0), (0.0, 1e4, 1.0), (5.0, 5.0, 1e-3)]:
        p = mm.Poisson().prox(np.array([z]), np.array([y]), step)[0]
        f = lambda t: t - z + step * (np.exp(t) - y)  # noqa: B023, E731
        want = optimize.brentq(f, -2000.0, 50.0, xtol=1e-13)
        assert p == pytest.approx(want, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_fenchel_young_of_a_users_exponential_is_exact(seed):
    rng = np.random.default_rng(seed)
    t, log_v = rng.uniform(-12, 12, 3000), rng.uniform(-25, 12, 3000)
    v = -np.exp(log_v)
    want = np.exp(-t) - v * (log_v - 1 + t)
    got = Exponential().young(t, v)
    size = np.exp(-t) - v * (1 + np.abs(log_v) + np.abs(t))
    assert (got >= want - 1e-12 * size).all()  # sound
    assert (got <= want + 1e-6 * want + 1e-10 * size).all()  # tight


def test_fenchel_young_of_a_users_log_cosh_is_exact():
    rng = np.random.default_rng(0)
    t, x = rng.uniform(-50, 50, 3000), rng.uniform(-15, 15, 3000)
    v = np.tanh(x)
    conjugate = 0.5 * ((1 + v) * np.log1p(v) + (1 - v) * np.log1p(-v))
    want = LogCosh().psi(t) + conjugate - v * t
    got = LogCosh().young(t, v)
    assert (got >= want - 1e-13 * (1 + np.abs(t))).all()
    assert (got <= want + 1e-6 * want + 1e-12 * (1 + np.abs(t))).all()


def test_poisson_value_does_not_cancel():
    y = np.array([1e8, 1e6, 1.0])
    z = np.log(y) + np.array([1e-6, 1e-3, 0.0])
    d = z.astype(np.longdouble) - np.log(y.astype(np.longdouble))
    want = (y * (np.expm1(d) - d)).astype(float)
    np.testing.assert_allclose(mm.Poisson().value(z, y), want, rtol=1e-6, atol=1e-14)


def test_cross_entropy_is_logistic_at_the_corners():
    z = np.linspace(-30, 30, 41)
    for y in (0.0, 1.0):
        s = np.full(z.shape, 2 * y - 1)
        ys = np.full(z.shape, y)
        for name in ("value", "gradient", "curvature"):
            one = getattr(mm.CrossEntropy(), name)(z, ys)
            np.testing.assert_allclose(one, getattr(mm.Logistic(), name)(z, s), atol=1e-14)


def test_logistic_terms_take_any_layout():
    z, y = np.linspace(-5, 5, 12), np.where(np.arange(12) % 2, 1.0, -1.0)
    want = mm.Logistic().terms(z[::2].copy(), y[::2].copy())
    for got, exact in zip(mm.Logistic().terms(z[::2], y[::2]), want):
        np.testing.assert_allclose(got, exact, rtol=1e-14)


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (mm.Poisson(), [-1.0]),
        (mm.CrossEntropy(), [1.5]),
        (mm.Logistic(), [0.0, 1.0]),
        (mm.Squared(), [np.nan]),
    ],
    ids=repr,
)
def test_targets_outside_the_domain_are_refused(loss, y):
    with pytest.raises(ValueError, match="outside the domain"):
        loss.check_target(np.array(y))


@pytest.mark.parametrize("delta", [0.0, -1.0, np.inf, np.nan])
def test_huber_refuses_bad_delta(delta):
    with pytest.raises(ValueError, match="delta"):
        mm.Huber(delta).check_parameters()
