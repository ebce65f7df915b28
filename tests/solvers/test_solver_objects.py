"""A solver is named or handed over; its options are parameters like those of losses."""

import pickle

import numpy as np
import pytest
from accepted import ON_MATRICES, accepted
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import minimand as mm
from minimand.solvers import REGISTRY, SOLVERS, Control

S = mm.solvers
X = np.random.default_rng(0).standard_normal((30, 4))
Y = X @ [1.0, -1.0, 0.0, 2.0] + 0.1


@pytest.mark.parametrize("name", SOLVERS)
def test_names_and_objects_are_the_same(name):
    assert REGISTRY.get(name).name == name
    assert REGISTRY.get(name) == SOLVERS[name]
    assert pickle.loads(pickle.dumps(SOLVERS[name])) == SOLVERS[name]
    if name not in ON_MATRICES:
        return
    kind, loss, penalty, y = accepted(name, X, Y)
    settings = {"loss": loss, "penalty": penalty, "tol": 1e-3, "alpha": 0.1}
    settings |= {} if kind is mm.Ranker else {"random_state": 0}
    by_name = kind(solver=name, **settings).fit(X, y)
    by_object = kind(solver=SOLVERS[name], **settings).fit(X, y)
    np.testing.assert_array_equal(by_name.coef_, by_object.coef_)
    assert by_name.solver_ == by_object.solver_ == name


def test_options_are_parameters():
    model = mm.Regressor(solver=S.Fista(restart=True, subsample=10))
    assert model.get_params()["solver__restart"] is True
    copy = clone(model)
    assert copy.solver == model.solver
    assert copy.solver is not model.solver
    copy.set_params(solver__restart=False)
    assert model.solver.restart is True
    assert copy.solver == S.Fista(subsample=10)
    named = mm.Regressor(solver="fista").set_params(solver__restart=True)
    assert named.solver == S.Fista(restart=True)
    with pytest.raises(ValueError, match="solver='auto' of Regressor has no parameter 'restart'"):
        mm.Regressor().set_params(solver__restart=True)
    search = GridSearchCV(model, {"solver__restart": [True, False]}, cv=2).fit(X, Y)
    assert "solver__restart" in search.best_params_


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (S.Fista(restart="yes"), "restart of Fista must be True or False, not 'yes'"),
        (S.Fista(backtracking=1), "backtracking of Fista must be True or False"),
        (S.ProximalGradient(subsample=0), "subsample of ProximalGradient must be None or a number"),
        (S.ProximalGradient(subsample=2.5), "subsample of ProximalGradient must be None or a num"),
        (S.Subgradient(step=0), "step of Subgradient must be None or a positive number, not 0"),
        (S.Subgradient(step=np.nan), "step of Subgradient must be None or a positive number"),
        (S.Fista, r"solver=.* is not known: pass 'auto' or one of .*did you mean Fista\(\)\?"),
        ("fsta", "solver='fsta' is not known: .*did you mean 'fista'"),
        (mm.L1(), r"solver=L1\(\) is not known: pass 'auto' or one of"),
    ],
    ids=str,
)
def test_bad_solvers_are_refused_in_words(solver, words):
    with pytest.raises(ValueError, match=words):
        mm.Regressor(solver=solver).fit(X, Y)


def test_verdicts_in_words():
    counts = np.arange(30.0)
    found = mm.explain(mm.Regressor("poisson", "l1", solver=S.Subgradient(step=0.1)), X, counts)
    assert found.chosen == "subgradient"
    refused = mm.explain(mm.Regressor("poisson", "l1", solver="subgradient"), X, counts)
    assert refused.chosen == ""
    assert "no bound on its curvature" in refused.verdicts["subgradient"].reason
    assert "by backtracking" in refused.verdicts["fista"].reason
    plain = mm.explain(mm.Regressor("squared", "l1"), X, Y)
    assert plain.chosen == "working_set"
    assert "from the top eigenvalue" in plain.verdicts["fista"].reason
    assert max(map(len, str(plain).splitlines())) < 120


def test_the_object_speaks_for_itself():
    class Mine(S.Newton):
        name = "mine"

        def __init__(self, patient=False):
            self.patient = patient

    model = mm.Regressor(solver=Mine(patient=True)).fit(X, Y)
    assert model.solver_ == "mine"
    assert model.history_.solver == "Mine(patient=True)"
    assert mm.explain(model, X, Y).chosen == "mine"


def test_parts_of_the_time_that_is_left():
    """A part ends when its time does, and says whose limit it was."""
    whole = Control(max_seconds=1000.0)
    part = whole.share(4)
    assert part.remaining == pytest.approx(250.0, abs=5.0)
    assert part.share(2).remaining == pytest.approx(125.0, abs=5.0)
    assert whole.remaining == pytest.approx(1000.0, abs=5.0)
    assert part.max_seconds == 1000.0
    late = Control(max_seconds=0.0).share(3)
    assert late.expired
    assert late.remaining <= 0
    assert Control().share(3).remaining is None
    assert not Control().share(3).expired
