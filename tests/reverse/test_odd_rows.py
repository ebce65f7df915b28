"""Odd rows: other formats, wild sizes, weights of very different size, many columns."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.kernels.rows import picked

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
LABEL = np.arange(30) % 2


@pytest.mark.parametrize("size", [1e160, 1e-160])
@pytest.mark.parametrize(
    "model",
    [
        mm.NormalizedCut(2),
        mm.GraphClassifier(),
        mm.Agglomerative(2),
        mm.Divisive(2),
        mm.KMeans(2),
        mm.SoftKMeans(2),
        mm.KNNClassifier(3),
        mm.PCA(1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_squares_that_are_no_numbers_are_refused(model, size):
    with pytest.raises(ValueError, match=r"squares .*divide X by a number of that size"):
        model.fit(X * size, LABEL)


def test_values_of_kernels_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        mm.Divisive(2, kernel=mm.Polynomial(3)).fit(X * 1e120)
    with pytest.raises(ValueError, match="not positive for row 0"):
        mm.Linear().normalize()(X * 1e-160)
    zeros = np.zeros((4, 2), np.float32)
    assert (mm.PCA(1, whiten=True).fit(zeros).transform(zeros) == 0).all()


@pytest.mark.parametrize("n_columns", [3, 40])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_rows_of_the_fit_keep_their_labels(n_columns, shift):
    rows = RNG.normal(size=(60, n_columns)) + shift  # in many columns, distances are products
    cut = mm.NormalizedCut(3, random_state=0).fit(rows)
    np.testing.assert_array_equal(cut.predict(rows), cut.labels_)
    y = np.where(np.arange(60) < 6, np.arange(60) % 2, -1)
    model = mm.GraphClassifier().fit(rows, y)
    np.testing.assert_array_equal(model.predict(rows), model.transduction_)
    nearest = mm.KNNRegressor(1).fit(rows, np.arange(60.0))
    np.testing.assert_array_equal(nearest.predict(rows), np.arange(60))


@pytest.mark.parametrize("size", [1e-140, 1e-60, 1e-35, 1e35, 1e60, 1e140])
@pytest.mark.parametrize("distance", ["euclidean", "manhattan", "cosine"])
def test_k_means_does_not_depend_on_the_unit(size, distance):
    """Bounds of distances are numbers of single precision, in which such ones vanish."""
    unit = 2.0 ** round(np.log2(size))
    rows = RNG.normal(size=(300, 4))
    plain, other = (
        mm.KMeans(5, distance=distance, random_state=0).fit(x) for x in (rows, unit * rows)
    )
    np.testing.assert_array_equal(plain.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(unit * rows), other.labels_)


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e6])
@pytest.mark.parametrize("kernel", ["linear", mm.Polynomial(2)], ids=str)
def test_kernel_k_means_predicts_its_labels_far_from_zero(shift, kernel):
    """Also of rows that weigh little, and where rounding cannot tell centres apart."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(30, 2)) + shift
        for weights in (None, rng.choice([1e-3, 1.0, 1e3], size=30)):
            model = mm.KernelKMeans(3, kernel=kernel, random_state=0)
            labels = model.fit(rows, sample_weight=weights).labels_
            np.testing.assert_array_equal(model.predict(rows), labels)


def test_formats_of_sparse_rows():
    rows = sparse.random(20, 6, 0.5, format="coo", random_state=0)
    weights = np.arange(20.0) % 3
    assert (picked(rows, np.arange(4)).toarray() == rows.toarray()[:4]).all()
    thin = mm.Divisive(2, kernel="rbf", random_state=0).fit(rows, sample_weight=weights)
    full = mm.Divisive(2, kernel="rbf", random_state=0).fit(rows.toarray(), sample_weight=weights)
    np.testing.assert_array_equal(thin.labels_, full.labels_)
    wide = rows.tocsr()
    wide.indices, wide.indptr = (a.astype(np.int64) for a in (wide.indices, wide.indptr))
    model = mm.KMeans(2, distance="manhattan", random_state=0).fit(wide)
    there = model.transform(rows.toarray())
    np.testing.assert_allclose(model.transform(wide), there)


@pytest.mark.parametrize("kind", [float, np.float32])
@pytest.mark.parametrize("method", ["covariance", "gram", "svd"])
def test_bounds_hold_where_few_rows_have_most_of_the_weight(method, kind):
    rows = RNG.normal(size=(6, 8)).astype(kind)
    rows[2] *= 1e6  # far from the weighted mean, next to which the others lie
    weights = np.array([1.0, 1e8, 1e-8, 2.0, 1e8, 1.0])
    share = weights / weights.sum()
    centred = rows.astype(float) - share @ rows
    sizes = np.linalg.svd(np.sqrt(share)[:, None] * centred, compute_uv=False)
    least = 0.5 * np.sum(sizes[2:] ** 2)  # what two components must lose
    model = mm.PCA(2, method=method).fit(rows, sample_weight=weights)
    found, again = model.certificate_, mm.certify(model, rows, sample_weight=weights)
    for certificate in (found, again):
        assert certificate.dual <= least * (1 + 1e-6) + 4 * certificate.rounding
        assert certificate.primal >= least * (1 - 1e-6) - 4 * certificate.rounding
    means = mm.KMeans(3, random_state=0).fit(rows, sample_weight=weights).certificate_
    assert means.dual <= 2 * least * weights.sum() * (1 + 1e-6) + 4 * means.rounding


def test_equal_rows_have_no_bound_above_nothing():
    equal = np.tile(RNG.normal(size=15) * 1e10, (5, 1))
    found = mm.certify(mm.SoftKMeans(1, form="fuzzy").fit(equal), equal)
    assert found.dual <= 4 * found.rounding


@pytest.mark.parametrize("name", ["IncrementalPCA", "BisectingKMeans", "MiniBatchKMeans"])
def test_drop_ins_refuse_squares_that_are_no_numbers(name):
    kind = getattr(mm.sklearn, name)
    for size in (1e160, 1e200):
        with pytest.raises(ValueError, match=r"squares overflow: divide X by a number"):
            kind(2).fit(X * size)
    single = kind(2).fit((X * 1e30).astype(np.float32)).certificate_
    double = kind(2).fit(X.astype(np.float32).astype(float)).certificate_
    assert np.isfinite(single.primal)
    assert single.dual == pytest.approx(double.dual * 1e60, rel=1e-5)
    if name == "IncrementalPCA":
        with pytest.raises(ValueError, match=r"squares overflow"):
            kind(2).fit(X).partial_fit(X * 1e160)


def _few_rows(seed):
    """Rows of which many are equal, and as many or fewer clusters than rows."""
    rng = np.random.default_rng(seed)
    different = rng.integers(-2, 3, size=(rng.integers(1, 5), 2)) * rng.choice([0.1, 1.0, 1 / 3])
    rows = different[rng.integers(0, len(different), 12)]
    return rows, int(rng.integers(2, 9)), rng.integers(0, 3, 12) + (np.arange(12) < 8)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize(
    "model",
    [
        mm.KMeans(),
        mm.KMeans(algorithm="lloyd"),
        mm.KMeans(algorithm="hartigan"),
        mm.KMeans(distance="manhattan"),
        mm.KernelKMeans(),
        mm.NormalizedCut(kernel=mm.RBF(1.0)),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'algorithm', '')}",
)
def test_equal_rows_have_equal_labels(model):
    for seed in range(40):
        rows, k, weights = _few_rows(seed)
        model.set_params(n_clusters=k, random_state=seed).fit(rows, sample_weight=weights)
        np.testing.assert_array_equal(model.predict(rows), model.labels_)
        number = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        pairs = set(zip(number.tolist(), model.labels_.tolist()))
        assert len(pairs) == number.max() + 1  # one label for each different row


def test_a_cut_of_equal_affinities_has_one_cluster_that_is_not_empty():
    K = np.ones((5, 5))
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = mm.NormalizedCut(3, kernel="precomputed", random_state=0).fit(K)
    assert set(model.labels_) == {0}
    assert model.inertia_ == pytest.approx(2.0)  # an empty cluster costs 1, as three unequal would
    np.testing.assert_array_equal(model.predict(K), model.labels_)
    found = mm.certify(model, K)
    assert found.primal == pytest.approx(2.0)
    assert found.dual == pytest.approx(2.0)
