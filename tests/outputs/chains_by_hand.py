"""Chains small enough to enumerate all labellings."""

import itertools

import numpy as np

from minimand.outputs.chain import Chains

SHAPES = [(1, [1]), (2, [1, 3, 2]), (3, [4, 1]), (5, [3, 2]), (9, [2, 1]), (3, [6])]


def small_chains(seed, k, lengths, *, masked=False, edges=False, size=2.0):
    """Random scores; some transitions, first and last labels are forbidden if ``masked``."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    offsets = np.append(0, np.cumsum(lengths))
    tables = [rng.normal(scale=size, size=shape) for shape in ((k, k), (k,), (k,))]
    if masked:
        for table in tables:
            table[rng.random(table.shape) < 0.3] = -np.inf
    per_edge = rng.normal(scale=size, size=(n, k, k)) if edges else None
    unary = rng.normal(scale=size, size=(n, k))
    return Chains(unary, offsets, *tables, per_edge)


def labellings(chains, i):
    """All labellings of sequence i and their scores."""
    first, last = chains.offsets[i], chains.offsets[i + 1]
    paths = np.array(list(itertools.product(range(chains.n_labels), repeat=last - first)))
    scores = chains.start[paths[:, 0]] + chains.stop[paths[:, -1]]
    for t in range(first, last):
        scores = scores + chains.unary[t, paths[:, t - first]]
        if t > first:
            a, b = paths[:, t - first - 1], paths[:, t - first]
            scores = scores + chains.transitions[a, b]
            if chains.edges is not None:
                scores = scores + chains.edges[t, a, b]
    return paths, scores
