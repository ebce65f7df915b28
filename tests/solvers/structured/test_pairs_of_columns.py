"""Products of weights that exist are those of the table with zeros elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimand.design import SparseDesign
from minimand.solvers.structured.crf.pairs_of_columns import PairProducts


@pytest.mark.parametrize("k", [2, 5, 22])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_products_are_those_of_the_whole_table(k, share):
    rng = np.random.default_rng(k)
    n, d, width = 40, 30, k + 2
    X = sparse.random_array((n, d), density=0.15, rng=rng, format="csr")
    exists = rng.random((d, k)) < share
    exists[0] = True  # a column with all weights, and one with none
    exists[1] = False
    coef = np.flatnonzero(exists)
    pairs = PairProducts(SparseDesign(X), coef, k, width)
    w, U = rng.normal(size=coef.size), rng.normal(size=(n, width))
    table = np.zeros((d, k))
    table.flat[coef] = w
    for _ in range(2):  # buffers are used again
        np.testing.assert_allclose(pairs.scores(w)[:, :k], X @ table, atol=1e-12)
        np.testing.assert_allclose(pairs.scores(w)[:, k:], 0.0)
        np.testing.assert_allclose(pairs.slope(U), np.ravel(X.T @ U[:, :k])[coef], atol=1e-12)
        table *= 2
        w = 2 * w
