"""The linear relaxation of the best labelling: an upper bound, and whether it is attained.

max Σ μ_v·unary_v + Σ μ_e·pair_e over the local polytope: μ_v is a distribution of the labels of v,
μ_e of pairs of labels, and every μ_e has the μ_v of its ends as marginals. On a forest it is exact;
on a graph with cycles it may be larger than every score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ... import _core
from ..._base.typing import AnyArray, Array
from ..._base.watch import look
from ...outputs.graph import Graphs, Topology
from ..programs import highs

_WHOLE = 1e-6  # distance from 0 or 1 at which μ counts as whole, above HiGHS's tolerance; safeguard
_SWEEPS = 10  # passes of messages between two looks at their bound; safeguard
_LOOKS = 20  # such looks at most; safeguard
_CLOSED = 0.1  # share of bound − value that so many passes must close to go on; safeguard
_TOLERANCE = 1e-6  # share of the size of scores that a whole solution may lack; safeguard


class Relaxed(NamedTuple):
    """The relaxation of one graph.

    Attributes
    ----------
    labels, value : the labelling rounded from μ, improved node by node, and its score
    bound : no labelling has a larger score; proved by the multipliers alone
    nodes, edges : μ of nodes (nodes, k) and of edges (edges, k, k), exactly in the polytope
    integral : whether value = bound up to rounding: the labelling is proved to be the best
    """

    labels: AnyArray
    value: float
    bound: float
    nodes: Array
    edges: Array
    integral: bool


def relaxed_best(graphs: Graphs) -> list[Relaxed]:
    """The relaxation of every graph."""
    shape = graphs.topology
    found = []
    for g in range(shape.n_graphs):
        pair = graphs.pair if graphs.pair.ndim == 2 else graphs.pair[shape.edges_of(g)]
        links = shape.local_edges(g)
        found.append(relaxed(links, graphs.unary[shape.nodes_of(g)], pair))
    return found


def by_messages(edges: AnyArray, unary: Array, pair: Array, messages: Array) -> Relaxed:
    """A labelling and a bound by messages, which are changed; all scores are finite.

    The bound is that of the messages, at or above the relaxation's; it costs far less.
    """
    n, k = unary.shape
    pair, shape = np.ascontiguousarray(pair), Topology(np.array([0, n]), edges)
    size = 1.0 + float(max(np.abs(unary).max(initial=0.0), np.abs(pair).max(initial=0.0)))
    labels, value, bound, flat = np.zeros(n, dtype=np.int64), -np.inf, np.inf, messages.reshape(-1)
    for _ in range(_LOOKS):
        look()
        found = _core.diffuse_messages(unary, pair, edges, _SWEEPS, flat).astype(np.int64)
        before, bound = bound, message_bound(edges, unary, pair, messages)
        own = float(shape.scores(found, unary, pair)[0])
        if own > value:
            labels, value = found, own
        left = bound - value
        if left <= _TOLERANCE * (size + abs(bound)) or before - bound <= _CLOSED * left:
            break
    integral = bound - value <= _TOLERANCE * (size + abs(bound))
    return Relaxed(labels, value, max(bound, value), *_indicators(edges, labels, k), integral)


def relaxed(edges: AnyArray, unary: Array, pair: Array, messages: Array | None = None) -> Relaxed:
    """The relaxation of one graph with nodes from 0, unary (n, k), pair (k, k) or (m, k, k).

    A linear program is solved unless messages, from those given on, prove a labelling to be best.
    """
    (n, k), m = unary.shape, edges.shape[0]
    if np.isfinite(unary).all() and np.isfinite(pair).all():
        start = np.zeros((2, m, k)) if messages is None else messages
        quick = by_messages(edges, unary, pair, start)
        if quick.integral:
            return quick
    pair = np.broadcast_to(pair, (m, k, k))
    costs = -np.concatenate([unary.ravel(), pair.ravel()])
    allowed = np.isfinite(costs)
    limits = np.column_stack([np.zeros(costs.size), np.where(allowed, 1.0, 0.0)])
    rows = _constraints(edges, n, k)
    right = np.concatenate([np.ones(n), np.zeros(2 * m * k)])
    found = highs.minimise(np.where(allowed, costs, 0.0), equal=(rows, right), bounds=limits)
    if isinstance(found, highs.Failure):
        return _without_program(edges, unary, pair, found.reason)
    multipliers = found.equal[n:].reshape(2, m, k)
    bound = min(message_bound(edges, unary, pair, sign * multipliers) for sign in (1.0, -1.0, 0.0))
    nodes = np.clip(found.x[: n * k].reshape(n, k), 0.0, 1.0)
    nodes /= nodes.sum(axis=1, keepdims=True)
    labels, value = _improved(edges, unary, pair, nodes.argmax(axis=1))
    size = 1.0 + abs(bound) + float(np.abs(costs[allowed]).max(initial=0.0))
    integral = bound - value <= _TOLERANCE * size
    if integral:
        whole, links = _indicators(edges, labels, k)
        return Relaxed(labels, value, max(bound, value), whole, links, True)
    joint = _coupled(edges, nodes, found.x[n * k :].reshape(m, k, k))
    return Relaxed(labels, value, max(bound, value), nodes, joint, False)


def _constraints(edges: AnyArray, n: int, k: int) -> sparse.csr_array:
    """Σ_a μ_v(a) = 1; Σ_b μ_e(a, b) = μ_u(a); Σ_a μ_e(a, b) = μ_v(b)."""
    m = edges.shape[0]
    sums = sparse.kron(sparse.eye_array(n), np.ones((1, k)))
    top = sparse.hstack([sums, sparse.csr_array((n, m * k * k))])
    parts = [top]
    for end in (0, 1):
        places = sparse.csr_array((np.ones(m), (np.arange(m), edges[:, end])), shape=(m, n))
        own = sparse.kron(places, sparse.eye_array(k))
        one = np.ones((1, k))
        eye = sparse.eye_array(k)
        summed = sparse.kron(eye, one) if end == 0 else sparse.kron(one, eye)
        parts.append(sparse.hstack([-own, sparse.kron(sparse.eye_array(m), summed)]))
    return sparse.csr_array(sparse.vstack(parts))


def message_bound(edges: AnyArray, unary: Array, pair: Array, messages: Array) -> float:
    """Σ_v max(unary_v + messages into v) + Σ_e max(pair_e − its messages): ≥ every score.

    The messages (2, edges, k), to the first and the second end of every edge, cancel in the score
    of any labelling, so that the bound holds whatever they are.
    """
    own = unary.copy()
    np.add.at(own, edges[:, 0], messages[0])
    np.add.at(own, edges[:, 1], messages[1])
    links = pair - messages[0][:, :, None] - messages[1][:, None, :]
    return float(own.max(axis=1).sum() + links.max(axis=(1, 2), initial=-np.inf).sum())


def _improved(
    edges: AnyArray, unary: Array, pair: Array, labels: AnyArray
) -> tuple[AnyArray, float]:
    """A labelling after changes of single nodes that raise its score, as long as there are any."""
    n = unary.shape[0]
    labels = labels.copy()
    at: list[list[int]] = [[] for _ in range(n)]
    for e, (u, v) in enumerate(edges):
        at[u].append(e)
        at[v].append(e)
    changed = True
    while changed:
        changed = False
        for v in range(n):
            own = unary[v].copy()
            for e in at[v]:
                first, second = edges[e]
                own += pair[e, :, labels[second]] if first == v else pair[e, labels[first]]
            best = int(own.argmax())
            if own[best] > own[labels[v]]:
                labels[v], changed = best, True
    shape = Topology(np.array([0, n]), edges)
    return labels, float(shape.scores(labels, unary, pair)[0])


def _indicators(edges: AnyArray, labels: AnyArray, k: int) -> tuple[Array, Array]:
    """The vertex of a labelling."""
    nodes = np.eye(k)[labels]
    return nodes, nodes[edges[:, 0], :, None] * nodes[edges[:, 1], None, :]


def _coupled(edges: AnyArray, nodes: Array, joint: Array) -> Array:
    """Distributions of pairs with exactly the marginals of their ends, close to ``joint``.

    A distribution is scaled down to lie below both marginals; the rest is their product.
    """
    first, second = nodes[edges[:, 0]], nodes[edges[:, 1]]
    joint = np.clip(joint, 0.0, None)
    for axis, wanted in ((2, first), (1, second)):
        have = joint.sum(axis=axis)
        share = np.minimum(1.0, wanted / np.where(have > 0, have, 1.0))
        joint = joint * np.expand_dims(share, axis)
    left = np.clip(first - joint.sum(axis=2), 0.0, None)
    right = np.clip(second - joint.sum(axis=1), 0.0, None)
    total = left.sum(axis=1)[:, None, None]
    rest = left[:, :, None] * right[:, None, :] / np.where(total > 0, total, 1.0)
    coupled: Array = joint + rest
    return coupled


def _without_program(edges: AnyArray, unary: Array, pair: Array, reason: str) -> Relaxed:
    """What can be said if the linear program has no solution."""
    if not np.isfinite(unary).any(axis=1).all():
        raise ValueError("a node has no allowed label.")
    messages = np.zeros((2, edges.shape[0], unary.shape[1]))
    labels, value = _improved(edges, unary, pair, unary.argmax(axis=1))
    if not np.isfinite(value):
        raise ValueError(f"no labelling is allowed, or the relaxation failed ({reason}).")
    bound = message_bound(edges, unary, pair, messages)
    return Relaxed(labels, value, bound, *_indicators(edges, labels, unary.shape[1]), False)
