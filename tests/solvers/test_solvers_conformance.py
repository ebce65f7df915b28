"""Every solver on the battery of the public conformance suite; the path of ridge."""

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import SOLVERS, STOP, Control, Solver, Verdict, choose_solver, solve
from minimand.solvers.smooth.closed_form import ridge_path
from minimand.testing import check_solver
from minimand.testing.battery import battery_with_optima

SLOW = ("proximal_gradient", "fista", "subgradient")  # at the columns' own scales: test_teaching.py
EARLY = ("sgd",)  # ends before a gap is small, by design: test_stochastic.py


@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in SLOW + EARLY])
def test_conformance(name):
    assert check_solver(SOLVERS[name]) >= 2


class Boastful(Solver):
    """Claims the null point is optimal by handing over a judgement that was tampered with."""

    name = "boastful"

    def accepts(self, objective, control):
        return Verdict(True, "everything", 1.0)

    def iterate(self, objective, start, control):
        from dataclasses import replace

        from minimand.certificate import judge

        yield replace(judge(objective, start), gap=0.0)


class Refuses(Solver):
    name = "refuses"

    def accepts(self, objective, control):
        return Verdict(False, "no")


@pytest.mark.parametrize(
    ("solver", "words"), [(Boastful(), "above its goal"), (Refuses(), "accepts none")]
)
def test_the_suite_sees_mistakes(solver, words):
    with pytest.raises(AssertionError, match=words):
        check_solver(solver)


def objective(n=30, d=6, penalty=None, loss=None, seed=0, alpha=0.1, **kwargs):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = x[:, 0] + 0.5 * rng.standard_normal(n)
    loss = loss or mm.Squared()
    if loss.target == "sign":
        y = np.sign(y)
    penalty = (penalty or mm.L2()).bind(d, alpha)
    return Objective(loss, penalty, as_design(x), y, loss.masses(np.ones(n)), **kwargs)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_referee_recomputes(name):
    """A solver's own claims play no part: the certificate is that of (w, b) alone."""
    control = Control(tol=1e-8, max_iter=200, random_state=0)
    solver = SOLVERS[name]
    accepted = [o for o, _ in battery_with_optima() if solver.verdict(o, control).ok]
    for problem in accepted[-2:]:
        solution = solve(problem, name, control)
        again = problem.primal(problem.point(solution.w, solution.b))
        assert solution.certificate.primal == pytest.approx(again, rel=1e-14)
    assert accepted


def test_unknown_and_unsuitable_solvers_are_refused_in_words():
    with pytest.raises(ValueError, match=r"'gradient' is not known.*closed_form"):
        choose_solver(objective(), Control(), "gradient")
    with pytest.raises(ValueError, match="not the squared loss"):
        choose_solver(objective(loss=mm.Logistic()), Control(), "closed_form")
    with pytest.raises(ValueError, match="kinks"):
        choose_solver(objective(penalty=mm.L1()), Control(), "newton")


def test_memory_is_respected():
    problem = objective(n=300, d=200)
    assert choose_solver(problem, Control(memory=1e3)).name in (
        "newton",
        "dual",
    )  # no Gram
    assert solve(problem, control=Control(memory=1e3)).converged


def test_control_stops():
    problem = objective(loss=mm.Logistic(), penalty=mm.L1(), alpha=1e-3)
    seen = []
    stop = lambda state: (seen.append(state), STOP)[1]  # noqa: E731
    solution = solve(problem, control=Control(tol=0.0, callbacks=[stop]))
    assert len(seen) == 1
    assert solution.stopped_by == "a callback"
    assert not solution.converged
    assert solve(problem, control=Control(tol=0.0, max_iter=1)).stopped_by == "max_iter=1"
    assert "max_seconds" in solve(problem, control=Control(tol=0.0, max_seconds=0.0)).stopped_by


def test_interrupt_hands_over_the_best_model():
    problem = objective(loss=mm.Logistic(), penalty=mm.L1(), alpha=1e-3)

    def interrupt(state):
        if state.iteration == 1:
            raise KeyboardInterrupt

    solution = solve(problem, control=Control(tol=0.0, callbacks=[interrupt]))
    assert "Ctrl-C" in solution.stopped_by
    assert np.isfinite(solution.certificate.gap)
    assert solution.certificate.primal <= problem.primal(problem.null)


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (10, 10), (1, 3), (3, 1)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_ridge_path_is_single_fits(shape, intercept, weighted, make):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape) * 10.0 ** rng.uniform(-1, 1, shape[1]) + 0.5
    y = rng.standard_normal(shape[0])
    s = rng.uniform(0.1, 3.0, shape[0]) if weighted else np.ones(shape[0])
    off = rng.standard_normal(shape[0]) if weighted else None
    weights = rng.uniform(0.5, 2.0, shape[1])
    alphas = np.geomspace(1e2, 1e-4, 5)
    problem = Objective(
        mm.Squared(), mm.L2(weights).bind(shape[1]), as_design(make(x)), y, s / s.sum(),
        offset=off, intercept=intercept,
    )  # fmt: skip
    coefs, intercepts = ridge_path(problem, alphas)
    assert coefs.shape == (5, shape[1])
    for alpha, w, b in zip(alphas, coefs, intercepts):
        model = mm.Regressor("squared", mm.L2(weights), alpha=alpha, intercept=intercept, tol=1e-12)
        model.fit(make(x), y, sample_weight=s, offset=off)
        np.testing.assert_allclose(w, model.coef_, rtol=1e-6, atol=1e-9)
        assert b == pytest.approx(model.intercept_, rel=1e-6, abs=1e-9)


def test_ridge_path_refuses_what_is_not_ridge():
    alphas = np.ones(1)
    for problem in (
        objective(penalty=mm.L1()),
        objective(loss=mm.Logistic()),
        objective(penalty=mm.L2(np.linspace(0, 1, 6))),
    ):
        with pytest.raises(ValueError, match="ridge_path needs"):
            ridge_path(problem, alphas)
