"""Newton's method for k scores: the multinomial loss with L2 or no penalty."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

import minimand as mm
from minimand.certificate import judge
from minimand.design import Standardized, as_design
from minimand.problem.objective import Objective
from minimand.solvers import Control
from minimand.solvers.loop import solve
from score_problems import objective_of_scores


def classes(seed=0, n=120, d=5, k=3, noise=1.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d) + rng.uniform(-3, 3, d)
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal((d, k))
    y = np.argmax(z + noise * rng.gumbel(size=z.shape), axis=1).astype(float)
    assert len(np.unique(y)) == k
    return X, y


def problem(X, y, alpha, loss=None, intercept=True, weights=None, offset=None, k=None, l2=None):
    loss = mm.Multinomial() if loss is None else loss
    k = loss.scores_for(int(y.max()) + 1) if k is None else k
    penalty, options = mm.NoPenalty() if alpha == 0 else mm.L2(l2), {"offset": offset}
    options["intercept"] = intercept
    return objective_of_scores(loss, penalty, X, y, k, alpha or 1.0, weights, **options)


def fitted(objective, tol=1e-9, **limits):
    found = solve(objective, "newton", Control(tol=tol, **limits))
    if not limits:
        assert found.certificate.relative <= tol, found.certificate
    return found


def brute_force(objective, X):
    """The optimum by SciPy's quasi-Newton method on plain formulas."""
    k, y = objective.n_scores, objective.y.astype(int)
    l2, mass = objective.penalty.sum_over_features.l2, objective.mass

    def value_and_slope(x):
        w, b = x[:-k].reshape(-1, k), x[-k:] * objective.intercept
        z = X @ w + b + (0.0 if objective.offset is None else objective.offset)
        top = z.max(axis=1, keepdims=True)
        e = np.exp(z - top)
        total = e.sum(axis=1)
        loss = np.log(total) + top[:, 0] - z[np.arange(len(y)), y]
        g = mass[:, None] * (e / total[:, None] - np.eye(k)[y])
        slope = np.append((X.T @ g + l2 * w).ravel(), g.sum(axis=0) * objective.intercept)
        return mass @ loss + 0.5 * np.sum(l2 * w * w), slope

    start = np.zeros((X.shape[1] + 1) * k)
    options = {"maxiter": 5000, "gtol": 1e-11, "ftol": 1e-16, "maxfun": 50000}
    return minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options=options)


@pytest.mark.parametrize("alpha", [0.3, 1e-2, 1e-4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(120, 5, 3), (60, 30, 9)], ids=["cholesky", "gradients"])
def test_the_optimum_is_that_of_brute_force(alpha, intercept, shape):
    n, d, k = shape
    X, y = classes(1, n, d, k)
    X = (X - X.mean(axis=0)) / X.std(axis=0) + 0.3
    rng = np.random.default_rng(2)
    offset = 0.2 * rng.standard_normal((n, k))
    objective = problem(X, y, alpha, None, intercept, rng.uniform(0.1, 2.0, n), offset)
    found, expected = fitted(objective), brute_force(objective, X)
    assert found.certificate.primal == pytest.approx(expected.fun, rel=1e-7)
    assert found.certificate.dual <= expected.fun + 1e-12
    assert np.abs(found.w.sum(axis=1)).max() <= 1e-6 * np.abs(found.w).max()
    if intercept:
        assert abs(found.b.sum()) <= 1e-6


def test_designs_agree():
    X, y = classes(3, 300, 40, 6)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.8] = 0.0
    models = []
    for design in (
        X,
        np.asfortranarray(X),
        X.astype(np.float32),
        sp.csr_array(X),
        sp.csc_array(X),
        sp.csr_array(X.astype(np.float32)),
        Standardized(as_design(X), np.zeros(40), np.ones(40)),
    ):
        found = fitted(problem(design, y, 1e-3), tol=1e-10)
        models.append(np.vstack([found.w, found.b]))
    for model in models[1:]:
        assert np.abs(model - models[0]).max() <= 1e-4 * np.abs(models[0]).max()


def test_more_columns_than_rows():
    X = sp.random_array((80, 400), density=0.05, rng=np.random.default_rng(4), format="csr")
    y = np.arange(80) % 5.0
    found = fitted(problem(X, y, 1e-3))
    expected = fitted(problem(X.toarray(), y, 1e-3))
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-7)


def test_two_classes_are_the_logistic_loss_at_half_alpha():
    X, y = classes(5, 100, 4, 2)
    pair = fitted(problem(X, y, 2e-2))
    one = Objective(
        loss=mm.Logistic(), penalty=mm.L2().bind(4, 1e-2), design=as_design(X), y=2 * y - 1,
        mass=np.full(100, 0.01),
    )  # fmt: skip
    single = solve(one, control=Control(tol=1e-12))
    assert np.allclose(pair.w[:, 1] - pair.w[:, 0], single.w, atol=1e-5 * np.abs(single.w).max())
    assert pair.b[1] - pair.b[0] == pytest.approx(single.b, rel=1e-5)
    assert pair.certificate.primal == pytest.approx(single.certificate.primal, rel=1e-10)


def test_a_permutation_of_the_classes_permutes_the_model():
    X, y = classes(6, 100, 4, 4)
    order = np.array([2, 0, 3, 1])
    plain, moved = (
        fitted(problem(X, labels, 1e-2), tol=1e-12)
        for labels in (y, order[y.astype(int)].astype(float))
    )
    assert np.allclose(moved.w[:, order], plain.w, atol=1e-5 * np.abs(plain.w).max())
    assert np.allclose(moved.b[order], plain.b, atol=1e-5)


def test_weights_are_copies():
    X, y = classes(7, 90, 4, 3)
    weights = np.random.default_rng(0).integers(0, 4, 90)
    copied = problem(np.repeat(X, weights, axis=0), np.repeat(y, weights), 1e-2)
    weighted, copied = (
        fitted(problem(X, y, 1e-2, weights=weights.astype(float)), tol=1e-12),
        fitted(copied, tol=1e-12),
    )
    assert weighted.certificate.primal == pytest.approx(copied.certificate.primal, rel=1e-11)
    assert np.allclose(weighted.w, copied.w, atol=1e-5 * np.abs(copied.w).max())


@pytest.mark.parametrize("reference", [0, 2, -2])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_a_penalty_a_reference_changes_no_prediction(reference, intercept):
    X, y = classes(8, 150, 4, 3)
    found = []
    for loss in (mm.Multinomial(), mm.Multinomial(reference)):
        objective = problem(X, y, 0, loss, intercept)
        model = fitted(objective, tol=1e-10)
        assert np.isfinite(model.certificate.gap)
        found.append(loss.transform(objective.point(model.w, model.b).z))
    assert np.allclose(found[0], found[1], atol=1e-5)


def test_a_reference_with_a_penalty():
    X, y = classes(9, 100, 4, 3)
    objective = problem(X, y, 1e-2, mm.Multinomial(1))
    found = fitted(objective)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        w = found.w + size * np.abs(found.w).max() * rng.standard_normal(found.w.shape)
        assert objective.primal(objective.point(w, found.b)) >= found.certificate.dual


def test_two_classes_with_a_reference_have_one_score():
    X, y = classes(10, 100, 4, 2)
    loss = mm.Multinomial(0)
    objective = Objective(
        loss=loss, penalty=mm.L2().bind(4, 1e-2), design=as_design(X), y=y, mass=np.full(100, 0.01)
    )
    single = Objective(
        loss=mm.Logistic(), penalty=mm.L2().bind(4, 1e-2), design=as_design(X), y=2 * y - 1,
        mass=np.full(100, 0.01),
    )  # fmt: skip
    one, other = (solve(each, "newton", Control(tol=1e-10)) for each in (objective, single))
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-10)
    assert np.allclose(one.w, other.w, atol=1e-5 * np.abs(other.w).max())


def test_separable_classes_without_a_penalty_have_no_minimum():
    rng = np.random.default_rng(11)
    X = np.vstack([rng.standard_normal((20, 2)) + 20 * centre for centre in np.eye(3)[:, :2]])
    found = solve(problem(X, np.repeat(np.arange(3.0), 20), 0), "newton")
    assert found.certificate.gap == np.inf
    assert "separable" in found.certificate.infeasibility
    assert found.certificate.primal < 1e-3


def test_unpenalised_columns_beside_penalised_ones():
    X, y = classes(12, 100, 4, 3)
    objective = problem(X, y, 1e-2, l2=[1.0, 0.0, 2.0, 1.0])
    found, expected = fitted(objective, tol=1e-8), brute_force(objective, X)
    assert found.certificate.primal == pytest.approx(expected.fun, rel=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(120, 5, 3), (60, 30, 9)], ids=["cholesky", "gradients"])
def test_a_fit_that_stops_early_has_a_true_certificate(steps, shape):
    X, y = classes(13, *shape)
    objective = problem(X, y, 1e-3)
    best = fitted(objective).certificate
    early = fitted(problem(X, y, 1e-3), max_iter=steps).certificate
    assert early.dual <= best.primal
    assert early.gap >= early.primal - best.primal - 1e-12
    assert early.primal >= best.dual


def test_the_raw_dual_point_gives_the_square_of_the_gradient():
    X, y = classes(14, 80, 3, 3)
    objective = problem(X, y, 0.1, intercept=False)
    w = np.random.default_rng(0).standard_normal((3, 3))
    point = objective.point(w, np.zeros(3))
    found = judge(objective, point)
    slope = objective.backward(objective.weigh(objective.loss.gradient(point.z, y))) + 0.1 * w
    assert found.gap <= np.sum(slope**2) / 0.2 * (1 + 1e-9)


def test_a_class_of_one_sample_and_many_classes():
    rng = np.random.default_rng(15)
    X = rng.standard_normal((300, 8))
    y = np.append(rng.integers(0, 99, 299), 99.0)
    y = np.unique(y, return_inverse=True)[1].astype(float)
    fitted(problem(X, y, 1e-2), tol=1e-6)


def test_copies_leave_the_data_alone():
    X, y = classes(16, 60, 30, 9)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.9] = 0.0
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    fitted(problem(X, y, 1e-3))
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


@pytest.mark.parametrize("units", [1e-30, 1e-4, 1e4, 1e8])
def test_columns_beyond_single_precision(units):
    # Products of conjugate gradients are rough where they may be: not for such columns.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 30))
    X[:, 1] = X[:, 0] + 1e-6 * rng.standard_normal(200)
    X[:, 2] *= units
    y = (X[:, 3:11] + rng.standard_normal((200, 8))).argmax(axis=1)
    model = mm.Classifier(mm.Multinomial(), "l2", alpha=1e-6, solver="newton").fit(X, y)
    assert model.certificate_.relative <= 1e-6


def test_many_classes_on_columns_of_many_units():
    rng = np.random.default_rng(26)
    X = rng.standard_normal((130, 8)) * 10.0 ** rng.integers(-3, 4, 8)
    y = np.append(np.arange(70), rng.integers(0, 70, 60))
    model = mm.Classifier(mm.Multinomial(), "l2", alpha=1e-3).fit(X, y)
    assert model.certificate_.relative <= 1e-6
