"""`Ranker` against the hinge of all differences, its laws, and metrics of rankings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import ndcg_score

import minimand as mm


def data(seed=0, queries=12, size=9, d=4, levels=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((queries * size, d))
    groups = np.repeat(np.arange(queries), size)
    score = X @ rng.standard_normal(d) + 0.7 * rng.standard_normal(len(X))
    return X, np.digitize(score, np.quantile(score, np.arange(1, levels) / levels)), groups


def differences(X, y, groups):
    """Rows xᵢ − xⱼ of all pairs, and weights that make queries count equally."""
    rows, weights = [], []
    for query in np.unique(groups):
        at = np.flatnonzero(groups == query)
        pairs = [(i, j) for i in at for j in at if y[i] > y[j]]
        rows += [X[i] - X[j] for i, j in pairs]
        weights += [1.0 / len(pairs)] * len(pairs)
    return np.array(rows), np.array(weights)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("levels", [2, 4])
def test_equals_a_machine_on_all_differences(loss, levels):
    X, y, groups = data(levels=levels)
    ranker = mm.Ranker(loss, alpha=0.02, tol=1e-7).fit(X, y, groups)
    D, weights = differences(X, y, groups)
    signs = np.where(np.arange(len(D)) % 2, 1.0, -1.0)  # both classes must be there
    pairs = mm.Classifier(loss, "l2", alpha=0.02, intercept=False, tol=1e-7)
    pairs.fit(signs[:, None] * D, signs, sample_weight=weights)
    assert ranker.n_pairs_ == len(D)
    assert ranker.certificate_.primal == pytest.approx(pairs.certificate_.primal, abs=2e-7)
    assert ranker.certificate_.relative <= 1e-7
    assert ranker.certificate_.dual <= pairs.certificate_.primal + 1e-12
    assert ranker.coef_ == pytest.approx(pairs.coef_[0], abs=2e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_invariances(loss):
    X, y, groups = data(1)
    rng = np.random.default_rng(1)
    model = mm.Ranker(loss, alpha=0.05, tol=1e-9 if loss == "squared_hinge" else 1e-7)
    near = 1e-4 if loss == "squared_hinge" else 2e-3
    base = clone(model).fit(X, y, groups)
    order = rng.permutation(len(y))
    names = np.array([f"q{g}" for g in groups])
    same = [
        clone(model).fit(X[order], y[order], names[order]),  # any order, any labels
        clone(model).fit(X, np.exp(y) - 10.0, groups),  # only the order of y counts
        clone(model).fit(X + 100.0 * rng.standard_normal(X.shape[1]), y, groups),  # no intercept
        clone(model).fit(sparse.csr_array(X), y, groups),
    ]
    for other in same:
        assert other.coef_ == pytest.approx(base.coef_, abs=near)
    # Weights k are k copies of a query; a query of equal items changes nothing.
    counts = rng.integers(1, 4, 12)
    weighted = clone(model).fit(X, y, groups, sample_weight=counts[groups])
    rows = np.concatenate([np.tile(np.flatnonzero(groups == g), c) for g, c in enumerate(counts)])
    copies = np.repeat(np.arange(counts.sum()), 9)
    copied = clone(model).fit(X[rows], y[rows], copies)
    assert copied.coef_ == pytest.approx(weighted.coef_, abs=near)
    idle = clone(model).fit(
        np.append(X, X[:5], axis=0), np.append(y, np.ones(5)), np.append(groups, [99] * 5)
    )
    assert idle.coef_ == pytest.approx(base.coef_, abs=1e-9)
    assert base.alpha_ == 0.05
    assert clone(model).set_params(alpha=None).fit(X, y, groups).alpha_ == pytest.approx(1 / 12)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_early_stops_are_certified(loss):
    X, y, groups = data(2, queries=30)
    best = mm.Ranker(loss, alpha=1e-3, tol=1e-7).fit(X, y, groups).certificate_
    for passes in (1, 2):
        with pytest.warns(UserWarning, match="stopped by max_iter"):
            early = mm.Ranker(loss, alpha=1e-3, tol=1e-12, max_iter=passes).fit(X, y, groups)
        assert early.certificate_.dual <= best.primal
        assert early.certificate_.primal >= best.dual


def test_many_columns_go_through_conjugate_gradients():
    rng = np.random.default_rng(3)
    X = sparse.random_array((300, 900), density=0.02, rng=rng, format="csr")
    y = rng.integers(0, 3, 300)
    model = mm.Ranker(alpha=0.01).fit(X, y, np.repeat(np.arange(10), 30))
    assert model.certificate_.relative <= 1e-6
    assert model.score(X, y, np.repeat(np.arange(10), 30)) > 0.9


def test_bad_input():
    X, y, groups = data()
    for model, arguments, words in (
        (mm.Ranker("logistic"), (X, y, groups), "'squared_hinge' or 'hinge'"),
        (mm.Ranker(alpha=-1.0), (X, y, groups), "alpha must be"),
        (mm.Ranker(penalty="l1"), (X, y, groups), "L2 on every coefficient"),
        (mm.Ranker(), (X, np.ones(len(y)), groups), "nothing to rank"),
        (mm.Ranker(), (X, y, groups[:-1]), "the query of every item"),
        (mm.Ranker(), (X, y, groups, np.arange(len(y)) + 1.0), "weighs queries"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(*arguments)


def test_metrics():
    X, y, groups = data(4)
    model = mm.Ranker(alpha=0.01).fit(X, y, groups)
    z = model.predict(X)
    by_query = [
        ndcg_score(y[None, groups == g], z[None, groups == g])
        for g in range(12)
        if np.ptp(y[groups == g]) > 0
    ]
    assert model.score(X, y, groups) == pytest.approx(np.mean(by_query))
    assert mm.metrics.ndcg([2, 0, 1], [3.0, 1.0, 2.0]) == 1.0
    assert mm.metrics.mean_average_precision([0, 1, 0], [3.0, 2.0, 1.0]) == pytest.approx(0.5)
    assert mm.metrics.top_k_accuracy(["a", "b"], [[1, 2, 3], [1, 3, 2]], 2, ["a", "b", "c"]) == 0.5
    with pytest.raises(ValueError, match="different relevance"):
        mm.metrics.ndcg([1, 1], [0.0, 1.0])
