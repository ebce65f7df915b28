"""What is known of stochastic steps, whatever their code: kinks, smoothness, maps, zeros."""

import numpy as np
import pytest
from sklearn.base import clone

import minimand as mm
from minimand.estimators.problem import build
from minimand.estimators.settings import Settings
from minimand.solvers import Sgd
from minimand.solvers.learner import Learner, Steps

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def moved(loss, w, y, adaptive):
    """Where one row x = 1 takes w, without an intercept or a penalty."""
    settings = Settings(loss, mm.NoPenalty(), 0.0)
    objective = build(settings, np.ones((1, 1)), np.array([y]), None, None, False)
    learner = Learner.start(np.array([w]), 0.0, adaptive)
    steps = Steps(0.1, adaptive=adaptive)
    learner.learn(objective, np.ones(1), np.zeros(1, dtype=np.uint32), steps)
    return float(learner.model(objective, average=False)[0][0])


@pytest.mark.parametrize("y", [1.0, -1.0])
def test_at_its_kink_a_margin_loss_still_asks_for_more(y):
    assert moved(mm.Hinge(), y, y, False) == pytest.approx(y * 1.1)
    assert moved(mm.PerceptronLoss(), 0.0, y, False) == pytest.approx(0.1 * y)
    assert moved(mm.Hinge(), 1.5 * y, y, False) == 1.5 * y  # beyond it nothing does


@pytest.mark.parametrize("adaptive", [False, True])
def test_at_its_kink_a_distance_loss_stays(adaptive):
    """The slope nearest to zero: what fits perfectly is not moved."""
    assert moved(mm.Absolute(), 3.0, 3.0, adaptive) == 3.0
    assert moved(mm.Quantile(0.9), 3.0, 3.0, adaptive) == 3.0
    assert moved(mm.EpsilonInsensitive(0.5), 3.5, 3.0, adaptive) == 3.5
    assert moved(mm.EpsilonInsensitive(0.5), 3.25, 3.0, adaptive) == 3.25


def test_smooth_losses_converge_faster_than_the_hinge():
    """The same steps, the same epochs: a smooth loss is nearer to its optimum."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10))
    y = np.where(X @ rng.standard_normal(10) + rng.standard_normal(2000) > 0, 1, -1)

    def shortfall(loss):
        optimum = mm.Classifier(loss, alpha=0.01, tol=1e-9).fit(X, y).certificate_
        short = []
        for seed in range(3):
            solver = Sgd("pegasos", epochs=5, average=False)
            model = mm.Classifier(loss, alpha=0.01, solver=solver, random_state=seed).fit(X, y)
            short.append((model.certificate_.primal - optimum.primal) / optimum.primal)
        return float(np.mean(short))

    assert shortfall("logistic") < 0.5 * shortfall("hinge")


@pytest.mark.parametrize("phi", [mm.Monomials(2), mm.Centers(n=5, tau=1.0, random_state=0)])
def test_a_stream_through_a_map_is_a_stream_of_its_columns(phi):
    rng = np.random.default_rng(1)
    X, solver = rng.standard_normal((120, 3)), Sgd(eta0=0.5)
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(120)
    parts = [slice(0, 40), slice(40, 41), slice(41, 120)]
    model = mm.Regressor(alpha=1e-3, features=phi, solver=solver)
    mm.fit_stream(model, ((X[rows], y[rows]) for rows in parts))
    columns = clone(phi).fit(X[parts[0]]).transform(X)  # learnt from the first batch
    plain = mm.Regressor(alpha=1e-3, solver=solver)
    mm.fit_stream(plain, ((columns[rows], y[rows]) for rows in parts))
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)


def test_an_invertible_map_gives_w_by_the_inverse():
    x = np.array([[0.0], [0.5], [1.0], [2.0], [3.5]])
    y = np.array([1.0, -1.0, 0.5, 2.0, 0.0])
    phi = np.column_stack([np.ones(5), mm.Monomials(4).fit_transform(x)])
    model = mm.Regressor("squared", "no_penalty", features=mm.Monomials(4), tol=1e-12).fit(x, y)
    np.testing.assert_allclose(
        np.append(model.intercept_, model.coef_), np.linalg.solve(phi, y), rtol=1e-6
    )


def test_a_stream_with_an_l1_norm_has_exact_zeros():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4000, 12))
    y = X[:, 0] - 2.0 * X[:, 1] + 0.1 * rng.standard_normal(4000)
    batches = ((X[i : i + 10], y[i : i + 10]) for i in range(0, 4000, 10))
    model = mm.fit_stream(mm.Regressor("squared", "l1", alpha=0.3), batches)
    assert (model.coef_[2:] == 0).sum() >= 6
    assert (model.coef_[:2] != 0).all()
