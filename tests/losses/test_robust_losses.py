"""Robust losses as functions: slopes, tangents, facts, and refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import minimand as mm
from minimand.losses.analysis.facts import is_robust
from minimand.testing import check_loss

LOSSES = [
    mm.GemanMcClure(),
    mm.GemanMcClure(0.05),
    mm.GemanMcClure(sigma=30.0),
    mm.TruncatedSquared(),
    mm.TruncatedSquared(c=0.1),
    mm.TanhMargin(),
]


class Cauchy(mm.RobustLoss):
    """A user's own: log(1 + ½r²)."""

    def curve(self, s):
        return np.log1p(s)

    def slope(self, s):
        return 1 / (1 + s)


class SmoothRamp(mm.RobustLoss):
    """A user's own on another base: 1 − e^−s of the squared hinge."""

    base = mm.SquaredHinge()

    def curve(self, s):
        return -np.expm1(-s)

    def slope(self, s):
        return np.exp(-s)


@pytest.mark.parametrize("loss", [*LOSSES, Cauchy(), SmoothRamp()], ids=repr)
def test_conformance(loss):
    check_loss(loss)


def test_formulas():
    r = np.array([-1e200, -3.0, -0.5, 0.0, 0.5, 3.0, 1e8])
    y = np.zeros_like(r)
    finite = np.clip(r, -1e150, 1e150)
    assert_allclose(mm.GemanMcClure(2.0).value(r, y), finite**2 / (4.0 + finite**2))
    assert_allclose(mm.TruncatedSquared(2.0).value(r, y), np.minimum(4.0, finite**2))
    m = np.linspace(-30, 30, 301)
    one = np.ones_like(m)
    loss = mm.TanhMargin()
    # Beyond m = 18, 1 − tanh m is 0 in floating point; 2/(1 + e^2m) is not.
    assert_allclose(loss.value(m, one), 2.0 / (1.0 + np.exp(2 * m)), rtol=1e-13)
    assert_allclose(loss.gradient(m, one), -1.0 / np.cosh(m) ** 2, rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_facts(loss):
    assert not loss.convex
    assert loss.bounded
    assert loss.robust
    far = loss.value(np.array([-1e6, 1e6]), np.array([1.0, -1.0]))
    assert_allclose(far, far[0])
    assert (loss.value(np.linspace(-50, 50, 999), np.ones(999)) <= far[0]).all()


def test_short_names():
    for name, cls in [
        ("geman_mc_clure", mm.GemanMcClure),
        ("truncated_squared", mm.TruncatedSquared),
        ("tanh_margin", mm.TanhMargin),
    ]:
        assert isinstance(mm.losses.REGISTRY.get(name), cls)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (mm.GemanMcClure(0.0), "sigma of GemanMcClure must be a positive number"),
        (mm.GemanMcClure("1"), "sigma of GemanMcClure"),
        (mm.TruncatedSquared(-1.0), "c of TruncatedSquared"),
        (mm.TruncatedSquared(np.inf), "c of TruncatedSquared"),
    ],
    ids=repr,
)
def test_bad_parameters(loss, words):
    with pytest.raises(ValueError, match=words):
        mm.Regressor(loss).fit(np.eye(3), np.arange(3.0))


class Convex(Cauchy):
    def curve(self, s):
        return s**2

    def slope(self, s):
        return 2 * s


class Falling(Cauchy):
    def curve(self, s):
        return -s

    def slope(self, s):
        return -np.ones_like(s)


class Shifted(Cauchy):
    def curve(self, s):
        return 1 + np.log1p(s)


class OnTop(Cauchy):
    base = mm.GemanMcClure()


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Convex(), "is not concave, or slope is not its derivative"),
        (Falling(), "must not be negative"),
        (Shifted(), "must be 0 at 0"),
        (OnTop(), "must be a convex loss"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_curve_that_is_none_is_refused(loss, words):
    with pytest.raises(ValueError, match=words):
        mm.Regressor(loss).fit(np.eye(3), np.arange(3.0))


class SteepSlope(mm.GemanMcClure):
    def slope(self, s):
        return 1.01 * super().slope(s)


class FlatTangent(mm.GemanMcClure):
    def weights(self, z, y, gradual=1.0):
        return 0.9 * super().weights(z, y, gradual)

    def gradient(self, z, y):
        return super().gradient(z, y) / 0.9


def test_the_suite_sees_mistakes():
    with pytest.raises(AssertionError, match="gradient is not the slope"):
        check_loss(SteepSlope())
    with pytest.raises(AssertionError, match="lies below the loss"):
        check_loss(FlatTangent())


@pytest.mark.parametrize(
    "name",
    [
        "Squared",
        "Absolute",
        "Huber",
        "SquaredEpsilonInsensitive",
        "Quantile",
        "Hinge",
        "SquaredHinge",
    ],
)
def test_pieces_know_whether_slopes_are_bounded_as_probes_find_it(name):
    loss = getattr(mm, name)()
    assert loss.pieces is not None
    assert loss.robust == is_robust(loss)
