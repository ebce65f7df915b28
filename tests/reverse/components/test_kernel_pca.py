"""KernelPCA and NormalizedPCA: the linear kernel is PCA, centring, new rows, pre-images, cuts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

import minimand as mm
from minimand.reverse.components import normalized_pca
from sklearn_checks import by_checks, quietly, weights_are_no_copies


def _data(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * [3.0, 2.0, 1.0, 0.5][:d] + 2.0


@pytest.mark.parametrize("method", ["exact", "low_rank"])
@pytest.mark.parametrize("center", [True, False])
def test_linear_kernel_is_pca(method, center):
    X, new = _data(), _data(20, seed=1)
    plain = mm.PCA(3, center=center).fit(X)
    model = mm.KernelPCA(3, "linear", method=method, center=center).fit(X)
    assert model.explained_variance_ == pytest.approx(plain.explained_variance_)
    assert model.explained_variance_ratio_ == pytest.approx(plain.explained_variance_ratio_)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-6)
    signs = np.sign(np.sum(model.transform(X) * plain.transform(X), axis=0))
    assert np.allclose(model.transform(new) * signs, plain.transform(new))
    assert np.allclose(model.fit_transform(X), model.transform(X))
    rebuilt = model.inverse_transform(model.transform(X))
    if center:
        assert np.allclose(rebuilt, plain.inverse_transform(plain.transform(X)), atol=1e-2)


@pytest.mark.parametrize("method", ["exact", "low_rank"])
def test_centring_is_hkh_and_agrees_with_scikit_learn(method):
    X, new = _data(), _data(20, seed=1)
    H = np.eye(60) - 1 / 60
    K = mm.RBF(2.0)(X)
    values = np.linalg.eigvalsh(H @ K @ H)[::-1]
    model = mm.KernelPCA(3, mm.RBF(2.0), method=method).fit(X)
    assert model.eigenvalues_ == pytest.approx(values[:3])
    assert model.certificate_.primal == pytest.approx(0.5 * values[3:].sum() / 60, abs=1e-9)
    assert model.certificate_.gap <= 1e-9
    peer = decomposition.KernelPCA(3, kernel="rbf", gamma=1 / 8).fit(X)
    assert np.allclose(np.abs(model.transform(new)), np.abs(peer.transform(new)), atol=1e-6)
    given = mm.KernelPCA(3, "precomputed", method=method).fit(K)
    assert np.allclose(given.transform(mm.RBF(2.0)(new, X)), model.transform(new), atol=1e-6)


@pytest.mark.parametrize("method", ["exact", "low_rank"])
def test_weights_are_copies(method):
    X, s = _data(30), np.random.default_rng(0).integers(0, 4, 30)
    weighted = mm.KernelPCA(3, mm.RBF(3.0), method=method).fit(X, sample_weight=s)
    copied = mm.KernelPCA(3, mm.RBF(3.0), method=method).fit(np.repeat(X, s, axis=0))
    assert weighted.explained_variance_ == pytest.approx(copied.explained_variance_, rel=1e-6)
    assert np.allclose(weighted.transform(X), copied.transform(X), atol=1e-5)
    assert weighted.certificate_.primal == pytest.approx(copied.certificate_.primal, rel=1e-4)


def test_low_rank_certificates_hold_for_the_kernel_itself():
    X = _data(300)
    best = mm.KernelPCA(3, mm.RBF(1.0), method="exact").fit(X).certificate_
    for rank in (10, 40, 150):
        found = mm.KernelPCA(3, mm.RBF(1.0), rank=rank, random_state=0).fit(X)
        assert found.method_ == "low_rank"
        assert found.certificate_.dual <= best.primal <= found.certificate_.primal
        outputs = found.transform(X)
        kept = float(np.sum(outputs**2)) / 300
        assert kept <= 2 * (0.5 - best.primal) + 1e-9


def test_centred_components_that_are_zero_on_all_rows_are_judged_as_centred():
    """The landmark has no weight, and nothing in common with the other rows."""
    X, s = np.array([[0.0], [100.0], [200.0]]), np.array([2.0, 0.0, 2.0])
    for seed in range(5):
        model = mm.KernelPCA(1, mm.RBF(0.3), rank=1, random_state=seed).fit(X, sample_weight=s)
        assert mm.certify(model, X, sample_weight=s).dual <= 1e-12  # one direction keeps all


def test_fixed_point_removes_noise():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = circle + 0.1 * rng.normal(size=circle.shape)
    model = mm.KernelPCA(6, mm.RBF(0.7)).fit(noisy)
    clean = model.inverse_transform(model.transform(noisy))
    off = [np.abs(np.linalg.norm(x, axis=1) - 1).mean() for x in (clean, noisy)]
    assert off[0] < 0.8 * off[1]
    # With all components a row is its own pre-image.
    whole = mm.KernelPCA(None, mm.RBF(0.7)).fit(circle[:40])
    assert np.allclose(
        whole.inverse_transform(whole.transform(circle[:40])), circle[:40], atol=1e-4
    )


def test_ridge_pre_images():
    X = _data(100, 2)
    model = mm.KernelPCA(5, mm.Polynomial(2)).fit(X)
    rebuilt = model.inverse_transform(model.transform(X))
    assert np.abs(rebuilt - X).mean() < 0.1
    ridge = mm.KernelPCA(20, mm.RBF(3.0), pre_image="ridge").fit(X)
    assert np.abs(ridge.inverse_transform(ridge.transform(X)) - X).mean() < 0.1


def test_rows_that_are_no_vectors():
    words = ["abab", "abba", "baba", "cdcd", "dcdc", "cddc"]
    model = mm.KernelPCA(1, mm.Spectrum(2)).fit(words)
    outputs = model.transform(words)[:, 0]
    assert outputs[:3].max() < outputs[3:].min() or outputs[:3].min() > outputs[3:].max()
    with pytest.raises(ValueError, match="kernel of vectors"):
        model.inverse_transform([[1.0]])


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (np.ones((5, 3)), {"n_components": 6}, "n_components=6 must be between 1 and n_samples=5"),
        (np.ones((5, 3)), {"kernel": "gaussian"}, "rbf"),
        (np.ones((5, 3)), {"method": "arpack"}, "method must be one of"),
        (np.ones((5, 3)), {"pre_image": "none"}, "pre_image must be one of"),
        (np.ones((5, 3)), {"kernel": "linear", "pre_image": "fixed_point"}, "RBF"),
        (np.full((5, 3), np.nan), {}, "NaN"),
        ([[1.0, 2.0], [2.0, 1.0]], {"kernel": "precomputed", "center": False}, "semidefinite"),
        ([[1.0, 2.0], [0.0, 1.0]], {"kernel": "precomputed"}, "not symmetric"),
        (np.ones((2, 3)), {"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_input(X, options, words):
    with pytest.raises(ValueError, match=words):
        mm.KernelPCA(**options).fit(X)


def test_degenerate_rows_work():
    for X in (np.ones((6, 3)), np.zeros((1, 3))):
        model = mm.KernelPCA(1).fit(X)
        assert np.allclose(model.transform(X), 0)
        assert model.certificate_.primal == pytest.approx(0, abs=1e-12)
    assert (
        mm.KernelPCA(3).fit(_data().astype(np.float32)).transform(_data().astype(np.float32)).dtype
        == np.float32
    )
    assert list(mm.KernelPCA().fit(_data()).get_feature_names_out()) == ["kernelpca0", "kernelpca1"]
    assert np.allclose(
        mm.KernelPCA(2).fit(sparse.csr_array(_data())).transform(_data()),
        mm.KernelPCA(2).fit(_data()).transform(_data()),
    )


def test_nearly_constant_values_are_no_proof_of_indefiniteness():
    """Centring leaves the rounding of values that are a billion times the differences."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    kernel = mm.RBF(tau=2e4)
    model = mm.KernelPCA(2, kernel=mm.Precomputed()).fit(kernel(X))
    linear = mm.KernelPCA(2, kernel=mm.Linear()).fit(X / 2e4)
    scale = float(linear.certificate_.primal)
    assert abs(float(model.certificate_.primal) - scale) <= 1e-3 * scale
    with pytest.raises(ValueError, match="not positive semidefinite"):
        mm.KernelPCA(2, kernel=mm.Precomputed()).fit(kernel(X) - 1e-6 * np.eye(40))


def test_a_fit_without_time_gives_a_true_certificate():
    X = _data(300)
    best = mm.KernelPCA(2).fit(X).certificate_
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = mm.KernelPCA(2, max_seconds=0.0).fit(X)
    assert model.certificate_.dual <= best.primal * (1 + 1e-9)
    assert best.primal <= model.certificate_.primal * (1 + 1e-9)


# Normalised kernels --------------------------------------------------------------------------


def _affinities(n=50, seed=0):
    return mm.RBF(1.0)(np.random.default_rng(seed).standard_normal((n, 2)))


@pytest.mark.parametrize("method", ["exact", "krylov"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_top_eigenvalue_is_one_and_dropped(method, form):
    K = _affinities()
    degrees = K.sum(axis=1)
    normalised = K / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(normalised)
    assert values[-1] == pytest.approx(1)
    constant = vectors[:, -1] / np.sqrt(degrees)
    assert np.allclose(constant, constant[0])
    model = mm.NormalizedPCA(3, "precomputed", method=method, random_state=0, tol=1e-9).fit(form(K))
    assert model.eigenvalues_ == pytest.approx(values[-2:-5:-1], rel=1e-6)
    Y = model.embedding_
    assert np.allclose(Y.T * degrees @ Y, np.eye(3), atol=1e-5)
    assert np.allclose(degrees @ Y, 0, atol=1e-6)  # orthogonal to the constant output
    assert model.certificate_.primal == pytest.approx(3 - values[-4:-1].sum())
    assert model.certificate_.dual <= 3 - values[-4:-1].sum() + 1e-12
    assert model.certificate_.relative <= 1e-6
    assert np.allclose(model.transform(form(K)), Y, atol=1e-4)  # new rows as those of the fit


def test_new_rows_are_embedded_like_old_ones():
    X, y = make_moons(200, noise=0.05, random_state=0)
    model = mm.NormalizedPCA(2, mm.RBF(0.2)).fit(X[:150])
    assert np.allclose(model.transform(X[:150]), model.embedding_)
    assert ((model.transform(X[150:])[:, 0] > 0) == y[150:]).mean() in (0.0, 1.0)
    low = mm.NormalizedPCA(2, mm.RBF(0.2), method="low_rank", rank=100, random_state=0).fit(X[:150])
    assert low.eigenvalues_ == pytest.approx(model.eigenvalues_, rel=1e-3)
    assert np.allclose(low.transform(X), model.transform(X), atol=0.02)


def test_normalised_weights_are_copies():
    X, s = _data(25), np.random.default_rng(0).integers(1, 4, 25)
    weighted = mm.NormalizedPCA(2, mm.RBF(2.0)).fit(X, sample_weight=s)
    copied = mm.NormalizedPCA(2, mm.RBF(2.0)).fit(np.repeat(X, s, axis=0))
    assert weighted.eigenvalues_ == pytest.approx(copied.eigenvalues_)
    assert np.allclose(weighted.transform(X), copied.transform(X))


def test_parts_without_affinity_have_the_eigenvalue_one():
    K = np.kron(np.eye(3), np.ones((4, 4)))
    model = mm.NormalizedPCA(3, "precomputed").fit(K)
    assert model.eigenvalues_ == pytest.approx([1, 1, 0], abs=1e-12)
    assert len(np.unique(model.embedding_[:, :2].round(6), axis=0)) == 3
    assert model.certificate_.primal == pytest.approx(1)


@pytest.mark.parametrize("method", ["exact", "krylov"])
def test_the_constant_output_does_not_come_back(method):
    """Also where another eigenvalue is 0, which the constant vector would get."""
    model = mm.NormalizedPCA(3, "precomputed", method=method, random_state=0).fit(np.ones((6, 6)))
    assert model.eigenvalues_ == pytest.approx(0, abs=1e-12)
    assert np.allclose(model.embedding_.sum(axis=0), 0, atol=1e-12)
    assert np.allclose(6 * model.embedding_.T @ model.embedding_, np.eye(3))


def test_sparse_neighbours_by_a_krylov_space(monkeypatch):
    X, _ = make_moons(500, noise=0.06, random_state=0)
    graph = kneighbors_graph(X, 10, include_self=True)
    graph = graph.maximum(graph.T)
    exact = mm.NormalizedPCA(2, "precomputed").fit(graph)
    monkeypatch.setattr(normalized_pca, "EXACT", 1)
    model = mm.NormalizedPCA(2, "precomputed", random_state=0).fit(graph)
    assert model.method_ == "krylov"
    assert model.eigenvalues_ == pytest.approx(exact.eigenvalues_, rel=1e-4)
    true = exact.certificate_.primal
    assert model.certificate_.dual <= true + 1e-12 <= model.certificate_.primal + 2e-12


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (np.eye(3) - 0.1, {}, "must not be negative"),
        (np.diag([1.0, 1.0, 0.0]), {}, "row 2 has no affinity"),
        (np.ones((3, 2)), {}, "square"),
        ([[1.0, 2.0, 0], [0.0, 1.0, 0], [0, 0, 1.0]], {}, "not symmetric"),
        (np.ones((3, 3)), {"n_components": 3}, "must be below n_samples=3"),
        (np.ones((3, 3)), {"n_components": 0.5}, "n_components"),
        (np.ones((3, 3)), {"method": "svd"}, "method must be one of"),
    ],
)
def test_bad_affinities(X, options, words):
    options = {"n_components": 1, "kernel": "precomputed"} | options
    with pytest.raises(ValueError, match=words):
        mm.NormalizedPCA(**options).fit(X)


def test_plots():
    from matplotlib import pyplot

    scree = mm.KernelPCA().fit(_data())
    ax = scree.plot()
    heights = [bar.get_height() for bar in ax.patches]
    assert set(scree.explained_variance_ratio_) <= set(heights)
    pyplot.close(ax.figure)
    ax = mm.NormalizedPCA().fit(_data()).plot()
    assert len(ax.collections[0].get_offsets()) == len(_data())
    pyplot.close(ax.figure)


def _expected_failures(estimator):
    if getattr(estimator, "rank", None) != 5:
        return {}
    reason = "landmarks are drawn among the rows, and copies of a row change the draw"
    return weights_are_no_copies(reason)


@by_checks(
    [mm.KernelPCA(1), mm.NormalizedPCA(1)],
    [mm.KernelPCA(1, "linear"), mm.KernelPCA(1, rank=5), mm.NormalizedPCA(1, method="krylov")],
    _expected_failures,
)
def test_sklearn(estimator, check):
    quietly(estimator, check)


@pytest.mark.parametrize(
    "model", [mm.KernelPCA(2), mm.NormalizedPCA(2), mm.KernelKMeans(2), mm.KernelPCA(2, rank=3)]
)
def test_numbers_too_large_for_a_kernel_are_refused(model):
    x = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(ValueError, match="squares overflow: divide X"):
        model.fit(1e200 * x)


@pytest.mark.parametrize("make", [mm.KernelPCA, mm.KernelKMeans])
def test_values_of_a_kernel_that_overflow_are_refused(make):
    x = np.random.default_rng(0).normal(size=(12, 3))
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="overflow: divide X"):
        make(2, kernel=mm.Polynomial(5)).fit(1e100 * x)


def test_landmarks_have_a_positive_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:30] += 50.0
    weights = np.repeat([0.0, 1.0], 30)
    model = mm.KernelPCA(2, kernel="rbf", rank=10, random_state=0).fit(X, sample_weight=weights)
    alone = mm.KernelPCA(2, kernel=model.kernel_, rank=10, random_state=0).fit(X[30:])
    assert np.asarray(model._components.rows).max() < 25.0
    np.testing.assert_allclose(model.eigenvalues_, alone.eigenvalues_)
    assert mm.certify(model, X, sample_weight=weights).gap >= 0


def test_far_rows_of_weight_zero_have_no_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    X[:3] += 100.0
    weights = np.ones(40)
    weights[:3] = 0.0
    model = mm.NormalizedPCA(2, kernel=mm.RBF(1.0)).fit(X, sample_weight=weights)
    alone = mm.NormalizedPCA(2, kernel=mm.RBF(1.0)).fit(X[3:])
    assert np.isnan(model.embedding_[:3]).all()
    np.testing.assert_allclose(model.embedding_[3:], alone.embedding_)
    assert mm.certify(model, X, sample_weight=weights).relative < 1e-9
