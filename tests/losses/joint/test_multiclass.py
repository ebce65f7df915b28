"""Losses over classes: formulas against other formulas, in higher precision or by enumeration."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, rel_entr
from scipy.special import softmax as scipy_softmax

import minimand as mm
from minimand.losses.curvature import as_curvature
from minimand.losses.numeric.simplex import below_simplex, onto_simplex


def scores(seed, n=50, k=4, size=3.0):
    rng = np.random.default_rng(seed)
    return size * rng.standard_normal((n, k)), rng.integers(0, k, n).astype(float)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_conformance(k):
    mm.testing.check_loss(mm.Multinomial(), np.arange(float(k)))
    for reference in (0, 1, -1):
        mm.testing.check_loss(mm.Multinomial(reference), np.arange(float(k)))


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_value_and_slope_are_those_of_scipy(size):
    z, y = scores(0, size=size)
    true = np.eye(4)[y.astype(int)]
    loss = mm.Multinomial()
    assert np.allclose(loss.value(z, y), logsumexp(z, axis=1) - (z * true).sum(axis=1), rtol=1e-13)
    assert np.allclose(loss.gradient(z, y), scipy_softmax(z, axis=1) - true, atol=1e-15)
    assert np.allclose(loss.transform(z), scipy_softmax(z, axis=1), rtol=1e-13)
    terms = loss.terms(z, y)
    assert np.array_equal(terms.value, loss.value(z, y))
    assert np.array_equal(terms.gradient, loss.gradient(z, y))
    assert np.array_equal(terms.curvature.p, loss.transform(z))


def test_small_values_and_slopes_keep_their_digits():
    # 0 is the score of the class, −t those of two others: log(1 + 2e^{−t}).
    t = np.array([1.0, 20.0, 40.0, 100.0, 600.0])
    z = np.column_stack([-t, np.zeros(5), -t])
    y = np.ones(5)
    loss = mm.Multinomial()
    assert np.allclose(loss.value(z, y), np.log1p(2 * np.exp(-t)), rtol=1e-13, atol=0)
    share = np.exp(-t) / (1 + 2 * np.exp(-t))
    expected = np.column_stack([share, -2 * share, share])
    assert np.allclose(loss.gradient(z, y), expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("far", [1e4, 1e100, 1e300])
@pytest.mark.parametrize("reference", [None, 0])
def test_huge_scores(far, reference):
    k = 3 if reference is None else 2
    rng = np.random.default_rng(0)
    z = far * rng.choice([-1.0, 0.0, 1.0], size=(60, k))
    y = rng.integers(0, 3, 60).astype(float)
    loss = mm.Multinomial(reference)
    with np.errstate(all="raise", under="ignore"):
        value, gradient, curvature = loss.terms(z, y)
        p = loss.transform(z)
        own = loss.fenchel_young(z, gradient, y)
        other = loss.fenchel_young(z, loss.into_domain(np.zeros_like(z), y), y)
    assert np.isfinite(value).all()
    assert (value >= 0).all()
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.abs(gradient).max() <= 1.0
    assert np.isfinite(as_curvature(curvature).times(np.ones_like(z))).all()
    assert (own == 0).all()
    assert np.allclose(other, value, rtol=1e-12)  # u = 0 is the law of the class: KL = −log q_y


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(-14, 0), st.integers(2, 6))
def test_relative_entropy_does_not_cancel(seed, exponent, k):
    # Both laws are ratios of integers, so their divergence is known to every digit.
    rng = np.random.default_rng(seed)
    q = rng.integers(1, 1000, k)
    q = [Fraction(int(c), int(q.sum())) for c in q]
    tilt = [Fraction(int(c), 1000) for c in rng.integers(-999, 1000, k)]
    mean = sum(a * b for a, b in zip(q, tilt))
    size = Fraction(10.0**exponent)
    p = [a * (1 + size * (b - mean) / 2) for a, b in zip(q, tilt)]
    assert sum(p) == 1
    exact = sum(_divergence(a, b) for a, b in zip(p, q))
    z = np.log(np.array([q], dtype=float))
    y = np.array([float(seed % k)])
    u = np.array([[float(a - (c == seed % k)) for c, a in enumerate(p)]])
    found = mm.Multinomial().fenchel_young(z, u, y)[0]
    noise = np.finfo(float).eps  # of z and u, which enters by its square and with the difference
    assert found == pytest.approx(float(exact), rel=1e-6, abs=20 * k * noise * float(size) + 1e-30)


def _divergence(p, q):
    """p log(p/q) − p + q = q·Σ (−δ)ⁿ/(n(n − 1)) for p = q(1 + δ); in floats if δ is not small."""
    delta = p / q - 1
    if abs(delta) > Fraction(1, 10):
        return Fraction(float(p) * np.log1p(float(delta)) - float(p - q))
    return q * sum((-delta) ** n / (n * (n - 1)) for n in range(2, 14))


def test_terms_are_divergences():
    z, y = scores(1)
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(4) * 0.3, size=len(y))
    p[:5] = np.eye(4)[[0, 1, 2, 3, 0]]  # the corners of the simplex
    u = p - np.eye(4)[y.astype(int)]
    found = mm.Multinomial().fenchel_young(z, u, y)
    assert np.allclose(
        found, rel_entr(p, scipy_softmax(z, axis=1)).sum(axis=1), rtol=1e-9, atol=1e-14
    )
    assert np.isinf(mm.Multinomial().fenchel_young(z, u + 0.1, y)).all()
    assert np.isinf(mm.Multinomial().conjugate(u - 1.0, y)).all()


def test_projections_are_the_nearest_points():
    rng = np.random.default_rng(0)
    p = rng.standard_normal((40, 4)) * 10.0 ** rng.uniform(-2, 4, (40, 1))
    for inside, make in ((onto_simplex(p), 1.0), (below_simplex(p.copy()), 0.0)):
        assert (inside >= 0).all()
        total = inside.sum(axis=1)
        assert np.allclose(total, 1.0) if make else (total <= 1 + 1e-12).all()
        # ⟨p − q, r − q⟩ ≤ 0 for the corners r of a convex set says that q is the nearest.
        corners = np.eye(4) if make else np.vstack([np.eye(4), np.zeros(4)])
        for corner in corners:
            angle = ((p - inside) * (corner - inside)).sum(axis=1)
            assert (angle <= 1e-9 * (1 + np.abs(p).max(axis=1) ** 2)).all()


@pytest.mark.parametrize("reference", [0, 1, 3, -1, -4])
def test_a_reference_is_a_score_of_zero(reference):
    z, y = scores(3)
    place = reference % 4
    z[:, place] = 0.0
    own = np.delete(np.arange(4), place)
    whole, part = mm.Multinomial(), mm.Multinomial(reference)
    assert part.scores_for(4) == 3
    assert np.allclose(part.value(z[:, own], y), whole.value(z, y), rtol=1e-13)
    assert np.allclose(part.gradient(z[:, own], y), whole.gradient(z, y)[:, own], rtol=1e-13)
    assert np.allclose(part.transform(z[:, own]), whole.transform(z), rtol=1e-13)
    u = whole.gradient(np.roll(z, 1, axis=0), y)
    assert np.allclose(part.conjugate(u[:, own], y), whole.conjugate(u, y), rtol=1e-11, atol=1e-13)
    terms = part.fenchel_young(z[:, own], u[:, own], y)
    assert np.allclose(terms, whole.fenchel_young(z, u, y), rtol=1e-9, atol=1e-14)


def test_two_classes_are_the_logistic_loss():
    z, y = scores(4, k=2)
    signs = 2 * y - 1
    difference = z[:, 1] - z[:, 0]
    expected = mm.Logistic().value(difference, signs)
    assert np.allclose(mm.Multinomial().value(z, y), expected, rtol=1e-13)
    alone = mm.Multinomial(0)
    assert np.allclose(alone.value(difference, y), expected, rtol=1e-13)
    assert np.allclose(alone.gradient(difference, y), mm.Logistic().gradient(difference, signs))
    assert np.allclose(alone.curvature(difference, y), mm.Logistic().curvature(difference, signs))


@pytest.mark.parametrize("reference", [None, 0, 2])
def test_the_best_intercepts_of_equal_rows_are_the_shares(reference):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 40).astype(float)
    mass = rng.uniform(0.1, 1.0, 40)
    mass /= mass.sum()
    loss = mm.Multinomial(reference)
    k = loss.scores_for(3)
    z = np.tile(rng.standard_normal(k), (40, 1))
    b = loss.best_shift(z, y, mass)
    shares = np.bincount(y.astype(int), weights=mass)
    assert np.allclose(loss.transform(z + b)[0], shares, rtol=1e-12)
    if reference is None:
        assert abs(b.sum()) < 1e-12
    assert loss.best_shift(z + rng.standard_normal((40, k)), y, mass) is None
    assert loss.best_shift(z, np.zeros(40), mass) is None  # two classes are absent


@pytest.mark.parametrize("reference", [None, 1])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_sums_at_a_shift_are_those_of_the_terms(reference, k):
    rng = np.random.default_rng(k)
    loss = mm.Multinomial(reference)
    z, y = rng.standard_normal((5000, loss.scores_for(k))), rng.integers(0, k, 5000).astype(float)
    b, mass = rng.standard_normal(z.shape[1]), rng.uniform(0.0, 1.0, 5000)
    for found, expected in zip(
        loss.shifted_sums(z, b, y, mass), mm.Loss.shifted_sums(loss, z, b, y, mass)
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("reference", [None, 0])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("step", [1e-3, 1.0, 1e4])
def test_the_proximal_point_is_stationary(reference, k, step):
    rng = np.random.default_rng(7)
    loss = mm.Multinomial(reference)
    shape = (50, loss.scores_for(k)) if loss.scores_for(k) > 1 else (50,)
    z, y = 5 * rng.standard_normal(shape), rng.integers(0, k, 50).astype(float)
    t = loss.prox(z, y, step)
    assert np.abs(loss.gradient(t, y) + (t - z) / step).max() <= 1e-9 * (1 + np.abs(t).max() / step)


def test_facts():
    loss = mm.Multinomial()
    assert loss.robust
    assert loss.calibrated
    assert not loss.bounded
    assert not loss.upper_bounds_zero_one


def test_a_thousand_classes():
    rng = np.random.default_rng(6)
    z, y = rng.standard_normal((3000, 1000)), rng.integers(0, 1000, 3000).astype(float)
    loss = mm.Multinomial()
    assert np.allclose(loss.value(z, y), logsumexp(z, axis=1) - z[np.arange(3000), y.astype(int)])
    u = loss.into_domain(0.1 * z, y)
    assert np.isfinite(loss.fenchel_young(z, u, y)).all()


@pytest.mark.parametrize("bad", ["a", 1.5, True])
def test_a_bad_reference_is_refused(bad):
    with pytest.raises(ValueError, match="number of a class"):
        mm.Multinomial(bad).check_parameters()


def test_a_reference_beyond_the_classes_is_refused():
    with pytest.raises(ValueError, match="one of the 3 classes"):
        mm.Multinomial(3).scores_for(3)


@pytest.mark.parametrize("y", [[0.0, 3.0], [-1.0, 0.0]])
def test_class_numbers_beyond_the_scores_are_refused(y):
    with pytest.raises(ValueError, match="y"):
        mm.Multinomial().value(np.zeros((2, 3)), np.array(y))


@pytest.mark.parametrize("y", [[0.5], [-1.0], [np.nan], [np.inf]])
def test_targets_that_are_no_class_numbers_are_refused(y):
    with pytest.raises(ValueError, match="numbers 0, 1, … of classes"):
        mm.Multinomial().check_target(np.array(y))
