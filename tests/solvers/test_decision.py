"""Where a solver gives up, another goes on from its point."""

from unittest import mock

import numpy as np
import pytest

import minimand as mm
from minimand.certificate import judge
from minimand.solvers import choose as decision
from minimand.solvers.kinked.primal_dual import PrimalDual
from minimand.solvers.smooth.newton import Newton

SMOOTH = ("squared_hinge", mm.L2(), Newton)
KINKED = ("hinge", mm.Box(-1, 1), PrimalDual)


def classes(n=300):
    """Unscaled columns of whole numbers, two classes with noise."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((n, 4)) * [1.0, 10.0, 1e3, 1e4])
    return X, np.where(X[:, 1] + 10 * rng.standard_normal(n) > 0, 1, -1)


@pytest.mark.parametrize(("loss", "penalty", "weak"), [SMOOTH, KINKED])
def test_another_solver_takes_over_and_is_named(monkeypatch, loss, penalty, weak):
    """The fit converges, and solver_ says who did it."""
    X, y = classes()
    model = mm.Classifier(loss, penalty, alpha=1e-3)
    assert model.fit(X, y).solver_ == weak.name

    def give_up(self, objective, start, control):
        yield judge(objective, start)

    monkeypatch.setattr(weak, "iterate", give_up)
    assert model.fit(X, y).certificate_.relative <= 1e-6
    assert model.solver_ != weak.name


def test_a_solver_that_was_named_is_not_replaced(monkeypatch):
    """Who names one wants that one, and hears that it gave up."""
    X, y = classes()

    def give_up(self, objective, start, control):
        yield judge(objective, start)

    monkeypatch.setattr(Newton, "iterate", give_up)
    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, solver="newton")
    with pytest.warns(UserWarning, match="no further progress"):
        model.fit(X, y)
    assert model.solver_ == "newton"
    assert model.certificate_.relative > 1e-6


def test_limits_are_not_a_reason_to_try_another(monkeypatch):
    """max_iter ends a fit, whoever else might go on."""
    X, y = classes()
    taken = mock.Mock()
    monkeypatch.setattr(decision, "_taken_over", taken)
    model = mm.Classifier("squared_hinge", "l2", alpha=1e-3, max_iter=1)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(X, y)
    assert model.solver_ == "newton"
    taken.assert_not_called()
