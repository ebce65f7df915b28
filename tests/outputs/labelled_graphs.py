"""Small graphs and their labellings one by one: the slow truth that programs are compared with."""

from itertools import combinations, product

import numpy as np


def labellings(n, k):
    """All labellings of n nodes, one a row."""
    return np.array(list(product(range(k), repeat=n)), dtype=np.int64).reshape(-1, n)


def scores_of(rows, edges, unary, pair):
    """Their scores."""
    pair = np.broadcast_to(pair, (len(edges), *pair.shape[-2:]))
    total = unary[np.arange(unary.shape[0]), rows].sum(axis=1)
    for e, (u, v) in enumerate(edges):
        total = total + pair[e, rows[:, u], rows[:, v]]
    return total


def trees(n):
    """All labelled trees of n nodes, by their Prüfer codes."""
    if n == 1:
        return [[]]
    return [_decoded(code, n) for code in product(range(n), repeat=n - 2)]


def _decoded(code, n):
    degree = [1 + code.count(v) for v in range(n)]
    edges = []
    for v in code:
        leaf = degree.index(1)
        edges.append((leaf, v))
        degree[leaf] -= 1
        degree[v] -= 1
    edges.append(tuple(v for v in range(n) if degree[v] == 1))
    return edges


def graphs(n):
    """All graphs of n nodes: every set of edges."""
    pairs = list(combinations(range(n), 2))
    return [
        [e for e, kept in zip(pairs, bits) if kept] for bits in product((0, 1), repeat=len(pairs))
    ]


def turned(edges, rng):
    """The same edges, some of them with their ends exchanged."""
    return [(v, u) if rng.random() < 0.5 else (u, v) for u, v in edges]


def joined(sizes, lists):
    """Offsets and edges of several graphs in one list of nodes."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    edges = [(u + o, v + o) for o, own in zip(offsets, lists) for u, v in own]
    return offsets, np.array(edges, dtype=np.int64).reshape(-1, 2)
