"""The drop-ins of decompositions agree with scikit-learn, and are certified."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition, manifold
from sklearn.datasets import load_digits, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm
from minimand import sklearn as drop_ins

IRIS = load_iris(return_X_y=True)[0]
DIGITS = load_digits(return_X_y=True)[0][:300]
ATTRIBUTES = [
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
    "n_components_",
    "n_samples_",
]


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "arpack", "randomized"])
@pytest.mark.parametrize("n_components", [None, 2, 0.9])
def test_pca(solver, n_components):
    if solver in ("arpack", "randomized") and n_components == 0.9:
        pytest.skip("scikit-learn refuses a share here")
    options = {"n_components": n_components, "svd_solver": solver, "random_state": 0}
    model, peer = drop_ins.PCA(**options).fit(IRIS), decomposition.PCA(**options).fit(IRIS)
    for name in ATTRIBUTES:
        assert np.allclose(getattr(model, name), getattr(peer, name), atol=1e-9), name
    assert np.allclose(model.transform(IRIS), peer.transform(IRIS), atol=1e-8)
    assert np.allclose(model.fit_transform(IRIS), peer.fit_transform(IRIS), atol=1e-8)
    assert model.score(IRIS) == pytest.approx(peer.score(IRIS))
    assert model.certificate_.relative < 1e-9
    assert isinstance(model, decomposition.PCA)


def test_pca_whitened_sparse_and_single():
    whitened = drop_ins.PCA(3, whiten=True).fit(DIGITS)
    peer = decomposition.PCA(3, whiten=True).fit(DIGITS)
    assert np.allclose(whitened.transform(DIGITS), peer.transform(DIGITS), atol=1e-6)
    rows = sparse.csr_matrix(DIGITS)
    assert np.allclose(
        drop_ins.PCA(3).fit(rows).transform(rows), drop_ins.PCA(3).fit_transform(DIGITS)
    )
    with pytest.raises(TypeError, match="only support sparse"):
        drop_ins.PCA(3, svd_solver="full").fit(rows)
    assert drop_ins.PCA(3).fit(DIGITS.astype(np.float32)).components_.dtype == np.float32
    mle = drop_ins.PCA("mle").fit(IRIS)
    assert mle.n_components_ == decomposition.PCA("mle").fit(IRIS).n_components_
    assert mle.certificate_.relative < 1e-9
    with pytest.raises(ValueError, match=r"n_components=5 must be between"):
        drop_ins.PCA(5).fit(IRIS)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_truncated_svd(form):
    X = form(DIGITS)
    model = drop_ins.TruncatedSVD(4).fit(X)
    peer = decomposition.TruncatedSVD(4, algorithm="arpack").fit(X)
    for name in ATTRIBUTES[:4]:
        assert np.allclose(getattr(model, name), getattr(peer, name), atol=1e-6), name
    assert np.allclose(model.transform(X), peer.transform(X), atol=1e-6)
    assert model.certificate_.relative < 1e-6
    with pytest.raises(ValueError, match="n_components"):
        drop_ins.TruncatedSVD(65).fit(X)


_LARGE = {
    "sparse": sparse.random(900, 2500, 0.02, format="csr", random_state=0),
    "tall": sparse.random(2500, 600, 0.02, format="csr", random_state=0),
    "dense": np.random.default_rng(0).normal(size=(500, 900)) * 0.99 ** np.arange(900),
    "low rank": np.random.default_rng(0).normal(size=(700, 3))
    @ np.random.default_rng(1).normal(size=(3, 800)),
    "zeros": np.zeros((600, 700)),
}


@pytest.mark.parametrize("name", _LARGE)
@pytest.mark.parametrize("k", [2, 5])
def test_randomised_svd_of_large_data_keeps_no_less_and_its_bound_holds(name, k):
    X = _LARGE[name]
    dense = X.toarray() if sparse.issparse(X) else X
    best = 0.5 * np.sum(np.linalg.svd(dense, compute_uv=False)[k:] ** 2) / len(dense)
    whole = 0.5 * np.sum(dense**2) / len(dense)
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = drop_ins.TruncatedSVD(k, random_state=seed).fit(X)
            outputs = drop_ins.TruncatedSVD(k, random_state=seed).fit_transform(X)
        peer = decomposition.TruncatedSVD(k, random_state=seed).fit(X)
        assert np.allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-12)
        assert np.allclose(outputs, X @ model.components_.T)
        assert np.allclose(np.linalg.norm(outputs, axis=0), model.singular_values_)
        kept = np.sum((X @ model.components_.T) ** 2)
        assert kept >= np.sum((X @ peer.components_.T) ** 2) * (1 - 1e-12)
        found = model.certificate_
        lost = 0.5 * np.sum((dense - outputs @ model.components_) ** 2) / len(dense)
        assert found.primal == pytest.approx(lost, abs=1e-12 * whole)
        assert found.dual <= best + found.rounding
        assert best <= found.primal + found.rounding
        closer = mm.certify(model, X)
        assert closer.primal == pytest.approx(lost, abs=1e-12 * whole)
        assert closer.dual >= found.dual - found.rounding - 1e-11 * whole
    exact = drop_ins.TruncatedSVD(k, algorithm="arpack").fit(X).certificate_
    assert exact.primal == pytest.approx(best, abs=1e-6 * whole)


@pytest.mark.parametrize("unit", [1e-145, 1e-100, 1e-60, 1.0, 1e60, 1e145])
@pytest.mark.parametrize("turned", [False, True])
def test_randomised_svd_in_any_unit(unit, turned):
    """A space that is invariant has polynomials of all degrees, so that its bound is closed."""
    rng = np.random.default_rng(0)
    X = _LARGE["low rank"] + rng.normal(size=(700, 1)) @ rng.normal(size=(1, 800))
    X = X.T if turned else X
    best = 0.5 * np.sum(np.linalg.svd(X, compute_uv=False)[2:] ** 2) / len(X)
    for rows in (X, X.astype(np.float32)) if unit == 1 else (X,):
        found = drop_ins.TruncatedSVD(2, random_state=0).fit(rows * unit).certificate_
        assert found.primal / unit / unit == pytest.approx(best, rel=1e-6)
        assert found.relative < 1e-6


@pytest.mark.parametrize("shape", [(31, 28), (25, 38), (36, 37), (90, 90)])
def test_kernel_pca_has_as_many_components_as_were_asked_for(shape):
    """LAPACK finds fewer of some spectra of equal eigenvalues, and does not say so."""
    n, d = shape
    for seed in range(40):
        X = np.zeros(shape)
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(min(shape),) * 2))[0]
        X[: min(n, d), : min(n, d)] = turn
        model = drop_ins.KernelPCA(4).fit(X)
        np.testing.assert_allclose(model.eigenvalues_, np.ones(4), atol=1e-12)
        np.testing.assert_allclose(
            model.eigenvectors_.T @ model.eigenvectors_, np.eye(4), atol=1e-9
        )
        values = np.linalg.eigvalsh((X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T)
        assert model.certificate_.dual == pytest.approx(0.5 / n * values[:-4].sum())
        assert model.certificate_.relative < 1e-9
        assert model.transform(X).shape == (n, 4)


def test_incremental_pca_says_what_truncation_costs():
    model = drop_ins.IncrementalPCA(4, batch_size=50).fit(DIGITS)
    peer = decomposition.IncrementalPCA(4, batch_size=50).fit(DIGITS)
    assert np.allclose(model.components_, peer.components_)
    best = drop_ins.PCA(4).fit(DIGITS).certificate_
    assert model.certificate_.dual == pytest.approx(best.primal)
    rebuilt = model.inverse_transform(model.transform(DIGITS))
    error = 0.5 * np.mean(np.sum((DIGITS - rebuilt) ** 2, axis=1))
    assert model.certificate_.primal == pytest.approx(error)
    assert model.certificate_.gap > 0
    stored = [
        drop_ins.IncrementalPCA(4).fit(X).certificate_ for X in (DIGITS, sparse.csr_array(DIGITS))
    ]
    assert stored[0].primal == pytest.approx(stored[1].primal)
    assert stored[0].dual == pytest.approx(stored[1].dual)


@pytest.mark.parametrize("n", [3, 12, 29, 30, 31, 45])
@pytest.mark.parametrize("k", [1, 3, 11])
def test_what_wide_batches_lose_is_known(n, k):
    """Whether rows or the sum of their products are kept: both by singular values."""
    k = min(k, n)
    rng = np.random.default_rng(n)
    X = 1e3 + rng.normal(size=(n, 30)) * np.arange(1, 31)
    whole = drop_ins.IncrementalPCA(k, batch_size=max(k, 7)).fit(X)
    by_rows = drop_ins.IncrementalPCA(k)
    size = max(k, 3)
    for start in range(0, n - size + 1, size):
        by_rows.partial_fit(X[start : start + size])
    for model in (whole, by_rows):
        seen = X[: int(model.n_samples_seen_)]
        centred = seen - seen.mean(axis=0)
        best = 0.5 * np.sum(np.linalg.svd(centred, compute_uv=False)[k:] ** 2) / len(seen)
        rest = centred - centred @ model.components_.T @ model.components_
        error = 0.5 * np.sum(rest**2) / len(seen)
        small = 1e-12 * np.sum(centred**2) / len(seen)
        found = model.certificate_
        assert abs(found.dual - best) <= small
        assert abs(found.primal - error) <= small
        assert found.dual <= error + found.rounding


def test_kernel_pca_and_embedding():
    model = drop_ins.KernelPCA(3, kernel="rbf").fit(IRIS)
    peer = decomposition.KernelPCA(3, kernel="rbf").fit(IRIS)
    assert np.allclose(model.transform(IRIS), peer.transform(IRIS))
    assert model.certificate_.relative < 1e-9
    embedding = drop_ins.SpectralEmbedding(random_state=0).fit(DIGITS)
    same = manifold.SpectralEmbedding(random_state=0).fit(DIGITS)
    assert np.allclose(embedding.embedding_, same.embedding_)
    assert embedding.certificate_.relative < 1e-6


@pytest.mark.parametrize("shape", [(60, 4), (300, 12), (300, 200)])
@pytest.mark.parametrize("k", [1, 3, 4])
def test_kernel_pca_of_the_linear_kernel_is_that_of_its_matrix(shape, k):
    """From products of columns, or from all values of the kernel: the same model."""
    rng = np.random.default_rng(k)
    X = 50.0 + rng.normal(size=shape) * 0.8 ** np.arange(shape[1])
    model = drop_ins.KernelPCA(k, fit_inverse_transform=True).fit(X)
    by_values = drop_ins.KernelPCA(k, kernel=lambda x, z: x @ z).fit(X)
    peer = decomposition.KernelPCA(k, eigen_solver="dense", fit_inverse_transform=True).fit(X)
    assert np.allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-9)
    assert np.allclose(model.eigenvectors_, peer.eigenvectors_, atol=1e-8)
    new = 50.0 + rng.normal(size=(5, shape[1]))
    assert np.allclose(model.transform(new), peer.transform(new), atol=1e-6)
    outputs = model.transform(X)
    assert np.allclose(outputs, model.fit_transform(X), atol=1e-6)
    assert np.allclose(model.inverse_transform(outputs), peer.inverse_transform(outputs), atol=1e-5)
    centred = X - X.mean(axis=0)
    best = 0.5 * np.sum(np.linalg.svd(centred, compute_uv=False)[k:] ** 2) / len(X)
    for found in (model.certificate_, by_values.certificate_):
        assert found.primal == pytest.approx(best, rel=1e-9, abs=1e-10)
        assert found.dual <= best * (1 + 1e-12) + found.rounding
        assert found.relative < 1e-9


def test_kernel_pca_of_columns_that_do_not_vary_takes_the_kernel_matrix():
    X = np.column_stack([np.arange(30.0), np.full((30, 2), 3.0)])
    model = drop_ins.KernelPCA(3).fit(X)
    peer = decomposition.KernelPCA(3).fit(X)
    assert np.allclose(model.eigenvalues_, peer.eigenvalues_)
    assert np.allclose(model.transform(X)[:, 0], peer.transform(X)[:, 0])
    assert model.certificate_.relative < 1e-9


@pytest.mark.parametrize("kernel", ["rbf", "linear", "sigmoid"])
@pytest.mark.parametrize("eigen_solver", ["auto", "arpack", "dense"])
def test_kernel_pca_of_many_rows_is_scikit_learns_by_products_or_not(kernel, eigen_solver):
    X = np.random.default_rng(0).normal(size=(230, 300)) * np.linspace(2, 0, 300)
    settings = {"kernel": kernel, "eigen_solver": eigen_solver, "random_state": 0}
    model = drop_ins.KernelPCA(4, **settings).fit(X)
    peer = decomposition.KernelPCA(4, **settings).fit(X)
    assert np.allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-12)
    assert np.allclose(model.eigenvectors_, peer.eigenvectors_, atol=1e-9)
    assert np.allclose(model.transform(X[:9] + 1), peer.transform(X[:9] + 1), atol=1e-9)
    assert 0 <= model.certificate_.relative < 1e-9


def test_an_embedding_by_all_pairs_is_scikit_learns():
    X = np.random.default_rng(0).normal(size=(150, 40))
    for gamma in (1e-4, 0.02):  # eigenvalues but the first are below zero, or above
        model = drop_ins.SpectralEmbedding(2, affinity="rbf", gamma=gamma, random_state=0).fit(X)
        peer = manifold.SpectralEmbedding(2, affinity="rbf", gamma=gamma, random_state=0).fit(X)
        assert np.allclose(model.embedding_, peer.embedding_, atol=1e-9)
        assert model.certificate_.relative < 1e-9


@pytest.mark.parametrize("neighbors", [None, 3, 80])
def test_an_embedding_is_scikit_learns_with_or_without_a_factorisation(neighbors):
    X = np.random.default_rng(0).normal(size=(300, 5)) * [3, 2, 1, 1, 1]
    model = drop_ins.SpectralEmbedding(n_neighbors=neighbors, random_state=0).fit(X)
    peer = manifold.SpectralEmbedding(n_neighbors=neighbors, random_state=0).fit(X)
    assert np.allclose(model.embedding_, peer.embedding_, atol=1e-9)
    assert model.certificate_.relative < 1e-6
    affinity = model.affinity_matrix_.toarray()
    np.fill_diagonal(affinity, 0.0)
    root = np.sqrt(affinity.sum(axis=0))
    values = np.linalg.eigvalsh(affinity / root / root[:, None])
    best = 3 - values[-3:].sum()
    assert model.certificate_.dual <= best + 1e-12
    assert model.certificate_.primal == pytest.approx(best, abs=1e-9)


_FEW = [drop_ins.PCA(), drop_ins.TruncatedSVD()]
_OTHERS = [drop_ins.IncrementalPCA(), drop_ins.KernelPCA(), drop_ins.SpectralEmbedding()]


@parametrize_with_checks(_FEW)
def test_sklearn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check(estimator)


@pytest.mark.conformance
@parametrize_with_checks(_OTHERS)
def test_sklearn_on_all_others(estimator, check):
    check(estimator)


def test_affinities_that_are_not_symmetric_are_judged_as_they_are_embedded():
    """scikit-learn embeds the mean of both directions."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = rng.random((30, 30)) * (rng.random((30, 30)) < 0.5) + np.eye(30)
        mean = 0.5 * (A + A.T) - np.diag(np.diag(A))
        root = np.sqrt(mean.sum(axis=0))
        best = 3 - np.linalg.eigvalsh(mean / np.outer(root, root))[-3:].sum()
        for given in (A, sparse.csr_array(A)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it is not symmetric
                model = drop_ins.SpectralEmbedding(2, affinity="precomputed", random_state=0)
                found = model.fit(given).certificate_
            assert found.primal == pytest.approx(best, rel=1e-6)
            assert found.dual == pytest.approx(best)


def test_more_components_than_a_sparse_graph_has():
    X = np.random.default_rng(0).normal(size=(10, 3))
    model = drop_ins.SpectralEmbedding(9, affinity="nearest_neighbors", n_neighbors=4)
    with pytest.raises(ValueError, match=r"^n_components=9 must be below n_samples − 1 = 9"):
        model.fit(X)


@pytest.mark.parametrize("kind", [drop_ins.IncrementalPCA, drop_ins.PCA, drop_ins.TruncatedSVD])
def test_infinite_entries_are_not_large_numbers(kind):
    X = np.random.default_rng(0).normal(size=(10, 3))
    X[4, 1] = -np.inf
    with pytest.raises(ValueError, match="infinity"):
        kind(2).fit(X)
