"""Norms of matrices: Table 5.1, and duality."""

import numpy as np
import pytest

import minimand as mm
from minimand.norms import block, induced, schatten

U, V, W = np.array([[1.0, 1], [0, 0]]), np.array([[1.0, 0], [1, 0]]), np.eye(2)
ROOT = np.sqrt(2.0)
TABLE = [
    (lambda A: induced(A, 1), (1, 2, 1)),
    (lambda A: induced(A, np.inf), (2, 1, 1)),
    (lambda A: induced(A, 2), (ROOT, ROOT, 1)),
    (lambda A: schatten(A, 1), (ROOT, ROOT, 2)),
    (lambda A: schatten(A, 2), (ROOT, ROOT, ROOT)),
    (lambda A: block(A, 2, 2), (ROOT, ROOT, ROOT)),
    (lambda A: block(A, 2, 1), (ROOT, 2, 2)),
]
EXPONENTS = (1.0, 1.5, 2.0, 3.0, np.inf)


@pytest.mark.parametrize(("norm", "values"), TABLE)
def test_table_of_norms(norm, values):
    assert [norm(A) for A in (U, V, W)] == pytest.approx(values, rel=1e-14)


def conjugate(p):
    return np.inf if p == 1 else 1.0 if p == np.inf else p / (p - 1)


def signed_power(t, p):
    """The subgradient of the p-norm at t ≥ 0, of dual norm 1."""
    if p == np.inf:
        return (np.arange(t.size) == np.argmax(t)).astype(float)
    power = t ** (p - 1) if p > 1 else np.ones_like(t)
    return power / np.linalg.norm(power, conjugate(p))


@pytest.mark.parametrize("shape", [(4, 3), (2, 5), (1, 4)])
def test_hoelder_holds_and_is_attained(shape):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, *shape))
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    for p in EXPONENTS:
        assert np.vdot(A, B) <= schatten(A, p) * schatten(B, conjugate(p)) * (1 + 1e-12)
        best = left * signed_power(sizes, p) @ right
        assert schatten(best, conjugate(p)) == pytest.approx(1.0)
        assert np.vdot(A, best) == pytest.approx(schatten(A, p))
        for q in EXPONENTS:
            bound = block(A, p, q) * block(B, conjugate(p), conjugate(q))
            assert np.vdot(A, B) <= bound * (1 + 1e-12)
            rows = np.array([np.sign(a) * signed_power(np.abs(a), p) for a in A])
            outer = signed_power(np.linalg.norm(A, p, axis=1), q)
            assert np.vdot(A, outer[:, None] * rows) == pytest.approx(block(A, p, q))


def test_induced_norms_are_attained():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((4, 3))
    for p in (1, 2, np.inf):
        vectors = np.vstack([rng.standard_normal((200, 3)), np.eye(3),
                             np.sign(A), np.linalg.svd(A)[2]])  # fmt: skip
        ratios = np.linalg.norm(vectors @ A.T, p, axis=1) / np.linalg.norm(vectors, p, axis=1)
        assert ratios.max() == pytest.approx(induced(A, p))


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_sizes_that_would_overflow(size):
    for p in (1.5, 2.0, 3.0):
        assert schatten(size * W, p) == pytest.approx(size * 2 ** (1 / p))
        assert block(size * U, p, 3) == pytest.approx(size * 2 ** (1 / p))
    assert induced(np.zeros((0, 3)), 2) == schatten(np.zeros((3, 0)), 1) == 0.0


def test_what_is_refused():
    for call, words in (
        (lambda: induced(W, 3), "1, 2 or inf"),
        (lambda: schatten(W, 0.5), "at least 1"),
        (lambda: block(W, 2, "1"), "q of a norm"),
        (lambda: induced([1.0, 2.0], 1), "must be a matrix"),
        (lambda: schatten([["a"]], 1), "numbers"),
        (lambda: schatten([[np.nan]], 1), "not finite"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert mm.norms.schatten is schatten
