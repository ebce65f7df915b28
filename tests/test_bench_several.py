"""The judges of problems of several outputs: bounds lie below every value, and meet the best."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("bench", reason="run from the root of the checkout")

from bench.measures.judge import Model, judge_of, primal
from bench.problems import several
from bench.problems.base import Problem

WORDS = "small"


def small(name: str) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    Y = X @ rng.standard_normal((5, 3)) + rng.standard_normal((60, 3))
    common = {"intercept": True, "peers": ()}
    if name == "rows":
        alphas = np.array([0.5, 0.1])
        return Problem(
            name, X, Y, "squared", "l1", 0.1, alphas=alphas, special=several.Rows(WORDS), **common
        )
    if name == "spectral":
        return Problem(name, X, Y, "squared", "l1", 0.2, special=several.Spectral(WORDS), **common)
    if name == "softmax":
        y = Y.argmax(axis=1).astype(float)
        special = several.Softmax(WORDS)
        return Problem(name, X, y, "multinomial", "l1", 0.02, special=special, **common)
    y = np.digitize(Y[:, 0], [-1.0, 1.0]).astype(float)
    pairs = several.Pairs(WORDS, np.repeat(np.arange(6), 10))
    return Problem(name, X, y, "squared_hinge", "l2", 0.05, False, (), special=pairs)


@pytest.mark.parametrize("name", ["rows", "spectral", "softmax", "pairs"])
def test_bounds_are_below_every_value_and_meet_the_best(name):
    problem = small(name)
    judge = judge_of(problem)
    assert -1e-9 <= judge.slack <= 1e-8
    assert judge.relative(judge.model) <= 1e-8
    rng = np.random.default_rng(1)
    for size in (0.0, 1e-3, 0.1, 1.0):
        noise = size * rng.standard_normal(judge.model.w.shape)
        other = Model(judge.model.w + noise, judge.model.b + size)
        assert (primal(problem, other) >= judge.dual - 1e-12).all()
    worse = Model(judge.model.w + 0.3, judge.model.b)
    assert judge.relative(worse) > 1e-3
    zero = Model(np.zeros_like(judge.model.w), judge.model.b)
    assert judge.relative(zero) > 0


def test_a_null_model_costs_the_scale():
    for name in ("rows", "spectral"):
        problem = small(name)
        b = np.tile(problem.y.mean(axis=0), len(problem.strengths))
        null = Model(np.zeros((b.size, 5)), b)
        assert primal(problem, null) == pytest.approx(problem.special.scale(problem))
    problem = small("softmax")
    share = np.bincount(problem.y.astype(int)) / 60
    null = Model(np.zeros((3, 5)), np.log(share))
    assert primal(problem, null)[0] == pytest.approx(problem.special.scale(problem))
    assert primal(small("pairs"), Model(np.zeros((1, 5)), np.zeros(1)))[0] == pytest.approx(1.0)
