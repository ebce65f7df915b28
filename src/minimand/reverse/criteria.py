"""Criteria for the number of clusters: what to compute for every k, and which k to choose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._base.typing import Array, IntArray
from ..features.low_rank import MEMORY
from ..kernels.rows import matrix
from ..metrics.silhouettes import silhouette
from .hierarchy.nearest import means
from .proof.closed_form import best_point
from .proof.points import RowPoints, are_equal
from .proof.prove import closes

_LARGEST_SIDE = 2000  # columns whose principal axes are found; safeguard: a second or two
_NOTHING = 1e-14  # of the sum of squares of all samples; safeguard: less is rounding


class Criterion(ABC):
    """A criterion: some computations for every k, a value of their results, and a choice."""

    least = 1  # k below it have no value
    parts = 1  # computations for every k; the first one fits the model

    def __init__(
        self, X: Any, estimator: Any, ks: IntArray, n_references: int, rule: str, random_state: Any
    ) -> None:
        self.X, self.ks = X, ks
        self.estimator = clusterer(self.default() if estimator is None else estimator)
        self.rule = rule
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        self.prepare(n_references)

    @staticmethod
    def default() -> Any:
        """The clusterer if none is given."""
        from .kmeans.estimator import KMeans

        return KMeans(n_init=5)

    def prepare(self, n_references: int) -> None:  # noqa: B027
        """Compute what all k share; nothing by default."""

    def compute(self, k: int, part: int) -> Any:
        """Computation ``part`` for k; 0 is the model of the data."""
        return self.fitted(k)

    def fitted(self, k: int, X: Any = None, seed: int = 0) -> Any:
        """The clusterer with k clusters, fitted to the data or to other rows."""
        model = clone(self.estimator).set_params(n_clusters=int(k))
        if "random_state" in model.get_params() and model.random_state is None:
            model.set_params(random_state=(self._seed + seed) % (2**31))
        return model.fit(self.X if X is None else X)

    @abstractmethod
    def value(self, k: int, results: list[Any]) -> tuple[float, float]:
        """The value of k and its standard error (NaN without one), from its computations."""

    def choice(self, values: Array, errors: Array) -> int:
        """The place of the chosen k among those with a value; by default that of the largest."""
        return int(np.nanargmax(values))

    def model(self, k: int, results: list[Any]) -> Any:
        """The fitted clusterer with the chosen number of clusters."""
        return results[0]


class Gap(Criterion):
    """The gap statistic: log W of uniform points minus log W of the data."""

    def prepare(self, n_references: int) -> None:
        """The box of the data along its principal axes."""
        self.parts = 1 + int(n_references)
        X = matrix(self.X)
        if sparse.issparse(X):
            raise ValueError(
                "criterion='gap' compares with points all over the box of X, which cannot be "
                "sparse: pass X.toarray(), or criterion='silhouette'."
            )
        self._mean = X.mean(axis=0, dtype=float)
        centred = X - self._mean
        self._axes = None
        if X.shape[1] <= _LARGEST_SIDE:
            self._axes = np.linalg.eigh(centred.T @ centred)[1]
            centred = centred @ self._axes
        self._low, self._high = centred.min(axis=0), centred.max(axis=0)
        self._shape, self._total = X.shape, float(np.sum(np.square(centred)))

    def compute(self, k: int, part: int) -> Any:
        """The model of the data, or log W of a reference."""
        if part == 0:
            return self.fitted(k)
        points = self.reference(part)
        return self._log(within(points, self.fitted(k, points, part).labels_))

    def reference(self, number: int) -> Array:
        """Uniform points in the box; the same for every k."""
        random = np.random.default_rng([self._seed, number])
        points = random.uniform(self._low, self._high, self._shape)
        return self._mean + (points if self._axes is None else points @ self._axes.T)

    def value(self, k: int, results: list[Any]) -> tuple[float, float]:
        """gap(k) and s(k)."""
        own = self._log(within(matrix(self.X), results[0].labels_))
        references = np.array(results[1:])
        error = float(np.std(references)) * np.sqrt(1.0 + 1.0 / len(references))
        return float(references.mean()) - own, float(error)

    def choice(self, values: Array, errors: Array) -> int:
        """The least k with gap(k) ≥ gap(k + 1) − s(k + 1); the largest gap if there is none."""
        known = np.flatnonzero(np.isfinite(values))
        if self.rule == "global":
            best = super().choice(values, errors)
            near = known[values[known] >= values[best] - errors[best]]
            return int(near[0])
        for here, after in pairwise(known):
            if values[here] >= values[after] - errors[after]:
                return int(here)
        return super().choice(values, errors)

    def _log(self, squares: float) -> float:
        """The logarithm; NaN if nothing but rounding is left, as then no gap is defined."""
        return float(np.log(squares)) if squares > _NOTHING * self._total else float("nan")


class Silhouette(Criterion):
    """The mean silhouette."""

    least = 2

    def value(self, k: int, results: list[Any]) -> tuple[float, float]:
        """The mean silhouette, with the distances of the clusterer's kernel if it has one."""
        labels, kernel = results[0].labels_, getattr(self.estimator, "kernel", None)
        if len(np.unique(labels)) < 2:
            return float("nan"), float("nan")
        kernel = None if isinstance(kernel, str) and kernel == "neighbors" else kernel
        return silhouette(self.X, labels, kernel=kernel), float("nan")


class Eigengap(Criterion):
    """The fall of the eigenvalues of Λ^-½KΛ^-½ after the k-th."""

    @staticmethod
    def default() -> Any:
        """Affinities of nearest neighbours."""
        from .cuts.normalized_cut import NormalizedCut

        return NormalizedCut()

    def prepare(self, n_references: int) -> None:
        """The eigenvalues."""
        from ..certificate.eigenvalues.relaxation import top_of_normalised
        from .cuts.affinities import affinity_of

        affinity = affinity_of(getattr(self.estimator, "kernel", None) or "neighbors", None)
        X = affinity.read(clone(self.estimator), self.X, reset=True)
        largest = int(self.ks.max()) + 1
        found = top_of_normalised(affinity.fitted(X).matrix, largest, random_state=self._seed)
        self.eigenvalues = np.concatenate([found.values, np.zeros(largest)])

    def compute(self, k: int, part: int) -> Any:
        """Nothing."""
        return None

    def value(self, k: int, results: list[Any]) -> tuple[float, float]:
        """λ_k − λ_{k+1}."""
        return float(self.eigenvalues[k - 1] - self.eigenvalues[k]), float("nan")

    def model(self, k: int, results: list[Any]) -> Any:
        """Fitted now."""
        return self.fitted(k)


class Proof(Criterion):
    """The lower bound divided by the objective: 1 where the clustering is proved optimal."""

    least = 2

    def value(self, k: int, results: list[Any]) -> tuple[float, float]:
        """The larger of the bounds of the certificate and, of vectors, of the closed form."""
        model = results[0]
        if len(np.unique(model.labels_)) < k:  # fewer different rows than clusters
            return float("nan"), float("nan")
        ratio = _proved_share(getattr(model, "certificate_", None))
        if getattr(self.estimator, "kernel", None) is None:
            ratio = float(np.fmax(ratio, _closed_form(matrix(self.X), model.labels_)))
        elif np.isnan(ratio):
            raise ValueError(
                "criterion='certificate' needs a clusterer with a certificate, but "
                f"{type(self.estimator).__name__} has none: take minimand.KMeans."
            )
        return ratio, float("nan")

    def choice(self, values: Array, errors: Array) -> int:
        """The largest k whose clustering is proved optimal; if none is, the largest share."""
        proved = np.flatnonzero(values >= 1.0)
        return int(proved[-1]) if len(proved) else super().choice(values, errors)


def _proved_share(certificate: Any) -> float:
    """Bound divided by objective; NaN without a bound."""
    if certificate is None or not np.isfinite(certificate.dual):
        return float("nan")
    return _share(certificate.primal, certificate.dual)


def _closed_form(X: Any, labels: IntArray) -> float:
    """The bound of the closed form, divided by the sum of squares; 0 if X is too large for it."""
    if 8.0 * X.shape[0] * X.shape[1] > MEMORY:
        return 0.0
    rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    _, member = np.unique(labels, return_inverse=True)
    if are_equal(rows, member):
        return 1.0
    squares = within(rows, member)
    points = RowPoints(rows, np.ones(len(rows)))
    found = best_point(points, member, int(member.max()) + 1)
    if found is None:
        return 0.0
    return _share(squares, max(points.unit * found.lower, 0.0))


def _share(primal: float, bound: float) -> float:
    """Bound divided by objective; 1 where the gap counts as none, 0 where there is no objective."""
    if closes(primal, bound):
        return 1.0
    return bound / primal if primal > 0 else 0.0


CRITERIA: dict[str, type[Criterion]] = {
    "gap": Gap,
    "silhouette": Silhouette,
    "eigengap": Eigengap,
    "certificate": Proof,
}


def clusterer(found: Any) -> Any:
    """The clusterer, checked."""
    if isinstance(found, type) or not hasattr(found, "get_params"):
        raise TypeError(f"estimator must be a clusterer such as minimand.KMeans(), not {found!r}.")
    if "n_clusters" not in found.get_params():
        raise ValueError(f"estimator={found!r} has no parameter n_clusters: take a clusterer.")
    return found


def within(X: Any, labels: IntArray) -> float:
    """W, the sum of squared distances to the means of clusters."""
    _, member = np.unique(labels, return_inverse=True)
    centers = means(X, member)
    return float(sum(np.sum(np.square(X[member == c] - centers[c])) for c in range(len(centers))))
