"""L-BFGS by products of its pairs is the recursion of the textbook."""

import numpy as np
import pytest

from minimand.solvers.structured.crf.metric import Metric
from minimand.solvers.structured.crf.steps import LimitedMemory


@pytest.mark.parametrize(("rounded", "close"), [(False, 1e-10), (True, 1e-4)])
@pytest.mark.parametrize("steps", [0, 2, 7])
def test_directions_are_those_of_the_recursion_over_the_last_pairs(steps, rounded, close):
    rng = np.random.default_rng(0)
    d, most = 9, 3
    root = rng.normal(size=(d, d))
    curvature = root @ root.T + np.eye(d)
    metric = Metric(np.diag(curvature) * rng.uniform(0.5, 2.0, d))
    memory, pairs = LimitedMemory(most, d, rounded=rounded), []
    for _ in range(steps):
        s = rng.normal(size=d)
        pairs.append((s, curvature @ s))
        memory.learn(*pairs[-1], metric)
    memory.learn(np.ones(d), -np.ones(d), metric)  # no curvature along it: forgotten
    factor = 1.0
    if pairs:
        s, y = pairs[-1]
        factor = (s @ y) / (y @ (y / metric.diagonal))
    inverse = np.diag(factor / metric.diagonal)
    for s, y in pairs[-most:]:
        turn = np.eye(d) - np.outer(s, y) / (s @ y)
        inverse = turn @ inverse @ turn.T + np.outer(s, s) / (s @ y)
    slope = rng.normal(size=d)
    np.testing.assert_allclose(memory.direction(slope, metric), -inverse @ slope, rtol=close)
