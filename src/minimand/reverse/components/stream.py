"""PCA of a stream of rows: exact sums, or stochastic approximation where these are too large."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...certificate.eigenvalues.centred import mean_of, rows_operator
from ...design import Design
from .exact import of_matrix
from .scatter import scatter
from .spectrum import Found, completed

_ULPS = 4.0  # of a mean of many batches; safeguard


class _Moments:
    """Σs and the mean of all rows so far."""

    def __init__(self, d: int, mean: Array | None, centred: bool) -> None:
        self.total = 0.0
        self.rows = 0
        self.fixed = mean is not None or not centred
        self.mean = np.zeros(d) if mean is None else mean
        self.trace = 0.0

    def _joined(self, design: Design, weights: Array, mean: Array) -> tuple[Array, float]:
        """The step δ from the mean so far to that of a batch, and its weight: w·W/(w + W).

        C of all rows is C so far, that of the batch about its own mean, and this times δδᵀ.
        """
        batch = float(weights.sum())
        step = mean - self.mean
        share = self.total * batch / (self.total + batch)
        if not self.fixed:
            self.mean = self.mean + (batch / (self.total + batch)) * step
        self.total += batch
        self.rows += design.shape[0]
        return step, 0.0 if self.fixed else share


class ScatterStream(_Moments):
    """C itself, summed batch by batch: the components are those of all rows at once."""

    def __init__(self, d: int, centred: bool) -> None:
        super().__init__(d, None, centred)
        self.matrix = np.zeros((d, d))
        self.rounding = 0.0
        self.centred = centred

    def update(self, design: Design, weights: Array) -> None:
        """Add a batch."""
        matrix, mean, rounding = scatter(design, weights, self.centred)
        # Both means are rounded, so that the step between them is off by δ.
        delta = _ULPS * EPS * float(np.linalg.norm(mean) + np.linalg.norm(self.mean))
        step, share = self._joined(design, weights, mean)
        self.matrix += matrix + share * np.outer(step, step)
        self.rounding += rounding + share * delta * (2.0 * float(np.linalg.norm(step)) + delta)

    def found(self, n_components: Any) -> Found:
        """The components of all rows so far."""
        return of_matrix(self.matrix, self.mean, self.rounding, n_components, self.rows)


class RowStream(_Moments):
    r"""Stochastic approximation: k directions and their variances, updated by every batch.

    .. math:: V\Lambda \leftarrow \tfrac{W}{W + w}\,V\Lambda + \tfrac{1}{W + w}\,C_b V

    and V is made orthonormal again. With batches of one row and one direction this is CCIPCA (Weng,
    Zhang and Hwang 2003), Oja's rule with the step 1/t: no step size has to be chosen. C_b is that
    of the batch, of weight w, and W the weight of all rows before. Memory is d·k numbers.

    Parameters
    ----------
    d, k : int
    mean : the mean of the rows, if it is known; else the mean so far is taken.
    """

    def __init__(self, d: int, k: int, mean: Array | None = None, centred: bool = True) -> None:
        super().__init__(d, mean, centred)
        self.k = k
        self.vectors = np.empty((d, 0))
        self.values = np.empty(0)

    def update(self, design: Design, weights: Array) -> None:
        """A step by a batch."""
        mean = self.mean if self.fixed else mean_of(design, weights)
        operator = rows_operator(design, weights, mean)
        before = self.total
        step, share = self._joined(design, weights, mean)
        self.trace += operator.trace + share * float(step @ step)
        if not self.vectors.size:
            self.vectors = self._first(design, weights, mean)
            self.values = np.zeros(self.k)
        image = operator.product(self.vectors)
        image += share * np.outer(step, step @ self.vectors)
        moved = (before * self.vectors * self.values + image) / self.total
        turned, sizes, _ = linalg.svd(moved, full_matrices=False, check_finite=False)
        rank = int((sizes > EPS * max(sizes.max(initial=0.0), 1e-300)).sum())
        self.vectors = completed(np.ascontiguousarray(turned[:, :rank]), self.k)
        self.values = sizes

    def _first(self, design: Design, weights: Array, mean: Array) -> Array:
        """Directions of the first batch, filled up where it has too few rows."""
        some = design.rows(np.arange(min(design.shape[0], 2 * self.k)))
        rows = some.map_rows(lambda x: np.asarray(x.toarray() if hasattr(x, "toarray") else x))
        _, sizes, turns = linalg.svd(rows - mean, full_matrices=False, check_finite=False)
        rank = int((sizes > 1e-12 * sizes.max(initial=0.0)).sum())  # share; safeguard
        return completed(np.ascontiguousarray(turns[: min(rank, self.k)].T), self.k)

    def found(self, n_components: Any) -> Found:
        """The directions so far; how much they keep of earlier rows is an estimate."""
        values = np.minimum(self.values * self.total, self.trace)
        return Found(self.vectors, values, self.trace, self.trace, 0.0, self.mean, certain=False)
