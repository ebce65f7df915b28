"""Max-margin training against the explicit quadratic program, and laws of its bound."""

import dataclasses
from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
from scipy import sparse
from tests.outputs.labelled_graphs import joined, labellings

import minimand as mm
from minimand.outputs.graph import Topology
from minimand.solvers.structured.graph_problem import GraphProblem, hamming
from minimand.solvers.structured.max_margin.centres import Centres
from minimand.solvers.structured.max_margin.rounds import margin_rounds


def _problem(seed=0, *, k=3, d=4, lists=None, as_csr=False, edge_features=0, alpha=0.05, **more):
    rng = np.random.default_rng(seed)
    if lists is None:
        lists = [[(0, 1), (1, 2)], [(0, 1), (0, 2), (0, 3)], [], [(1, 0)], [(0, 1), (1, 2), (0, 2)]]
    sizes = [max([1, *(1 + max(e) for e in own)]) if own else 1 for own in lists]
    offsets, edges = joined(sizes, lists)
    n = offsets[-1]
    X = rng.normal(size=(n, d))
    labels = rng.integers(k, size=n)
    mass = rng.uniform(0.5, 1.5, size=len(lists))
    features = rng.normal(size=(len(edges), edge_features)) if edge_features else None
    topology = Topology(offsets, edges)
    costs = rng.uniform(0.5, 2.0, size=(n, k)) * hamming(labels, k)
    rows = sparse.csr_array(X) if as_csr else X
    return GraphProblem(
        rows, topology, labels, k, mass / mass.sum(), alpha, costs, features, **more
    )


def _feature_vector(problem, g, labels):
    """φ of a labelling of one graph."""
    shape, k = problem.topology, problem.n_labels
    own, links = shape.nodes_of(g), shape.edges_of(g)
    nodes = np.zeros((shape.n_nodes, k))
    nodes[np.arange(own.start, own.stop), labels] = 1.0
    pairs = np.zeros((len(shape.edges), k, k))
    for e, (u, v) in zip(range(links.start, links.stop), shape.local_edges(g)):
        pairs[e, labels[u], labels[v]] = 1.0
    if problem.edge_features is None:
        pairs = pairs.sum(axis=0)
    return problem.features(nodes, pairs)


def _program(problem):
    """min l1·Στ + ½l2‖w‖² + Σ s·ξ, ξ_i ≥ Δ(c) + w·(φ(c) − φ(y)), |w| ≤ τ: value, w."""
    shape, p = problem.topology, problem.size
    rows, right = [], []
    for g in range(shape.n_graphs):
        own = shape.nodes_of(g)
        truth = _feature_vector(problem, g, problem.labels[own])
        for c in labellings(own.stop - own.start, problem.n_labels):
            cost = problem.costs[own][np.arange(c.size), c].sum()
            slack = np.zeros(shape.n_graphs)
            slack[g] = -1.0
            vector = _feature_vector(problem, g, c) - truth
            rows.append(np.concatenate([vector, slack, np.zeros(p)]))
            right.append(-cost)
    for j, sign in [(j, sign) for j in range(p) for sign in (1.0, -1.0)]:
        row = np.zeros(2 * p + shape.n_graphs)
        row[j], row[p + shape.n_graphs + j] = sign, -1.0
        rows.append(row)
        right.append(0.0)
    quadratic = np.diag(np.r_[np.full(p, problem.l2), np.zeros(shape.n_graphs + p)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(quadratic),
        np.r_[np.zeros(p), problem.mass, np.full(p, problem.l1)],
        sparse.csc_matrix(np.array(rows)),
        np.array(right),
        [clarabel.NonnegativeConeT(len(right))],
        settings,
    ).solve()
    return found.obj_val, np.array(found.x)[:p]


def _solved(problem, tol=1e-8, most=400):
    for number, judged in enumerate(margin_rounds(problem)):
        if judged.gap <= tol or number == most:
            return judged


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("edge_features", [0, 2])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_that_of_the_explicit_program(seed, edge_features, as_csr):
    problem = _problem(seed, as_csr=as_csr, edge_features=edge_features)
    value, w = _program(problem)
    judged = _solved(problem)
    assert judged.gap <= 1e-8
    assert judged.dual - 1e-9 <= value <= judged.primal + 1e-9
    np.testing.assert_allclose(judged.w, w, atol=1e-3)


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("edge_features", [0, 2])
@pytest.mark.parametrize(("l1", "l2"), [(0.05, 0.0), (0.002, 0.0), (0.03, 0.02), (0.03, 1e-5)])
def test_the_optimum_with_an_l1_part_is_that_of_the_explicit_program(
    l1, l2, edge_features, as_csr, monkeypatch
):
    problem = _problem(3, as_csr=as_csr, edge_features=edge_features, alpha=l2, l1=l1)
    value, w = _program(problem)
    judged = _solved(problem)
    assert judged.gap <= 1e-8
    assert judged.dual - 1e-9 <= value <= judged.primal + 1e-9
    if l2 > 0.01:
        np.testing.assert_allclose(judged.w, w, atol=1e-3)
    # Steps from unit to unit alone, as where programs are too large, come near it as well.
    monkeypatch.setattr("minimand.solvers.structured.max_margin.small_master._WORK", 0.0)
    judged = _solved(problem, tol=1e-3)
    assert judged.gap <= 1e-3
    assert judged.dual - 1e-9 <= value <= judged.primal + 1e-9


@pytest.mark.parametrize("units", [[1e3, 1e-3, 1.0, 30.0], [1e-5, 1e-5, 1e4, 1.0]])
def test_units_of_columns_are_no_obstacle_to_an_l1_penalty(units):
    problem = _problem(4, alpha=0.0, l1=0.02)
    problem = dataclasses.replace(problem, X=problem.X * units)
    value, _ = _program(problem)
    judged = _solved(problem, tol=1e-6)
    assert judged.gap <= 1e-6
    assert judged.dual - 1e-7 <= value <= judged.primal + 1e-7


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_model_lies_below_any_bound(seed, share):
    alpha = 10.0 ** -(seed + 1)
    problem = _problem(seed, alpha=(1.0 - share) * alpha, l1=share * alpha)
    rng = np.random.default_rng(seed)
    bounds, values = [], []
    for number, judged in enumerate(margin_rounds(problem)):
        bounds.append(judged.dual)
        values.append(judged.primal)
        if number == 25:
            break
    for scale in (0.0, 0.01, 0.1, 1.0):
        for _ in range(25):
            w = judged.w + scale * rng.normal(size=judged.w.size)
            primal = problem.mass @ problem.augmented(w).values + 0.5 * problem.l2 * (w @ w)
            primal += problem.l1 * np.abs(w).sum()
            assert primal >= max(bounds) - 1e-12
    assert min(values) >= max(bounds) - 1e-12
    assert (np.diff(values) <= 0).all()


def test_a_unit_of_weight_k_is_k_copies():
    problem = _problem(2, lists=[[(0, 1)], [(0, 1), (1, 2)]])
    once, size = problem.topology, problem.topology.n_nodes
    mass = np.array([1.0, 2.0]) / 3
    weighted = GraphProblem(problem.X, once, problem.labels, 3, mass, 0.1, problem.costs)
    twice = np.r_[np.arange(size), np.arange(2, size)]
    offsets, edges = joined([2, 3, 3], [[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 2)]])
    edges = once.edges.tolist() + (once.edges[1:] + 3).tolist()
    copied = GraphProblem(
        problem.X[twice],
        Topology(offsets, edges),
        problem.labels[twice],
        3,
        np.full(3, 1 / 3),
        0.1,
        problem.costs[twice],
    )
    np.testing.assert_allclose(_solved(weighted).w, _solved(copied).w, atol=1e-4)


def test_pairs_without_a_weight_stay_at_zero():
    present = np.ones((3, 3), dtype=bool)
    present[0, 1] = False
    problem = _problem(0, present_pairs=present)
    judged = _solved(problem)
    assert judged.w[problem.n_node_weights + 1] == 0
    value, _ = _program(problem)
    assert judged.dual - 1e-9 <= value <= judged.primal + 1e-9


def test_wide_graphs_are_trained_on_their_relaxation(monkeypatch):
    """The relaxed loss is at least the exact one; its own gap closes."""
    exact = _problem(1)
    value, _ = _program(exact)
    monkeypatch.setattr("minimand.outputs.graph.topology.WIDEST", 10)
    problem = _problem(1)
    assert problem.wide == [4]
    judged = _solved(problem, tol=1e-6)
    assert judged.gap <= 1e-6
    assert judged.primal >= value - 1e-8


@pytest.mark.parametrize(("size", "alpha"), [(0.01, 1e-4), (100.0, 1e-4), (30.0, 1.0)])
def test_units_that_pull_at_each_other_close_within_few_rounds(size, alpha):
    """Steps from unit to unit alone stay far from the optimum here."""
    problem = _problem(7, alpha=alpha)
    problem = dataclasses.replace(problem, X=size * problem.X)
    first = next(margin_rounds(problem)).primal
    judged = _solved(problem, tol=1e-7 * first, most=60)
    assert judged.gap <= 1e-7 * first


def test_a_unit_without_mass_has_no_say():
    problem = _problem(0)
    mass = problem.mass.copy()
    mass[1] = 0.0
    problem = dataclasses.replace(problem, mass=mass / mass.sum())
    value, _ = _program(problem)
    judged = _solved(problem, tol=1e-7)
    assert judged.dual - 1e-9 <= value <= judged.primal + 1e-9


def test_a_program_learns_of_labellings_that_only_its_own_weights_violate():
    """The ascent's weights are sums of large columns, with few correct digits, and find no news."""
    X = [
        np.array([[-129500.0, -149.9], [149700.0, 26.46], [-138700.0, -377.9]]),
        np.array([[111400.0, 174.3]]),
        np.array([[111400.0, 174.3]]),
    ]
    edges, y = [[(1, 0), (2, 0), (1, 2)], [], []], [[2, 2, 2], [1], [2]]
    model = mm.GraphLabeler("max_margin", alpha=2.2e-5, cost=[[0, 34.8], [20.9, 0]], directed=False)
    model.fit(X, y, edges, sample_weight=[2.18, 0.79, 1.51])
    assert model.certificate_.relative <= 1e-4


def test_a_problem_about_a_centre_that_was_too_hard_gets_more_rounds_the_next_time():
    master = SimpleNamespace(centre=np.zeros(1), rho=1.0, open=lambda one: 1.0, gap=lambda one: 1.0)

    def move(centre, rho):
        master.centre, master.rho = centre, rho

    master.move = move
    worse = SimpleNamespace(w=np.ones(1), primal=2.0)
    centres = Centres(master, SimpleNamespace(w=np.zeros(1), primal=1.0), 1.0)
    grown = []
    for number in range(200):
        before = master.rho
        centres.follow(worse)
        if master.rho > before:
            grown.append(number)
    waits = np.diff(grown)
    assert len(waits) >= 2
    assert (waits[1:] == 2 * waits[:-1]).all()
