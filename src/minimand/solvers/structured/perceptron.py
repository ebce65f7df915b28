"""The averaged structured perceptron: passes over sequences, with updates on mistakes only.

    c = argmax z(c);  if c ≠ y:  w ← w + s·(φ(x, y) − φ(x, c))

The model is the mean of the weights over all steps. If some weights u label every sequence right by
a margin γ, there are at most R²‖u‖²/γ² mistakes, where R is the length of the longest update: each
raises u·w by γ or more, and ‖w‖² by R² or less.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ... import _core
from ..._base.typing import Array, IntArray
from ..._base.watch import reason, undisturbed
from ...certificate.finding import Kind
from ...design import kernel_for
from ...outputs.chain import Chains, k_best, path_scores, viterbi
from ..base import Control
from .course import Course, Trained
from .own_columns import matrix_of
from .problem import ChainProblem, ChainWeights

_PASSES = 30  # passes if max_iter is None; convention


class Steps:
    """The weights of a perceptron in one vector, their mean over steps, and the count of steps."""

    def __init__(self, problem: ChainProblem, start: ChainWeights | None = None) -> None:
        d, k, edges = problem.design.shape[1], problem.n_labels, problem.edges
        self._shape = (d, k)
        size = d * k + k * k + 2 * k + (0 if edges is None else edges.shape[1] * k * k)
        self.now, self.lag, self.count = np.zeros(size), np.zeros(size), 0.0
        if start is not None:
            known = np.concatenate([np.ravel(part) for part in start if part is not None])
            self.now[: known.size] = known

    def one_pass(self, problem: ChainProblem, order: Any) -> Pass:
        """Visit the sequences in this order."""
        if problem.edges is not None:
            return self._one_by_one(problem, order)
        k = problem.n_labels
        masks = problem.allowed
        fixed = np.zeros(k * k + 2 * k)
        if masks is not None:
            able = np.concatenate([masks.transitions.ravel(), masks.start, masks.stop])
            fixed[~able] = -np.inf
        sizes = problem.mass * problem.n_sequences  # 1 without weights
        arrays = (problem.offsets, problem.labels, fixed, sizes)
        rows = problem.design.row_lines
        kernel = kernel_for(rows, _core.chain_perceptron, _core.chain_perceptron_dense)
        self.count, visited, wrong, tokens, radius = kernel(
            rows, arrays, k, problem.ends, order, self.now, self.lag, self.count
        )
        return Pass(visited, wrong, tokens, radius)

    def _one_by_one(self, problem: ChainProblem, order: Any) -> Pass:
        """The same where steps between tokens have features of their own."""
        assert problem.edges is not None
        X, E = matrix_of(problem.design), matrix_of(problem.edges)
        sizes = problem.mass * problem.n_sequences
        visited, wrong, tokens, radius = 0, 0, 0, 0.0
        for i in order:
            if reason():
                break
            own = slice(int(problem.offsets[i]), int(problem.offsets[i + 1]))
            true, weights = problem.labels[own], self.last
            shared, rows, links = problem.shared_scores(weights), X[own], E[own]
            k, offsets = problem.n_labels, np.array([0, true.size])
            assert weights.edge is not None
            edges = np.asarray(links @ weights.edge.reshape(-1, k * k)).reshape(-1, k, k)
            found = viterbi(Chains(rows @ weights.coef, offsets, *shared, edges))[0]
            mistakes = int((found != true).sum())
            if mistakes:
                difference = _difference(rows, links, true, found, k)
                step = float(sizes[i])
                self._move(difference, step, ends=problem.ends)
                radius = max(radius, difference.squares(ends=problem.ends))
            visited, wrong, tokens = visited + 1, wrong + (mistakes > 0), tokens + mistakes
            self.count += 1.0
        return Pass(visited, wrong, tokens, radius)

    def _move(self, difference: _Difference, step: float, *, ends: bool) -> None:
        """w += step·(φ(x, y) − φ(x, c)), and the change of the lag."""
        for flat, factor in ((self.now, step), (self.lag, self.count * step)):
            coef, steps, start, stop, edge = self._parts(flat)  # views
            assert edge is not None
            coef[difference.columns] += factor * difference.coef
            edge[difference.columns_of_edges] += factor * difference.edge
            steps += factor * difference.steps
            if ends:
                start += factor * difference.start
                stop += factor * difference.stop

    @property
    def last(self) -> ChainWeights:
        """The weights after the last step."""
        return self._parts(self.now)

    @property
    def mean(self) -> ChainWeights:
        """The mean of the weights over all steps."""
        return self._parts(self.now - self.lag / self.count if self.count else self.now)

    def _parts(self, flat: Array) -> ChainWeights:
        d, k = self._shape
        coef, steps, start, stop, edge = np.split(flat, np.cumsum([d * k, k * k, k, k]))
        tables = edge.reshape(-1, k, k) if edge.size else None
        return ChainWeights(coef.reshape(d, k), steps.reshape(k, k), start, stop, tables)


class Pass(NamedTuple):
    """Sequences visited, how many of them were labelled wrong, and how many of their tokens."""

    visited: int
    wrong: int
    wrong_tokens: int
    radius: float  # the largest squared length of an update


class _Difference(NamedTuple):
    """φ(x, y) − φ(x, c) of one sequence, on the columns that it has."""

    columns: Any
    coef: Array
    columns_of_edges: Any
    edge: Array
    steps: Array
    start: Array
    stop: Array

    def squares(self, *, ends: bool) -> float:
        """Its squared length."""
        parts = [self.coef, self.edge, self.steps, *((self.start, self.stop) if ends else ())]
        return sum(float(np.vdot(part, part)) for part in parts)


def _difference(rows: Any, links: Any, true: IntArray, found: IntArray, k: int) -> _Difference:
    """Between the true labels and those that were found."""
    tokens = np.eye(k)[true] - np.eye(k)[found]
    pairs, later = np.zeros((true.size, k, k)), np.arange(1, true.size)
    for labels, sign in ((true, 1.0), (found, -1.0)):
        pairs[later, labels[:-1], labels[1:]] += sign
    columns, coef = _across(rows, tokens)
    columns_of_edges, edge = _across(links, pairs.reshape(-1, k * k))
    tables = coef, columns_of_edges, edge.reshape(-1, k, k), pairs.sum(axis=0)
    return _Difference(columns, *tables, tokens[0], tokens[-1])


def _across(rows: Any, values: Array) -> tuple[Any, Array]:
    """RowsᵀV on the columns that have entries."""
    if not sparse.issparse(rows):
        return slice(None), rows.T @ values
    columns, places = np.unique(rows.indices, return_inverse=True)
    shape = (rows.shape[0], columns.size)
    own = sparse.csr_array((rows.data, places, rows.indptr), shape=shape)
    return columns, np.asarray(own.T @ values)


@dataclass(frozen=True, eq=False)
class TrainedPerceptron(Trained):
    """A trained perceptron, with its mistakes in all passes and what bounds them."""

    mistakes: int = 0
    bound: float = np.inf


def train_perceptron(
    problem: ChainProblem, control: Control, start: ChainWeights | None = None
) -> TrainedPerceptron:
    """Pass over the sequences in random orders until a pass has no mistake, or max_iter is reached.

    The certificate is of the share of sequences that the mean weights label wrong, which is at
    least 0; the history has the share that each pass labelled wrong on its way.
    """
    random = check_random_state(control.random_state)
    steps, course = Steps(problem, start), Course(problem, control, "perceptron", 1.0)
    mistakes, radius, separated = 0, 0.0, False
    most = _PASSES if control.max_iter is None else control.max_iter
    with course.watched():
        first = share_of_mistakes(problem, steps.last)
        ended = course.record(first, first)
        while not ended and len(course.history) <= most:
            order = random.permutation(problem.n_sequences).astype(np.uint32)
            found = steps.one_pass(problem, order)
            problem.meter.passes += found.visited / problem.n_sequences
            mistakes, radius = mistakes + found.wrong, max(radius, found.radius)
            separated = found.wrong == 0 and found.visited == problem.n_sequences
            share = found.wrong / max(found.visited, 1)
            ended = course.record(share, share)
    with undisturbed():
        wrong = share_of_mistakes(problem, steps.mean)
        bound = _bound(problem, steps.last, radius) if separated else np.inf
    ended_with = course.trained(steps.mean, wrong, wrong, rounding=0.0)
    own = {f.name: getattr(ended_with, f.name) for f in fields(ended_with)}
    kind: Kind = "relaxation" if wrong else "global"
    own["certificate"] = replace(ended_with.certificate, kind=kind)
    return TrainedPerceptron(**own, mistakes=mistakes, bound=bound)


def share_of_mistakes(problem: ChainProblem, weights: ChainWeights) -> float:
    """The share of sequences, by mass, whose best labelling is not their own."""
    found = viterbi(problem.scores(weights))[0]
    wrong = np.add.reduceat(found != problem.labels, problem.offsets[:-1]) > 0
    return float(problem.mass[wrong].sum())


def _bound(problem: ChainProblem, weights: ChainWeights, radius: float) -> float:
    """R²‖u‖²/γ² for weights u that label every sequence right."""
    if np.ptp(problem.mass) > 0:
        return np.inf  # steps of different lengths
    chains = problem.scores(weights)
    margin = float((path_scores(chains, problem.labels) - k_best(chains, 2)[1][:, 1]).min())
    squares = sum(float(np.vdot(part, part)) for part in weights if part is not None)
    if not margin > 0:
        return np.inf
    found = (radius / margin) * (squares / margin)
    return found if np.isfinite(found) else np.inf
