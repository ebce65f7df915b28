"""Online passes against the formulas, one row at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from minimand import _core
from minimand.canonical.row_steps import Rule
from minimand.design import as_design
from minimand.losses import EpsilonInsensitive, Hinge, PerceptronLoss
from minimand.sklearn.epochs import OnlineRule
from minimand.solvers.stochastic.learner import Learner, Steps


def by_the_formulas(X, y, weight, order, rule, *, dense):
    """w, b, their means and the objective of one pass from zero, in plain NumPy."""
    n, d = X.shape
    steps, numbers = rule.steps, isinstance(rule.loss, EpsilonInsensitive)
    threshold = rule.loss.eps if numbers else float(isinstance(rule.loss, Hinge))
    w, b, objective, moves = np.zeros(d), 0.0, 0.0, np.zeros(n)
    owed, taken, seen = 0.0, np.zeros(d), []
    time = 1
    for i in order:
        x, z = X[i].astype(float), X[i].astype(float) @ w + b
        loss = abs(y[i] - z) - threshold if numbers else threshold - y[i] * z
        objective += max(loss, 0) + rule.ridge * (w @ w) / 2 + rule.lasso * np.abs(w).sum()
        if steps.rule == Rule.PA1 and not x.any():
            continue
        w = w * max(0, 1 - steps.eta * rule.ridge)
        direction = np.sign(y[i] - z) * (loss > 0) if numbers else y[i] * (loss >= 0)
        loss = max(loss, 0)
        length = steps.eta
        if steps.rule == Rule.PA1:
            length = min(steps.eta, loss / (x @ x))
        elif steps.rule == Rule.PA2:
            length = loss / (x @ x + 0.5 / steps.eta)
        step = length * direction * weight[i]
        w, b, moves[i] = w + step * x, b + steps.intercept_share * step, moves[i] + (step != 0)
        if rule.lasso:
            owed += steps.eta * rule.lasso
            for j in np.flatnonzero((w != 0) & (dense | (x != 0))):  # entries that are stored
                old = w[j]
                left = max(0, abs(old) - (owed + np.sign(old) * taken[j]))
                w[j] = np.sign(old) * left
                taken[j] += w[j] - old
        if time > steps.average_from:
            seen.append(np.append(w, b))
        time += 1
    mean = np.mean(seen, axis=0) if seen else np.append(w, b)
    return w, b, mean, objective, moves


def a_rule(loss, rule, eta, *penalties, share=1.0, average=np.inf):
    steps = Steps(eta, rule=rule, average_from=average - 1, intercept_share=share, add_up=1.0)
    return OnlineRule(loss, steps, *penalties)


PERCEPTRON, HINGE, TUBE = PerceptronLoss(), Hinge(), EpsilonInsensitive(0.1)
RULES = [
    a_rule(PERCEPTRON, Rule.PERCEPTRON, 1.0),
    a_rule(PERCEPTRON, Rule.PERCEPTRON, 0.5, 0.3),
    a_rule(PERCEPTRON, Rule.PERCEPTRON, 0.5, 3.0),  # shrinks to nothing at every row
    a_rule(PERCEPTRON, Rule.PERCEPTRON, 0.5, 0.0, 0.2),
    a_rule(PERCEPTRON, Rule.PERCEPTRON, 0.5, 0.1, 0.1, share=0.0),
    a_rule(HINGE, Rule.PA1, 0.3),
    a_rule(TUBE, Rule.PA1, 0.3, average=1),
    a_rule(HINGE, Rule.PA2, 2.0, share=0.01, average=7),
    a_rule(TUBE, Rule.PA2, 2.0),
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
    y = rng.normal(size=n) if rule.loss is TUBE else rng.choice([-1.0, 1.0], size=n)
    weight, order = rng.uniform(0.5, 2, size=n), rng.permutation(n)[: rng.integers(1, n + 1)]
    order = order.astype(np.uint32)
    given_x = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csc": sp.csc_array}.get(
        form, sp.csr_array
    )(X)
    if form == "csr64":
        given_x.indices, given_x.indptr = (
            a.astype(np.int64) for a in (given_x.indices, given_x.indptr)
        )
    learner, counts = Learner.start(np.zeros(d), 0.0, rule.steps.rule), np.zeros(n)
    problem = rule.on(as_design(given_x), y)
    learner.learn(problem, weight, order, rule.steps, counts)
    w, b, mean, objective, moves = by_the_formulas(
        X, y, weight, order, rule, dense=form in ("C", "F")
    )
    for average, expected in ((False, np.append(w, b)), (True, mean)):
        found = np.append(*learner.model(problem, average))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(learner.paid()[0], objective, rtol=1e-9, atol=1e-9)
    assert counts.tolist() == moves.tolist()


def test_lasso_gives_exact_zeros():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 30)), rng.choice([-1.0, 1.0], size=500)
    rule = a_rule(PERCEPTRON, Rule.PERCEPTRON, 1.0, 0.0, 0.005)
    learner, problem = Learner.start(np.zeros(30), 0.0, Rule.PERCEPTRON), rule.on(as_design(X), y)
    learner.learn(problem, np.ones(500), np.arange(500, dtype=np.uint32), rule.steps)
    assert 0 < (learner.model(problem, average=False)[0] == 0).sum() < 30


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
    X, ones, one, none = np.ones((3, 2)), np.ones(3), np.ones(1), np.zeros(1)
    order, given = np.arange(3, dtype=np.uint32), np.empty(0)
    slopes = (0, PERCEPTRON.pieces.parts, given, True)
    options = (1.0, 0.0, 0.0, 1.0, np.inf, 1.0, 1.0, np.inf, 0.0, True)
    averaged = (*options[:4], 0.0, *options[5:])
    good = {
        "X": X,
        "rule": 2,
        "models": (1, 1, 1),
        "slopes": slopes,
        "rows": (ones, ones, ones, order),
        "penalty": (none, none),
        "options": options,
        "fields": np.zeros(2),
        "scalars": np.zeros(12),
        "moves": np.zeros(3),
    }
    _core.learn_rows_dense(**good)
    two = {"models": (1, 1, 2), "fields": np.zeros(4)}
    three = {"models": (1, 1, 3), "fields": np.zeros(6)}
    bad_calls = [
        {"X": np.asfortranarray(X)},
        {"rows": (ones, ones, ones, order + np.uint32(1))},
        {"rows": (ones, ones, ones, order.astype(np.int64))},
        {"rows": (ones[:2], ones, ones, order)},
        {"rule": 7},
        {"rule": -1},
        {"penalty": (one, none)},  # nowhere to keep what is taken
        {"penalty": (np.ones(2), none)} | three,  # one factor for all
        {"penalty": (none, np.ones(2))},
        {"options": averaged},  # nowhere to keep averages
        {"options": averaged, "penalty": (none, one)} | two,  # of a penalised model
        {"options": (0.0, *options[1:])},
        {"slopes": (1, *slopes[1:])},
        {"fields": np.zeros(3)},
        {"scalars": np.zeros(10)},
        {"moves": np.zeros(2)},
        {"models": (2, 1, 1), "fields": np.zeros(4), "scalars": np.zeros(22)}
        | {"rows": (np.ones(6), np.ones(6), ones, order)},
    ]
    for call in bad_calls:
        with pytest.raises(ValueError, match=r"must|cannot|need|have"):
            _core.learn_rows_dense(**(good | call))
