"""Rankings with weights that increase: fits are stationary, and certified so."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

import minimand as mm

X, Y = load_iris(return_X_y=True)
LOSSES = [mm.WeightedRanking([0.0, 1.0]), mm.WeightedRanking([0.5, 1.0])]


def value(model, W, b):
    z = X @ W.T + b
    penalty = model.penalty.bind(W.T.shape, model.alpha)
    return float(model.loss.value(z, Y.astype(float)).mean() + penalty.value(W.T))


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [(LOSSES[0], mm.L1() + 0.5 * mm.L2()), (LOSSES[1], mm.L2()), (LOSSES[1], mm.L1())],
    ids=repr,
)
def test_no_direction_leads_downhill(loss, penalty):
    model = mm.Classifier(loss, penalty, alpha=0.2).fit(X, Y)
    found = model.certificate_
    assert (found.kind, model.solver_) == ("stationary", "convex_concave")
    assert found.relative <= 1e-6
    here = value(model, model.coef_, model.intercept_)
    assert found.primal == pytest.approx(here, rel=1e-12)
    rng = np.random.default_rng(0)
    for step in (1e-5, 1e-4, 1e-3):
        for _ in range(20):
            W = model.coef_ + step * rng.standard_normal(model.coef_.shape)
            b = model.intercept_ + step * rng.standard_normal(3)
            assert value(model, W, b) >= here - found.gap - 1e-12
    assert mm.certify(model, X, Y).relative <= 1e-6


def test_it_is_no_worse_than_the_convex_loss_above_it():
    convex = mm.Classifier(mm.Ranking(), mm.L2(), alpha=0.3).fit(X, Y)
    model = mm.Classifier(LOSSES[1], mm.L2(), alpha=0.3).fit(X, Y)
    assert model.certificate_.primal <= value(model, convex.coef_, convex.intercept_) + 1e-9


def test_limits_and_weights():
    columns, labels = load_wine(return_X_y=True)
    columns = scale(columns)[:, :5]
    with pytest.warns(UserWarning, match="stopped by max_iter"):
        early = mm.Classifier(LOSSES[1], alpha=0.05, max_iter=1).fit(columns, labels)
    assert early.certificate_.kind == "stationary"
    weights = np.ones(len(labels))
    weights[:30] = 2.0
    twice = np.concatenate([columns, columns[:30]]), np.concatenate([labels, labels[:30]])
    heavy = mm.Classifier(LOSSES[1], alpha=0.3).fit(columns, labels, sample_weight=weights)
    copies = mm.Classifier(LOSSES[1], alpha=0.3).fit(*twice)
    assert heavy.certificate_.primal == pytest.approx(copies.certificate_.primal, rel=1e-4)


def test_a_size_that_is_too_large_is_refused_in_words():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((30, 600))
    with pytest.raises(ValueError, match="tangents"):
        mm.Classifier(LOSSES[0], alpha=0.1).fit(wide, np.arange(30) % 3)
