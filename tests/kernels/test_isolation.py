"""A bandwidth far below the distances of the rows is told: on raw columns the default often is."""

import warnings

import numpy as np
import pytest

import minimand as mm
from minimand.kernels.isolation import isolates

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] > 0


@pytest.mark.parametrize("make", [mm.RBF, mm.Laplace, mm.Matern])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_it_is_a_matter_of_units(make, unit):
    copies = np.repeat(unit * X, 2, axis=0)  # which are near each other, but no other rows
    for rows in (unit * X, copies):
        assert isolates(make(0.02 * unit), rows)
        assert not isolates(make(unit), rows)
        assert not isolates(make(100 * unit), rows)


def test_what_has_no_bandwidth_or_few_rows_is_not_judged():
    assert not isolates(mm.Linear(), X)
    assert not isolates(mm.RBF(1e-3), X[:5])
    assert not isolates(mm.RBF(1e-3), np.ones((20, 3)))


@pytest.mark.parametrize("solver", ["auto", "smo"])
def test_fits_say_so(solver):
    model = mm.Classifier("hinge", features=mm.RBF(0.01), solver=solver)
    with pytest.warns(UserWarning, match=r"knows its training rows .* RBF\(tau='median'\)"):
        model.fit(X, Y)
    with warnings.catch_warnings(action="error"):
        model.set_params(features=mm.RBF("median")).fit(X, Y)
