"""Crammer-Singer, rankings and top-k losses with L2: quadratic programs, laws, certificates."""

import numpy as np
import pytest
from class_programs import COST, LOSSES, data, problem, program_value
from scipy import sparse
from sklearn.datasets import load_iris

import minimand as mm
from minimand.certificate import judge
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import Control, solve


def fitted(objective, tol=1e-8, solver="class_dual", **limits):
    return solve(objective, solver, Control(tol=tol, **limits))


ALL = [*LOSSES, mm.TopK(1), mm.WeightedRanking([2.5])]
BOTH = [(loss, solver) for loss in ALL for solver in ("class_dual", "class_primal_dual")]


@pytest.mark.parametrize(("loss", "solver"), BOTH, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_its_quadratic_program(loss, solver, intercept):
    X, y = data()
    rng = np.random.default_rng(1)
    objective = problem(
        loss, X, y, intercept=intercept, weights=rng.uniform(0.2, 2.0, len(y)),
        offset=0.3 * rng.standard_normal((len(y), 3)), l2=rng.uniform(0.5, 2.0, X.shape[1]),
    )  # fmt: skip
    solution = fitted(objective, solver=solver)
    assert solution.converged
    best = program_value(objective)
    assert solution.certificate.primal == pytest.approx(best, abs=3e-7 * objective.scale)
    assert solution.certificate.dual <= best + 1e-7 * objective.scale


@pytest.mark.parametrize("alpha", [1e3, 1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("separable", [True, False])
def test_interior_points_reach_every_alpha_from_any_start(alpha, separable):
    X, y = load_iris(return_X_y=True)
    X = X * [1.0, 1e4, 1e-4, 1.0]  # the units of the columns hardly matter either
    if separable:
        X, y = X[::3] + 1e3 * np.eye(4)[[0, 1, 3]][y[::3]], y[::3]
    weights = np.arange(len(y)) % 3.0  # some are absent
    objective = problem(mm.CrammerSinger(COST), X, y.astype(float), alpha, weights=weights)
    cold = fitted(objective, 1e-7, "class_primal_dual")
    assert cold.converged
    present = weights > 0
    without = problem(
        mm.CrammerSinger(COST), X[present], y[present].astype(float), alpha,
        weights=weights[present],
    )  # fmt: skip
    same = fitted(without, 1e-7, "class_primal_dual").certificate.primal
    assert same == pytest.approx(cold.certificate.primal, abs=2e-7 * objective.scale)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0):
        away = objective.point(cold.w + size * rng.standard_normal(cold.w.shape), cold.b)
        warm = solve(objective, "class_primal_dual", Control(tol=1e-7), away)
        assert warm.converged
        assert warm.certificate.primal <= cold.certificate.primal + 2e-7 * objective.scale


def test_interior_points_refuse_large_systems():
    _, y = data()
    wide = problem(mm.CrammerSinger(), np.zeros((40, 600)), y)
    with pytest.raises(ValueError, match="system of 1803 unknowns"):
        fitted(wide, solver="class_primal_dual")


@pytest.mark.parametrize("intercept", [True, False])
def test_two_classes_at_alpha_are_the_hinge_at_half_of_it(intercept):
    X, y = data(k=2, n=60)
    two = fitted(problem(mm.CrammerSinger(), X, y, 0.1, k=2, intercept=intercept))
    one = Objective(
        loss=mm.Hinge(), penalty=mm.L2().bind(X.shape[1], 0.05), design=as_design(X),
        y=2 * y - 1, mass=np.full(60, 1 / 60), intercept=intercept,
    )  # fmt: skip
    hinge = solve(one, "auto", Control(tol=1e-8))
    assert two.certificate.primal == pytest.approx(hinge.certificate.primal, abs=1e-7)
    assert two.w[:, 1] - two.w[:, 0] == pytest.approx(hinge.w, abs=1e-3)
    assert two.w.sum(axis=1) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_certificates_hold_everywhere(loss):
    X, y = data()
    for intercept in (True, False):
        objective = problem(loss, X, y, intercept=intercept)
        best = fitted(objective, 1e-9)
        low, high = best.certificate.dual, best.certificate.primal
        rng = np.random.default_rng(2)
        for size in (1e-3, 0.1, 1.0, 10.0):
            point = objective.point(
                best.w + size * rng.standard_normal(best.w.shape),
                best.b + intercept * size * rng.standard_normal(3),
            )
            theta = rng.standard_normal(point.z.shape)
            for duals in ([], [theta], [best.certificate.dual_point + 1e-3 * size * theta]):
                found = judge(objective, point, duals, thorough=True)
                assert 0 <= found.gap < np.inf
                assert found.primal - found.gap <= high + 1e-12
                assert found.gap >= found.primal - high - 1e-12
        for passes in (1, 2, 3):
            early = fitted(objective, 1e-12, max_iter=passes).certificate
            assert early.primal >= low - 1e-12
            assert early.dual <= high + 1e-12


def test_weights_are_copies_and_classes_may_be_permuted():
    X, y = data(3)
    counts = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    weighted = problem(mm.CrammerSinger(COST), X, y, weights=counts)
    copied = problem(
        mm.CrammerSinger(COST), np.repeat(X, counts.astype(int), axis=0),
        np.repeat(y, counts.astype(int)),
    )  # fmt: skip
    order = np.array([2, 0, 1])
    place = np.argsort(order)
    permuted = problem(
        mm.CrammerSinger(COST[np.ix_(order, order)]), X, place[y.astype(int)].astype(float),
        weights=counts,
    )  # fmt: skip
    one, two, three = fitted(weighted), fitted(copied), fitted(permuted)
    assert two.certificate.primal == pytest.approx(one.certificate.primal, abs=1e-7)
    assert three.certificate.primal == pytest.approx(one.certificate.primal, abs=1e-7)
    assert three.w == pytest.approx(one.w[:, order], abs=2e-3)


@pytest.mark.parametrize("form", ["csr", "fortran", "float32"])
def test_other_forms_of_the_data(form):
    X, y = data(4)
    X = np.where(np.abs(X) > 1.0, X, 0.0).astype(np.float32).astype(float)
    same = {
        "csr": sparse.csr_array, "fortran": np.asfortranarray, "float32": np.float32,
    }[form](X)  # fmt: skip
    one, two = (
        fitted(problem(mm.CrammerSinger(), X, y)),
        fitted(problem(mm.CrammerSinger(), same, y)),
    )
    assert two.certificate.primal == pytest.approx(one.certificate.primal, abs=1e-7)


def test_classes_of_one_sample_and_rows_of_zeros():
    X, y = data(5, k=4, n=30)
    y[y == 3] = 0.0
    y[7] = 3.0
    X[7] = 0.0
    solution = fitted(problem(mm.CrammerSinger(), X, y, k=4))
    assert solution.converged


def test_a_thousand_classes_in_bounded_memory():
    rng = np.random.default_rng(6)
    n, d, k = 600, 100, 1000
    y = rng.integers(0, k, n).astype(float)
    X = sparse.random_array((n, d), density=0.05, rng=rng, format="csr")
    objective = problem(mm.CrammerSinger(), X, y, 1e-2, k=k, intercept=False)
    solution = fitted(objective, 1e-3)
    assert solution.converged
    assert solution.w.shape == (d, k)


def test_a_warm_start_and_a_penalty_that_is_refused():
    X, y = data(7)
    objective = problem(mm.CrammerSinger(), X, y)
    first = fitted(objective)
    again = solve(objective, "class_dual", Control(tol=1e-6), first.point)
    assert again.converged
    lasso = Objective(
        loss=mm.CrammerSinger(), penalty=mm.L1().bind((5, 3), 0.1), design=as_design(X), y=y,
        mass=np.full(len(y), 1 / len(y)), n_scores=3,
    )  # fmt: skip
    with pytest.raises(ValueError, match="L2 on every coefficient"):
        solve(lasso, "class_dual")


def test_a_classifier_of_many_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    for loss in ("crammer_singer", "ranking", mm.TopK(2), mm.CrammerSinger(COST)):
        model = mm.Classifier(loss, alpha=1e-2).fit(X, names)
        assert model.certificate_.relative <= 1e-6
        assert model.coef_.shape == (3, 4)
        assert model.score(X, names) > 0.9
        assert mm.certify(model, X, names).relative <= 2e-6
    with pytest.raises(ValueError, match="4×4, but there are 3 classes"):
        mm.Classifier(mm.CrammerSinger(np.ones((4, 4)) - np.eye(4))).fit(X, names)
    with pytest.raises(ValueError, match=r"minimand\.Classifier"):
        mm.Regressor("crammer_singer").fit(X, y)
