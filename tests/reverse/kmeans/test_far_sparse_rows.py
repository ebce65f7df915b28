"""Sparse rows far from zero: their squared distances cancel, which is charged or refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
import minimand.sklearn as ms


@pytest.mark.parametrize("model", [mm.KMeans(3), mm.SoftKMeans(3), ms.KMeans(3, n_init=1)])
def test_distances_that_are_rounding_are_refused(model):
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[:, 2] += 1.7e9
    with pytest.raises(ValueError, match=r"column 2 of X is far from zero, about 1\.7e\+09"):
        model.fit(sparse.csr_matrix(X))
    assert model.fit(X).n_iter_ > 0


def test_equal_rows_and_smaller_shifts_are_not():
    with pytest.warns(UserWarning, match="duplicate points"):
        mm.KMeans(2).fit(sparse.csr_matrix(np.full((9, 2), 1e9)))
    rng = np.random.default_rng(1)
    for offset in (0.0, 1e3, 1e5):
        X = rng.normal(size=(80, 5)) + offset * (np.arange(5) < 2)
        model = mm.KMeans(3, random_state=0).fit(sparse.csr_matrix(X))
        left = X - model.cluster_centers_[model.labels_]
        found = model.certificate_
        assert abs(model.inertia_ - np.square(left).sum()) <= found.rounding + 1e-13 * found.primal
        assert found.dual <= np.square(left).sum()
