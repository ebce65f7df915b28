"""Exact inference on a graph with cycles: nodes are eliminated one by one, fewest new edges first.

Eliminating a node joins all tables that mention it, and leaves a table over its neighbours. The
tables are the cliques of a junction tree; the largest has k^(width + 1) numbers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ..._base.typing import AnyArray, Array


class Plan:
    """The order of elimination of one graph: every step removes a node (min-fill heuristic).

    Attributes
    ----------
    scopes : list of tuples
        One per step: the node that is eliminated, then its neighbours, in the order in which they
        will be eliminated. The search ends at a node whose table would have more than ``largest``
        numbers with two labels; no graph is eliminated by such a plan.
    width : int
        Neighbours of a node when it is eliminated, at most; 1 for a tree.
    """

    def __init__(self, n_nodes: int, edges: AnyArray, largest: int) -> None:
        self.n_nodes, self.edges = n_nodes, [(int(u), int(v)) for u, v in edges]
        near: list[set[int]] = [set() for _ in range(n_nodes)]
        for u, v in self.edges:
            near[u].add(v)
            near[v].add(u)
        removed, most = [], largest.bit_length() - 2
        for v, rest in _fewest_new_edges_first(near, most):
            removed.append((v, rest))
            if len(rest) > most:
                break
        self.position = np.full(n_nodes, n_nodes, dtype=np.int64)
        self.position[[v for v, _ in removed]] = np.arange(len(removed))
        self.scopes = [(v, *sorted(rest, key=lambda u: self.position[u])) for v, rest in removed]
        self._counts = np.bincount([len(scope) for scope in self.scopes])  # scopes by their sizes
        self.width = max(self._counts.size - 2, 0)

    def cells(self, n_labels: int) -> int:
        """Numbers in the largest table."""
        return int(n_labels) ** (self.width + 1)

    def all_cells(self, n_labels: int) -> float:
        """Numbers in all tables together."""
        with np.errstate(over="ignore"):
            each = np.power(float(n_labels), np.arange(self._counts.size))
        return float(each[self._counts > 0] @ self._counts[self._counts > 0])

    def ordered(self, edge: int) -> tuple[tuple[int, int], bool]:
        """The ends of an edge in the order of elimination, and whether they were exchanged."""
        u, v = self.edges[edge]
        return ((v, u), True) if self.position[v] < self.position[u] else ((u, v), False)


def _fewest_new_edges_first(
    near: list[set[int]], most: int
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Nodes with their neighbours when they are eliminated; ``near`` changes on the way.

    Next is the node that adds the fewest edges, then the one with the fewest neighbours; those with
    more than ``most`` neighbours come last. Only nodes beside an eliminated one or beside a new
    edge get another rank.
    """
    ranks = [_rank(near, v, most) for v in range(len(near))]
    waiting = list(ranks)
    heapq.heapify(waiting)
    gone: set[int] = set()
    while waiting:
        rank = heapq.heappop(waiting)
        v = rank[-1]
        if v in gone or rank != ranks[v]:
            continue
        gone.add(v)
        yield v, tuple(near[v])
        moved = set(near[v])
        for a, b in combinations(near[v], 2):
            if b not in near[a]:
                near[a].add(b)
                near[b].add(a)
                moved |= near[a] & near[b]
        for a in near[v]:
            near[a].discard(v)
        for u in moved - gone:
            ranks[u] = _rank(near, u, most)
            heapq.heappush(waiting, ranks[u])


def _rank(near: list[set[int]], node: int, most: int) -> tuple[float, int, int]:
    """Edges that eliminating a node would add, its neighbours, and its number."""
    own = near[node]
    added = np.inf
    if len(own) <= most:
        added = float(sum(b not in near[a] for a, b in combinations(own, 2)))
    return added, len(own), node


class Elimination:
    """The tables of one graph with its scores, joined from the first node to the last.

    Parameters
    ----------
    unary : (nodes, k); pair : (k, k) or (edges, k, k)
    sums : log of sums of exponentials if True, else maxima.
    """

    def __init__(self, plan: Plan, unary: Array, pair: Array, *, sums: bool) -> None:
        self._plan, self._k = plan, unary.shape[1]
        self._shape = (len(plan.edges), self._k, self._k)
        parts: list[list[tuple[tuple[int, ...], Array, tuple[str, int]]]]
        parts = [[] for _ in range(plan.n_nodes)]
        for v in range(plan.n_nodes):
            parts[v].append(((v,), unary[v], ("node", v)))
        for e in range(len(plan.edges)):
            ends, turned = plan.ordered(e)
            own = pair if pair.ndim == 2 else pair[e]
            parts[ends[0]].append((ends, own.T if turned else own, ("edge", e)))
        self.value = 0.0
        self._tables: list[Array] = []
        self._messages: list[Array] = []
        self._parts = parts
        for step, scope in enumerate(plan.scopes):
            table = np.zeros((self._k,) * len(scope))
            for known, part, _ in parts[scope[0]]:
                table = table + _widened(part, known, scope)
            message = _log_sum(table) if sums else table.max(axis=0)
            self._tables.append(table)
            self._messages.append(message)
            if len(scope) == 1:
                self.value += float(message)
            else:
                parts[scope[1]].append((scope[1:], message, ("message", step)))

    def _backward(self) -> Iterator[tuple[int, tuple[int, ...], Array]]:
        """Steps from the last to the first, with their scopes and tables."""
        for step in range(len(self._tables) - 1, -1, -1):
            yield step, self._plan.scopes[step], self._tables[step]

    def best(self) -> AnyArray:
        """The labels at the maximum; the tables must hold maxima."""
        labels = np.zeros(self._plan.n_nodes, dtype=np.int64)
        for _, scope, table in self._backward():
            labels[scope[0]] = int(np.argmax(table[(slice(None), *labels[list(scope[1:])])]))
        return labels

    def drawn(self, uniform: Array) -> AnyArray:
        """Labels drawn by their probability, one uniform number per node."""
        labels = np.zeros(self._plan.n_nodes, dtype=np.int64)
        for _, scope, table in self._backward():
            own = table[(slice(None), *labels[list(scope[1:])])]
            share = np.exp(own - own.max()).cumsum()
            place = int(np.searchsorted(share, uniform[scope[0]] * share[-1], side="right"))
            labels[scope[0]] = min(place, int(np.flatnonzero(np.isfinite(own))[-1]))
        return labels

    def marginals(self) -> tuple[Array, Array]:
        """Of nodes (nodes, k) and edges (edges, k, k); the tables must hold sums."""
        nodes, edges = np.zeros((self._plan.n_nodes, self._k)), np.zeros(self._shape)
        above: dict[int, Array] = {}
        for step, scope, table in self._backward():
            message = self._messages[step]
            shift = np.where(np.isfinite(message), message, 0.0)
            belief = np.exp(table - shift) * above.pop(step, np.float64(1.0))
            for known, _, (kind, number) in self._parts[scope[0]]:
                absent = tuple(axis for axis, v in enumerate(scope) if v not in known)
                part = belief.sum(axis=absent)
                if kind == "node":
                    nodes[number] = part
                elif kind == "message":
                    above[number] = part
                else:
                    turned = self._plan.ordered(number)[1]
                    edges[number] = part.T if turned else part
        return nodes, edges


def _widened(part: Array, known: tuple[int, ...], scope: tuple[int, ...]) -> Array:
    """A table with axes of length one for the nodes of the scope that it does not mention."""
    return part.reshape([part.shape[0] if v in known else 1 for v in scope])


def _log_sum(table: Array) -> Array:
    """log Σ exp over the first axis; −inf where all terms are."""
    top = table.max(axis=0)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found: Array = shift + np.log(np.exp(table - shift).sum(axis=0))
    return found
