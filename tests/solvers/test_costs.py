"""Which solver estimates of cost lead to, on shapes where others take many times as long."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import as_design
from minimand.losses import REGISTRY
from minimand.problem.objective import Objective
from minimand.solvers import SOLVERS
from minimand.solvers.base import Control
from minimand.solvers.shape import Shape

ALPHAS = [1e-6, 1e-4, 1e-2]


def classes(n, d, density=None, seed=0):
    """Two classes that overlap, in dense or sparse rows."""
    rng = np.random.default_rng(seed)
    if density is None:
        X = rng.standard_normal((n, d))
    else:
        X = sparse.random(n, d, density, format="csr", random_state=rng)
    z = np.asarray(X @ rng.standard_normal(d)).ravel()
    return X, np.where(z + z.std() * rng.standard_normal(n) > 0, 1, -1)


def chosen(model, X, y):
    """The solver that would run."""
    (name,) = [v.split()[1] for v in str(mm.explain(model, X, y)).splitlines() if "→" in v]
    return name


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("n", "d"), [(400, 400), (200, 800), (300, 3000)])
def test_as_many_columns_as_rows_are_for_the_dual(n, d, alpha):
    """Newton changes a few rows per step there, up to 200 times."""
    X, y = classes(n, d)
    assert chosen(mm.Classifier("squared_hinge", "l2", alpha=alpha), X, y) == "dual"


@pytest.mark.parametrize("alpha", ALPHAS[:2])
def test_sparse_rows_with_many_columns_are_for_the_dual(alpha):
    """As texts are."""
    X, y = classes(1000, 4000, density=0.01)
    assert chosen(mm.Classifier("squared_hinge", "l2", alpha=alpha), X, y) == "dual"


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("n", "d"), [(2000, 5), (3000, 30), (2000, 200)])
def test_many_rows_are_for_newton(n, d, alpha):
    """A few systems of d unknowns, whatever rows weigh."""
    X, y = classes(n, d)
    assert chosen(mm.Classifier("squared_hinge", "l2", alpha=alpha), X, y) == "newton"


def test_very_many_short_rows_are_for_newton():
    """A visit of dual ascent costs more than the few numbers of such a row."""
    X, y = classes(30000, 3)
    assert chosen(mm.Classifier("logistic", "l2", alpha=1e-3), X, y) == "newton"


def test_hinge_on_wide_rows_is_for_the_dual():
    """Interior points factorise a system of n unknowns twenty times."""
    X, y = classes(300, 1200)
    assert chosen(mm.Classifier("hinge", "l2", alpha=1e-3), X, y) == "dual"
    tall, labels = classes(2000, 20)
    assert chosen(mm.Classifier("hinge", "l2", alpha=1e-3), tall, labels) == "primal_dual"


@pytest.mark.parametrize(("n", "d"), [(150, 40), (450, 10), (450, 40), (2000, 40)])
def test_hinge_on_rows_that_weigh_little_is_for_the_dual(n, d):
    """A few sweeps: interior points took two to three times as long."""
    X, y = classes(n, d)
    assert chosen(mm.Classifier("hinge", "l2", alpha=0.1), 0.1 * X, y) == "dual"
    assert chosen(mm.Classifier("hinge", "l2", alpha=1e-4), X, y) == "primal_dual"


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rare_classes_are_for_the_dual(loss, alpha):
    """At most twice as many rows as the rare class has are at their bound, and columns abound.

    Interior points took ten times as long, and Newton's method up to a hundred times.
    """
    X, _ = classes(1000, 150)
    order = np.argsort(X @ np.arange(150.0))
    model = mm.Classifier(loss, "l2", alpha=alpha)
    rare, even = order < 20, order < 500
    assert chosen(model, X, rare) == "dual"
    assert chosen(model, X, ~rare) == "dual"
    if alpha < 1e-2:
        assert chosen(model, X, even) != "dual"
        assert chosen(model.set_params(intercept=False), X, rare) != "dual"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_classes_share_part_of_an_ascent(loss):
    """Many classes are cheaper each than one alone, by no more than the whole cost."""
    X, y = classes(100, 10)
    penalty, mass = mm.L2().bind(10, 0.1), np.full(100, 0.01)
    binary = REGISTRY.get(loss)
    objective = Objective(binary, penalty, as_design(X), y.astype(float), mass)
    verdict = SOLVERS["dual"].verdict(objective, Control())
    assert 0 < verdict.once < verdict.cost
    assert verdict.cost_of_each(100) < verdict.cost_of_each(2) < verdict.cost_of_each(1)


def test_shape_counts_columns_that_outweigh_their_penalty():
    """Σ s/(s + l2), and the mean weight of a row, Σ s/(n·l2)."""
    X, y = classes(50, 4)
    X = X * [1.0, 10.0, 0.0, 1e-3]
    penalty, mass = mm.L2().bind(4, 0.5), np.full(50, 1 / 50)
    objective = Objective(mm.SquaredHinge(), penalty, as_design(X), y.astype(float), mass)
    shape = Shape(objective, objective.penalty.sum_over_features)
    spread = (X**2).mean(axis=0)
    assert shape.columns == pytest.approx((spread / (spread + 0.5)).sum())
    assert shape.weight == pytest.approx((spread / 0.5).sum() / 50)
    assert 0 < shape.dependent < 1
    assert shape.crowded == 0


def test_rows_that_few_factors_rule_are_told_from_random_ones():
    """What a row has of its own decides how fast sweeps over wide rows are."""
    rng = np.random.default_rng(1)
    own = rng.standard_normal((60, 500))
    ruled = 0.1 * own + rng.standard_normal((60, 3)) @ rng.standard_normal((3, 500))
    found = []
    for X in (own, ruled):
        penalty, mass = mm.L2().bind(500, 1e-3), np.full(60, 1 / 60)
        objective = Objective(mm.Huber(), penalty, as_design(X), X[:, 0], mass)
        found.append(Shape(objective, objective.penalty.sum_over_features).uneven)
    assert found[0] < 3
    assert found[1] > 30
