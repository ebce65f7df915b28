"""Dynamic programs over chains of labels: sums, maxima, several maxima and samples of labellings.

The score of a labelling c of a sequence of l tokens is a sum over tokens and transitions (A 5.2):

    z(c) = start(c₁) + Σₜ unaryₜ(cₜ) + Σₜ transitions(cₜ₋₁, cₜ) + stop(c_l)

so that sums and maxima over all kˡ labellings take O(l·k²) steps: every function here is one
recursion with another pair of operations (sum-product, max-sum), batched over sequences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import _core
from .._base.typing import Array, IntArray

__all__ = [
    "Chains",
    "entropy",
    "expected_transitions",
    "k_best",
    "log_partition",
    "loss_augmented",
    "marginals",
    "pairwise_marginals",
    "path_scores",
    "sample",
    "viterbi",
]


@dataclass(frozen=True, eq=False)
class Chains:
    """Scores of the labellings of one or many sequences, whose tokens are one below the other.

    −inf forbids a label or a transition.

    Attributes
    ----------
    unary : array of shape (n_tokens, k)
        The score of every label at every token.
    offsets : array of shape (n_sequences + 1,)
        Sequence i has the rows offsets[i] to offsets[i + 1]; none is empty.
    transitions : array of shape (k, k)
        The score of label b after label a, at [a, b].
    start, stop : arrays of shape (k,), optional
        Scores of the first and of the last label; zero by default.
    edges : array of shape (n_tokens, k, k), optional
        Scores that are added to the transitions between the token before and this one; those of
        first tokens are not read.

    Examples
    --------
    >>> from minimand.outputs.chain import Chains, log_partition, viterbi
    >>> chains = Chains([[1.0, 0.0], [0.0, 0.5]], [0, 2], [[2.0, 0.0], [0.0, 2.0]])
    >>> labels, values = viterbi(chains)
    >>> labels, values
    (array([0, 0]), array([3.]))
    >>> bool(log_partition(chains)[0] > values[0])
    True
    """

    unary: Array
    offsets: IntArray
    transitions: Array
    start: Array | None = None
    stop: Array | None = None
    edges: Array | None = None

    def __post_init__(self) -> None:
        unary = _table("unary", self.unary, 2)
        n_tokens, k = unary.shape
        if k == 0:
            raise ValueError("unary must have a column for every label, but it has none.")
        object.__setattr__(self, "unary", unary)
        object.__setattr__(self, "offsets", _offsets(self.offsets, n_tokens))
        for name, shape in (("transitions", (k, k)), ("start", (k,)), ("stop", (k,))):
            given = getattr(self, name)
            found = np.zeros(shape) if given is None else _table(name, given, len(shape))
            object.__setattr__(self, name, _of_shape(name, found, shape))
        if self.edges is not None:
            edges = _of_shape("edges", _table("edges", self.edges, 3), (n_tokens, k, k))
            object.__setattr__(self, "edges", edges)

    @property
    def n_labels(self) -> int:
        """k."""
        return int(self.unary.shape[1])

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return int(self.offsets.size) - 1

    @cached_property
    def row_of_sequence(self) -> IntArray:
        """For every token the number of its sequence."""
        return np.repeat(np.arange(self.n_sequences), np.diff(self.offsets))

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        """The scores as the compiled core takes them."""
        edges = np.empty(0) if self.edges is None else self.edges
        assert self.start is not None
        assert self.stop is not None
        return self.unary, self.transitions, self.start, self.stop, edges

    @cached_property
    def after_first(self) -> IntArray:
        """The tokens that end an edge: all but the first of every sequence."""
        ends = np.ones(self.unary.shape[0], dtype=bool)
        ends[self.offsets[:-1]] = False
        return np.flatnonzero(ends)


def log_partition(chains: Chains) -> Array:
    """log Σ_c exp z(c) of every sequence; −inf if no labelling is allowed."""
    return _core.ChainPass(chains.offsets, chains.n_labels).log_partition(chains.arrays)


def marginals(chains: Chains) -> Array:
    """The probability of every label at every token, (n_tokens, k), where p(c) ∝ exp z(c)."""
    return _pass(chains)[1]


def expected_transitions(chains: Chains, weights: Any = None) -> Array:
    """Expected counts of transitions, (k, k), summed over sequences with these weights."""
    return _pass(chains, weights)[2]


def pairwise_marginals(chains: Chains) -> Array:
    """Probabilities of the labels of two neighbours, (n_tokens, k, k).

    Row t holds those of tokens t − 1 and t; that of a first token is zero.
    """
    return _core.ChainPass(chains.offsets, chains.n_labels).details(chains.arrays)[2]


def entropy(chains: Chains) -> Array:
    """−Σ_c p(c) log p(c) of every sequence."""
    return _core.ChainPass(chains.offsets, chains.n_labels).entropy(chains.arrays)


def viterbi(chains: Chains) -> tuple[IntArray, Array]:
    """The labels with the greatest score, (n_tokens,), and that score of every sequence.

    If no labelling of a sequence is allowed, its labels are −1 and its score is −inf.
    """
    labels = np.empty(chains.unary.shape[0], dtype=np.int64)
    values = _core.chain_best(chains.offsets, chains.arrays, labels)
    return labels, values


def loss_augmented(
    chains: Chains, labels: Any, cost: Any = None, weights: Any = None
) -> tuple[IntArray, Array]:
    """The labels with the greatest Δ(y, c) + z(c), and that sum, of every sequence.

    Δ(y, c) = weight·Σₜ cost[yₜ, cₜ]; by default the number of wrong tokens. (A 5.2 leaves the cost
    out of the maximum, which then has no margin.)

    Parameters
    ----------
    chains : Chains
    labels : array of shape (n_tokens,)
        The true labels y.
    cost : array of shape (k, k), optional
        The cost of label c where y is right, at [y, c].
    weights : array of shape (n_sequences,), optional
        Factors of Δ, for example 1/length.
    """
    return viterbi(augmented(chains, labels, cost, weights))


def augmented(chains: Chains, labels: Any, cost: Any = None, weights: Any = None) -> Chains:
    """The scores with Δ(y, c) added: its maximum is that of `loss_augmented`."""
    true = _labels(chains, labels)
    k = chains.n_labels
    table = 1.0 - np.eye(k) if cost is None else _of_shape("cost", _table("cost", cost, 2), (k, k))
    added = table[true]
    if weights is not None:
        factors = _weights(chains, weights)
        added = added * factors[chains.row_of_sequence, None]
    unary = chains.unary + added
    return Chains(
        unary, chains.offsets, chains.transitions, chains.start, chains.stop, chains.edges
    )


def k_best(chains: Chains, count: int) -> tuple[IntArray, Array]:
    """The greatest scores in decreasing order, and their labels.

    Labels are (count, n_tokens), scores (n_sequences, count). Where a sequence has fewer of
    them, labels are −1 and scores are −inf.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}.")
    labels = np.empty((count, chains.unary.shape[0]), dtype=np.int64)
    values = _core.chain_several_best(chains.offsets, chains.arrays, count, labels)
    return labels, values


def sample(chains: Chains, count: int = 1, random_state: Any = None) -> IntArray:
    """Labellings drawn from p(c) ∝ exp z(c), independently: (count, n_tokens).

    ``random_state`` is a seed or a generator of NumPy. Labels are −1 where no labelling is allowed.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}.")
    uniform = np.random.default_rng(random_state).random((count, chains.unary.shape[0]))
    labels = np.empty(uniform.shape, dtype=np.int64)
    _core.chain_sample(chains.offsets, chains.arrays, uniform, labels)
    return labels


def path_scores(chains: Chains, labels: Any) -> Array:
    """z(c) of the given labels, (n_tokens,), of every sequence.

    Minus `log_partition` this is the log-likelihood.
    """
    c = _labels(chains, labels)
    first, last = chains.offsets[:-1], chains.offsets[1:] - 1
    by_token = chains.unary[np.arange(c.size), c]
    ends = chains.after_first
    by_token[ends] += chains.transitions[c[ends - 1], c[ends]]
    if chains.edges is not None:
        by_token[ends] += chains.edges[ends, c[ends - 1], c[ends]]
    assert chains.start is not None
    assert chains.stop is not None
    by_token[first] += chains.start[c[first]]
    by_token[last] += chains.stop[c[last]]
    return np.asarray(np.add.reduceat(by_token, first))


def _pass(chains: Chains, weights: Any = None) -> tuple[Array, Array, Array]:
    """Log-partitions, marginals, and weighted sums of those of transitions."""
    mass = np.ones(chains.n_sequences) if weights is None else _weights(chains, weights)
    return _core.ChainPass(chains.offsets, chains.n_labels).marginals(chains.arrays, mass)


def _table(name: str, given: Any, ndim: int) -> Array:
    """Scores as a C-ordered array of float64 without NaN or +inf."""
    array = np.ascontiguousarray(given, dtype=np.float64)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimensions, got {array.ndim}.")
    if not (array < np.inf).all():
        raise ValueError(f"{name} must be numbers or −inf, but it holds NaN or infinity.")
    return array


def _of_shape(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {array.shape}.")
    return array


def _offsets(given: Any, n_tokens: int) -> IntArray:
    """Where sequences begin, checked."""
    offsets = np.ascontiguousarray(given, dtype=np.int64)
    rises = offsets.ndim == 1 and offsets.size >= 2 and offsets[0] == 0
    if not rises or (np.diff(offsets) <= 0).any() or offsets[-1] != n_tokens:
        raise ValueError(
            f"offsets must rise from 0 to the number of tokens, {n_tokens}: one number for the "
            "beginning of every sequence, of which none is empty, and the end of the last."
        )
    return offsets


def _labels(chains: Chains, given: Any) -> IntArray:
    """Numbers of labels, one per token, checked."""
    labels = np.asarray(given)
    whole = np.issubdtype(labels.dtype, np.integer)
    if not whole or labels.shape != chains.unary.shape[:1]:
        raise ValueError(
            f"labels must be a whole number for each of the {chains.unary.shape[0]} tokens."
        )
    if labels.size and not (labels.min() >= 0 and labels.max() < chains.n_labels):
        raise ValueError(f"labels must be at least 0 and below {chains.n_labels}.")
    return np.ascontiguousarray(labels, dtype=np.int64)


def _weights(chains: Chains, given: Any) -> Array:
    weights = _table("weights", given, 1)
    return _of_shape("weights", weights, (chains.n_sequences,))
