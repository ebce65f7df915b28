"""A kernel divided by degrees: the sums of its values with all training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array
from .algebra import Nested, Pair, Scaled, in_brackets
from .base import Kernel
from .rows import Parts, count
from .transformed import Mapped


class ByDegree(Nested):
    r"""k(x, z)/(λ(x)·λ(z)) with the degrees λ(x) = Σⱼ k(x, xⱼ) over the training rows.

    The kernel of the normalised methods, Λ⁻¹KΛ⁻¹ with Λ = Δ(K1) on the training rows. With the
    sample weights Λ and without an intercept, squared-loss regression on it is

    .. math:: \min_A \tfrac\beta2 \text{tr}(A^\top \Lambda^{-1} K \Lambda^{-1} A)
        + \tfrac12 \text{tr}\big(\Lambda (\Lambda^{-1} K \Lambda^{-1} A - Y)
        (\Lambda^{-1} K \Lambda^{-1} A - Y)^\top\big)

    for alpha = β/Σλ, whose solution is A = Λ^½(Λ^-½KΛ^-½ + βI)⁻¹Λ^½Y; a new row x is predicted as
    kᵀΛ⁻¹A/kᵀ1. All degrees must be positive.

    Examples
    --------
    >>> import minimand as mm
    >>> X, y = [[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0]
    >>> kernel = mm.RBF().by_degree()
    >>> degrees = kernel.degrees(X)
    >>> model = mm.Regressor(alpha=0.1 / degrees.sum(), features=kernel, intercept=False)
    >>> model.fit(X, y, sample_weight=degrees).predict([[2.0]]).round(3)
    array([1.528])
    """

    has_parts = True
    _reference: Any = None  # the training rows of the inner kernel, once bound

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def unbound(self) -> str:
        """The rows over which degrees are summed."""
        own = "" if self._reference is not None else "the rows of its degrees"
        return " and ".join(filter(None, (self.kernel.unbound, own)))

    def learn(self, X: Any, weights: Array | None = None) -> Kernel:
        """The same kernel with degrees over the rows of X, whatever their weights."""
        bound = self.copy(kernel=self.kernel.learn(X))
        bound._reference = bound.kernel.rows(X, training=True)
        return bound

    def degrees(self, X: Any) -> Array:
        """λ(x) of every row; over X itself, if the kernel is not bound to other rows."""
        kernel = self._ready(X, None)
        assert isinstance(kernel, ByDegree)
        return kernel._sums(kernel.kernel.rows(X, training=True))

    def rows(self, X: Any, *, training: bool = False) -> Parts:
        """The inner rows, and 1/λ."""
        x = self.kernel.rows(X, training=training)
        sums = self._sums(x)
        if not (sums > 0).all():
            first = int(np.flatnonzero(~(sums > 0))[0])
            raise ValueError(
                f"{self!r} divides by the sum of k(x, xⱼ) over the training rows, which is not "
                f"positive for row {first} of X: take a kernel of positive values, or a wider one."
            )
        return Parts(x, 1.0 / sums)

    def block(self, x: Any, z: Any) -> Array:
        """The inner block, with both sides divided."""
        found = self.kernel.block(x.parts[0], z.parts[0])
        kind = found.dtype
        return np.asarray(found * x.parts[1].astype(kind)[:, None] * z.parts[1].astype(kind))

    def diagonal(self, x: Any) -> Array:
        """k(x, x)/λ²."""
        return np.asarray(self.kernel.diagonal(x.parts[0]) * x.parts[1] ** 2)

    def sizes(self, x: Any) -> Array:
        """The inner ones, divided as the values are."""
        return np.asarray(self.kernel.sizes(x.parts[0]) * x.parts[1] ** 2)

    def feature_map(self, x: Any) -> Any:
        """φ(x)/λ(x)."""
        found = self.kernel.feature_map(x.parts[0])
        if hasattr(found, "multiply"):
            return found.multiply(x.parts[1][:, None]).tocsr()
        return found * x.parts[1].astype(found.dtype)[:, None]

    def _sums(self, x: Any) -> Array:
        return self.kernel.times(x, self._reference, np.ones(count(self._reference)))

    def __repr__(self) -> str:
        return f"{in_brackets(self.kernel, Pair, Scaled, Mapped)}.by_degree()"
