"""PCA of sparse rows by narrow Krylov spaces: proved, also where eigenvalues lie close together."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import minimand as mm


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("center", [True, False])
def test_a_flat_spectrum_is_proved(center):
    X = sparse.random(2000, 400, 0.02, "csr", random_state=0)
    model = mm.PCA(10, method="krylov", center=center, random_state=0).fit(X)
    dense = X.toarray() - (X.mean(axis=0) if center else 0.0)
    values = np.linalg.svd(dense, compute_uv=False) ** 2 / 2000
    best = 0.5 * values[10:].sum()
    found = model.certificate_
    assert found.relative <= 1e-6
    assert found.dual <= best * (1 + 1e-12) <= found.primal * (1 + 1e-11)
    assert (np.diff(model.history_.primal) <= 1e-12).all()


@pytest.mark.parametrize("others", [1, 3, 30])
def test_equal_variances_of_more_directions_than_a_block_has(others):
    """A narrow space cannot tell them apart from fewer; the proof fails, and a wide one is next."""
    sizes = np.concatenate([np.full(9, 2.0), np.linspace(1.9, 1.5, others), np.ones(200)])
    X = sparse.diags_array(np.sqrt(sizes)).tocsr()
    model = mm.PCA(10, method="krylov", center=False, random_state=0).fit(X)
    np.testing.assert_allclose(model.explained_variance_, sizes[:10] / sizes.size, rtol=1e-4)
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("center", [True, False])
def test_few_components_are_searched_for_and_computed_where_no_proof_is_found(center, equal):
    n, rng = 1100, np.random.default_rng(0)
    X = sparse.eye_array(n, format="csr") if equal else None
    if X is None:
        groups = rng.integers(0, n, size=n)
        X = sparse.csr_array((np.ones(n), (np.arange(n), groups)), shape=(n, n))
    model = mm.PCA(2, center=center, random_state=0).fit(X)
    dense = X.toarray() - (X.mean(axis=0) if center else 0.0)
    best = 0.5 * np.sum(np.linalg.eigvalsh(dense @ dense.T)[:-2]) / n
    assert model.method_ == ("covariance" if equal else "krylov")
    found = model.certificate_
    assert found.relative <= 1e-6
    assert found.dual <= best * (1 + 1e-12) <= found.primal * (1 + 1e-11)
