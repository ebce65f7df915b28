"""Stochastic passes against plain NumPy loops over rows, in every type, order and grouping."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import minimand as mm
from minimand.canonical.row_steps import Rule
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers.stochastic.learner import Learner, Steps

LOSSES = [mm.Hinge(), mm.Logistic(), mm.Squared(), mm.Absolute()]
PLAIN = [Steps(0.2), Steps(2.0, 3.0, 1.0), Steps(0.3, 1.0, 0.5), Steps(0.2, average_power=0.0)]
PLAIN += [Steps(2.0, 0.0, 1.0, intercept_step=0.1), Steps(0.3, intercept_share=0.01)]


def problems(loss, X, k, l1, l2, *, seed=0, intercept=True):
    """k problems on the same rows."""
    rng = np.random.default_rng(seed)
    n, d = X.shape
    targets = rng.standard_normal((k, n))
    if loss.target == "sign":
        targets = np.where(targets > 0, 1.0, -1.0)
    penalty = (l1 * mm.L1() + l2 * mm.L2()).bind(d, 1.0)
    mass = np.full(n, 1.0 / max(n, 1))
    return [Objective(loss, penalty, as_design(X), y, mass, intercept=intercept) for y in targets]


def by_the_formulas(X, y, loss, weight, order, steps, l1, l2, intercept):
    """w and b after plain steps, and their averages.

    What a zero spares a coefficient of the l1 penalty is still due: on the side from which it came,
    nothing was received.
    """
    w, b = np.zeros(X.shape[1]), 0.0
    total_l1, received = 0.0, np.zeros(w.size)
    total, mean, b_mean = 0.0, np.zeros(w.size), 0.0
    for t, i in enumerate(order, 1):
        eta = steps.eta / (steps.t0 + t) ** steps.power
        slope = weight[i] * loss.gradient(np.array([X[i] @ w + b]), y[i : i + 1])[0]
        shrink = max(1 - eta * l2, 0.0)
        total_l1, received = shrink * total_l1 + eta * l1, shrink * received
        w = shrink * w - eta * slope * X[i]
        due = total_l1 + np.sign(w) * received
        left = np.sign(w) * np.maximum(np.abs(w) - due, 0.0)
        w, received = left, received + left - w
        own = intercept * steps.intercept_share * min(eta, steps.intercept_step / np.sqrt(t))
        b -= own * slope
        c = t**steps.average_power
        total, mean, b_mean = total + c, mean + c * w, b_mean + c * b
    return w, b, mean / total, b_mean / total


def matrices(dense, single, wide):
    """The same numbers as C order, Fortran order and CSR, in the types asked for."""
    dense = dense.astype(np.float32 if single else np.float64)
    csr = sp.csr_matrix(dense)
    csr.indices, csr.indptr = (
        a.astype(np.int64 if wide else np.int32) for a in (csr.indices, csr.indptr)
    )
    return [dense, np.asfortranarray(dense), csr, with_duplicates(csr)]


def with_duplicates(csr):
    """The same matrix with every entry in two halves."""
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    data, indices = np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2)
    counts = 2 * np.bincount(rows, minlength=csr.shape[0])
    indptr = np.append(0, np.cumsum(counts)).astype(csr.indptr.dtype)
    twice = sp.csr_matrix(csr.shape, dtype=csr.dtype)
    twice.data, twice.indices, twice.indptr = data, indices.astype(csr.indices.dtype), indptr
    return twice


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 12), st.integers(1, 9)),
    density=st.sampled_from([0.0, 0.3, 1.0]),
    loss=st.sampled_from(LOSSES),
    steps=st.sampled_from(PLAIN),
    penalty=st.sampled_from([(0.0, 0.0), (0.0, 0.4), (0.1, 0.0), (0.1, 0.4)]),
    k=st.sampled_from([1, 2, 8, 11]),
    single=st.booleans(),
    wide=st.booleans(),
    intercept=st.booleans(),
)
def test_plain_passes(seed, shape, density, loss, steps, penalty, k, single, wide, intercept):
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal(shape) * (rng.uniform(size=shape) < density)
    order = rng.integers(0, shape[0], 2 * shape[0]).astype(np.uint32)
    weight = rng.uniform(0, 2, shape[0])
    for X in matrices(dense, single, wide):
        exact = (X.toarray() if sp.issparse(X) else X).astype(float)
        given_problems = problems(loss, X, k, *penalty, seed=seed, intercept=intercept)
        learner = Learner.start(np.zeros((k, shape[1])), np.zeros(k), rule=Rule.PLAIN)
        learner.learn(given_problems, weight, order, steps)
        w, b = learner.models(given_problems[0], average=False)
        mean, b_mean = learner.models(given_problems[0], average=True)
        for i, problem in enumerate(given_problems):
            expected = by_the_formulas(
                exact, problem.y, loss, weight, order, steps, *penalty, intercept
            )
            np.testing.assert_allclose(w[i], expected[0], atol=1e-9)
            np.testing.assert_allclose(b[i], expected[1], atol=1e-9)
            np.testing.assert_allclose(b_mean[i], expected[3], atol=1e-9)
            if penalty[0] == 0 or not sp.issparse(X):
                kept = (w[i] != 0) | (penalty[0] == 0)  # l1: zeros of the last model stay zeros
                np.testing.assert_allclose(mean[i], kept * expected[2], atol=1e-9)


def adaptive_by_the_formulas(X, y, loss, eta, order):
    """Adaptive steps without a penalty; the flow of the loss in many short steps of Euler's."""
    d = X.shape[1]
    w, b, squares, b_squares = np.zeros(d), 0.0, np.zeros(d), 0.0
    largest, norm = np.zeros(d), 0.0
    for t, i in enumerate(order, 1):
        grown = np.maximum(largest, np.abs(X[i]))
        w *= np.divide(largest, grown, out=np.ones(d), where=(grown > 0) & (largest > 0))
        largest = grown
        ratio = np.divide(X[i], largest, out=np.zeros(d), where=largest > 0)
        norm += ratio @ ratio + 1
        z = X[i] @ w + b
        slope = loss.gradient(np.array([z]), y[i : i + 1])[0]
        if slope == 0:
            continue
        squares, b_squares = squares + (slope * X[i]) ** 2, b_squares + slope**2
        size = largest * np.sqrt(squares)
        rate = np.divide(1.0, size, out=np.zeros(d), where=size > 0)
        speed = rate @ X[i] ** 2 + 1 / np.sqrt(b_squares)
        time, parts, moved = speed * eta * np.sqrt(t / norm), 4000, z
        for _ in range(parts):
            moved -= time / parts * loss.gradient(np.array([moved]), y[i : i + 1])[0]
        w = w + (moved - z) / speed * rate * X[i]
        b += (moved - z) / speed / np.sqrt(b_squares)
    return w, b


@pytest.mark.parametrize("loss", [mm.Logistic(), mm.Squared()], ids=repr)
@pytest.mark.parametrize("k", [1, 3])
def test_adaptive_passes(loss, k):
    rng = np.random.default_rng(3)
    dense = rng.standard_normal((7, 6)) * (rng.uniform(size=(7, 6)) < 0.6)
    order = rng.permutation(7).astype(np.uint32)
    for X in matrices(dense, single=False, wide=False)[:3]:
        given_problems = problems(loss, X, k, 0.0, 0.0)
        learner = Learner.start(np.zeros((k, 6)), np.zeros(k), rule=Rule.ADAPTIVE)
        learner.learn(given_problems, np.ones(7), order, Steps(0.7, rule=Rule.ADAPTIVE))
        w, b = learner.models(given_problems[0], average=False)
        for i, problem in enumerate(given_problems):
            expected = adaptive_by_the_formulas(dense, problem.y, loss, 0.7, order)
            np.testing.assert_allclose(w[i], expected[0], atol=2e-3)
            np.testing.assert_allclose(b[i], expected[1], atol=2e-3)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(LOSSES),
    penalty=st.sampled_from([(0.0, 0.0), (0.0, 1e-3), (0.05, 0.0), (0.05, 0.2)]),
    k=st.sampled_from([2, 9]),
    single=st.booleans(),
)
def test_models_side_by_side_are_models_alone(seed, loss, penalty, k, single):
    """Nothing of one model reaches another; l2 steps may wait, the longer the weaker they are."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((40, 6)) * (rng.uniform(size=(40, 6)) < 0.5)
    weight = rng.uniform(0, 2, 40)
    order = rng.permutation(40).astype(np.uint32)
    for X in matrices(dense, single, wide=True)[:3]:
        given_problems = problems(loss, X, k, *penalty, seed=seed)
        adaptive = Steps(0.3, rule=Rule.ADAPTIVE)
        for steps in (Steps(0.3), adaptive, adaptive._replace(batch=5)):
            start = rng.standard_normal((k, 6)), rng.standard_normal(k)
            together = Learner.start(*start, steps.rule)
            together.learn(given_problems, weight, order, steps)
            for average in (False, True):
                w, b = together.models(given_problems[0], average)
                for i, problem in enumerate(given_problems):
                    alone = Learner.start(start[0][i], start[1][i], steps.rule)
                    alone.learn(problem, weight, order, steps)
                    expected = alone.model(problem, average)
                    waits = steps.rule == Rule.ADAPTIVE and penalty[1] > 0
                    tolerance = 0.1 if waits else 1e-9
                    np.testing.assert_allclose(w[i], expected[0], rtol=tolerance, atol=tolerance)
                    np.testing.assert_allclose(b[i], expected[1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rule", [Rule.PLAIN, Rule.ADAPTIVE])
def test_a_stream_may_change_from_dense_to_sparse(rule):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    steps, weight = Steps(0.2, rule=rule), np.ones(30)
    halves = [np.arange(15, dtype=np.uint32), np.arange(15, 30, dtype=np.uint32)]
    found = []
    for kinds in ([X, X], [X, sp.csr_matrix(X)], [sp.csr_matrix(X), X]):
        learner = Learner.start(np.zeros((3, 5)), np.zeros(3), rule)
        for kind, half in zip(kinds, halves):
            three = problems(mm.Logistic(), kind, 3, 0.0, 0.0)
            learner.learn(three, weight, half, steps)
        found.append(np.column_stack(learner.models(three[0], average=True)))
    np.testing.assert_allclose(found[1], found[0], atol=1e-10)
    np.testing.assert_allclose(found[2], found[0], atol=1e-10)


def test_rows_that_are_not_there_are_refused():
    X = np.eye(3)
    problem = problems(mm.Hinge(), X, 1, 0.0, 0.0)[0]
    learner = Learner.start(np.zeros(3), 0.0, rule=Rule.PLAIN)
    with pytest.raises(ValueError, match="order"):
        learner.learn(problem, np.ones(3), np.array([3], dtype=np.uint32), Steps(0.1))
    with pytest.raises(ValueError, match="fields"):
        Learner(learner.layout, np.zeros((1, 8)), learner.scalars).learn(
            problem, np.ones(3), np.array([0], dtype=np.uint32), Steps(0.1)
        )


def test_threads_do_not_change_the_models():
    """Classes are divided between threads; none of their sums is."""
    rng = np.random.default_rng(0)
    X = sp.random(3000, 60, 0.2, format="csr", random_state=rng)
    found = []
    for count in (1, 2):
        with threadpool_limits(count):
            many = problems(mm.Logistic(), X, 20, 0.0, 1e-3)
            learner = Learner.start(np.zeros((20, 60)), np.zeros(20), rule=Rule.ADAPTIVE)
            learner.learn(
                many,
                np.ones(3000),
                np.arange(3000, dtype=np.uint32),
                Steps(0.5, rule=Rule.ADAPTIVE),
            )
            found.append(learner.models(many[0], average=True)[0])
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    "loss", [mm.Hinge(), mm.Logistic(), mm.Squared(), mm.EpsilonInsensitive(0.3)]
)
@pytest.mark.parametrize("rule", [Rule.PLAIN, Rule.ADAPTIVE])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_what_rows_paid_before_their_steps(loss, rule, kind):
    rng = np.random.default_rng(4)
    X, weight = rng.standard_normal((40, 5)), rng.uniform(0.5, 2.0, 40)
    # Plain steps pay what an l1 penalty was before it took its share of the last step.
    tasks = problems(loss, kind(X), 3, 0.0 if rule == Rule.PLAIN else 0.01, 0.02)
    order = rng.permutation(40).astype(np.uint32)
    steps = Steps(0.1, rule=rule, add_up=0.5)
    start = (np.zeros((3, 5)), np.zeros(3), rule)
    whole = Learner.start(*start, sparse=kind is sp.csr_matrix)
    whole.learn(tasks, weight, order, steps)
    single, expected = Learner.start(*start, sparse=kind is sp.csr_matrix), np.zeros(3)
    for i in order:
        w, b = single.models(tasks[0], average=False)
        for k, task in enumerate(tasks):
            expected[k] += loss.value(X[i] @ w[[k]].T + b[k], task.y[[i]])[0]
            if rule == Rule.PLAIN:
                expected[k] += 0.5 * task.penalty.value(w[k])
        single.learn(tasks, weight, np.array([i], dtype=np.uint32), steps)
    # Steps of an l2 penalty that hardly matter wait, under rates that adapt.
    np.testing.assert_allclose(whole.paid(), expected, rtol=0.05 if rule == Rule.ADAPTIVE else 1e-9)
    assert (whole.paid() == 0).all()  # it has been asked


@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_sparse_averages_under_l1_are_those_of_dense_rows(l2, power):
    """What a coefficient was between two rows is known but for the pace of the penalty.

    Before it was: 3.1 in place of 2.2.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8)) * (rng.uniform(size=(400, 8)) < 0.05)
    order = np.arange(400, dtype=np.uint32)
    found = []
    for matrix in (X, sp.csr_matrix(X)):
        (problem,) = problems(mm.Squared(), matrix, 1, 0.02, l2)
        learner = Learner.start(np.full(8, 3.0), 0.0, rule=Rule.PLAIN)
        learner.learn(problem, np.ones(400), order, Steps(0.05, average_power=power))
        found.append(learner.model(problem, average=True)[0])
    assert np.count_nonzero(found[0]) >= 5
    np.testing.assert_allclose(found[1], found[0], rtol=0.02, atol=0.01)


def test_a_factor_that_changes_does_not_change_what_was_due():
    """l1 that grows a hundredfold costs from now on; one that was zero owes nothing."""
    rng = np.random.default_rng(0)
    X, order = rng.standard_normal((200, 5)), np.arange(200, dtype=np.uint32)
    learner = Learner.start(np.zeros(5), 0.0, rule=Rule.PLAIN)
    steps = Steps(0.02, average_from=np.inf)
    for l1 in (1e-3, 0.0, 1e-3):
        (problem,) = problems(mm.Squared(), X, 1, l1, 0.1)
        learner.learn(problem, np.ones(200), order, steps)
    before = learner.model(problem, average=False)[0]
    (problem,) = problems(mm.Squared(), X, 1, 0.1, 0.1)
    np.testing.assert_allclose(learner.model(problem, average=False)[0], before, atol=1e-12)
    learner.learn(problem, np.ones(200), order[:1], Steps(1e-9, average_from=np.inf))
    np.testing.assert_allclose(learner.model(problem, average=False)[0], before, atol=1e-7)
