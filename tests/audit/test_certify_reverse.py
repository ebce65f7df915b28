"""certify of models without y: what the fit found, found anew, and true on other rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

import minimand as mm

X, _ = make_blobs(120, centers=3, n_features=4, random_state=0)
W = np.random.default_rng(0).integers(0, 3, size=120).astype(float)
GRAPH = sparse.csr_matrix(kneighbors_graph(X, 40).maximum(kneighbors_graph(X, 40).T))

MODELS = {
    "cosine": lambda: mm.KMeans(3, distance="cosine", random_state=0),
    "manhattan": lambda: mm.KMeans(3, distance="manhattan", random_state=0),
    "soft": lambda: mm.SoftKMeans(3, random_state=0),
    "fuzzy": lambda: mm.SoftKMeans(3, form="fuzzy", random_state=0),
    "divided": lambda: mm.Divisive(3, random_state=0),
    "kernel": lambda: mm.KernelPCA(3, mm.RBF(5.0)),
    "kernel, not centred": lambda: mm.KernelPCA(3, mm.Polynomial(2), center=False),
    "normalised": lambda: mm.NormalizedPCA(2, mm.RBF(5.0)),
}


@pytest.mark.parametrize("weights", [None, W], ids=["even", "weights"])
@pytest.mark.parametrize("name", MODELS)
def test_certify_finds_what_the_fit_found(name, weights):
    model = MODELS[name]().fit(X, sample_weight=weights)
    known, found = model.certificate_, mm.certify(model, X, sample_weight=weights)
    assert (found.kind, found.objective) == (known.kind, known.objective)
    slack = 1e-7 * known.primal + 4 * (known.rounding + found.rounding) + 1e-12
    assert found.primal == pytest.approx(known.primal, abs=slack)
    assert found.dual == pytest.approx(known.dual, abs=slack)


def test_components_that_are_not_centred():
    model = mm.PCA(2, center=False).fit(X)
    found = mm.certify(model, X)
    assert found.primal == pytest.approx(model.certificate_.primal)
    assert found.dual == pytest.approx(model.certificate_.dual)
    assert mm.certify(model, X[:60]).primal >= mm.PCA(2, center=False).fit(X[:60]).certificate_.dual


@pytest.mark.parametrize("name", ["kernel", "kernel, not centred"])
def test_components_of_a_kernel_are_judged_on_other_rows(name):
    model = MODELS[name]().fit(X[:60])
    other = X[60:]
    found = mm.certify(model, other)
    best = MODELS[name]().fit(other).certificate_
    assert found.dual <= best.primal * (1 + 1e-9)
    assert found.primal >= best.primal * (1 - 1e-9)
    assert found.primal > best.primal * (1 + 1e-6)  # fitted to other rows


def test_low_rank_components_are_judged_by_the_kernel_itself():
    model = mm.KernelPCA(3, mm.RBF(5.0), rank=20, random_state=0).fit(X)
    best = mm.KernelPCA(3, mm.RBF(5.0)).fit(X).certificate_
    found = mm.certify(model, X)
    assert best.primal * (1 - 1e-9) <= found.primal <= model.certificate_.primal * (1 + 1e-9)
    assert found.dual == pytest.approx(best.dual, rel=1e-7)


def test_affinities_of_a_graph_and_rows_that_were_not_fitted():
    model = mm.NormalizedPCA(2, "precomputed").fit(GRAPH)
    found = mm.certify(model, GRAPH)
    assert found.primal == pytest.approx(model.certificate_.primal, abs=1e-9)
    assert found.relative <= 1e-9
    embedded = mm.NormalizedPCA(2, mm.RBF(5.0)).fit(X)
    with pytest.raises(ValueError, match="fitted on"):
        mm.certify(embedded, X[:50])


def test_a_tree_of_features_has_a_bound_by_certify():
    model = mm.Divisive(3, kernel=mm.RBF(5.0), random_state=0).fit(X)
    assert not np.isfinite(model.certificate_.dual)
    assert "certify" in model.certificate_.infeasibility
    found = mm.certify(model, X)
    best = mm.KernelKMeans(3, kernel=mm.RBF(5.0), random_state=0).fit(X)
    assert found.primal == pytest.approx(model.inertia_)
    assert 0 < found.dual <= best.inertia_


@pytest.mark.parametrize("name", MODELS)
def test_proofs_are_for_clusterings_with_means(name):
    model = MODELS[name]().fit(X)
    with pytest.raises(TypeError, match="thorough=True is for"):
        mm.certify(model, X, thorough=True)


def test_the_remainder_of_a_factor_is_charged_by_its_norm():
    """Closer on both sides than the fit's own certificate, and still true for the kernel."""
    rows, _ = make_blobs(300, centers=4, n_features=3, cluster_std=1.5, random_state=0)
    kernel = mm.RBF(1.0)
    model = mm.KernelKMeans(4, kernel=kernel, rank=60, random_state=0).fit(rows)
    fit, found = model.certificate_, mm.certify(model, rows)
    K = kernel(rows)
    Y = np.eye(4)[model.labels_]
    own = np.trace(K) - np.trace((Y.T @ K @ Y) / Y.sum(axis=0)[:, None])
    assert found.primal == pytest.approx(own, rel=1e-9)
    assert found.primal < fit.primal
    assert found.dual > fit.dual
    exact = mm.KernelKMeans(4, kernel=kernel, n_init=10, random_state=0).fit(rows)
    assert found.dual <= exact.inertia_
    assert found.gap < 0.7 * fit.gap


def test_bounds_by_random_vectors_say_so():
    rng = np.random.default_rng(0)
    wide = sparse.random(2500, 2200, 0.01, "csr", random_state=0)
    model = mm.PCA(3, method="krylov", random_state=0).fit(wide)
    assert not model.certificate_.certain
    assert repr(model.certificate_).endswith(", certain=False)")
    exact = mm.PCA(3).fit(rng.normal(size=(50, 5))).certificate_
    assert exact.certain
    assert "certain" not in repr(exact)
    clusters = mm.KMeans(4, random_state=0).fit(wide)  # whose own bound is by norms
    assert clusters.certificate_.certain
    assert not mm.certify(clusters, wide).certain


def test_models_of_rows_alone_that_it_does_not_take():
    from minimand.sklearn import SpectralEmbedding

    with pytest.raises(TypeError, match=r"takes no SpectralEmbedding: .*PCA.* certificate_"):
        mm.certify(SpectralEmbedding(1, affinity="rbf").fit(np.arange(12.0).reshape(6, 2)), [[1.0]])
    with pytest.raises(TypeError, match=r"takes no DBSCAN: .*MiniBatchKMeans.*TruncatedSVD.$"):
        mm.certify(DBSCAN().fit([[0.0], [1.0]]), [[0.0], [1.0]])
    with pytest.raises(TypeError, match=r"must be a minimand Regressor.*not KMeans"):
        mm.explain(mm.KMeans(2), [[0.0], [1.0]])
    with pytest.raises(TypeError, match="needs X and y"):
        mm.certify(mm.Regressor().fit([[1.0], [2.0]], [1.0, 2.0]), [[1.0]])
