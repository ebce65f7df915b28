"""Steps of pairs on generated rows: the gap, bounded memory, warm starts, and libsvm's answer."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

import minimand as mm
from minimand.design import KernelDesign
from minimand.problem.objective import Objective
from minimand.solvers import Control, solve

GAMMA = 0.3


class Gaussian:
    """A kernel as a design asks for it."""

    def block(self, x, z):
        return rbf_kernel(x, z, gamma=GAMMA).astype(x.dtype, copy=False)

    def gram(self, x):
        return self.block(x, x)

    def fill(self, x, z, out):
        out[...] = self.block(x, z)

    def diagonal(self, x):
        return np.ones(len(x))

    def times(self, x, z, a):
        return self.block(x, z) @ a


class Wrapped:
    """Rows that are no array, so that the samples stay in their order."""

    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, rows):
        return Wrapped(self.x[rows])


class OfWrapped(Gaussian):
    def block(self, x, z):
        return Gaussian().block(x.x, z.x)


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, np.sign(X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(n)), X[:, 0] ** 2


def problem(loss, design, y, C=3.0, intercept=True, weights=None, offset=None):
    n = design.shape[0]
    s = np.ones(n) if weights is None else weights
    return Objective(
        loss=loss,
        penalty=mm.L2().bind(n, 1.0 / (C * s.sum())),
        design=design,
        y=y,
        mass=s / s.sum(),
        offset=offset,
        intercept=intercept,
    )


LOSSES = [
    mm.Hinge(),
    mm.EpsilonInsensitive(0.1),
    mm.Quantile(0.8),
    mm.Absolute(),
    mm.PerceptronLoss(),
]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gap_is_met_with_weights_and_offset(loss, intercept):
    X, sign, y = data(150)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, 150).astype(float)
    target = sign if loss.target == "sign" else y
    offset = 0.1 * rng.standard_normal(150)
    design = KernelDesign(Gaussian(), X)
    objective = problem(loss, design, target, intercept=intercept, weights=weights, offset=offset)
    solution = solve(objective, control=Control(tol=1e-8))
    assert solution.solver == "smo"
    assert solution.converged
    assert solution.certificate.relative <= 1e-8
    # weights k ≡ k copies, weight 0 ≡ absent
    copies = np.repeat(np.arange(150), weights.astype(int))
    repeated = problem(
        loss,
        KernelDesign(Gaussian(), X[copies]),
        target[copies],
        intercept=intercept,
        offset=offset[copies],
    )
    again = solve(repeated, control=Control(tol=1e-8))
    assert again.certificate.primal == pytest.approx(solution.certificate.primal, rel=1e-7)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("rows", [64, 100, 1000])
def test_bounded_memory_and_any_source_of_rows_give_the_same_model(rows, wrapped):
    X, y, _ = data(600)
    design = KernelDesign(OfWrapped(), Wrapped(X)) if wrapped else KernelDesign(Gaussian(), X)
    objective = problem(mm.Hinge(), design, y)
    control = Control(tol=1e-7, memory=4.0 * 600 * rows)
    solution = solve(objective, "smo", control)
    assert solution.converged
    model = SVC(C=3.0, gamma=GAMMA, tol=1e-8).fit(X, y)
    a = np.zeros(600)
    a[model.support_] = model.dual_coef_[0]
    theirs = objective.primal(objective.point(a, float(model.intercept_[0])))
    assert abs(theirs - solution.certificate.primal) <= 2e-7 * objective.scale
    np.testing.assert_allclose(model.decision_function(X), solution.point.z, atol=3e-3)


def test_regression_is_libsvms():
    X, _, y = data(300)
    objective = problem(mm.EpsilonInsensitive(0.1), KernelDesign(Gaussian(), X), y)
    solution = solve(objective, "smo", Control(tol=1e-9))
    model = SVR(C=3.0, gamma=GAMMA, epsilon=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict(X), solution.point.z, atol=1e-4)
    assert abs(solution.w.sum()) <= 1e-12 * np.abs(solution.w).sum()


def test_samples_in_another_order_give_the_same_scores():
    X, y, _ = data(300)
    order = np.random.default_rng(5).permutation(300)
    one = solve(problem(mm.Hinge(), KernelDesign(Gaussian(), X), y), "smo", Control(tol=1e-10))
    other = problem(mm.Hinge(), KernelDesign(Gaussian(), X[order]), y[order])
    two = solve(other, "smo", Control(tol=1e-10))
    np.testing.assert_allclose(one.point.z[order], two.point.z, atol=1e-3)
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-9)


def test_a_warm_start_of_another_C_is_used():
    X, y, _ = data(400)
    design = KernelDesign(Gaussian(), X)
    first = solve(problem(mm.Hinge(), design, y, C=3.0), "smo", Control(tol=1e-8))
    for C in (0.5, 3.1, 50.0):
        objective = problem(mm.Hinge(), design, y, C=C)
        start = objective.point(first.w, first.b)
        assert solve(objective, "smo", Control(tol=1e-8), start).converged
        cold = solve(objective, "smo", Control(tol=1e-8))
        assert cold.certificate.relative <= 1e-8


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_penalties_are_certified(C):
    X, y, _ = data(120)
    objective = problem(mm.Hinge(), KernelDesign(Gaussian(), X), y, C=C)
    solution = solve(objective, "smo", Control(tol=1e-6))
    assert solution.converged
    assert solution.certificate.gap >= 0


@pytest.mark.parametrize("intercept", [True, False])
def test_one_class_and_equal_points(intercept):
    X, y, _ = data(60)
    for rows, target in ((X, np.ones(60)), (np.ones((60, 4)), y)):
        objective = problem(mm.Hinge(), KernelDesign(Gaussian(), rows), target, intercept=intercept)
        solution = solve(objective, "smo", Control(tol=1e-6))
        assert solution.converged


def test_a_stopped_fit_keeps_its_true_gap():
    X, y, _ = data(400)
    objective = problem(mm.Hinge(), KernelDesign(Gaussian(), X), y, C=1e3)
    stopped = solve(objective, "smo", Control(tol=1e-12, callbacks=[lambda state: mm.STOP]))
    assert not stopped.converged
    best = solve(objective, "smo", Control(tol=1e-9)).certificate.primal
    assert stopped.certificate.primal - best <= stopped.certificate.gap * (1 + 1e-9)


def test_other_problems_are_refused_in_words():
    X, y, _ = data(30)
    design = KernelDesign(Gaussian(), X)
    with pytest.raises(ValueError, match="straight pieces"):
        solve(problem(mm.Logistic(), design, y), "smo")

    class Steeper(mm.Margin):
        pieces = mm.Pieces([0.0, 1.0], [-2.0, -1.0, 0.0], base=1.0)

    with pytest.raises(ValueError, match="a line up and a line down"):
        solve(problem(Steeper(), design, y), "smo")
    with pytest.raises(ValueError, match="inner products of rows"):
        mm.Classifier("hinge", solver="smo").fit(X, y)


@pytest.mark.parametrize("C", [1e-3, 1e-2])
def test_samples_without_a_partner_among_the_active_ones(C):
    """Nearly all samples end at their bound, and one class has many more of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    y = np.where(rng.random(2000) < 0.35, 1.0, -1.0)
    objective = problem(mm.Hinge(), KernelDesign(Gaussian(), X), y, C=C)
    assert solve(objective, "smo", Control(tol=1e-4)).converged
