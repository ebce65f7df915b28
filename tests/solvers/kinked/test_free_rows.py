"""Steps on the rows of a dual whose multipliers are free: linear systems."""

import numpy as np

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers.kinked.dual import dual_of
from minimand.solvers.kinked.free_rows import free_step


def test_where_all_rows_are_free_the_model_passes_through_all_of_them():
    rng = np.random.default_rng(0)
    n, d = 40, 100
    x, y, mass = rng.normal(size=(n, d)), rng.normal(size=n), rng.dirichlet(np.full(n, 5.0))
    penalty = mm.L2().bind(d, 1e-4)
    problem = Objective(mm.Absolute(), penalty, as_design(x), y, mass, intercept=False)
    form = dual_of(problem, problem.null)
    form.ascend(3, 0.0)
    assert np.abs(form.v).max() < 1.0  # all are free
    assert np.abs(x @ form.w - y).max() > 1e-2
    for _ in range(20):
        assert free_step(form) > 0
    np.testing.assert_allclose(x @ form.w, y, atol=1e-9)
    np.testing.assert_allclose(form.w, -x.T @ (mass * form.loss.sign * form.v) / 1e-4, atol=1e-9)
