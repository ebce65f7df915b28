r"""k nearest neighbours: the vote or the mean of the training rows that are nearest to a row.

Neighbours are found by scikit-learn's search structures, or by blocks of kernel values. A row of
weight s counts as s rows: the neighbours of x are the nearest rows whose weights add up to k, and
the last of them counts with what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._base.parameters import NamesParameters
from .._base.typing import AnyArray, Array, ArrayLike, IntArray
from .._base.wording import brief
from ..design import Design
from ..estimators.inputs import data
from ..estimators.inputs.matrix import matrix_of
from ..estimators.settings import check_whole
from ..estimators.summary import Summarised
from ..kernels.dissimilarity import dissimilarity_of
from ..kernels.rows import count, picked, summed
from .finite_squares import in_range
from .nearest_rows import NearestByKernel, NearestRows, inverse_distances
from .rows import rows_for

_ROWS = 4096  # rows whose neighbours are averaged together; safeguard of memory


class _Neighbours(NamesParameters, Summarised):
    """What the two predictors share: the search, and the weights of neighbours."""

    n_features_in_: int
    n_samples_fit_: int

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        distance: Any = "euclidean",
        kernel: Any = None,
        algorithm: str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.distance = distance
        self.kernel = kernel
        self.algorithm = algorithm

    # Fitting ---------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any, many: bool) -> AnyArray:
        """Keep the rows with a weight; y of these rows."""
        pairs = dissimilarity_of(self.distance, self.kernel)
        check_whole("n_neighbors", self.n_neighbors)
        if not callable(self.weights) and self.weights not in ("uniform", "distance"):
            raise ValueError(
                "weights must be 'uniform', 'distance' or a function of an array of distances, not "
                f"{brief(self.weights)}."
            )
        if self.algorithm not in ("auto", "ball_tree", "kd_tree", "brute"):
            raise ValueError(
                "algorithm must be 'auto', 'ball_tree', 'kd_tree' or 'brute', not "
                f"{brief(self.algorithm)}."
            )
        X, y = data.check_xy(self, X, y, many=many, mapped=not pairs.of_numbers)
        X = summed(matrix_of(X) if isinstance(X, Design) else X)
        if pairs.vectors and pairs.euclidean:
            X = in_range(X, reset=True)
        n = len(y)
        s = data.check_weights(sample_weight, n)
        self._used = np.arange(n) if s is None else np.flatnonzero(s > 0)
        self._mass = np.ones(n) if s is None else s[self._used]
        self._check_number()
        self._given = self.kernel is None and self.distance == "precomputed"
        if len(self._used) < n:
            X, y = picked(X, self._used), y[self._used]
            if self._given:
                X = X[:, self._used]
        self._votes_of = self.n_neighbors, self.weights
        self._pairs = pairs.fit(X, None if s is None else self._mass)
        self._search = self._structure(X) if pairs.vectors else NearestByKernel(pairs)
        self.n_samples_fit_ = len(self._used)
        return y

    def _check_number(self) -> None:
        """Refuse more neighbours than there are."""
        total = float(self._mass.sum())
        if self.n_neighbors <= total * (1 + 1e-12):
            return
        n = len(self._mass)
        if (self._mass == 1).all():
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is more than the n_samples={n} rows of X: pass a "
                "smaller n_neighbors."
            )
        raise ValueError(
            f"sample_weight adds up to {total:.3g}, less than n_neighbors={self.n_neighbors}: a "
            "weight counts how many rows a sample stands for, so multiply the weights."
        )

    def _structure(self, X: Any) -> NearestRows:
        """scikit-learn's search structure."""
        pairs: Any = self._pairs
        how = {"metric": pairs.name, "metric_params": pairs.parameters or None}
        return NearestRows(X, algorithm=self.algorithm, **how)

    # Searching -------------------------------------------------------------------------------

    def kneighbors(self, X: ArrayLike, n_neighbors: int | None = None) -> tuple[Array, IntArray]:
        """The distances and the numbers of the nearest training rows, the nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
        n_neighbors : int, optional
            How many; by default those of the constructor.

        Returns
        -------
        distances, indices : ndarray of shape (n_queries, n_neighbors)
        """
        check_is_fitted(self, "n_samples_fit_")
        own = self._votes_of[0]
        most = own if n_neighbors is None else check_whole("n_neighbors", n_neighbors)
        distances, places = self._search.find(self._new_rows(X), min(most, self.n_samples_fit_))
        return distances, self._used[places]

    def _votes(self, X: ArrayLike) -> Iterator[tuple[slice, IntArray, Array]]:
        """Some rows at a time: the places of their neighbours, and how much each counts."""
        check_is_fitted(self, "n_samples_fit_")
        X = self._new_rows(X)
        mass, n = self._mass, count(X)
        # The lightest rows show how many are enough whichever they are.
        asked = self._votes_of[0]
        enough = np.searchsorted(np.cumsum(np.sort(mass)), asked * (1 - 1e-12)) + 1
        k = min(int(enough), len(mass))
        for start in range(0, n, _ROWS):
            some = slice(start, min(start + _ROWS, n))
            distances, places = self._search.find(picked(X, some), k)
            before = np.cumsum(mass[places], axis=1) - mass[places]
            share = np.clip(asked - before, 0.0, mass[places])
            votes = share * self._weights_at(distances, share)
            yield some, places, votes / votes.sum(axis=1, keepdims=True)

    def _weights_at(self, distances: Array, share: Array) -> Array:
        """What a neighbour at a distance counts."""
        weights = self._votes_of[1]
        if callable(weights):
            found = np.asarray(weights(distances), dtype=float)
            if found.shape != distances.shape or not np.isfinite(found).all() or (found < 0).any():
                raise ValueError(
                    "the function weights must give a finite number ≥ 0 for every distance, in an "
                    "array of the same shape."
                )
            if (np.sum(found * share, axis=1) <= 0).any():
                raise ValueError("the function weights gives 0 for all neighbours of some row.")
            return found
        if weights == "uniform":
            return np.ones_like(distances)
        return inverse_distances(distances)

    def _new_rows(self, X: Any) -> Any:
        found = rows_for(self, X, of_numbers=self._pairs.of_numbers, reset=False)
        if self._pairs.vectors and self._pairs.euclidean:
            found = in_range(found, reset=False)
        return found[:, self._used] if self._given else found

    def _facts(self) -> dict[str, str]:
        if "n_samples_fit_" not in vars(self):
            return {}
        search: Any = self._search
        how = str(search.structure._fit_method) if isinstance(search, NearestRows) else "blocks"
        return {"rows": f"{self.n_samples_fit_}", "search": how.replace("_", " ")}

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted; X may be a matrix of distances."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.distance == "precomputed"
        return tags


class KNNClassifier(ClassifierMixin, _Neighbours):
    """Classification by a vote of the nearest training rows.

    Parameters
    ----------
    n_neighbors : int, default=5
    weights : {"uniform", "distance"} or callable, default="uniform"
        All neighbours count equally, or by the inverse of their distance (those at distance 0
        alone), or by a function of an array of distances.
    distance : str or callable, default="euclidean"
        A name that scipy knows ("manhattan", "cosine", …), a function of two rows, or
        "precomputed": X holds distances to the training rows.
    kernel : Kernel or str, optional
        Distances of the features of a kernel, √(k(x,x) + k(z,z) − 2k(x,z)), of rows of any kind.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute"}, default="auto"
        scikit-learn's search structure for vectors; a kernel compares all pairs, block by block.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_samples_fit_ : int
        Training rows with a weight.
    n_features_in_ : int

    Notes
    -----
    Nothing is fitted but the search structure, so there is no certificate. ``sample_weight`` counts
    rows, and the vote is the same as with copies: see `fit`.

    Examples
    --------
    >>> import minimand as mm
    >>> model = mm.KNNClassifier(3).fit([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [8.0]])
    array(['a', 'b'], dtype='<U1')
    >>> model.predict_proba([[0.5]])
    array([[0.666..., 0.333...]])
    """

    classes_: AnyArray

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Keep the training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or what ``kernel`` or a function ``distance`` takes.
        y : array-like of shape (n_samples,)
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows a sample stands for. Neighbours are the nearest samples whose weights add
            up to ``n_neighbors``; the last one counts with what is missing.
        """
        y = self._learn(X, y, sample_weight, many=False)
        data.check_labels(y, instead="KNNRegressor")
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """The share of the vote that every class has, a column each."""
        parts = []
        for some, places, votes in self._votes(X):
            rows = np.arange(some.stop - some.start)[:, None]
            found = np.zeros((len(rows), len(self.classes_)))
            np.add.at(found, (rows, self._codes[places]), votes)
            parts.append(found)
        return np.concatenate(parts)

    def predict(self, X: ArrayLike) -> AnyArray:
        """The class with most of the vote; of equal ones the first in ``classes_``."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


class KNNRegressor(RegressorMixin, _Neighbours):
    """Regression by the mean of the nearest training rows.

    Parameters and attributes are those of `KNNClassifier`, without ``classes_``; y may have several
    columns.

    Examples
    --------
    >>> import minimand as mm
    >>> model = mm.KNNRegressor(2).fit([[0.0], [1.0], [9.0]], [0.0, 2.0, 7.0])
    >>> model.predict([[0.2], [8.0]])
    array([1. , 4.5])
    >>> rbf = mm.KNNRegressor(2, kernel="rbf", weights="distance").fit([[0.0], [1.0]], [0.0, 1.0])
    >>> rbf.predict([[0.5]])
    array([0.5])
    """

    def __sklearn_tags__(self) -> Any:
        """Several outputs are accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Keep the training rows; the arguments are those of `KNNClassifier.fit`, y numbers."""
        y = self._learn(X, y, sample_weight, many=True)
        self._y = data.check_numbers(y)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The weighted mean of y over the neighbours of every row."""
        parts = []
        for _, places, votes in self._votes(X):
            parts.append(np.einsum("ij,ij...->i...", votes, self._y[places]))
        return np.concatenate(parts)
