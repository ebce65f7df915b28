"""What a path remembers is true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import L1, Squared
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.problem.path_facts import PathFacts
from minimand.problem.path_gram import PathGram


def problem(seed, order, intercept, l1):
    rng = np.random.default_rng(seed)
    n, d = 30, 80
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d) + rng.standard_normal(d)
    mass = rng.random(n)
    mass /= mass.sum()
    design = as_design(np.asarray(X, order=order))
    penalty = L1(weights=rng.random(d)).bind(d, l1)
    y = rng.standard_normal(n)
    return (
        rng,
        X,
        Objective(Squared(), penalty, design, y, mass, intercept=intercept, path_facts=PathFacts()),
    )


@given(
    seed=st.integers(0, 10_000),
    order=st.sampled_from("CF"),
    intercept=st.booleans(),
    l1=st.floats(0.01, 100.0),
    moves=st.lists(st.sampled_from([0.0, 1e-15, 1e-6, 1e-3, 0.1, 1.0]), min_size=1, max_size=6),
)
@settings(max_examples=60, deadline=None)
def test_slopes_are_exact_or_stand_for_one_inside_the_box(seed, order, intercept, l1, moves):
    rng, X, objective = problem(seed, order, intercept, l1)
    theta = rng.standard_normal(30)
    for move in moves:
        theta = theta + move * rng.standard_normal(30)
        if intercept:
            theta = theta - objective.mass @ theta
        w = np.where(rng.random(80) < 0.05, 1.0, 0.0)
        ((slope, exact),) = objective.slopes(w, [theta])
        true = X.T @ (objective.mass * theta)
        known = np.ones(80, dtype=bool) if exact is None else exact
        size = np.sqrt(objective.mass @ X**2) * np.sqrt(objective.mass @ theta**2)
        assert (np.abs(slope - true)[known] <= 1e-13 * size[known]).all()
        assert known[w != 0].all()
        box = objective.penalty.l1
        assert (np.abs(true)[~known] <= box[~known]).all()
        assert (np.abs(slope)[~known] <= box[~known]).all()


def test_columns_that_stay_inside_are_not_looked_at():
    rng, _, objective = problem(0, "F", True, 1e6)
    theta = rng.standard_normal(30)
    theta -= objective.mass @ theta
    objective.slopes(np.zeros(80), [theta])
    assert objective.column_norms.all()
    before = objective.meter.passes
    _, exact = objective.slopes(np.zeros(80), [1.01 * theta])[0]
    assert objective.meter.passes - before < 1
    assert exact is not None
    assert not exact.all()


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("reserved", [0, 1 << 28])
def test_a_remembered_gram_is_the_gram(centred, kind, reserved, monkeypatch):
    from scipy import sparse

    monkeypatch.setattr("minimand.problem.path_gram._RESERVED", reserved)

    rng = np.random.default_rng(1)
    X = rng.standard_normal((25, 700)) + 3.0
    X[:, 7] = 4.0
    mass = rng.random(25)
    mass /= mass.sum()
    residual = rng.standard_normal(25)
    residual -= mass @ residual
    gram = PathGram(
        as_design(sparse.csc_matrix(X) if kind == "sparse" else X), mass, centred, residual
    )
    for columns in ([5, 2, 7], [2, 5], list(range(300)), list(range(250, 700))):
        gram.add(np.array(columns))
    order = gram.columns
    assert sorted(order) == list(range(700))
    Z = X - mass @ X if centred else X
    expected = (Z * mass[:, None]).T @ Z
    assert np.allclose(gram.gram[:700, :700], expected[np.ix_(order, order)], atol=1e-12)
    assert np.allclose(gram.linear[:700], (Z.T @ (mass * residual))[order], atol=1e-12)
    place = int(np.flatnonzero(order == 7)[0])
    if centred:
        assert (gram.gram[place] == 0).all()
