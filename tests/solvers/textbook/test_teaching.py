"""Gradient, fast gradient, subgradient and coordinate descent do what the textbooks prove."""

import warnings
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.design import as_design
from minimand.penalties import BoundPenalty
from minimand.problem.objective import Objective
from minimand.solvers import ASKED, SOLVERS, Control, choose_solver, solve
from minimand.solvers.steps.step_size import lipschitz

S = mm.solvers
LOSSES = [
    mm.Squared(), mm.Huber(0.5), mm.Poisson(), mm.CrossEntropy(), mm.Gamma(), mm.Tweedie(),
    mm.Logistic(), mm.SquaredHinge(),
]  # fmt: skip
PENALTIES = [(mm.L1(), 0.05), (mm.L2(), 0.1), (mm.L1() + mm.L2(), 0.05), (mm.NoPenalty(), 0.0)]
EXACT = [
    S.ProximalGradient(),
    S.ProximalGradient(backtracking=True),
    S.ProximalGradient(subsample=8),
    S.Fista(),
    S.Fista(restart=True),
    S.Fista(backtracking=True, subsample=10),
    S.Cyclic(),
    S.Random(),
]


def target(loss, z, rng):
    noisy = z + rng.standard_normal(z.size)
    return {
        "real": noisy,
        "sign": np.where(noisy > 0, 1.0, -1.0),
        "unit": 1 / (1 + np.exp(-noisy)),
        "count": rng.poisson(np.exp(np.clip(z, -2, 2))).astype(float),
        "positive": np.exp(np.clip(noisy, -2, 2)),
    }[loss.target]


def problem(loss=None, penalty=None, alpha=0.1, *, n=40, d=5, seed=0, x=None, **kwargs):
    """Weights, an offset and an intercept on some of them; dense and sparse by turns."""
    rng = np.random.default_rng(seed)
    loss, penalty = loss or mm.Squared(), penalty or mm.L2()
    x = rng.standard_normal((n, d)) if x is None else x
    n, d = x.shape
    y = target(loss, 0.5 * x @ rng.standard_normal(d), rng)
    mass = rng.uniform(0.2, 2.0, n) if seed % 2 else np.ones(n)
    settings = {"offset": 0.2 * rng.standard_normal(n) if seed % 3 else None,
                "intercept": bool(seed % 4)}  # fmt: skip
    design = as_design(sparse.csr_array(x) if seed % 2 else x)
    bound = penalty if not hasattr(penalty, "bind") else penalty.bind(d, alpha)
    return Objective(loss, bound, design, y, mass / mass.sum(), **(settings | kwargs))


def course(objective, solver, iterations=50, tol=0.0):
    """The points a solver visits, and its solution."""
    points = []
    control = Control(
        tol=tol, max_iter=iterations, callbacks=[lambda s: points.append(s.point)], random_state=0
    )
    return points, solve(objective, solver, control)


# The optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", EXACT, ids=repr)
def test_the_same_optimum_as_the_default(solver):
    for i, loss in enumerate(LOSSES):
        for j, (penalty, alpha) in enumerate(PENALTIES):
            objective = problem(loss, penalty, alpha, seed=4 * i + j)
            best = solve(objective, control=Control(tol=1e-10)).certificate
            found = solve(objective, solver, Control(tol=1e-4, random_state=0))
            where = f"{solver!r} on {loss!r} and {penalty!r}"
            assert found.converged, where
            noise = 1e-12 * (abs(best.primal) + objective.scale)
            assert found.certificate.dual <= best.primal + noise, where
            assert found.certificate.primal >= best.dual - noise, where
            assert found.certificate.primal - best.primal <= found.certificate.gap + noise, where


@pytest.mark.parametrize("penalty", [p for p, _ in PENALTIES[:3]], ids=repr)
def test_subgradient_descent_gets_near(penalty):
    for loss in LOSSES[::2]:
        objective = problem(loss, penalty, 0.1, seed=5)
        step = None if np.isfinite(loss.smoothness) else 0.3
        best = solve(objective, control=Control(tol=1e-10)).certificate
        found = solve(objective, S.Subgradient(step), Control(tol=2e-2, max_iter=5000))
        assert found.converged, loss
        assert found.certificate.dual <= best.primal + 1e-12
        assert found.certificate.primal - best.primal <= found.certificate.gap + 1e-12


@pytest.mark.parametrize("solver", [*EXACT, S.Subgradient()], ids=repr)
def test_stopped_early_the_model_is_valid(solver):
    for loss, seed in ((mm.Squared(), 1), (mm.Logistic(), 2)):
        objective = problem(loss, mm.L1(), 0.02, seed=seed)
        best = solve(objective, control=Control(tol=1e-12)).certificate
        for iterations in (1, 3):
            found = solve(objective, solver, Control(tol=0.0, max_iter=iterations))
            assert not found.converged
            assert found.stopped_by == f"max_iter={iterations}"
            assert len(found.history) == iterations + 1
            assert found.certificate.dual <= best.primal + 1e-12
            assert found.certificate.primal <= objective.null_primal
            assert found.certificate.gap >= found.certificate.primal - best.primal - 1e-12


@dataclass(frozen=True, eq=False)
class Euclidean(BoundPenalty):
    """c·‖w‖₂, which is no sum over features."""

    c: float
    d: int

    @property
    def free(self):
        return np.zeros(self.d, dtype=bool)

    def value(self, w):
        return self.c * float(np.linalg.norm(w))

    def by_feature(self, w, v):
        outside = np.linalg.norm(v) > self.c * (1 + 1e-12)
        total = np.inf if outside else max(self.value(w) - float(v @ w), 0.0)
        return np.full(self.d, total / self.d)

    def shrink(self, v):
        size = float(np.linalg.norm(v))
        return 1.0 if size <= self.c else self.c / size

    def prox(self, w, step):
        size = float(np.linalg.norm(w))
        return w * max(1.0 - step * self.c / size, 0.0) if size else w


@pytest.mark.parametrize("c", [0.05, 0.3, 10.0])
@pytest.mark.parametrize("solver", ["proximal_gradient", "fista"])
def test_any_penalty_with_a_prox(solver, c):
    objective = problem(mm.Logistic(), Euclidean(c, 5), seed=1)
    found = solve(objective, solver, Control(tol=1e-8))
    assert found.converged
    assert found.w.any() == (c < 1)

    def value(x):
        return objective.primal(objective.point(x[:-1], float(x[-1])))

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    start = np.append(found.w, found.b) + 0.01
    best = optimize.minimize(value, start, method="Nelder-Mead", options=options).fun
    assert found.certificate.primal <= best + 1e-9
    for name in ("subgradient", "cyclic", "random"):
        with pytest.raises(ValueError, match="not a sum over features"):
            choose_solver(objective, Control(), name)
    with pytest.raises(ValueError, match=r"name one of .*proximal_gradient"):
        choose_solver(objective, Control())


# The step ------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n", "d"), [(50, 7), (7, 50), (420, 330), (350, 500)])
def test_the_bound_of_the_top_eigenvalue(n, d, make, intercept):
    rng = np.random.default_rng(n)
    x = rng.standard_normal((n, d)) * np.geomspace(1, 0.1, d) + 0.3
    h = rng.uniform(0.1, 1.0, n) / n
    objective = problem(x=x, intercept=intercept, seed=0)
    objective = Objective(mm.Squared(), objective.penalty, as_design(make(x)), objective.y,
                          objective.mass, intercept=intercept)  # fmt: skip
    centred = x - (h @ x) / h.sum() if intercept else x
    want = np.linalg.norm(np.sqrt(h)[:, None] * centred, 2) ** 2
    assert want <= lipschitz(objective, h) <= 1.1 * want


@pytest.mark.parametrize("solver", [s for s in EXACT if s.name != "fista"], ids=repr)
def test_the_objective_never_rises(solver):
    for i, loss in enumerate(LOSSES):
        for seed, (penalty, alpha) in enumerate(PENALTIES):
            objective = problem(loss, penalty, alpha, seed=seed + i)
            primal = course(objective, solver, 20)[1].history.primal
            assert (np.diff(primal) <= 1e-13 * primal[0]).all(), f"{loss!r} and {penalty!r}"


def test_a_subsample_that_misleads_is_corrected():
    x = np.random.default_rng(0).standard_normal((60, 4))
    x[::6] *= 1e-3  # the rows that will be looked at
    objective = problem(x=x, penalty=mm.L1(), alpha=0.01, seed=1)
    for solver in (S.ProximalGradient(subsample=10), S.Fista(subsample=10, restart=True)):
        found = solve(objective, solver, Control(tol=1e-6))
        assert found.converged
        assert found.certificate.primal <= objective.null_primal
    primal = solve(objective, S.ProximalGradient(subsample=10)).history.primal
    assert (np.diff(primal) <= 1e-13).all()


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.3])
def test_gradient_descent_contracts_at_its_rate(alpha):
    """‖w_t − w*‖ ≤ (1 − (μ+α)/(L+α))^t ‖w₀ − w*‖, with equality along the flattest direction."""
    rng = np.random.default_rng(1)
    q = np.linalg.qr(rng.standard_normal((30, 4)))[0] * np.sqrt(30)
    x = q * np.sqrt([1.0, 0.5, 0.2, 0.05])  # XᵀX/n = diag(1, ½, ⅕, 1/20)
    objective = problem(x=x, alpha=alpha, seed=0)
    best = solve(objective, control=Control(tol=1e-14)).w
    points, _ = course(objective, "proximal_gradient", 60)
    rate = 1 - (0.05 + alpha) / (1.0 + alpha)
    error = np.array([p.w - best for p in points])
    size = np.linalg.norm(error, axis=1)
    assert (size <= rate ** np.arange(size.size) * size[0] * (1 + 1e-6)).all()
    flat = np.abs(error[:30, 3])
    np.testing.assert_allclose(flat[1:] / flat[:-1], rate, rtol=1e-4)


def test_the_constant_of_the_step():
    """For r² + λ‖w‖², twice our objective, L is 2(λmax + λ): half of it never settles."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((50, 3))
    y = x @ [1.0, -1.0, 2.0] + rng.standard_normal(50)
    lam = 0.1
    top, vectors = np.linalg.eigh(x.T @ x / 50)
    best = np.linalg.solve(x.T @ x / 50 + lam * np.eye(3), x.T @ y / 50)

    def descend(step, w, iterations):
        for _ in range(iterations):
            w = w - step * (2 * x.T @ (x @ w - y) / 50 + 2 * lam * w)
        return w

    start = best + vectors[:, -1]
    printed, corrected = 1 / (top[-1] + lam), 1 / (2 * (top[-1] + lam))
    assert np.linalg.norm(descend(printed, start, 100) - best) == pytest.approx(1.0, rel=1e-9)
    assert np.linalg.norm(descend(corrected, start, 1) - best) <= 1e-9
    # ours takes the corrected step: plain gradient steps of 1/(L + α) on the whole objective
    objective = Objective(mm.Squared(), mm.L2().bind(3, lam), as_design(x), y, np.full(50, 0.02),
                          intercept=False)  # fmt: skip
    points, _ = course(objective, "proximal_gradient", 5)
    np.testing.assert_allclose(points[5].w, descend(corrected, np.zeros(3), 5), rtol=1e-7)


# Momentum ------------------------------------------------------------------------------------


def test_momentum_is_t_over_t_plus_3():
    objective = problem(penalty=mm.L1(), alpha=0.05, seed=0)
    x, y = next(objective.design.blocks()).matrix, objective.y
    n = len(y)
    step = 1 / np.linalg.norm(x.T @ x / n, 2)
    w = theta = np.zeros(5)
    points, _ = course(objective, "fista", 25)
    for t in range(25):
        g = theta - step * x.T @ (x @ theta - y) / n
        new = np.sign(g) * np.maximum(np.abs(g) - step * 0.05, 0)
        theta, w = new + t / (t + 3) * (new - w), new
        np.testing.assert_allclose(points[t + 1].w, w, rtol=1e-8, atol=1e-12)


def ill_conditioned(loss=None):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((120, 20)) * np.geomspace(1, 0.03, 20)
    return problem(loss, mm.L2(), 1e-4, x=x, seed=1)


@pytest.mark.parametrize("loss", [mm.Squared(), mm.Logistic()], ids=repr)
def test_fast_gradient_needs_fewer_passes(loss):
    passes = {
        solver: solve(ill_conditioned(loss), solver, Control(tol=1e-4)).history.passes[-1]
        for solver in (S.ProximalGradient(), S.Fista(), S.Fista(restart=True))
    }
    plain, fast, restarted = passes.values()
    assert fast < 0.7 * plain
    assert restarted < 0.5 * plain


def test_fast_gradient_keeps_its_promise():
    """P(w_t) − P* ≤ 2L‖w₀ − w*‖²/(t + 1)² (up to the constant of this momentum, 9/8)."""
    objective = problem(penalty=mm.L1(), alpha=0.01, seed=0)
    best = solve(objective, control=Control(tol=1e-13))
    history = course(objective, "fista", 200)[1].history
    t = np.arange(1, len(history))
    promise = 2.25 * lipschitz(objective, objective.mass) * best.w @ best.w / (t + 1) ** 2
    assert (history.primal[1:] - best.certificate.primal <= promise + 1e-12).all()


# Coordinates ---------------------------------------------------------------------------------


def by_hand(x, y, alpha, order, w):
    """One sweep for the lasso: soft(c, α)/a with a = mean x², c = mean x·(y − rest)."""
    w = w.copy()
    for j in order:
        a = np.mean(x[:, j] ** 2)
        c = np.mean(x[:, j] * (y - x @ w + x[:, j] * w[j]))
        w[j] = np.sign(c) * max(abs(c) - alpha, 0.0) / a
    return w


@pytest.mark.parametrize("make", [np.asfortranarray, np.ascontiguousarray, sparse.csc_array])
def test_coordinate_descent_is_the_soft_threshold(make):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 6)) + 0.5
    y = x @ rng.standard_normal(6) + rng.standard_normal(30)
    objective = Objective(mm.Squared(), mm.L1().bind(6, 0.3), as_design(make(x)), y,
                          np.full(30, 1 / 30), intercept=False)  # fmt: skip
    for solver in ("cyclic", "random"):
        points, _ = course(objective, solver, 6)
        random = np.random.RandomState(0)
        w = np.zeros(6)
        for point in points[1:]:
            w = by_hand(x, y, 0.3, range(6) if solver == "cyclic" else random.permutation(6), w)
            np.testing.assert_allclose(point.w, w, rtol=1e-9, atol=1e-12)
            assert ((point.w == 0) == (w == 0)).all()


def test_random_depends_on_random_state_only():
    objective = problem(mm.Logistic(), mm.L1(), 0.02, d=12, seed=1)

    def history(state):
        np.random.seed(int(np.random.default_rng().integers(1000)))  # noqa: NPY002
        control = Control(tol=1e-6, random_state=state)
        return solve(objective, "random", control).history.primal

    np.testing.assert_array_equal(history(3), history(3))
    np.testing.assert_array_equal(history(np.random.RandomState(3)), history(3))
    assert not np.array_equal(history(3)[:4], history(4)[:4])
    with pytest.raises(ValueError, match="random_state must be None, an integer"):
        mm.Regressor(random_state="seed").fit(np.eye(3), [1.0, 2.0, 3.0])


# Subgradients --------------------------------------------------------------------------------


def test_the_subgradient_vanishes_at_the_optimum_only():
    from minimand.solvers.textbook.subgradient import shortest_subgradient

    objective = problem(penalty=mm.L1() + 0.1 * mm.L2(), alpha=0.2, seed=0)
    best = solve(objective, control=Control(tol=1e-14))
    form = objective.penalty.sum_over_features
    z = objective.scores(best.w, best.b)
    slope = objective.backward(objective.mass * objective.loss.gradient(z, objective.y))
    assert (best.w == 0).any()
    np.testing.assert_allclose(shortest_subgradient(form, best.w, slope), 0.0, atol=1e-7)
    assert np.abs(shortest_subgradient(form, best.w + 0.01, slope)).max() > 0.1


def test_steps_shrink_like_one_over_the_root():
    objective = problem(penalty=mm.L1(), alpha=0.05, seed=0)
    points, _ = course(objective, S.Subgradient(step=0.2), 9)
    x, y = next(objective.design.blocks()).matrix, objective.y
    for t, (before, after) in enumerate(pairwise(points)):
        slope = x.T @ (x @ before.w - y) / len(y)
        g = slope + 0.05 * np.sign(before.w)
        g[before.w == 0] = (np.sign(slope) * np.maximum(np.abs(slope) - 0.05, 0))[before.w == 0]
        np.testing.assert_allclose(after.w, before.w - 0.2 / np.sqrt(t + 1) * g, rtol=1e-9)


def test_too_long_a_step_ends_the_fit_with_a_valid_model():
    objective = problem(mm.Poisson(), mm.L1(), 0.05, seed=1)
    found = solve(objective, S.Subgradient(step=1e6), Control(tol=1e-6))
    assert not found.converged
    assert found.certificate.primal <= objective.null_primal


def test_a_solver_has_its_own_limit(monkeypatch):
    monkeypatch.setattr(S.Subgradient, "default_max_iter", 25)
    x = np.random.default_rng(0).standard_normal((30, 4))
    model = mm.Regressor("squared", "l1", alpha=0.1, solver="subgradient", tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="stopped by max_iter=25 .*try solver='working_set"):
        model.fit(x, x @ np.ones(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert len(model.set_params(max_iter=40).fit(x, x @ np.ones(4)).history_) == 41


def test_auto_never_takes_them():
    for loss in LOSSES:
        for penalty, alpha in PENALTIES:
            assert not choose_solver(problem(loss, penalty, alpha), Control()).by_name_only
    assert sum(solver.by_name_only for solver in SOLVERS.values()) == 7
    assert [name for name, solver in SOLVERS.items() if not solver.by_name_only] == list(ASKED)
