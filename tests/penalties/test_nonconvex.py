"""MCP, SCAD and Lq as functions: values, slopes, proximal points, algebra, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.penalties import Separable
from minimand.testing import check_penalty
from own_models import Logarithm

W = [0.0, 1.0, 2.0, 0.5, 0.0, 1e-3, 1.0]
BUILT_IN = [mm.MCP(), mm.MCP(1.05), mm.SCAD(), mm.SCAD(2.05), mm.Lq(), mm.Lq(2 / 3), mm.Lq(0.1)]


@pytest.mark.parametrize(
    "penalty",
    [
        *BUILT_IN,
        mm.MCP(weights=W),
        mm.Lq(0.7, weights=W) + mm.L1(),
        mm.SCAD() + 0.5 * mm.L2(W),
        mm.L1(W) + mm.MCP(),
        mm.MCP() + mm.SCAD(),
        mm.Lq(1.0),
    ],
    ids=repr,
)
def test_conformance(penalty):
    check_penalty(penalty)


class TooFlat(Logarithm):
    def slope(self, t, lam):
        return 0.9 * lam / (1 + t)


class TooSteep(Logarithm):
    def slope(self, t, lam):
        return 1.1 * lam / (1 + t)


class NotConcave(Logarithm):
    def curve(self, t, lam):
        return lam * t * t

    def slope(self, t, lam):
        return 2 * lam * t


class LocalProx(mm.MCP):
    def shrunk(self, a, step, lam):
        return np.maximum(a - step * lam, 0.0)


def test_a_users_own():
    check_penalty(Logarithm())
    check_penalty(Logarithm() + 0.1 * mm.L2())


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (TooFlat(), "tangent lies below"),
        (TooSteep(), "tangent lies below"),
        (NotConcave(), "tangent lies below"),
        (LocalProx(), "prox is not the minimiser"),
    ],
    ids=lambda p: type(p).__name__,
)
def test_the_suite_sees_mistakes(penalty, words):
    with pytest.raises(AssertionError, match=words):
        check_penalty(penalty)


@pytest.mark.parametrize("penalty", BUILT_IN, ids=repr)
def test_slopes_are_derivatives(penalty):
    """On both sides of every knot, for several λ; and the value is the integral of the slope."""
    for lam in (0.1, 1.0, 7.0):
        t = lam * np.geomspace(1e-3, 20, 400)
        h = 1e-6 * t
        lam = np.full_like(t, lam)
        quotient = (penalty.curve(t + h, lam) - penalty.curve(t - h, lam)) / (2 * h)
        np.testing.assert_allclose(penalty.slope(t, lam), quotient, rtol=1e-5, atol=1e-6 * lam[0])
    assert penalty.value(np.zeros(3)) == 0.0


def test_values_in_the_textbook():
    lam, gamma, a = 0.7, 2.5, 3.2
    w = np.array([0.3, -1.0, 2.0, -9.0])
    t = np.abs(w)
    mcp = np.where(t <= gamma * lam, lam * t - t**2 / (2 * gamma), gamma * lam**2 / 2)
    assert mm.MCP(gamma).scaled(lam).value(w) == pytest.approx(mcp.sum())
    middle = (2 * a * lam * t - t**2 - lam**2) / (2 * (a - 1))
    scad = np.where(t <= lam, lam * t, np.where(t <= a * lam, middle, lam**2 * (a + 1) / 2))
    assert mm.SCAD(a).scaled(lam).value(w) == pytest.approx(scad.sum())
    assert mm.Lq(0.3).scaled(lam).value(w) == pytest.approx(lam * (t**0.3).sum())


@settings(max_examples=150, deadline=None)
@given(
    which=st.sampled_from(range(len(BUILT_IN))),
    w=st.floats(-30, 30),
    step=st.floats(1e-2, 50),
    alpha=st.floats(1e-2, 10),
    l1=st.sampled_from([0.0, 0.4]),
    l2=st.sampled_from([0.0, 2.0]),
)
def test_prox_against_a_grid(which, w, step, alpha, l1, l2):
    curve = BUILT_IN[which]
    penalty = (curve + l1 * mm.L1() + l2 * mm.L2()).scaled(alpha)
    found = penalty.prox([w], step)
    grid = np.concatenate([np.linspace(0, abs(w), 3000), np.geomspace(1e-9, abs(w) + 1e-9, 3000)])
    values = curve.curve(grid, np.full_like(grid, alpha)) + alpha * l1 * grid
    values += 0.5 * alpha * l2 * grid**2 + (grid - abs(w)) ** 2 / (2 * step)
    at = penalty.value(found) + (found[0] - w) ** 2 / (2 * step)
    assert at <= values.min() + 1e-12 * (1 + at)
    assert abs(found[0]) <= abs(w)
    assert found[0] * w >= 0


def test_prox_of_lq_in_closed_form():
    """Lq(½): t = ⅔a(1 + cos(⅔(π − arccos(step·λ/4·(a/3)^(−3/2))))), zero below 1.5(step·λ)^⅔."""
    a, lam = np.linspace(0.1, 20, 300), 1.7
    cosine = lam / 4 * (a / 3) ** -1.5
    angle = np.arccos(np.minimum(cosine, 1.0))
    closed = 2 / 3 * a * (1 + np.cos(2 / 3 * (np.pi - angle)))
    closed[a <= 1.5 * lam ** (2 / 3)] = 0.0
    np.testing.assert_allclose(mm.Lq(0.5).scaled(lam).prox(a, 1.0), closed, rtol=1e-10)


def test_limits_are_the_lasso():
    w = np.array([0.5, -2.0, 0.0, 30.0])
    for penalty in (mm.MCP(1e9), mm.SCAD(1e9), mm.Lq(1.0)):
        assert penalty.value(w) == pytest.approx(np.abs(w).sum(), rel=1e-6)
        np.testing.assert_allclose(penalty.prox(w, 0.7), mm.L1().prox(w, 0.7), rtol=1e-6)
    assert isinstance(mm.Lq(1).bind(3, 0.5), Separable)
    assert mm.Lq(1).formula(0.5) == mm.L1().formula(0.5)


def test_a_factor_is_a_factor_of_lambda():
    """What enters is λ = factor·alpha, and the words say so."""
    w = np.array([0.5, -4.0])
    assert (0.5 * mm.MCP()).value(w) == mm.MCP().scaled(0.5).value(w)
    assert (0.5 * mm.MCP()).value(w) == mm.MCP().bind(2, 0.5).value(w)
    assert (0.5 * mm.MCP()).formula(0.2) == "Σ mcp(|wⱼ|; λ=0.1, γ=3)"
    assert isinstance(mm.MCP().bind(2, 0.0), Separable)  # alpha = 0 is no penalty, and convex


def test_the_conjugate_is_never_too_small():
    """Ω*(v) ≥ v·w − Ω(w): infinite without an l2 part unless v = 0."""
    assert mm.MCP().conjugate([0.0, 0.0]) == 0.0
    assert mm.MCP().conjugate([0.0, 1e-3]) == np.inf
    both = mm.SCAD() + mm.L2()
    w = np.linspace(-20, 20, 401)
    for v in (0.3, 2.0, -9.0):
        best = max(v * x - both.value([x]) for x in w)
        assert best <= both.conjugate([v]) < np.inf


def test_the_prox_of_two_is_refused_in_words():
    with pytest.raises(NotImplementedError, match="two non-convex penalties"):
        (mm.MCP() + mm.SCAD()).prox([1.0], 1.0)
    with pytest.raises(NotImplementedError, match="Logarithm must define shrunk"):
        Logarithm().prox([1.0], 1.0)


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (mm.MCP(1.0), r"gamma of MCP must be a finite number > 1, not 1\.0"),
        (mm.MCP(np.nan), "gamma of MCP must be"),
        (mm.MCP("a"), "gamma of MCP must be a finite number > 1, not 'a'"),
        (mm.MCP(True), "gamma of MCP must be"),
        (mm.SCAD(2), "a of SCAD must be a finite number > 2, not 2"),
        (mm.SCAD(np.inf), "a of SCAD must be"),
        (mm.Lq(0), "q of Lq must be a number with 0 < q ≤ 1, not 0"),
        (mm.Lq(1.5), "q of Lq must be a number with 0 < q ≤ 1"),
        (mm.Lq(None), "q of Lq must be"),
        (mm.MCP(weights=[1.0, -1.0]), "weights of MCP must be finite and not negative"),
        (mm.Lq(weights=[1.0]), "weights of Lq must hold one number per feature"),
    ],
    ids=repr,
)
def test_bad_parameters_are_refused(penalty, words):
    with pytest.raises(ValueError, match=words):
        mm.Regressor("squared", penalty).fit(np.eye(4, 2), [1.0, 2.0, 3.0, 4.0])
