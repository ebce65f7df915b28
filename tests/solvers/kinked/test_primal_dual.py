"""The interior-point method against a quadratic program, its corners, and its shortcuts."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.solvers.kinked import row_reduction as reduction

LINES = [mm.Absolute(), mm.Quantile(0.8), mm.EpsilonInsensitive(0.4), mm.Hinge()]
PENALTIES = {
    "l2": mm.L2(),
    "l1": mm.L1(),
    "mixed": mm.L1() + mm.L2(),
    "none": mm.NoPenalty(),
    "non_negative": mm.NonNegative(),
    "box": mm.Box(-0.2, 0.3),
    "non_negative_l1": mm.NonNegative() + mm.L1(),
}
KINDS = ["ordinary", "wide", "scales", "ties", "duplicated", "constant", "separable"]


class Kinked(mm.Distance):
    """Jumps and curves, and a parabola for ever on the right."""

    pieces = mm.Pieces([-1.0, 0.0, 2.0], [-3.0, -1.0, 0.5, 2.0], [0.0, 0.5, 0.25, 1.0])


class Backed(mm.Margin):
    """A parabola on the left, a kink, and nothing."""

    pieces = mm.Pieces([-1.0, 1.0], [-2.0, -1.0, 0.0], [1.0, 0.0, 0.0])


def data(loss, kind="ordinary", n=50, d=5, seed=0):
    rng = np.random.default_rng(seed)
    n, d = (12, 20) if kind == "wide" else (n, d)
    X = rng.standard_normal((n, d)) + 0.3
    z = X @ rng.standard_normal(d) + 1
    noisy = z + rng.standard_t(3, n) * (kind != "separable")
    if kind == "scales":
        X = X * np.geomspace(1e-4, 1e4, d)
    elif kind == "ties":
        X, noisy = np.round(X), np.round(noisy)
    elif kind == "duplicated":
        X[:, -1], X[1], noisy[1] = X[:, 0], X[0], noisy[0]
    elif kind == "constant":
        X[:, 0], X[:, 1] = 0.0, 3.0
    return X, (
        np.where(noisy > np.median(noisy), 1.0, -1.0) if isinstance(loss, mm.Margin) else noisy
    )


def fit(
    loss, penalty, X, y, alpha=0.05, *, weight=None, offset=None, solver="primal_dual", **kwargs
):
    kind = mm.Classifier if isinstance(loss, mm.Margin) else mm.Regressor
    model = kind(loss, penalty, alpha=alpha, solver=solver, **kwargs)
    return model.fit(X, y, sample_weight=weight, offset=offset)


def optimum(loss, form, X, y, mass, offset, intercept):
    """min Σ mass·s + Σ l1·a + ½ l2·w², s above every line of ψ(t), a above |w|, w in its bounds."""
    (n, d), psi, plq = X.shape, loss.pieces, loss.plq(y)
    heights = np.append(psi.values[:1], psi.values) - psi.slopes * np.append(
        psi.knots[:1], psi.knots
    )
    T = np.column_stack([X, np.ones(n)]) * plq.sign[:, None]
    fixed = plq.sign * offset - plq.shift
    A, b = [], []
    for slope, height in zip(psi.slopes, heights):
        A.append(np.hstack([slope * T, -np.eye(n), np.zeros((n, d))]))
        b.append(-height - slope * fixed)
    for sign in (1.0, -1.0):
        A.append(np.hstack([sign * np.eye(d, d + 1), np.zeros((d, n)), -np.eye(d)]))
        b.append(np.zeros(d))
    if form.bounds is not None:
        for sign, bound in zip((-1.0, 1.0), form.bounds):
            kept = np.isfinite(bound)
            A.append(sign * np.eye(d, d + 1 + n + d)[kept])
            b.append(sign * bound[kept])
    if not intercept:
        A += [sign * np.eye(1, d + 1 + n + d, d) for sign in (1.0, -1.0)]
        b += [np.zeros(1)] * 2
    P = np.concatenate([form.l2, np.zeros(1 + n + d)])
    q = np.concatenate([np.zeros(d + 1), mass, form.l1])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    A, b = sparse.csc_matrix(np.vstack(A)), np.concatenate(b)
    cones = [clarabel.NonnegativeConeT(A.shape[0])]
    return clarabel.DefaultSolver(sparse.diags(P, format="csc"), q, A, b, cones, settings).solve()


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LINES, ids=repr)
def test_equals_the_quadratic_program(loss, penalty):
    rng = np.random.default_rng(1)
    X, y = data(loss)
    weight, offset = rng.uniform(0.2, 2, len(y)), rng.standard_normal(len(y))
    for intercept in (True, False):
        model = fit(
            loss,
            PENALTIES[penalty],
            X,
            y,
            weight=weight,
            offset=offset,
            intercept=intercept,
            tol=1e-9,
        )
        form = PENALTIES[penalty].bind(X.shape[1], 0.05)
        found = optimum(loss, form, X, y, weight / weight.sum(), offset, intercept)
        c = model.certificate_
        assert c.relative <= 1e-9
        assert abs(c.primal - found.obj_val) <= 1e-7 * (1 + abs(found.obj_val))
        assert c.dual <= found.obj_val + 1e-7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "loss", [*LINES, mm.PerceptronLoss(), mm.Huber(), Kinked(), Backed()], ids=repr
)
def test_reaches_the_gap_on_data_of_every_kind(loss, kind):
    X, y = data(loss, kind)
    for seed, penalty in enumerate(PENALTIES.values()):
        sample = sparse.csr_array(X) if seed % 2 else X
        weight = np.random.default_rng(seed).integers(0, 3, len(y)) + 0.0
        weight[[y.argmin(), y.argmax()]] = 1.0  # so that both classes stay
        model = fit(loss, penalty, sample, y, alpha=0.01, weight=weight)
        assert model.certificate_.relative <= 1e-6, penalty
        assert model.certificate_.dual <= model.certificate_.primal


@pytest.mark.parametrize("loss", LINES, ids=repr)
def test_corners_are_exact(loss):
    X, y = data(loss, n=80)
    for penalty in (mm.NoPenalty(), mm.L1()):
        model = fit(loss, penalty, X, y, alpha=0.02, tol=1e-10)
        assert model.certificate_.relative <= 1e-13
        t = loss.plq(y).at(model.decision_function(X) if loss is LINES[3] else model.predict(X))
        on_knot = np.abs(t[:, None] - loss.pieces.knots).min(axis=1) < 1e-12
        assert on_knot.sum() >= 1 + np.count_nonzero(model.coef_)  # as many as unknowns


def test_quantiles_lie_where_they_should():
    X, y = data(LINES[1], n=401)
    for q in (0.1, 0.5, 0.9):
        residual = y - fit(mm.Quantile(q), mm.NoPenalty(), X, y).predict(X)
        below, on = (residual < -1e-10).sum(), (np.abs(residual) <= 1e-10).sum()
        assert below <= q * len(y) <= below + on
        assert on == X.shape[1] + 1


def test_zeros_and_bounds_are_exact():
    X, y = data(LINES[0], n=100, d=12)
    coef = fit(mm.Absolute(), mm.L1(), X, y, alpha=0.3).coef_
    assert 0 < np.count_nonzero(coef) < coef.size
    coef = fit(mm.Absolute(), mm.Box(-0.2, 0.3), X, y).coef_
    assert set(coef[np.abs(coef - 0.05) > 0.2499]) <= {-0.2, 0.3}
    lo, hi = np.full(12, -1.0), np.full(12, 1.0)
    lo[3] = hi[3] = 0.25
    model = fit(mm.Absolute(), mm.Box(lo, hi), X, y)
    assert model.coef_[3] == 0.25
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("penalty", ["l1", "l2", "none", "box"])
@pytest.mark.parametrize("loss", LINES, ids=repr)
def test_leaving_out_rows_changes_nothing(loss, penalty, monkeypatch):
    X, y = data(loss, n=3000, d=4)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y))
    monkeypatch.setattr(reduction, "_WORTH", 10**6)
    every = fit(loss, PENALTIES[penalty], X, y, weight=weight, tol=1e-9)
    monkeypatch.setattr(reduction, "_WORTH", 500)
    taken = []
    inner = reduction._inner
    monkeypatch.setattr(reduction, "_inner", lambda *a: taken.append(a[4].mean()) or inner(*a))
    few = fit(loss, PENALTIES[penalty], X, y, weight=weight, tol=1e-9)
    assert few.certificate_.relative <= 1e-9
    assert 0 < min(taken) < 0.4
    assert few.certificate_.primal == pytest.approx(every.certificate_.primal, rel=1e-9)
    np.testing.assert_allclose(few.coef_, every.coef_, rtol=1e-3, atol=1e-4)


def test_rows_that_crowd_about_a_kink_are_all_used(monkeypatch):
    """Labels that X says nothing of: w is all but 0, and half of the rows are next to the kink."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((2000, 3)), rng.random(2000) < 0.4
    monkeypatch.setattr(reduction, "_WORTH", 10**6)
    every = mm.Classifier("hinge", "l2", alpha=0.01, solver="primal_dual").fit(X, y)
    monkeypatch.setattr(reduction, "_WORTH", 500)
    bands, nearest = [], reduction._nearest
    monkeypatch.setattr(reduction, "_nearest", lambda *a: bands.append(a[2]) or nearest(*a))
    few = mm.Classifier("hinge", "l2", alpha=0.01, solver="primal_dual").fit(X, y)
    assert few.certificate_.relative <= 1e-6
    assert few.certificate_.primal == pytest.approx(every.certificate_.primal, rel=1e-6)
    assert (np.diff(bands) <= 0).all()  # a wider band after a miss would be in vain


def test_leaving_out_rows_copes_with_ties_and_bad_guesses(monkeypatch):
    monkeypatch.setattr(reduction, "_WORTH", 500)
    for band in (0.01, 2.5):
        monkeypatch.setattr(reduction, "_BAND", band)
        for kind in ("ties", "duplicated", "scales"):
            X, y = data(LINES[0], kind, n=2000, d=4)
            y[::10] += 50 * (np.arange(200) < 100)
            model = fit(mm.Absolute(), mm.NoPenalty(), X, y)
            assert model.certificate_.relative <= 1e-6, (band, kind)


def test_columns_may_be_scaled():
    X, y = data(LINES[1])
    size = np.geomspace(1e-6, 1e6, X.shape[1])
    for penalty, other in (
        (mm.NoPenalty(), mm.NoPenalty()),
        (mm.L1(), mm.L1(size)),
        (mm.L2(), mm.L2(size**2)),
    ):
        one = fit(mm.Quantile(0.8), penalty, X, y, tol=1e-10)
        two = fit(mm.Quantile(0.8), other, X * size, y, tol=1e-10)
        np.testing.assert_allclose(two.coef_ * size, one.coef_, rtol=1e-6, atol=1e-8)


def test_balls_are_found_through_the_penalised_problem():
    for loss in LINES:
        X, y = data(loss)
        for ball, norm in ((mm.L1Ball(0.5), 1), (mm.L2Ball(0.5), 2)):
            model = fit(loss, ball, X, y, solver="auto")
            assert model.certificate_.relative <= 1e-6
            assert np.linalg.norm(np.ravel(model.coef_), norm) <= 0.5 * (1 + 1e-12)


def test_is_chosen_for_kinks_and_not_where_newton_does():
    X, y = data(LINES[0])
    assert fit("quantile", "l1", X, y, solver="auto").solver_ == "primal_dual"
    assert fit("absolute", "no_penalty", X, y, solver="auto").solver_ == "primal_dual"
    assert fit("huber", "l2", X, y, solver="auto").solver_ == "newton"


def test_refuses_in_words():
    X, y = data(LINES[0])
    with pytest.raises(ValueError, match="not linear or quadratic piece by piece"):
        fit("poisson", "l1", X, np.abs(y))
    with pytest.raises(ValueError, match="not a sum over features"):
        fit("absolute", mm.L2Ball(1.0), X, y)
    large = sparse.random_array((5200, 5100), density=1e-3, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="dense system of 5100 unknowns"):
        fit("absolute", "no_penalty", large, np.ones(5200))
    with pytest.raises(ValueError, match="too large"):
        fit("absolute", "l1", X, y, memory=100)
    wide = sparse.random_array((50, 1600), density=0.1, rng=np.random.default_rng(0))
    for penalty in ("l1", "l2"):
        assert fit("absolute", penalty, wide, y).certificate_.relative <= 1e-6  # 50 unknowns


@pytest.mark.parametrize("shape", [(30, 60), (60, 30), (40, 200)])
def test_steps_leave_offered_models_alone(shape):
    """A model that was judged keeps its coefficients while the walk goes on."""
    from minimand.estimators.prepare import posed
    from minimand.solvers.kinked.central_path import Limits
    from minimand.solvers.kinked.interior import InteriorPoint
    from minimand.solvers.kinked.vertex import offered

    X, y = data(LINES[0], n=shape[0], d=shape[1])
    (objective,) = posed(mm.Regressor("absolute", "l1", 1e-3), X, y).objectives
    plq, form = objective.loss.plq(y), objective.penalty.sum_over_features
    inner = InteriorPoint(objective, plq, form, objective.null)
    inner.walk(Limits(0.0, 3))
    models = offered(inner, near=False).models
    before = [w.copy() for w, _ in models]
    inner.walk(Limits(0.0, 3))
    assert all(np.array_equal(w, then) for (w, _), then in zip(models, before))
    assert not np.array_equal(inner.w, before[0])


def test_can_be_watched_and_stopped():
    X, y = data(LINES[0], n=200)
    seen = []
    fit("absolute", "l1", X, y, alpha=0.01, callbacks=[seen.append])
    assert len(seen) >= 2  # steps far from the optimum are not judged
    assert seen[-1].gap < 1e-3 * seen[0].gap
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = fit("absolute", "l1", X, y, alpha=0.01, max_iter=2)
    assert model.certificate_.relative > 1e-6


@pytest.mark.parametrize(
    ("penalty", "alpha"),
    [("l2", 0.01), ("l2", 0.1), ("l1", 1.0), ("l1", 1e-3), ("no_penalty", 1.0)],
)
@pytest.mark.parametrize("data", [load_digits, load_breast_cancer])
def test_raw_units_of_real_data(data, penalty, alpha):
    """Products of slacks may rise for many iterations before they fall."""
    X, y = data(return_X_y=True)
    fitted = mm.Classifier("hinge", penalty, alpha=alpha, solver="primal_dual").fit(X, y == 1)
    assert fitted.certificate_.relative <= 1e-6


@pytest.mark.parametrize("penalty", ["l2", "l1", "no_penalty"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_most_samples_far_beyond_the_margin(penalty, class_weight):
    """From w = 0 samples have a way to go that is much longer than their first slacks."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-100, 5, (2000, 1))
    y = x[:, 0] + rng.normal(0, 1, 2000) > 0
    model = mm.Classifier("hinge", penalty, class_weight=class_weight).fit(x, y)
    assert model.certificate_.relative <= 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_windows_of_a_random_walk(seed):
    steps = np.random.default_rng(seed).normal(size=1500).cumsum()
    X = np.lib.stride_tricks.sliding_window_view(steps, 12)[:-1]
    model = mm.Classifier("hinge").fit(X, steps[12:] > 0)
    assert model.certificate_.relative <= 1e-6


def test_rare_words_and_a_rare_class():
    rng = np.random.default_rng(0)
    X = (rng.random((4000, 60)) < 0.02) * 1.0
    z = ((X - X.mean(axis=0)) / X.std(axis=0)) @ rng.normal(size=60) / 2
    y = z + rng.logistic(size=4000) > np.quantile(z, 0.97)
    assert mm.Classifier("hinge", "no_penalty").fit(X, y).certificate_.relative <= 1e-6
