"""After a time limit, the proof of a kernel path takes a bound in place of kernel values."""

import numpy as np
import pytest

import minimand as mm
from minimand.estimators.kernel_machines.expansion import Remainder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=150)
ALPHAS = [1.0, 0.1]


def test_no_kernel_values_after_the_limit(monkeypatch):
    finished, exactly = [], Remainder.exactly

    def watched(self, *args):
        found = exactly(self, *args)
        finished.append(True)
        return found

    monkeypatch.setattr(Remainder, "exactly", watched)
    cut = {"features": mm.RBF(1.0), "memory": 8 * 150 * 20}  # twenty columns of the factor
    with pytest.warns(match="cut of the kernel matrix"):
        mm.path(mm.Regressor("huber", **cut), X, Y, alphas=ALPHAS)
    assert finished  # there is something to charge
    finished.clear()
    with pytest.warns(match="max_seconds"):
        stopped = mm.path(mm.Regressor("huber", **cut, max_seconds=1e-9), X, Y, alphas=ALPHAS)
    assert not finished
    for alpha, found in zip(ALPHAS, stopped.certificates):
        best = mm.Regressor("huber", features=mm.RBF(1.0), alpha=alpha).fit(X, Y)
        assert found.dual <= best.certificate_.primal + 1e-9
        assert found.primal >= best.certificate_.dual - 1e-9
