"""Certificates from sums over the rows: never better than the truth, and hardly worse."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm
from minimand.certificate import judge
from minimand.certificate.gram_models import GramModels
from minimand.estimators.prepare import posed
from minimand.problem.condensed import sums


def data(seed, n=60, d=7, far=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.2, 3.0, d) + far * rng.standard_normal(d)
    return X, X[:, 0] - X[:, 1] + far + rng.standard_normal(n)


def objective_of(X, y, penalty, alpha, intercept, weight=None, offset=None):
    model = mm.Regressor("squared", penalty, alpha, intercept=intercept)
    return posed(model, X, y, weight, offset).objectives[0]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    intercept=st.booleans(),
    far=st.sampled_from([0.0, 3.0, 100.0]),
    kind=st.sampled_from(["dense", "single", "csr"]),
    penalty=st.sampled_from(["l1", "l2", "elastic_net", "weighted"]),
    weighted=st.booleans(),
)
def test_the_gap_from_sums_is_that_of_the_data_plus_a_little(
    seed, intercept, far, kind, penalty, weighted
):
    X, y = data(seed, far=far)
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.1, 2.0, len(y)) if weighted else None
    offset = rng.standard_normal(len(y)) if weighted else None
    X[:, 3] = 2.5  # a constant column
    given_x = {"dense": X, "single": X.astype(np.float32), "csr": sparse.csr_array(X)}[kind]
    omega = {"l1": mm.L1(), "l2": mm.L2(), "elastic_net": mm.L1() + 0.5 * mm.L2(),
             "weighted": mm.L1(weights=np.arange(1.0, 8.0))}[penalty]  # fmt: skip
    problem = objective_of(given_x, y, omega, 0.05, intercept, weight, offset)
    coefs = rng.standard_normal((3, X.shape[1])) * (rng.random((3, X.shape[1])) < 0.6)
    coefs[:, 3] = 0.0
    coefs[2] = (
        mm.Regressor("squared", omega, 0.05, intercept=intercept, tol=1e-12)
        .fit(given_x, y, weight, offset)
        .coef_
    )
    models = GramModels(problem, sums(problem))
    charges = models.charges(coefs)
    for i, (charge, found) in enumerate(zip(charges, models.findings([problem] * 3, coefs))):
        exact = judge(problem, found.point.scored)
        noise = 1e-12 * exact.primal
        assert found.primal == pytest.approx(exact.primal, rel=1e-9)
        # The referee may know a better dual point than the residuals, never a worse one.
        assert found.gap >= exact.gap - noise
        np.testing.assert_allclose(found.slope, exact.slope, atol=1e-9 * np.abs(X).max() ** 2)
        if i == 2:  # at the optimum no dual point is better than the residuals
            # Scaling for one slope, enlarged by its rounding, costs that share of all of Ω.
            assert found.gap <= exact.gap + 30 * charge + noise
        assert found.mean_loss == pytest.approx(problem.mean_loss(found.point.z), rel=1e-8)
        assert charge <= found.rounding(problem)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    intercept=st.booleans(),
    far=st.sampled_from([0.0, 3.0, 100.0]),
    kind=st.sampled_from(["dense", "csr"]),
    penalty=st.sampled_from(["rows", "net", "faint", "weighted"]),
    weighted=st.booleans(),
)
def test_the_gap_of_several_outputs_from_sums_is_that_of_the_data_plus_a_little(
    seed, intercept, far, kind, penalty, weighted
):
    X, y = data(seed, far=far)
    rng = np.random.default_rng(seed)
    Y = np.column_stack([y, rng.standard_normal(len(y)), X[:, 2] - 3.0 * far])
    weight = rng.uniform(0.1, 2.0, len(y)) if weighted else None
    offset = rng.standard_normal(Y.shape) if weighted else None
    X[:, 3] = 2.5  # a constant column
    given_x = {"dense": X, "csr": sparse.csr_array(X)}[kind]
    omega = {"rows": mm.L21(), "net": mm.L21() + 0.5 * mm.L2(), "faint": mm.L21() + 1e-6 * mm.L2(),
             "weighted": mm.L21(weights=np.arange(1.0, 8.0))}[penalty]  # fmt: skip
    problem = objective_of(given_x, Y, omega, 0.05, intercept, weight, offset)
    best = mm.Regressor("squared", omega, 0.05, intercept=intercept, tol=1e-12)
    optimum = best.fit(given_x, Y, weight, offset).certificate_.primal
    noise = rng.choice([0.0, 1e-9, 1e-6, 1e-2], size=(6, 1, 1))
    coefs = best.coef_.T + noise * rng.standard_normal((6, X.shape[1], 3))
    coefs *= rng.random((6, X.shape[1], 1)) < 0.8
    coefs[0] = best.coef_.T
    coefs[:, 3] = 0.0
    models = GramModels(problem, sums(problem))
    charges = models.charges(coefs)
    for i, (charge, found) in enumerate(zip(charges, models.findings([problem] * 6, coefs))):
        exact = judge(problem, found.point.scored)
        small = 1e-12 * exact.primal
        rounding = 1e-15 * float((problem.mass @ (found.point.z**2 + Y**2)).sum())
        assert found.primal == pytest.approx(exact.primal, rel=1e-9, abs=charge + rounding)
        # The referee may know a better dual point than the residuals, never a worse one.
        assert found.gap >= exact.gap - small - rounding
        assert found.primal - found.gap <= optimum + small + rounding  # a valid bound
        if i == 0:  # at the optimum no dual point is better than the residuals
            assert found.gap <= exact.gap + 30 * charge + small + rounding
        assert charge <= found.rounding(problem)
        mean = found.mean_loss
        assert mean == pytest.approx(problem.mean_loss(found.point.z), rel=1e-8, abs=charge)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("far", [0.0, 1e3])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_sums_are_as_accurate_as_they_say(intercept, far, outputs):
    X, y = data(5, n=40, d=4, far=far)
    if outputs == 2:
        y = np.column_stack([y, X[:, 1] + far**2])
    problem = objective_of(X, y, "l1" if outputs == 1 else "l21", 0.1, intercept)
    found = sums(problem)
    rows = [[Fraction(v) for v in row] for row in np.column_stack([X, y]).tolist()]
    n, k = len(rows), len(rows[0])
    mean = [sum(r[i] for r in rows) / n if intercept else Fraction(0) for i in range(k)]
    for i in range(k):
        for j in range(k):
            exact = sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in rows) / n
            off = abs(Fraction(float(found.central[i, j])) - exact)
            assert off <= Fraction(float(np.sqrt(found.noise[i] * found.noise[j])))


def test_a_path_of_a_tall_matrix_holds_no_number_per_row_until_it_is_asked():
    X, y = data(1, n=400, d=5)
    path = mm.path(mm.Regressor("squared", "l1"), X, y, alphas=8)
    assert all("dual_point" not in vars(c) for c in path.certificates)
    again = pickle.loads(pickle.dumps(path.certificates[4]))
    alpha, certificate = path.alphas[4], path.certificates[4]
    theta = certificate.dual_point
    np.testing.assert_array_equal(again.dual_point, theta)
    assert again.gap == certificate.gap
    # The multipliers prove the bound by themselves.
    assert abs(theta.mean()) <= 1e-12
    assert np.abs(X.T @ theta / len(y)).max() <= alpha * (1 + 1e-12)
    bound = -np.mean(0.5 * theta**2 + theta * y)
    assert bound >= certificate.dual - 1e-12 * certificate.primal
    assert bound <= certificate.primal


def test_multipliers_of_data_that_were_changed_are_refused():
    X, y = data(2, n=300, d=4)
    path = mm.path(mm.Regressor("squared", "l1"), X, y, alphas=5)
    X *= 2.0
    with pytest.raises(ValueError, match="X or y was changed"):
        _ = path.certificates[3].dual_point


@pytest.mark.parametrize("far", [0.0, 1e5])
def test_tall_paths_agree_with_single_fits(far):
    X, y = data(3, n=500, d=6, far=far)
    path = mm.path(mm.Regressor("squared", "l1"), X, y, alphas=6)
    total = np.var(y)
    for i, alpha in enumerate(path.alphas):
        fit = mm.Regressor("squared", "l1", alpha, tol=1e-10).fit(X, y)
        assert path.certificates[i].relative <= 1e-6
        assert path.certificates[i].primal <= fit.certificate_.primal + 1e-6 * total
        assert path.score[i] == pytest.approx(fit.score(X, y), abs=1e-4)
        rounding = path.certificates[i].rounding + fit.certificate_.rounding
        assert path.certificates[i].dual <= fit.certificate_.primal + rounding


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-6, 1e-15])
def test_a_ridge_path_of_a_tall_matrix_is_that_of_its_normal_equations(intercept, tol):
    """From the sums where their rounding allows, else from the data; weights and units too."""
    X, y = data(3, n=300, d=6, far=5.0)
    X, alphas, scale = X * [1, 1e3, 1e-3, 1, 1, 1], [10.0, 0.1, 1e-3], np.arange(1.0, 7.0)
    model = mm.Regressor("squared", mm.L2(weights=scale), intercept=intercept, tol=tol)
    path = mm.path(model, X, y, alphas=alphas)
    design = np.column_stack([X, np.ones(300)]) if intercept else X
    weights = np.append(scale, 0.0) if intercept else scale
    for alpha, coef, b, certificate in zip(
        alphas, path.coefs, path.intercepts, path.certificates, strict=True
    ):
        normal = design.T @ design / 300 + alpha * np.diag(weights)
        exact = np.linalg.solve(normal, design.T @ y / 300)
        np.testing.assert_allclose(coef, exact[:6], rtol=1e-7, atol=1e-12)
        assert b == pytest.approx(exact[6] if intercept else 0.0, rel=1e-7)
        value = 0.5 * np.mean((X @ coef + b - y) ** 2) + 0.5 * alpha * scale @ coef**2
        assert certificate.primal == pytest.approx(value, rel=1e-9)
        assert certificate.dual <= value * (1 + 1e-14)
        assert certificate.relative <= max(tol, 1e-13)


def test_multipliers_of_several_outputs_prove_the_bound_by_themselves():
    X, y = data(4, n=300, d=5)
    Y = np.column_stack([y, np.abs(y)])
    path = mm.path(mm.Regressor("squared", mm.L21()), X, Y, alphas=6)
    assert all("dual_point" not in vars(c) for c in path.certificates)
    alpha, certificate = path.alphas[3], path.certificates[3]
    theta = certificate.dual_point
    assert np.abs(theta.mean(axis=0)).max() <= 1e-12
    assert np.linalg.norm(X.T @ theta / len(y), axis=1).max() <= alpha * (1 + 1e-12)
    bound = -np.mean((0.5 * theta**2 + theta * Y).sum(axis=1))
    assert certificate.dual - 1e-12 * certificate.primal <= bound <= certificate.primal
    assert certificate.relative <= 1e-6
