"""One class against the rest, with more weight on the samples of the class."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

import minimand as mm

LOSSES = [mm.Hinge(), mm.SquaredHinge(), mm.Logistic(), mm.SquaredMargin()]


def classes(n=120, d=6, k=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(0.4, n) - 1, k - 1)  # some classes are rare
    X = rng.standard_normal((n, d))
    X[np.arange(n), y] += 1.0
    return X, y


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("solver", ["auto", "dual"])
@pytest.mark.parametrize("balance", [3.0, 0.5])
def test_it_is_a_weight_in_the_problem_of_every_class(loss, solver, balance):
    X, y = classes()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    settings = {"penalty": "l2", "alpha": 0.02, "solver": solver, "tol": 1e-8}
    together = mm.OneVsRest(loss, balance=balance)
    model = mm.Classifier(together, **settings).fit(X, y, sample_weight=weight)
    primal = 0.0
    for c, w in enumerate(model.coef_):
        heavy = weight * np.where(y == c, balance, 1.0)
        alone = mm.Classifier(loss, **settings).fit(X, y == c, sample_weight=heavy)
        primal += alone.certificate_.primal
        near = 2 * np.sqrt(2 * (alone.certificate_.gap + model.certificate_.gap) / 0.02)
        assert np.linalg.norm(w - alone.coef_[0]) <= near
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    audit = mm.certify(model, X, y, sample_weight=weight)
    assert audit.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert f"samples of the class weigh {balance:g}" in model.certificate_.objective


def test_one_is_no_balance_and_two_classes_are_one_problem():
    X, y = classes()
    plain = mm.Classifier("logistic", alpha=0.1).fit(X, y)
    one = mm.Classifier(mm.OneVsRest(mm.Logistic(), balance=1.0), alpha=0.1).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, one.coef_)
    two = mm.Classifier(mm.OneVsRest(mm.Logistic(), balance=4.0), alpha=0.1).fit(X, y > 0)
    weighted = mm.Classifier("logistic", alpha=0.1, class_weight={True: 4.0, False: 1.0})
    np.testing.assert_allclose(two.coef_, weighted.fit(X, y > 0).coef_, atol=1e-3)


def test_more_weight_finds_more_of_the_rare_classes():
    X, y = classes(n=600)
    found = [
        (mm.Classifier(mm.OneVsRest(mm.Logistic(), balance=b), alpha=0.1).fit(X, y).coef_ @ X.T)
        for b in (0.2, 1.0, 5.0)
    ]
    rare = y == np.bincount(y).argmin()
    margins = [scores[np.bincount(y).argmin(), rare].mean() for scores in found]
    assert margins == sorted(margins)


def test_a_path_ends_at_the_fit():
    X, y = classes()
    model = mm.Classifier(mm.OneVsRest(mm.SquaredHinge(), balance=3.0), alpha=0.01)
    path, fit = mm.path(model, X, y, alphas=[1.0, 0.1, 0.01]), model.fit(X, y)
    np.testing.assert_allclose(path.coefs[-1], fit.coef_, atol=1e-2)
    assert path.certificates[-1].primal == pytest.approx(fit.certificate_.primal, rel=1e-6)


def test_the_balance_is_found_by_cross_validation():
    X, y = classes(n=200)
    model = mm.Classifier(mm.OneVsRest(mm.Logistic()), alpha=0.1)
    grid = {"loss__balance": [0.25, 1.0, 4.0]}
    tuned = mm.Tuned(model, alphas=[0.1, 0.01], grid=grid, cv=3, scoring="balanced_accuracy")
    best = tuned.fit(X, y).best_params_["loss__balance"]
    assert best in grid["loss__balance"]
    assert tuned.best_estimator_.loss.balance == best


@pytest.mark.parametrize("balance", [0.3, 2.5])
def test_its_loss_obeys_the_laws_of_losses(balance):
    loss = mm.OneVsRest(mm.Logistic(), weights=[1.0, 2.0, 0.5], balance=balance)
    rng = np.random.default_rng(0)
    y = np.where(np.arange(3) == rng.integers(0, 3, 20)[:, None], 1.0, -1.0)
    mm.testing.check_loss(loss, y, n_scores=3)
    z = rng.standard_normal((20, 3))
    heavy = np.where(y > 0, balance, 1.0) * [1.0, 2.0, 0.5]
    np.testing.assert_allclose(loss.value(z, y), (heavy * np.log1p(np.exp(-y * z))).sum(axis=1))


def test_what_it_cannot_do_is_said():
    X, y = load_iris(return_X_y=True)
    loss = mm.OneVsRest(mm.Logistic(), balance=2.0)
    with pytest.raises(ValueError, match="couples the classes"):
        mm.Classifier(loss, mm.L21(), alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="stream"):
        mm.Classifier(loss, solver="sgd").partial_fit(X, y, classes=[0, 1, 2])
    for wrong in (0.0, -1.0, np.inf, "much", True):
        with pytest.raises(ValueError, match="positive number"):
            mm.Classifier(mm.OneVsRest(mm.Logistic(), balance=wrong)).fit(X, y)
