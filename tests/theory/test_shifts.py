"""A loss of the residual does not know where zero is: y + s has the same model, b moved by s."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import minimand as mm


@pytest.mark.parametrize("p", [1.1, 1.5, 1.9, 3.0])
@pytest.mark.parametrize("shift", [1e2, 1e5])
def test_shifted_targets_have_the_same_model(p, shift):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.5 * rng.standard_normal(50)
    here = mm.Regressor(mm.Lp(p), "l2", alpha=1e-2, tol=1e-7).fit(X, y)
    there = mm.Regressor(mm.Lp(p), "l2", alpha=1e-2, tol=1e-7).fit(X, y + shift)
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-5)
    assert there.intercept_ - shift == pytest.approx(here.intercept_, abs=0.01)


def test_a_pair_that_is_convex_for_small_targets_only_is_refused_at_the_fit():
    pair = mm.transforms.compose(mm.Squared(), lambda z: z + 0.001 * np.sin(z))
    X = np.ones((3, 1))
    model = mm.Regressor(pair, "l2", intercept=False).fit(X, np.full(3, 2.0))
    assert model.certificate_.relative <= 1e-6
    with pytest.raises(ValueError, match="is not convex: for y = 100000"):
        mm.Regressor(pair, "l2", intercept=False).fit(X, np.full(3, 1e5))


def test_a_search_that_was_cut_off_warns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(50) > 0.3
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        mm.Classifier(mm.TanhMargin(), "l2", alpha=0.01, max_seconds=1e-9).fit(X, y)


def test_dual_hands_over_where_it_is_slow():
    X = np.array([[1000.0], [1001.0], [1002.0]])
    model = mm.Classifier("squared_hinge", "l2", alpha=0.5, intercept=False, solver="dual")
    assert model.fit(X, [0, 1, 1]).certificate_.relative <= 1e-6
