"""Steps of pairs on inner products of rows give the models of the other solvers."""

import numpy as np
import pytest

import minimand as mm
from minimand.solvers import RowPairs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 50)) / np.arange(1, 51)
Y = X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=70)
SIGNS = np.where(Y > 0, 1, -1)
WEIGHTS = RNG.integers(0, 3, 70).astype(float)
LOSSES = [mm.Hinge(), mm.Absolute(), mm.Quantile(0.8), mm.EpsilonInsensitive(0.2)]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_model_is_that_of_interior_points(loss, intercept):
    kind, y = (mm.Classifier, SIGNS) if isinstance(loss, mm.Hinge) else (mm.Regressor, Y)
    options = {"alpha": 0.01, "intercept": intercept, "tol": 1e-9}
    given = {"sample_weight": WEIGHTS, "offset": 0.1 * X[:, 3]}
    one, two = (
        kind(loss, solver=solver, **options).fit(X, y, **given)
        for solver in ("row_pairs", "primal_dual")
    )
    assert one.solver_ == "row_pairs"
    assert one.certificate_.relative <= 1e-9
    assert one.certificate_.primal == pytest.approx(two.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-3)
    np.testing.assert_array_equal(one.support_, two.support_)


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_paths_on_kernels_take_it_from_one_alpha_to_the_next(loss):
    kind, y = (mm.Classifier, SIGNS) if loss == "hinge" else (mm.Regressor, Y)
    machine = kind(loss, features=mm.RBF(1.0))
    path = mm.path(machine, X[:, :3], y, alphas=12)
    assert path.attributes["solver_"] == "row_pairs"
    assert max(c.relative for c in path.certificates) <= 1e-6
    for i in (0, 6, 11):
        alone = kind(loss, features=mm.RBF(1.0), alpha=path.alphas[i]).fit(X[:, :3], y)
        one, two = path.certificates[i], alone.certificate_
        assert abs(one.primal - two.primal) <= one.gap + two.gap + 1e-12
    model = path.model(6)
    assert model.support_.size <= 70
    assert "row_pairs" not in mm.path(machine.set_params(solver="dual"), X, y, alphas=3).attributes


def test_refusals():
    with pytest.raises(ValueError, match="not made of straight pieces"):
        mm.Regressor("huber", solver="row_pairs").fit(X, Y)
    with pytest.raises(ValueError, match="not a multiple"):
        mm.Regressor("absolute", "l1", solver="row_pairs", alpha=0.1).fit(X, Y)
    tall = np.zeros((3001, 2))
    with pytest.raises(ValueError, match="many rows"):
        mm.Regressor("absolute", solver="row_pairs").fit(tall, np.arange(3001.0))
    assert RowPairs().by_name_only
