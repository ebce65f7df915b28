"""Losses with kinks and an l1 penalty on more columns than rows, against linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import minimand as mm


def data(loss, n, d, *, few, seed=0):
    rng = np.random.default_rng(seed)
    if few:
        X = sparse.random_array((n, d), density=10 / d, rng=rng, format="csr")
    else:
        X = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=(n, 1))
    y = np.asarray(X @ rng.normal(size=d)).ravel() / np.sqrt(d) + rng.normal(size=n)
    return X, np.where(y > np.median(y), 1.0, -1.0) if isinstance(loss, mm.Hinge) else y


def least(loss, X, y, alpha):
    """min (1/n) Σ s + alpha Σ (p + q) with s ≥ every line of the loss, w = p − q."""
    X = X.toarray() if sparse.issparse(X) else X
    n, d = X.shape
    Z = np.column_stack([X, -X, np.ones(n), -np.ones(n)])
    if isinstance(loss, mm.Hinge):
        A, b = np.column_stack([-y[:, None] * Z, -np.eye(n)]), -np.ones(n)
    else:
        A = np.vstack([np.column_stack([Z, -np.eye(n)]), np.column_stack([-Z, -np.eye(n)])])
        b = np.append(y, -y)
    cost = np.concatenate([np.full(2 * d, alpha), np.zeros(2), np.full(n, 1 / n)])
    found = linprog(cost, A_ub=A, b_ub=b, method="highs")
    assert found.status == 0
    return found.fun


def model_of(loss, alpha, solver="column_generation"):
    kind = mm.Classifier if isinstance(loss, mm.Hinge) else mm.Regressor
    return kind(loss, "l1", alpha, solver=solver)


@pytest.mark.parametrize("few", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", [mm.Absolute(), mm.Hinge()], ids=repr)
@pytest.mark.parametrize("share", [0.6, 0.05, 0.002])
def test_few_or_many_columns_matter(loss, few, share):
    """The optimum of the linear program, with as many zeros as a corner has."""
    X, y = data(loss, 120, 600, few=few)
    alpha = share * mm.alpha_max(model_of(loss, 1.0), X, y)
    model = model_of(loss, alpha).fit(X, y)
    best, certificate = least(loss, X, y, alpha), model.certificate_
    assert certificate.relative <= 1e-6
    assert certificate.dual <= best + 1e-9 <= certificate.primal + 2e-9
    assert 0 < np.count_nonzero(model.coef_) <= 120


def test_interior_points_take_over_where_many_columns_matter():
    loss = mm.Absolute()
    X, y = data(loss, 400, 1200, few=False)
    top = mm.alpha_max(model_of(loss, 1.0), X, y)
    few, many = (model_of(loss, share * top).fit(X, y) for share in (0.6, 0.02))
    assert few.solver_ == "column_generation"
    assert many.solver_ == "column_generation → primal_dual"
    assert np.count_nonzero(many.coef_) <= 400
    assert max(few.certificate_.relative, many.certificate_.relative) <= 1e-6


@pytest.mark.parametrize("loss", [mm.Absolute(), mm.Hinge()], ids=repr)
def test_systems_of_rows_and_of_columns_agree(monkeypatch, loss):
    """Interior points factorise a matrix of the smaller side; both ways give the optimum."""
    from minimand.solvers.kinked import interior

    X, y = data(loss, 40, 90, few=False)
    alpha = 0.1 * mm.alpha_max(model_of(loss, 1.0), X, y)
    sides, factorise = [], interior.factorise

    def counted(matrix, *more):
        sides.append(len(matrix))
        return factorise(matrix, *more)

    monkeypatch.setattr(interior, "factorise", counted)
    by_rows = model_of(loss, alpha, "primal_dual").fit(X, y)
    assert set(sides) == {40}
    monkeypatch.setattr(interior, "rows_suffice_for_kinks", lambda *_: False)
    by_columns = model_of(loss, alpha, "primal_dual").fit(X, y)
    assert by_rows.certificate_.primal == pytest.approx(by_columns.certificate_.primal, abs=2e-6)


def test_quantiles_of_wide_data_go_score_by_score():
    """Smoothing does not end there; every quantile is a linear program of its own."""
    X, y = data(mm.Absolute(), 150, 600, few=False)
    model = mm.Regressor(mm.Quantiles([0.2, 0.5, 0.8]), "l1")
    model.set_params(alpha=0.05 * mm.alpha_max(model, X, y)).fit(X, y)
    assert model.solver_ == "by_score"
    assert model.certificate_.relative <= 1e-6
