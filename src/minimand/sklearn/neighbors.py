"""KNeighborsClassifier and KNeighborsRegressor of scikit-learn, with kernels as metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn import neighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.parameters import merge_nested
from .._base.typing import AnyArray, Array, ArrayLike, IntArray
from ..design import Design
from ..estimators.inputs.data import check_xy
from ..estimators.inputs.kinds import refuse_texts
from ..estimators.inputs.matrix import matrix_of
from ..estimators.settings import check_whole
from ..kernels import Kernel
from ..kernels.dissimilarity import dissimilarity_of
from ..kernels.rows import count, summed
from ..reverse.nearest_rows import (
    NearestByKernel,
    NearestRows,
    far_middle,
    inverse_distances,
)
from ..reverse.rows import rows_for, tell_kernel
from .parameters import ReadsParameters


class _Nearest(ReadsParameters):
    """Mixin in front of a class of scikit-learn, whose search finds neighbours where it can.

    Two searches are ours: by a kernel; and of dense rows far from zero whose distances come from
    products, in which digits would cancel.
    """

    _near: NearestRows | NearestByKernel | None = None

    def set_params(self: Any, **params: Any) -> Any:
        """Set parameters by name; a kernel whose own ones are set is replaced by a changed copy."""
        nested = any(name.startswith("metric__") for name in params)
        if nested and isinstance(params.get("metric", self.metric), Kernel):
            params = merge_nested(self, params)
        return super().set_params(**params)  # type: ignore[misc]

    def fit(self: Any, X: Any, y: Any) -> Any:
        """Keep the training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or distances of all pairs with ``metric="precomputed"``; or rows of any kind that the
            kernel takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        """
        self._near = None
        if isinstance(self.metric, Kernel):
            return self._fit_kernel(X, y)
        if isinstance(self.metric, type):
            raise ValueError(
                f"metric={self.metric.__name__} is a class: pass an object, as "
                f"{self.metric.__name__}()."
            )
        refuse_texts(X, "X")
        super().fit(self._counted_once(X), y)  # type: ignore[misc]
        if far_middle(self) is not None:
            how = {"algorithm": "brute", "metric": self.effective_metric_}
            self._near = NearestRows(self._fit_X, **how)
        return self

    def _fit_kernel(self: Any, X: Any, y: Any) -> Any:
        pairs = dissimilarity_of(kernel=self.metric)
        X, y = check_xy(self, X, y, many=True, mapped=not pairs.of_numbers)
        X = summed(matrix_of(X) if isinstance(X, Design) else X)
        pairs.fit(X)
        # scikit-learn takes the rows of a search that was fitted before as they are.
        rows = neighbors.NearestNeighbors()
        rows._fit_X, rows._tree = X, None
        rows._fit_method, rows.n_samples_fit_ = "brute", count(X)
        super().fit(rows, y)  # type: ignore[misc]
        self._pairs, self._near = pairs, NearestByKernel(pairs)
        return self

    def kneighbors(
        self: Any, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """The distances and the numbers of the nearest training rows, the nearest first.

        Parameters
        ----------
        X : array-like or sparse matrix, optional
            By default the training rows, each of which is no neighbour of itself.
        n_neighbors : int, optional
            How many; by default those of the constructor.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        distances, indices : ndarray of shape (n_queries, n_neighbors)
        """
        check_is_fitted(self, "n_samples_fit_")
        if self._near is None:
            X = self._counted_once(X)
            return super().kneighbors(X, n_neighbors, return_distance)  # type: ignore[misc]
        asked = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_whole("n_neighbors", asked)
        if X is not None:
            X = self._new_rows(X)
        most = self.n_samples_fit_ - (X is None)
        if k > most:
            rows = self.n_samples_fit_ if X is None else count(X)
            raise ValueError(
                f"Expected n_neighbors <= {most}, but n_neighbors = {k}, n_samples_fit = "
                f"{self.n_samples_fit_}, n_samples = {rows}: pass a smaller n_neighbors."
            )
        found = self._near.find(X, k)
        return found if return_distance else found[1]

    def _counted_once(self: Any, X: Any) -> Any:
        """X; of several entries for one cell of a sparse matrix their sum. Graphs are as given."""
        given = isinstance(self.metric, str) and self.metric == "precomputed"
        if given or not sparse.issparse(X):
            return X
        return summed(X if X.format in ("csr", "csc") else X.tocsr())

    def _new_rows(self: Any, X: Any) -> Any:
        if isinstance(self._near, NearestByKernel):
            return rows_for(self, X, of_numbers=self._pairs.of_numbers, reset=False)
        found = validate_data(self, X, accept_sparse="csr", reset=False, order="C")
        return found.toarray() if sparse.issparse(found) else found

    def __sklearn_tags__(self: Any) -> Any:
        """What a kernel takes, if the metric is one."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if isinstance(self.metric, Kernel):
            tell_kernel(tags, self.metric)
        return tags


class KNeighborsClassifier(_Nearest, neighbors.KNeighborsClassifier):
    r"""As `sklearn.neighbors.KNeighborsClassifier`; ``metric`` may be a kernel, too.

    A kernel stands for the distance of its features, :math:`\sqrt{k(x,x) + k(z,z) - 2k(x,z)}`, of
    rows of any kind. Dense rows far from zero keep the digits of their distances. There is no
    certificate, since nothing is minimised. `minimand.KNNClassifier` also takes sample weights.

    Parameters
    ----------
    n_neighbors, weights, algorithm, leaf_size, p, metric_params, n_jobs
        As in scikit-learn.
    metric : str, callable or Kernel, default="minkowski"
        As in scikit-learn, or a kernel of `minimand.kernels`.

    Attributes
    ----------
    classes_, effective_metric_, effective_metric_params_, n_samples_fit_, outputs_2d_
        As in scikit-learn.

    Examples
    --------
    >>> from minimand.sklearn import KNeighborsClassifier
    >>> model = KNeighborsClassifier(3).fit([[0.0], [1.0], [2.0], [9.0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[0.5]])
    array([[0.666..., 0.333...]])
    >>> import minimand as mm
    >>> words = KNeighborsClassifier(1, metric=mm.Spectrum(2)).fit(["abab", "zzzz"], [0, 1])
    >>> words.predict(["baba", "zz"])
    array([0, 1])
    """

    def predict(self, X: ArrayLike) -> AnyArray:
        """The class with most of the vote; of equal ones the first in ``classes_``.

        With X = None every training row is predicted by its neighbours without itself.
        """
        check_is_fitted(self, "_fit_method")
        if self._in_one_pass():
            return super().predict(self._counted_once(X))
        found = [classes[votes.argmax(axis=1)] for classes, votes in self._votes(X)]
        return np.stack(found, axis=1) if self.outputs_2d_ else found[0]

    def predict_proba(self, X: ArrayLike) -> Any:
        """The share of the vote that every class has, a column each; a list of several outputs."""
        check_is_fitted(self, "_fit_method")
        if self._in_one_pass():
            return super().predict_proba(self._counted_once(X))
        found = [votes / votes.sum(axis=1, keepdims=True) for _, votes in self._votes(X)]
        return found if self.outputs_2d_ else found[0]

    def _in_one_pass(self: Any) -> bool:
        """Whether scikit-learn counts votes while it compares all rows with all others."""
        plain = isinstance(self.weights, str) and self.weights == "uniform"
        return self._near is None and plain and self._fit_method == "brute"

    def _votes(self: Any, X: Any) -> list[tuple[AnyArray, Array]]:
        """The classes of every output, and the votes of the neighbours of every row for them."""
        places, weights = _neighbours(self, X)
        if weights is not None and (weights == 0).all(axis=1).any():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
                "avoid this case if you are using a user-defined function."
            )
        many = self.outputs_2d_
        pairs = zip(self.classes_, self._y.T) if many else [(self.classes_, self._y)]
        return [(classes, _counted(y[places], len(classes), weights)) for classes, y in pairs]


class KNeighborsRegressor(_Nearest, neighbors.KNeighborsRegressor):
    """As `sklearn.neighbors.KNeighborsRegressor`; ``metric`` may be a kernel, too.

    Parameters and attributes are those of `KNeighborsClassifier`, but for its classes.

    Examples
    --------
    >>> from minimand.sklearn import KNeighborsRegressor
    >>> KNeighborsRegressor(2).fit([[0.0], [1.0], [9.0]], [0.0, 2.0, 7.0]).predict([[0.2], [8.0]])
    array([1. , 4.5])
    """

    def fit(self, X: Any, y: Any) -> Any:
        """Keep the training rows; the arguments are those of `KNeighborsClassifier`, y numbers."""
        refuse_texts(y, "y")
        return super().fit(X, y)

    def predict(self, X: ArrayLike) -> Array:
        """The mean of y over the neighbours of every row, by their weights."""
        check_is_fitted(self, "_fit_method")
        places, weights = _neighbours(self, X)
        y: Any = self._y[places]
        if weights is None:
            return np.mean(y, axis=1)
        total = np.sum(weights, axis=1)
        if y.ndim == 3:
            return np.einsum("ij,ijk->ik", weights, y) / total[:, None]
        return np.sum(y * weights, axis=1) / total


def _neighbours(model: Any, X: Any) -> tuple[IntArray, Array | None]:
    """The training rows next to every row, and their weights; None if all count the same."""
    if model.weights is None or (isinstance(model.weights, str) and model.weights == "uniform"):
        return model.kneighbors(X, return_distance=False), None
    distances, places = model.kneighbors(X)
    if callable(model.weights):
        return places, np.asarray(model.weights(distances))
    return places, inverse_distances(distances)


def _counted(codes: IntArray, n_classes: int, weights: Array | None) -> Array:
    """The sum of the weights of every class, by row."""
    n = len(codes)
    cells = (codes + n_classes * np.arange(n)[:, None]).ravel()
    flat = None if weights is None else weights.ravel()
    found: AnyArray = np.bincount(cells, flat, minlength=n * n_classes)
    return found.reshape(n, n_classes)
