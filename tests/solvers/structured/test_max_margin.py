"""Max-margin training of chains: its weights mean what the chain problem says, and its laws."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import minimand as mm
from minimand.design import as_design
from minimand.outputs.chain import loss_augmented, path_scores
from minimand.solvers import Control
from minimand.solvers.structured.max_margin.training import train_max_margin
from minimand.solvers.structured.problem import Allowed, ChainProblem

K = 3


def _problem(seed=0, n=12, l2=0.05, as_csr=False, longest=5, **more):
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(rng.integers(1, longest + 1, size=n)))
    X = rng.normal(size=(offsets[-1], 4)) * (rng.random((offsets[-1], 4)) < 0.7)
    mass = rng.uniform(0.5, 1.5, size=n)
    return ChainProblem(
        as_design(sparse.csr_array(X) if as_csr else X),
        offsets,
        rng.integers(K, size=offsets[-1]),
        K,
        mass / mass.sum(),
        l2=l2,
        **more,
    )


def _value(problem, weights):
    """Σ mass·{max_c [Δ + z(c)] − z(y)} + l1·‖w‖₁ + ½l2·‖w‖², by the program of chains."""
    chains = problem.scores(weights)
    most = loss_augmented(chains, problem.labels, problem.cost)[1]
    losses = most - path_scores(chains, problem.labels)
    squares = sum(float((part**2).sum()) for part in weights if part is not None)
    sizes = sum(float(np.abs(part).sum()) for part in weights if part is not None)
    return problem.mass @ losses + problem.l1 * sizes + 0.5 * problem.l2 * squares


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("case", ["plain", "cost", "edges", "present", "allowed", "l1", "both"])
def test_the_objective_is_that_of_the_chain_program(case, ends, as_csr):
    rng = np.random.default_rng(1)
    problem = _problem(as_csr=as_csr, ends=ends)
    more = {"l1": {"l1": 0.03, "l2": 0.0}, "both": {"l1": 0.02}}.get(case, {})
    if case == "cost":
        more["cost"] = rng.uniform(0.5, 2.0, size=(K, K)) * (1 - np.eye(K))
    elif case == "edges":
        more["edges"] = as_design(rng.normal(size=(problem.n_tokens, 2)))
    elif case == "present":
        more["present"] = rng.random((4, K)) < 0.7
        more["present_transitions"] = rng.random((K, K)) < 0.7
    elif case == "allowed":
        steps = np.zeros((K, K), dtype=bool)
        later = problem.after_first
        steps[problem.labels[later - 1], problem.labels[later]] = True
        first, last = np.zeros(K, dtype=bool), np.zeros(K, dtype=bool)
        first[problem.labels[problem.offsets[:-1]]] = True
        last[problem.labels[problem.offsets[1:] - 1]] = True
        more["allowed"] = Allowed(steps, first, last)
    problem = _problem(as_csr=as_csr, ends=ends, **more)
    found = train_max_margin(problem, Control(tol=1e-6))
    assert found.converged
    assert found.certificate.relative <= 1e-6
    assert np.isclose(found.certificate.primal, _value(problem, found.weights), rtol=1e-12)
    for _ in range(30):  # no weights are better than the bound
        moved = [None if p is None else p + 0.05 * rng.normal(size=p.shape) for p in found.weights]
        moved = problem.layout.weights(problem.layout.vector(type(found.weights)(*moved)))
        assert _value(problem, moved) >= found.certificate.dual - 1e-12
    if case == "present":
        assert not found.weights.coef[~more["present"]].any()
        assert not found.weights.transitions[~more["present_transitions"]].any()


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.05), (0.03, 0.0), (0.03, 0.05)])
def test_single_tokens_are_a_crammer_singer_fit(l1, l2):
    problem = _problem(2, n=40, longest=1, ends=False, l1=l1, l2=l2)
    found = train_max_margin(problem, Control(tol=1e-7))
    loss = mm.CrammerSinger(1 - np.eye(K))
    penalty = l1 * mm.L1() + l2 * mm.L2()
    model = mm.Classifier(loss, penalty, alpha=1.0, intercept=False, tol=1e-7)
    model.fit(problem.design.x, problem.labels, sample_weight=problem.mass)
    assert found.converged
    gaps = found.certificate.gap + model.certificate_.gap
    assert abs(found.certificate.primal - model.certificate_.primal) <= gaps + 1e-12
    if l2:
        np.testing.assert_allclose(found.weights.coef.T, model.coef_, atol=3e-3)
    assert not found.weights.transitions.any()


@pytest.mark.parametrize("most", [2e8, 0.0])  # small programs, or steps from unit to unit alone
def test_an_l1_penalty_leaves_exact_zeros(most, monkeypatch):
    monkeypatch.setattr("minimand.solvers.structured.max_margin.small_master._WORK", most)
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 6)) for _ in range(40)]
    y = [np.where(x[:, 0] > 0, "up", "down").tolist() for x in X]
    model = mm.SequenceLabeler("max_margin", "l1", alpha=0.4, tol=1e-3).fit(X, y)
    assert model.certificate_.relative <= 1e-3
    assert model.coef_[:, 0].all()
    assert not model.coef_[:, 1:].any()
    both = mm.SequenceLabeler("max_margin", "elastic_net", alpha=0.8, tol=1e-3).fit(X, y)
    assert both.coef_[:, 0].all()
    assert not both.coef_[:, 1:].any()


def test_no_penalty_is_refused_in_words():
    with pytest.raises(ValueError, match="takes a penalty with alpha > 0"):
        train_max_margin(_problem(l2=0.0), Control())


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 1e-3), (1e-3, 0.0), (1e-3, 1e-3)])
def test_limits_and_callbacks_leave_a_valid_model(l1, l2):
    problem = _problem(l1=l1, l2=l2)
    seen = []
    stops = Control(tol=0.0, callbacks=[lambda state: seen.append(state) or mm.STOP])
    found = train_max_margin(problem, stops)
    assert len(seen) == 1
    assert not found.converged
    for control in (Control(tol=0.0, max_iter=3), Control(tol=0.0, max_seconds=1e-3)):
        found = train_max_margin(problem, control)
        assert found.stopped_by.startswith("max_")
        assert np.isclose(found.certificate.primal, _value(problem, found.weights), rtol=1e-12)
        assert found.history.dual.max() <= found.certificate.primal


def test_one_long_sequence_is_one_unit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    labels = np.argmax(X @ rng.normal(size=(4, 3)) + rng.gumbel(size=(2000, 3)), axis=1)
    problem = ChainProblem(
        as_design(X), np.array([0, 2000]), labels, 3, np.ones(1), l2=10.0, ends=False
    )
    found = train_max_margin(problem, Control(tol=1e-4, max_seconds=20))
    assert found.converged
    assert found.certificate.relative <= 1e-4


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_features_in_other_units_and_a_tiny_penalty_are_no_obstacle(alpha):
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 6, size=60)
    offsets, n = np.append(0, np.cumsum(lengths)), int(lengths.sum())
    X = rng.normal(size=(n, 4))
    labels = np.argmax(X @ rng.normal(size=(4, 3)) + 0.5 * rng.gumbel(size=(n, 3)), axis=1)
    X *= [1.0, 1e4, 1e-3, 10.0]
    problem = ChainProblem(as_design(X), offsets, labels, 3, np.full(60, 1 / 60), l2=alpha)
    found = train_max_margin(problem, Control(tol=1e-4, max_seconds=20))
    assert found.converged


def test_a_small_alpha_is_no_reason_to_give_up():
    """For hundreds of rounds no model is better than w = 0, but the bound rises in each of them."""
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(12, 2))], [rng.integers(0, 5, 12)]
    model = mm.SequenceLabeler("max_margin", alpha=1e-5).fit(X, y)
    assert model.certificate_.relative <= 1e-4
    assert model.certificate_.primal < 0.999 * 12  # w = 0 pays 12


@pytest.mark.parametrize("alpha", [2e-6, 1e-3, 2.0])
def test_costs_and_columns_in_any_units_are_no_obstacle(alpha):
    rng = np.random.default_rng(5)
    units = 10.0 ** np.array([2.0, -6.0, 5.5, -1.0, -5.0])
    lengths = [1, 2, 2, 1, 3, 2]
    X = [rng.normal(size=(n, 5)) * units for n in lengths]
    y = [rng.integers(3, size=n) for n in lengths]
    y[0][0], y[3][0] = 0, 2
    y[4][0] = 1
    cost = 60.0 * (1.0 - np.eye(3))
    model = mm.SequenceLabeler("max_margin", alpha=alpha, cost=cost, max_iter=60).fit(X, y)
    assert model.certificate_.relative <= 1e-4


def test_pairs_that_have_no_weight_have_none():
    """Sums of multipliers left 1e-13 there, and `certify` took it for a model of other data."""
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(3, 2)) for _ in range(3)], [[0, 1, 2], [2, 2, 0], [2, 1, 0]]
    model = mm.SequenceLabeler("max_margin", alpha=0.01, weights="observed").fit(X, y)
    seen = {(a, b) for labels in y for a, b in itertools.pairwise(labels)}
    assert all(
        (model.transitions_[a, b] != 0) <= ((a, b) in seen) for a in range(3) for b in range(3)
    )
    assert mm.certify(model, X, y).relative <= 1e-4
