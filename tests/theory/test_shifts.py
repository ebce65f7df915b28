"""A loss of the residual does not know where zero is: y + s has the same model, b moved by s."""

import numpy as np
import pytest
from scipy import sparse
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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize(("n", "d", "rank"), [(200, 10, 5), (100, 150, 40)])
@pytest.mark.parametrize("alpha", [1e-8, 1e-12, 0.0])
@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_dependent_columns_far_from_zero(shift, alpha, n, d, rank, form):
    """A mean that is large beside the spread, dependent columns, hardly a penalty: yet solved."""
    rng = np.random.default_rng(0)
    near = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    y = near[:, 0] + rng.normal(size=n)
    model = mm.Regressor(alpha=alpha).fit(form(near + shift), y)
    assert model.certificate_.relative <= 1e-6
    centred = near - near.mean(axis=0)
    rows = np.concatenate([centred / np.sqrt(n), np.sqrt(alpha) * np.eye(d)])
    right = np.concatenate([(y - y.mean()) / np.sqrt(n), np.zeros(d)])
    w = np.linalg.lstsq(rows, right, rcond=1e-13)[0]
    best = 0.5 * np.mean((y - y.mean() - centred @ w) ** 2) + 0.5 * alpha * w @ w
    assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
