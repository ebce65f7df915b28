"""Distances that kernels of several bandwidths share: the same values, each computed once."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.kernels import distances, measures
from minimand.kernels.shared_distances import sharing_distances

RNG = np.random.default_rng(0)
NARROW, WIDE = RNG.normal(size=(40, 3)), RNG.normal(size=(40, 20))
KERNELS = [
    mm.RBF(0.7),
    mm.RBF(1e-7),
    mm.Laplace(2.0),
    mm.Matern(1.5, nu=0.5),
    mm.Matern(1.5, nu=np.inf),
    mm.Matern(1.5, nu=0.8),
    mm.Periodic(2.0, tau=0.5),
    mm.RBF(2.0) * mm.Laplace(1.0) + 0.5 * mm.Linear(),
    mm.RBF().on([0]) + mm.RBF().on([1, 2]),
    (mm.RBF() + mm.Polynomial(2)).normalize(),
    mm.Matern().center(),
    mm.RBF().by_degree(),
]


@pytest.mark.parametrize("X", [NARROW, WIDE, 1e3 + WIDE, sparse.csr_array(np.abs(NARROW))])
@pytest.mark.parametrize("room", [1e9, 8 * 40 * 7, 0])
def test_values_are_those_of_the_kernel(X, room):
    for kernel in KERNELS:
        check_values(kernel, X, room)


def check_values(kernel, X, room):
    bound = kernel.bind(X)
    x = bound.rows(X, training=True)
    some, others = np.array([5, 3, 17]), np.array([3, 21, 5, 8])
    with sharing_distances(room):
        for _ in range(2):
            rows = bound.measured(x)
            whole = bound.block(rows, rows[some])
            part = bound.block(rows[others], rows[some][:2])
            np.testing.assert_allclose(whole, bound.block(x, x[some]), rtol=1e-9, atol=1e-12)
            expected = bound.block(x[others], x[some[:2]])
            np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-12)
    assert bound.measured(x) is x or isinstance(x, distances.Parts)


@pytest.mark.parametrize("kernel", [mm.Laplace(), mm.Matern(), mm.RBF()], ids=repr)
def test_a_search_over_bandwidths_computes_each_distance_once(kernel, monkeypatch):
    y, pairs = np.sin(WIDE[:, 0]), []
    for home, name in itertools.product((distances, measures), ("by_entries", "products")):
        plain = getattr(home, name)

        def counted(x, z, *rest, plain=plain):
            pairs.append(x.shape[0] * z.shape[0])
            return plain(x, z, *rest)

        monkeypatch.setattr(home, name, counted)
    machine, taus = mm.Regressor(features=kernel), [0.3, 1.0, 3.0, 5.0]
    tuned = mm.Tuned(machine, alphas=5, cv="loo", grid={"features__tau": taus}).fit(WIDE, y)
    assert sum(pairs) <= 2 * 40 * 40  # and those of the rows among which pivots are chosen
    alone = [
        mm.Tuned(machine.set_params(features__tau=tau), alphas=5, cv="loo").fit(WIDE, y)
        for tau in taus
    ]
    best = max(alone, key=lambda each: each.best_score_)
    assert tuned.best_params_["features__tau"] == best.best_estimator_.features.tau
    np.testing.assert_allclose(tuned.best_score_, best.best_score_, rtol=1e-9)
    np.testing.assert_allclose(tuned.predict(WIDE[::-1]), best.predict(WIDE[::-1]), atol=1e-7)
