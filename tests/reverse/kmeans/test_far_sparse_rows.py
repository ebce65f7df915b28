"""Sparse rows far from zero: their squared distances cancel, which is charged, and said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
import minimand.sklearn as ms


@pytest.mark.parametrize("model", [mm.KMeans(3), mm.SoftKMeans(3), ms.KMeans(3, n_init=1)])
def test_distances_that_are_rounding_are_named(model):
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[:, 2] += 1.7e9
    with pytest.warns(ConvergenceWarning, match=r"column 2 of X is far from zero") as said:
        model.fit(sparse.csr_matrix(X))
    assert len(said) == 1
    assert said[0].filename == __file__
    true = mm.KMeans(1).fit(X).inertia_
    assert model.certificate_.rounding > true  # nothing is known of the objective
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.fit(X).certificate_.rounding < 1e-6 * true


def test_equal_rows_and_smaller_shifts_are_not():
    with pytest.warns(UserWarning, match="duplicate points"):
        mm.KMeans(2).fit(sparse.csr_matrix(np.full((9, 2), 1e9)))
    rng = np.random.default_rng(1)
    for offset, d in ((0.0, 5), (1e3, 5), (1e5, 5), (1e5, 1500)):
        X = rng.normal(size=(80, d)) * (0.05 if d > 5 else 1.0) + offset * (np.arange(d) < 2)
        model = mm.KMeans(3, random_state=0).fit(sparse.csr_matrix(X))
        left = X - model.cluster_centers_[model.labels_]
        found = model.certificate_
        assert abs(model.inertia_ - np.square(left).sum()) <= found.rounding + 1e-13 * found.primal
        assert found.dual <= np.square(left).sum()
