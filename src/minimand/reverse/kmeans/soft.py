"""`SoftKMeans`: every row belongs to all clusters, with shares that sum to one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..._base.linear_system import EPS
from ..._base.typing import AnyArray, Array, ArrayLike
from ..._base.watch import look, undisturbed
from ...certificate import Certificate
from ...estimators.inputs import data
from ...estimators.settings import check_real, check_whole
from ..base import Course, FitsRows, Limits
from ..pictures import check_picture, clusters_of_rows
from .bound import lower_bound
from .distances import REGISTRY
from .rows import Rows, rows_of_fit
from .seeding import check_init, start_of

_BLOCK = 1 << 18  # distances of a temporary, 2 MB; safeguard: fits a cache
_ELSEWHERE = {
    **dict.fromkeys(("k", "n_components"), "n_clusters=…"),
    **dict.fromkeys(("m", "fuzziness"), "exponent=…"),
    **dict.fromkeys(("beta", "stiffness"), "temperature=1/beta"),
}


class Form(NamedTuple):
    """How shares y and costs of a row follow from its squared distances d."""

    name: str
    number: float  # the temperature τ, or the exponent m

    @property
    def words(self) -> str:
        """The objective as a formula."""
        if self.name == "gaussian":
            return f"Σ s·Σ_c y·‖x − c‖² + {self.number:g}·y·log y"
        return f"Σ s·Σ_c y^{self.number:g}·‖x − c‖²"

    def shares(self, d: Array) -> tuple[Array, Array]:
        """The best shares of rows, a row of numbers that sum to one each, and their costs.

        Gaussian: y ∝ e^(−d/τ), at a cost of −τ·log Σ e^(−d/τ). Fuzzy: y ∝ d^(−1/(m − 1)), at a
        cost of (Σ d^(−1/(m − 1)))^(1 − m); a row on a centre belongs to that centre.
        """
        least = d.min(axis=1, keepdims=True)
        if self.name == "gaussian":
            y = np.exp((least - d) / self.number)
            total = y.sum(axis=1, keepdims=True)
            return y / total, (least - self.number * np.log(total))[:, 0]
        # Distances in units of the least one, so that no power overflows.
        ratio = np.divide(least, d, out=np.ones_like(d), where=d > 0)
        y = ratio ** (1.0 / (self.number - 1.0))
        total = y.sum(axis=1, keepdims=True)
        return y / total, (least * total ** (1.0 - self.number))[:, 0]

    def pull(self, y: Array) -> Array:
        """The weights of rows in the means that are the best centres."""
        return y if self.name == "gaussian" else y**self.number

    def bound(self, hard: float, k: int, total: float) -> float:
        """A lower bound of the objective, from one of hard k-means.

        −τ·log Σ e^(−d/τ) ≥ min d − τ·log k; (Σ d^(−1/(m − 1)))^(1 − m) ≥ k^(1 − m)·min d.
        """
        if self.name == "gaussian":
            return hard - total * self.number * float(np.log(k))
        return hard * float(k) ** (1.0 - self.number)


class SoftKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, FitsRows):
    r"""Soft k-means: shares Y ≥ 0 with rows that sum to one in place of labels.

    .. math:: \min_{Y, U} \sum_i s_i \sum_c y_{ic} \|x_i - u_c\|^2 + \tau\, y_{ic} \log y_{ic}

    in the form "gaussian" (a mixture of Gaussians of variance τ/2 in equal shares), and with
    y^m in place of y and no entropy in the form "fuzzy" (fuzzy c-means). Shares and centres are
    minimised in turn, so that the objective never rises. As τ → 0 or m → 1, both become `KMeans`.

    Parameters
    ----------
    n_clusters : int, default=8
    form : {"gaussian", "fuzzy"}, default="gaussian"
    temperature : float, optional
        τ > 0 of "gaussian", in units of squared distances; by default twice the variance by column
        within the clusters of the start.
    exponent : float, default=2.0
        m > 1 of "fuzzy".
    init : as in `KMeans`, default="k-means++"
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this share of the objective of one
        cluster.
    max_iter : int, optional
        The largest number of iterations; a fit that needs more warns.
    max_seconds, random_state, callbacks, verbose : as in `KMeans`

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    labels_ : ndarray of shape (n_samples,)
        The cluster with the largest share.
    temperature_ : float
        τ of "gaussian".
    inertia_ : float
        The objective.
    n_iter_, history_ : int, History
    certificate_ : Certificate
        Of kind "relaxation": the bound of `KMeans`, less τ·log k for every sample, or times
        k^(1 − m).

    Examples
    --------
    >>> import minimand as mm
    >>> model = mm.SoftKMeans(2, temperature=2.0, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> model.predict_proba([[5.0]]).round(3)                                # halfway between
    array([[0.5, 0.5]])
    >>> model.labels_[0] == model.labels_[1] != model.labels_[2]
    np.True_
    """

    _elsewhere: ClassVar[dict[str, str]] = _ELSEWHERE

    cluster_centers_: Array
    labels_: AnyArray
    inertia_: float
    temperature_: float

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        form: str = "gaussian",
        temperature: float | None = None,
        exponent: float = 2.0,
        init: Any = "k-means++",
        tol: float = 1e-6,
        max_iter: int | None = None,
        **limits: Unpack[Limits],
    ) -> None: ...

    def _find(self, X: ArrayLike, sample_weight: ArrayLike) -> None:
        """Find the clusters."""
        self._check_parameters()
        rows = rows_of_fit(self, X, sample_weight, REGISTRY.get("euclidean"))
        start = start_of(self.init, self.n_clusters, rows.shape[1])
        centers = start(rows, self.n_clusters, check_random_state(self.random_state))
        form = self._formed(rows, centers)
        with Course(self, form.words, rows.as_passed, solver=form.name) as course:
            scale = _of_one_cluster(rows)
            centers, primal = course.follow(self._steps(course, rows, form, centers, scale))
            with undisturbed():
                self._form, self._n_features_out = form, len(centers)
                self.cluster_centers_, self.n_iter_ = rows.as_given(centers), course.iterations
                self._middle = rows.middle
                self.labels_ = self._shares(rows).argmax(axis=1)
                self.inertia_ = primal
                if form.name == "gaussian":
                    self.temperature_ = form.number
                self.history_ = course.history
                passes = course.iterations + 1.0
                self.certificate_ = _certified(course, rows, form, centers, primal, scale, passes)
                self.history_.end(primal, self.certificate_.dual, self.certificate_.gap)

    def _steps(
        self, course: Course, rows: Rows, form: Form, centers: Array, scale: float
    ) -> Iterator[tuple[tuple[Array, float], float, float]]:
        """Shares and centres in turn, until the objective falls by too little."""
        last, step = np.inf, 0
        with undisturbed():  # so that there is a model, whatever the limit
            primal, sums, masses = _pass(rows, form, centers)
        while True:
            primal = min(primal, last)
            yield (centers, primal), primal, -np.inf
            if last - primal <= self.tol * scale:
                return
            if self.max_iter is not None and step >= self.max_iter:
                course.ends_at(f"max_iter={self.max_iter}")
                return
            last, step = primal, step + 1
            filled = masses > 0
            centers = centers.copy()
            centers[filled] = sums[filled] / masses[filled, None]
            primal, sums, masses = _pass(rows, form, centers)

    def _check_parameters(self) -> None:
        self._check_limits()
        check_whole("n_clusters", self.n_clusters)
        if self.form not in ("gaussian", "fuzzy"):
            raise ValueError(f"form={self.form!r} is not known: pass 'gaussian' or 'fuzzy'.")
        if self.temperature is not None:
            check_real("temperature", self.temperature, 0.0, above=True)
        check_real("exponent", self.exponent, 1.0, above=True)
        check_init(self.init, self.n_clusters)

    def _formed(self, rows: Rows, centers: Array) -> Form:
        """The form with its number; the default temperature is 2σ² within the first clusters."""
        if self.form == "fuzzy":
            return Form("fuzzy", float(self.exponent))
        if self.temperature is not None:
            return Form("gaussian", float(self.temperature))
        spread = rows.weighed(rows.nearest(centers)[1]) / (rows.total * rows.shape[1])
        return Form("gaussian", 2.0 * spread if spread > 0 else 1.0)

    def _new(self, X: ArrayLike, sample_weight: ArrayLike = None) -> Rows:
        check_is_fitted(self)
        X = data.check_x(self, X)
        weights = data.check_weights(sample_weight, X.shape[0])
        return Rows.of(X, weights, REGISTRY.get("euclidean"))

    def _shares(self, rows: Rows) -> Array:
        centers = rows.shifted(self.cluster_centers_)
        found = [
            self._form.shares(_squared(block, centers, self._middle))[0]
            for block in _blocks(rows.X, len(centers))
        ]
        return np.concatenate(found)

    def predict_proba(self, X: ArrayLike) -> Array:
        """The shares Y of rows in the clusters: ≥ 0, each row sums to one."""
        return self._shares(self._new(X))

    def predict(self, X: ArrayLike) -> AnyArray:
        """The cluster with the largest share, which is the nearest centre."""
        return self.predict_proba(X).argmax(axis=1)

    def transform(self, X: ArrayLike) -> Array:
        """The shares, as `predict_proba`."""
        return self.predict_proba(X)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike = None) -> float:
        """The objective on other data with their best shares, negative so that more is better."""
        rows = self._new(X, sample_weight)
        return -_pass(rows, self._form, rows.shifted(self.cluster_centers_))[0]

    def plot(self, X: ArrayLike = None, ax: Any = None, *, kind: str = "clusters") -> Any:
        """Draw rows, coloured by the cluster of their largest share; ``kind`` as in `KMeans`."""
        check_picture(self, X, kind)
        rows, centers = self._new(X), self.cluster_centers_
        labels = self._shares(rows).argmax(axis=1)
        return clusters_of_rows(
            rows.as_passed, labels, centers, "SoftKMeans.plot", kind=kind, ax=ax
        )

    def judged(self, X: ArrayLike, sample_weight: ArrayLike = None) -> Certificate:
        """The certificate of the centres on these rows with their best shares, computed anew."""
        rows = self._new(X, sample_weight)
        centers = rows.shifted(self.cluster_centers_)
        primal = _pass(rows, self._form, centers)[0]
        course = Course(self, self._form.words)
        return _certified(course, rows, self._form, centers, primal, _of_one_cluster(rows))


def _certified(
    course: Course,
    rows: Rows,
    form: Form,
    centers: Array,
    primal: float,
    scale: float,
    passes: float = math.inf,
) -> Certificate:
    """The certificate, by the bound of hard clusters carried over to soft ones.

    ``passes`` over rows and centres are what the clusters cost; the bound is to cost no more.
    """
    k = len(centers)
    hard, rounding, certain = course.within_limits(lambda: lower_bound(rows, k, passes))
    error = _rounding(rows, centers)
    bound = form.bound(hard, k, rows.total) - error
    return course.certificate(primal, bound, "relaxation", rounding + error, scale, certain=certain)


def _pass(rows: Rows, form: Form, centers: Array) -> tuple[float, Array, Array]:
    """The objective at the best shares, and the sums and masses of the next centres."""
    k = len(centers)
    sums, masses = np.zeros(centers.shape), np.zeros(k)
    costs = np.empty(rows.shape[0])
    start = 0
    for block in _blocks(rows.X, k):
        look()
        part = slice(start, start + block.shape[0])
        y, costs[part] = form.shares(_squared(block, centers, rows.middle))
        pull = form.pull(y)
        if rows.weights is not None:
            pull = pull * rows.weights[part, None]
        sums += _weighted(block, pull)
        masses += pull.sum(axis=0)
        start += block.shape[0]
    return rows.weighed(costs), sums, masses


def _blocks(X: Any, k: int) -> Iterator[Any]:
    """Runs of rows whose distances from k centres are few."""
    size = max(_BLOCK // k, 1)
    return (X[start : start + size] for start in range(0, X.shape[0], size))


def _squared(block: Any, centers: Array, middle: Array) -> Array:
    """‖x − c‖² in double precision; dense rows are moved by their mean, so that little cancels."""
    block = block.astype(np.float64, copy=False)
    if middle.size and not sparse.issparse(block):
        block, centers = block - middle, centers - middle
    return np.asarray(euclidean_distances(block, centers, squared=True))


def _weighted(X: Any, pull: Array) -> Array:
    """Σ pull·x by cluster."""
    return np.asarray((X.T @ pull).T, dtype=float)


def _of_one_cluster(rows: Rows) -> float:
    """Σ s‖x − x̄‖², the objective of one cluster."""
    weights = _all_ones(rows)
    mean = _weighted(rows.X, weights).ravel() / rows.total
    return _around(rows, mean, weights[:, 0])


def _around(rows: Rows, point: Array, weights: Array) -> float:
    """Σ s‖x − point‖²."""
    return float(weights @ _squared(rows.X, point[None, :], rows.middle)[:, 0])


def _rounding(rows: Rows, centers: Array) -> float:
    """Of the objective, whose distances are differences of numbers of the size of ‖x − middle‖²."""
    middle = rows.middle if rows.middle.size else np.zeros(rows.shape[1])
    sizes = _around(rows, middle, _all_ones(rows)[:, 0])
    far = float(np.square(centers - middle).sum(axis=1).max())
    return 8.0 * EPS * (sizes + rows.total * far)


def _all_ones(rows: Rows) -> Array:
    return rows.masses[:, None]
