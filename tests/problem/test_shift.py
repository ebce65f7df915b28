"""The best intercepts of many classes."""

import numpy as np
import pytest

import minimand as mm
from minimand.problem.shift import newton_shift


class _Risk:
    """The mean softmax loss of some rows."""

    loss = mm.Multinomial()
    units = None

    def __init__(self, y):
        self.y, self.mass = y, np.full(len(y), 1.0 / len(y))


@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
@pytest.mark.parametrize("k", [5, 64, 65, 130])
def test_means_of_probabilities_are_shares_of_classes(k, spread):
    rng = np.random.default_rng(k)
    y = np.append(np.arange(k), rng.integers(0, k, 4 * k)).astype(float)
    z = spread * rng.standard_normal((len(y), k))
    b = newton_shift(_Risk(y), z)
    p = _Risk.loss.transform(z + b)
    shares = np.bincount(y.astype(int)) / len(y)
    np.testing.assert_allclose(p.mean(axis=0), shares, rtol=1e-9)
    assert abs(b.mean()) <= 1e-9 * (1.0 + np.abs(b).max())
