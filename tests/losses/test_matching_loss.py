"""Transforms and the losses that match them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import minimand as mm
from minimand import transforms
from minimand.testing import check_loss

RNG = np.random.default_rng(2)
X = RNG.standard_normal((70, 4))
Z = X @ np.array([1.0, -1.0, 0.5, 0.0]) + 0.5 * RNG.standard_normal(70)
SMOOTH = [transforms.identity, transforms.exp, transforms.sigmoid, transforms.tanh]
AXIS = np.concatenate([np.linspace(-5, 5, 41), [-30.0, 30.0]])


@pytest.mark.parametrize("f", SMOOTH, ids=repr)
def test_a_transform_says_its_own_derivatives(f):
    h = 1e-5
    np.testing.assert_allclose(
        (f(AXIS + h) - f(AXIS - h)) / (2 * h), f.derivative(AXIS), rtol=1e-4, atol=1e-9
    )
    slope = (f.derivative(AXIS + h) - f.derivative(AXIS - h)) / (2 * h)
    np.testing.assert_allclose(slope, f.second_derivative(AXIS), rtol=1e-4, atol=1e-10)
    rise = (f.antiderivative(AXIS + h) - f.antiderivative(AXIS - h)) / (2 * h)
    np.testing.assert_allclose(rise, f(AXIS), rtol=1e-4, atol=1e-10)
    near = np.linspace(-5, 5, 41)
    np.testing.assert_allclose(f.inverse(f(near)), near, rtol=1e-9, atol=1e-9)
    assert f.derivative(near).max() <= f.steepest
    lo, hi = f.range
    assert ((f(AXIS) >= lo) & (f(AXIS) <= hi)).all()


def test_decisions_and_softmax():
    np.testing.assert_array_equal(transforms.sign(np.array([-2.0, 0.0, 3.0])), [-1, -1, 1])
    np.testing.assert_array_equal(transforms.indmax(np.array([[1.0, 3.0, 2.0]])), [[0, 1, 0]])
    z = RNG.standard_normal((3, 4))
    p = transforms.softmax(z)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(transforms.softmax(transforms.softmax.inverse(p)), p)
    moved = z.copy()
    moved[:, 1] += 1e-6
    change = (transforms.softmax(moved) - p) / 1e-6
    np.testing.assert_allclose(change, transforms.softmax.derivative(z)[:, :, 1], atol=1e-5)


def test_matching_losses_by_name():
    assert transforms.identity.matching_loss() == mm.Squared()
    assert transforms.exp.matching_loss() == mm.Poisson()
    assert transforms.sigmoid.matching_loss() == mm.CrossEntropy()
    assert transforms.tanh.matching_loss() == mm.MatchingLoss(transforms.tanh)
    for f, words in (("sign", "jumps"), ("indmax", "jumps"), ("softmax", "multinomial")):
        with pytest.raises(ValueError, match=words):
            getattr(transforms, f).matching_loss()


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("f", "g", "loss", "y"),
    [
        (transforms.identity, lambda z: 1.0 * z, mm.Squared(), RNG.standard_normal(43) * 3),
        (transforms.exp, np.exp, mm.Poisson(), np.append(RNG.poisson(2.0, 42), 0.0)),
        (transforms.sigmoid, None, mm.CrossEntropy(), np.append(RNG.uniform(size=41), [0, 1])),
    ],
    ids=["identity", "exp", "sigmoid"],
)
def test_the_named_identities(f, g, loss, y, plain):
    mine = mm.MatchingLoss((g or (lambda z: 1 / (1 + np.exp(-z)))) if plain else f)
    u = loss.gradient(np.sin(AXIS), y)
    for name, arguments in (
        ("value", (AXIS, y)),
        ("gradient", (AXIS, y)),
        ("fenchel_young", (AXIS, u, y)),
        ("conjugate", (u, y)),
    ):
        want = getattr(loss, name)(*arguments)
        got = getattr(mine, name)(*arguments)
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(
        mine.curvature(AXIS, y), loss.curvature(AXIS, y), rtol=1e-6, atol=1e-10
    )


def test_tanh_is_log_cosh():
    """F = ln cosh; at the ends y = ±1 the loss is ln(1 + e^−2m)."""
    loss, y = mm.MatchingLoss(transforms.tanh), np.full(AXIS.shape, 0.3)
    s = np.arctanh(0.3)
    ln_cosh = transforms.tanh.antiderivative
    want = ln_cosh(AXIS) - ln_cosh(s) - 0.3 * (AXIS - s)
    np.testing.assert_allclose(loss.value(AXIS, y), want, rtol=1e-12, atol=1e-12)
    for sign in (-1.0, 1.0):
        y = np.full(AXIS.shape, sign)
        np.testing.assert_allclose(loss.value(AXIS, y), np.log1p(np.exp(-2 * sign * AXIS)))


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (mm.MatchingLoss(transforms.tanh), [-1.0, -0.3]),
        (mm.MatchingLoss(transforms.exp), [0.0, 7.0]),
        (mm.MatchingLoss(transforms.sigmoid), [0.0, 0.2]),
        (mm.MatchingLoss(np.sinh, np.cosh), [0.7]),
        (mm.MatchingLoss(np.sinh), [-3.0]),
    ],
    ids=repr,
)
def test_conformance(loss, y):
    check_loss(loss, y)


@pytest.mark.parametrize("f", [np.arcsinh, np.arctan, np.cbrt, lambda z: z + 0.5 * np.sin(z)])
def test_quadrature_against_scipy(f):
    loss = mm.MatchingLoss(f)
    loss.check_parameters()
    s = np.array([-2.0, 0.3, 1.0, 1.0])
    z, y = np.array([5.0, -1.0, 1.001, 1.0]), np.asarray(f(s))
    want = [
        integrate.quad(lambda x, a=a: f(x) - a, b, c, epsabs=1e-13)[0] for a, b, c in zip(y, s, z)
    ]
    np.testing.assert_allclose(loss.value(z, y), want, rtol=1e-9, atol=1e-14)
    assert loss.value(z, y)[-1] <= 1e-30


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_never_negative_and_zero_only_where_f_is_equal(z, s):
    for f in (transforms.tanh, transforms.exp, np.arcsinh):
        y = np.asarray(f(np.array([s])), float)
        value = mm.MatchingLoss(f).value(np.array([z]), y)[0]
        assert value >= 0
        if abs(z - s) > 1e-3 and abs(f(z) - f(s)) > 1e-6:
            assert value > 0
        if z == s:
            assert value <= 1e-12 * max(1.0, abs(float(y[0])))


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize(
    ("f", "F"), [(transforms.tanh, None), (np.arctan, None), (np.sinh, np.cosh), (np.cbrt, None)]
)
def test_certified_fits(f, F, penalty):
    y = np.asarray(f(Z))
    model = mm.Regressor(mm.MatchingLoss(f, F), penalty, alpha=0.01).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    np.testing.assert_allclose(model.predict(X), f(model.decision_function(X)))


def test_fits_agree_with_the_named_loss():
    y = 1 / (1 + np.exp(-Z))
    named = mm.Regressor("cross_entropy", alpha=0.01, tol=1e-10).fit(X, y)
    matching = mm.Regressor(mm.MatchingLoss(transforms.sigmoid), alpha=0.01, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(matching.coef_, named.coef_, atol=1e-6)
    soft = mm.Regressor(mm.MatchingLoss(transforms.tanh), alpha=0.1, tol=1e-9).fit(X, np.sign(Z))
    # ln(1 + e^−2m) is the logistic loss of twice the score.
    twice = mm.Classifier("logistic", alpha=0.025, tol=1e-9).fit(X, np.sign(Z))
    np.testing.assert_allclose(2 * soft.coef_, twice.coef_[0], atol=1e-3)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (np.sign, "= -1"),
        (lambda z: np.maximum(z, 0.0), "= 0"),
        (lambda z: np.clip(z, -1.0, 1.0), "= -1"),
        (np.sin, "is above"),
        (np.negative, "is above"),
        (np.log, "not a number"),
        (np.round, "f(-8) = f(-7.9)"),
        (np.sum, "shape ()"),
    ],
)
def test_what_does_not_increase_is_refused(f, words):
    with pytest.raises(ValueError, match="strictly increasing") as error:
        mm.Regressor(mm.MatchingLoss(f)).fit(X, Z)
    assert words in str(error.value)


def test_other_refusals():
    for f in (3.0, transforms.Tanh, "tanh"):
        with pytest.raises(ValueError, match="f of MatchingLoss must be a function"):
            mm.Regressor(mm.MatchingLoss(f)).fit(X, Z)
    with pytest.raises(ValueError, match="antiderivative of f, but from"):
        mm.Regressor(mm.MatchingLoss(np.sinh, np.sinh)).fit(X, Z)
    with pytest.raises(ValueError, match="F of MatchingLoss must be a function"):
        mm.Regressor(mm.MatchingLoss(np.sinh, 3)).fit(X, Z)
    with pytest.raises(ValueError, match="from -1 to 1, the range of f, but y ranges"):
        mm.Regressor(mm.MatchingLoss(transforms.tanh)).fit(X, 3 * Z)


def test_a_stored_loss_is_its_parameters_alone():
    model = mm.Regressor(mm.MatchingLoss(np.sinh)).fit(X, Z)
    again = pickle.loads(pickle.dumps(model))
    assert set(vars(again.loss)) == {"f", "F"}
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    changed = mm.MatchingLoss(np.sinh)
    changed.value(Z, Z)
    changed.set_params(f=np.arcsinh)
    np.testing.assert_array_equal(changed.value(Z, Z), mm.MatchingLoss(np.arcsinh).value(Z, Z))


# Pairs that do not match ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "f", "match"),
    [
        (mm.Squared(), transforms.sigmoid, "CrossEntropy()"),
        (mm.Squared(), transforms.exp, "Poisson()"),
        (mm.Absolute(), transforms.tanh, "MatchingLoss(f=Tanh())"),
        (mm.Logistic(), transforms.sigmoid, "CrossEntropy()"),
    ],
)
def test_a_mismatched_pair_is_refused(loss, f, match):
    with pytest.raises(
        ValueError, match=r"is not convex: for y = .* bends downwards at z"
    ) as error:
        transforms.compose(loss, f)
    assert str(error.value).endswith(f"the loss that matches {f.name} is {match}.")


def test_a_pair_that_is_convex_is_a_loss():
    loss = transforms.compose(mm.Squared(), lambda z: 2 * z + 1)
    check_loss(loss, [3.0])
    y = Z.copy()
    model = mm.Regressor(loss, "l2", alpha=0.4, tol=1e-10).fit(X, y)
    plain = mm.Regressor("squared", "l2", alpha=0.1, tol=1e-10).fit(X, (y - 1) / 2)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), 2 * model.decision_function(X) + 1)
    steep = transforms.compose(mm.CrossEntropy(), np.sinh)  # convex, though neither is linear
    assert mm.Regressor(steep, alpha=0.1).fit(X, 1 / (1 + np.exp(-Z))).certificate_.relative <= 1e-6


def test_what_cannot_be_composed():
    with pytest.raises(ValueError, match="composed with sign"):
        transforms.compose(mm.Squared(), transforms.sign)
    with pytest.raises(ValueError, match="strictly increasing"):
        transforms.compose(mm.Squared(), np.negative)


def test_the_best_intercept_needs_no_integrals():
    """Slopes are f(z) − y and f'(z): only where a value is asked for does quadrature run."""
    loss = mm.MatchingLoss(np.arcsinh)
    z, y = np.linspace(-3, 3, 7), np.linspace(-1, 1, 7)
    gradient, curvature = loss.slopes(z, y)
    np.testing.assert_allclose(gradient, np.arcsinh(z) - y)
    np.testing.assert_allclose(curvature, 1 / np.sqrt(1 + z * z), rtol=1e-8)
    for other in (mm.Logistic(), mm.Huber(), mm.Poisson()):
        for found, wanted in zip(other.slopes(z, np.ones(7)), other.terms(z, np.ones(7))[1:]):
            np.testing.assert_allclose(found, wanted)

    class Counting(mm.MatchingLoss):
        calls = 0

        def value(self, z, y):
            Counting.calls += 1
            return super().value(z, y)

    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    model = mm.Regressor(Counting(np.arcsinh), "l2", alpha=0.01).fit(X, X[:, 0])
    assert model.certificate_.relative <= 1e-6
    assert Counting.calls <= 8 * (model.n_iter_ + 1)
