"""k scores, units of many rows, designs without columns: certificates that are true."""

import numpy as np
import pytest
from shapes import Gram, RunMaximum, RunSquares, Softmax
from shapes_oracle import optimum

import minimand as mm
from minimand.certificate import judge
from minimand.design import as_design
from minimand.problem.intercept import best_shift
from minimand.problem.objective import Objective

UNITS = np.array([0, 3, 4, 9, 12, 18, 20, 25, 30])


def data(seed=0, n=30, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, d) + 0.3
    return X, X @ rng.standard_normal(d) * 0.5 + rng.standard_normal(n)


def problem(loss, penalty, X, y, k=1, intercept=True, weights=None, offset=None, design=None):
    design = as_design(X) if design is None else design
    n = design.shape[0]
    d = design.shape[1] or n  # of a kernel, w is known by a number per row
    count = len(loss.units) - 1 if loss.unit == "run" else n
    return Objective(
        loss=loss,
        penalty=penalty.bind(d if k == 1 else (d, k), 1.0),
        design=design,
        y=y,
        mass=loss.masses(np.ones(count) if weights is None else weights),
        offset=offset,
        intercept=intercept,
        n_scores=k,
    )


def holds(objective, w, b, seed=0, small=1e-6, **options):
    """The certificate at random points around the optimum (w, b), and at the optimum itself."""
    rng = np.random.default_rng(seed)
    point = objective.point(w, b)
    best = objective.primal(point)
    room = 1e-8 * (1.0 + abs(best))
    found = judge(objective, point, thorough=True, **options)
    assert -room <= found.gap <= small * objective.scale
    for size in (1e-3, 0.1, 1.0, 10.0):
        for dw in (size * rng.standard_normal(w.shape), -w):
            db = size * rng.standard_normal(np.shape(b)) if objective.intercept else 0.0 * b
            other = objective.point(w + dw, b + db)
            theta = rng.standard_normal(other.z.shape)
            mixed = [theta, found.dual.theta + 1e-3 * theta]
            for duals in ([], mixed):
                one = judge(objective, other, duals, known=[found.dual], thorough=True)
                certificate = one.certificate(objective)
                assert one.gap >= 0
                assert certificate.dual <= best + room
                assert best <= certificate.primal + room
                assert one.gap >= certificate.primal - best - room
                if not objective.has_rays:  # θ = 0 proves as much as this
                    above = objective.primal(other) - objective.infimum + objective.price(other)
                    assert one.gap <= above + room
                if np.isinf(one.gap):
                    assert one.infeasibility
                    continue
                assert np.isclose(
                    one.gap, np.sum(one.by_sample) + _parts(one), rtol=1e-9, atol=room
                )
    assert objective.null_primal >= best - room
    assert objective.scale >= 0


def _parts(judgement):
    whole = judgement.gap - np.sum(judgement.by_sample)
    return whole if judgement.by_feature is None else np.sum(judgement.by_feature)


# k scores ---------------------------------------------------------------------------------------


def test_conformance():
    for k in (2, 3):
        mm.testing.check_loss(Softmax(), y=np.arange(float(k)), n_scores=k)
    for loss in (RunSquares(), RunMaximum()):
        mm.testing.check_loss(loss.bind(UNITS))
    mm.testing.check_loss(mm.Chebyshev())
    for penalty in (mm.L21(), mm.L21([1.0, 2.0, 0.0]), mm.L21() + 0.5 * mm.L2(), mm.L1(), mm.L2(),
                    mm.L1([1.0, 0.0, 2.0]) + 0.5 * mm.L2(), mm.NonNegative(), mm.L2Ball(2.0),
                    mm.L1Ball(2.0), mm.MCP(), mm.Box(-1.0, [1.0, 2.0, 3.0])):  # fmt: skip
        mm.testing.check_penalty(penalty, (3, 2))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [mm.L21(), mm.L2(), mm.L21() + 0.3 * mm.L2(),
                                     mm.L21([1.0, 0.0, 1.0, 2.0])], ids=repr)  # fmt: skip
def test_two_scores_and_groups_of_rows(penalty, intercept, k):
    X, score = data()
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k)).astype(float)
    rng = np.random.default_rng(1)
    offset = 0.1 * rng.standard_normal((len(y), k)) if intercept else None
    weights = rng.uniform(0.2, 2.0, len(y))
    scaled = 0.05 * penalty
    objective = problem(Softmax(), scaled, X, y, k, intercept, weights, offset)
    form = objective.penalty.sum_over_groups
    norms = form.norm[form.groups.label[:, 0]]  # a row is a group, or has no norm
    w, b = optimum(objective, X, "softmax", norms=norms, squares=form.l2[:, 0])
    holds(objective, w, b, small=1e-5)


def test_softmax_of_two_is_logistic():
    # log(1 + e^{−m}) of z = z₁ − z₀; ½‖W‖² with W = (−w/2, w/2) is ¼‖w‖².
    X, score = data()
    y = (score > 0).astype(float)
    two = problem(Softmax(), 0.2 * mm.L2(), X, y, 2)
    one = problem(mm.Logistic(), 0.1 * mm.L2(), X, 2 * y - 1)
    w, b = np.random.default_rng(0).standard_normal(4), 0.3
    spread = np.array([-0.5, 0.5])
    pair = judge(two, two.point(np.outer(w, spread), b * spread))
    single = judge(one, one.point(w, b))
    assert pair.primal == pytest.approx(single.primal, rel=1e-12)
    assert pair.gap == pytest.approx(single.gap, rel=1e-9)
    assert two.scale == pytest.approx(one.scale, rel=1e-12)
    assert two.null.b == pytest.approx(one.null.b * spread, rel=1e-9)


@pytest.mark.parametrize("k", [2, 5])
def test_best_intercepts_balance_the_gradient(k):
    rng = np.random.default_rng(k)
    X, _ = data(n=200)
    y = rng.integers(0, k, 200).astype(float)
    objective = problem(Softmax(), mm.L2(), X, y, k, weights=rng.uniform(0.1, 5.0, 200))
    for size in (0.1, 5.0, 100.0):
        z = size * rng.standard_normal((200, k))
        b = best_shift(objective, z)
        slope = objective.row_mean(objective.loss.gradient(z + b, y))
        assert np.abs(slope).max() <= 1e-12
        assert abs(b.sum()) <= 1e-9 * max(1.0, np.abs(b).max())


# Units ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [mm.L1(), mm.L2(), mm.L1() + 0.5 * mm.L2()], ids=repr)
def test_means_of_runs(penalty, intercept):
    X, y = data()
    loss = RunSquares().bind(UNITS)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, len(UNITS) - 1)
    objective = problem(loss, 0.05 * penalty, X, y, 1, intercept, weights)
    form = objective.penalty.sum_over_features
    w, b = optimum(objective, X, "run_squares", norms=form.l1, squares=form.l2)
    holds(objective, w, b, small=1e-5)
    # The same as the squared loss of the runs' means.
    sizes = np.diff(UNITS)
    means = np.add.reduceat(np.column_stack([X, y]), UNITS[:-1]) / sizes[:, None]
    plain = problem(
        mm.Squared(), 0.05 * penalty, means[:, :-1], means[:, -1], 1, intercept, weights
    )
    one, two = judge(objective, objective.point(w, b)), judge(plain, plain.point(w, b))
    assert one.primal == pytest.approx(two.primal, rel=1e-12)
    assert objective.scale == pytest.approx(plain.scale, rel=1e-12)


@pytest.mark.parametrize("penalty", [mm.L1(), mm.L2()], ids=repr)
def test_maxima_of_runs(penalty):
    X, y = data()
    objective = problem(RunMaximum().bind(UNITS), 0.05 * penalty, X, y - y.mean(), 1, False)
    form = objective.penalty.sum_over_features
    w, b = optimum(objective, X, "run_maximum", norms=form.l1, squares=form.l2)
    holds(objective, w, b, small=np.inf)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [mm.L1(), mm.L2()], ids=repr)
def test_the_whole_set(penalty, intercept):
    X, y = data()
    objective = problem(mm.Chebyshev(), 0.05 * penalty, X, y, 1, intercept)
    assert objective.mass.shape == (1,)
    assert objective.row_mass.shape == (30,)
    form = objective.penalty.sum_over_features
    w, b = optimum(objective, X, "largest", norms=form.l1, squares=form.l2)
    holds(objective, w, b, small=np.inf)


def test_units_are_not_cut(monkeypatch):
    from minimand._base import row_blocks

    X, y = data()
    objective = problem(RunSquares().bind(UNITS), mm.L2(), X, y)
    z, theta = objective.point(np.ones(4), 0.2).z, objective.loss.into_domain(y, y)
    whole = objective.mean_loss(z), objective.young(z, theta), objective.infimum
    monkeypatch.setattr(row_blocks, "ROWS", 7)
    again = problem(RunSquares().bind(UNITS), mm.L2(), X, y)
    assert again.mean_loss(z) == pytest.approx(whole[0], rel=1e-13)
    assert np.allclose(again.young(z, theta), whole[1], rtol=1e-13, atol=0)
    assert again.mean_young(z, theta) == pytest.approx(whole[1].sum(), rel=1e-13)
    value = again.loss.value(z, y)
    assert again.mean_above_infimum(value) == pytest.approx(objective.above_infimum(value).sum())
    assert again.infimum == whole[2]
    part = objective.on_rows(np.arange(3, 12))
    assert np.array_equal(part.units, [0, 1, 6, 9])
    assert part.mass.sum() == pytest.approx(1.0)
    assert np.allclose(part.loss.value(z[3:12], y[3:12]), objective.loss.value(z, y)[1:4])
    with pytest.raises(ValueError, match="cannot be parted"):
        objective.on_rows(np.arange(2, 12))
    assert objective.thinned(3).n_samples == 3 + 3 + 5
    with pytest.raises(ValueError, match="bind"):
        RunSquares().by_unit(y)
    with pytest.raises(ValueError, match="no run is empty"):
        RunSquares().bind([0, 2, 2])


# Designs without columns ------------------------------------------------------------------------


def kernel(X):
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 1e-6 * np.eye(len(X))
    return K, np.linalg.cholesky(K)


FUNCTIONS_OF_NORM = [0.05 * mm.L2(), mm.L2Ball(1.5), mm.L2Ball(1.5) + 0.1 * mm.L2()]
LOSSES = [
    (mm.Squared(), 1),
    (mm.Logistic(), 1),
    (mm.Hinge(), 1),
    (mm.Absolute(), 1),
    (Softmax(), 3),
]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", FUNCTIONS_OF_NORM, ids=repr)
@pytest.mark.parametrize(("loss", "k"), LOSSES, ids=repr)
def test_a_kernel_is_certified_as_its_features_are(loss, k, penalty, intercept):
    X, score = data()
    K, L = kernel(X)
    mm.testing.check_design(Gram(K), L)
    rng = np.random.default_rng(0)
    y = {1: score, 3: np.digitize(score, np.quantile(score, [0.3, 0.6])).astype(float)}[k]
    if loss.target == "sign":
        y = np.sign(score)
    offset = 0.1 * rng.standard_normal(y.shape if k == 1 else (30, k))
    hidden = problem(loss, penalty, None, y, k, intercept, None, offset, design=Gram(K))
    plain = problem(loss, penalty, L, y, k, intercept, None, offset)
    assert hidden.scale == pytest.approx(plain.scale, rel=1e-12)
    shape = (30,) if k == 1 else (30, k)
    for size in (0.0, 0.01, 0.3):
        a = size * rng.standard_normal(shape)
        a *= min(1.0, 1.4 / max(np.sqrt(np.vdot(a, K @ a)), 1e-300))  # inside the ball
        b = 0.2 * rng.standard_normal(shape[1:]) if intercept else np.zeros(shape[1:])
        b = float(b) if k == 1 else b
        theta = loss.into_domain(rng.standard_normal(shape), y)
        one = judge(hidden, hidden.point(a, b), [theta], thorough=True)
        two = judge(plain, plain.point(L.T @ a, b), [theta], thorough=True)
        assert one.primal == pytest.approx(two.primal, rel=1e-10)
        assert one.gap == pytest.approx(two.gap, rel=1e-7)
        again = judge(hidden, hidden.point(0.5 * a, b), known=[one.dual], raw=False)
        other = judge(plain, plain.point(0.5 * (L.T @ a), b), known=[two.dual], raw=False)
        assert again.gap == pytest.approx(other.gap, rel=1e-7)
        assert one.certificate(hidden).rounding < 1e-8


def test_the_gap_of_a_kernel_does_not_cancel():
    # Kernel ridge in closed form: a = −mass∘θ/α, so that the gap is nothing but rounding squared.
    X, y = data()
    K, _ = kernel(X)
    n, alpha = len(y), 1e-3
    a = np.linalg.solve(K + n * alpha * np.eye(n), y)
    objective = problem(mm.Squared(), alpha * mm.L2(), None, y, 1, False, design=Gram(K))
    found = judge(objective, objective.point(a, 0.0))
    assert found.gap <= 1e-20 * objective.scale


def test_a_kernel_takes_functions_of_the_norm_only():
    X, y = data()
    objective = problem(mm.Squared(), mm.L1(), None, y, design=Gram(kernel(X)[0]))
    assert judge(objective, objective.null).gap == np.inf


def test_the_refusal_of_a_loss_over_runs_speaks_of_runs():
    from minimand.solvers import solve

    X, y = data()
    objective = problem(RunSquares().bind(UNITS), mm.L2(), X, y)
    with pytest.raises(ValueError, match="is one number for every run of rows, not a mean over"):
        solve(objective)
