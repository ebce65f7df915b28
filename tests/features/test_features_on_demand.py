"""Features that memory has no room for are computed on demand; models and proofs are the same."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import Design
from minimand.features import nystrom as module

RNG = np.random.default_rng(1)
X = RNG.normal(size=(700, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * RNG.normal(size=700)
SIGN = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0.5, "high", "low")
MAP = mm.Nystrom(mm.RBF(1.5), rank=25, random_state=0)
FEW = 1e5  # bytes: 88 of 700 rows are kept


def both(make, X, y, **kwargs):
    """The same fit with features in memory, and on demand."""
    one, two = make(memory=None).fit(X, y, **kwargs), make(memory=FEW).fit(X, y, **kwargs)
    assert not isinstance(one._map_features(X), Design)
    assert isinstance(two._map_features(X), Design)
    return one, two


def same(one, two, X):
    first, second = one.certificate_, two.certificate_
    assert second.relative <= 1e-6
    assert abs(first.primal - second.primal) <= first.gap + second.gap + 1e-12
    np.testing.assert_allclose(
        one.decision_function(X), two.decision_function(X), atol=0.05 * np.std(Y)
    )


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [("squared", "l2"), ("huber", "l2"), ("squared", "l1"), ("absolute", "l2"), ("lp", "l2")],
)
def test_regressions_on_demand(loss, penalty):
    def make(memory):
        return mm.Regressor(loss, penalty, alpha=1e-3, features=MAP, memory=memory)

    if loss == "lp":
        loss = mm.Lp(1.5)
    one, two = both(make, X, Y)
    same(one, two, X)
    again = mm.certify(two, X, Y)
    assert abs(again.primal - two.certificate_.primal) <= 1e-9
    assert again.relative <= 1e-6


@pytest.mark.parametrize("loss", ["logistic", "hinge", "multinomial"])
def test_classifiers_on_demand(loss):
    labels = np.digitize(Y, np.quantile(Y, [0.3, 0.7])) if loss == "multinomial" else SIGN

    def make(memory):
        return mm.Classifier(loss, alpha=1e-2, features=MAP, memory=memory)

    one, two = both(make, X, labels)
    assert two.certificate_.relative <= 1e-6
    first, second = one.certificate_, two.certificate_
    assert abs(first.primal - second.primal) <= first.gap + second.gap + 1e-12
    assert pickle.loads(pickle.dumps(two)).score(X, labels) == two.score(X, labels)


def test_weights_offsets_sparse_rows_and_outputs():
    weights = RNG.integers(0, 3, size=700).astype(float)
    thin = sparse.csr_array(X * (X > 0))

    def make(memory):
        return mm.Regressor(features=MAP, memory=memory, alpha=1e-3)

    one, two = both(make, thin, Y, sample_weight=weights, offset=X[:, 2])
    same(one, two, thin)
    one, two = both(make, X, np.column_stack([Y, X[:, 0] * Y]))
    same(one, two, X)


def test_random_waves_on_demand():
    waves = mm.RandomFourier(mm.RBF(1.5), 30, random_state=0)

    def make(memory):
        return mm.Regressor(features=waves, memory=memory, alpha=1e-3)

    same(*both(make, X, Y), X)


def test_paths_and_leave_one_out_on_demand():
    def make(memory):
        return mm.Regressor(features=MAP, memory=memory)

    alphas = [1e-1, 1e-3, 1e-5]
    one, two = (mm.path(make(memory), X, Y, alphas=alphas) for memory in (None, FEW))
    np.testing.assert_allclose(one.coefs, two.coefs, atol=1e-4)
    assert max(c.relative for c in two.certificates) <= 1e-6
    tuned = [mm.Tuned(make(m), cv="loo", alphas=alphas).fit(X, Y) for m in (None, FEW)]
    scores = [each.cv_results_["mean_test_score"] for each in tuned]
    np.testing.assert_allclose(*scores, rtol=1e-6)
    # By refitting without a sample on the same features.
    phi = MAP.fit_transform(X)
    left = []
    for i in range(0, 700, 70):
        rest = np.delete(np.arange(700), i)
        model = mm.Regressor(alpha=1e-3, tol=1e-12).fit(phi[rest], Y[rest])
        left.append(Y[i] - model.predict(phi[[i]])[0])
    from minimand.estimators.prepare import prepared
    from minimand.selection.leave_one_out import residuals

    _, _, problems = prepared(make(FEW).set_params(alpha=1.0), X, Y, None, None)
    found = residuals(problems, np.array([1e-3]))[0, 0, ::70]
    np.testing.assert_allclose(found, left, atol=1e-7)


@pytest.mark.parametrize("method", ["rpcholesky", "uniform", "kmeans"])
def test_landmarks_of_many_rows_are_chosen_among_some(method, monkeypatch):
    monkeypatch.setattr(module, "MEMORY", 1e3)
    monkeypatch.setattr(module, "_CANDIDATES", 4)
    map = mm.Nystrom(mm.RBF(1.5), rank=25, method=method, random_state=0)
    model = mm.Regressor(features=map, memory=FEW, alpha=1e-3).fit(X, Y)
    assert model.certificate_.relative <= 1e-6
    found = model.features_
    assert found.rank_ == 25
    assert not hasattr(found, "remainder_")
    if method != "kmeans":
        assert np.unique(found.pivots_).size == 25
        np.testing.assert_array_equal(found.landmarks, X[found.pivots_])
    phi = found.fit_transform(X)
    np.testing.assert_allclose(found.remainder_, found.left_out(X), atol=1e-12)
    np.testing.assert_allclose(phi, found.transform(X), atol=1e-12)
    assert model.score(X, Y) > 0.8


def test_a_stop_leaves_a_model_with_its_true_gap():
    model = mm.Regressor(features=MAP, memory=FEW, max_seconds=1e-9)
    with pytest.warns(match="max_seconds"):
        model.fit(X, Y)
    audit = mm.certify(model, X, Y)
    assert audit.primal <= model.certificate_.primal + 1e-9
    assert model.predict(X).shape == (700,)


def test_what_landmarks_lose_is_bounded_on_demand():
    small = mm.Regressor(features=MAP, memory=FEW, alpha=1e-2).fit(X, Y)
    exact = mm.Regressor(features=mm.RBF(1.5), alpha=1e-2).fit(X, Y)
    bound = mm.certify(small, X, Y, against="exact")
    assert bound.dual <= exact.certificate_.primal + 1e-9
    assert bound.gap >= small.certificate_.gap


def test_a_proof_without_a_penalty_allows_for_the_rounding_of_the_landmarks():
    wide = mm.Nystrom(mm.RBF(20.0), rank=25, random_state=0)  # rows that are nearly dependent
    model = mm.Regressor(features=wide, memory=FEW, alpha=0).fit(X, Y)
    assert model.certificate_.relative <= 1e-6


def test_solvers_that_need_rows_in_memory_are_refused():
    for solver in ("dual", "sgd"):
        model = mm.Regressor("absolute", features=MAP, memory=FEW, solver=solver)
        with pytest.raises(ValueError, match="computed on demand"):
            model.fit(X, Y)


def test_a_million_rows_would_take_passes_and_one_gram_is_for_paths():
    """The Hessian of some rows costs less than that of all, once there are many rows."""
    from minimand.design import ComputedDesign
    from minimand.estimators.prepare import prepared
    from minimand.solvers import Control, choose_solver

    _, _, (problem,) = prepared(mm.Regressor(features=MAP, memory=FEW), X, Y, None, None)
    many = ComputedDesign(lambda x: np.ones((len(x), 500)), np.zeros((300_000, 1)), 500)
    penalty = mm.L2().bind(500, 1e-3)
    ones = np.full(300_000, 1 / 300_000)
    large = replace(problem, design=many, y=np.zeros(300_000), mass=ones, penalty=penalty)
    assert choose_solver(large, Control(), "auto").name == "newton"
    assert choose_solver(problem, Control(), "auto").name in ("closed_form", "newton")
