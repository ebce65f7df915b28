"""Multipliers of several scores, moved onto the constraints of the dual."""

import numpy as np
import pytest
from class_programs import problem
from scipy.optimize import linprog
from sklearn.datasets import load_iris

import minimand as mm
from minimand._base.watch import StoppedError, watching
from minimand.certificate.repair_scores import balance_scores
from minimand.solvers import solve


def least_crammer_singer(X, y, k, low):
    """The optimum of mean max(0, 1 + z_c − z_y) for coefficients ≥ low, as a linear program."""
    n, d = X.shape
    rows = []
    for i in range(n):
        for c in set(range(k)) - {int(y[i])}:
            w, b, slack = np.zeros((d, k)), np.zeros(k), np.zeros(n)
            w[:, c], w[:, int(y[i])] = X[i], -X[i]
            b[c], b[int(y[i])], slack[i] = 1.0, -1.0, -1.0
            rows.append(np.concatenate([w.ravel(), b, slack]))
    cost = np.append(np.zeros(d * k + k), np.full(n, 1 / n))
    bounds = [(low, None)] * (d * k) + [(None, None)] * k + [(0, None)] * n
    return linprog(cost, np.array(rows), -np.ones(len(rows)), bounds=bounds).fun


@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize(
    ("penalty", "low"), [(mm.NoPenalty(), None), (mm.NonNegative(), 0.0)], ids=repr
)
def test_unpenalised_class_margins_are_proved_optimal(penalty, low, flip):
    """Iris: one class is separable, so its multipliers vanish at the optimum."""
    X, y = load_iris(return_X_y=True)
    X = flip * X
    objective = problem(mm.CrammerSinger(), X, y.astype(float), penalty=penalty)
    found = solve(objective, "class_primal_dual")
    best = least_crammer_singer(X, y, 3, low)
    assert found.converged
    assert found.certificate.primal == pytest.approx(best, abs=2e-6)
    assert found.certificate.dual <= best + 1e-9


def test_a_class_of_small_multipliers_is_balanced_by_these():
    """Others need not move: they have balance, and much to lose."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.arange(60) % 3
    objective = problem(mm.CrammerSinger(), X, y.astype(float))
    theta = rng.uniform(0.1, 0.4, (60, 3))
    theta[:, 0] *= 1e-8
    theta[y == 0] *= 1e-8
    theta[np.arange(60), y] = 0.0
    theta[np.arange(60), y] = -theta.sum(axis=1)
    curvature = objective.terms(objective.null.z).curvature
    even = balance_scores(objective, theta, curvature)
    assert even is not None
    off = even.copy()
    off[1] += [1e-11, -1e-11, 0.0]
    found = balance_scores(objective, off, curvature)
    assert found is not None
    assert np.abs(found - off).max() <= 1e-9
    assert np.abs(objective.weigh(found).sum(axis=0)).max() <= 1e-15


def test_a_repair_ends_when_time_is_over():
    X, y = load_iris(return_X_y=True)
    objective = problem(mm.Multinomial(), X, y.astype(float), penalty=mm.NoPenalty())
    terms = objective.terms(np.tile([1.0, 0.0, 0.0], (150, 1)))
    assert balance_scores(objective, terms.gradient, terms.curvature) is not None
    with watching(lambda: "late", hears=True), pytest.raises(StoppedError):
        balance_scores(objective, terms.gradient, terms.curvature)
