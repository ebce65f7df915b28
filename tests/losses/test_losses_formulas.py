"""Formulas of a user's loss that contradict each other are refused: certificates rest on them."""

import numpy as np
import pytest

import minimand as mm

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
Y = X @ [1.0, -2.0, 0.0, 0.5] + 0.5 * rng.standard_normal(60)


class Squares(mm.Loss):
    """½(z − y)², by the formulas of a loss of any form."""

    def value(self, z, y):
        return 0.5 * (z - y) ** 2

    def gradient(self, z, y):
        return z - y

    def curvature(self, z, y):
        return np.ones_like(z)

    def conjugate(self, u, y):
        return 0.5 * u * u + u * y

    def infimum(self, y):
        return np.zeros(len(y))


class LogCosh(mm.Distance):
    def psi(self, r):
        return np.logaddexp(r, -r) - np.log(2)

    def dpsi(self, r):
        return np.tanh(r)

    def ddpsi(self, r):
        return 1 - np.tanh(r) ** 2


def method(formula):
    return lambda self, *numbers: formula(*numbers)


def changed(base, **formulas):
    """A loss of which some formulas are others."""
    return type("Changed", (base,), {name: method(f) for name, f in formulas.items()})()


SLIPS = [
    (Squares, {"conjugate": lambda u, y: 0.4 * u * u + u * y}, "smaller than u·z − value"),
    (Squares, {"conjugate": lambda u, y: 0.5 * u * u}, "smaller than u·z − value"),
    (Squares, {"conjugate": lambda u, y: 0.5 * u * u + u * y + 1}, "is not gradient"),
    (Squares, {"conjugate": lambda u, y: np.nan * u}, "smaller than u·z − value"),
    (Squares, {"gradient": lambda z, y: 2 * (z - y)}, "a tangent lies above it"),
    (Squares, {"gradient": lambda z, y: np.nan * z}, "is NaN"),
    (Squares, {"infimum": lambda y: np.ones(len(y))}, "infimum.* is greater than value"),
    (Squares, {"value": lambda z, y: 0.5 * ((z - y) ** 2).sum()}, "one number per row"),
    (Squares, {"value": lambda z, y: np.cos(z - y)}, "a tangent lies above it"),
    (LogCosh, {"dual": lambda v: 0.3 * v * v}, "smaller than u·z − value"),
    (LogCosh, {"young": lambda t, v: 0.0 * t}, "smaller than u·z − value|fenchel_young is"),
    (LogCosh, {"into_domain": lambda u, y: 0 * u + 0.5}, "into_domain.* moves a gradient"),
    (LogCosh, {"infimum": lambda y: np.ones(len(y))}, "infimum.* is greater than value"),
]


@pytest.mark.parametrize(("base", "formulas", "sentence"), SLIPS)
def test_a_slip_in_one_formula_is_refused_in_a_sentence(base, formulas, sentence):
    loss = changed(base, **formulas)
    for penalty in ("l2", "l1"):
        with pytest.raises(ValueError, match=f"cannot be certified: .*({sentence})"):
            mm.Regressor(loss, penalty, alpha=0.1).fit(X, Y)
    with pytest.raises(AssertionError):
        mm.testing.check_loss(loss)


@pytest.mark.parametrize("penalty", ["l2", "l1", "no_penalty"])
def test_right_formulas_are_taken(penalty):
    found = mm.Regressor(Squares(), penalty, alpha=0.1).fit(X, Y)
    same = mm.Regressor("squared", penalty, alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(found.coef_, same.coef_, atol=1e-6)
    exact = changed(LogCosh, infimum=lambda y: np.zeros(len(y)))
    assert mm.Regressor(exact, penalty, alpha=0.1).fit(X, Y).certificate_.relative <= 1e-6


class Counts(mm.Loss):
    """e^z − y·z: the formulas are tried at scores near zero, not at counts of a thousand."""

    target = "count"

    def value(self, z, y):
        return np.exp(z) - y * z

    def gradient(self, z, y):
        return np.exp(z) - y

    def curvature(self, z, y):
        return np.exp(z)

    def conjugate(self, u, y):
        v = np.maximum(u + y, 0.0)
        return np.where(u + y >= 0, v * np.log(np.where(v > 0, v, 1.0)) - v, np.inf)

    def into_domain(self, u, y):
        return np.maximum(u, -y)


def test_counts_of_any_size():
    y = rng.poisson(1000.0 * np.exp(X[:, 0]))
    found = mm.Regressor(Counts(), "l2", alpha=0.1).fit(X, y)
    same = mm.Regressor("poisson", "l2", alpha=0.1).fit(X, y)
    np.testing.assert_allclose(found.coef_, same.coef_, atol=1e-3)


class OneByOne(LogCosh):
    def psi(self, r):
        return float(r) ** 2


class InPlace(LogCosh):
    def psi(self, r):
        r *= r
        return 0.5 * r


@pytest.mark.parametrize("loss", [OneByOne(), InPlace()], ids=repr)
def test_formulas_that_take_one_number_or_change_their_array_are_refused(loss):
    with pytest.raises(ValueError, match="psi fails for an array of numbers"):
        mm.Regressor(loss, alpha=0.1).fit(X, Y)


def test_a_constant_may_be_given_as_one_number():
    loss = changed(LogCosh, psi=lambda r: 3.0, dpsi=lambda r: 0.0, ddpsi=lambda r: 0.0)
    model = mm.Regressor(loss, alpha=0.1).fit(X, Y)
    assert model.certificate_.gap == 0.0
    assert not model.coef_.any()
