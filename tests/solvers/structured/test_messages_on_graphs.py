"""Messages on graphs: their bound holds, never rises, and is attained on trees."""

import itertools

import numpy as np
import pytest

import minimand as mm
from minimand import _core
from minimand.solvers.structured.relaxation import by_messages, message_bound, relaxed


def random_graph(seed, n=6, k=3, *, tree=False):
    rng = np.random.default_rng(seed)
    if tree:
        edges = [(int(rng.integers(v)), v) for v in range(1, n)]
        edges = [e if rng.random() < 0.5 else e[::-1] for e in edges]
    else:
        edges = [p[:: rng.choice([-1, 1])] for p in itertools.combinations(range(n), 2)]
        edges = [e for e in edges if rng.random() < 0.6] or [(0, 1)]
    pair = rng.normal(size=(len(edges), k, k)) if seed % 2 else rng.normal(size=(k, k))
    return np.array(edges, dtype=np.int64), rng.normal(size=(n, k)), pair


def largest_score(edges, unary, pair):
    n, k = unary.shape
    pair = np.broadcast_to(pair, (len(edges), k, k))
    return max(
        sum(unary[v, c] for v, c in enumerate(labels))
        + sum(pair[e, labels[u], labels[v]] for e, (u, v) in enumerate(edges))
        for labels in itertools.product(range(k), repeat=n)
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_holds_and_never_rises(seed):
    edges, unary, pair = random_graph(seed)
    best, messages = largest_score(edges, unary, pair), np.zeros((2, len(edges), 3))
    bounds = [message_bound(edges, unary, pair, messages)]
    for _ in range(20):
        _core.diffuse_messages(unary, pair, edges, 1, messages.reshape(-1))
        bounds.append(message_bound(edges, unary, pair, messages))
    assert np.all(np.diff(bounds) <= 1e-10)
    assert bounds[-1] >= best - 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_messages_lie_between_the_best_score_and_no_bound_at_all(seed):
    edges, unary, pair = random_graph(seed)
    best = largest_score(edges, unary, pair)
    quick = by_messages(edges, unary, pair, np.zeros((2, len(edges), 3)))
    exact = relaxed(edges, unary, pair)
    assert quick.value <= best + 1e-10
    assert best <= exact.bound + 1e-8
    assert exact.bound <= quick.bound + 1e-6 * (1 + abs(quick.bound))
    if quick.integral:
        assert np.isclose(quick.value, best, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_trees_are_solved_from_any_messages(seed):
    edges, unary, pair = random_graph(seed, n=7, tree=True)
    start = np.random.default_rng(seed).normal(size=(2, len(edges), 3))
    found = by_messages(edges, unary, pair, start)
    best = largest_score(edges, unary, pair)
    assert found.integral
    assert np.isclose(found.value, best)
    assert np.isclose(found.bound, best)


def test_wide_graphs_are_trained_to_a_proved_gap():
    rng, side = np.random.default_rng(0), 24
    place = np.arange(side * side).reshape(side, side)
    across = np.c_[place[:, :-1].ravel(), place[:, 1:].ravel()]
    edges = np.concatenate([across, np.c_[place[:-1].ravel(), place[1:].ravel()]])
    y = (np.add.outer(np.arange(side), np.arange(side)) > side).ravel().astype(int)
    X = [np.c_[2.0 * y - 1.0 + rng.normal(size=y.size), np.ones(y.size)] for _ in range(2)]
    model = mm.GraphLabeler("max_margin", alpha=200.0, tol=1e-3).fit(X, [y, y], [edges, edges])
    assert "relaxed" in model.history_.objective
    assert model.certificate_.relative <= 1e-3
    again = mm.certify(model, X, [y, y], edges=[edges, edges])
    assert again.primal <= model.certificate_.primal * (1 + 1e-9)
    assert again.primal >= model.certificate_.dual * (1 - 1e-9)
