"""Components are judged by what they lose, whoever fitted them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.datasets import load_digits

import minimand as mm

X = load_digits().data[:300]


@pytest.mark.parametrize("whiten", [False, True])
def test_exact_components_are_proved_optimal(whiten):
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    for model in (
        decomposition.PCA(5, svd_solver="full", whiten=whiten).fit(X),
        mm.PCA(5).fit(X),
    ):
        found = mm.certify(model, X)
        assert found.kind == "global"
        assert found.relative <= 1e-12
        assert found.primal == pytest.approx(0.5 * values[5:].sum())
    rows = sparse.csr_matrix(X)
    assert mm.certify(mm.PCA(5).fit(rows), rows).relative <= 1e-9


def test_rough_components_are_not():
    rough = decomposition.PCA(5, svd_solver="randomized", iterated_power=0, random_state=0).fit(X)
    found = mm.certify(rough, X)
    kept = X - rough.inverse_transform(rough.transform(X))
    assert found.primal == pytest.approx(0.5 * (kept**2).sum() / 300)
    assert found.gap > 1e-3 * found.primal
    plain = decomposition.TruncatedSVD(4, algorithm="arpack", random_state=0).fit(X)
    assert mm.certify(plain, X).relative <= 1e-9
    with pytest.raises(TypeError, match="thorough"):
        mm.certify(rough, X, thorough=True)
