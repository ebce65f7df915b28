"""What kernels take from the data counts a row of weight k like k copies of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm
from minimand._base.weighted import median, sampled_rows
from minimand.kernels import VectorKernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) + 5.0
COUNTS = RNG.integers(0, 4, size=40)
COPIES = np.repeat(X, COUNTS, axis=0)
NEW = RNG.normal(size=(6, 3)) + 5.0
KERNELS = [
    mm.RBF("median"),
    mm.RBF("scale"),
    mm.Laplace("median"),
    mm.Matern("median").on([0, 2]),
    2.0 * mm.RBF("median") + mm.Linear().center(),
    mm.Polynomial(2).center() * mm.RBF("scale"),
    mm.RBF("median").normalize().center(),
    mm.RBF("median") @ np.tanh,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_weights_are_copies(kernel):
    one, two = kernel.bind(X, COUNTS.astype(float)), kernel.bind(COPIES)
    np.testing.assert_allclose(one(NEW, NEW), two(NEW, NEW), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=repr)
def test_scaled_weights_give_the_same_bandwidth(kernel):
    one = kernel.bind(X, COUNTS * 0.3).tau
    np.testing.assert_allclose(one, kernel.bind(COPIES).tau, rtol=1e-9)
    thin = sparse.csr_array(X * (X > 5))
    weighted = kernel.bind(thin, COUNTS.astype(float)).tau
    np.testing.assert_allclose(weighted, kernel.bind(thin.toarray(), COUNTS * 1.0).tau, rtol=1e-9)


@pytest.mark.parametrize("features", [mm.RBF("median"), mm.Nystrom(mm.RBF("scale"), rank=20)])
def test_estimators_pass_their_weights_on(features):
    y = np.sin(X[:, 0])
    one = mm.Regressor(features=features, alpha=0.01).fit(X, y, sample_weight=COUNTS)
    two = mm.Regressor(features=features, alpha=0.01).fit(COPIES, np.repeat(y, COUNTS))
    assert one.features_.kernel_.tau == pytest.approx(two.features_.kernel_.tau, rel=1e-9)
    if isinstance(features, mm.RBF):
        np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), atol=1e-3)


def test_a_kernel_that_hears_no_weights_learns_from_the_rows_that_have_some():
    class Scaled(VectorKernel):
        """x·z divided by the number of training rows."""

        size = None

        @property
        def unbound(self):
            return "" if self.size else "the number of rows"

        def learn(self, X):
            found = self.copy()
            found.size = len(X)
            return found

        def block(self, x, z):
            return np.asarray(x @ z.T) / self.size

    assert Scaled().bind(X, COUNTS.astype(float)).size == np.count_nonzero(COUNTS)
    assert Scaled().bind(X).size == 40


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_sampled_rows_are_those_of_copies(counts, most):
    counts = np.array([*counts, 1])
    copies = np.repeat(np.arange(counts.size), counts)
    some, each = sampled_rows(counts.size, counts.astype(float), most)
    plain, _ = sampled_rows(copies.size, None, most)
    assert each is None
    np.testing.assert_array_equal(some, copies[plain])


def test_sampled_rows_of_any_weights_follow_the_summed_weights():
    weights = RNG.uniform(size=5000)
    weights[:1000] = 0.0
    some, each = sampled_rows(5000, weights, 1000)
    assert each is None
    assert some.min() >= 1000
    assert (np.diff(some) >= 0).all()
    share = np.cumsum(weights)[some] / weights.sum()
    np.testing.assert_allclose(share, (np.arange(1000) + 0.5) / 1000, atol=1e-3)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_medians_are_those_of_copies(pairs):
    values, counts = (np.array(part, dtype=float) for part in zip(*pairs))
    want = np.median(np.repeat(values, counts.astype(int)))
    assert median(values, 0.7 * counts) == pytest.approx(want)


def test_a_centred_kernel_of_equal_rows_gives_the_null_model():
    same = np.full((30, 2), 3.0)
    y = np.arange(30.0)
    for kernel in (mm.RBF(1.0).center(), mm.Polynomial(2).center(), mm.Linear().center()):
        model = mm.Regressor(features=kernel).fit(same, y)
        np.testing.assert_allclose(model.predict(same[:2]), [14.5, 14.5], atol=1e-6)
        assert model.certificate_.relative <= 1e-6
        labels = mm.Classifier("hinge", features=kernel).fit(same, y > 20)
        assert not labels.predict(same).any()
