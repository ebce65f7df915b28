"""`NormalizedCut`: clusters of a graph or a kernel with few edges between them, certified."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..._base.typing import Array, ArrayLike, BoolArray, IntArray
from ..._base.watch import undisturbed
from ...certificate import Certificate, Kind
from ...certificate.eigenvalues.relaxation import SIDE
from ...kernels import Precomputed
from ..base import Course, Limits, warn_of_duplicates
from ..components.conversions import kernel_from_reverse
from ..rows import refuse_rows_apart, row_weights, tell_kernel
from .affinities import affinity_of
from .alternation import Clusters, Task
from .base import KernelClusters
from .bounds import WORTH, of_cut
from .checks import check_clusters
from .pairs import DensePairs, SparsePairs
from .starts import note_eigenvectors

_FORMULA = "Σ cut(cluster, others)/vol(cluster)"
_ALIKE = 1e-12  # of sums of affinities, relative; safeguard: n·eps is their rounding, none cancel


class NormalizedCut(KernelClusters):
    r"""Cut a graph of affinities K into clusters, each with few edges to the others.

    .. math:: \min_Y \sum_j \frac{\text{cut}(j, \text{others})}{\text{vol}(j)}
        = k - \text{tr}\big((Y^\top \Lambda Y)^{-1} Y^\top K Y\big), \qquad \Lambda = \Delta(K 1)

    This is k-means of the points Λ⁻¹φ(x) with the weights Λ. It begins with the top eigenvectors of
    Λ^-½KΛ^-½, which solve the relaxed problem (spectral clustering ends there), and moves rows
    until no move of a single one lowers the cut. ``certificate_`` bounds how much lower any cut
    could be: by k minus the sum of the k largest eigenvalues. A new row x goes to the nearest
    centre, its affinities divided by their sum.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel : NeighborGraph, Kernel or str, default="neighbors"
        Affinities: of nearest neighbours ("neighbors" is ``NeighborGraph()``), or of all pairs by a
        kernel with values ≥ 0. With "precomputed", X itself is a symmetric matrix of affinities,
        dense or sparse, which need not be positive semidefinite.
    init : {"spectral", "k-means++", "random"} or array of labels, default="spectral"
    n_init : int, default=1
        Starts, of which the best result is kept.
    max_iter : int, default=300
    out_of_sample : {"centers", "regression"}, default="centers"
        How `predict` treats rows: the nearest centre; or the largest output of the regression
        A = Λ^½(Λ^-½KΛ^-½ + βI)⁻¹Λ^½Y, whose prediction is kᵀΛ⁻¹A/kᵀ1.
    beta : float, default=1e-3
    memory : float, optional
        Bytes for the affinities of all pairs; 2 GB by default.
    random_state : int, RandomState or None
    max_seconds, callbacks, verbose
        As in `minimand.Regressor`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    inertia_ : float
        The normalised cut. Rows with equal affinities have equal labels; if there are fewer
        different ones than clusters, some clusters are empty, and each of them counts 1, as in the
        trace above.
    affinity_matrix_ : ndarray or CSR matrix of shape (n_samples, n_samples)
    certificate_ : Certificate
        Of kind "relaxation"; "global" if no edge is cut.
    n_iter_ : int
        Steps, of which the last one found no row to move.
    history_ : History

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(300, noise=0.05, random_state=0)
    >>> model = mm.NormalizedCut(2, random_state=0).fit(X)
    >>> same = model.labels_ == moon
    >>> bool(same.all() or not same.any())
    True
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    _normalised = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "neighbors",
        init: Any = "spectral",
        n_init: int = 1,
        max_iter: int = 300,
        out_of_sample: str = "centers",
        beta: float = 1e-3,
        memory: float | None = None,
        **limits: Unpack[Limits],
    ) -> None: ...

    def _find(self, X: ArrayLike, sample_weight: ArrayLike) -> None:
        """Cut the graph of the rows."""
        self._check_parameters()
        affinity = affinity_of(self.kernel, self.memory)
        X = affinity.read(self, X, reset=True)
        n = int(_num_samples(X))
        weights = row_weights(sample_weight, n)
        k = check_clusters(self.n_clusters, n, weights)
        if self.out_of_sample == "regression" and affinity.graph:
            raise ValueError(
                "out_of_sample='regression' needs the affinities of all pairs: pass a kernel, or "
                "take out_of_sample='centers'."
            )
        with Course(self, _FORMULA, X, solver="alternation") as course:
            self._affinity = affinity.fitted(X, weights)
            self.affinity_matrix_ = self._affinity.matrix
            task = cut_task(self.affinity_matrix_, weights, k)
            found = self._search(task, course)
            with undisturbed():
                self._store(task, found, weights)
                self.certificate_ = self._certified(course, task, weights)
                self._store_history(course)
        distinct = np.unique(self._names).size
        if distinct < k:
            warn_of_duplicates(distinct, k)

    def _named(self, found: Clusters) -> IntArray:
        """Of clusters with one centre, the first: rows with equal affinities have equal labels.

        Joining them changes no term of k − tr((YᵀΛY)⁻¹YᵀKY), in which an empty cluster costs 1.
        Centres are equal if all rows have the same products with them. Nodes of a graph of
        neighbours are told apart by their rows, and need no equal labels.
        """
        names = super()._named(found)
        if self._affinity.finds_rows:
            return names
        means = found.sums / found.volumes
        for first, second in zip(*np.nonzero(_alike(self._norms[:, None], self._norms))):
            new = first < second and names[second] == second
            if new and _alike(means[:, first], means[:, second]).all():
                names[second] = names[first]
        return names

    def _store(self, task: Task, found: Clusters, weights: Array) -> None:
        self._store_centres(task, found)
        self._node_weights = weights
        self.inertia_ = cut_value(found, task.coefs)
        self._regression = None
        if self.out_of_sample == "regression":
            assert isinstance(task.pairs, DensePairs)
            scale, root = task.scale, np.sqrt(task.weights)
            square = task.pairs.values * np.outer(scale, scale)
            outputs = np.zeros((task.pairs.n, task.n_clusters))
            outputs[np.arange(task.pairs.n), self._names[found.labels]] = root
            coefs = kernel_from_reverse(square, outputs, beta=float(self.beta))
            self._regression = scale[:, None] * coefs

    def _certified(self, course: Course, task: Task, weights: Array) -> Certificate:
        found = course.within_limits(lambda: cut_bound(task, self.inertia_, weights))
        kind, bound, rounding, certain = found
        return course.certificate(self.inertia_, bound, kind, rounding, certain=certain)

    def predict(self, X: ArrayLike) -> IntArray:
        """The cluster of every row; a row equal to one of the fit of a graph gets its label."""
        check_is_fitted(self, "labels_")
        X = self._affinity.read(self, X, reset=False)
        columns = self.dual_coef_.T if self._regression is None else self._regression
        weights = self._node_weights
        products, equal = self._affinity.times(X, np.column_stack([columns, weights]))
        known = equal >= 0
        degrees = np.where(known, 1.0, products[:, -1])
        refuse_rows_apart(degrees, "cluster")
        ratios = 1.0 / degrees
        if self._regression is not None:
            return (products[:, :-1] * ratios[:, None]).argmax(axis=1).astype(np.int32)
        found = self._nearest(products[:, :-1], ratios)
        found[known] = self.labels_[equal[known]]
        return found

    def _task_again(self) -> Task:
        return cut_task(self.affinity_matrix_, self._node_weights, len(self.dual_coef_))

    def judged(self, X: ArrayLike, sample_weight: ArrayLike = None) -> Certificate:
        """The certificate of the clustering of these rows by the model, computed anew."""
        from ..proof.judged import of_cut

        check_is_fitted(self, "labels_")
        return of_cut(self, X, sample_weight, thorough=False)

    def __sklearn_tags__(self) -> Any:
        """What the affinities take."""
        tags = super().__sklearn_tags__()
        kernel = tell_kernel(tags, self.kernel)
        if isinstance(kernel, Precomputed):
            tags.input_tags.sparse = True
        return tags


def cut_task(matrix: Any, weights: Array, k: int) -> Task:
    """The normalised cut as weighted k-means: c = s, w = s∘Λ with Λ = Δ(Ks)."""
    pairs = SparsePairs(matrix) if sparse.issparse(matrix) else DensePairs(matrix)
    degrees = pairs.times(weights)
    if not (degrees[weights > 0] > 0).all():
        first = int(np.flatnonzero((weights > 0) & ~(degrees > 0))[0])
        raise ValueError(
            f"row {first} has no affinity to any row of positive weight: leave it out, or take a "
            "wider kernel or more neighbours."
        )
    return Task(pairs, weights, weights * degrees, k, float(k))


def _alike(a: Array, b: Array) -> BoolArray:
    """Where positive numbers are equal up to rounding."""
    return np.asarray(np.abs(a - b) <= _ALIKE * np.maximum(a, b))


def cut_value(found: Clusters, coefs: Array) -> float:
    """Σ cut/vol, from affinities between clusters alone; an empty cluster counts 1.

    k less what is within clusters is the same, but rounds weak links off.
    """
    rows, k = np.arange(found.labels.size), found.volumes.size
    across = found.sums.copy()
    across[rows, found.labels] = 0.0
    cuts = np.bincount(found.labels, weights=coefs * across.sum(axis=1), minlength=k)
    filled = found.volumes > 0
    return float((cuts[filled] / found.volumes[filled]).sum() + np.count_nonzero(~filled))


class CutBound(NamedTuple):
    """The kind of the certificate of a cut, and a lower bound of all cuts."""

    kind: Kind
    lower: float
    rounding: float
    certain: bool = True  # False if it rests on random vectors; see `Certificate`


def cut_bound(task: Task, value: float, weights: Array, *, worth: float = WORTH) -> CutBound:
    """A lower bound of all cuts, by eigenvalues; 0 if that is sure to be below worth·value.

    Of a graph whose eigenvalues are not all computed it begins with eigenvectors, those of the
    spectral start: from random columns it ends further from the eigenvalues.
    """
    rounding = 16 * float(np.finfo(float).eps) * task.n_clusters
    if value == 0 or task.n_clusters == 1:
        return CutBound("global", 0.0, rounding)  # no cut is negative
    if task.pairs.components().max() + 1 >= task.n_clusters:
        return CutBound("relaxation", 0.0, rounding)
    assert isinstance(task.pairs, DensePairs | SparsePairs)
    kept = weights > 0
    matrix, s = task.pairs.values, weights
    if not kept.all():
        matrix, s = matrix[kept][:, kept], weights[kept]
    if "eigenvectors" not in task.notes and matrix.shape[0] > SIDE:
        note_eigenvectors(task)
    near = task.notes.get("eigenvectors")
    near = None if near is None else near[kept]
    top = of_cut(matrix, s, task.n_clusters, value, near, worth=worth)
    if top is None:
        return CutBound("relaxation", 0.0, rounding)
    return CutBound("relaxation", min(top.discarded, value), top.rounding, top.certain)
