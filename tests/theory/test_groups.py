"""Sums over groups: a conic oracle, the same problem written otherwise, bounds that are true."""

from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
from scipy import sparse
from shapes import Softmax
from shapes_oracle import optimum
from test_shapes import problem

import minimand as mm
from minimand.certificate import judge
from minimand.losses import Loss
from minimand.losses.curvature import Diagonal
from minimand.solvers import Control, solve
from minimand.solvers.paths.path import settler_of, solve_path

LABEL = np.array([0, 1, 0, 2, 2, 1, 3, 3, 3, 0, 4, 4])


class Squares(Loss):
    """½‖z − y‖² of several scores."""

    smoothness = 1.0
    quadratic = True

    def value(self, z, y):
        return 0.5 * ((z - y) ** 2).sum(axis=1)

    def gradient(self, z, y):
        return z - y

    def curvature(self, z, y):
        return Diagonal(np.ones_like(z))

    def conjugate(self, u, y):
        return (0.5 * u * u + u * y).sum(axis=1)

    def fenchel_young(self, z, u, y):
        return 0.5 * ((z - y - u) ** 2).sum(axis=1)

    def into_domain(self, u, y):
        return u

    def infimum(self, y):
        return np.zeros(len(y))


def data(seed=0, n=40, d=12, k=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.4 * rng.standard_normal((n, 1))
    W = rng.standard_normal((d, k)) * (rng.uniform(size=(d, 1)) < 0.4)
    return X, X @ W + rng.standard_normal((n, k))


def target_of(loss, score):
    if isinstance(loss, mm.Poisson):
        return np.round(np.exp(np.clip(score, -2, 2)))
    return np.sign(score) if loss.target == "sign" else np.ascontiguousarray(score)


def solved(objective, tol=1e-10, **options):
    return solve(objective, "auto", Control(tol=tol, **options))


def oracle(form, curvature, linear):
    """argmin ½xᵀ·curvature·x + linear·x + Ω(x), Ω = Σ norm‖x_g‖ + Σ l1|x| + ½ l2x², by Clarabel."""
    d, count = linear.size, form.groups.count
    size = 2 * d + count  # x, bounds of |x|, bounds of the norms
    curve = np.zeros((size, size))
    curve[:d, :d] = curvature + np.diag(form.l2.ravel())
    cost = np.concatenate([linear, form.l1.ravel(), form.norm])
    eye, rows, cones = np.eye(size), [], []
    for j in range(d):
        rows += [eye[j] - eye[d + j], -eye[j] - eye[d + j]]
    cones.append(clarabel.NonnegativeConeT(2 * d))
    for g in range(count):
        members = np.flatnonzero(form.groups.label.ravel() == g)
        rows += [-eye[2 * d + g], *(-eye[j] for j in members)]
        cones.append(clarabel.SecondOrderConeT(members.size + 1))
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        sparse.csc_array(np.triu(curve)), cost, sparse.csc_array(np.array(rows)),
        np.zeros(len(rows)), cones, options,
    )  # fmt: skip
    return np.array(solver.solve().x)[:d]


PENALTIES = [
    mm.GroupL2(LABEL),
    mm.SparseGroup(LABEL, 0.3),
    mm.GroupL2(LABEL, [1.0, 2.0, 0.5, 0.0, 1.0]) + mm.L1([0.0] * 6 + [1.0] * 6),
    mm.GroupL2(LABEL) + mm.L2([0.0, 3.0] * 6),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: repr(p)[:30])
def test_prox_and_squares_by_a_conic_oracle(penalty):
    X, Y = data()
    n, d = X.shape
    bound = penalty.bind(d, 0.2)
    for step in (0.3, 2.0):
        target = 0.5 * Y[:d, 0]
        x, best = bound.prox(target, step), oracle(bound, np.eye(d) / step, -target / step)
        assert x == pytest.approx(best, abs=1e-5)
    objective = problem(mm.Squared(), 0.2 * penalty, X, Y[:, 0], intercept=False)
    found = solved(objective)
    best = oracle(bound, X.T @ X / n, -X.T @ Y[:, 0] / n)
    value = objective.primal(objective.point(best, 0.0))
    assert found.certificate.relative <= 1e-10
    assert found.certificate.primal <= value + 1e-9 * objective.scale
    assert found.certificate.dual <= value + 1e-12 * objective.scale
    assert found.w == pytest.approx(best, abs=1e-4)


LOSSES = [mm.Squared(), mm.Logistic(), mm.Huber(), mm.Poisson(), mm.SquaredHinge()]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_smooth_loss(loss, intercept):
    X, Y = data(1)
    y, weights = target_of(loss, Y[:, 0]), np.arange(len(Y)) % 3 + 0.5
    for penalty in (0.05 * PENALTIES[0], 0.05 * PENALTIES[1], 0.02 * PENALTIES[3]):
        objective = problem(loss, penalty, X, y, 1, intercept, weights)
        found = solved(objective)
        assert found.solver == "working_groups"
        assert found.converged
        assert found.certificate.relative <= 1e-10


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "penalty",
    [mm.L21(), mm.L1(), mm.L1() + 0.5 * mm.L2(), mm.L21(by="output"), mm.GroupL2(LABEL),
     mm.L21(np.arange(12.0) + 1) + mm.L2()],
    ids=repr,
)  # fmt: skip
def test_several_scores(penalty, intercept):
    X, Y = data(2)
    classes = np.argmax(Y, axis=1).astype(float)
    for loss, y in ((Squares(), Y), (Softmax(), classes)):
        objective = problem(loss, 0.03 * penalty, X, y, 3, intercept)
        found = solved(objective)
        assert found.converged
        assert found.certificate.relative <= 1e-10


def test_columns_without_a_gram(monkeypatch):
    # Many coefficients are solved on the columns themselves, dense and sparse.
    from minimand.solvers.sparse import group_models

    X, Y = data(3, n=60)
    X = X * (np.abs(X) > 0.8)
    classes = np.argmax(Y, axis=1).astype(float)
    cases = [(Softmax(), classes, 3), (Squares(), Y, 3), (mm.Logistic(), np.sign(Y[:, 0]), 1)]
    for loss, y, k in cases:
        for penalty in (mm.L21(), mm.L1() + 0.2 * mm.L2(), mm.GroupL2(LABEL)):
            if k == 1 and not isinstance(penalty, mm.GroupL2):
                continue
            first = solved(problem(loss, 0.03 * penalty, X, y, k), tol=1e-9)
            with monkeypatch.context() as patch:
                patch.setattr(group_models, "_FLAT", 0)
                patch.setattr(group_models, "_FLAT_SPARSE", 0)
                patch.setattr(group_models, "_GRAM_COLUMNS", 0)
                for matrix in (X, sparse.csc_array(X), np.asfortranarray(X, dtype=np.float32)):
                    other = problem(loss, 0.03 * penalty, matrix, y, k)
                    second = solved(other, tol=1e-6)
                    assert second.converged
                    if matrix.dtype == np.float64:
                        assert abs(second.certificate.primal - first.certificate.primal) <= 1e-6


def test_chosen_coefficients_hold_the_model_and_all_that_are_out_of_bounds():
    from minimand.solvers.sparse.group_parts import best_coefficients

    X, Y = data(4, n=50, d=200)
    y = np.argmax(Y, axis=1).astype(float)
    objective = problem(Softmax(), 0.1 * mm.L1(), X, y, 3)
    form = objective.penalty.sum_over_features
    for point in (objective.null, solved(objective, tol=1e-2).point, solved(objective).point):
        judged = judge(objective, point)
        places = best_coefficients(judged, form)
        out = (np.abs(judged.slope) > form.l1) | (point.w != 0)
        assert places.size <= 500
        assert np.isin(np.flatnonzero(out.ravel()), places).all()
        assert (np.diff(places % 3) >= 0).all()  # one score after the other


def test_singletons_are_the_lasso():
    X, Y = data(4)
    weights = np.linspace(0.5, 2.0, 12)
    one = solved(problem(mm.Squared(), 0.1 * mm.GroupL2(range(12), weights), X, Y[:, 0]))
    two = solved(problem(mm.Squared(), 0.1 * mm.L1(weights), X, Y[:, 0]))
    assert np.array_equal(one.w, two.w)
    row = solved(problem(mm.Squared(), 0.1 * mm.L21(weights), X, Y[:, 0]))
    assert np.array_equal(row.w, two.w)
    # k scores of squares with L1 are k lassos; with a single column of W, L21 is L1.
    many = solved(problem(Squares(), 0.1 * mm.L1(weights), X, Y, 3))
    for c in range(3):
        single = solved(problem(mm.Squared(), 0.1 * mm.L1(weights), X, Y[:, c]))
        assert many.w[:, c] == pytest.approx(single.w, abs=1e-4)
        assert many.b[c] == pytest.approx(single.b, abs=1e-4)


def test_labels_and_columns_may_be_permuted():
    X, Y = data(5)
    order = np.random.default_rng(0).permutation(12)
    names = np.array(["e", "b", "a", "c", "d"])
    first = solved(problem(mm.Logistic(), 0.05 * mm.GroupL2(LABEL), X, np.sign(Y[:, 0])))
    again = 0.05 * mm.GroupL2(names[LABEL][order])
    second = solved(problem(mm.Logistic(), again, X[:, order], np.sign(Y[:, 0])))
    # A gap of 1e-10 leaves about its root of w.
    assert second.w == pytest.approx(first.w[order], abs=1e-4)


@pytest.mark.parametrize(
    ("penalty", "k"),
    [(mm.GroupL2(LABEL), 1), (mm.SparseGroup(LABEL), 1), (mm.L21(), 3),
     (mm.GroupL2(LABEL, squared=True), 1), (mm.L21(squared=True) + 0.1 * mm.L2(), 3)],
    ids=repr,
)  # fmt: skip
def test_bounds_of_early_stops_are_true(penalty, k):
    X, Y = data(6)
    loss, y = (mm.Logistic(), np.sign(Y[:, 0])) if k == 1 else (Squares(), Y)
    objective = problem(loss, 0.05 * penalty, X, y, k)
    best = solved(objective).certificate
    room = 1e-9 * objective.scale
    for stop in range(4):
        found = solved(problem(loss, 0.05 * penalty, X, y, k), max_iter=stop).certificate
        assert found.dual <= best.primal + room
        assert found.gap >= found.primal - best.primal - room
    rng = np.random.default_rng(0)
    for size in (0.1, 1.0, 10.0):
        w = size * rng.standard_normal(objective.coef_shape)
        at = judge(objective, objective.point(w, objective.null.b), thorough=True)
        assert at.primal - at.gap <= best.primal + room
        assert at.primal >= best.dual - room


@pytest.mark.parametrize(("k", "l2"), [(1, 0.0), (3, 0.0), (1, 0.3)])
def test_squared_and_plain_norms_have_the_same_solutions(k, l2):
    # ½N² has the solution of level·N where level = N(w).
    X, Y = data(7)
    loss, y = (mm.Logistic(), np.sign(Y[:, 0])) if k == 1 else (Squares(), Y)
    norm = mm.GroupL2(LABEL) if k == 1 else mm.L21()
    rest = l2 * mm.L2()
    squared = solved(problem(loss, 0.02 * norm.copy(squared=True) + rest, X, y, k))
    assert squared.solver == "norm_level"
    level = 0.02 * norm.value(squared.w)
    plain = solved(problem(loss, level * norm + rest, X, y, k))
    assert plain.w == pytest.approx(squared.w, abs=1e-4)


def along(loss, penalty, X, y, alphas, k=1, tol=1e-8):
    base = problem(loss, penalty, X, y, k)
    shape = X.shape[1] if k == 1 else (X.shape[1], k)

    def at(objective, alpha):
        return objective.with_penalty(penalty.bind(shape, alpha))

    settler = settler_of(base, at, alphas, Control(tol=tol))
    return settler, list(solve_path(base, at, alphas, Control(tol=tol)))


@pytest.mark.parametrize(
    ("loss", "penalty", "k"),
    [(mm.Squared(), mm.GroupL2(LABEL), 1), (mm.Squared(), mm.SparseGroup(LABEL, 0.3), 1),
     (mm.Logistic(), mm.GroupL2(LABEL) + 0.1 * mm.L2(), 1), (Squares(), mm.L21(), 3),
     (Softmax(), mm.L21(), 3)],
    ids=repr,
)  # fmt: skip
def test_groups_vanish_along_a_path(loss, penalty, k, monkeypatch):
    from minimand.solvers.paths import on_gram

    X, Y = data(8)
    y = np.argmax(Y, axis=1).astype(float) if isinstance(loss, Softmax) else Y
    y = target_of(loss, y[:, 0]) if k == 1 else y
    objective = problem(loss, penalty, X, y, k)
    form = objective.penalty.sum_over_groups
    top = form.dual_norm(judge(objective, objective.null).slope)
    alphas = top * np.geomspace(1.0, 0.01, 12)
    settler, found = along(loss, penalty, X, y, alphas, k)
    assert (settler is None) == isinstance(loss, Softmax)
    assert not found[0].w.any()
    sizes = [(form.groups.norms(s.w) > 0).sum() for s in found]
    assert sizes[-1] > sizes[1] >= 1
    for alpha, solution in zip(alphas, found):
        assert solution.converged
        alone = solved(problem(loss, alpha * penalty, X, y, k), tol=1e-9).certificate
        assert alone.dual <= solution.certificate.primal + 1e-9 * objective.scale
        assert solution.certificate.dual <= alone.primal + 1e-9 * objective.scale
    # The same where columns are met one after the other.
    monkeypatch.setattr(on_gram, "EVERYTHING", 0)
    _, again = along(loss, penalty, X, y, alphas, k)
    for one, two in zip(found, again):
        assert two.converged
        assert abs(one.certificate.primal - two.certificate.primal) <= 2e-8 * objective.scale


@pytest.mark.parametrize(
    ("loss", "k"), [(mm.Squared(), 1), (Squares(), 3), (mm.Logistic(), 1)], ids=repr
)
def test_paths_and_fits_with_more_columns_than_rows(loss, k, monkeypatch):
    from minimand.solvers.paths import gram_kernels, on_gram

    monkeypatch.setattr(on_gram, "EVERYTHING", 0)
    X, Y = data(9, n=24, d=120, k=k)
    X[:, 5] = 3.0  # nothing beside an intercept
    y = target_of(loss, Y[:, 0]) if k == 1 else Y
    penalty = mm.GroupL2(np.repeat(np.arange(30), 4))
    objective = problem(loss, penalty, X, y, k)
    form = objective.penalty.sum_over_groups
    alphas = form.dual_norm(judge(objective, objective.null).slope) * np.geomspace(1.0, 0.02, 12)
    used, kernel = [], gram_kernels._core.GroupColumns
    with monkeypatch.context() as patch:
        spy = SimpleNamespace(**vars(gram_kernels._core))
        spy.GroupColumns = lambda lines, *rest: used.append(len(lines)) or kernel(lines, *rest)
        patch.setattr(gram_kernels, "_core", spy)
        _, found = along(loss, penalty, X, y, alphas, k)
    assert max(used) > 24
    for alpha, solution in zip(alphas, found):
        assert solution.converged
        alone = solved(problem(loss, alpha * penalty, X, y, k), tol=1e-9).certificate
        assert alone.dual <= solution.certificate.primal + 1e-9 * objective.scale
        assert solution.certificate.dual <= alone.primal + 1e-9 * objective.scale


def test_just_below_the_top_one_group_enters():
    X, Y = data(9)
    objective = problem(mm.Squared(), mm.SparseGroup(LABEL, 0.4), X, Y[:, 0])
    form = objective.penalty.sum_over_groups
    top = form.dual_norm(judge(objective, objective.null).slope)
    penalty = mm.SparseGroup(LABEL, 0.4)
    assert not solved(problem(mm.Squared(), 1.001 * top * penalty, X, Y[:, 0])).w.any()
    below = solved(problem(mm.Squared(), 0.98 * top * penalty, X, Y[:, 0]), tol=1e-12)
    assert (form.groups.norms(below.w) > 0).sum() == 1


def test_losses_with_kinks_are_certified_too():
    X, Y = data()
    found = solved(problem(mm.Absolute(), 0.1 * mm.GroupL2(LABEL), X, Y[:, 0]), tol=1e-6)
    assert found.converged
    assert found.certificate.relative <= 1e-6


COST = np.array([[0, 1, 4, 1], [2, 0, 1, 1], [1, 3, 0, 1], [1, 1, 1, 0.0]])


@pytest.mark.parametrize("loss", [
    mm.CrammerSinger(COST), mm.Ranking(COST), mm.TopK(2), mm.WeightedRanking(),
    mm.WeightedRanking([2.0, 2.0, 0.5]),
], ids=repr)  # fmt: skip
def test_class_margins_equal_their_cone_program(loss):
    X, scores = data(5, n=30, d=4, k=4)
    rng, y = np.random.default_rng(5), np.argmax(scores, axis=1).astype(float)
    y[:4] = np.arange(4.0)
    objective = problem(
        loss, 0.05 * mm.L21(), X, y, 4, True, rng.uniform(0.2, 2.0, 30),
        offset=0.3 * rng.standard_normal((30, 4)),
    )  # fmt: skip
    w, b = optimum(objective, X, "margins", norms=0.05)
    best = objective.primal(objective.point(w, b))
    for most in (1, None):
        found = solve(objective, "auto", Control(tol=1e-7, max_iter=most)).certificate
        assert found.dual <= best + 1e-9 * objective.scale
        assert found.gap >= found.primal - best - 1e-9 * objective.scale
    assert found.relative <= 1e-7
    assert found.primal == pytest.approx(best, abs=2e-7 * objective.scale)
