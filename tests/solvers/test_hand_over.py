"""Where a solver gives up, another goes on from its point."""

import time
from unittest import mock

import numpy as np
import pytest

import minimand as mm
from minimand.certificate import judge
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import Control, HandOver, loop, run
from minimand.solvers.kinked.primal_dual import PrimalDual
from minimand.solvers.smooth.newton import Newton

SMOOTH = ("squared_hinge", mm.L2(), Newton)
KINKED = ("hinge", mm.Box(-1, 1), PrimalDual)


def classes(n=300):
    """Unscaled columns of whole numbers, two classes with noise."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((n, 4)) * [1.0, 10.0, 1e3, 1e4])
    return X, np.where(X[:, 1] + 10 * rng.standard_normal(n) > 0, 1, -1)


def give_up(monkeypatch, solver):
    """The solver judges its start, and ends."""

    def iterate(self, objective, start, control):
        yield judge(objective, start)

    monkeypatch.setattr(solver, "iterate", iterate)
    monkeypatch.setattr(solver, "at_once", lambda self, objective, control: iter(()))


@pytest.mark.parametrize(("loss", "penalty", "weak"), [SMOOTH, KINKED])
def test_another_solver_takes_over_and_is_named(monkeypatch, loss, penalty, weak):
    """The fit converges, and solver_ says who did it."""
    X, y = classes()
    model = mm.Classifier(loss, penalty, alpha=1e-3)
    assert model.fit(X, y).solver_ == weak.name

    give_up(monkeypatch, weak)
    assert model.fit(X, y).certificate_.relative <= 1e-6
    assert model.solver_ != weak.name


def test_a_solver_that_was_named_is_not_replaced(monkeypatch):
    """Who names one wants that one, and hears that it gave up."""
    X, y = classes()

    give_up(monkeypatch, Newton)
    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, solver="newton")
    with pytest.warns(UserWarning, match="no further progress"):
        model.fit(X, y)
    assert model.solver_ == "newton"
    assert model.certificate_.relative > 1e-6


def test_limits_are_not_a_reason_to_try_another(monkeypatch):
    """max_iter ends a fit, whoever else might go on."""
    X, y = classes()
    taken = mock.Mock()
    monkeypatch.setattr(loop, "cheapest_others", taken)
    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, max_iter=1)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(X, y)
    assert model.solver_ == "newton"
    taken.assert_not_called()


def problem(X, y):
    """The squared hinge with a little L2."""
    n = len(y)
    penalty = mm.L2().bind(X.shape[1], 1e-3)
    return Objective(mm.SquaredHinge(), penalty, as_design(X), y * 1.0, np.full(n, 1 / n))


class Resigned(mm.solvers.Solver):
    """Judges the start and a worse point, and hands over."""

    name = "resigned"

    def __init__(self, to=("newton",), remaining=np.inf):
        self.to, self.remaining, self.answers = to, remaining, []

    def accepts(self, objective, control):
        return mm.solvers.Verdict(True, "anything", 1.0)

    def iterate(self, objective, start, control):
        yield judge(objective, start)
        yield judge(objective, objective.point(np.full(objective.n_features, 1e-3), 0.0))
        hand_over = HandOver("it was told to", self.to, self.remaining)
        yield hand_over
        self.answers.append(hand_over.taken)
        yield judge(objective, start)


def test_a_hand_over_is_carried_out_and_told():
    """Who ran, in order; why; one history; and the heir's point is the model."""
    X, y = classes()
    seen = []
    common = {"alpha": 1e-3, "callbacks": [seen.append]}
    found = mm.Classifier("squared_hinge", "l2", solver=Resigned(), **common).fit(X, y)
    assert found.solver_ == "resigned → newton"
    assert found.history_.solver.endswith(" → newton")
    assert found.history_.hand_overs == ("resigned → newton: it was told to",)
    assert found.certificate_.relative <= 1e-6
    assert [state.iteration for state in seen] == list(range(len(seen)))
    assert len(found.history_) >= len(seen) == found.certificate_.iterations + 1
    alone = mm.Classifier("squared_hinge", "l2", solver="newton", alpha=1e-3).fit(X, y)
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("share", [0.1, 10.0])
def test_an_heir_that_costs_more_than_going_on_is_not_taken(share):
    """The estimate of what is left decides."""
    objective = problem(*classes())
    solver = Resigned(remaining=share * Newton().verdict(objective, Control()).cost)
    found = run(solver, objective, Control())
    assert any("told" in reason for reason in found.history.hand_overs) == (share > 1)


class Wrong(Resigned):
    """Yields or returns what no solver should."""

    name = "wrong"

    def __init__(self, verdict=None, found=None):
        self.verdict_, self.found = verdict, found

    def accepts(self, objective, control):
        return self.verdict_

    def iterate(self, objective, start, control):
        yield judge(objective, start)
        yield self.found


FINE = mm.solvers.Verdict(True, "anything", 1.0)


@pytest.mark.parametrize(
    ("solver", "error", "sentence"),
    [
        (Wrong(True), TypeError, "accepts of solver 'wrong' must return .*Verdict, not True"),
        (Wrong(FINE), TypeError, "must yield what minimand.certificate.judge returns.*, not None"),
        (
            Wrong(FINE, HandOver("it was told to", ("nobody",))),
            ValueError,
            "solver 'wrong' hands over to 'nobody', which is none of the solvers",
        ),
        (mm.solvers.Solver(), NotImplementedError, "Solver must define accepts"),
    ],
)
def test_a_slip_in_a_solver_of_ones_own_is_said_in_a_sentence(solver, error, sentence):
    with pytest.raises(error, match=sentence):
        mm.Classifier("squared_hinge", "l2", alpha=1e-3, solver=solver).fit(*classes())


class Undecided(Resigned):
    """Hands over again and again."""

    name = "undecided"

    def iterate(self, objective, start, control):
        for k in range(20):
            yield judge(objective, objective.point(np.full(objective.n_features, 1e-4 * k), 0.0))
            yield HandOver("it was told to", self.to)


def test_many_turns_are_told_in_short(monkeypatch):
    """Every solver once, how often they ran, and one reason instead of twenty."""
    X, y = classes()

    def one_step(self, objective, start, control):
        yield judge(objective, objective.point(0.9 * start.w, start.b))

    monkeypatch.setattr(Newton, "iterate", one_step)
    found = run(Undecided(), problem(X / X.std(axis=0), y), Control())
    assert found.solver == "undecided → newton → … (40 runs)"
    assert found.history.solver.endswith("newton → … (40 runs)")
    assert found.history.hand_overs == ("undecided → newton: it was told to (20 times)",)


class Standing(Resigned):
    """Judges the start as often as patience allows, and hands over if it is told to whom."""

    name = "standing"

    def iterate(self, objective, start, control):
        for _ in range(self.patience):
            yield judge(objective, start)
        if self.to:
            yield HandOver("it was told to", self.to)
        yield judge(objective, start)


@pytest.mark.parametrize("to", [(), ("newton",)])
def test_an_heir_is_not_blamed_for_the_standstill_before_it(to):
    """Patience is counted from the heir's own first point on."""
    X, y = classes()
    found = run(Standing(to), problem(X, y), Control(), replaceable=True)
    assert found.converged
    assert found.solver.startswith("standing → ")


@pytest.mark.parametrize("to", [(), ("closed_form", "simplex")])
def test_a_hand_over_that_nobody_takes_is_declined(to):
    """The solver hears of it, goes on, and alone is named."""
    X, y = classes()
    solver = Resigned(to)
    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, solver=solver)
    with pytest.warns(UserWarning, match="no further progress"):
        model.fit(X, y)
    assert model.solver_ == "resigned"
    assert model.history_.hand_overs == ()
    assert len(model.history_) >= 3


def test_an_heir_that_fails_gives_the_solver_back(monkeypatch):
    """The solver that handed over goes on after its heir; the best point of all is kept."""
    X, y = classes()
    X = X / X.std(axis=0)  # in their own units, columns are not tried again in others

    def one_step(self, objective, start, control):
        point = objective.point(0.9 * start.w, start.b)
        yield judge(objective, objective.null)
        yield judge(objective, point)

    monkeypatch.setattr(Newton, "iterate", one_step)
    objective = problem(X, y)
    solver, control = Resigned(), Control()
    solution = run(solver, objective, control)
    assert solution.solver == "resigned → newton → resigned"
    assert solver.answers == [True]
    assert solution.certificate.gap <= solution.history.gap.min() * (1 + 1e-9)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_limits_hold_across_a_hand_over(limit):
    X, y = classes()
    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, solver=Resigned(), max_iter=limit)
    with pytest.warns(UserWarning, match=f"max_iter={limit}"):
        model.fit(X, y)
    assert model.certificate_.iterations == limit


def test_a_callback_stops_the_heir():
    X, y = classes()

    def impatient(state):
        return mm.STOP if state.iteration == 3 else None

    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, solver=Resigned())
    with pytest.warns(UserWarning, match="a callback"):
        model.set_params(callbacks=[impatient]).fit(X, y)
    assert model.solver_ == "resigned → newton"


def test_the_time_of_a_fit_is_shared(monkeypatch):
    """The heir has what the first solver left of max_seconds."""
    X, y = classes()

    def endless(self, objective, start, control):
        while True:
            yield judge(objective, start)
            time.sleep(0.01)

    monkeypatch.setattr(Newton, "iterate", endless)
    monkeypatch.setattr(Newton, "patience", 10**9)
    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, solver=Resigned(), max_seconds=0.2)
    with pytest.warns(UserWarning, match="max_seconds"):
        model.fit(X, y)
    assert model.solver_ == "resigned → newton"


@pytest.mark.parametrize(
    ("loss", "penalty", "alpha", "chain"),
    [
        ("hinge", "l2", 1e-4, "dual → primal_dual"),
        ("logistic", "l2", 1e-4, "dual → newton"),
        ("squared_hinge", "l2", 1e-5, "dual → newton"),
    ],
)
def test_who_hands_over_to_whom(loss, penalty, alpha, chain):
    """Sweeps are slow where columns have different units: others go on from there."""
    X, y = classes()
    model = mm.Classifier(loss, penalty, alpha=alpha, solver="dual").fit(X, y)
    assert model.certificate_.relative <= 1e-6
    assert model.solver_ == chain


LOSSES = ["squared", "huber", "absolute", "quantile", "chebyshev", "epsilon_insensitive", "poisson",
          "hinge", "squared_hinge", "logistic", "geman_mc_clure"]  # fmt: skip
PENALTIES = ["l1", "l2", "no_penalty", mm.L1() + mm.L2(), mm.Box(-1, 1), "mcp", mm.L1Ball(1.0)]


@pytest.mark.parametrize("shape", [(300, 4), (60, 90), (2000, 3)])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", LOSSES)
def test_who_is_not_asked_would_not_have_been_chosen(loss, penalty, shape):
    """ "auto" stops asking early; it takes the cheapest of all that accept."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = np.abs(X[:, 0]) + rng.random(shape[0])
    margin = loss in ("hinge", "squared_hinge", "logistic")
    model = (mm.Classifier if margin else mm.Regressor)(loss, penalty, alpha=0.1)
    found = mm.explain(model, X, y > 1 if margin else y)
    costs = {name: found.verdicts[name].cost for name in mm.solvers.ASKED}
    least = min(costs.values())
    assert found.chosen == (min(costs, key=costs.get) if np.isfinite(least) else "")
    for name, verdict in found.verdicts.items():
        solver = mm.solvers.SOLVERS[name]
        least = solver.least_calls + solver.least_cost * X.size
        least += solver.least_on_smooth if mm.losses.REGISTRY.get(loss).smooth else 0.0
        assert not verdict.ok or verdict.cost >= least
