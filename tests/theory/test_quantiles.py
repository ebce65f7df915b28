"""Several quantiles at once: laws of the loss, and optima against linear and conic programs."""

from itertools import pairwise

import clarabel
import numpy as np
import pytest
from scipy.optimize import linprog
from shapes_oracle import Program, optimum
from test_shapes import problem

import minimand as mm
from minimand.certificate import judge
from minimand.problem.intercept import recentred
from minimand.solvers import Control, solve

LEVELS = [0.1, 0.5, 0.8]
IN_ORDER = mm.Quantiles(LEVELS, crossing=False)


def data(seed=0, n=40, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + (0.3 + np.abs(X[:, 1])) * rng.standard_normal(n)


# The loss ----------------------------------------------------------------------------------------


def test_conformance():
    mm.testing.check_loss(mm.Quantiles([0.2, 0.7]), y=np.array([-1.5, 0.0, 2.0]), n_scores=2)


def test_the_conjugate_of_ordered_quantiles():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(300)
    ordered = [np.sort(s * rng.standard_normal((300, 3)), axis=1) for s in (0.1, 1.0, 10.0)]
    ordered += [np.repeat(y[:, None], 3, axis=1), np.repeat(y[:, None] + 1.0, 3, axis=1)]
    inside = np.clip(rng.standard_normal((300, 3)), -np.array(LEVELS), 1 - np.array(LEVELS))
    order = rng.exponential(size=(300, 2))
    for u in (
        inside,
        inside + np.pad(order, ((0, 0), (0, 1))) - np.pad(order, ((0, 0), (1, 0))),
        IN_ORDER.into_domain(3.0 * rng.standard_normal((300, 3)), y),
    ):
        assert np.allclose(IN_ORDER.into_domain(u, y), u, atol=1e-12)
        conjugate = IN_ORDER.conjugate(u, y)
        assert np.isfinite(conjugate).all()
        for z in ordered:
            whole = IN_ORDER.value(z, y) + conjugate - (u * z).sum(axis=1)
            size = 1.0 + np.abs(z).sum(axis=1) * np.abs(u).sum(axis=1)
            young = IN_ORDER.fenchel_young(z, u, y)
            assert (young >= 0).all()
            assert (np.abs(young - whole) <= 1e-12 * size).all()
    # Outside, some ordered z makes u·z − value as large as one likes.
    outside = rng.standard_normal((300, 3)) * 3.0
    far = np.isinf(IN_ORDER.conjugate(outside, y))
    assert 0 < far.sum() < 300
    rays = [np.array(r, float) for r in ((1, 1, 1), (-1, -1, -1), (0, 0, 1), (0, 1, 1),
                                         (-1, 0, 0), (-1, -1, 0))]  # fmt: skip
    gains = [outside @ r - IN_ORDER.value(np.tile(r, (300, 1)), np.zeros(300)) for r in rays]
    assert np.array_equal(np.max(gains, axis=0) > 1e-12, far)


def test_out_of_order_is_infinite():
    z, y = np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]), np.zeros(2)
    assert np.isfinite(IN_ORDER.value(z, y)).tolist() == [True, False]
    assert np.isfinite(mm.Quantiles(LEVELS).value(z, y)).all()
    slope = IN_ORDER.gradient(z, y)
    assert np.isinf(IN_ORDER.fenchel_young(z, slope, y)[1])
    assert IN_ORDER.fenchel_young(z, slope, y)[0] <= 1e-15


def test_proximal_points_in_order():
    rng = np.random.default_rng(1)
    z, y = rng.standard_normal((200, 3)), rng.standard_normal(200)
    for step in (0.1, 2.0):
        p = IN_ORDER.prox(z, y, step)
        assert (np.diff(p, axis=1) >= -1e-12).all()
        # (z − p)/step is a subgradient at p.
        u = (z - p) / step
        assert (IN_ORDER.fenchel_young(p, IN_ORDER.into_domain(u, y), y) <= 1e-12).all()
        assert np.allclose(IN_ORDER.into_domain(u, y), u, atol=1e-12)


def test_best_intercepts_in_order():
    rng = np.random.default_rng(2)
    z, y, mass = rng.standard_normal((30, 3)), rng.standard_normal(30), rng.uniform(size=30)
    b = IN_ORDER.best_shift(z, y, mass)
    best = mass @ IN_ORDER.value(z + b, y)
    assert np.isfinite(best)
    for size in (1e-3, 0.1, 1.0):
        for other in b + size * rng.standard_normal((300, 3)):
            assert mass @ IN_ORDER.value(z + other, y) >= best - 1e-12


# Fits --------------------------------------------------------------------------------------------


def program(X, y, mass, l1, l2, crossing):
    """The least objective by Clarabel, over coefficients and intercepts of every quantile."""
    built, (n, d) = Program(), X.shape
    models = [(built.variables(d, curve=l2), built.variables(1)) for _ in LEVELS]
    for (w, b), q in zip(models, LEVELS):
        for i in range(n):
            up, down = (built.variables(1, cost=mass[i] * c)[0] for c in (1 - q, q))
            for part in (up, down):
                built.inside(clarabel.NonnegativeConeT(1), ([(part, 1.0)], 0.0))
            score = [(w[j], X[i, j]) for j in range(d)] + [(b[0], 1.0)]
            built.inside(clarabel.ZeroConeT(1), ([*score, (up, -1.0), (down, 1.0)], -y[i]))
        for place in w[: d if l1 else 0]:
            (size,) = built.variables(1, cost=l1)
            for sign in (1.0, -1.0):
                built.inside(clarabel.NonnegativeConeT(1), ([(size, 1.0), (place, sign)], 0.0))
    for (w, b), (v, c) in pairwise(models) if not crossing else ():
        for x in X:
            apart = [(v[j], x[j]) for j in range(d)] + [(w[j], -x[j]) for j in range(d)]
            built.inside(clarabel.NonnegativeConeT(1), ([*apart, (c[0], 1.0), (b[0], -1.0)], 0.0))
    x = built.solve()
    return np.column_stack([x[w] for w, _ in models]), np.array([x[b[0]] for _, b in models])


@pytest.mark.parametrize("crossing", [True, False])
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.02, 0.0), (0.0, 0.01), (0.02, 0.01)])
def test_the_optimum_of_a_program(l1, l2, crossing):
    X, y = data(seed=1, n=30, d=6)
    weights = np.random.default_rng(3).uniform(0.2, 2.0, len(y))
    loss = mm.Quantiles(LEVELS, crossing=crossing)
    objective = problem(loss, l1 * mm.L1() + l2 * mm.L2(), X, y, 3, True, weights)
    found = solve(objective, "auto", Control(tol=1e-8))
    assert found.converged
    assert found.solver == ("by_score" if crossing else "ordered")
    w, b = program(X, y, objective.mass, l1, l2, crossing)
    best = objective.mean(mm.Quantiles(LEVELS).value(X @ w + b, y)) + objective.penalty.value(w)
    assert found.certificate.primal == pytest.approx(best, rel=1e-6)
    z = objective.point(found.w, found.b).z
    assert (np.diff(z, axis=1) >= 0).all() == (not crossing)
    # Certificates at other models are true.
    rng = np.random.default_rng(4)
    for size in (0.01, 0.3):
        moved = objective.point(found.w + size * rng.standard_normal(w.shape), found.b)
        moved = recentred(objective, moved)
        for thorough in (False, True):
            one = judge(objective, moved, [rng.standard_normal(z.shape)], thorough=thorough)
            assert one.certificate(objective).dual <= best * (1 + 1e-9)


@pytest.mark.parametrize("weights", [None, np.arange(40) % 3])
@pytest.mark.parametrize(
    "extra",
    [
        lambda X: np.ones((len(X), 1)),
        lambda X: np.full((len(X), 1), 1e8),
        lambda X: np.zeros((len(X), 1)),
        lambda X: X[:, [1, 0]],
        lambda X: np.eye(4)[np.arange(len(X)) % 4],
    ],
    ids=["ones", "large", "zeros", "copies", "dummies"],
)
def test_columns_that_depend_on_others_change_nothing(extra, weights):
    X, y = data()
    more = extra(X)
    whole = np.column_stack([more, X])
    independent = np.column_stack([X, more[:, : 3 if more.shape[1] == 4 else 0]])
    model = mm.Regressor(IN_ORDER, "no_penalty", tol=1e-8).fit(whole, y, sample_weight=weights)
    base = mm.Regressor(IN_ORDER, "no_penalty", tol=1e-8).fit(independent, y, sample_weight=weights)
    assert model.certificate_.relative <= 1e-8
    assert model.certificate_.primal == pytest.approx(base.certificate_.primal, rel=1e-7)
    mass = np.ones(len(y)) if weights is None else weights
    value = mass @ mm.Quantiles(LEVELS).value(model.predict(whole), y) / mass.sum()
    assert value == pytest.approx(base.certificate_.primal, rel=1e-7)
    assert (np.diff(model.predict(whole[mass > 0]), axis=1) >= 0).all()


def test_crossing_quantiles_are_fits_of_their_own():
    X, y = data(n=80)
    model = mm.Regressor(mm.Quantiles(LEVELS), "l2", alpha=0.01).fit(X, y)
    for q, w, b in zip(LEVELS, model.coef_, model.intercept_):
        one = mm.Regressor(mm.Quantile(q), "l2", alpha=0.01, tol=1e-9).fit(X, y)
        assert np.allclose(w, one.coef_, atol=2e-3)
        assert b == pytest.approx(one.intercept_, abs=2e-3)


def test_ordered_quantiles_with_an_offset_as_a_linear_program():
    X, y = data(n=25, d=2)
    offset = np.random.default_rng(5).standard_normal(len(y))
    model = mm.Regressor(IN_ORDER, "no_penalty").fit(X, y, offset=offset)
    n, k = len(y), 3
    A = np.column_stack([X, np.ones(n)])
    cost = np.concatenate([np.zeros(9), *(np.full(n, 1 - q) for q in LEVELS),
                           *(np.full(n, q) for q in LEVELS)])  # fmt: skip
    equal = np.hstack([np.kron(np.eye(k), A), -np.eye(k * n), np.eye(k * n)])
    upper = np.hstack([np.kron(-np.diff(np.eye(k), axis=0), A), np.zeros((2 * n, 2 * k * n))])
    bounds = [(None, None)] * 9 + [(0, None)] * (2 * k * n)
    found = linprog(cost / n, upper, np.zeros(2 * n), equal, np.tile(y - offset, k), bounds)
    assert model.certificate_.primal == pytest.approx(found.fun, rel=1e-8)
    assert (np.diff(model.predict(X, offset=offset), axis=1) >= 0).all()


@pytest.mark.parametrize("penalty", ["no_penalty", "l1", "l2"])
def test_many_rows_in_order(penalty):
    """With outliers, and nine quantiles of which some would cross."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 5)) * 10.0 ** rng.uniform(-2, 2, 5)
    y = (X / X.std(axis=0)).sum(axis=1) + rng.standard_t(2, len(X))
    loss = mm.Quantiles(np.linspace(0.05, 0.95, 9), crossing=False)
    model = mm.Regressor(loss, penalty, alpha=None if penalty == "no_penalty" else 0.01).fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert (np.diff(model.predict(X), axis=1) >= 0).all()


def test_estimators():
    X, y = data(n=60)
    model = mm.Regressor(mm.Quantiles(LEVELS, crossing=False), "l1", alpha=0.05).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.predict(X).shape == (60, 3)
    assert 0 < model.score(X, y) < 1
    assert mm.certify(model, X, y).relative <= 1e-6
    top = mm.alpha_max(model, X, y)
    assert not mm.Regressor(IN_ORDER, "l1", alpha=1.001 * top).fit(X, y).coef_.any()
    low = mm.Regressor(IN_ORDER, mm.TraceNorm(), alpha=0.1, tol=1e-4).fit(X, y)
    assert np.linalg.matrix_rank(low.coef_, rtol=1e-6) < 3


@pytest.mark.parametrize("q", [[0.5], [0.5, 0.2], [0.0, 0.5], "median", [[0.1, 0.2]]])
def test_what_is_refused(q):
    X, y = data()
    with pytest.raises(ValueError, match="at least two increasing numbers"):
        mm.Regressor(mm.Quantiles(q), "l2").fit(X, y)
    with pytest.raises(ValueError, match="crossing of Quantiles must be True or False"):
        mm.Regressor(mm.Quantiles(crossing="no"), "l2").fit(X, y)
    with pytest.raises(ValueError, match="without intercepts"):
        mm.Regressor(mm.Quantiles(crossing=False), "l2", intercept=False).fit(X, y)


@pytest.mark.parametrize("squared", [False, True])
def test_groups_in_order_are_refused_with_a_way_out(squared):
    X, y = data()
    penalty = mm.L21(squared=squared)
    with pytest.raises(ValueError, match=r"take crossing=True or .*such as Huber\(\)"):
        mm.Regressor(IN_ORDER, penalty, alpha=0.1).fit(X, y)
    free = mm.Regressor(mm.Quantiles(LEVELS), penalty, alpha=0.1).fit(X, y)
    assert free.certificate_.relative <= 1e-6


def test_rounded_quantiles_are_envelopes():
    rng = np.random.default_rng(0)
    z, y, loss = 2 * rng.standard_normal((50, 3)), rng.standard_normal(50), mm.Quantiles(LEVELS)
    for width in (1e-6, 0.3, 4.0):
        smooth = loss.smoothed(width)
        near = loss.prox(z, y, width)
        value = loss.value(near, y) + ((z - near) ** 2).sum(axis=1) / (2 * width)
        assert smooth.value(z, y) == pytest.approx(value, rel=1e-9, abs=1e-9)
        assert smooth.gradient(z, y) == pytest.approx((z - near) / width, abs=1e-6)
        mm.testing.check_loss(smooth, y[:6], n_scores=3)


def test_a_feature_for_all_quantiles_or_for_none_equals_its_cone_program():
    X, y = data(n=30)
    objective = problem(mm.Quantiles(LEVELS), 0.1 * mm.L21(), X, y, 3)
    w, b = optimum(objective, X, "quantiles", norms=0.1)
    best = objective.primal(objective.point(w, b))
    for most in (1, None):
        found = solve(objective, "auto", Control(tol=1e-7, max_iter=most)).certificate
        assert found.dual <= best + 1e-9 * objective.scale
    assert found.relative <= 1e-7
    assert found.primal == pytest.approx(best, abs=2e-7 * objective.scale)
