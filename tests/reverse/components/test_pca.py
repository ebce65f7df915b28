"""PCA: equal subspaces by every method, Rayleigh quotients, discarded eigenvalues, weights."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from sklearn_checks import by_checks, quietly, weights_are_no_copies

METHODS = ["auto", "covariance", "gram", "svd", "krylov", "power"]


def _data(n=80, d=12, seed=0):
    """Variances that differ, in rows that are not centred."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((n, d)) * 1.5 ** -np.arange(d) @ turn + rng.standard_normal(d)


def _fit(X, *args, weight=None, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mm.PCA(*args, random_state=0, **kwargs).fit(X, sample_weight=weight)


@pytest.mark.parametrize("shape", [(80, 12), (12, 80)])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "form", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_every_method_finds_the_same(shape, method, form):
    X = _data(*shape)
    peer = decomposition.PCA(3, svd_solver="full").fit(X)
    if method == "svd" and form(X) is not None and sparse.issparse(form(X)):
        pytest.skip("refused: see test_bad_input")
    model = _fit(form(X), 3, method=method, tol=1e-10)
    assert np.allclose(np.abs(model.components_ @ peer.components_.T), np.eye(3), atol=1e-4)
    n = shape[0]
    assert model.explained_variance_ == pytest.approx(
        peer.explained_variance_ * (n - 1) / n, rel=1e-8
    )
    assert model.explained_variance_ratio_ == pytest.approx(
        peer.explained_variance_ratio_, rel=1e-8
    )
    assert model.singular_values_ == pytest.approx(peer.singular_values_, rel=1e-8)
    assert model.noise_variance_ == pytest.approx(peer.noise_variance_ * (n - 1) / n, rel=1e-6)
    assert model.certificate_.kind == "global"
    assert model.certificate_.relative <= 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_laws(method):
    X = _data()
    model = _fit(X, 4, method=method, tol=1e-10)
    V, centred = model.components_.T, X - X.mean(axis=0)
    assert np.allclose(V.T @ V, np.eye(4), atol=1e-10)
    covariance = centred.T @ centred / len(X)
    quotients = np.diag(V.T @ covariance @ V)
    assert quotients == pytest.approx(model.explained_variance_, rel=1e-9)
    rebuilt = model.inverse_transform(model.transform(X))
    error = 0.5 * np.mean(np.sum((X - rebuilt) ** 2, axis=1))
    left_out = 0.5 * np.linalg.eigvalsh(covariance)[::-1][4:].sum()
    assert error == pytest.approx(model.certificate_.primal, rel=1e-9)
    slack = model.certificate_.rounding
    assert model.certificate_.dual - slack <= left_out <= error + slack
    assert (V[np.abs(V).argmax(axis=0), range(4)] > 0).all()
    assert model.score(X) == pytest.approx(1 - np.sum((X - rebuilt) ** 2) / np.sum(centred**2))


def test_stochastic_comes_close_and_says_how_close():
    X = _data(3000)
    with pytest.warns(ConvergenceWarning, match="max_iter=20"):
        model = mm.PCA(2, method="stochastic", max_iter=20, tol=1e-13, random_state=0).fit(X)
    best = mm.PCA(2).fit(X)
    assert best.certificate_.primal - 1e-12 <= model.certificate_.primal
    assert model.certificate_.primal <= best.certificate_.primal * 1.001
    assert model.certificate_.dual <= best.certificate_.primal + 1e-12
    assert len(model.history_) == 20


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
def test_weights_are_copies(method, shape):
    X = _data(*shape)
    s = np.random.default_rng(1).integers(0, 4, shape[0])
    weighted = _fit(X, 2, method=method, tol=1e-12, weight=s)
    copied = _fit(np.repeat(X, s, axis=0), 2, method=method, tol=1e-12)
    scaled = _fit(X, 2, method=method, tol=1e-12, weight=0.01 * s)
    for other in (copied, scaled):
        assert np.allclose(weighted.components_, other.components_, atol=1e-5)
        assert np.allclose(weighted.explained_variance_, other.explained_variance_)
        assert np.allclose(weighted.mean_, other.mean_)
        assert weighted.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-6)


def test_permuted_rows_and_scaled_units():
    X = _data()
    model = _fit(X, 3)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.allclose(_fit(X[order], 3).components_, model.components_)
    big = _fit(1e6 * X, 3)
    assert np.allclose(big.components_, model.components_)
    assert big.certificate_.primal == pytest.approx(1e12 * model.certificate_.primal)


def test_counts():
    X = _data(200)
    ratio = decomposition.PCA().fit(X).explained_variance_ratio_
    for share in (0.5, 0.9, 0.999):
        assert mm.PCA(share).fit(X).n_components_ == decomposition.PCA(share).fit(X).n_components_
    assert mm.PCA().fit(X).explained_variance_ratio_ == pytest.approx(ratio)
    rng = np.random.default_rng(0)
    signal = 8 * rng.standard_normal((200, 3)) @ rng.standard_normal((3, 30))
    assert mm.PCA("auto").fit(signal + rng.standard_normal((200, 30))).n_components_ == 3
    assert mm.PCA("auto").fit(signal).n_components_ == 3  # without noise too


def test_whitened_outputs_have_variance_one():
    X = _data()
    model = mm.PCA(4, whiten=True).fit(X)
    Y = model.transform(X)
    assert np.allclose(Y.T @ Y / len(X), np.eye(4))
    assert np.allclose(
        model.inverse_transform(Y),
        mm.PCA(4).fit(X).inverse_transform(Y * model.explained_variance_**0.5),
    )
    peer = decomposition.PCA(4, whiten=True).fit(X)
    assert np.allclose(np.abs(Y), np.abs(peer.transform(X)) * np.sqrt(len(X) / (len(X) - 1)))


def test_single_precision_is_kept_and_safe():
    X = (_data(5000) + 30.0).astype(np.float32)
    model, double = mm.PCA(3).fit(X), mm.PCA(3).fit(X.astype(float))
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    assert model.inverse_transform(model.transform(X)).dtype == np.float32
    assert np.allclose(np.abs(model.components_ @ double.components_.T), np.eye(3), atol=1e-4)
    difference = abs(model.certificate_.primal - double.certificate_.primal)
    assert difference <= model.certificate_.rounding <= 1e-4 * double.certificate_.primal * 100


def test_small_variances_keep_their_digits():
    """A product of the data with itself has lost them; "auto" notices."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    X = rng.standard_normal((30_000, 20)) * np.logspace(0, -9, 20) @ turn
    true = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / len(X)
    model = mm.PCA().fit(X)
    assert model.method_ == "svd"
    assert model.explained_variance_ == pytest.approx(true, rel=1e-5)
    assert mm.PCA(3).fit(X).method_ == "covariance"


def test_rows_far_from_zero():
    X = _data(300)
    for method in METHODS:
        far = _fit(X + 1e7, 3, method=method, tol=1e-10)
        assert np.allclose(far.explained_variance_, _fit(X, 3).explained_variance_, rtol=1e-6)


def test_without_centring_these_are_singular_vectors():
    X = _data()
    peer = decomposition.TruncatedSVD(3, algorithm="arpack", random_state=0).fit(X)
    for method in METHODS:
        model = _fit(X, 3, method=method, center=False, tol=1e-11)
        assert np.allclose(np.abs(model.components_ @ peer.components_.T), np.eye(3), atol=1e-4)
        assert model.singular_values_ == pytest.approx(peer.singular_values_)
        assert not model.mean_.any()


@pytest.mark.parametrize("d", [5, 2])
def test_batches_are_as_all_rows(d):
    X, s = _data(300, d), np.random.default_rng(0).uniform(size=300)
    model = mm.PCA(2)
    for rows in np.array_split(np.arange(300), 7):
        model.partial_fit(X[rows], sample_weight=s[rows])
    whole = mm.PCA(2).fit(X, sample_weight=s)
    assert np.allclose(model.components_, whole.components_)
    assert np.allclose(model.explained_variance_, whole.explained_variance_)
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, abs=1e-12)
    model.fit(X[:50]).partial_fit(X[50:100])  # begins anew
    assert model.n_samples_ == 50


def test_stochastic_batches_converge():
    X = _data(20_000)
    model = mm.PCA(2, method="stochastic")
    for part in np.array_split(X, 200):
        model.partial_fit(part)
    best = mm.PCA(2).fit(X)
    assert np.abs(np.linalg.det(model.components_ @ best.components_.T)) > 0.99
    assert np.allclose(model.mean_, X.mean(axis=0))
    assert model.certificate_.gap == np.inf
    assert "stream" in model.certificate_.infeasibility


def test_large_and_thin_certificates_are_true(monkeypatch):
    """Where the sides are long, by Ritz values: never a bound above the true optimum."""
    from minimand.reverse.components import iterative, methods

    monkeypatch.setattr(methods, "SIDE", 20)
    monkeypatch.setattr(methods, "_SMALL", 0)
    X = sparse.random(300, 200, 0.05, format="csr", random_state=0) + 0.0
    values = np.linalg.svd(X.toarray() - X.mean(axis=0), compute_uv=False) ** 2 / 300
    proved = mm.PCA(5, random_state=0).fit(X)
    assert proved.certificate_.relative <= 1e-6
    monkeypatch.setattr(iterative, "_CHEAP_TESTS", 12)
    with pytest.warns(ConvergenceWarning, match="too close to each other for a proof"):
        short = mm.PCA(5, random_state=0).fit(X)
    assert 1e-6 < short.certificate_.relative < 0.1
    for found in (proved, short):
        assert found.method_ == "krylov"
        assert found.certificate_.dual <= 0.5 * values[5:].sum()
        assert 0.5 * values[5:].sum() <= found.certificate_.primal * (1 + 1e-12)


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (np.ones((5, 3)), {"n_components": 4}, r"between 1 and min\(n_samples, n_features\)=3"),
        (np.ones((5, 3)), {"n_components": 0}, "n_components must be"),
        (np.ones((5, 3)), {"n_components": 1.5}, "n_components must be"),
        (np.ones((5, 3)), {"n_components": True}, "n_components must be"),
        (np.ones((5, 3)), {"n_components": "mle"}, "n_components must be"),
        (np.ones((5, 3)), {"method": "arpack"}, "method must be one of"),
        (np.ones((5, 3)), {"method": "power"}, "needs all variances"),
        (np.ones((5, 3)), {"tol": -1.0}, "tol must be"),
        (np.full((5, 3), np.nan), {}, "X contains NaN"),
        (np.ones(5), {}, "X must be 2D"),
        (sparse.csr_array(np.eye(3)), {"method": "svd"}, "method='svd' copies"),
    ],
)
def test_bad_input(X, options, words):
    with pytest.raises(ValueError, match=words):
        mm.PCA(**options).fit(X)


def test_rows_of_weight_zero_do_not_count():
    with pytest.raises(
        ValueError, match=r"between 1 and min\(rows of positive weight, n_features\)=2"
    ):
        mm.PCA(3).fit(np.eye(5), sample_weight=[1, 0, 2, 0, 0])


@pytest.mark.parametrize("method", METHODS)
def test_degenerate_data_work(method):
    for X in (np.ones((6, 3)), np.zeros((6, 3)), np.eye(3)[[0, 0, 0, 0]], np.ones((1, 3))):
        model = _fit(X, 1, method=method)
        assert model.certificate_.primal == pytest.approx(0, abs=1e-25)
        assert np.allclose(model.explained_variance_, 0, atol=1e-25)
        assert np.linalg.norm(model.components_) == pytest.approx(1)
        assert np.isfinite(model.transform(X)).all()
    full = _fit(np.repeat(_data(4, 5), 3, axis=0), 5, method=method)
    assert np.allclose(full.components_ @ full.components_.T, np.eye(5), atol=1e-9)


def test_frames_names_and_clean_data():
    X = _data(30, 4)
    kept = X.copy()
    kept.flags.writeable = False
    frame = pd.DataFrame(kept, columns=list("abcd"))
    model = mm.PCA(2).fit(frame)
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]
    assert list(model.set_output(transform="pandas").transform(frame).columns) == ["pca0", "pca1"]
    assert (kept == X).all()
    assert "objective" in repr(model)


@pytest.mark.parametrize("method", ["covariance", "krylov", "power", "stochastic"])
def test_a_fit_without_time_gives_a_true_certificate(method):
    X = _data(2000)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = mm.PCA(2, method=method, max_seconds=0.0, random_state=0).fit(X)
    best = mm.PCA(2).fit(X).certificate_
    assert model.certificate_.dual <= best.primal <= model.certificate_.primal * (1 + 1e-9)
    assert model.transform(X).shape == (2000, 2)


def test_a_decomposition_that_no_limit_could_stop_is_not_begun():
    """All variances of 6000 columns take more than ten seconds; there is a model before."""
    X = sparse.random(6000, 6000, 0.001, format="csr", random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = mm.PCA(max_seconds=5.0, random_state=0).fit(X)
    assert model.n_components_ == 1
    assert model.certificate_.dual <= model.certificate_.primal
    assert model.certificate_.relative <= 1.0


def test_callbacks_and_interrupts():
    X = _data(500)
    seen = []

    def stop(state):
        seen.append(state.iteration)
        return mm.STOP if state.iteration == 2 else None

    with pytest.warns(ConvergenceWarning, match="callback"):
        mm.PCA(2, method="power", tol=1e-14, callbacks=[stop], random_state=0).fit(X)
    assert seen == [0, 1, 2]

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(mm.Interrupted) as caught:
        mm.PCA(2, method="krylov", callbacks=[interrupt], random_state=0).fit(X)
    assert caught.value.result.transform(X).shape == (500, 2)


@pytest.mark.parametrize(
    "model",
    [
        mm.PCA(3),
        mm.PCA(3, whiten=True),
        decomposition.PCA(3),
        decomposition.PCA(3, svd_solver="randomized", iterated_power=0, random_state=0),
        decomposition.IncrementalPCA(3, batch_size=20),
        decomposition.TruncatedSVD(3, random_state=0),
    ],
)
def test_certify_judges_any_components_on_any_rows(model):
    X, new = _data(), _data(seed=1)
    model.fit(X)
    for rows in (X, new):
        found = mm.certify(model, rows)
        rebuilt = model.inverse_transform(model.transform(rows))
        error = 0.5 * np.mean(np.sum((rows - rebuilt) ** 2, axis=1))
        assert found.primal == pytest.approx(error)
        best = mm.PCA(3, center=hasattr(model, "mean_")).fit(rows).certificate_
        assert found.dual == pytest.approx(best.primal)
        assert found.gap == pytest.approx(error - best.primal, abs=1e-12)
    s = np.arange(len(X)) % 3
    weighted = mm.certify(model, X, sample_weight=s)
    assert weighted.primal == pytest.approx(mm.certify(model, np.repeat(X, s, axis=0)).primal)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 12), st.sampled_from(METHODS))
def test_certificates_enclose_the_optimum(seed, n, d, method):
    """On rows of any shape, rank and offset: dual ≤ least error of k directions ≤ primal."""
    rng = np.random.default_rng(seed)
    rank, k = int(rng.integers(1, d + 1)), int(rng.integers(1, min(n, d) + 1))
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) * 10 ** rng.uniform(-3, 3)
    X = X + rng.standard_normal(d) * 10 ** rng.uniform(-2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = mm.PCA(k, method=method, random_state=0).fit(X).certificate_
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    least, slack = 0.5 * values[k:].sum() / n, found.rounding + 1e-11 * values.sum() / n
    slack += 1e-20 * float(np.abs(X).max()) ** 2  # of the mean
    assert found.dual - slack <= least <= found.primal + slack


def test_plot():
    from matplotlib import pyplot

    for model in (mm.PCA(3).fit(_data()), mm.PCA(3, method="krylov", random_state=0).fit(_data())):
        ax = model.plot()
        assert "most by 3 directions" in [text.get_text() for text in ax.get_legend().get_texts()]
        pyplot.close(ax.figure)


def _expected_failures(estimator):
    if estimator.method != "stochastic":
        return {}
    return weights_are_no_copies("a step for each batch depends on which rows are in it")


@by_checks(
    [mm.PCA()],
    [mm.PCA(1, method=m) for m in [*METHODS[1:], "stochastic"]] + [mm.PCA(1, whiten=True)],
    _expected_failures,
)
def test_sklearn(estimator, check):
    quietly(estimator, check)


def test_constant_columns_are_exact_null_directions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) * np.array([1.0, 0.0, 2.0, 0.0, 3.0, 0.5]) + np.arange(6.0)
    model = mm.PCA(6).fit(X)
    vectors = model.components_
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(6), atol=1e-12)
    np.testing.assert_array_equal(model.explained_variance_[4:], 0.0)
    expected = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    np.testing.assert_allclose(model.explained_variance_, expected, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
    assert model.method_ == "covariance"
    assert model.certificate_.relative < 1e-12


@pytest.mark.parametrize("close", [False, True])
def test_power_iteration_proves_what_it_finds_or_warns(close):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 40)) * (1.0 if close else 1.1 ** -np.arange(40.0))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = mm.PCA(3, method="power", random_state=0, max_iter=20 if close else None).fit(X)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in said)
    assert warned == close
    assert (model.certificate_.relative <= 1e-6) != close
    variances = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / 300
    assert model.certificate_.dual <= 0.5 * variances[3:].sum() * (1 + 1e-12)
