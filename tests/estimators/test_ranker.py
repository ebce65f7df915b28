"""`Ranker` against the hinge of all differences, its laws, and metrics of rankings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

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


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
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


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_invariances(loss):
    X, y, groups = data(1)
    rng = np.random.default_rng(1)
    model = mm.Ranker(loss, alpha=0.05, tol=1e-7 if loss == "hinge" else 1e-9)
    near = 2e-3 if loss == "hinge" else 1e-4
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


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("shift", [1.0, 1e6, -1e8, 1e12])
def test_a_constant_in_a_column_changes_nothing(loss, shift):
    """Not even the rounding: one column is constant, and one consists of integers."""
    X, y, groups = data(5, queries=4)
    X = np.column_stack([np.zeros(len(X)), np.rint(4 * X[:, 0]), X])
    base = mm.Ranker(loss, alpha=1e-4).fit(X, y, groups)
    moved = mm.Ranker(loss, alpha=1e-4).fit(X + shift * np.eye(6)[:2].sum(axis=0), y, groups)
    assert moved.certificate_.relative <= 1e-6
    assert moved.certificate_.primal == pytest.approx(base.certificate_.primal, abs=2e-6)
    D, weights = differences(X, y, groups)
    margins = D @ moved.coef_
    psi = {"squared_hinge": np.maximum(0, 1 - margins) ** 2, "hinge": np.maximum(0, 1 - margins),
           "logistic": np.logaddexp(0, -margins)}[loss]  # fmt: skip
    value = weights @ psi / 4 + 0.5e-4 * moved.coef_ @ moved.coef_
    assert value == pytest.approx(moved.certificate_.primal, rel=1e-12)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_sums_over_pairs_are_not_rounded_by_a_constant_of_the_query(loss):
    """As in a sparse matrix, whose columns are not shifted."""
    X, y, groups = data(6, queries=4)
    X = np.column_stack([X, 1e8 * (1.0 + groups)])
    model = mm.Ranker(loss, alpha=1e-4, tol=1e-4).fit(sparse.csr_array(X), y, groups)
    D, weights = differences(X, y, groups)
    pairs = mm.Classifier(loss, "l2", alpha=1e-4, intercept=False)
    signs = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    pairs.fit(signs[:, None] * D, signs, sample_weight=weights)
    certificate = model.certificate_
    assert certificate.relative <= 1e-4
    assert certificate.primal == pytest.approx(pairs.certificate_.primal, abs=1e-4)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("penalty", [mm.L1(), mm.L1() + 0.5 * mm.L2()], ids=repr)
def test_an_l1_part_drops_features_of_the_machine_on_all_differences(loss, penalty):
    X, y, groups = data(d=8)
    ranker = mm.Ranker(loss, penalty, alpha=0.12).fit(X, y, groups)
    D, weights = differences(X, y, groups)
    signs = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    pairs = mm.Classifier(loss, penalty, alpha=0.12, intercept=False, tol=1e-8)
    pairs.fit(signs[:, None] * D, signs, sample_weight=weights)
    assert ranker.certificate_.relative <= 1e-6
    assert ranker.certificate_.dual <= pairs.certificate_.primal + 1e-12
    assert ranker.certificate_.primal == pytest.approx(pairs.certificate_.primal, abs=2e-6)
    assert 0 < np.count_nonzero(ranker.coef_) < 8
    assert mm.certify(ranker, X, y, groups=groups).relative <= 1e-6
    path = mm.path(mm.Ranker(loss, penalty), X, y, alphas=3, groups=groups)
    assert not path.coefs[0].any()
    assert max(c.relative for c in path.certificates) <= 1e-6


@pytest.mark.parametrize("penalty", ["l2", mm.L1() + 0.1 * mm.L2()], ids=repr)
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_early_stops_are_certified(loss, penalty):
    X, y, groups = data(2, queries=30)
    best = mm.Ranker(loss, penalty, alpha=1e-3, tol=1e-6).fit(X, y, groups).certificate_
    for passes in (1, 2):
        early = mm.Ranker(loss, penalty, alpha=1e-3, tol=1e-12, max_iter=passes)
        with pytest.warns(UserWarning, match="stopped by max_iter"):
            early.fit(X, y, groups)
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
        (mm.Ranker("squared"), (X, y, groups), "'squared_hinge', 'hinge' or 'logistic'"),
        (mm.Ranker(alpha=-1.0), (X, y, groups), "alpha must be"),
        (mm.Ranker(penalty="no_penalty"), (X, y, groups), "L2 on every coefficient"),
        (mm.Ranker(penalty=mm.L1([0, 1, 1, 1])), (X, y, groups), "L2 on every coefficient"),
        (mm.Ranker(penalty=mm.NonNegative() + mm.L2()), (X, y, groups), "without constraints"),
        (mm.Ranker(), (X, np.ones(len(y)), groups), "nothing to rank"),
        (mm.Ranker(), (X, y, groups[:-1]), "the query of every item"),
        (mm.Ranker(), (X, y, groups, np.arange(len(y)) + 1.0), "weighs queries"),
        (mm.Ranker(), (X, y, np.where(groups == 3, np.nan, groups)), r"missing .*index 27"),
        (mm.Ranker(), (X, y, np.where(groups == 2, None, groups)), r"missing .*index 18"),
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


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_paths_are_fits_and_can_be_certified(loss):
    X, y, groups = data(5)
    order = np.random.default_rng(5).permutation(len(y))
    X, y, groups = X[order], y[order], groups[order]
    path = mm.path(mm.Ranker(loss), X, y, alphas=[1.0, 0.1, 0.01], groups=groups)
    model = mm.Ranker(loss, alpha=0.1).fit(X, y, groups)
    assert path.coefs.shape == (3, 4)
    assert path.coefs[1] == pytest.approx(model.coef_, abs=5e-3)
    assert path.model(1).n_pairs_ == model.n_pairs_
    assert (np.diff(path.score) > 0).all()
    again = mm.certify(path.model(1), X, y, groups=groups)
    assert again.relative <= 1e-6
    assert again.primal == pytest.approx(model.certificate_.primal, abs=1e-5)
    model.coef_ = model.coef_ + 0.1
    worse = mm.certify(model, X, y, groups=groups)
    assert worse.gap >= worse.primal - again.primal > 0
    assert mm.explain(mm.Ranker(loss), X, y, groups=groups).chosen == model.solver_


@pytest.mark.parametrize("weighted", [False, True])
def test_alpha_by_folds_of_whole_queries(weighted):
    X, y, groups = data(6, queries=15)
    weights = np.random.default_rng(6).integers(0, 3, 15)[groups].astype(float)
    given = weights if weighted else None
    base = mm.Ranker("logistic", tol=1e-9)
    tuned = mm.Tuned(base, alphas=[0.3, 0.03], cv=3).fit(X, y, given, groups=groups)
    expected = np.zeros((2, 3))
    for i, alpha in enumerate(tuned.alphas_):
        for k, (train, test) in enumerate(GroupKFold(3).split(X, y, groups)):
            part = weights[train] if weighted else None
            model = clone(base).set_params(alpha=alpha).fit(X[train], y[train], groups[train], part)
            D, share = differences(X[test], y[test], groups[test])
            by_query = np.logaddexp(0, -(D @ model.coef_)) * share
            rows = np.concatenate([[g] * n for g, n in pairs_by_query(y[test], groups[test])])
            query_weight = (weights if weighted else np.ones(len(y)))[
                [np.flatnonzero(groups == g)[0] for g in rows]
            ]
            expected[i, k] = -(query_weight * by_query).sum() / (query_weight * share).sum()
    assert tuned.cv_results_["mean_test_score"] == pytest.approx(expected.mean(axis=1), abs=1e-6)
    assert tuned.score(X, y, groups=groups) == tuned.best_estimator_.score(X, y, groups)


def pairs_by_query(y, groups):
    for g in np.unique(groups):
        level = y[groups == g]
        yield g, int((level[:, None] > level).sum())


def test_alpha_by_the_quality_of_rankings():
    X, y, groups = data(7)
    for scoring in ("ndcg", lambda model, X, y, groups: model.score(X, y, groups)):
        tuned = mm.Tuned(mm.Ranker(), alphas=[1.0, 0.1], cv=4, scoring=scoring)
        tuned.fit(X, y, groups=groups)
        scores = [
            mm.Ranker(alpha=tuned.alpha_)
            .fit(X[train], y[train], groups[train])
            .score(X[test], y[test], groups[test])
            for train, test in GroupKFold(4).split(X, y, groups)
        ]
        assert tuned.best_score_ == pytest.approx(np.mean(scores))
    for change, words in (({"scoring": "r2"}, "'ndcg'"), ({"cv": "loo"}, "LeaveOneGroupOut")):
        with pytest.raises(ValueError, match=words):
            mm.Tuned(mm.Ranker(), alphas=2, **change).fit(X, y, groups=groups)
    with pytest.raises(TypeError, match="queries of a"):
        mm.path(mm.Regressor(), X, y, groups=groups)


def test_features_offsets_frames_and_queries_of_one_item():
    pd = pytest.importorskip("pandas")
    X, y, groups = data(8)
    X = X * [1.0, 10.0, 100.0, 1000.0]
    frame = pd.DataFrame(X, columns=list("abcd"))
    alone = np.append(groups, [77, 78])  # items without a partner
    frame = pd.concat([frame, frame.iloc[:2]], ignore_index=True)
    grade = np.append(y, [0, 1])
    model = mm.Ranker(alpha=0.01, features=StandardScaler(), tol=1e-9)
    model.fit(frame, pd.Series(grade), groups=pd.Series(alone).map("query {}".format))
    scaled = StandardScaler().fit_transform(frame)
    plain = mm.Ranker(alpha=0.01, tol=1e-9).fit(scaled[:-2], y, groups)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-6)
    assert model.predict(frame)[:-2] == pytest.approx(plain.predict(scaled[:-2]), abs=1e-6)
    assert list(model.feature_names_in_) == list("abcd")
    # An offset that the columns could give is taken back by the coefficients, but for the penalty.
    weak = mm.Ranker("logistic", alpha=1e-6, tol=1e-10).fit(scaled[:-2], y, groups)
    moved = mm.Ranker("logistic", alpha=1e-6, tol=1e-10)
    moved.fit(scaled[:-2], y, groups, offset=scaled[:-2, 0])
    assert moved.coef_ == pytest.approx(weak.coef_ - [1.0, 0, 0, 0], abs=1e-3)


def test_items_of_weight_zero_have_no_multiplier():
    X, y, groups = data(9)
    weights = (groups % 3 > 0).astype(float)
    model = mm.Ranker("hinge", alpha=0.05).fit(X, y, groups, weights)
    assert (weights[model.support_] > 0).all()
    assert model.dual_coef_[0] @ X[model.support_] == pytest.approx(model.coef_, abs=1e-4)
    assert mm.certify(model, X, y, weights, groups=groups).relative <= 1e-6


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(4))
def test_few_pairs_of_which_none_may_be_on_a_curved_piece(loss, seed):
    """With l1 alone nothing else bends the model of a step: fits ended percents off."""
    X, y, groups = data(seed, queries=5, size=4, d=3)
    weights = np.array([2.0, 1.0, 2.0, 0.0, 1.0])
    ranker = mm.Ranker(loss, "l1", alpha=0.05).fit(X, y, groups, weights[groups])
    D, shares = differences(X, y, groups)
    query = np.concatenate([np.full((y[groups == q][:, None] > y[groups == q]).sum(), q)
                            for q in range(5)])  # fmt: skip
    signs = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    pairs = mm.Classifier(loss, "l1", alpha=0.05, intercept=False, tol=1e-8)
    pairs.fit(signs[:, None] * D, signs, sample_weight=shares * weights[query])
    assert ranker.certificate_.relative <= 1e-6
    assert ranker.certificate_.primal == pytest.approx(pairs.certificate_.primal, abs=2e-6)
