"""Bumps around centres: radial basis functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from .._base.parameters import check_count, check_number
from .._base.typing import Array
from .._base.wording import counted
from .base import Features

_MOST = 100  # centres by default; convention: as scikit-learn's Nystroem


class Centers(Features):
    r"""Gaussian bumps around centres μ₁ … μ_k.

    .. math:: \varphi_j(x) = \exp\bigl(-\|x - \mu_j\|^2 / (2\tau^2)\bigr)

    If the centres are the t (different) training rows themselves, Φ is symmetric and invertible,
    and without penalty and intercept w = Φ⁻¹y.

    Parameters
    ----------
    mu : array-like of shape (n_centers, n_features), optional
        The centres.
    tau : float, default=1.0
        The width of a bump, in the units of the inputs; scale the inputs first if these differ.
    n : int, optional
        The number of training rows to take as centres, chosen far apart by k-means++; by
        default 100, or all rows if there are fewer. Not with ``mu``.
    random_state : int or RandomState, optional
        Seed of the choice of rows.

    Attributes
    ----------
    mu_ : ndarray or sparse matrix of shape (n_centers, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> mm.Centers([[0.0], [2.0]], tau=1.0).fit_transform([[0.0], [1.0]]).round(3)
    array([[1.   , 0.135],
           [0.607, 0.607]])
    >>> x = np.linspace(0, 6, 50)[:, None]
    >>> bumps = mm.Centers(n=12, random_state=0)
    >>> wave = mm.Regressor(alpha=1e-6, features=bumps).fit(x, np.sin(x[:, 0]))
    >>> wave.score(x, np.sin(x[:, 0])) > 0.999
    True
    """

    takes_sparse = True
    mu_: Any

    def __init__(
        self,
        mu: Any = None,
        tau: float = 1.0,
        *,
        n: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.mu = mu
        self.tau = tau
        self.n = n
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Tau > 0, and one of mu and n."""
        check_number(self, "tau", "a positive number", lambda tau: tau > 0)
        if self.n is not None:
            check_count(self, "n")
            if self.mu is not None:
                raise ValueError("mu and n of Centers exclude each other: pass one of them.")

    @property
    def fixed(self) -> bool:  # type: ignore[override]
        """Whether the centres were given."""
        return self.mu is not None

    def learn(self, X: Any) -> None:
        """Set the centres."""
        self.mu_ = self._drawn(X) if self.mu is None else self._given(X.shape[1])

    def columns(self, X: Any) -> Array:
        """exp(−‖x − μ‖²/(2τ²)), dense."""
        if sparse.issparse(X) or sparse.issparse(self.mu_):
            squares = euclidean_distances(X, self.mu_, squared=True)
        else:  # from differences, which are accurate near a centre
            squares = cdist(X, self.mu_, "sqeuclidean")
        squares *= -0.5 / float(self.tau) ** 2
        bumps: Array = np.exp(squares, out=squares)
        return bumps

    def names(self, inputs: list[str]) -> Iterator[str]:
        """center0, center1, …."""
        return (f"center{j}" for j in range(self.mu_.shape[0]))

    def _drawn(self, X: Any) -> Any:
        count = min(_MOST, X.shape[0]) if self.n is None else int(self.n)
        if count > X.shape[0]:
            raise ValueError(
                f"n={count} of Centers is more than X has rows, {X.shape[0]}: pass a smaller n."
            )
        if count == X.shape[0]:
            return X.copy()
        rows = kmeans_plusplus(X, count, random_state=check_random_state(self.random_state))[1]
        return X[np.sort(rows)]

    def _given(self, n_features: int) -> Array:
        try:
            mu = np.array(self.mu, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError("mu of Centers must be a matrix of numbers.") from error
        if mu.ndim != 2 or mu.shape[0] == 0 or mu.shape[1] != n_features:
            raise ValueError(
                f"mu of Centers must have one row per centre and {counted(n_features, 'column')}, "
                f"as X has, but its shape is {mu.shape}."
            )
        if not np.isfinite(mu).all():
            raise ValueError("mu of Centers must be finite, but it holds NaN or infinity.")
        return mu
