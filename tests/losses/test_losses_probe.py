"""Convexity, slopes and kinks of a user's loss are probed, not believed."""

import warnings

import numpy as np
import pytest

import minimand as mm
from minimand.solvers import SOLVERS
from own_models import Exponential, Kinked


class GemanMcClure(mm.Distance):
    def __init__(self, sigma=1.0):
        self.sigma = sigma

    def psi(self, r):
        return r * r / (self.sigma**2 + r * r)

    def dpsi(self, r):
        return 2 * r * self.sigma**2 / (self.sigma**2 + r * r) ** 2

    def ddpsi(self, r):
        s = self.sigma**2
        return 2 * s * (s - 3 * r * r) / (s + r * r) ** 3


class TanhMargin(mm.Margin):
    def psi(self, m):
        return 1 - np.tanh(m)

    def dpsi(self, m):
        return -1 / np.cosh(np.clip(m, -300, 300)) ** 2

    def ddpsi(self, m):
        return 2 * np.tanh(m) / np.cosh(np.clip(m, -300, 300)) ** 2


class Truncated(mm.Distance):
    def __init__(self, c=1.0):
        self.c = c

    def psi(self, r):
        return np.minimum(0.5 * r * r, 0.5 * self.c**2)

    def dpsi(self, r):
        return np.where(np.abs(r) < self.c, r, 0.0)

    def ddpsi(self, r):
        return (np.abs(r) < self.c).astype(float)


class Ripple(mm.Distance):
    def psi(self, r):
        return 0.5 * r * r + 0.5 * np.cos(2 * r)

    def dpsi(self, r):
        return r - np.sin(2 * r)

    def ddpsi(self, r):
        return 1 - 2 * np.cos(2 * r)


class WrongSlope(mm.Distance):
    def psi(self, r):
        return np.logaddexp(r, -r)

    def dpsi(self, r):
        return 0.5 * np.tanh(r)

    def ddpsi(self, r):
        return 0.5 * (1 - np.tanh(r) ** 2)


class SlightlyWrongSlope(WrongSlope):
    def dpsi(self, r):
        return np.tanh(r) + 0.01 * np.exp(-r * r)


class Hinge(mm.Margin):
    def psi(self, m):
        return np.maximum(0.0, 1 - m)

    def dpsi(self, m):
        return np.where(m < 1, -1.0, 0.0)

    def ddpsi(self, m):
        return np.zeros_like(m)


class HiddenKink(mm.Distance):
    """A small kink at an odd place on top of a square."""

    def psi(self, r):
        return 0.5 * r * r + 0.1 * np.abs(r - 0.123456789)

    def dpsi(self, r):
        return r + 0.1 * np.sign(r - 0.123456789)

    def ddpsi(self, r):
        return np.ones_like(r)


def fit(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    if isinstance(loss, mm.Margin):
        return mm.Classifier(loss).fit(X, X[:, 0] > 0)
    return mm.Regressor(loss).fit(X, X[:, 0])


@pytest.mark.parametrize(
    "loss",
    [GemanMcClure(s) for s in (1e-3, 1.0, 50.0, 1e3, 1e4, 1e6)]
    + [Truncated(c) for c in (1e-2, 1.0, 5e3, 1e5)]
    + [TanhMargin(), Ripple()],
    ids=repr,
)
def test_non_convex_is_refused_in_words(loss):
    assert not loss.convex
    with pytest.raises(ValueError, match="not convex"):
        fit(loss)


@pytest.mark.parametrize("loss", [WrongSlope(), SlightlyWrongSlope()], ids=repr)
def test_dpsi_that_is_not_the_derivative_is_refused(loss):
    with pytest.raises(ValueError, match="dpsi is not its derivative"):
        fit(loss)


@pytest.mark.parametrize("loss", [Hinge(), Kinked(), HiddenKink()], ids=repr)
def test_a_kink_without_pieces_is_refused_with_what_to_do(loss):
    assert loss.convex
    assert not loss.smooth
    with pytest.raises(ValueError, match="has a kink: say its `pieces`"):
        fit(loss)
    for name in SOLVERS:
        if name in ("subgradient", "sgd"):
            continue  # any slope will do there
        with pytest.raises(ValueError, match=f"solver='{name}' does not accept"):
            mm.Regressor(Kinked(), solver=name).fit(np.eye(3), [1.0, 2.0, 3.0])


class Power(mm.Distance):
    """|r|^p, steep but not kinked at 0."""

    def __init__(self, p, place=0.0):
        self.p = p
        self.place = place

    def psi(self, r):
        return np.abs(r - self.place) ** self.p

    def dpsi(self, r):
        return self.p * np.sign(r - self.place) * np.abs(r - self.place) ** (self.p - 1)

    def ddpsi(self, r):
        size = np.maximum(np.abs(r - self.place), 1e-12)
        return self.p * (self.p - 1) * size ** (self.p - 2)


@pytest.mark.parametrize("p", [1.05, 1.1, 1.2])
@pytest.mark.parametrize("place", [0.0, 0.3])
def test_a_power_near_one_is_no_kink(p, place):
    loss = Power(p, place)
    assert loss.smooth
    assert loss.nearly_kinked
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ rng.standard_normal(3) + rng.standard_normal(60)
    model, known = (
        mm.Regressor(which, "l1", alpha=0.1).fit(X, target)
        for which, target in ((loss, y), (mm.Lp(p), y + place))
    )
    assert model.certificate_.relative <= 1e-6
    assert model.certificate_.primal == pytest.approx(known.certificate_.primal, rel=1e-5)


class Hyperbola(mm.Margin):
    """√(m² + 4) − m: for large m its values and slopes are rounding alone."""

    def psi(self, m):
        return np.sqrt(m * m + 4) - m

    def dpsi(self, m):
        return m / np.sqrt(m * m + 4) - 1

    def ddpsi(self, m):
        return 4 / (m * m + 4) ** 1.5


def test_rounding_of_slopes_is_no_kink():
    assert Hyperbola().smooth
    assert not Hyperbola().nearly_kinked
    assert fit(Hyperbola()).certificate_.relative <= 1e-6


@pytest.mark.parametrize("loss", [mm.Huber(1e-3), mm.Huber(1e3), mm.SquaredHinge(), mm.Logistic()])
def test_built_in_facts_survive_the_probe(loss):
    from minimand.losses.analysis.probe import inspect

    facts = inspect(loss.psi, loss.dpsi, loss.ddpsi)
    assert facts.violation is None
    assert facts.kink is None


class Linear(mm.Margin):
    """Convex but unbounded below: a perceptron without its zero."""

    def psi(self, m):
        return -m

    def dpsi(self, m):
        return -np.ones_like(m)

    def ddpsi(self, m):
        return np.zeros_like(m)


def test_a_loss_without_infimum_never_passes_silently():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = np.where(np.arange(30) < 20, 1, -1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            model = mm.Classifier(Linear(), "l2").fit(X, y)
        except ValueError as refusal:
            assert "unbounded below" in str(refusal)  # noqa: PT017
            return
    assert seen
    assert model.certificate_.gap == np.inf
    assert model.certificate_.infeasibility
    assert not np.isnan(model.certificate_.relative)


def test_equal_losses_share_their_probes_and_others_do_not():
    calls = []

    class Power(mm.Distance):
        def __init__(self, p=2.0):
            self.p = p

        def psi(self, t):
            calls.append(t.size)
            return np.abs(t) ** self.p

        def dpsi(self, t):
            return self.p * np.sign(t) * np.abs(t) ** (self.p - 1)

        def ddpsi(self, t):
            return self.p * (self.p - 1) * np.abs(t) ** (self.p - 2)

    assert Power(2.0).convex
    calls.clear()
    assert Power(2.0).convex
    assert not calls
    assert not Power(0.5).convex  # another parameter
    loss = Power(2.0)
    loss.p = 0.5
    assert not loss.convex
    Power.psi = lambda self, t: -(t * t)  # another formula
    assert not Power(2.0).convex


def test_losses_whose_parameters_may_change_in_place_share_nothing():
    class Weighted(mm.Distance):
        def __init__(self, factors):
            self.factors = factors

        def psi(self, t):
            return self.factors[0] * t * t

        def dpsi(self, t):
            return 2 * self.factors[0] * t

        def ddpsi(self, t):
            return 2 * self.factors[0] + 0 * t

    factors = [1.0]
    assert Weighted(factors).convex
    factors[0] = -1.0
    assert not Weighted(factors).convex


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3, 1.0, 30.0])
def test_bounds_of_the_conjugate_are_sound_and_tight(size):
    # Known: ½r² has ½(v − t)², e^−m has v·log(−v) − v; slopes that no t has are infinite.
    class Square(mm.Distance):
        def psi(self, t):
            return 0.5 * t * t

        def dpsi(self, t):
            return t

        def ddpsi(self, t):
            return np.ones_like(t)

    rng = np.random.default_rng(0)
    t = rng.standard_normal(300)
    v = t + size * rng.standard_normal(300)
    exact, found = 0.5 * (v - t) ** 2, Square().young(t, v)
    rounding = 1e-14 * (1.0 + size) * (np.abs(t) + np.abs(v)) * (np.abs(v - t) + 1e-15)
    assert (found >= exact * (1 - 1e-14)).all()
    assert (found <= exact * 1.05 + 100 * rounding).all()
    built_in = mm.Exponential()

    v = -np.exp(-t - size * rng.standard_normal(300))
    exact, found = built_in.young(t, v), Exponential().young(t, v)
    assert (found >= exact * (1 - 1e-12)).all()
    assert (found <= exact * 1.05 + 1e-13 * (1 + np.abs(v) * (1 + np.abs(np.log(-v))))).all()
    assert np.isinf(Exponential().young(t, np.abs(v))).all()
