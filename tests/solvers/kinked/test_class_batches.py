"""One-versus-rest in batches of classes: the same models as one class at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.solvers.kinked.class_batches import members

LOSSES = [mm.Hinge(), mm.SquaredHinge(), mm.Logistic(), mm.SquaredMargin()]


def classes(n=150, d=12, k=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.standard_normal((n, d)) * (rng.uniform(size=(n, d)) < 0.6)
    X[np.arange(n), y % d] += 1.0
    return X, y


def fit(loss, X, y, weight=None, offset=None, **kwargs):
    model = mm.Classifier(loss, "l2", alpha=0.02, solver="dual", **{"tol": 1e-7, **kwargs})
    return model.fit(X, y, sample_weight=weight, offset=offset)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_one_versus_rest_is_one_fit_per_class(loss, intercept, kind):
    X, y = classes()
    rng = np.random.default_rng(1)
    weight, offset = rng.uniform(0.2, 2.0, len(y)), 0.3 * rng.standard_normal(len(y))
    model = fit(loss, kind(X), y, weight, offset, intercept=intercept)
    primal = dual = 0.0
    for c in range(6):
        alone = fit(loss, X, np.where(y == c, 1, -1), weight, offset, intercept=intercept)
        primal, dual = primal + alone.certificate_.primal, dual + alone.certificate_.dual
        # ½ alpha‖w − w*‖² ≤ gap, once for each of the two
        near = 2 * np.sqrt(2 * (alone.certificate_.gap + model.certificate_.gap) / 0.02)
        assert np.linalg.norm(model.coef_[c] - alone.coef_[0]) <= near
    assert model.certificate_.relative <= 1e-7
    assert dual <= model.certificate_.primal
    assert model.certificate_.dual <= primal


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_certificate_is_that_of_an_audit(loss):
    X, y = classes(k=9)
    model = fit(loss, X, y)
    audit = mm.certify(model, X, y)
    assert audit.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert audit.dual <= model.certificate_.primal
    assert model.certificate_.dual <= audit.primal


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weights_count_like_copies_and_zeros_like_nothing(loss):
    X, y = classes(n=90, k=5)
    times = np.random.default_rng(3).integers(0, 4, len(y))
    weighted = fit(loss, X, y, times)
    copied = fit(loss, np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=2e-2)
    assert weighted.certificate_.primal == pytest.approx(copied.certificate_.primal, rel=1e-6)


def test_every_class_is_in_one_batch_that_the_kernel_takes():
    for count in range(1, 200):
        found = members(count)
        assert sorted(i for batch in found for i in batch) == list(range(count))
        assert max(map(len, found)) <= 16


def test_a_stop_leaves_certified_models():
    X, y = classes(n=400, d=40, k=12)
    with pytest.warns(match="max_seconds"):
        model = fit(mm.Hinge(), X, y, max_seconds=1e-9)
    best = fit(mm.Hinge(), X, y)
    assert model.certificate_.dual <= best.certificate_.primal
    assert best.certificate_.dual <= model.certificate_.primal


def test_without_memory_for_a_batch_every_class_is_solved_by_itself():
    X, y = classes()
    small = fit(mm.Logistic(), X, y, memory=8 * X.size)
    full = fit(mm.Logistic(), X, y)
    assert small.certificate_.passes > 1.5 * full.certificate_.passes
    assert small.certificate_.primal == pytest.approx(full.certificate_.primal, rel=1e-6)


def test_a_warm_start_is_used():
    """Of a smooth loss; at kinks the coefficients of a model do not say its multipliers."""
    X, y = classes()
    model = fit(mm.Logistic(), X, y, warm_start=True)
    first = model.certificate_.passes
    model.fit(X, y)
    assert model.certificate_.passes < first
    assert model.certificate_.relative <= 1e-7


def test_callbacks_see_every_class_and_can_stop():
    X, y = classes()
    seen = []
    fit(mm.Logistic(), X, y, callbacks=[seen.append])
    assert len(seen) >= 6
    with pytest.warns(match="callback"):
        stopped = fit(mm.Hinge(), X, y, callbacks=[lambda state: mm.STOP], tol=1e-15)
    assert np.isfinite(stopped.certificate_.gap)


def test_the_model_does_not_depend_on_the_number_of_threads():
    from threadpoolctl import threadpool_limits

    X, y = classes(k=11)
    coefs = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            coefs.append(fit(mm.SquaredHinge(), X, y).coef_)
    np.testing.assert_array_equal(coefs[0], coefs[1])
    np.testing.assert_array_equal(coefs[0], coefs[2])
