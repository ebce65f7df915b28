r"""The alternation between clusters and their centres: weighted k-means on a matrix of pairs.

Rows i have weights wᵢ and stand for points rᵢφ(xᵢ), of which K knows the inner products of φ. With
cᵢ = rᵢwᵢ the objective of a clustering Y is

    Σᵢ wᵢ‖rᵢφᵢ − centre of i's cluster‖² = Σᵢ wᵢrᵢ²Kᵢᵢ − Σⱼ aⱼ/vⱼ,   aⱼ = (c∘Yⱼ)ᵀK(c∘Yⱼ), vⱼ = wᵀYⱼ.

Kernel k-means has r = 1 and w = sample weights. The normalised cut has r = Λ⁻¹ and w = Λ, so c = 1.
Rows move where that lowers the objective, their leaving and joining taken into account. Many move
at once; if that raised the objective, only the best of them do. So the objective falls in every
step, also where K is not positive semidefinite, and in the end no move of a single row helps. Of a
positive semidefinite K every row is then nearest to its own centre, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ..._base.watch import look
from .pairs import Pairs

_BLOCK = 1 << 16  # numbers of a temporary, half a megabyte; safeguard: it stays in a cache
_ROUNDING = 64 * float(np.finfo(float).eps)  # of Σ aⱼ/vⱼ; safeguard: smaller gains are rounding
_FEW = 4  # rows are moved one by one in sums if fewer than n/4 move; safeguard


@dataclass(frozen=True, eq=False)
class Task:
    """What is clustered: constant − Σⱼ aⱼ/vⱼ is minimised."""

    pairs: Pairs
    coefs: Array  # c
    weights: Array  # w ≥ 0
    n_clusters: int
    constant: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)  # what a search has found on its way

    @cached_property
    def ratios(self) -> Array:
        """r = c/w, 0 where both are."""
        return np.divide(
            self.coefs, self.weights, out=np.zeros_like(self.coefs), where=self.weights > 0
        )

    @cached_property
    def scale(self) -> Array:
        """√w·r: the matrix diag(scale) K diag(scale) is that of the relaxation."""
        return np.sqrt(self.weights) * self.ratios

    @cached_property
    def total(self) -> float:
        """Σ wᵢrᵢ²Kᵢᵢ."""
        return float(self.scale**2 @ self.pairs.diagonal)


class Clusters(NamedTuple):
    """A clustering, with the sums that the next step needs."""

    labels: IntArray
    sums: Array  # K(c∘Y), (n, k)
    inner: Array  # a, (k,)
    volumes: Array  # v, (k,)
    value: float


def clusters_of(task: Task, labels: IntArray, sums: Array | None = None) -> Clusters:
    """The sums of a clustering, computed anew unless they are given."""
    n, k = task.pairs.n, task.n_clusters
    if sums is None:
        indicator = np.zeros((n, k))
        indicator[np.arange(n), labels] = task.coefs
        sums = task.pairs.times(indicator)
    own = task.coefs * sums[np.arange(n), labels]
    inner: Any = np.bincount(labels, weights=own, minlength=k)
    volumes: Any = np.bincount(labels, weights=task.weights, minlength=k)
    filled = volumes > 0
    value = task.constant - float((inner[filled] / volumes[filled]).sum())
    return Clusters(labels, sums, inner, volumes, value)


def alternate(task: Task, labels: IntArray) -> Iterator[Clusters]:
    """The clustering and better and better ones, until no move of a row helps."""
    now: Clusters | None = clusters_of(task, filled(task, labels))
    while now is not None:
        yield now
        look()
        now = _next(task, now)


def settled(task: Task, labels: IntArray, most: int) -> Clusters:
    """The last clustering of at most so many steps."""
    *_, last = islice(alternate(task, labels), most + 1)
    return last


def _next(task: Task, now: Clusters) -> Clusters | None:
    """A better clustering; None if no single move helps."""
    target, gain = best_moves(task, now)
    least = _ROUNDING * max(float(np.abs(now.inner / now.volumes).sum()), abs(now.value))
    rows = np.flatnonzero(gain > least)
    rows = rows[np.argsort(-gain[rows], kind="stable")]
    while rows.size:
        found = _moved(task, now, rows, target[rows])
        if found.value < now.value - 0.5 * least and (found.volumes > 0).all():
            return found
        rows = rows[: max(rows.size // 4, 1)] if rows.size > 1 else rows[:0]
    return None


def best_moves(task: Task, now: Clusters) -> tuple[IntArray, Array]:
    """The best other cluster of each row, and by how much moving there lowers the objective."""
    n, k = now.sums.shape
    share = now.inner / now.volumes
    members = np.bincount(now.labels, weights=task.weights > 0, minlength=k)
    target, gain = np.zeros(n, dtype=np.int64), np.full(n, -np.inf)
    if k == 1:
        return target, gain
    size = max(1, _BLOCK // k)
    for start in range(0, n, size):
        some = slice(start, min(start + size, n))
        c, w, sums, own = task.coefs[some], task.weights[some], now.sums[some], now.labels[some]
        place = np.arange(own.size)
        alone = c * c * task.pairs.diagonal[some]
        left = now.inner[own] - 2.0 * c * sums[place, own] + alone
        rest = now.volumes[own] - w
        stays = (members[own] <= 1) | (rest <= 0) | (w <= 0)
        lost = share[own] - left / np.where(stays, 1.0, rest)
        joined = 2.0 * c[:, None] * sums
        joined += now.inner + alone[:, None]
        joined /= now.volumes + w[:, None]
        joined -= share
        joined[place, own] = -np.inf
        target[some] = joined.argmax(axis=1)
        gain[some] = np.where(stays, -np.inf, joined[place, target[some]] - lost)
    return target, gain


def _moved(task: Task, now: Clusters, rows: IntArray, target: IntArray) -> Clusters:
    """The clustering after these rows have moved."""
    labels = now.labels.copy()
    labels[rows] = target
    if rows.size * _FEW > task.pairs.n:
        return clusters_of(task, labels)
    change = np.zeros((rows.size, task.n_clusters))
    place = np.arange(rows.size)
    change[place, target] = task.coefs[rows]
    change[place, now.labels[rows]] = -task.coefs[rows]
    return clusters_of(task, labels, now.sums + task.pairs.from_rows(rows, change))


def filled(task: Task, labels: IntArray) -> IntArray:
    """The labels, with rows of large clusters in the clusters that had none of any weight."""
    labels = np.array(labels, dtype=np.int64)
    heavy = task.weights > 0
    members = np.bincount(labels[heavy], minlength=task.n_clusters)
    for empty in np.flatnonzero(members == 0):
        largest = int(np.argmax(members))
        row = int(np.flatnonzero(heavy & (labels == largest))[-1])
        labels[row] = empty
        members[largest] -= 1
        members[empty] += 1
    return labels


def distances(task: Task, found: Clusters) -> Array:
    """Squared distances of the points from all centres, up to a number for each point."""
    with np.errstate(invalid="ignore", divide="ignore"):
        near = task.ratios[:, None] * found.sums / found.volumes
        return np.asarray(found.inner / found.volumes**2 - 2.0 * near)


def seeded(task: Task, rng: Any) -> IntArray:
    """Labels by k-means++: centres are rows, drawn in proportion to weight and squared distance."""
    own = task.ratios**2 * task.pairs.diagonal
    nearest, labels = np.full(task.pairs.n, np.inf), np.zeros(task.pairs.n, dtype=np.int64)
    chances = task.weights / task.weights.sum()
    for j in range(task.n_clusters):
        centre = int(rng.choice(task.pairs.n, p=chances))
        far = own + own[centre]
        far -= 2.0 * task.ratios * task.ratios[centre] * task.pairs.column(centre)
        closer = far < nearest
        labels[closer], nearest = j, np.minimum(nearest, far)
        left = task.weights * np.maximum(nearest, 0.0)
        left[centre] = 0.0
        if left.sum() > 0:
            chances = left / left.sum()
    return labels


def in_order(task: Task, labels: IntArray) -> IntArray:
    """The labels, numbered as clusters first appear among the rows that weigh something."""
    heavy = labels[task.weights > 0]
    names, first = np.unique(heavy, return_index=True)
    number = np.zeros(task.n_clusters, dtype=np.int64)
    number[names[np.argsort(first)]] = np.arange(names.size)
    return np.asarray(number[labels])
