"""Sparse columns that are too many for a Gram: descent, and Newton steps on their support."""

import numpy as np
import pytest
import scipy.sparse as sp

import minimand as mm
from minimand.design import SparseDesign
from minimand.problem.objective import Point
from minimand.solvers.sparse import group_parts, working_set


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("columns", [[], [3], [0, 2, 5, 6], [6, 1, 4]])
def test_columns_by_row_are_the_columns(form, columns):
    rng = np.random.default_rng(1)
    X = sp.random(40, 8, 0.4, form, rng=rng)
    found = SparseDesign(X).columns_by_row(np.array(columns, dtype=int))
    assert found.x.format == "csr"
    np.testing.assert_array_equal(found.x.toarray(), X.toarray()[:, columns])


def test_gram_of_few_columns_is_that_of_the_rows():
    rng = np.random.default_rng(2)
    X, h = sp.random(300, 200, 0.1, "csr", rng=rng), rng.uniform(size=300)
    design = SparseDesign(X)
    design.ready_to_pick()
    for count in (1, 3, 50, 200):
        columns = np.sort(rng.choice(200, count, replace=False))
        x = X.toarray()[:, columns]
        np.testing.assert_allclose(design.gram(h, columns), x.T @ (h[:, None] * x), atol=1e-13)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("penalty", [mm.L1(), mm.L1() + 0.5 * mm.L2()], ids=["l1", "both"])
def test_descent_on_columns_finds_the_model_of_the_gram(
    form, intercept, loss, penalty, monkeypatch
):
    rng = np.random.default_rng(3)
    X = sp.random(300, 400, 0.1, form, rng=rng, data_rvs=rng.random)
    y = np.where(X @ rng.standard_normal(400) + rng.standard_normal(300) > 0, 1, -1)
    model = mm.Classifier(loss, penalty, intercept=intercept, solver="working_set", tol=1e-10)
    model.set_params(alpha=0.03 * mm.alpha_max(model, X, y))
    usual = model.fit(X, y).coef_.copy()
    monkeypatch.setattr(working_set, "_GRAM_COLUMNS", 0)
    model.fit(X, y)
    assert model.certificate_.relative <= 1e-10
    np.testing.assert_allclose(model.coef_, usual, atol=1e-3 * np.abs(usual).max())


def _judged(w, slope):
    class Judged:
        point = Point(w, np.zeros(w.shape[1]), np.zeros((1, w.shape[1])))

    Judged.slope = slope
    return Judged


@pytest.mark.parametrize(("inside", "chosen"), [(100, 500), (400, 800), (600, 1000), (900, None)])
def test_single_coefficients_are_chosen_up_to_their_cap(inside, chosen, monkeypatch):
    """A set near the cap holds the whole model and fewer others; only beyond it there is none."""
    monkeypatch.setattr(group_parts, "_MOST", 1000)
    rng = np.random.default_rng(4)
    w, slope = np.zeros((500, 4)), rng.uniform(0.95, 1.0, (500, 4))
    members = rng.choice(w.size, inside, replace=False)
    w.ravel()[members] = 1.0
    form = mm.L1().bind(w.size, 1.0).sum_over_features
    places = group_parts.best_coefficients(_judged(w, slope), form)
    if chosen is None:
        assert places is None
    else:
        assert places.size == chosen
        assert np.isin(members, places).all()
