"""Online passes against the formulas, one row at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core
from minimand.canonical.row_steps import OnlineRule
from minimand.design import as_design
from minimand.solvers.stochastic.online import CONSTANT, PA1, PA2, Learner


def by_the_formulas(X, y, weight, order, rule, *, dense):
    """w, b, their means and the objective of one pass from zero, in plain NumPy."""
    n, d = X.shape
    w, b, objective, moves = np.zeros(d), 0.0, 0.0, np.zeros(n)
    owed, taken, seen = 0.0, np.zeros(d), []
    time = 1
    for i in order:
        x, z = X[i].astype(float), X[i].astype(float) @ w + b
        loss = abs(y[i] - z) - rule.threshold if rule.numbers else rule.threshold - y[i] * z
        objective += max(loss, 0) + rule.ridge * (w @ w) / 2 + rule.lasso * np.abs(w).sum()
        if rule.step == PA1 and not x.any():
            continue
        w = w * max(0, 1 - rule.rate * rule.ridge)
        direction = np.sign(y[i] - z) * (loss > 0) if rule.numbers else y[i] * (loss >= 0)
        loss = max(loss, 0)
        length = rule.rate
        if rule.step == PA1:
            length = min(rule.rate, loss / (x @ x))
        elif rule.step == PA2:
            length = loss / (x @ x + 0.5 / rule.rate)
        step = length * direction * weight[i]
        w, b, moves[i] = w + step * x, b + rule.share * step, moves[i] + (step != 0)
        if rule.lasso:
            owed += rule.rate * rule.lasso
            for j in np.flatnonzero((w != 0) & (dense | (x != 0))):  # entries that are stored
                old = w[j]
                left = max(0, abs(old) - (owed + np.sign(old) * taken[j]))
                w[j] = np.sign(old) * left
                taken[j] += w[j] - old
        if rule.average and time >= rule.average:
            seen.append(np.append(w, b))
        time += 1
    mean = np.mean(seen, axis=0) if seen else np.append(w, b)
    return w, b, mean, objective, moves


RULES = [
    OnlineRule(CONSTANT, False, 0.0, 1.0),
    OnlineRule(CONSTANT, False, 0.0, 0.5, ridge=0.3),
    OnlineRule(CONSTANT, False, 0.0, 0.5, ridge=3.0),  # shrinks to nothing at every row
    OnlineRule(CONSTANT, False, 0.0, 0.5, lasso=0.2),
    OnlineRule(CONSTANT, False, 0.0, 0.5, ridge=0.1, lasso=0.1, share=0.0),
    OnlineRule(PA1, False, 1.0, 0.3),
    OnlineRule(PA1, True, 0.1, 0.3, average=1),
    OnlineRule(PA2, False, 1.0, 2.0, share=0.01, average=7),
    OnlineRule(PA2, True, 0.1, 2.0),
]


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    scalar=st.sampled_from([np.float32, np.float64]),
    form=st.sampled_from(["C", "F", "csr", "csc", "csr64"]),
)
def test_a_pass(rule, seed, scalar, form):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 40), rng.integers(1, 9)
    X = (rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.6)).astype(scalar)
    y = rng.normal(size=n) if rule.numbers else rng.choice([-1.0, 1.0], size=n)
    weight, order = rng.uniform(0.5, 2, size=n), rng.permutation(n)[: rng.integers(1, n + 1)]
    given_x = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csc": sp.csc_array}.get(
        form, sp.csr_array
    )(X)
    if form == "csr64":
        given_x.indices, given_x.indptr = (
            a.astype(np.int64) for a in (given_x.indices, given_x.indptr)
        )
    learner, counts = Learner(rule, np.zeros(d)), np.zeros(n)
    report = learner.run(as_design(given_x), y, weight, order, counts)
    w, b, mean, objective, moves = by_the_formulas(
        X, y, weight, order, rule, dense=form in ("C", "F")
    )
    np.testing.assert_allclose(learner.w, w, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(learner.b, b, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(np.append(*learner.averaged), mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(report.objective, objective, rtol=1e-9, atol=1e-9)
    assert counts.tolist() == moves.tolist()
    assert report.moves == moves.sum()


def test_lasso_gives_exact_zeros():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 30)), rng.choice([-1.0, 1.0], size=500)
    learner = Learner(OnlineRule(CONSTANT, False, 0.0, 1.0, lasso=0.005), np.zeros(30))
    learner.run(as_design(X), y, np.ones(500), np.arange(500))
    assert 0 < (learner.w == 0).sum() < 30


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1])
def test_shuffling_is_a_permutation_of_its_seed(seed):
    orders = [np.arange(1000, dtype=np.uint32) for _ in range(2)]
    for order in orders:
        _core.shuffle_rows(order, seed)
    assert (orders[0] == orders[1]).all()
    assert (np.sort(orders[0]) == np.arange(1000)).all()
    assert (orders[0] != np.arange(1000)).any()
    _core.shuffle_rows(np.zeros(0, dtype=np.uint32), seed)


def test_what_a_kernel_cannot_use_is_refused():
    X, ones = np.ones((3, 2)), np.ones(3)
    order, rule = np.arange(3, dtype=np.uint32), tuple(RULES[0])
    state, clock = (np.zeros(2), np.zeros(0), np.zeros(0), np.zeros(3)), (0.0, 0.0, 1.0, 0.0)
    _core.online_pass_dense(X, rule, (ones, ones, order), state, clock)
    bad_calls = [
        (np.asfortranarray(X), rule, (ones, ones, order), state, clock),
        (X, rule, (ones, ones, order + np.uint32(1)), state, clock),
        (X, rule, (ones, ones, order.astype(np.int64)), state, clock),
        (X, rule, (ones[:2], ones, order), state, clock),
        (X, (7, *rule[1:]), (ones, ones, order), state, clock),
        (X, tuple(RULES[3]), (ones, ones, order), state, clock),  # nowhere to keep what is taken
        (X, rule, (ones, ones, order), (np.zeros(3), *state[1:]), clock),
    ]
    for call in bad_calls:
        with pytest.raises(ValueError, match=r"must|cannot"):
            _core.online_pass_dense(*call)
