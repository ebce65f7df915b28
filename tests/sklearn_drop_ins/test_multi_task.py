"""MultiTaskLasso and MultiTaskElasticNet, and their forms with cross-validation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_linnerud
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import minimand as mm
from minimand import sklearn as drop_ins

RNG = np.random.default_rng(5)
X, Y = load_linnerud(return_X_y=True)
X = np.column_stack([scale(X), RNG.standard_normal((20, 4))])
WEIGHTS = RNG.uniform(0.0, 2.0, 20)
WEIGHTS[:3] = 0.0
TIGHT = {"tol": 1e-10, "max_iter": 100_000}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("MultiTaskLasso", {"alpha": 2.0}),
        ("MultiTaskElasticNet", {"alpha": 1.0, "l1_ratio": 0.7}),
        ("MultiTaskElasticNet", {"alpha": 1.0, "l1_ratio": 0.0}),
    ],
    ids=["lasso", "net", "ridge"],
)
def test_the_optimum_is_that_of_scikit_learn(name, settings, intercept, weights):
    settings = {**settings, "fit_intercept": intercept, **TIGHT}
    ours = getattr(drop_ins, name)(**settings).fit(X, Y, weights)
    peer = getattr(linear_model, name)(**settings).fit(X, Y, sample_weight=weights)
    assert ours.coef_.shape == peer.coef_.shape
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-3)
    assert isinstance(ours.n_iter_, int)
    assert ours.dual_gap_ <= ours.eps_
    assert mm.certify(peer, X, Y, weights).primal >= ours.certificate_.dual * (1 - 1e-12)


def test_a_feature_is_used_for_all_targets_or_for_none():
    model = drop_ins.MultiTaskLasso(alpha=4.0).fit(X, Y)
    used = model.coef_ != 0
    assert 0 < used.all(axis=0).sum() == used.any(axis=0).sum() < X.shape[1]
    assert model.sparse_coef_.nnz == used.sum()
    top = mm.alpha_max(mm.Regressor("squared", mm.L21()), X, Y)
    assert not drop_ins.MultiTaskLasso(alpha=top * (1 + 1e-9)).fit(X, Y).coef_.any()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("MultiTaskLassoCV", {"alphas": 8}),
        ("MultiTaskElasticNetCV", {"alphas": 5, "l1_ratio": [0.3, 0.9]}),
        ("MultiTaskElasticNetCV", {"alphas": [0.5, 3.0, 1.0]}),
    ],
)
def test_the_choice_is_that_of_scikit_learn(name, settings):
    settings = {**settings, "cv": 3, "tol": 1e-8, "eps": 0.1}
    ours = getattr(drop_ins, name)(**settings).fit(X, Y)
    peer = getattr(linear_model, name)(**settings, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.alphas_, peer.alphas_)
    assert ours.mse_path_.shape == peer.mse_path_.shape
    np.testing.assert_allclose(ours.mse_path_, peer.mse_path_, rtol=1e-3)
    assert ours.alpha_ == pytest.approx(peer.alpha_)
    assert hasattr(ours, "l1_ratio_") == hasattr(peer, "l1_ratio_")
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-2)
    assert ours.certificate_.relative <= 1e-8


def test_precision_layouts_and_starts():
    model = drop_ins.MultiTaskLasso(alpha=2.0).fit(X, Y)
    single = drop_ins.MultiTaskLasso(alpha=2.0).fit(X.astype(np.float32), Y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, model.coef_, atol=2e-2)
    spread = drop_ins.MultiTaskLasso(alpha=2.0).fit(sparse.csc_array(X), Y)
    np.testing.assert_allclose(spread.coef_, model.coef_, atol=2e-2)
    warm = drop_ins.MultiTaskLasso(alpha=2.0, warm_start=True).fit(X, Y)
    assert warm.fit(X, Y).certificate_.iterations == 0 < model.certificate_.iterations
    kept = X.copy()
    drop_ins.MultiTaskLasso(copy_X=False).fit(X, Y)
    np.testing.assert_array_equal(X, kept)


def test_what_is_refused_is_refused_in_scikit_learns_words():
    for name, single in [("MultiTaskLasso", "Lasso"), ("MultiTaskElasticNetCV", "ElasticNetCV")]:
        with pytest.raises(ValueError, match=f"For mono-task outputs, use {single}"):
            getattr(drop_ins, name)().fit(X, Y[:, 0])
        tags = getattr(drop_ins, name)().__sklearn_tags__().target_tags
        assert tags.multi_output
        assert not tags.single_output
    with pytest.raises(ValueError, match="For multi-task outputs, use MultiTaskLassoCV"):
        drop_ins.LassoCV().fit(X, Y)


def test_a_fit_that_is_stopped_has_its_true_gap():
    optimum = drop_ins.MultiTaskLasso(alpha=0.1, **TIGHT).fit(X, Y).certificate_.primal
    columns = sparse.csc_array(X)  # of a dense X, one iteration is enough
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = drop_ins.MultiTaskLasso(alpha=0.1, tol=1e-12, max_iter=1).fit(columns, Y)
    assert model.certificate_.gap >= model.certificate_.primal - optimum
    assert model.dual_gap_ == model.certificate_.gap
