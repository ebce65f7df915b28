"""Terms of many samples come some rows at a time, and are the same."""

import numpy as np
import pytest

import minimand as mm
from minimand._base import row_blocks as parts
from minimand.certificate import judge
from minimand.design import as_design
from minimand.problem.intercept import balanced_gradient, best_shift
from minimand.problem.objective import Objective


def problem(loss, y, weights=None):
    X = np.random.default_rng(3).standard_normal((y.size, 2))
    return Objective(
        loss=loss,
        penalty=mm.L2().bind(2, 0.1),
        design=as_design(X),
        y=y,
        mass=loss.masses(1.0 + np.arange(y.size) % 3 if weights is None else weights),
    )


@pytest.mark.parametrize("loss", [mm.Squared(), mm.Logistic(), mm.Hinge(), mm.Huber()])
def test_parts_add_up_to_the_whole(monkeypatch, loss):
    rng = np.random.default_rng(0)
    y, z = np.where(rng.random(50) < 0.4, 1.0, -1.0), rng.standard_normal(50)
    whole = problem(loss, y)
    before = whole.terms(z), whole.null_loss, whole.infimum, best_shift(whole, z)
    steep = balanced_gradient(whole, whole.null.z)
    monkeypatch.setattr(parts, "ROWS", 7)
    again = problem(loss, y)
    for found, wanted in zip(again.terms(z)[:2], before[0][:2]):
        assert np.array_equal(found, wanted)
    assert np.array_equal(again.terms(z).curvature.h, before[0].curvature.h)
    assert (again.null_loss, again.infimum) == pytest.approx(before[1:3], rel=1e-14, abs=0)
    assert best_shift(again, z) == pytest.approx(before[3], rel=1e-12)
    if steep is not None:
        found = balanced_gradient(again, again.null.z)
        assert np.allclose(found, steep, rtol=0, atol=1e-14)


def test_a_fit_without_any_time_judges_its_model_once(monkeypatch):
    from minimand.solvers import loop

    calls, judge = [], loop.judge
    monkeypatch.setattr(loop, "judge", lambda *a, **k: calls.append(k) or judge(*a, **k))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    with pytest.warns(match="max_seconds"):
        model = mm.Classifier("hinge", max_seconds=1e-9).fit(X, X[:, 0] > 0.3)
    assert len([k for k in calls if not k.get("thorough")]) == 1
    assert model.certificate_.gap > 0
    assert len(model.history_) == 1


@pytest.mark.parametrize("loss", [mm.Squared(), mm.Huber(), mm.Absolute()], ids=repr)
@pytest.mark.parametrize("weights", [np.ones(50), None], ids=["equal masses", "weights"])
def test_rows_in_blocks_prove_the_same(monkeypatch, loss, weights):
    """Many rows are judged block by block, with fewer arrays of their length: the same proof."""
    y = np.random.default_rng(0).standard_normal(50)

    def judged():
        objective = problem(loss, y, weights)
        return judge(objective, objective.point(np.array([-0.2, 0.4]), 0.1), [0.1 * np.sin(9 * y)])

    whole = judged()
    monkeypatch.setattr(parts, "ROWS", 7)
    again = judged()
    assert again.primal == pytest.approx(whole.primal, rel=1e-13)
    assert again.gap == pytest.approx(whole.gap, rel=1e-10)
    assert np.sum(again.by_sample) + np.sum(again.by_feature) == pytest.approx(again.gap)
    assert np.allclose(again.by_sample, whole.by_sample, rtol=1e-10, atol=1e-15)
    assert np.allclose(again.slope, whole.slope, rtol=1e-12, atol=1e-15)
    assert np.array_equal(again.terms.curvature.bound, whole.terms.curvature.bound)
