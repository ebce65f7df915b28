"""Kernel machines on rows of the kernel matrix: the models of a factor, without the factor."""

import pickle

import numpy as np
import pytest

import minimand as mm
from minimand.features.support_rows import SupportRows
from minimand.solvers import STOP

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=150) > 0, 1, -1)
THREE = np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])
NUMBERS = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=150)
WEIGHTS = RNG.integers(0, 3, 150).astype(float)


def fitted(loss, y, solver="smo", rows=X, tol=1e-9, **given):
    kind = mm.Classifier if y is not NUMBERS and y.dtype.kind == "i" else mm.Regressor
    model = kind(loss, features=mm.RBF(1.5), alpha=0.01, tol=tol, solver=solver)
    return model.fit(rows, y, **given)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (mm.Hinge(), SIGNS),
        (mm.Hinge(), THREE),
        (mm.OneVsOne(mm.Hinge()), THREE),
        (mm.EpsilonInsensitive(0.1), NUMBERS),
        (mm.Quantile(0.8), NUMBERS),
        (mm.Squared(), NUMBERS),
        (mm.Squared(), THREE),
    ],
    ids=["two", "rest", "pairs", "tube", "quantile", "ridge", "ridge of classes"],
)
def test_the_model_is_that_of_a_factor(loss, y, weights):
    name = "row_system" if isinstance(loss, mm.Squared) else "smo"
    factor, rows = (fitted(loss, y, solver, sample_weight=weights) for solver in ("auto", name))
    assert rows.solver_ == name
    assert isinstance(rows.features_, SupportRows)
    assert rows.certificate_.relative <= 1e-9
    gap = factor.certificate_.gap + rows.certificate_.gap
    assert abs(factor.certificate_.primal - rows.certificate_.primal) <= gap + 1e-14
    z = rows.decision_function(X)
    np.testing.assert_allclose(z, factor.decision_function(X), atol=1e-3)
    # Before and after coefficients are asked for, and by hand from what users see.
    assert "coef_" not in vars(rows)
    assert rows.coef_.shape[-1] == rows.features_.rank_
    np.testing.assert_array_equal(rows.decision_function(X), z)
    by_map = rows.features_.transform(X) @ np.atleast_2d(rows.coef_).T + rows.intercept_
    np.testing.assert_allclose(np.squeeze(by_map), rows._scores(X, None), atol=1e-7)
    again = mm.certify(rows, X, y, sample_weight=weights)
    assert again.relative <= 1e-8
    assert again.primal == pytest.approx(rows.certificate_.primal, rel=1e-9)


def test_the_attributes_are_those_of_a_support_vector_machine():
    model, other = (fitted(mm.Hinge(), SIGNS, solver) for solver in ("smo", "auto"))
    kernel = mm.RBF(1.5)
    by_hand = kernel(X, X[model.support_]) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(by_hand, model.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.margin_ == pytest.approx(other.margin_, rel=1e-4)
    np.testing.assert_allclose(model.slack_, other.slack_, atol=1e-3)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    again.coef_ = 2 * again.coef_
    expected = 2 * model.decision_function(X) - model.intercept_
    np.testing.assert_allclose(again.decision_function(X), expected, atol=1e-8)


@pytest.mark.parametrize(("loss", "solver"), [(mm.Hinge(), "smo"), (mm.Squared(), "row_system")])
def test_weights_are_copies(loss, solver):
    copies = np.repeat(np.arange(150), WEIGHTS.astype(int))
    one = fitted(loss, SIGNS, solver, sample_weight=WEIGHTS)
    other = fitted(loss, SIGNS[copies], solver, rows=X[copies])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-4)
    assert other.features_.rank_ <= np.count_nonzero(WEIGHTS)
    assert other.coef_.shape[1] == other.features_.rank_


def test_a_second_fit_forgets_the_first():
    model = fitted(mm.Hinge(), SIGNS)
    first = model.coef_
    model.set_params(solver="auto", warm_start=True).fit(X[:90], SIGNS[:90])
    assert model.coef_.shape[1] == model.features_.rank_ != first.shape[1]
    model.set_params(solver="smo").fit(X, SIGNS)
    np.testing.assert_allclose(model.coef_, first, atol=1e-6)


def test_the_choice_is_by_cost():
    rng = np.random.default_rng(1)
    full, low = rng.normal(size=(1200, 12)), rng.normal(size=(1200, 1))
    y = np.where(rng.normal(size=1200) + full[:, 0] > 0, 1, -1)
    machine = mm.Classifier("hinge", features=mm.RBF())
    found = mm.explain(machine, full, y)
    assert found.chosen == "smo"
    assert "on rows of the kernel matrix" in str(found)
    assert mm.explain(machine, low, y).chosen != "smo"
    assert mm.explain(machine, full[:90], y[:90]).chosen != "smo"
    assert machine.fit(full, y).solver_ == "smo"
    assert machine.certificate_.relative <= machine.tol
    ridge = mm.Regressor(features=mm.RBF())
    assert mm.explain(ridge, full, y).chosen == "row_system"
    assert mm.explain(ridge.set_params(alpha=1e-14), full, y).chosen != "row_system"
    assert mm.explain(ridge.set_params(alpha=1.0, memory=1e6), full, y).chosen != "row_system"
    smooth = mm.Classifier("logistic", features=mm.RBF())
    assert "on rows" not in str(mm.explain(smooth, full[:, :2], y))


@pytest.mark.parametrize("intercept", [True, False])
def test_a_ridge_machine_is_one_linear_system(intercept):
    offset, alpha, gram = 0.1 * X[:, 2], 0.003, mm.RBF(1.5)(X)
    given = gram.copy()
    model = mm.Regressor(
        features=mm.Precomputed(), alpha=alpha, intercept=intercept, solver="row_system"
    ).fit(gram, NUMBERS, offset=offset)
    np.testing.assert_array_equal(gram, given)
    system = np.ones((151, 151))
    system[:150, :150] = given + 150 * alpha * np.eye(150)
    system[150, 150] = 0.0
    if not intercept:
        system = system[:150, :150]
    found = np.linalg.solve(system, np.append(NUMBERS - offset, 0.0)[: len(system)])
    np.testing.assert_allclose(model.dual_coef_[0], found[:150], atol=1e-9)
    assert model.certificate_.relative <= 1e-14


def test_nothing_but_an_intercept():
    model = mm.Regressor(mm.EpsilonInsensitive(0.1), features=mm.RBF(), solver="smo")
    model.fit(X, np.ones(150))
    assert model.support_.size == 0
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict(X), 1.0, atol=0.1 + 1e-9)


def test_a_fit_that_a_callback_stops_has_a_model():
    model = mm.Classifier("hinge", features=mm.RBF(), solver="smo", callbacks=[lambda state: STOP])
    with pytest.warns(UserWarning, match="gap"):
        model.fit(X, THREE)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.certificate_.gap)


def test_refusals():
    with pytest.raises(ValueError, match="is not made of straight pieces"):
        fitted(mm.Squared(), NUMBERS)
    with pytest.raises(ValueError, match="not a multiple"):
        mm.Classifier("hinge", mm.L2Ball(1.0), features=mm.RBF(), solver="smo").fit(X, SIGNS)
    with pytest.raises(ValueError, match="the design has columns"):
        mm.Classifier("hinge", solver="smo").fit(X, SIGNS)
    tanh = np.tanh(X @ X.T - 1.0)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        mm.Classifier("hinge", features=mm.Precomputed(), solver="smo").fit(tanh, SIGNS)


def test_a_fit_on_rows_starts_where_the_last_one_ended():
    model = mm.Classifier("hinge", features=mm.RBF(1.5), solver="smo", warm_start=True)
    model.fit(X, SIGNS)
    first = model.n_iter_
    cold = model.history_.gap[0]
    model.fit(X, SIGNS)
    assert model.history_.gap[0] <= 1e-3 * cold
    assert model.n_iter_ <= first
    model.fit(X, SIGNS, sample_weight=WEIGHTS)  # other bounds: the start is moved into them
    assert model.certificate_.relative <= model.tol
    model.fit(X, THREE)  # other classes: a new start
    assert model.certificate_.relative <= model.tol
    model.fit(X, THREE)
    assert model.history_.gap[0] <= 1e-3 * cold
    model.fit(X[:90], THREE[:90])
    assert model.certificate_.relative <= model.tol
