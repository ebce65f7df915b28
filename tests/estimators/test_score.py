"""score takes the offset that predict takes."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

import minimand as mm


def test_score_uses_the_offset_and_the_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    exposure = rng.uniform(1, 5, 60)
    y = rng.poisson(exposure * np.exp(X[:, 0])).astype(float)
    weight = rng.uniform(0.5, 2, 60)
    model = mm.Regressor("poisson", "l2", alpha=0.01).fit(X, y, offset=np.log(exposure))
    expected = r2_score(y, model.predict(X, offset=np.log(exposure)), sample_weight=weight)
    got = model.score(X, y, sample_weight=weight, offset=np.log(exposure))
    assert got == pytest.approx(expected)
    assert got > model.score(X, y)


def test_accuracy_uses_the_offset():
    rng = np.random.default_rng(0)
    X, offset = rng.standard_normal((80, 2)), 3 * rng.standard_normal(80)
    y = np.where(X[:, 0] + offset > 0, "b", "a")
    model = mm.Classifier(alpha=0.01).fit(X, y, offset=offset)
    assert model.score(X, y, offset=offset) == accuracy_score(y, model.predict(X, offset=offset))


def test_a_constant_second_derivative_is_fine():
    class Square(mm.Distance):
        def psi(self, r):
            return 0.5 * r * r

        def dpsi(self, r):
            return r

        def ddpsi(self, r):
            return 1.0

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    mm.testing.check_loss(Square())
    for penalty in ("l1", "l2"):
        own = mm.Regressor(Square(), penalty, alpha=0.1).fit(X, y)
        built_in = mm.Regressor("squared", penalty, alpha=0.1).fit(X, y)
        np.testing.assert_allclose(own.coef_, built_in.coef_, atol=1e-6)
