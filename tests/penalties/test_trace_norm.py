"""The trace norm: its laws, its proximal point, and a dual norm that is never too small."""

from fractions import Fraction

import numpy as np
import pytest

import minimand as mm
from minimand.norms import schatten

PENALTIES = [
    mm.TraceNorm(),
    mm.TraceNorm(squared=True),
    mm.TraceNorm() + 0.5 * mm.L2(),
    mm.L2() + 0.3 * mm.TraceNorm(squared=True),
    mm.TraceNorm() + 0.2 * mm.TraceNorm(squared=True),
    mm.TraceNorm() + 0.2 * mm.TraceNorm(squared=True) + 0.1 * mm.L2(),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_conformance(penalty):
    mm.testing.check_penalty(penalty, (3, 2))


def test_conformance_of_other_shapes():
    for shape in ((2, 4), (3, 1), 3):
        mm.testing.check_penalty(PENALTIES[-1], shape)


def test_values_are_norms():
    W = np.random.default_rng(0).standard_normal((4, 3))
    assert mm.TraceNorm().value(W) == pytest.approx(schatten(W, 1))
    assert mm.TraceNorm(squared=True).value(W) == pytest.approx(0.5 * schatten(W, 1) ** 2)
    assert mm.TraceNorm().value(W[:, 0]) == pytest.approx(np.linalg.norm(W[:, 0]))


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_a_vector_is_a_matrix_of_one_column(penalty):
    rng = np.random.default_rng(1)
    w, v = rng.standard_normal((2, 5))
    one, two = penalty.bind(5, 0.7), penalty.bind((5, 1), 0.7)
    assert one.value(w) == pytest.approx(two.value(w[:, None]))
    assert np.allclose(one.prox(w, 0.3), two.prox(w[:, None], 0.3)[:, 0])
    v *= min(one.shrink(v), two.shrink(v[:, None]))
    assert one.by_feature(w, v).sum() == pytest.approx(two.by_feature(w[:, None], v[:, None]).sum())
    form = one.function_of_norm
    assert form.value(np.array([np.linalg.norm(w)])) == pytest.approx(one.value(w))


@pytest.mark.parametrize("squared", [False, True])
def test_the_prox_acts_on_singular_values(squared):
    # On a diagonal matrix the problem is that of the l1 norm, or of half its square.
    sigma = np.array([3.0, 2.0, 0.25])
    p = np.diag(mm.TraceNorm(squared=squared).prox(np.diag(sigma), 0.5))
    level = 0.5 if not squared else 0.5 * 5.0 / (1 + 0.5 * 2)  # t = step·Σ(σ − t)₊
    assert p == pytest.approx(np.maximum(sigma - level, 0.0))


@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
@pytest.mark.parametrize("level", [1e-7, 0.3, 0.9, 2.0])
def test_the_prox_of_a_large_matrix_acts_on_singular_values(shape, level):
    rng = np.random.default_rng(0)
    u, _, v = np.linalg.svd(rng.standard_normal(shape), full_matrices=False)
    sigma = np.geomspace(1.0, 1e-6, 40)
    form = mm.TraceNorm().bind(shape, level)
    expected = (u * np.maximum(sigma - level, 0.0)) @ v
    np.testing.assert_allclose(form.prox((u * sigma) @ v, 1.0), expected, atol=1e-12)
    # The subgradient at zero that is nearest to a matrix has no singular value above the level.
    zero = form.shrunk(np.zeros(shape), 1.0)
    nearest = (u * np.minimum(sigma, level)) @ v
    np.testing.assert_allclose(form.nearest_subgradient(zero, (u * sigma) @ v), nearest, atol=1e-12)


def test_the_prox_of_a_sum_with_l2_is_scaled():
    W = np.random.default_rng(2).standard_normal((4, 3))
    for penalty in (mm.TraceNorm(), mm.TraceNorm(squared=True)):
        both = (penalty + 0.4 * mm.L2()).prox(W, 0.3)
        e = 1 + 0.3 * 0.4
        assert np.allclose(both, penalty.prox(W / e, 0.3 / e), rtol=0, atol=1e-14)


def test_the_dual_norm_is_no_under_estimate():
    # uᵀVv/(‖u‖‖v‖) is a lower bound for all u and v; the squares are compared without rounding.
    rng = np.random.default_rng(3)
    for shape in ((6, 4), (3, 8), (5, 5)):
        bound = mm.TraceNorm().bind(shape, 1.0)
        for size in (1e-8, 1.0, 1e8):
            V = size * rng.standard_normal(shape) * 10.0 ** rng.uniform(-8, 0, shape[1])
            top = bound.top(V)
            left, _, right = np.linalg.svd(V)
            u, v = _exact(left[:, :1]), _exact(right[:1].T)
            product = sum(u[i] * x * v[j] for (i, j), x in np.ndenumerate(_exact_matrix(V)))
            lengths = sum(x * x for x in u) * sum(x * x for x in v)
            assert Fraction(top) ** 2 * lengths >= product**2
            assert top <= np.linalg.norm(V, 2) * (1 + 1e-12)
            assert np.isfinite(bound.by_feature(np.zeros(shape), bound.shrink(V) * V)).all()
            assert np.isinf(bound.by_feature(np.zeros(shape), 1.001 * V / top)).all()


def _exact(column):
    return [Fraction(float(x)) for x in column.ravel()]


def _exact_matrix(V):
    return np.array([[Fraction(float(x)) for x in row] for row in V], dtype=object)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_the_nearest_subgradient_is_one(penalty):
    rng = np.random.default_rng(4)
    bound = penalty.bind((5, 4), 0.8)
    W, V = rng.standard_normal((2, 5, 4))
    for step in (0.1, 1.0, 100.0):  # ranks from full to zero
        factors = bound.shrunk(W, step)
        near = bound.nearest_subgradient(factors, V)
        shrunk = factors.matrix
        young = bound.by_feature(shrunk, near * (1 - 1e-12)).sum()
        assert young <= 1e-9 * (1.0 + bound.value(shrunk))
        # (W − P)/step is itself a subgradient at the proximal point P, so nothing is nearer to it.
        own = (W - shrunk) / step
        assert np.allclose(bound.nearest_subgradient(factors, own), own, atol=1e-12)
        assert np.linalg.norm(near - V) <= np.linalg.norm(own - V) + 1e-12


def test_what_is_refused():
    with pytest.raises(ValueError, match="squared of TraceNorm must be True or False"):
        mm.TraceNorm(squared=2).value(np.eye(2))
    with pytest.raises(ValueError, match="cannot be added"):
        (mm.TraceNorm() + mm.L1()).value(np.eye(2))
    with pytest.raises(ValueError, match="cannot be added"):
        (mm.TraceNorm() + mm.L2([1.0, 2.0])).value(np.eye(2))
    assert mm.TraceNorm().bind((3, 2), 0.0).value(np.ones((3, 2))) == 0.0
    assert "‖w‖_tr" in mm.TraceNorm().formula(0.5)
