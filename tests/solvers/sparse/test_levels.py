"""Multinomial with L1: a number added to all coefficients of a feature changes the norm alone."""

import warnings

import numpy as np
import pytest

import minimand as mm
from minimand.certificate import judge
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers.sparse.levels import levelled


def classes(seed, k=4, n=100, d=20):
    """Columns of very different sizes and means."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d) + 10.0 ** rng.uniform(-2, 3, d)
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal((d, k))
    return X, np.argmax(z + rng.gumbel(size=z.shape), axis=1)


def problem(X, y, penalty, k, alpha=0.01):
    design = as_design(X)
    return Objective(
        loss=mm.Multinomial(), penalty=penalty.bind((design.shape[1], k), alpha), design=design,
        y=y.astype(float), mass=np.full(len(y), 1 / len(y)), n_scores=k,
    )  # fmt: skip


@pytest.mark.parametrize("k", [3, 4])
def test_the_level_of_least_norm(k):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 6)), np.arange(30) % k
    objective = problem(X, y, mm.L1(weights=[1.0, 2.0, 0.0, 1.0, 1.0, 1.0]), k)
    point = objective.point(rng.standard_normal((6, k)), rng.standard_normal(k))
    found = levelled(objective, point)
    assert objective.mean_loss(found.z) == pytest.approx(objective.mean_loss(point.z), rel=1e-12)
    assert found.z == pytest.approx(objective.scores(found.w, found.b), abs=1e-12)
    assert (found.w[2] == point.w[2]).all()  # not penalised
    for shift in np.linspace(-3.0, 3.0, 601):  # no other level has a lesser norm
        moved = np.abs(point.w + shift).sum(axis=1)
        assert (np.abs(found.w).sum(axis=1) <= moved + 1e-12)[[0, 1, 3, 4, 5]].all()
    assert levelled(objective, found) is found
    curved = problem(X, y, mm.L1() + 0.1 * mm.L2(), k)
    assert levelled(curved, point) is point
    assert levelled(objective, objective.null) is objective.null


@pytest.mark.parametrize("seed", range(3))
def test_unscaled_columns_close(seed):
    X, y = classes(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mm.Classifier("multinomial", "l1", alpha=1e-4, max_iter=100).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    ordered = np.sort(model.coef_, axis=0)
    assert ((ordered[1] <= 0) & (ordered[2] >= 0)).all()  # zero is a median of every feature
    # The same model in other units of the columns, where each has its own weight.
    size, mean = X.std(axis=0), X.mean(axis=0)
    objective = problem((X - mean) / size, y, mm.L1(weights=1 / size), 4, 1e-4)
    w = model.coef_.T * size[:, None]
    found = judge(objective, objective.point(w, model.intercept_ + model.coef_ @ mean))
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert model.certificate_.dual <= found.primal
