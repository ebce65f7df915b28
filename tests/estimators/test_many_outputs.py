"""Regressors and classifiers with a y of several columns."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_linnerud
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import minimand as mm

X, Y = load_linnerud(return_X_y=True)
LOSSES = ["squared", "huber", "absolute", mm.Quantile(0.8), mm.EpsilonInsensitive(1.0)]


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_outputs_are_separate_fits(loss, penalty):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    many = mm.Regressor(loss, penalty, alpha=0.1, tol=1e-10).fit(X, Y, weights)
    assert many.coef_.shape == (3, 3)
    assert many.intercept_.shape == (3,)
    assert many.predict(X).shape == Y.shape
    assert many.certificate_.relative <= 1e-10
    total = 0.0
    for c in range(3):
        one = mm.Regressor(loss, penalty, alpha=0.1, tol=1e-10).fit(X, Y[:, c], weights)
        total += one.certificate_.primal
    assert many.certificate_.primal == pytest.approx(total, rel=1e-8)
    again = mm.certify(many, X, Y, weights)
    assert again.primal == pytest.approx(total, rel=1e-8)
    assert again.relative <= 1e-9


def test_closed_form():
    A = np.column_stack([X, np.ones(len(X))])
    W = np.linalg.solve(A.T @ A, A.T @ Y)
    found = mm.Regressor("squared", "no_penalty").fit(X, Y)
    assert np.allclose(found.coef_, W[:-1].T)
    assert np.allclose(found.intercept_, W[-1])
    other = LinearRegression().fit(X, Y)
    assert found.score(X, Y) == pytest.approx(other.score(X, Y))
    assert found.score(X, Y) == pytest.approx(r2_score(Y, found.predict(X)))


def test_weights_of_outputs_are_alphas_of_their_own():
    v = np.array([1.0, 2.0, 10.0])
    weighted = mm.Regressor(mm.OverScores(mm.Huber(2.0), v), "l1", alpha=0.2, tol=1e-10).fit(X, Y)
    primal = 0.0
    for c in range(3):
        one = mm.Regressor(mm.Huber(2.0), "l1", alpha=0.2 / v[c], tol=1e-10).fit(X, Y[:, c])
        assert np.allclose(weighted.coef_[c], one.coef_, atol=1e-5)
        primal += v[c] * one.certificate_.primal
    assert weighted.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert mm.certify(weighted, X, Y).primal == pytest.approx(primal, rel=1e-9)
    along = mm.path(weighted, X, Y, alphas=[0.4, 0.2])
    assert np.allclose(along.coefs[1], weighted.coef_, atol=1e-4)
    assert along.certificates[1].primal == pytest.approx(primal, rel=1e-6)
    with pytest.raises(ValueError, match="one number per output"):
        mm.Regressor(mm.OverScores(mm.Squared(), [1.0, 2.0])).fit(X, Y)


def test_offsets_may_be_one_per_output():
    shift = np.random.default_rng(0).standard_normal(Y.shape)
    found = mm.Regressor(alpha=0.1).fit(X, Y, offset=shift)
    moved = mm.Regressor(alpha=0.1).fit(X, Y - shift)
    assert np.allclose(found.coef_, moved.coef_)
    assert np.allclose(found.predict(X, offset=shift), moved.predict(X) + shift)
    one = mm.Regressor(alpha=0.1).fit(X, Y, offset=shift[:, 0])
    assert np.allclose(one.coef_, mm.Regressor(alpha=0.1).fit(X, Y - shift[:, :1]).coef_)


def test_dual_coefficients_represent_every_output():
    found = mm.Regressor("huber", alpha=0.1, tol=1e-12).fit(X, Y)
    assert np.allclose(found.dual_coef_ @ X[found.support_], found.coef_, atol=1e-5)


def test_tuning_and_paths():
    tuned = mm.Tuned(mm.Regressor("squared", "l2"), cv=4).fit(X, Y)
    assert tuned.predict(X).shape == Y.shape
    along = mm.path(mm.Regressor("squared", "l1"), X, Y, alphas=7)
    assert along.coefs.shape == (7, 3, 3)
    assert along.intercepts.shape == (7, 3)
    assert not along.coefs[0].any()
    assert along.model(3).predict(X).shape == Y.shape


def test_missing_outputs_are_refused():
    holes = Y.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        mm.Regressor().fit(X, holes)


# Classes ----------------------------------------------------------------------------------------

FLOWERS, KIND = load_iris(return_X_y=True)
LABELS = np.column_stack([KIND == 0, KIND > 0, FLOWERS[:, 0] > 5.8]).astype(int)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_labels_are_separate_problems(loss):
    many = mm.Classifier(loss, alpha=0.01, tol=1e-9).fit(FLOWERS, LABELS)
    assert many.predict(FLOWERS).shape == LABELS.shape
    assert set(np.unique(many.predict(FLOWERS))) <= {0, 1}
    for c in range(3):
        one = mm.Classifier(loss, alpha=0.01, tol=1e-9).fit(FLOWERS, LABELS[:, c])
        assert np.array_equal(one.predict(FLOWERS), many.predict(FLOWERS)[:, c])
        z = many.decision_function(FLOWERS)[:, c]
        assert np.allclose(z, one.decision_function(FLOWERS), atol=1e-2)
    if loss == "logistic":
        p = many.predict_proba(FLOWERS)
        assert p.shape == LABELS.shape
        assert np.array_equal(p > 0.5, many.predict(FLOWERS) == 1)
    assert mm.certify(many, FLOWERS, LABELS).relative <= 1e-8


@pytest.mark.parametrize("bad", [LABELS * 2, LABELS + 0.5, np.ones_like(LABELS)])
def test_columns_that_are_no_labels_are_refused(bad):
    with pytest.raises(ValueError, match=r"zeros and ones|one value only"):
        mm.Classifier().fit(FLOWERS, bad)


def test_one_vs_rest_by_name():
    named = mm.Classifier(mm.OneVsRest(mm.SquaredHinge()), tol=1e-10).fit(FLOWERS, KIND)
    plain = mm.Classifier(mm.SquaredHinge(), tol=1e-10).fit(FLOWERS, KIND)
    assert np.allclose(named.coef_, plain.coef_, atol=1e-6)
    two = FLOWERS[KIND < 2], KIND[KIND < 2]
    one = mm.Classifier(mm.OneVsRest(mm.Hinge())).fit(*two)
    assert one.coef_.shape == (1, 4)


def test_classes_of_one_sample_do_not_overflow():
    rng = np.random.default_rng(0)
    features, kind = rng.normal(size=(40, 4)), np.zeros(40, int)
    kind[0], kind[1] = 1, 2
    found = mm.Classifier(mm.TopK(2), "l2", alpha=0.05).fit(features, kind)
    assert found.certificate_.relative <= 1e-6


@pytest.mark.parametrize("weights", [[7.0], [1.0, 7.0]])
def test_weights_of_outputs_are_refused_where_there_is_one(weights):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    with pytest.raises(ValueError, match="weights of OverScores are for several scores"):
        mm.Regressor(mm.OverScores(mm.Squared(), weights=weights)).fit(X, y)
