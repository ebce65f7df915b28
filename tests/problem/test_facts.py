"""Facts about the data are computed once for all objectives of the same data, and for no other."""

from dataclasses import replace

import numpy as np
import pytest

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective, Point

NAMES = "spread", "root_spread", "column_norms", "column_means"


def objective(n=30, d=5, seed=0, penalty=None):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, n)
    penalty = penalty or mm.L1(np.r_[0.0, 0.0, np.ones(d - 2)])
    x = as_design(rng.standard_normal((n, d)))
    y = rng.standard_normal(n)
    return Objective(mm.Squared(), penalty.bind(d, 0.1), x, y, weights / weights.sum())


def anew(problem):
    """The same problem without anything known."""
    return replace(problem, known=None)


def derived(problem):
    columns = np.array([0, 2, 3])
    return {
        "with_target": problem.with_target(problem.y[::-1].copy()),
        "with_penalty": problem.with_penalty(mm.L2().bind(5, 0.3)),
        "columns": problem.with_penalty(mm.L2().bind(3, 0.3), columns=columns),
        "loss": replace(problem, loss=mm.Absolute()),
        "thinned": problem.thinned(3),
        "on_rows": problem.on_rows(np.array([1, 4, 5, 20])),
        "weighted": problem.weighted(mm.Squared(), np.linspace(0, 1, 30))[0],
        "intercept": replace(problem, intercept=False),
        "design": replace(problem, design=as_design(np.eye(30, 5))),
    }


SHARED = {"with_target", "with_penalty", "loss"}


@pytest.mark.parametrize("name", derived(objective()))
def test_facts_are_those_of_the_data(name):
    base = objective()
    for fact in NAMES:
        getattr(base, fact)
    _ = base.free_basis
    made = derived(base)[name]
    assert (made.facts is base.facts) == (name in SHARED)
    for fact in NAMES:
        np.testing.assert_allclose(getattr(made, fact), getattr(anew(made), fact), rtol=1e-13)
    free, fresh = made.free_basis, anew(made).free_basis
    assert free.kept.tolist() == fresh.kept.tolist()


def test_a_fact_is_computed_once_whoever_asks_first():
    base = objective()
    other = base.with_target(base.y + 1.0)
    assert base.facts.spread is None
    passes = other.meter.passes
    assert base.spread is not other.root_spread
    assert other.spread is base.spread
    _ = other.free_basis
    assert base.basis_of(np.array([0, 1])) is other.free_basis
    assert other.meter.passes == passes + 1  # for the basis alone


@pytest.mark.parametrize("first", ["spread", "column_means"])
def test_sizes_and_means_of_columns_take_one_pass(first):
    base = objective()
    passes = base.meter.passes
    getattr(base, first)
    x = base.design.x
    np.testing.assert_allclose(base.spread, base.mass @ x**2, rtol=1e-13)
    np.testing.assert_allclose(base.column_means, base.mass @ x, rtol=1e-12, atol=1e-15)
    assert base.meter.passes == passes + 1


def test_rows_of_equal_curvature_have_the_means_of_the_columns():
    base = objective()
    even, uneven = 0.25 * base.mass, base.mass * np.linspace(1.0, 1.0 + 1e-9, 30)
    _ = base.column_means
    passes = base.meter.passes
    for extra, h in enumerate((even, uneven)):
        mean = h @ base.design.x / h.sum()
        np.testing.assert_allclose(base.mean_row(h), mean, rtol=1e-13, atol=1e-15)
        assert base.meter.passes == passes + extra


def test_sizes_of_used_columns_are_kept_for_the_next_model():
    base = objective(d=20, penalty=mm.L1())
    size = np.sqrt(base.mass @ base.design.x**2)
    for used in ([3, 7], [3, 7, 11], [0], []):
        w = np.zeros(20)
        w[used] = np.arange(1.0, len(used) + 1)
        found = base.reach(Point(w, -0.5, base.design.matvec(w)))
        assert found == pytest.approx(size @ np.abs(w) + 0.5, rel=1e-13)
    assert base.facts.spread is None
    assert np.flatnonzero(~np.isnan(base.facts.sizes)).tolist() == [0, 3, 7, 11]
