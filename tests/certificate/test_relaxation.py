"""Sums of top eigenvalues are bounded from above, whatever finds them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from minimand.certificate.eigenvalues import relaxation, ritz
from minimand.certificate.eigenvalues.deflated import proved_top
from minimand.certificate.eigenvalues.relaxation import (
    top_of_kernel,
    top_of_normalised,
    top_of_rows,
)


def _spectra():
    rng = np.random.default_rng(0)
    yield "flat", np.ones(60)
    yield "decay", 0.7 ** np.arange(60)
    yield "noise", np.sort(rng.uniform(0, 1, 60))[::-1]
    yield "spiked", np.append([50.0, 49.0, 48.9], rng.uniform(0, 1, 57))
    yield "low rank", np.append(rng.uniform(1, 2, 5), np.zeros(55))
    yield "zero", np.zeros(60)


SPECTRA = [pytest.param(values, id=name) for name, values in _spectra()]


def _matrix(values, rng):
    turn = np.linalg.qr(rng.standard_normal((values.size, values.size)))[0]
    return (turn * values) @ turn.T


@pytest.mark.parametrize("values", SPECTRA)
@pytest.mark.parametrize("k", [1, 3, 20, 60])
@pytest.mark.parametrize("side", [2000, 1])  # all eigenvalues, or Ritz values and a bound
def test_kernel_bound_is_above_and_value_below(values, k, side, monkeypatch):
    monkeypatch.setattr(relaxation, "SIDE", side)
    matrix = _matrix(values, np.random.default_rng(1))
    found = top_of_kernel(matrix, k)
    true = np.sort(values)[::-1][:k].sum()
    slack = 1e-12 * max(values.sum(), 1e-300)
    assert found.bound >= true - 1e-15 * values.sum()
    assert found.attained <= true + slack
    assert found.discarded <= values.sum() - true + slack
    assert found.total == pytest.approx(values.sum(), rel=1e-12, abs=1e-300)
    if side == 2000:
        assert found.exact
        assert found.bound <= true + 1e-11 * max(values.sum(), 1e-300)


def test_ritz_bound_closes_where_eigenvalues_decay(monkeypatch):
    monkeypatch.setattr(relaxation, "SIDE", 1)
    values = 0.5 ** np.arange(300.0)
    found = top_of_kernel(_matrix(values, np.random.default_rng(1)), 5, tol=1e-9)
    assert not found.exact
    assert found.bound - values[:5].sum() <= 1e-8 * values.sum()


def test_random_test_bounds_what_norms_cannot(monkeypatch):
    """A long tail: its trace and its norm are far above its largest eigenvalue."""
    monkeypatch.setattr(relaxation, "SIDE", 1)
    values = np.append([4.0, 3.0, 2.5], np.linspace(1.0, 0.5, 1500))
    found = top_of_kernel(sparse.diags_array(values).tocsr(), 3, tol=1e-6)
    assert not found.certain
    assert values[:3].sum() <= found.bound <= values[:3].sum() + 1e-5 * values.sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 6))
@example(35, 6, 5)  # the rounding of a difference of traces
def test_bound_holds_for_any_basis(seed, size, k):
    """The formula at the top of certificate/eigenvalues/ritz: for any directions, too."""
    rng = np.random.default_rng(seed)
    k = min(k, size - 1)
    factor = rng.standard_normal((size, rng.integers(1, size + 1)))
    matrix = factor @ factor.T
    basis = np.linalg.qr(rng.standard_normal((size, k + rng.integers(0, size - k))))[0]
    pairs = ritz.rayleigh_ritz(basis, matrix @ basis, basis.shape[1])
    squares = float(np.vdot(matrix, matrix))
    operator = ritz.Operator(lambda v: matrix @ v, size, float(np.trace(matrix)), squares)
    c = ritz.largest_on_complement(operator, pairs, k)
    bound = ritz.sum_above(pairs.values[:k], pairs.residual(k), c)
    true = np.linalg.eigvalsh(matrix)[-k:].sum()
    assert bound >= true * (1 - 1e-9)
    off = np.eye(size) - pairs.vectors[:, :k] @ pairs.vectors[:, :k].T
    assert c >= np.linalg.eigvalsh(off @ matrix @ off)[-1] * (1 - 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 20))
def test_probable_largest_is_above(seed, degree):
    rng = np.random.RandomState(seed)
    values = np.sort(rng.uniform(-1, 1, 30))
    operator = ritz.Operator(lambda v: values[:, None] * v, 30, 0.0, least=-1.0)
    guess = float(rng.uniform(-0.5, 1.0))
    nothing = np.empty((30, 0))
    assert ritz.probable_largest(operator, nothing, guess, degree, rng) >= values[-1]


@pytest.mark.parametrize("shape", [(40, 8), (8, 40)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("side", [2000, 1])
@pytest.mark.parametrize("centred", [True, False])
def test_rows(shape, form, side, centred, monkeypatch):
    monkeypatch.setattr(relaxation, "SIDE", side)
    rng = np.random.default_rng(2)
    X = rng.standard_normal(shape) * (rng.uniform(size=shape) < 0.6) + 0.0
    s = rng.integers(1, 4, shape[0]).astype(float)
    copies = np.repeat(X, s.astype(int), axis=0)
    copies = copies - copies.mean(axis=0) * centred
    true = np.linalg.svd(copies, compute_uv=False)[:3] ** 2
    found = top_of_rows(form(X), 3, weights=s, centred=centred)
    assert found.values == pytest.approx(true, rel=1e-6)
    assert true.sum() * (1 - 1e-12) <= found.bound <= true.sum() + 1e-5 * found.total
    assert found.total == pytest.approx((copies**2).sum())


def test_rows_far_from_zero_keep_their_digits(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 5))
    for side in (2000, 1):
        monkeypatch.setattr(relaxation, "SIDE", side)
        near, far = (top_of_rows(X + shift, 2).values for shift in (0.0, 1e7))
        assert far == pytest.approx(near, rel=1e-7)


def test_remainder_of_a_factor_is_charged():
    rng = np.random.default_rng(4)
    K = np.cov(rng.standard_normal((30, 20)), rowvar=False) * 29
    L = np.linalg.cholesky(K)[:, :8]
    rest = np.diag(K - L @ L.T)
    found = top_of_rows(L, 3, centred=False, remainder=rest)
    values = np.linalg.eigvalsh(K)[::-1]
    assert found.bound >= values[:3].sum()
    assert found.discarded <= values[3:].sum()
    assert found.total == pytest.approx(values.sum())


@pytest.mark.parametrize("side", [2000, 1])
def test_weights_and_centring_of_a_kernel(side, monkeypatch):
    monkeypatch.setattr(relaxation, "SIDE", side)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 4))
    s = rng.integers(1, 4, 30).astype(float)
    found = top_of_kernel(X @ X.T, 2, weights=s, centred=True)
    same = top_of_rows(X, 2, weights=s)
    assert found.values == pytest.approx(same.values, rel=1e-6)
    assert found.total == pytest.approx(same.total)
    assert found.bound >= same.attained * (1 - 1e-12)


@pytest.mark.parametrize("side", [2000, 1])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_normalised_kernel(side, form, monkeypatch):
    monkeypatch.setattr(relaxation, "SIDE", side)
    rng = np.random.default_rng(6)
    K = rng.uniform(size=(40, 40)) * (rng.uniform(size=(40, 40)) < 0.3)
    K = K + K.T + np.eye(40)
    root = np.sqrt(K.sum(axis=1))
    true = np.linalg.eigvalsh(K / root / root[:, None])[::-1]
    found = top_of_normalised(form(K), 4)
    assert found.values[0] == pytest.approx(1.0)
    assert found.values == pytest.approx(true[:4], rel=1e-5)
    assert true[:4].sum() - 1e-12 <= found.bound <= 4.0
    assert found.discarded <= 4 - true[:4].sum() + 1e-12
    doubled = top_of_normalised(form(K), 4, weights=np.full(40, 2.0))
    assert doubled.values == pytest.approx(found.values, rel=1e-5)


@pytest.mark.parametrize("side", [1000, 3])
def test_of_no_eigenvalue_everything_is_discarded(side, monkeypatch):
    """A single cluster: the bound is the trace, up to rounding, and never above it.

    What a factor leaves out may all lie along the mean, which centring takes away.
    """
    monkeypatch.setattr(relaxation, "SIDE", side)
    X, rest = np.random.default_rng(4).normal(size=(30, 6)), np.full(30, 0.5)
    whole, plain = float(np.sum((X - X.mean(axis=0)) ** 2)), float(np.sum(X**2))
    for total, least, found in (
        (whole, whole, top_of_rows(X, 0)),
        (whole + 15.0, whole, top_of_rows(X, 0, remainder=rest)),
        (plain + 15.0, plain + 15.0, top_of_rows(X, 0, remainder=rest, centred=False)),
        (whole, whole, top_of_kernel(X @ X.T, 0, centred=True)),
    ):
        assert found.values.size == 0
        assert found.total == pytest.approx(total)
        assert (1 - 1e-12) * least <= found.discarded <= least * (1 + 1e-12)


@example(seed=1, size=3, k=1, error=1.0, decay=2.0, slack=1e-10, shift=0.0)
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(3, 90),
    k=st.integers(1, 6),
    error=st.sampled_from([0.0, 1e-14, 1e-9, 1e-5, 1e-2, 1.0]),
    decay=st.sampled_from([0.0, 0.01, 0.3, 2.0]),
    slack=st.sampled_from([1e-10, 1e-3, 0.5]),
    shift=st.sampled_from([0.0, -0.1, -3.0]),
)
def test_what_known_vectors_prove_is_above(seed, size, k, error, decay, slack, shift):
    """Whatever the vectors are, a bound that is given is true, and within the slack."""
    rng = np.random.default_rng(seed)
    k = min(k, size)
    values = np.exp(-decay * np.arange(size)) * rng.choice([1.0, 1.0, -0.3], size) + shift
    turn = np.linalg.qr(rng.standard_normal((size, size)))[0]
    matrix = (turn * values) @ turn.T
    matrix = 0.5 * (matrix + matrix.T)
    order = np.argsort(-values)[: min(size, k + int(rng.integers(3)))]
    near = turn[:, order] + error * rng.standard_normal((size, order.size))
    true = np.sort(np.linalg.eigvalsh(matrix))[-k:].sum()
    found = proved_top(matrix, near, k, slack * np.abs(values).sum())
    if found is None:
        return
    rounding = 4e-16 * size * k * np.abs(values).max()
    assert found[1] >= true - rounding
    assert found[0].sum() <= true + 4 * rounding  # the basis is orthonormal up to rounding
    assert found[1] <= found[0].sum() + slack * np.abs(values).sum() + rounding


@pytest.mark.parametrize("values", SPECTRA[:-1])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_eigenvectors_prove_themselves_and_others_are_not_believed(values, k):
    matrix = _matrix(values, np.random.default_rng(2))
    eigenvalues, vectors = np.linalg.eigh(matrix)
    found = top_of_kernel(matrix, k, start=vectors[:, -k:])
    assert not found.exact  # proved, not computed again
    assert found.bound - eigenvalues[-k:].sum() <= 2e-10 * values.sum()
    others = top_of_kernel(matrix, k, start=vectors[:, :k])
    assert others.bound >= eigenvalues[-k:].sum()


@pytest.mark.parametrize("size", [1e-90, 1e-44, 1e-39, 1.0, 3e38, 1e39, 1e90])
@pytest.mark.parametrize("values", SPECTRA[1:-1])
def test_vectors_that_are_not_the_largest_are_not_believed_in_any_unit(values, size):
    """Numbers beyond the range of single precision become 0 or infinite there."""
    matrix = _matrix(values, np.random.default_rng(1)) * size
    vectors = np.linalg.eigh(matrix)[1]
    for near in (vectors[:, -3:-1], np.random.default_rng(0).standard_normal((60, 4))):
        found = proved_top(matrix, near, 2, size)
        assert found is None or found[1] >= np.sort(values)[-2:].sum() * size * (1 - 1e-12)
    assert proved_top(matrix, vectors[:, -2:], 2, 1e-6 * size * values.sum()) is not None
