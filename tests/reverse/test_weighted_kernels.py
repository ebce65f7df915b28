"""Kernels that take a bandwidth or means from the data count rows by weight, as copies do."""

import numpy as np
import pytest
from sklearn.base import clone

import minimand as mm
from minimand import sklearn as drop_ins

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(14, 2)), RNG.normal(size=(10, 2)) * 2.0 + [7.0, 0.0]])
Y = np.sin(X[:, 0])
COUNTS = RNG.integers(0, 4, size=24)
WEIGHTS = COUNTS.astype(float)
COPIES, TWICE = np.repeat(X, COUNTS, axis=0), np.repeat(Y, COUNTS)
NEW = RNG.normal(size=(6, 2)) * 3.0
MEDIAN = mm.RBF("median")
MEANS = mm.Polynomial(2).center()


def both(model, of_rows=Y, of_copies=TWICE):
    """The model of weighted rows, and that of copies."""
    weighted = clone(model).fit(X, of_rows, sample_weight=WEIGHTS)
    return weighted, clone(model).fit(COPIES, of_copies)


@pytest.mark.parametrize("how", [{}, {"rank": 20, "random_state": 0}], ids=["exact", "factor"])
@pytest.mark.parametrize("kernel", [MEDIAN, MEANS], ids=repr)
def test_kernel_components(kernel, how):
    one, two = both(mm.KernelPCA(2, kernel, center=False, **how))
    np.testing.assert_allclose(one.kernel_(NEW, NEW), two.kernel_(NEW, NEW), rtol=1e-9, atol=1e-9)
    if not how:  # landmarks are drawn from other rows
        np.testing.assert_allclose(one.transform(NEW), two.transform(NEW), atol=1e-6)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("size", [1e-100, 1e-15, 1e30])
def test_units_of_weights_do_not_count(size, center):
    model = mm.KernelPCA(3, mm.RBF(2.0), center=center)
    one = clone(model).fit(X, sample_weight=WEIGHTS)
    two = clone(model).fit(X, sample_weight=WEIGHTS * size)
    np.testing.assert_allclose(two.explained_variance_, one.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(two.transform(NEW), one.transform(NEW), atol=1e-9)


@pytest.mark.parametrize("how", [{}, {"method": "low_rank", "rank": 20, "random_state": 0}])
def test_embedding(how):
    one, two = both(mm.NormalizedPCA(2, MEDIAN, **how))
    assert one.kernel_.tau == pytest.approx(two.kernel_.tau, rel=1e-12)
    if not how:
        np.testing.assert_allclose(one.transform(NEW), two.transform(NEW), atol=1e-6)


@pytest.mark.parametrize("how", [{}, {"rank": 20}], ids=["exact", "factor"])
def test_kernel_k_means(how):
    one, two = both(mm.KernelKMeans(2, kernel=MEDIAN, random_state=0, **how))
    if not how:
        assert one.inertia_ == pytest.approx(two.inertia_, rel=1e-9)
        assert one.certificate_.dual == pytest.approx(two.certificate_.dual, rel=1e-6)
    assert mm.certify(one, X, sample_weight=WEIGHTS).primal <= one.inertia_ * (1 + 1e-9)


@pytest.mark.parametrize("by", ["kmeans", "cut"])
def test_divisions(by):
    one, two = both(mm.Divisive(3, by=by, first="worst", kernel=MEDIAN, random_state=0))
    assert one.distances_[-1] == pytest.approx(two.distances_[-1], rel=1e-9)  # of all rows
    # The branches are divided by the kernel of all rows, as their sums of squares are.
    found = mm.certify(one, X, sample_weight=WEIGHTS)
    assert found.primal == pytest.approx(one.inertia_, rel=1e-9)
    assert found.dual <= found.primal


def test_cuts():
    one, two = both(mm.NormalizedCut(2, kernel=MEDIAN, random_state=0))
    assert one.inertia_ == pytest.approx(two.inertia_, rel=1e-9)


@pytest.mark.parametrize(
    "how", [{"kernel": MEDIAN}, {"distance": "seuclidean"}, {"distance": "mahalanobis"}]
)
def test_neighbours(how):
    one, two = both(mm.KNNRegressor(5, weights="distance", **how))
    np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), rtol=1e-9)


def test_drop_ins():
    one, two = both(drop_ins.KernelRidge(0.1, kernel=MEDIAN))
    np.testing.assert_allclose(one.predict(NEW), two.predict(NEW), rtol=1e-7, atol=1e-9)
    one, two = both(drop_ins.SVC(kernel=MEDIAN), Y > 0, TWICE > 0)
    wanted = two.decision_function(NEW)
    np.testing.assert_allclose(one.decision_function(NEW), wanted, atol=2e-3)
