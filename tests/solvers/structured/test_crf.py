"""Conditional random fields: laws of their objective, its derivatives, and its certificate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

import minimand as mm
from minimand.design import as_design
from minimand.outputs.chain import log_partition, path_scores
from minimand.solvers import Control
from minimand.solvers.structured.crf import metric
from minimand.solvers.structured.crf.chains import train_crf
from minimand.solvers.structured.crf.metric import Metrics
from minimand.solvers.structured.crf.penalised import ChainModel
from minimand.solvers.structured.problem import Allowed, ChainProblem, ChainWeights

CASES = [
    {},
    {"ends": False},
    {"masked": True},
    {"absent": True},
    {"kind": "sparse"},
    {"kind": "sparse", "l1": 0.02},
    {"l1": 0.01, "l2": 0.0},
    {"l1": 0.01},
    {"edges": True},
    {"edges": True, "l1": 0.005},
]


def chain_problem(seed=0, k=4, d=5, u=30, *, kind="dense", l1=0.0, l2=0.05, ends=True, **options):
    """Sequences whose labels depend on their features and on the label before."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, size=u)
    n = int(lengths.sum())
    X = rng.normal(size=(n, d)) if kind == "dense" else (rng.random((n, d)) < 0.3) * 1.0
    labels = np.argmax(X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k)), axis=1)
    offsets = np.append(0, np.cumsum(lengths))
    fields = {}
    if options.get("masked"):
        seen = np.zeros((k, k), dtype=bool)
        inner = np.ones(n, dtype=bool)
        inner[offsets[:-1]] = False
        t = np.flatnonzero(inner)
        seen[labels[t - 1], labels[t]] = True
        fields["allowed"] = Allowed(seen, np.ones(k, dtype=bool), np.ones(k, dtype=bool))
    if options.get("absent"):
        fields["present"] = rng.random((d, k)) < 0.6
        fields["present_transitions"] = rng.random((k, k)) < 0.6
    if options.get("edges"):
        fields["edges"] = as_design(rng.normal(size=(n, 2)))
    weights = rng.random(u) + 0.2
    design = as_design(X if kind == "dense" else sparse.csr_array(X))
    return ChainProblem(design, offsets, labels, k, weights / weights.sum(), l1, l2, ends, **fields)


def plain_objective(problem, w):
    """P(w), from the definition."""
    chains = problem.scores(problem.layout.weights(w))
    loss = problem.mass @ (log_partition(chains) - path_scores(chains, problem.labels))
    return loss + problem.l1 * np.abs(w).sum() + 0.5 * problem.l2 * (w @ w)


def gradient(model, w):
    point = model.point(w)
    return point.slope + model.problem.l2 * w


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_slope_is_that_of_the_objective(case):
    problem = replace(chain_problem(**case), l1=0.0)
    model, rng = ChainModel(problem), np.random.default_rng(1)
    w, v = rng.normal(size=(2, problem.layout.size))
    h = 1e-5
    rise = (plain_objective(problem, w + h * v) - plain_objective(problem, w - h * v)) / (2 * h)
    assert gradient(model, w) @ v == pytest.approx(rise, rel=1e-6, abs=1e-8)
    assert model.point(w).primal == pytest.approx(plain_objective(problem, w), rel=1e-12)


SPARSE = [
    {"kind": "sparse"},
    {"kind": "sparse", "absent": True, "k": 9},
    {"kind": "sparse", "masked": True, "ends": False},
]


@pytest.mark.parametrize("spread", [1.0, 300.0])  # products of probabilities, and logarithms
@pytest.mark.parametrize("case", SPARSE, ids=str)
def test_the_slope_of_sparse_features_needs_no_scores(case, spread):
    problem = chain_problem(u=60, d=40, **case)
    model, rng = ChainModel(problem), np.random.default_rng(4)
    w = rng.normal(size=problem.layout.size)
    problem.layout.parts(w)[1][:] *= spread
    assert model.direct
    direct, scored = model.point(w), model.scored(w)
    np.testing.assert_allclose(direct.slope, scored.slope, atol=1e-13)
    assert direct.primal == pytest.approx(scored.primal, rel=1e-13)
    assert direct.rounding == pytest.approx(scored.rounding)


@pytest.mark.parametrize("spread", [1.0, 300.0])  # products of probabilities, and logarithms
@pytest.mark.parametrize("case", [c for c in CASES if "edges" not in c], ids=str)
def test_the_curvature_is_that_of_the_slope(case, spread):
    problem = chain_problem(**case)
    model, rng = ChainModel(problem), np.random.default_rng(2)
    w, v = rng.normal(size=(2, problem.layout.size))
    parts = problem.layout.parts(w)
    parts[1] *= spread  # transitions
    h = 1e-5 / spread
    right = (gradient(model, w + h * v) - gradient(model, w - h * v)) / (2 * h)
    model.scored(w)
    found, _ = model.hessian_product(v)
    np.testing.assert_allclose(found, right, atol=2e-5 * np.abs(right).max())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_optimum_is_certified_and_no_other_method_is_below_the_bound(case):
    problem = chain_problem(**case)
    found = train_crf(problem, Control(tol=1e-6))
    certificate = found.certificate
    assert found.converged
    assert certificate.relative <= 1e-6
    w = problem.layout.vector(found.weights)
    assert certificate.primal == pytest.approx(plain_objective(problem, w), rel=1e-12)
    lowest = least_value(problem)
    assert certificate.dual <= lowest + 1e-9
    assert certificate.primal <= lowest + certificate.gap + 1e-9


def least_value(problem):
    """The optimum by SciPy, with w = p − q, p, q ≥ 0 for an l1 part."""
    model, size = ChainModel(problem), problem.layout.size

    def smooth(w):
        point = model.point(w)
        value = point.value + 0.5 * problem.l2 * (w @ w)
        return value, point.slope + problem.l2 * w

    def split(x):
        value, slope = smooth(x[:size] - x[size:])
        return value + problem.l1 * x.sum(), np.concatenate([slope, -slope]) + problem.l1

    options = {"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-9, "maxfun": 10000}
    if not problem.l1:
        return optimize.minimize(smooth, np.zeros(size), jac=True, options={"gtol": 1e-10}).fun
    bounds = [(0, None)] * (2 * size)
    return optimize.minimize(
        split, np.zeros(2 * size), jac=True, bounds=bounds, method="L-BFGS-B", options=options
    ).fun


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(0.0, 0.1), (0.05, 0.0), (0.03, 0.02)]))
def test_a_bound_lies_below_the_objective_everywhere(seed, penalty):
    l1, l2 = penalty
    problem = chain_problem(seed, k=3, d=2, u=6, l1=l1, l2=l2)
    model, rng = ChainModel(problem), np.random.default_rng(seed)
    points = [model.point(rng.normal(scale=s, size=problem.layout.size)) for s in (0, 0.1, 1, 5)]
    points.append(model.point(problem.layout.vector(train_crf(problem, Control()).weights)))
    highest = max(point.primal - point.gap for point in points)
    assert highest <= min(point.primal for point in points) + 1e-12
    assert all(point.gap >= 0 for point in points)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_sequences_of_one_token_are_a_multinomial_model(penalty):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    weights = rng.random(60) + 0.5
    alpha = 0.03
    other = mm.Classifier("multinomial", penalty, alpha=alpha, intercept=False, tol=1e-9)
    other.fit(X, y, sample_weight=weights)
    problem = ChainProblem(
        as_design(X),
        np.arange(61),
        y,
        3,
        weights / weights.sum(),
        l1=alpha if penalty == "l1" else 0.0,
        l2=alpha if penalty == "l2" else 0.0,
        ends=False,
    )
    found = train_crf(problem, Control(tol=1e-9))
    assert found.certificate.primal == pytest.approx(other.certificate_.primal, abs=1e-8)
    np.testing.assert_allclose(found.weights.coef.T, other.coef_, atol=2e-4)
    assert not found.weights.transitions.any()


def test_the_order_of_labels_and_sequences_does_not_matter():
    problem = chain_problem(u=12)
    found = train_crf(problem, Control(tol=1e-10)).weights
    order = np.random.default_rng(0).permutation(problem.n_sequences)
    rows = np.concatenate([np.arange(*problem.offsets[i : i + 2]) for i in order])
    names = np.array([2, 0, 3, 1])  # label c becomes names[c]
    turned = replace(
        problem,
        design=problem.design.rows(rows),
        offsets=np.append(0, np.cumsum(np.diff(problem.offsets)[order])),
        labels=names[problem.labels[rows]],
        mass=problem.mass[order],
    )
    other = train_crf(turned, Control(tol=1e-10)).weights
    np.testing.assert_allclose(other.coef[:, names], found.coef, atol=1e-5)
    np.testing.assert_allclose(
        other.transitions[np.ix_(names, names)], found.transitions, atol=1e-5
    )


def test_a_weight_of_two_is_two_copies_and_a_weight_of_zero_none():
    problem = chain_problem(u=8)
    weights = np.array([2.0, 0, 1, 1, 1, 0, 1, 1])
    weighted = replace(problem, mass=weights / weights.sum())
    kept = [0, 0, 2, 3, 4, 6, 7]
    rows = np.concatenate([np.arange(*problem.offsets[i : i + 2]) for i in kept])
    copied = replace(
        problem,
        design=problem.design.rows(rows),
        offsets=np.append(0, np.cumsum(np.diff(problem.offsets)[kept])),
        labels=problem.labels[rows],
        mass=np.full(7, 1 / 7),
    )
    one, other = (train_crf(p, Control(tol=1e-10)) for p in (weighted, copied))
    np.testing.assert_allclose(one.weights.coef, other.weights.coef, atol=1e-5)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, abs=1e-9)


def test_weights_that_do_not_exist_stay_zero_and_forbidden_transitions_have_no_probability():
    problem = chain_problem(masked=True, absent=True)
    weights = train_crf(problem, Control()).weights
    assert problem.present is not None
    assert problem.present_transitions is not None
    assert not weights.coef[~problem.present].any()
    assert not weights.transitions[~problem.present_transitions].any()
    assert not weights.transitions[~problem.allowed.transitions].any()
    assert (problem.scores(weights).transitions[~problem.allowed.transitions] == -np.inf).all()


def test_a_strong_l1_penalty_leaves_nothing():
    problem = chain_problem(l1=10.0, l2=0.0)
    found = train_crf(problem, Control())
    assert not problem.layout.vector(found.weights).any()
    assert found.certificate.gap == 0.0


def test_without_a_penalty_no_loss_is_below_zero():
    problem = chain_problem(l2=0.0, u=40, d=1)
    found = train_crf(problem, Control(max_iter=5)).certificate
    assert found.gap == found.primal > 0
    assert found.dual == 0.0
    assert "penalty" in found.infeasibility
    separable = train_crf(chain_problem(l2=0.0, u=3, d=20), Control(tol=1e-4))
    assert separable.converged  # weights grow until the loss itself is small enough


def test_limits_and_callbacks_leave_a_model_with_its_true_gap():
    problem = chain_problem()
    states = []

    def stop_at_two(state):
        states.append(state)
        return mm.STOP if state.iteration == 2 else None

    stopped = train_crf(problem, Control(tol=0.0, callbacks=[stop_at_two]))
    assert len(states) == 3
    assert stopped.stopped_by == "a callback"
    assert states[0].primal == pytest.approx(ChainModel(problem).likelihood.null_value())
    limited = train_crf(problem, Control(tol=0.0, max_iter=2))
    assert limited.stopped_by == "max_iter=2"
    assert not limited.converged
    late = train_crf(problem, Control(tol=0.0, max_seconds=0.0))
    assert late.stopped_by == "max_seconds=0.0"
    for found in (stopped, limited, late):
        w = problem.layout.vector(found.weights)
        point = ChainModel(problem).point(w)
        assert found.certificate.primal == pytest.approx(point.primal)
        assert 0 <= found.certificate.gap <= point.gap * (1 + 1e-9)
        assert found.history[-1].gap == found.certificate.gap


def test_ctrl_c_leaves_a_valid_model():
    def interrupt(state):
        if state.iteration == 1:
            raise KeyboardInterrupt

    found = train_crf(chain_problem(), Control(tol=0.0, callbacks=[interrupt]))
    assert "Ctrl-C" in found.stopped_by
    assert np.isfinite(found.certificate.gap)


def test_a_start_near_the_optimum_is_used():
    problem = chain_problem()
    first = train_crf(problem, Control(tol=1e-8))
    again = train_crf(replace(problem, l2=problem.l2 * 1.01), Control(tol=1e-4), first.weights)
    assert again.certificate.iterations <= 2
    assert again.certificate.relative <= 1e-4


@pytest.mark.parametrize("case", [{}, {"absent": True}, {"l1": 0.01}], ids=str)
def test_a_start_with_sums_that_the_loss_does_not_see_ends_at_the_same_optimum(case):
    problem = chain_problem(**case)
    found = train_crf(problem, Control(tol=1e-9))
    far = ChainWeights(*(table + 3.0 for table in found.weights[:4]))
    again = train_crf(problem, Control(tol=1e-9), far)
    assert again.converged
    assert again.certificate.primal == pytest.approx(found.certificate.primal, abs=1e-7)


@pytest.mark.parametrize("few", [0, 600])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_metrics_are_symmetric_and_of_the_size_of_the_curvature(case, few, monkeypatch):
    monkeypatch.setattr(metric, "_FEW", few)
    problem = chain_problem(u=100, **case)
    model, size = ChainModel(problem), problem.layout.size
    point = model.scored(np.zeros(size))
    inverse = np.array([Metrics(problem).at(point.terms).solve(unit) for unit in np.eye(size)])
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-9)
    assert np.linalg.eigvalsh(inverse).min() > -1e-9
    if problem.edges is None:
        hessian = np.array([model.hessian_product(unit)[0] for unit in np.eye(size)])
        if not problem.l2:
            return
        growth = np.linalg.eigvals(inverse @ hessian).real
        assert growth.max() < 8  # several weights of a token move together


@pytest.mark.parametrize("case", [{}, {"l1": 0.01}, {"l1": 0.01, "l2": 0.0}], ids=str)
def test_features_in_other_units_are_no_obstacle(case):
    problem = chain_problem(1, **case)
    units = np.logspace(-3, 3, problem.design.shape[1])
    found = train_crf(replace(problem, design=as_design(problem.design.x * units)), Control())
    assert found.converged


@pytest.mark.parametrize("place", ["transitions", "start", "stop"])
def test_true_labels_that_are_not_allowed_are_refused(place):
    problem = chain_problem(masked=True)
    tables = {name: table.copy() for name, table in zip(Allowed._fields, problem.allowed)}
    y, offsets = problem.labels, problem.offsets
    if place == "transitions":
        tables[place][:] = False
    else:
        tables[place][y[offsets[0] if place == "start" else offsets[1] - 1]] = False
    with pytest.raises(ValueError, match="not allowed"):
        replace(problem, allowed=Allowed(**tables))


def test_one_label_needs_no_training():
    problem = replace(chain_problem(k=1), l1=0.0)
    found = train_crf(problem, Control())
    assert found.converged
    assert found.certificate.gap == 0.0
    assert isinstance(found.weights, ChainWeights)


def test_without_a_penalty_training_ends_where_nothing_is_left_to_gain():
    """Labels that contradict each other: the bound 0 is never attained."""
    X = [np.ones((2, 1))] * 4
    y = [["a", "b"], ["b", "a"], ["a", "a"], ["b", "b"]]
    model = mm.SequenceLabeler("crf", "no_penalty").fit(X, y)
    assert model.certificate_.primal == pytest.approx(2 * np.log(2))
    assert model.n_iter_ < 400


@pytest.mark.parametrize("seed", [13, 21, 27])
def test_gains_below_the_rounding_of_the_objective_close_the_gap(seed):
    rng = np.random.default_rng(seed)
    units = np.array([2e-6, 2e3, 2e-5, 7e5])
    X = [np.c_[rng.normal(size=(n, 3)), np.ones(n)] * units for n in (2, 4, 3)]
    y = [rng.integers(3, size=len(x)) for x in X]
    model = mm.SequenceLabeler("crf", alpha=1e-5, max_iter=1000, weights="observed")
    assert model.fit(X, y).certificate_.relative <= 1e-4
