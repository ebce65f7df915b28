"""Penalties on singular values: optima against a semidefinite program, certificates, and paths."""

import warnings

import numpy as np
import pytest
from shapes import Softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from spectral_oracle import optimum
from test_shapes import holds, problem

import minimand as mm
from minimand.certificate import judge
from minimand.problem.intercept import recentred
from minimand.solvers import Control, solve
from minimand.solvers.matrix import central_path, low_rank, quadratic_models
from minimand.solvers.matrix.gram_descent import Descent
from minimand.solvers.matrix.metric import Gram
from minimand.solvers.steps.linearised import Linearised

TRACE, SQUARE = mm.TraceNorm(), mm.TraceNorm(squared=True)
PENALTIES = [TRACE, SQUARE, TRACE + 0.5 * mm.L2(), SQUARE + 0.2 * mm.L2()]
LOSSES = {
    "squared": mm.OverScores(mm.Squared()),
    "huber": mm.OverScores(mm.Huber(0.7)),
    "logistic": mm.OverScores(mm.Logistic()),
    "softmax": Softmax(),
}


def data(seed=0, n=24, d=4, k=3, rank=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, d) + 0.3
    W = rng.standard_normal((d, rank)) @ rng.standard_normal((rank, k))
    return X, X @ W + rng.standard_normal((n, k))


def objective_of(name, penalty, X, Y, intercept=True, **more):
    y = {
        "logistic": lambda: np.where(Y > 0.2, 1.0, -1.0),
        "softmax": lambda: np.argmax(Y, axis=1).astype(float),
    }.get(name, lambda: Y)()
    return problem(LOSSES[name], penalty, X, y, Y.shape[1], intercept, **more)


def rank_of(w):
    return int(np.linalg.matrix_rank(w, rtol=1e-9))


# The optimum -------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("name", ["squared", "huber", "softmax"])
def test_the_optimum_of_a_semidefinite_program(name, penalty, intercept):
    X, Y = data()
    rng = np.random.default_rng(1)
    offset = 0.1 * rng.standard_normal(Y.shape) if intercept else None
    weights = rng.uniform(0.2, 2.0, len(Y))
    objective = objective_of(name, 0.1 * penalty, X, Y, intercept, weights=weights, offset=offset)
    w, b = optimum(objective, X, name, delta=0.7)
    holds(objective, w, b, small=1e-5)
    found = solve(objective, "auto", Control(tol=1e-9))
    assert found.solver == "low_rank"
    assert found.certificate.relative <= 1e-9
    best = objective.primal(objective.point(w, b))
    assert found.certificate.primal == pytest.approx(best, abs=1e-7 * objective.scale)


@pytest.mark.parametrize("name", ["squared", "huber", "logistic", "softmax"])
@pytest.mark.parametrize("penalty", [TRACE, SQUARE], ids=repr)
def test_early_stops_are_certified(name, penalty):
    X, Y = data(n=60)
    objective = objective_of(name, 0.02 * penalty, X, Y)
    best = solve(objective, "low_rank", Control(tol=1e-10))
    assert best.converged
    for most in (1, 2, 3):
        early = solve(objective, "low_rank", Control(tol=1e-12, max_iter=most)).certificate
        assert early.dual <= best.certificate.primal * (1 + 1e-12)
        assert early.gap >= (early.primal - best.certificate.primal) * (1 - 1e-9)


@pytest.mark.parametrize("name", ["squared", "logistic", "softmax"])
def test_metrics_agree(name, monkeypatch):
    # A matrix for every score, one for all of them, and none.
    X, Y = data(n=60)
    objective = objective_of(name, 0.05 * TRACE, X, Y)
    first = solve(objective, "low_rank", Control(tol=1e-8)).certificate
    for module, limit in ((quadratic_models, "_MOST_BLOCKS"), (low_rank, "_LARGEST")):
        monkeypatch.setattr(module, limit, 0)
        again = objective_of(name, 0.05 * TRACE, X, Y)
        found = solve(again, "low_rank", Control(tol=1e-7))
        assert found.converged
        assert found.certificate.primal == pytest.approx(first.primal, rel=1e-6)


# Kinks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [TRACE, SQUARE + 0.2 * mm.L2()], ids=repr)
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_quantiles_of_a_semidefinite_program(q, penalty, intercept):
    X, Y = data()
    weights = np.random.default_rng(1).uniform(0.2, 2.0, len(Y))
    loss = mm.OverScores(mm.Quantile(q))
    objective = problem(loss, 0.05 * penalty, X, Y, 3, intercept, weights)
    w, b = optimum(objective, X, "quantile", q=q)
    best = objective.primal(objective.point(w, b))
    for most in (1, 3, None):
        found = solve(objective, "auto", Control(tol=1e-5, max_iter=most))
        assert found.solver == "splitting"
        assert found.certificate.dual <= best + 1e-8 * objective.scale
        assert found.certificate.gap >= found.certificate.primal - best - 1e-8 * objective.scale
    assert found.converged


def test_hinges_of_one_class_against_the_rest():
    X, Y = data(n=60)
    objective = problem(mm.OverScores(mm.Hinge()), 0.05 * TRACE, X, np.sign(Y), 3)
    found = solve(objective, "auto", Control(tol=1e-5))
    assert found.converged


@pytest.mark.parametrize("share", [0.01, 0.001])
@pytest.mark.parametrize("loss", ["hinge", "crammer_singer", "absolute"])
def test_kinks_on_measured_columns_as_they_are(loss, share):
    # Standard deviations from 0.1 to 300: proximal steps on their Gram matrix prove nothing.
    X, y = load_wine(return_X_y=True)
    kind = mm.Classifier
    if loss == "absolute":
        kind, X, y = mm.Regressor, X[:, :9], X[:, 9:]
    top = mm.alpha_max(kind(loss, mm.TraceNorm()), X, y)
    model = kind(loss, mm.TraceNorm(), alpha=share * top).fit(X, y)
    assert model.solver_ == "splitting"
    assert model.certificate_.relative <= 1e-6


# Invariances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["squared", "huber", "softmax"])
def test_weights_are_copies(name):
    X, Y = data()
    counts = np.random.default_rng(2).integers(0, 4, len(Y))
    weighted = objective_of(name, 0.1 * TRACE, X, Y, weights=counts.astype(float))
    copied = objective_of(name, 0.1 * TRACE, np.repeat(X, counts, axis=0),
                          np.repeat(Y, counts, axis=0))  # fmt: skip
    one, two = (solve(each, "auto", Control(tol=1e-10)) for each in (weighted, copied))
    assert np.allclose(one.w, two.w, atol=1e-4)
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-9)


def test_rotations_of_features_and_outputs_rotate_the_solution():
    X, Y = data(n=40)
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.standard_normal((m, m)))[0] for m in (4, 3))
    plain = solve(objective_of("squared", 0.1 * TRACE, X, Y), "auto", Control(tol=1e-11))
    moved = objective_of("squared", 0.1 * TRACE, X @ left, Y @ right)
    turned = solve(moved, "auto", Control(tol=1e-11))
    assert np.allclose(turned.w, left.T @ plain.w @ right, atol=1e-5)


def test_one_output_is_shrunk_as_a_whole():
    # ‖w‖₂: the optimum is a ridge with the l2 that gives alpha/‖w‖.
    X, Y = data(n=50)
    objective = problem(mm.Squared(), 0.4 * TRACE, X, Y[:, 0])
    found = solve(objective, "low_rank", Control(tol=1e-11))
    ridge = problem(mm.Squared(), 0.4 / np.linalg.norm(found.w) * mm.L2(), X, Y[:, 0])
    assert np.allclose(solve(ridge, "closed_form", Control(tol=1e-12)).w, found.w, atol=1e-6)


def test_orthogonal_columns_have_a_closed_form():
    # XᵀX/n = I: the singular values of XᵀY/n, less alpha.
    rng = np.random.default_rng(4)
    X = np.sqrt(30.0) * np.linalg.qr(rng.standard_normal((30, 4)))[0]
    Y = rng.standard_normal((30, 3)) + X[:, :1]
    objective = objective_of("squared", 0.3 * TRACE, X, Y, intercept=False)
    found = solve(objective, "auto", Control(tol=1e-13))
    assert np.allclose(found.w, (0.3 * TRACE).prox(X.T @ Y / 30, 1.0), atol=1e-7)


# Paths -------------------------------------------------------------------------------------------


def null_slope(objective):
    return judge(objective, recentred(objective, objective.null)).slope


@pytest.mark.parametrize("name", ["squared", "huber", "logistic", "softmax"])
def test_the_largest_alpha_is_the_spectral_norm_of_the_null_slope(name):
    X, Y = data(n=60)
    top = np.linalg.norm(null_slope(objective_of(name, TRACE, X, Y)), 2)
    for share, rank in ((1.0001, 0), (0.98, 1)):
        objective = objective_of(name, share * top * TRACE, X, Y)
        assert rank_of(solve(objective, "auto", Control(tol=1e-9)).w) == rank


def test_the_rank_falls_along_the_path():
    X, Y = data(n=200, d=8, k=6, rank=3)
    top = np.linalg.norm(null_slope(objective_of("squared", TRACE, X, Y)), 2)
    alphas = top * np.geomspace(1.0, 1e-3, 12)
    ranks = [
        rank_of(solve(objective_of("squared", a * TRACE, X, Y), "auto", Control(tol=1e-8)).w)
        for a in alphas
    ]
    assert ranks[0] <= 1
    assert ranks[-1] == 6
    assert ranks == sorted(ranks)
    assert len(set(ranks)) >= 4


@pytest.mark.parametrize("name", ["squared", "huber", "softmax"])
def test_squared_and_plain_norms_trace_the_same_path(name):
    # The subgradients of ½‖W‖² are ‖W‖ times those of ‖W‖: alpha of the square is alpha/‖W‖.
    X, Y = data(n=60)
    for alpha in (0.3, 0.1, 0.02):
        plain = solve(objective_of(name, alpha * TRACE, X, Y), "auto", Control(tol=1e-11))
        same = alpha / TRACE.value(plain.w) * SQUARE
        other = solve(objective_of(name, same, X, Y), "auto", Control(tol=1e-11))
        assert np.allclose(other.w, plain.w, atol=2e-4)
        assert rank_of(other.w) == rank_of(plain.w)


# Edges -------------------------------------------------------------------------------------------


def test_more_columns_than_rows_and_columns_alike():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 30))
    X[:, 1], X[:, 2] = X[:, 0], 0.0
    Y = X[:, 3:4] @ np.ones((1, 4)) + 0.1 * rng.standard_normal((12, 4))
    for name in ("squared", "huber"):
        for alpha in (0.3, 1e-3):
            found = solve(objective_of(name, alpha * TRACE, X, Y), "auto", Control(tol=1e-6))
            assert found.converged
            assert np.allclose(found.w[0], found.w[1], atol=1e-5)
            assert np.abs(found.w[2]).max() <= 1e-14


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_units_do_not_matter(size):
    X, Y = data(n=40)
    plain = solve(objective_of("squared", 0.1 * TRACE, X, Y), "auto", Control(tol=1e-9))
    scaled = objective_of("squared", 0.1 * size * TRACE, X, size * Y)
    found = solve(scaled, "auto", Control(tol=1e-9))
    assert found.certificate.relative <= 1e-9
    assert np.allclose(found.w, size * plain.w, rtol=1e-3, atol=1e-5 * size)


# Estimators ---------------------------------------------------------------------------------------


def test_regressors():
    X, Y = data(n=80, d=6, k=5, rank=2)
    model = mm.Regressor("squared", "trace_norm", alpha=0.5).fit(X, Y)
    assert model.coef_.shape == (5, 6)
    assert model.solver_ == "low_rank"
    assert mm.certify(model, X, Y).relative <= 1e-6
    top = mm.alpha_max(model, X, Y)
    assert rank_of(model.set_params(alpha=1.0001 * top).fit(X, Y).coef_) == 0
    assert rank_of(model.set_params(alpha=0.99 * top).fit(X, Y).coef_) == 1
    path = mm.path(model, X, Y, alphas=6)
    assert path.alphas[0] == pytest.approx(top)
    ranks = [rank_of(coef) for coef in path.coefs]
    assert ranks == sorted(ranks)
    assert max(certificate.relative for certificate in path.certificates) <= 1e-6
    tuned = mm.Tuned(model, alphas=5, cv=3).fit(X, Y)
    assert tuned.score(X, Y) > 0.5


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_classifiers(loss):
    X, Y = data(n=90, d=5, k=4, rank=1)
    labels = np.array(["a", "b", "c", "d"])[np.argmax(Y, axis=1)]
    model = mm.Classifier(loss, mm.TraceNorm(), alpha=0.1).fit(X, labels)
    assert model.coef_.shape == (4, 5)
    assert model.certificate_.relative <= 1e-6
    assert rank_of(model.coef_) < 3
    assert mm.explain(model, X, labels).chosen == "low_rank"


def test_sure_classes_need_few_models():
    # Most curvatures are far below the largest possible one: that must not set the length of steps.
    X, y = load_digits(return_X_y=True)
    objective = problem(mm.Multinomial(), 0.01 * TRACE, X[:300], y[:300].astype(float), 10)
    found = solve(objective, "low_rank", Control(tol=1e-6, max_iter=40))
    assert found.converged
    assert found.certificate.relative <= 1e-6


@pytest.mark.parametrize("loss", ["multinomial", "squared"])
@pytest.mark.parametrize("seed", [1, 9])
def test_columns_of_very_different_units(seed, loss):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6)) * 10.0 ** rng.integers(-4, 5, 6)
    y = rng.integers(0, 3, 30)
    if loss == "multinomial":
        model = mm.Classifier(mm.Multinomial(), mm.TraceNorm(), 0.01).fit(X, y)
    else:
        model = mm.Regressor(loss, mm.TraceNorm(), 0.01).fit(X, np.eye(3)[y])
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 0.01, 0.1, 1.0])
def test_measured_columns_as_they_are(alpha, squared):
    # Variances from 1e-6 to 1e5: proximal steps and alternating directions stall.
    X = load_breast_cancer().data
    model = mm.Regressor("squared", mm.TraceNorm(squared), alpha).fit(X[:, :20], X[:, 20:])
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("by_path", [False, True])
def test_one_output_of_measured_columns(by_path, monkeypatch):
    # 1-D coefficients are those of a matrix with a column of zeros, whichever method finds them.
    if not by_path:
        monkeypatch.setattr(central_path, "_MOST", 0)
    X = load_wine().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (
            mm.Regressor("squared", mm.TraceNorm(), 0.1).fit(X[:, :12], y)
            for y in (X[:, 12], X[:, 12:] * [1.0, 0.0])
        )
    assert one.coef_.shape == (12,)
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-6)
    if by_path:
        assert one.certificate_.relative <= 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_quadratics_on_the_central_path(seed):
    # Its models by themselves, with all parts of the penalty: W is optimal if V is in ∂Ω(W).
    rng = np.random.default_rng(seed)
    d, k = rng.integers(2, 7, 2)
    X = rng.standard_normal((30, d)) * 10.0 ** rng.uniform(-3, 3, d)
    Y = X @ (rng.standard_normal((d, k)) / X.std(axis=0)[:, None]) + rng.standard_normal((30, k))
    l1, square, l2 = 10.0 ** rng.uniform(-3, 0, 3)
    penalty = [l1 * TRACE, square * SQUARE, l1 * TRACE + square * SQUARE][seed % 3]
    penalty = penalty + l2 * mm.L2() if seed % 2 else penalty
    objective = objective_of("squared", penalty, X, Y)
    form, metric = quadratic_models.form_of(objective), Gram(objective)
    begin = judge(objective, recentred(objective, objective.null))
    descent = Descent(metric, -begin.slope, form, np.zeros((d, k)))
    target = 1e-7 * begin.primal
    found = central_path.follow(descent, lambda each: each.gap <= target, lambda: False)
    assert found is not None
    assert found.gap <= target
    point = recentred(objective, objective.point(descent.w, objective.no_shift))
    dual = objective.loss.gradient(point.z, objective.y) + metric.lifted(objective, found.step)
    assert judge(objective, point, [dual]).gap <= 1e-6 * begin.primal


def test_advice_without_progress_is_not_a_penalty_where_there_is_one():
    X = load_breast_cancer().data
    model = mm.Regressor("squared", mm.TraceNorm(), 0.01, tol=1e-15)
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        model.fit(X[:, :20], X[:, 20:])


def test_models_that_are_never_good_end_with_the_time(monkeypatch):
    # The curvature of a model is doubled again and again, but not beyond the limit.
    X = load_wine().data
    objective = objective_of("huber", 0.01 * TRACE, X[:, :6], X[:, 6:])
    begin = judge(objective, recentred(objective, objective.null))
    control = Control(tol=1e-6)
    course = quadratic_models._Course(objective, control, begin, True)
    tried, minimised = [], course._minimised

    def counted(ahead, start):
        tried.append(start)
        control.max_seconds = 0.0  # the time ends with the first model
        return minimised(ahead, start)

    monkeypatch.setattr(course, "_minimised", counted)
    monkeypatch.setattr(objective.__class__, "mean_young", lambda *_: np.inf)
    assert course.step(Linearised.of(begin), begin.point.w) is None
    assert len(tried) == 1
