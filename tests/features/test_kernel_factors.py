"""Factors of kernel matrices, Nyström features and random Fourier features."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import minimand as mm
from minimand.features import PivotedCholesky
from minimand.testing import check_features

X = np.random.default_rng(0).normal(size=(80, 3))
NO_KERNEL = "is not positive semidefinite on these rows|is not symmetric"
MAPS = [
    PivotedCholesky(mm.RBF(2.0)),
    PivotedCholesky(mm.Polynomial(2)),
    mm.Nystrom(mm.RBF(2.0), rank=12, random_state=0),
    mm.Nystrom(mm.Laplace(2.0), rank=12, method="uniform", random_state=0),
    mm.Nystrom("rbf", rank=12, method="kmeans", random_state=0),
    mm.RandomFourier(mm.RBF("median"), 20, random_state=0),
    mm.RandomFourier(mm.Laplace(), 20, random_state=0),
    mm.RandomFourier(mm.Matern(nu=1.5), 21, orthogonal=False, random_state=0),
]


@pytest.mark.parametrize("map", MAPS, ids=repr)
def test_every_map_obeys_the_laws(map):
    check_features(map)


@pytest.mark.parametrize(
    "kernel",
    [mm.RBF(0.5), mm.RBF(5.0), mm.Linear(), mm.Polynomial(3), mm.Laplace(), mm.RBF() + 1.0],
)
def test_factor_gives_the_kernel_matrix(kernel):
    map = PivotedCholesky(kernel)
    L, gram = map.fit_transform(X), kernel(X)
    size = np.abs(gram).max()
    np.testing.assert_allclose(L @ L.T, gram, atol=1e-12 * size)
    assert map.complete
    assert np.linalg.matrix_rank(gram, tol=1e-10 * size) <= map.rank_ <= 80
    np.testing.assert_allclose(map.transform(X), L, atol=1e-6 * np.sqrt(size))


def test_copies_of_rows_do_not_add_to_the_rank():
    some = np.repeat(X[:10], 4, axis=0)
    assert PivotedCholesky(mm.RBF(0.5)).fit(some).rank_ == 10


@pytest.mark.parametrize("map", MAPS[:5], ids=repr)
def test_what_is_left_out_is_a_positive_semidefinite_matrix(map):
    fitted = clone(map).set_params(rank=9)
    phi = fitted.fit_transform(X)
    rest = fitted.kernel_(X) - phi @ phi.T
    assert mm.check_psd(rest + 1e-10 * np.eye(80))
    np.testing.assert_allclose(np.diag(rest), fitted.remainder_, atol=1e-9)
    np.testing.assert_allclose(fitted.left_out(X), fitted.remainder_, atol=1e-9)


def test_matrices_that_are_no_kernel_are_refused():
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semidefinite"):
        mm.Regressor(features=mm.Precomputed()).fit(indefinite, [0.0, 1.0])
    with pytest.raises(ValueError, match="zero for all rows"):
        PivotedCholesky(mm.Linear()).fit(np.zeros((3, 2)))


def test_random_pivots_follow_the_law_of_drawing_one_by_one():
    """The first pivot is drawn by k(x, x), the second by what the first leaves out."""
    kernel, rows = mm.Linear(), np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    seconds = []
    for seed in range(60):
        map = mm.Nystrom(kernel, rank=2, random_state=seed).fit(rows)
        assert len(set(map.pivots_)) == map.rank_ == 2
        seconds.append(2 in map.pivots_)
    assert all(seconds)  # rows 0 and 1 are collinear: one of them, and row 2
    firsts = [
        mm.Nystrom(kernel, rank=1, random_state=seed).fit(rows).pivots_[0] for seed in range(300)
    ]
    shares = np.bincount(firsts, minlength=3) / 300
    np.testing.assert_allclose(shares, [4 / 6, 1 / 6, 1 / 6], atol=0.1)


def test_sparse_and_single_precision_rows():
    thin = sparse.csr_array(X * (X > 0))
    dense = PivotedCholesky(mm.RBF(2.0)).fit_transform(thin.toarray())
    found = PivotedCholesky(mm.RBF(2.0)).fit_transform(thin)
    np.testing.assert_allclose(found @ found.T, dense @ dense.T, atol=1e-10)
    single = PivotedCholesky(mm.RBF(2.0)).fit_transform(X.astype(np.float32))
    np.testing.assert_allclose(single @ single.T, mm.RBF(2.0)(X), atol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "orthogonal"),
    [(mm.RBF(1.5), True), (mm.RBF(1.5), False), (mm.Laplace(2.0), True), (mm.Matern(2.0), True)],
    ids=repr,
)
def test_fourier_features_are_unbiased_with_errors_of_one_over_root_d(kernel, orthogonal):
    rows = X[:6]
    exact = kernel(rows)
    errors = []
    for count in (20, 320):
        draws = []
        for seed in range(200):
            phi = mm.RandomFourier(kernel, count, orthogonal, random_state=seed)
            found = phi.fit_transform(rows)
            draws.append(found @ found.T - exact)
        draws = np.array(draws)
        spread = draws.std(axis=0)
        # The mean of 200 draws deviates by its standard error, at most 5 times in any of 36 values.
        assert (np.abs(draws.mean(axis=0)) <= 5 * spread / np.sqrt(200) + 1e-12).all()
        errors.append(float(np.sqrt((draws**2).mean())))
    assert 2.5 <= errors[0] / errors[1] <= 6.5  # √(320/20) = 4


def test_orthogonal_frequencies_have_smaller_errors():
    rows, exact, errors = X[:20], mm.RBF(2.0)(X[:20]), {}
    for orthogonal in (True, False):
        found = []
        for seed in range(60):
            map = mm.RandomFourier(mm.RBF(2.0), 6, orthogonal, random_state=seed)
            phi = map.fit_transform(rows)
            found.append(np.mean((phi @ phi.T - exact) ** 2))
        errors[orthogonal] = np.mean(found)
    assert errors[True] < errors[False]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mm.RandomFourier(mm.Linear()).fit(X), "knows the frequencies of RBF, Laplace"),
        (lambda: mm.Nystrom(rank=0).fit(X), "rank of Nystrom must be an integer ≥ 1"),
        (lambda: mm.Nystrom(method="best").fit(X), "method of Nystrom must be one of"),
        (lambda: mm.Nystrom(mm.RBF() + 1.0, method="kmeans").fit(X), "centres of vectors"),
        (lambda: mm.Nystrom("gaussian").fit(X), "write 'rbf'"),
        (lambda: mm.Nystrom().fit(X).transform(X[:, :2]), "2 features"),
    ],
)
def test_refusals_are_sentences(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def spoilt(kind):
    """Matrices whose diagonal and columns of pivots look positive semidefinite."""
    x = np.array([3.0, 2.0, 1.0])
    if kind == "low rank":
        K = np.outer(x, x)
        K[1, 2] = K[2, 1] = 50.0
    elif kind == "one entry":
        K = np.outer(x, x)
        K[1, 2] = 50.0
    else:
        K = X @ X.T + np.eye(len(X))
        K[3, 7] += 0.5
    return K


@pytest.mark.parametrize("kind", ["low rank", "one entry", "full rank"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_matrices_that_are_no_kernels_are_refused(kind, loss):
    K = spoilt(kind)
    y = np.arange(len(K)) % 2
    model = mm.Regressor(loss) if loss == "squared" else mm.Classifier(loss)
    with pytest.raises(ValueError, match=NO_KERNEL):
        model.set_params(features=mm.Precomputed(), alpha=1.0).fit(K, y)
    with pytest.raises(ValueError, match=NO_KERNEL):
        model.set_params(features=mm.Precomputed() + 1.0).fit(K, y)
    if loss == "hinge":
        with pytest.raises(ValueError, match=NO_KERNEL):
            model.set_params(solver="smo").fit(K, y)


def test_functions_that_are_no_kernels_are_refused():
    model = mm.Regressor(features=mm.Callable(lambda a, b: -(a @ b.T)), alpha=1.0)
    with pytest.raises(ValueError, match=NO_KERNEL):
        model.fit(X, X[:, 0])
    rotated = mm.Callable(lambda a, b: np.exp(-((a[:, [0]] - 2 * b[:, 0]) ** 2)))
    with pytest.raises(ValueError, match=NO_KERNEL):
        model.set_params(features=rotated).fit(X, X[:, 0])


def test_matrices_rounded_to_float32_are_charged_for_it():
    """Their remainder covers every entry, and the certificate that of the exact kernel."""
    K = mm.RBF(0.5)(X)
    rounded = K.astype(np.float32).astype(float)
    rounded = rounded + 1e-8 * np.triu(np.ones_like(K), 1)  # not symmetric, by rounding
    factor = PivotedCholesky(mm.Precomputed())
    L = factor.fit_transform(rounded)
    root = np.sqrt(factor.remainder_)
    assert (np.abs(rounded - L @ L.T) <= np.outer(root, root) * (1 + 1e-9) + 1e-14).all()
    model = mm.Regressor(features=mm.Precomputed(), alpha=0.1).fit(rounded, X[:, 0])
    exact = mm.Regressor(features=mm.RBF(0.5), alpha=0.1, tol=1e-12).fit(X, X[:, 0])
    assert model.certificate_.dual <= exact.certificate_.primal + 1e-6
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-5)


def test_sparse_matrices_of_kernel_values():
    beside = np.diag(np.full(len(X) - 1, 0.3), 1)
    K = np.eye(len(X)) + beside + beside.T
    dense = mm.Regressor(features=mm.Precomputed(), alpha=0.1).fit(K, X[:, 0])
    thin = mm.Regressor(features=mm.Precomputed(), alpha=0.1).fit(sparse.csr_matrix(K), X[:, 0])
    assert np.array_equal(dense.predict(K), thin.predict(sparse.csr_matrix(K)))
