"""A chain model to be trained: tokens, labels, weights of sequences, and which weights exist.

    P(w) = Σ massᵢ·loss(zᵢ, yᵢ) + l1·‖w‖₁ + ½·l2·‖w‖²,   massᵢ = sᵢ/Σs,   i over sequences

    zᵢ(c) = start(c₁) + Σₜ xₜ·coef[:, cₜ] + Σₜ transitions[cₜ₋₁, cₜ] + stop(c_l)

w holds all weights: of features, transitions, start and stop, and of the features of edges if there
are any. There is no intercept: transitions, or a constant feature, take its part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._base.typing import Array, BoolArray, IntArray
from ...design import Design
from ...outputs.chain import Chains
from ...problem.point import Meter


class ChainWeights(NamedTuple):
    """The weights of a chain model; forbidden and absent ones are zero."""

    coef: Array  # (d, k)
    transitions: Array  # (k, k), from and to
    start: Array  # (k,)
    stop: Array  # (k,)
    edge: Array | None = None  # (e, k, k)


class Allowed(NamedTuple):
    """The transitions, first and last labels that a labelling may have."""

    transitions: BoolArray  # (k, k)
    start: BoolArray  # (k,)
    stop: BoolArray  # (k,)


@dataclass(frozen=True, eq=False)
class ChainProblem:
    """The data and the penalty of a chain model, checked; it holds no algorithm.

    Attributes
    ----------
    design : Design
        One row per token, the sequences one below the other.
    offsets : array of shape (n_sequences + 1,)
        Where sequences begin, and the end of the last.
    labels : array of shape (n_tokens,)
        Numbers of labels, from 0 to n_labels − 1.
    n_labels : int
    mass : array of shape (n_sequences,)
        Weights of sequences; they sum to 1.
    l1, l2 : float
        The penalty l1·‖w‖₁ + ½·l2·‖w‖².
    ends : bool
        Whether there are weights for first and last labels.
    allowed : Allowed, optional
        Labellings with other transitions, first or last labels do not exist.
    present : bool array of shape (d, n_labels), optional
        The weights of features that exist; the others stay zero.
    present_transitions : bool array of shape (n_labels, n_labels), optional
        The same for transitions and for the features of edges; all of them remain allowed.
    edges : Design, optional
        Features of the transition from the token before to this one; first tokens are not read.
    cost : array of shape (n_labels, n_labels), optional
        The cost of a label where another is right; the number of wrong tokens by default.
    words : str
        The objective, in words.
    """

    design: Design
    offsets: IntArray
    labels: IntArray
    n_labels: int
    mass: Array
    l1: float = 0.0
    l2: float = 0.0
    ends: bool = True
    allowed: Allowed | None = None
    present: BoolArray | None = None
    present_transitions: BoolArray | None = None
    edges: Design | None = None
    cost: Array | None = None
    words: str = ""
    meter: Meter = field(default_factory=Meter)

    def __post_init__(self) -> None:
        n_tokens = self.design.shape[0]
        if self.labels.shape != (n_tokens,) or int(self.offsets[-1]) != n_tokens:
            raise ValueError("labels and offsets must belong to the rows of the design.")
        if self.mass.shape != (self.n_sequences,):
            raise ValueError("mass must hold one number per sequence.")
        if min(self.l1, self.l2) < 0:
            raise ValueError("the penalty must not be negative: alpha must be at least 0.")
        self._check_gold()

    def _check_gold(self) -> None:
        """The true labels must be a labelling that exists."""
        if self.allowed is None:
            return
        y, ends = self.labels, self.after_first
        first, last = self.offsets[:-1], self.offsets[1:] - 1
        steps = self.allowed.transitions[y[ends - 1], y[ends]]
        if not steps.all():
            t = int(ends[np.argmin(steps)])
            raise ValueError(
                f"y has a transition that is not allowed: from label {y[t - 1]} to {y[t]}, at "
                f"token {t}; allow it, or leave its sequence out."
            )
        for words, rows, table in (
            ("begins", first, self.allowed.start),
            ("ends", last, self.allowed.stop),
        ):
            if not table[y[rows]].all():
                i = int(np.argmin(table[y[rows]]))
                raise ValueError(
                    f"y has a sequence that {words} with a label that is not allowed there: "
                    f"sequence {i}, label {y[rows[i]]}; allow it, or leave the sequence out."
                )

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return int(self.offsets.size) - 1

    @property
    def n_tokens(self) -> int:
        """The number of tokens of all sequences."""
        return int(self.design.shape[0])

    @cached_property
    def after_first(self) -> IntArray:
        """The tokens that end an edge: all but the first of every sequence."""
        ends = np.ones(self.n_tokens, dtype=bool)
        ends[self.offsets[:-1]] = False
        return np.flatnonzero(ends)

    @cached_property
    def token_mass(self) -> Array:
        """For every token the mass of its sequence."""
        return np.repeat(self.mass, np.diff(self.offsets))

    @cached_property
    def layout(self) -> Layout:
        """Where the weights are in a vector."""
        return Layout.of(self)

    def scores(self, weights: ChainWeights) -> Chains:
        """The scores of all labellings under these weights."""
        transitions, start, stop = self.shared_scores(weights)
        unary = self.design.matvec(weights.coef)
        return Chains(unary, self.offsets, transitions, start, stop, self.edge_scores(weights))

    def shared_scores(self, weights: ChainWeights) -> tuple[Array, Array, Array]:
        """Scores of transitions, start and stop; −inf where they are not allowed."""
        if self.allowed is None:
            return weights.transitions, weights.start, weights.stop
        tables = (weights.transitions, weights.start, weights.stop)
        found = [np.where(a, t, -np.inf) for a, t in zip(self.allowed, tables)]
        return found[0], found[1], found[2]

    def edge_scores(self, weights: ChainWeights) -> Array | None:
        """Scores of the transitions of single edges, (n_tokens, k, k); None if they have none."""
        if self.edges is None or weights.edge is None:
            return None
        k = self.n_labels
        flat = np.ascontiguousarray(weights.edge.reshape(-1, k * k))
        return self.edges.matvec(flat).reshape(-1, k, k)

    def on_sequences(self, every: int) -> ChainProblem:
        """The same problem on every so-many-th sequence, to find a start cheaply."""
        chosen = np.arange(0, self.n_sequences, every)
        rows = np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in chosen])
        mass = self.mass[chosen]
        return replace(
            self,
            design=self.design.rows(rows),
            offsets=np.append(0, np.cumsum(np.diff(self.offsets)[chosen])),
            labels=self.labels[rows],
            mass=mass / mass.sum(),
            edges=None if self.edges is None else self.edges.rows(rows),
            meter=Meter(),
        )


@dataclass(frozen=True, eq=False)
class Layout:
    """The place of every weight in a vector: features, transitions, start, stop, edges."""

    shape: tuple[int, int]  # of coef
    coef: IntArray | None  # places of the weights that exist; None: all
    transitions: IntArray | None
    start: IntArray
    stop: IntArray
    n_edge: int  # features of edges
    sizes: tuple[int, ...]

    @staticmethod
    def of(problem: ChainProblem) -> Layout:
        """Forbidden and absent weights have no place."""
        d, k = problem.design.shape[1], problem.n_labels
        coef = None if problem.present is None else np.flatnonzero(problem.present)
        allowed, transitions = problem.allowed, problem.present_transitions
        if allowed is not None:
            known = allowed.transitions
            transitions = known if transitions is None else known & transitions
        steps = None if transitions is None else np.flatnonzero(transitions)
        every = np.ones(k, dtype=bool)
        ends = every if problem.ends else ~every
        start, stop = (ends, ends) if allowed is None else (ends & allowed[1], ends & allowed[2])
        n_edge = 0 if problem.edges is None else problem.edges.shape[1]
        sizes = (
            d * k if coef is None else coef.size,
            k * k if steps is None else steps.size,
            int(start.sum()),
            int(stop.sum()),
            n_edge * (k * k if steps is None else steps.size),
        )
        first, last = np.flatnonzero(start), np.flatnonzero(stop)
        return Layout((d, k), coef, steps, first, last, n_edge, sizes)

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(self.sizes)

    @property
    def full(self) -> tuple[bool, bool, bool]:
        """Whether all transitions, all first and all last labels have a weight."""
        k = self.shape[1]
        return self.sizes[1] == k * k, self.sizes[2] == k, self.sizes[3] == k

    def parts(self, w: Array) -> list[Array]:
        """Views of the five parts of a vector."""
        return np.split(w, np.cumsum(self.sizes)[:-1])

    def weights(self, w: Array, *, coef: bool = True) -> ChainWeights:
        """A vector as tables; views of it where all weights exist. Those of features if wanted."""
        (d, k), parts = self.shape, self.parts(w)
        edge = None
        if self.n_edge:
            rows = parts[4].reshape(self.n_edge, -1)
            edge = np.zeros((self.n_edge, k, k))
            edge.reshape(self.n_edge, -1)[:, _all_or(self.transitions)] = rows
        return ChainWeights(
            _widened(parts[0], self.coef, (d, k)) if coef else np.empty((0, k)),
            _widened(parts[1], self.transitions, (k, k)),
            _widened(parts[2], self.start, (k,)),
            _widened(parts[3], self.stop, (k,)),
            edge,
        )

    def vector(self, weights: ChainWeights, *, picked: bool = False) -> Array:
        """Tables as a vector; weights without a place are left out, of features if not done yet."""
        edge = np.empty(0)
        if weights.edge is not None:
            edge = weights.edge.reshape(self.n_edge, -1)[:, _all_or(self.transitions)].ravel()
        return np.concatenate(
            [
                weights.coef if picked else _picked(weights.coef, self.coef),
                _picked(weights.transitions, self.transitions),
                weights.start[self.start],
                weights.stop[self.stop],
                edge,
            ]
        )


def _all_or(places: IntArray | None) -> IntArray | slice:
    return slice(None) if places is None else places


def _widened(values: Array, places: IntArray | None, shape: tuple[int, ...]) -> Array:
    """A table with these values in their places and zeros elsewhere."""
    if places is None:
        return values.reshape(shape)
    table = np.zeros(shape)
    table.flat[places] = values
    return table


def _picked(table: Array, places: IntArray | None) -> Array:
    flat = table.reshape(-1)
    return flat if places is None else flat[places]
