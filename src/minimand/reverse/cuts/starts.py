r"""Spectral starts: k-means in the eigenvectors that solve the relaxed problem.

Over all orthonormal Q the trace of QᵀSKSQ, S = diag(√w·r), is largest for the top eigenvectors; a
clustering is the Q with the columns √w∘Yⱼ/√vⱼ. So rows of the eigenvectors, divided by √w, are
close to each other where an optimal clustering puts rows together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import Array, IntArray
from ..._base.watch import StoppedError, watching
from .alternation import Task, clusters_of, in_order, seeded, settled
from .coarsening import LARGE, Level, levels_of
from .pairs import FactorPairs, SparsePairs

_TRIES = 5  # k-means++ starts in the eigenvectors; measured: two moons, rings, digits need two
_STEPS = 100  # steps of k-means in the eigenvectors; safeguard: the alternation goes on from there
_MORE = 2  # eigenvectors beyond the clusters; safeguard: the bound needs the next eigenvalue


def embedding(task: Task, rng: Any, *, normalised: bool) -> tuple[Array, Array]:
    """The largest eigenvalues of SKS, about, and their eigenvectors divided by √w.

    The normalised cut's first eigenvectors are known: √w on each connected part of the graph.
    """
    root = np.sqrt(task.weights)
    known = np.empty((task.pairs.n, 0))
    if normalised:
        known = parts_of(task, task.pairs.components())[:, : task.n_clusters]
    count = task.n_clusters - known.shape[1]
    values, vectors = task.pairs.top(task.scale, count + _MORE, known, rng)
    task.notes["eigenvectors"] = np.column_stack([known, vectors])
    values = np.concatenate([np.ones(known.shape[1]), values[:count]])
    vectors = np.column_stack([known, vectors[:, :count]])
    root = root[:, None]
    return values, np.divide(vectors, root, out=np.zeros_like(vectors), where=root > 0)


def two_directions(task: Task, *, normalised: bool) -> Array:
    """The rows on the second and the third eigenvector, (n, 2); the first is about constant."""
    wider = replace(task, n_clusters=min(3, task.pairs.n))
    vectors = embedding(wider, np.random.RandomState(0), normalised=normalised)[1]
    found = np.zeros((task.pairs.n, 2))
    found[:, : vectors.shape[1] - 1] = vectors[:, 1:3]
    return found


def parts_of(task: Task, part: IntArray) -> Array:
    """√w on each connected part, of length one: eigenvectors of the normalised cut."""
    root, count = np.sqrt(task.weights), int(part.max()) + 1
    found = np.zeros((task.pairs.n, count))
    found[np.arange(task.pairs.n), part] = root
    sizes = np.linalg.norm(found, axis=0)
    return np.asarray(found[:, sizes > 0] / sizes[sizes > 0])


def in_few_groups(task: Task, part: IntArray) -> IntArray | None:
    """Whole connected parts in n_clusters groups of about equal volume: a cut of nothing.

    None if there are fewer parts than clusters.
    """
    volumes = np.bincount(part, weights=task.weights)
    if (volumes > 0).sum() < task.n_clusters:
        return None
    loads, group = np.zeros(task.n_clusters), np.zeros(volumes.size, dtype=np.int64)
    for number in np.argsort(-volumes, kind="stable"):
        group[number] = int(np.argmin(loads))
        loads[group[number]] += volumes[number]
    return group[part]


def _from_coarse(task: Task, rng: Any) -> IntArray:
    """A cut of a small graph, improved on finer and finer ones."""
    k = task.n_clusters
    finer, small = _coarse(task, rng)
    start = next(spectral_starts(small, rng, normalised=True))
    labels = settled(small, start, _STEPS).labels
    for level in reversed(finer):
        assert level.joined is not None
        labels = labels[level.joined]
        if level is not finer[0]:  # the search itself improves the cut of the whole graph
            labels = settled(_graph_task(level.matrix, level.volumes, k), labels, _STEPS).labels
    _note_coarse(task, finer, small)
    return labels


def _coarse(task: Task, rng: Any) -> tuple[list[Level], Task]:
    """The graph and coarser ones, and the cut of the coarsest as a task."""
    matrix, k = task.pairs.values, task.n_clusters  # type: ignore[attr-defined]
    if not (task.coefs == 1.0).all():
        side = sparse.diags_array(task.coefs)
        matrix = sparse.csr_array(side @ matrix @ side)
    *finer, last = levels_of(matrix, task.weights, k, rng)
    return finer, _graph_task(last.matrix, last.volumes, k)


def _note_coarse(task: Task, finer: list[Level], small: Task) -> None:
    """Note the eigenvectors of the coarsest graph as those of the whole one, about."""
    near = small.notes["eigenvectors"] / np.sqrt(small.weights)[:, None]
    for level in reversed(finer):
        near = near[level.joined]
    task.notes["eigenvectors"] = near * np.sqrt(task.weights)[:, None]


def note_eigenvectors(task: Task) -> None:
    """Note about the top eigenvectors of a cut, as its spectral start does, if there is time."""
    rng = np.random.RandomState(0)
    try:
        with watching(hears=True):
            if isinstance(task.pairs, SparsePairs) and task.pairs.n > LARGE:
                finer, small = _coarse(task, rng)
                embedding(small, rng, normalised=True)
                _note_coarse(task, finer, small)
            else:
                embedding(task, rng, normalised=True)
    except StoppedError:  # a bound is found without them, though a weaker one
        pass


def _graph_task(matrix: Any, volumes: Array, k: int) -> Task:
    return Task(SparsePairs(matrix), np.ones(volumes.size), volumes, k, float(k))


def _best(task: Task, tries: list[IntArray]) -> IntArray:
    """The best of some clusterings, of which equal ones are looked at once."""
    different = list({in_order(task, labels).tobytes(): labels for labels in tries}.values())
    if len(different) == 1:
        return different[0]
    return min(different, key=lambda labels: clusters_of(task, labels).value)


def spectral_starts(task: Task, rng: Any, *, normalised: bool) -> Iterator[IntArray]:
    """Labels by k-means in the eigenvectors: the best of some tries, then one try each.

    Of a large graph the eigenvectors are those of a coarser one, whose cut goes down to it.
    """
    if isinstance(task.pairs, SparsePairs) and task.pairs.n > LARGE:
        while True:
            try:
                with watching(hears=True):
                    labels = _from_coarse(task, rng)
            except StoppedError:  # too late: any start is better than none
                yield rng.randint(task.n_clusters, size=task.pairs.n)
                return
            yield labels
    try:
        with watching(hears=True):
            values, vectors = embedding(task, rng, normalised=normalised)
    except StoppedError:  # too late for eigenvectors: a cheap start is better than none
        yield seeded(task, rng)
        return
    points = vectors * np.sqrt(np.maximum(values, 0.0))
    few = Task(FactorPairs(points), task.weights, task.weights, task.n_clusters)
    tries = [settled(few, seeded(few, rng), _STEPS) for _ in range(_TRIES)]
    yield _best(task, [found.labels for found in tries])
    while True:
        yield settled(few, seeded(few, rng), _STEPS).labels
