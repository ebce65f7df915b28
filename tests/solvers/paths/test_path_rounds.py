"""Paths in blocks of alphas: on sparse columns, and on the Gram of the columns met."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.estimators.prepare import prepared
from minimand.selection.path import penalties_of
from minimand.solvers import Control
from minimand.solvers.paths.on_columns import OnColumns
from minimand.solvers.paths.on_curves import OnCurves
from minimand.solvers.paths.on_gram import OnGram
from minimand.solvers.paths.path import settler_of

NET = 0.7 * mm.L1() + 0.3 * mm.L2()


def sparse_data(n=120, d=300, density=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=density, format="csc", rng=rng)
    X = X @ sparse.diags_array(10.0 ** rng.uniform(-2, 2, d))
    y = X @ (rng.standard_normal(d) * (rng.random(d) < 0.05)) + 0.1 * rng.standard_normal(n)
    return X.tocsc(), y + 3.0


def way_of(model, X, y):
    _, settings, (base,) = prepared(model, X, y, None, None)
    at = penalties_of(settings, base)
    return type(settler_of(base, at, [1.0, 0.5], Control()))


def agree(path, model, X, y, places, **data):
    """Certified at every alpha, and as good as cold fits."""
    assert max(c.relative for c in path.certificates) <= model.tol
    for i in places:
        cold = clone(model).set_params(alpha=path.alphas[i]).fit(X, y, **data)
        ours, theirs = path.certificates[i], cold.certificate_
        assert ours.dual <= theirs.primal * (1 + 1e-12)
        assert theirs.dual <= ours.primal * (1 + 1e-12)
        audit = mm.certify(path.model(i), X, y, **data)
        assert audit.primal == pytest.approx(ours.primal, rel=1e-9)
        assert audit.relative <= 1.01 * model.tol


@pytest.mark.parametrize("penalty", ["l1", NET])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", ["csc", "csr"])
def test_sparse_columns(penalty, intercept, form):
    X, y = sparse_data()
    X = X.asformat(form)
    model = mm.Regressor("squared", penalty, intercept=intercept, tol=1e-8)
    assert way_of(model, X, y) is OnColumns
    rng = np.random.default_rng(1)
    data = {"sample_weight": rng.integers(0, 3, y.size), "offset": rng.standard_normal(y.size)}
    path = mm.path(model, X, y, 20, **data)
    agree(path, model, X, y, (0, 7, 19), **data)


def test_sparse_columns_that_nearly_coincide():
    X, y = sparse_data()
    noise = sparse.random_array(X.shape, density=0.002, rng=np.random.default_rng(2))
    X = sparse.hstack([X, X[:, :150], X + 1e-3 * noise]).tocsc()
    model = mm.Regressor("squared", "l1")
    path = mm.path(model, X, y, 8, eps=1e-2)
    agree(path, model, X, y, (3, 7))


@pytest.mark.parametrize("penalty", ["l1", NET])
def test_many_dense_columns_and_rows(penalty):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((520, 1100)) + rng.standard_normal((520, 1))
    y = X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(520)
    model = mm.Regressor("squared", penalty)
    assert way_of(model, X, y) is OnGram
    path = mm.path(model, X, y, 8, eps=0.1)
    agree(path, model, X, y, (2, 7))


@pytest.mark.parametrize("penalty", ["l1", NET])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "poisson", "cross_entropy"])
@pytest.mark.parametrize("shape", [(80, 150), (200, 12)], ids=["wide", "tall"])
def test_curved_losses(loss, penalty, intercept, shape):
    """Old weights and fresh slopes lead to the same optima as fits by themselves."""
    rng = np.random.default_rng(4)
    n, d = shape
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    z = 2.0 * X[:, :5] @ rng.standard_normal(5) / np.sqrt(5)
    data = {"sample_weight": rng.integers(0, 3, n), "offset": 0.3 * rng.standard_normal(n)}
    y = {
        "logistic": np.where(z + rng.logistic(size=n) > 0, 1, -1),
        "poisson": rng.poisson(np.exp(np.minimum(z, 3.0))),
        "cross_entropy": 1.0 / (1.0 + np.exp(-z - 0.3 * rng.standard_normal(n))),
    }[loss]
    kind = mm.Classifier if loss == "logistic" else mm.Regressor
    model = kind(loss, penalty, intercept=intercept, tol=1e-8)
    assert way_of(model, X, y) is OnCurves
    path = mm.path(model, X, y, 12, eps=0.02, **data)
    agree(path, model, X, y, (0, 5, 11), **data)


def test_curved_losses_where_columns_coincide_and_classes_separate():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 60))
    X = np.hstack([X, X, X + 1e-7 * rng.standard_normal((40, 60))])
    y = np.where(X[:, 0] > 0, 1, -1)
    model = mm.Classifier("logistic", "l1")
    agree(mm.path(model, X, y, 15, eps=1e-3), model, X, y, (3, 9, 14))


def test_alphas_in_steps_of_any_size():
    """Forecasts are no better than their line, and the certificate does not depend on them."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 1500))
    y = X[:, :10] @ rng.standard_normal(10) + rng.standard_normal(60)
    model, top = mm.Regressor("squared", "l1"), mm.alpha_max(mm.Regressor("squared", "l1"), X, y)
    alphas = top * np.array([1.0, 0.999, 0.1, 0.0999, 1e-2])
    agree(mm.path(model, X, y, alphas), model, X, y, (1, 2, 4))


def test_columns_without_a_penalty_are_left_to_other_solvers():
    X, y = sparse_data()
    weights = np.ones(X.shape[1])
    weights[:2] = 0.0
    model = mm.Regressor("squared", mm.L1(weights))
    assert way_of(model, X, y) is type(None)
    assert way_of(mm.Regressor("squared", mm.L1() + mm.NonNegative()), X, y) is type(None)
    assert way_of(mm.Regressor("huber", "l1"), X, y) is type(None)
    agree(mm.path(model, X, y, 6), model, X, y, (2, 5))


def test_who_says_stop_is_heard():
    X, y = sparse_data()
    seen = []

    def third(state):
        seen.append(state)
        return mm.STOP if len(seen) == 3 else None

    model = mm.Regressor("squared", "l1", callbacks=[third])
    with pytest.warns(ConvergenceWarning, match="fits were stopped"):
        path = mm.path(model, X, y, 10, eps=1e-2)
    assert len(path) == 10
    assert len(seen) == 3  # what is left is only judged
    assert all(np.isfinite(c.gap) for c in path.certificates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        late = mm.path(mm.Regressor("squared", "l1", max_seconds=0.0), X, y, 5)
    for certificate in late.certificates:
        assert certificate.dual <= certificate.primal


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("stored", ["dense", "shifted", "csr", "csc"])
def test_tall_data_are_solved_on_one_gram(intercept, stored):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20)) * (rng.random((300, 20)) < 0.2)
    y = X[:, :5].sum(axis=1) + rng.standard_normal(300)
    if stored == "shifted":
        X = X + 1e4 * rng.standard_normal(20)
    elif stored != "dense":
        X = sparse.csc_array(X).asformat(stored)
    model = mm.Regressor("squared", "l1", intercept=intercept, tol=1e-8)
    assert way_of(model, X, y) is OnGram
    data = {"sample_weight": rng.integers(0, 3, 300), "offset": rng.standard_normal(300)}
    agree(mm.path(model, X, y, 20, **data), model, X, y, [5, 19], **data)


def test_bounds_are_left_to_condensed_problems():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 20)), rng.standard_normal(300)
    model = mm.Regressor("squared", mm.L1() + mm.NonNegative(), tol=1e-8)
    assert way_of(model, X, y) is type(None)
    agree(mm.path(model, X, y, 10), model, X, y, [3, 9])
