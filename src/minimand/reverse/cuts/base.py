"""What kernel k-means and the normalised cut share: their search, and their answer for new rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..._base.linear_system import EPS
from ..._base.parameters import check_count
from ..._base.typing import Array, IntArray
from ..._base.watch import undisturbed
from ...estimators.settings import check_real
from ...kernels import REGISTRY as KERNELS
from ...kernels import Kernel
from ..base import Course, FitsRows
from ..pictures import check_picture, silhouettes
from .alternation import Clusters, Task, alternate, clusters_of, filled, in_order, seeded
from .starts import in_few_groups, spectral_starts, two_directions

_INITS = ("spectral", "k-means++", "random")
_OUT_OF_SAMPLE = ("centers", "regression")
_ULPS = 4.0  # of inner products with centres; safeguard: sums in another order differ by fewer


class KernelClusters(ClusterMixin, FitsRows):
    """Base of the estimators that cluster rows by a matrix of pairs."""

    n_clusters: int
    kernel: Any
    init: Any
    n_init: int
    max_iter: int
    out_of_sample: str
    beta: float
    memory: float | None

    labels_: IntArray
    inertia_: float

    _normalised = False  # whether the points are those of the normalised cut

    def _check_parameters(self) -> None:
        """Refuse parameters outside their range, each in one sentence."""
        self._check_limits()
        for name in ("n_init", "max_iter"):
            check_count(self, name)
        if isinstance(self.init, str) and self.init not in _INITS:
            raise ValueError(
                f"init must be one of {list(_INITS)}, or an array with a label for every row, not "
                f"{self.init!r}."
            )
        if self.out_of_sample not in _OUT_OF_SAMPLE:
            raise ValueError(
                f"out_of_sample must be one of {list(_OUT_OF_SAMPLE)}, not {self.out_of_sample!r}."
            )
        if check_real("beta", self.beta, low=0.0) == 0 and self.out_of_sample == "regression":
            raise ValueError("beta must be above 0 for out_of_sample='regression'.")

    def _search(self, task: Task, course: Course) -> Clusters:
        """The best clustering of some starts, with its history in the course."""
        rng = check_random_state(self.random_state)
        best: Clusters | None = None
        for labels in self._starts(task, rng):
            before = course.history
            course.restart()
            steps = islice(alternate(task, labels), int(self.max_iter) + 1)
            found = course.follow((step, step.value, -np.inf) for step in steps)
            if best is not None and best.value <= found.value:
                course.history = before
            else:
                best = found
            if course.stopped_by:
                break
        assert best is not None
        if course.iterations >= self.max_iter:
            course.ends_at(f"max_iter={self.max_iter}")
        labels = in_order(task, best.labels) if isinstance(self.init, str) else best.labels
        with undisturbed():
            return clusters_of(task, labels)  # sums without the rounding of many updates

    def _starts(self, task: Task, rng: Any) -> Iterator[IntArray]:
        """Labels to begin with, n_init times."""
        n, k = task.pairs.n, task.n_clusters
        if k == 1:
            yield np.zeros(n, dtype=np.int64)
            return
        if not isinstance(self.init, str):
            yield self._given_labels(n)
            return
        if self._normalised:
            whole = in_few_groups(task, task.pairs.components())
            if whole is not None:
                yield whole
                return
        if self.init == "spectral":
            yield from islice(
                spectral_starts(task, rng, normalised=self._normalised), int(self.n_init)
            )
            return
        for _ in range(int(self.n_init)):
            plus = self.init == "k-means++"
            yield seeded(task, rng) if plus else filled(task, rng.randint(k, size=n))

    def _given_labels(self, n: int) -> IntArray:
        labels = np.asarray(self.init)
        if labels.shape != (n,) or labels.dtype.kind not in "iub":
            raise ValueError(
                f"init must hold one whole number for each of the {n} rows, the cluster in which "
                f"it begins, but its shape is {labels.shape} and its type {labels.dtype}."
            )
        if labels.min() < 0 or labels.max() >= self.n_clusters:
            raise ValueError(
                f"init must hold clusters from 0 to n_clusters − 1 = {self.n_clusters - 1}, but "
                f"it holds {labels.min()} to {labels.max()}."
            )
        return labels.astype(np.int64)

    def _store_centres(self, task: Task, found: Clusters) -> None:
        """Labels, and the centres as sums over rows: Σᵢ dual_coef[j, i]·φ(xᵢ)."""
        n = task.pairs.n
        self.dual_coef_ = np.zeros((task.n_clusters, n))
        self.dual_coef_[found.labels, np.arange(n)] = task.coefs / found.volumes[found.labels]
        self._norms = found.inner / found.volumes**2
        self._names = self._named(found)
        self.labels_ = self._names[found.labels]
        # Rows without weight have not been moved. Of points that are known to be vectors, all rows
        # are asked for as `predict` is: rounding cannot tell some centres apart.
        asked = np.flatnonzero((task.weights == 0) | (not self._normalised))
        sums = found.sums[asked]
        ratios: Array | float = 1.0
        if self._normalised:
            degrees = sums.sum(axis=1)
            ratios = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
        self.labels_[asked] = self._nearest(sums / found.volumes, ratios)

    def _store_history(self, course: Course) -> None:
        """The steps of the search, which ends with what the certificate says."""
        self.n_iter_, self.history_ = course.iterations + 1, course.history
        self.history_.end(self.inertia_, self.certificate_.dual, self.certificate_.gap)

    def _named(self, found: Clusters) -> IntArray:
        """What each cluster is called: by its number."""
        return np.arange(found.volumes.size, dtype=np.int32)

    def _nearest(self, products: Array, ratios: Array | float = 1.0) -> IntArray:
        """The nearest centre, from the inner products of rows with all of them.

        Of those that rounding cannot tell apart, the first, however the products were summed.
        """
        near = np.asarray(ratios).reshape(-1, 1) * products
        far = self._norms - 2.0 * near
        noise = _ULPS * EPS * (self._norms.max() + 2.0 * np.abs(near).max(axis=1, initial=0.0))
        tied = far <= (far.min(axis=1) + noise)[:, None]
        return self._names[tied.argmax(axis=1)]

    def _task_again(self) -> Task:
        """The task of the fit, from what the fit has stored."""
        raise NotImplementedError

    def _kernel_of_pairs(self) -> Kernel | None:
        """The kernel whose distances tell clusters apart; None for a graph of neighbours."""
        kernel: Any = self.kernel
        known = isinstance(kernel, Kernel) or kernel in KERNELS.classes
        return KERNELS.get(kernel) if known else None

    def _places(self) -> Array:
        """The rows of the fit on the second and third direction of the relaxed problem, (n, 2)."""
        return two_directions(self._task_again(), normalised=self._normalised)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Cluster the rows and return ``labels_``."""
        return np.asarray(self.fit(X, sample_weight=sample_weight).labels_)

    def plot(self, X: Any = None, ax: Any = None, *, kind: str = "clusters") -> Any:
        """Draw the rows on the first two directions of the relaxed problem, coloured by cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            The rows of the fit: they are drawn themselves, or on two principal components.
        ax : matplotlib Axes, optional
        kind : {"clusters", "silhouettes"}, default="clusters"
            "silhouettes" draws how much nearer each row of X is to its own cluster than to the next
            one, by the distances of the kernel.

        Returns
        -------
        matplotlib Axes
        """
        from ...report.clusters import plot_clusters

        check_is_fitted(self, "labels_")
        check_picture(self, X, kind, kept=True)
        found = self.certificate_
        known = "proved optimal" if found.kind == "global" else f"none is below {found.dual:.4g}"
        what = f"{type(self).__name__}.plot"
        title = f"objective {found.primal:.4g}, {known}"
        if X is None and kind == "silhouettes":
            raise ValueError("kind='silhouettes' needs X, the rows of the fit.")
        if X is None:
            places = self._places()
            return plot_clusters(places, self.labels_, embedded=True, title=title, what=what, ax=ax)
        if _num_samples(X) != self.labels_.size:
            raise ValueError(
                f"X must hold the {self.labels_.size} rows of the fit, but has {_num_samples(X)}."
            )
        if kind == "silhouettes":
            return silhouettes(X, self.labels_, what, kernel=self._kernel_of_pairs(), ax=ax)
        return plot_clusters(X, self.labels_, title=title, what=what, ax=ax)
