"""Certificates of clusterings, computed anew from the data: by eigenvalues, or by the dual."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from ..._base.typing import Array, ArrayLike, BoolArray, IntArray
from ...certificate import Certificate, Kind
from ...certificate.eigenvalues.relaxation import TopSum, top_of_kernel, top_of_rows
from ...design import as_design
from ...features.low_rank import MEMORY
from ...kernels import Kernel
from ...kernels.vectors import VectorKernel
from ..base import Course
from ..cuts.alternation import Task, clusters_of
from ..cuts.bounds import rounding_of
from ..cuts.normalized_cut import cut_bound, cut_task, cut_value
from ..cuts.pairs import DensePairs
from ..kmeans.distances import Euclidean
from ..kmeans.rows import Rows
from ..rows import in_double, kernel_rows, row_weights
from .closed_form import objective
from .points import PairPoints, Points, RowPoints, are_equal, indicator
from .prove import Proof, closes, prove
from .remainder import Remainder, remainder_of

ROWS_FORMULA = "Σ s·‖x − centre‖²"
KERNEL_FORMULA = "Σ s·‖φ(x) − centre‖²"
CUT_FORMULA = "Σ cut(cluster, others)/vol(cluster)"
_LARGE_CUT = 3000  # nodes of a graph whose dual is looked at; safeguard: its matrix is dense


def of_centres(
    model: Any,
    X: Any,
    centres: Array,
    sample_weight: ArrayLike,
    *,
    thorough: bool,
    labels: IntArray | None = None,
) -> Certificate:
    """The certificate of a model with Euclidean centres, on rows X: an array or a sparse matrix.

    Rows go to their nearest centre, unless ``labels`` are given.
    """
    n, k = X.shape[0], centres.shape[0]
    weights = row_weights(sample_weight, n)
    labels, squares = _assigned(X, centres, labels)
    primal = float(weights @ squares)
    relaxed = top_of_rows(as_design(X), k - 1, weights=weights)
    points, equal = None, False
    if thorough and 8.0 * X.shape[0] * X.shape[1] <= MEMORY:
        kept = weights > 0
        rows = X[kept]
        dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=float)
        dense = dense.astype(float, copy=False)
        points = RowPoints(dense, weights[kept])
        labels = labels[kept]
        # The mean of equal rows is off by an ulp for each of them; other centres are not theirs.
        ulps = dense.shape[0] * float(np.finfo(rows.dtype).eps)
        sizes = float(weights[kept] @ np.square(ulps * dense).sum(axis=1))
        equal = primal <= sizes and are_equal(dense, labels)
    return _certificate(
        model, ROWS_FORMULA, primal, relaxed, points, labels, k, thorough, equal=equal
    )


def of_kernel(
    model: Any, X: ArrayLike, sample_weight: ArrayLike = None, *, thorough: bool
) -> Certificate:
    """The certificate of a `KernelKMeans`, on the rows that it was fitted on or others."""
    kernel = model._kernel if model._map is None else model._map.kernel_
    X = in_double(kernel_rows(model, X, kernel, reset=False))
    if model._map is not None:
        return _of_factor(model, X, sample_weight, thorough=thorough)
    n, k = int(_num_samples(X)), model.dual_coef_.shape[0]
    weights = row_weights(sample_weight, n)
    kept = weights > 0
    rows = kernel.rows(X, training=True)
    products, own = kernel.times(rows, model._rows, model.dual_coef_.T), kernel.diagonal(rows)
    gram = np.asarray(kernel.gram(rows), dtype=float)
    relaxed = top_of_kernel(gram, k - 1, weights=weights, centred=True)
    points = PairPoints(gram[np.ix_(kept, kept)], weights[kept]) if thorough else None
    far = model._norms - 2.0 * products
    primal = float(weights @ np.maximum(own + far.min(axis=1), 0.0))
    error = rounding_of(weights, kernel.sizes(rows))
    labels = far.argmin(axis=1)[kept]
    equal = thorough and primal <= error and _have_equal_features(kernel, X, gram, kept, labels)
    return _certificate(
        model, KERNEL_FORMULA, primal, relaxed, points, labels, k, thorough, error, equal=equal
    )


def _of_factor(
    model: Any, X: Any, sample_weight: ArrayLike = None, *, thorough: bool
) -> Certificate:
    """The certificate of a `KernelKMeans` on a factor L, with what L leaves out of the kernel."""
    kernel, rows = model._map.kernel_, model._map.training_rows(X)
    n, k = int(_num_samples(X)), model.dual_coef_.shape[0]
    weights = row_weights(sample_weight, n)
    kept = weights > 0
    factor, rest = model._map.transform(X), model._map.left_out(X)
    squares = np.einsum("ij,ij->i", factor, factor)
    far = model._norms - 2.0 * (factor @ model._centres)
    labels = far.argmin(axis=1)
    primal = float(weights @ np.maximum(squares + rest + far.min(axis=1), 0.0))
    relaxed = top_of_rows(factor, k - 1, weights=weights, remainder=rest)
    left = remainder_of(kernel, rows, factor, rest, weights, labels, k)
    if left is None:
        left = Remainder()
    else:  # with the means in the whole space of features as centres
        means = indicator(labels, weights, k).T @ factor
        volumes = np.bincount(labels, weights=weights, minlength=k)
        between = np.einsum("ij,ij->i", means, means)[volumes > 0] / volumes[volumes > 0]
        whole = float(weights @ (squares + rest))
        primal = min(primal, max(whole - float(between.sum()) - left.inner, 0.0))
    points = RowPoints(factor[kept], weights[kept]) if thorough else None
    error = rounding_of(weights, kernel.sizes(rows))
    equal = thorough and primal <= error
    return _certificate(
        model,
        KERNEL_FORMULA,
        primal,
        relaxed,
        points,
        labels[kept],
        k,
        thorough,
        error,
        left.lost,
        equal=equal and _have_equal_features(kernel, X, None, kept, labels[kept]),
    )


def of_cut(
    model: Any, X: ArrayLike, sample_weight: ArrayLike = None, *, thorough: bool
) -> Certificate:
    """The certificate of a `NormalizedCut`, on the rows that it was fitted on."""
    X = model._affinity.read(model, X, reset=False)
    matrix, labels, k = model.affinity_matrix_, model.labels_, model.dual_coef_.shape[0]
    if _num_samples(X) != labels.size:
        raise ValueError(
            f"X has {_num_samples(X)} rows, but this {type(model).__name__} was fitted on "
            f"{labels.size}: pass the data it was fitted on."
        )
    weights = row_weights(sample_weight, labels.size)
    task = cut_task(matrix, weights, k)
    primal = cut_value(clusters_of(task, np.asarray(labels, dtype=np.int64)), task.coefs)
    kind, bound, rounding, certain = cut_bound(task, primal, weights, worth=0.0)
    if thorough and kind != "global":
        kept = task.weights > 0
        if int(kept.sum()) > _LARGE_CUT:
            _too_large(f"the graph has more than {_LARGE_CUT} nodes")
        else:
            points = _cut_points(task, kept)
            # The objective of the points and the cut differ by a constant of the graph.
            unit = points.unit
            shift = k - 1 - unit * points.total
            least = (primal - shift) / unit
            proof = prove(points, _compressed(labels[kept]), k, least, primal / unit).times(unit)
            if proof.lower + shift > bound:
                bound, rounding, certain = proof.lower + shift, proof.rounding, True
            kind = "global" if closes(primal, bound) else kind
    return Course(model, CUT_FORMULA).certificate(
        primal, min(bound, primal), kind, rounding, certain=certain
    )


def _cut_points(task: Task, kept: BoolArray) -> PairPoints:
    """The points Λ⁻¹φ(x) with the weights s∘Λ."""
    pairs: Any = task.pairs
    values = pairs.values if isinstance(pairs, DensePairs) else pairs.values.toarray()
    rows = np.flatnonzero(kept)
    # Weights about one: their unit is that of the points, so that neither overflows.
    unit = 2.0 ** (math.frexp(float(task.weights.max()))[1] // 2)
    ratios, weights = task.ratios[rows] * unit, task.weights[rows] / unit / unit
    return PairPoints(ratios[:, None] * values[np.ix_(rows, rows)] * ratios, weights)


def _certificate(
    model: Any,
    formula: str,
    primal: float,
    relaxed: TopSum,
    points: Points | None,
    labels: IntArray,
    k: int,
    thorough: bool,
    error: float = 0.0,
    lost: float = 0.0,
    *,
    equal: bool = False,
) -> Certificate:
    """The better of the two bounds; "global" if it closes, or if the points of clusters are equal.

    The ``error`` of inner products, of which objective and bounds are computed, is charged to both.
    ``lost`` is what every clustering loses besides, of which the bounds do not know.
    """
    primal += error
    kind: Kind = "relaxation"
    bound, rounding, certain = relaxed.discarded, relaxed.rounding, relaxed.certain
    if thorough:
        proof = _proved(points, labels, k)
        if proof.lower > bound:
            bound, rounding, certain = proof.lower, proof.rounding, True
    bound, rounding = max(bound + lost - error, 0.0), rounding + error
    if thorough and (equal or closes(primal, bound)):
        kind = "global"
    course = Course(model, formula)
    return course.certificate(
        primal, min(bound, primal), kind, rounding, relaxed.total, certain=certain
    )


def _have_equal_features(
    kernel: Kernel, X: Any, gram: Array | None, kept: BoolArray, labels: IntArray
) -> bool:
    """Whether the rows of every cluster are equal; of other than vectors, what the kernel tells.

    Values of equal rows may differ in their last bits, and values of unequal ones may not differ.
    """
    if isinstance(kernel, VectorKernel):
        return are_equal(X[kept], labels)
    if gram is None:
        return False
    some = gram[np.ix_(kept, kept)]
    first, own = np.unique(labels, return_index=True, return_inverse=True)[1:]
    to_first, squares = some[np.arange(labels.size), first[own.ravel()]], np.diag(some)
    return bool((squares == to_first).all() and (squares[first[own.ravel()]] == to_first).all())


def _proved(points: Points | None, labels: IntArray, k: int) -> Proof:
    if points is None:
        proof = Proof(-np.inf, 0.0, "the rows do not fit into memory as a dense matrix")
    else:
        labels = _compressed(labels)
        proof = prove(points, labels, k, objective(points, labels)).times(points.unit)
    if proof.remark:
        _too_large(proof.remark)
    return proof


def _too_large(why: str) -> None:
    warnings.warn(
        f"certify: thorough=True is left out, because {why}; the bound is that by eigenvalues.",
        stacklevel=5,
    )


def _assigned(X: Any, centres: Array, given: IntArray | None = None) -> tuple[IntArray, Array]:
    """The nearest (or given) centre of every row, its squared distance without cancellation."""
    n = X.shape[0]
    labels = Rows.of(X, None, Euclidean()).nearest(centres)[0] if given is None else given
    labels, squares = np.asarray(labels, dtype=np.int64), np.zeros(n)
    size = max(1, (1 << 22) // max(X.shape[1], 1))  # numbers; safeguard: memory
    for start in range(0, n, size):
        some = slice(start, min(start + size, n))
        part = X[some]
        dense = part.toarray() if sparse.issparse(part) else np.asarray(part, dtype=float)
        left = dense - centres[labels[some]]
        squares[some] = np.einsum("ij,ij->i", left, left)
    return labels, squares


def _compressed(labels: IntArray) -> IntArray:
    """Labels 0, 1, … without gaps."""
    return np.unique(labels, return_inverse=True)[1].ravel()
