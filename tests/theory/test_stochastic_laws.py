"""What is known of stochastic steps, whatever their code: kinks, smoothness, maps, zeros."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import minimand as mm
from minimand.canonical.row_steps import Rule
from minimand.design import as_design
from minimand.estimators.posing.coded import build
from minimand.estimators.settings import Settings
from minimand.problem.objective import Objective
from minimand.solvers import Sgd
from minimand.solvers.stochastic.learner import Learner, Steps
from minimand.solvers.stochastic.training import thinned

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def moved(loss, w, y, rule):
    """Where one row x = 1 takes w, without an intercept or a penalty."""
    composed = Settings(loss, mm.NoPenalty(), 0.0)
    objective = build(composed, np.ones((1, 1)), np.array([y]), None, None, False)
    learner = Learner.start(np.array([w]), 0.0, rule)
    steps = Steps(0.1, rule=rule)
    learner.learn(objective, np.ones(1), np.zeros(1, dtype=np.uint32), steps)
    return float(learner.model(objective, average=False)[0][0])


@pytest.mark.parametrize("y", [1.0, -1.0])
def test_at_its_kink_a_margin_loss_still_asks_for_more(y):
    assert moved(mm.Hinge(), y, y, Rule.PLAIN) == pytest.approx(y * 1.1)
    assert moved(mm.PerceptronLoss(), 0.0, y, Rule.PLAIN) == pytest.approx(0.1 * y)
    assert moved(mm.Hinge(), 1.5 * y, y, Rule.PLAIN) == 1.5 * y  # beyond it nothing does


@pytest.mark.parametrize("rule", [Rule.PLAIN, Rule.ADAPTIVE])
def test_at_its_kink_a_distance_loss_stays(rule):
    """The slope nearest to zero: what fits perfectly is not moved."""
    assert moved(mm.Absolute(), 3.0, 3.0, rule) == 3.0
    assert moved(mm.Quantile(0.9), 3.0, 3.0, rule) == 3.0
    assert moved(mm.EpsilonInsensitive(0.5), 3.5, 3.0, rule) == 3.5
    assert moved(mm.EpsilonInsensitive(0.5), 3.25, 3.0, rule) == 3.25


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


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from([mm.Logistic(), mm.Hinge(), mm.SquaredHinge(), mm.Squared()]),
    alpha=st.sampled_from([1e-3, 0.03, 0.3]),
    ratio=st.sampled_from([0.5, 1.0]),
)
def test_thinning_only_removes_and_never_raises_the_objective(seed, loss, alpha, ratio):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 12))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
    penalty = (ratio * mm.L1() + (1 - ratio) * mm.L2()).bind(12, alpha)
    objective = Objective(loss, penalty, as_design(X), y, np.full(40, 1 / 40), intercept=True)
    w = rng.standard_normal(12) * 10.0 ** rng.uniform(-3, 0, 12)
    before = objective.point(w, 0.1)
    after = thinned(objective, before)
    assert objective.primal(after) <= objective.primal(before)
    assert ((after.w == w) | (after.w == 0)).all()
    np.testing.assert_allclose(after.z, X @ after.w + after.b, atol=1e-12)


def test_thinning_finds_the_zeros_of_the_optimum():
    """The 5 of the optimum, give or take one; without it 56 of 60 are left."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 60))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(3000) > 0
    best = mm.Classifier("logistic", "l1", alpha=0.03).fit(X, y)
    solver = mm.solvers.Sgd(epochs=5)
    found = mm.Classifier("logistic", "l1", alpha=0.03, solver=solver, random_state=0).fit(X, y)
    assert np.count_nonzero(best.coef_) == 5
    assert np.count_nonzero(found.coef_) <= 6
    assert found.certificate_.primal <= best.certificate_.primal * 1.001
