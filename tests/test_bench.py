"""The benchmark's own judge and clock: what they certify must be true for everybody."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

pytest.importorskip("bench", reason="run from the root of the checkout")

from bench import paths, tuning
from bench.judge import Model, dual, judge_of, primal
from bench.problem import Problem
from bench.timing import Lap, OverCap, best_of, climb, clock

LOSSES, PENALTIES = ("squared", "logistic"), ("l1", "l2", "elastic_net")
CASES = list(product(LOSSES, PENALTIES, (0, 1)))


def small_path(loss: str, penalty: str, intercept: bool, count: int = 4) -> Problem:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 12))
    z = X[:, :3].sum(axis=1) + 0.3 + rng.standard_normal(40)
    y = z if loss == "squared" else np.where(z > 0, 1.0, -1.0)
    alphas = np.geomspace(0.3, 0.01, count)
    return Problem("small", X, y, loss, penalty, alphas[-1], intercept, (), alphas=alphas)


@pytest.mark.parametrize(("loss", "penalty", "intercept"), CASES)
def test_any_dual_point_bounds_every_alpha(loss, penalty, intercept):
    problem = small_path(loss, penalty, bool(intercept))
    judge = judge_of(problem)
    assert -1e-14 <= judge.slack <= 1e-8
    rng = np.random.default_rng(0)
    shape = (len(problem.strengths), problem.n_samples)
    for size in (1e-3, 0.1, 1.0, 10.0):
        theta = size * rng.standard_normal(shape)
        signs = np.broadcast_to(problem.y, shape)
        assert (dual(problem, signs, theta) <= judge.reference + 1e-12).all()
        w, b = size * rng.standard_normal((shape[0], 12)), np.zeros(shape[0])
        assert (primal(problem, Model(w, b)) >= judge.dual - 1e-12).all()


def test_a_path_is_judged_at_its_worst_alpha():
    problem = small_path("squared", "l1", True)
    judge = judge_of(problem)
    single = [judge_of(problem.at(alpha)) for alpha in problem.strengths]
    assert judge.dual == pytest.approx([s.dual[0] for s in single], rel=1e-8)
    w = judge.model.w.copy()
    w[1] += 0.1
    spoilt = single[1].relative(Model(w[1:2], judge.model.b[1:2]))
    assert spoilt > 1e-4
    assert judge.relative(Model(w, judge.model.b)) == pytest.approx(spoilt, rel=1e-6)
    w[2] = np.nan
    assert judge.relative(Model(w, judge.model.b)) == np.inf


def test_elastic_net_path_begins_with_an_empty_model():
    problem = paths.SYNTHETIC["path_enet_dense"](True)
    judge = judge_of(replace(problem, alphas=problem.alphas[:2]))
    assert judge.model.nonzeros(judge.problem) > 0
    assert not judge.model.w[0].any()


def test_a_call_over_the_cap_is_stopped_and_the_climb_goes_on():
    def fit(tol: float) -> float:
        while tol > 0.5:  # stalls at the loosest tolerance only
            pass
        return tol

    with pytest.raises(OverCap):
        clock(lambda: fit(1.0), 0.05)
    ladder = (1.0, 0.1, 0.01)
    forgiving = climb(fit, lambda gap: gap, ladder, 0.01, 0.3)
    assert forgiving.met is not None
    assert forgiving.met.gap <= 0.01
    strict = climb(fit, lambda gap: gap, ladder, 0.01, 0.3, forgiven=0)
    assert strict.capped
    assert strict.met is None
    assert strict.closest.result is None


def test_nobody_is_repeated_after_the_cap_and_only_results_that_meet_the_gap_count():
    calls = {"slow": lambda: 0.0, "unmet": lambda: 1.0, "quick": lambda: 0.0}
    known = {"slow": Lap(9.0, 9.0), "unmet": Lap(0.5, 0.5)}
    best = best_of(calls, lambda gap: gap == 0.0, known, 3, 1.0)
    assert best["slow"] == known["slow"]
    assert best["unmet"] == known["unmet"]
    assert "quick" in best


def test_lasso_cv_is_judged_by_the_models_of_its_folds():
    from bench.peers.sklearn import CV

    problem = tuning.cv_lasso("cv", True, wide=False)
    problem = replace(problem, alphas=problem.alphas[::6], folds=problem.folds)
    judge = tuning.tuning_judge_of(problem)
    assert judge.slack <= 1e-8
    tight = CV(problem, 1e-12)
    assert len(tight.calls) == len(problem.folds)
    assert -1e-12 <= judge.relative(tight) <= 1e-9
    assert judge.off(tight) <= 1e-5
    y, coefs = tight.calls[2]
    spoilt = coefs.copy()
    spoilt[0, -1] += 0.05
    calls = [*tight.calls[:2], (y, spoilt), *tight.calls[3:]]
    assert judge.relative(replace(tight, calls=calls)) > 1e-4
    # Without them, held-out errors have to do.
    assert judge.relative(replace(tight, calls=[])) <= 1e-9
    assert judge.relative(replace(tight, calls=[], errors=1.01 * tight.errors)) == np.inf
    with pytest.raises(ValueError, match="no training part"):
        judge.relative(replace(tight, calls=[(y + 1.0, coefs)]))
