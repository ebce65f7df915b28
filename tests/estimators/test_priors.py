"""`with_priors`: shifted intercepts are the fit under other shares of the classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import minimand as mm

RNG = np.random.default_rng(2)


def law(k):
    """Points, every class at each of them, and their probabilities in a multinomial model."""
    points = RNG.standard_normal((40, 3))
    W, b = RNG.standard_normal((3, k)), RNG.standard_normal(k)
    mass = softmax(points @ W + b, axis=1) / 40
    X, y = points.repeat(k, axis=0), np.tile(np.arange(k), 40)
    return X, y, mass.ravel(), mass.sum(axis=0)


CASES = [
    (2, "logistic"),
    (2, "cross_entropy"),
    (2, mm.Multinomial()),
    (4, mm.Multinomial()),
    (4, mm.Multinomial(reference=1)),
    (4, mm.Multinomial(reference=-1)),
]


@pytest.mark.parametrize(("k", "loss"), CASES, ids=repr)
def test_a_sample_by_class_leads_back_to_the_population(k, loss):
    X, y, mass, priors = law(k)
    rates = RNG.uniform(0.1, 1.0, k)  # of the population of each class that is drawn
    fit = {"alpha": 0.0, "tol": 1e-13}
    population = mm.Classifier(loss, "no_penalty", **fit).fit(X, y, mass)
    sample = mm.Classifier(loss, "no_penalty", **fit).fit(X, y, mass * rates[y])
    shifted = mm.with_priors(sample, priors, priors * rates)
    assert_allclose(shifted.intercept_, population.intercept_, atol=1e-4)
    assert_allclose(shifted.coef_, population.coef_, atol=1e-4)
    assert_allclose(shifted.predict_proba(X), population.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("loss", [mm.Multinomial(), mm.Multinomial(reference=0)], ids=repr)
def test_a_saturated_model_is_that_of_the_reweighted_sample(loss):
    cells, y = RNG.integers(0, 3, 300), RNG.integers(0, 3, 300)
    y[:60] = cells[:60]
    X = np.eye(3)[cells]
    priors = np.array([0.1, 0.3, 0.6])
    model = mm.Classifier(loss, "no_penalty", alpha=0.0, tol=1e-13, intercept=True).fit(X, y)
    factors = priors / (np.bincount(y) / 300)
    again = mm.Classifier(
        loss, "no_penalty", alpha=0.0, tol=1e-13, class_weight=dict(enumerate(factors))
    ).fit(X, y)
    shifted = mm.with_priors(model, dict(enumerate(priors)), y)
    assert_allclose(shifted.predict_proba(X), again.predict_proba(X), atol=1e-5)


def test_the_shift_is_that_of_the_odds_and_the_model_stays():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    for model in (
        mm.Classifier(mm.Multinomial(), alpha=0.1).fit(X, names),
        LogisticRegression().fit(X, names),
    ):
        before = model.predict_proba(X), model.intercept_.copy()
        shifted = mm.with_priors(model, {"a": 1, "b": 2, "c": 7}, names)
        odds = shifted.predict_proba(X) / before[0] / np.array([1, 2, 7])
        assert_allclose(odds, np.repeat(odds[:, :1], 3, axis=1))
        assert shifted.intercept_.sum() == pytest.approx(before[1].sum(), abs=1e-6)
        assert_allclose(model.intercept_, before[1])
        back = mm.with_priors(shifted, [1, 1, 1], [0.1, 0.2, 0.7])
        assert_allclose(back.intercept_, model.intercept_)
    own = mm.Classifier(mm.Multinomial(), alpha=0.1).fit(X, names)
    assert "shifted" in mm.with_priors(own, [1, 1, 2], names).certificate_.objective


def test_what_cannot_be_shifted_is_refused_in_words():
    X, y = load_iris(return_X_y=True)
    model = mm.Classifier(mm.Multinomial(), alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"priors must have the classes \[0, 1, 2\]"):
        mm.with_priors(model, {0: 1.0}, y)
    with pytest.raises(ValueError, match="priors must be 3 positive numbers"):
        mm.with_priors(model, [1.0, 0.0, 1.0], y)
    with pytest.raises(ValueError, match="sampled must hold the labels"):
        mm.with_priors(model, [1, 1, 1], y + 1)
    with pytest.raises(ValueError, match="sampled must be 3 positive"):
        mm.with_priors(model, [1, 1, 1], y[:50])  # a class is missing
    with pytest.raises(ValueError, match="log-odds of all classes"):
        mm.with_priors(mm.Classifier("logistic").fit(X, y), [1, 1, 1], y)
    with pytest.raises(ValueError, match="log-odds of all classes"):
        mm.with_priors(mm.Classifier("hinge").fit(X, y > 0), [1, 1], y > 0)
    with pytest.raises(ValueError, match="the model has none"):
        mm.with_priors(mm.Classifier("logistic", intercept=False).fit(X, y > 0), [1, 1], y > 0)
    with pytest.raises(TypeError, match="not Regressor"):
        mm.with_priors(mm.Regressor().fit(X, y), [1, 1, 1], y)
