"""The largest residual: its laws, and its quadratic programs against Clarabel."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm

LOSS = mm.Chebyshev()
PENALTIES = {
    "l2": (mm.L2(), 0.0, -np.inf, np.inf),
    "l1 + l2": (mm.L1() + mm.L2(), 1.0, -np.inf, np.inf),
    "l2, nonnegative": (mm.L2() + mm.NonNegative(), 0.0, 0.0, np.inf),
    "l1 + l2 in a box": (mm.L1() + mm.L2() + mm.Box(-0.2, 0.3), 1.0, -0.2, 0.3),
}


def oracle(X, y, alpha, l1, low, high, intercept):
    """min t + α·(l1·Σs + ½‖w‖²) with |r| ≤ t, |w| ≤ s, in w, b, t, s."""
    n, d = X.shape
    one, none = np.ones((n, 1)), np.zeros((n, d))
    eye, zero = np.eye(d), np.zeros((d, 2))
    b = one * intercept
    rows = [np.hstack([s * X, s * b, -one, none]) for s in (1, -1)]
    rows += [np.hstack([s * eye, zero, -eye]) for s in (1, -1)]
    right = [y, -y, np.zeros(2 * d)]
    for sign, end in ((1.0, high), (-1.0, low)):
        if np.isfinite(end):
            rows.append(np.hstack([sign * eye, zero, 0 * eye]))
            right.append(np.full(d, sign * end))
    A, h = np.vstack(rows), np.concatenate(right)
    P = np.diag(np.concatenate([np.full(d, alpha), np.zeros(2 + d)]))
    c = np.concatenate([np.zeros(d + 1), [1.0], np.full(d, alpha * l1)])
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(h))]
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(P), c, sparse.csc_matrix(A), h, cones, options
    )
    return solver.solve().obj_val


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("alpha", [1e-4, 0.1, 10.0])
def test_quadratic_programs_equal_clarabels(name, alpha, intercept):
    penalty, l1, low, high = PENALTIES[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)) * [1.0, 5.0, 0.2, 1.0, 1.0] + [0.0, 9.0, 0.0, 0.0, 1.0]
    y = X @ rng.normal(size=5) + rng.uniform(-1, 1, size=400)
    model = mm.Regressor("chebyshev", penalty, alpha, intercept=intercept).fit(X, y)
    assert model.solver_ == "constraint_generation"
    found = model.certificate_
    best = oracle(X, y, alpha, l1, low, high, intercept)
    assert found.relative <= 1e-6
    assert found.primal == pytest.approx(best, rel=2e-6)
    assert found.dual <= best * (1 + 1e-7)


def test_strong_penalties_leave_the_midrange():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    for penalty in ("l1", "l2"):
        model = mm.Regressor("chebyshev", penalty, alpha=1e8).fit(X, y)
        assert model.intercept_ == pytest.approx(0.5 * (y.max() + y.min()), abs=1e-6)
        np.testing.assert_allclose(model.coef_, 0.0, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), step=st.floats(1e-3, 1e3))
def test_prox_minimises(seed, n, step):
    """No other point is better, and what was cut off adds up to the step."""
    rng = np.random.default_rng(seed)
    z, y = rng.normal(size=(2, n)) * 3.0
    x = LOSS.prox(z, y, step)

    def objective(x):
        return LOSS.value(x, y).sum() + ((x - z) ** 2).sum() / (2 * step)

    for other in (z, y, *(x + s * rng.normal(size=n) for s in (1e-3, 0.1, 1.0))):
        assert objective(x) <= objective(other) + 1e-12 * (1 + objective(x))
    assert np.abs(z - x).sum() <= step * (1 + 1e-12) + 1e-13


def test_outliers_pull_most():
    """Slopes of A 1.4: the larger the power of the loss, the more one outlier matters."""
    x = np.linspace(0.0, 1.0, 21)[:, None]
    y = np.zeros(21)
    y[-1] = 1.0
    slopes = [
        mm.Regressor(loss, "no_penalty").fit(x, y).coef_[0]
        for loss in ("chebyshev", "squared", "absolute")
    ]
    assert slopes[0] > slopes[1] > slopes[2]
    assert slopes[2] == pytest.approx(0.0, abs=1e-9)


def test_paths_and_tuning():
    """Held-out scores are largest residuals, however many samples a fold has."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 4))
    y = X @ [1.0, 2.0, 0.0, 0.0] + rng.uniform(-1, 1, size=90)
    path = mm.path(mm.Regressor("chebyshev", "l1"), X, y, alphas=5)
    assert all(c.relative <= 1e-6 for c in path.certificates)
    np.testing.assert_array_equal(path.coefs[0], 0.0)
    tuned = mm.Tuned(mm.Regressor("chebyshev", "l1"), alphas=path.alphas[1:], cv=3).fit(X, y)
    scores = tuned.cv_results_["mean_test_score"]
    assert (np.asarray(scores) > -2.5).all()
    assert (np.asarray(scores) < -0.9).all()


def test_of_a_prox_there_is_one_step():
    with pytest.raises(ValueError, match="one step"):
        LOSS.prox(np.zeros(2), np.ones(2), np.ones(2))


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_all_sizes(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 5)) * 10 ** rng.uniform(-5, 5, 5)
    y = X @ (1 / np.abs(X).max(axis=0)) + 0.3 * rng.standard_normal(30)
    for penalty in (mm.L1() + 0.5 * mm.L2(), mm.L1() + 1e-6 * mm.L2(), mm.L2()):
        assert mm.Regressor("chebyshev", penalty, alpha=0.03).fit(X, y).certificate_.gap < 1e-6


class Length(mm.Loss):
    """‖z − y‖₂ of the whole set: one number for all rows, but not the largest residual."""

    unit = "set"
    smooth = False

    def masses(self, weight):
        return np.ones(1)

    def value(self, z, y):
        return np.atleast_1d(np.linalg.norm(z - y))

    def gradient(self, z, y):
        return (z - y) / max(np.linalg.norm(z - y), 1e-300)

    def curvature(self, z, y):
        return np.zeros_like(z)

    def conjugate(self, u, y):
        return np.array([u @ y if np.linalg.norm(u) <= 1 + 1e-14 else np.inf])

    def infimum(self, y):
        return np.zeros(1)

    def best_shift(self, z, y, mass):
        return float(np.mean(y - z))


@pytest.mark.parametrize("penalty", ["l1", "l2", "no_penalty"])
def test_another_loss_of_the_whole_set_is_not_solved_as_if_it_were_this_one(penalty):
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match=r"no solver takes .*Length\(\) is one number for"):
        mm.Regressor(Length(), penalty, alpha=0.1).fit(X, X[:, 0] ** 2)
    named = mm.Regressor(Length(), penalty, alpha=0.1, solver="constraint_generation")
    with pytest.raises(ValueError, match=r"Length\(\) is not the largest residual"):
        named.fit(X, X[:, 0] ** 2)
