"""Distances of pairs of rows: by name, function, matrix and kernel."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform

import minimand as mm
from minimand.kernels import dissimilarity
from minimand.kernels.dissimilarity import NAMES, dissimilarity_of

RNG = np.random.default_rng(3)
X, NEW = RNG.uniform(0.1, 2.0, (300, 4)), RNG.uniform(0.1, 2.0, (7, 4))


def to(pairs, rows):
    return np.concatenate([part for _, part in pairs.blocks(rows)])


@pytest.mark.parametrize("name", NAMES)
def test_names_are_those_of_scipy(name):
    binary = name in ("dice", "yule", "sokalsneath")
    x = np.column_stack([X > 1, np.ones(len(X))]).astype(float) if binary else X
    known = {"manhattan": "cityblock"}.get(name, name)
    pairs = dissimilarity_of(name).fit(x)
    np.testing.assert_allclose(pairs.condensed(), pdist(x, known), rtol=1e-10, atol=1e-12)
    # new rows are compared as training rows are: nothing is learnt from them
    np.testing.assert_allclose(to(pairs, x[:5]), squareform(pdist(x, known))[:5], atol=1e-10)


def test_kernels_matrices_functions_and_blocks(monkeypatch):
    monkeypatch.setattr(dissimilarity, "BUFFER", 900)  # three rows a block
    want, new = pdist(X), cdist(NEW, X)
    linear = dissimilarity_of(kernel="linear").fit(X)
    np.testing.assert_allclose(linear.condensed(), want, atol=1e-6)
    np.testing.assert_allclose(to(linear, NEW), new, atol=1e-6)
    rbf = dissimilarity_of(kernel=mm.RBF(tau=1.5)).fit(X)
    gram = np.exp(-(new**2) / (2 * 1.5**2))
    np.testing.assert_allclose(to(rbf, NEW), np.sqrt(2 - 2 * gram), atol=1e-7)
    matrix = dissimilarity_of("precomputed").fit(squareform(want))
    np.testing.assert_array_equal(matrix.condensed(), want)
    np.testing.assert_array_equal(to(matrix, new), new)
    function = dissimilarity_of(lambda a, b: abs(a - b).max()).fit(X[:9])
    np.testing.assert_allclose(function.condensed(), pdist(X[:9], "chebyshev"))
    words = dissimilarity_of(lambda a, b: abs(len(a) - len(b))).fit(["a", "bbb", "cc"])
    np.testing.assert_array_equal(words.condensed(), [2, 1, 1])
    centred = dissimilarity_of(kernel=mm.Linear().center()).fit(X)
    np.testing.assert_allclose(to(centred, NEW), new, atol=1e-6)


@pytest.mark.parametrize("name", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows(name):
    rows = sparse.random(40, 6, density=0.6, random_state=0, format="csr") + sparse.eye(40, 6)
    rows = sparse.csr_matrix(rows + sparse.csr_matrix(np.full((40, 6), 0.1)))
    dense = dissimilarity_of(name).fit(rows.toarray())
    np.testing.assert_allclose(
        dissimilarity_of(name).fit(rows).condensed(), dense.condensed(), atol=1e-7
    )


def not_psd(a, b):
    return -(a @ b.T)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dissimilarity_of("euclid"), "distance='euclid' is not known"),
        (lambda: dissimilarity_of(np.ndarray), "is not known"),
        (lambda: dissimilarity_of("cosine", "rbf"), "pass one of the two"),
        (lambda: dissimilarity_of(kernel="rfb"), "did you mean 'rbf'"),
        (lambda: dissimilarity_of("precomputed").fit(X), "the square matrix"),
        (lambda: dissimilarity_of("precomputed").fit([[0, 1], [2, 0]]), "symmetric"),
        (lambda: dissimilarity_of("precomputed").fit([[1, 0], [0, 1]]), "0 on the diagonal"),
        (lambda: dissimilarity_of("precomputed").fit([[0, -1], [-1, 0]]), "negative numbers"),
        (lambda: dissimilarity_of("cosine").fit(np.zeros((3, 2))).condensed(), "not a finite"),
        (lambda: dissimilarity_of("hamming").fit(sparse.eye(3)), "X is sparse"),
        (
            lambda: dissimilarity_of(kernel=mm.Callable(not_psd)).fit(X).condensed(),
            "not positive semidefinite",
        ),
        (lambda: to(dissimilarity_of(kernel="precomputed").fit(np.eye(3)), np.eye(3)), "new rows"),
        (lambda: dissimilarity_of(lambda a, b: "far").fit([1, 2]).condensed(), "one number"),
    ],
)
def test_bad_input_gets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_entries_of_one_cell_are_added_up():
    """A CSR matrix may hold a number in parts; the caller's stays as it is."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    whole = sparse.csr_matrix(X)
    parts = sparse.csr_matrix(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr), whole.shape
    )
    labels = np.arange(12) % 2
    assert np.isclose(mm.metrics.silhouette(parts, labels), mm.metrics.silhouette(X, labels))
    found = [mm.Agglomerative(3).fit(data) for data in (parts, X)]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    near = [mm.KNNRegressor(2).fit(data, X[:, 0]).predict(data) for data in (parts, X)]
    np.testing.assert_allclose(*near)
    assert parts.nnz == 2 * whole.nnz
