"""Random Fourier features: kernels of differences as means of cosines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.parameters import check_count
from .._base.typing import Array
from ..design import ComputedDesign
from ..kernels import RBF, REGISTRY, Kernel, Laplace, Matern
from .base import Features
from .low_rank import ROOM


class RandomFourier(Features):
    r"""Random features whose inner products are, on average, the values of a kernel.

    .. math:: \hat\varphi(x) = \sqrt{2/D}\,(\cos w_j\cdot x,\ \sin w_j\cdot x)_{j=1}^{D/2}

    A kernel of x − z is the mean of cos(w·(x − z)) over random frequencies w (Bochner). For
    ``RBF(tau)`` these are w ~ N(0, τ⁻²I): the width of the frequencies is the inverse of that of
    the kernel. The error of a value falls as 1/√D. A model on these features predicts in O(D)
    operations a row, whatever the number of training rows.

    Parameters
    ----------
    kernel : RBF, Laplace or Matern, or their names, default="rbf"
    n_features : int, default=100
        D; an odd number is rounded up.
    orthogonal : bool, default=True
        Whether frequencies are orthogonal in groups as large as the number of inputs, which
        lowers the error and keeps each frequency's law; for Laplace they are independent.
    random_state : int or RandomState, optional
        Seed of the frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> x = np.random.default_rng(0).normal(size=(20, 3))
    >>> phi = mm.RandomFourier(mm.RBF(2.0), 4000, random_state=0).fit_transform(x)
    >>> float(np.abs(phi @ phi.T - mm.RBF(2.0)(x)).max()) < 0.1
    True
    """

    takes_sparse = True
    kernel_: Kernel
    frequencies_: Array

    def __init__(
        self,
        kernel: Any = "rbf",
        n_features: int = 100,
        orthogonal: bool = True,
        *,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_features = n_features
        self.orthogonal = orthogonal
        self.random_state = random_state

    def check_parameters(self) -> None:
        """A kernel with a known law of frequencies, and a number of features."""
        kernel = REGISTRY.get(self.kernel)
        if not isinstance(kernel, RBF | Laplace | Matern):
            raise ValueError(
                f"RandomFourier knows the frequencies of RBF, Laplace and Matern, not of "
                f"{kernel!r}: minimand.Nystrom takes every kernel."
            )
        kernel.check_parameters()
        check_count(self, "n_features")

    def learn(self, X: Any, weights: Array | None = None) -> None:
        """Draw the frequencies."""
        bound: Any = REGISTRY.get(self.kernel).bind(X, weights)
        self.kernel_ = bound
        rng, d = check_random_state(self.random_state), X.shape[1]
        count = -(-int(self.n_features) // 2)
        if isinstance(bound, Laplace):
            drawn = rng.standard_cauchy((count, d))
        else:
            drawn = _directions(rng, count, d) if self.orthogonal else rng.normal(size=(count, d))
            if isinstance(bound, Matern) and math.isfinite(bound.nu):
                # A Student law with 2ν degrees of freedom.
                drawn = drawn * np.sqrt(bound.nu / rng.gamma(bound.nu, size=(count, 1)))
        self.frequencies_ = drawn.T / float(bound.tau)

    def columns(self, X: Any) -> Array:
        """√(2/D)·(cos, sin)."""
        angles = np.asarray(X @ self.frequencies_.astype(X.dtype))
        size = 1.0 / math.sqrt(self.frequencies_.shape[1])
        found = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        found *= found.dtype.type(size)
        return found

    def fitted_rows(self, X: Any, y: Any, weights: Array | None, memory: float) -> Any:
        """φ̂(X) of a map that is fitted here; computed on demand if memory has no room for it."""
        self.check_parameters()
        x = self._checked(X, reset=True)
        self.learn(x, weights)
        return self._rows(x, memory)

    def mapped_rows(self, X: Any, memory: float) -> Any:
        """φ̂(X), likewise."""
        return self._rows(self.checked(X), memory)

    def _rows(self, x: Any, memory: float) -> Any:
        width = 2 * self.frequencies_.shape[1]
        if x.dtype.itemsize * float(x.shape[0]) * width <= memory:
            return self.columns(x)
        return ComputedDesign(self.columns, x, width, ROOM * memory, in_threads=True)

    def names(self, inputs: list[str]) -> Iterator[str]:
        """cos0, cos1, …, sin0, sin1, …."""
        count = self.frequencies_.shape[1]
        return (f"{wave}{j}" for wave in ("cos", "sin") for j in range(count))


def _directions(rng: np.random.RandomState, count: int, d: int) -> Array:
    """Normal vectors in d dimensions, orthogonal in groups of d."""
    groups = []
    for _ in range(-(-count // d)):
        q, r = np.linalg.qr(rng.normal(size=(d, d)))
        lengths = np.sqrt(rng.chisquare(d, size=d))
        groups.append(lengths[:, None] * (q * np.sign(np.diag(r))).T)
    return np.concatenate(groups)[:count]
