"""Interior points on class margins: programs, badly scaled columns, penalties with kinks."""

import warnings

import numpy as np
import pytest
from class_programs import COST, LOSSES, data, problem, program_value
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import minimand as mm
from minimand.certificate import judge
from minimand.solvers import Control, solve

UNEVEN = 10.0 ** np.linspace(-8, 4, 5)
PENALTIES = {
    "l2": mm.L2(),
    "l1": mm.L1(),
    "elastic net": 0.5 * mm.L1() + 0.5 * mm.L2(),
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_equals_its_program(loss, penalty, intercept):
    """Weights, offsets and a class of one sample."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, y = data(seed, n=24, d=4)
        y[y == 2] = 0.0
        y[5] = 2.0
        objective = problem(
            loss, X, y, intercept=intercept, penalty=PENALTIES[penalty],
            weights=rng.uniform(0.2, 2.0, len(y)), offset=0.3 * rng.standard_normal((len(y), 3)),
        )  # fmt: skip
        found = solve(objective, "class_primal_dual", Control(tol=1e-8))
        assert found.converged
        best = program_value(objective)
        assert found.certificate.primal == pytest.approx(best, abs=3e-7 * objective.scale)
        assert found.certificate.dual <= best + 1e-7 * objective.scale


@pytest.mark.parametrize("penalty", PENALTIES)
def test_certificates_hold_everywhere(penalty):
    X, y = data()
    objective = problem(mm.CrammerSinger(COST), X, y, penalty=PENALTIES[penalty])
    best = solve(objective, "class_primal_dual", Control(tol=1e-9))
    high = best.certificate.primal
    rng = np.random.default_rng(2)
    for size in (1e-3, 0.1, 10.0):
        w = best.w + size * rng.standard_normal(best.w.shape)
        point = objective.point(w, best.b + size * rng.standard_normal(3))
        theta = rng.standard_normal(point.z.shape)
        for duals in ([], [theta], [best.certificate.dual_point + 1e-3 * size * theta]):
            found = judge(objective, point, duals, thorough=True)
            assert found.primal - found.gap <= high + 1e-12
            assert found.gap >= found.primal - high - 1e-12


@pytest.mark.parametrize("loss", [mm.CrammerSinger(), mm.Ranking(), mm.TopK(2)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_columns_of_any_size(loss, intercept):
    """Dual ascent hands over where sweeps would not end."""
    X, y = data(1, n=60)
    for penalty in ("l2", "l1"):
        model = mm.Classifier(loss, penalty, alpha=0.01, intercept=intercept).fit(X * UNEVEN, y)
        assert model.certificate_.relative <= 1e-6
    small = mm.Classifier(loss, "l2", alpha=0.01, intercept=intercept).fit(1e-8 * X, y)
    assert small.certificate_.relative <= 1e-6


@pytest.mark.parametrize("load", [load_wine, load_iris, load_breast_cancer])
def test_raw_columns(load):
    X, y = load(return_X_y=True)
    for intercept in (True, False):
        model = mm.Classifier(mm.CrammerSinger(), "l2", intercept=intercept).fit(X, y)
        assert model.certificate_.relative <= 1e-6


def test_l1_makes_exact_zeros():
    X, y = load_wine(return_X_y=True)
    model = mm.Classifier(mm.CrammerSinger(), "l1", alpha=0.05).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert 0 < np.count_nonzero(model.coef_) < model.coef_.size / 2
    top = mm.alpha_max(model, X, y)
    assert not mm.Classifier(mm.CrammerSinger(), "l1", alpha=1.001 * top).fit(X, y).coef_.any()


def test_bounds():
    X, y = load_wine(return_X_y=True)
    model = mm.Classifier(mm.CrammerSinger(), mm.L2() + mm.NonNegative(), alpha=0.1).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert (model.coef_ >= 0).all()


def test_two_classes_are_the_hinge():
    """L1 of scores that are opposite: Σ|w| of one of them, twice."""
    X, y = data(k=2, n=60)
    two = solve(problem(mm.CrammerSinger(), X, y, 0.05, k=2, penalty=mm.L1()), "auto")
    hinge = mm.Classifier("hinge", "l1", alpha=0.05).fit(X, y)
    assert two.certificate.primal == pytest.approx(hinge.certificate_.primal, rel=1e-5)


def test_limits_are_kept():
    X, y = load_wine(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for limit in ({"max_iter": 2}, {"max_seconds": 1e-3}):
            model = mm.Classifier(mm.CrammerSinger(), "l1", alpha=0.01, **limit).fit(X, y)
            assert 1e-6 < model.certificate_.relative <= 1.0
