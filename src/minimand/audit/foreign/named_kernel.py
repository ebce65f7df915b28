"""scikit-learn's kernels by name, on inputs that are prepared once."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._base.typing import AnyArray, Array
from ...design import KernelDesign
from ...kernels import RBF, Callable, Kernel, Linear, Polynomial, Precomputed, check_psd
from ...kernels.vectors import VectorKernel

_LOOKED_AT = 1000  # rows on which a kernel is looked at that may be indefinite; safeguard


class NamedKernel(NamedTuple):
    """A kernel of the inputs times a factor."""

    kernel: Kernel
    factor: float = 1.0
    doubtful: bool = False  # whether nothing is known about its definiteness

    @classmethod
    def of(cls, model: Any) -> NamedKernel:
        """The kernel that a model's parameters name, where its ``_gamma`` is known.

        Callable kernels have been computed before: they are a matrix here.
        """
        name, gamma = model.kernel, float(getattr(model, "_gamma", 0.0))
        if callable(name) or name == "precomputed":
            known = isinstance(name, Kernel) and name.definite
            return cls(Precomputed(), doubtful=not known)
        if name == "linear":
            return cls(Linear())
        if name == "rbf":
            return cls(RBF(math.sqrt(0.5 / gamma) if gamma > 0 else math.inf))
        if name == "poly" and model.coef0 >= 0 and model.degree >= 1:
            return cls(Polynomial(model.degree, float(model.coef0)), math.sqrt(gamma))
        function = _power if name == "poly" else _tanh
        parameters = gamma, float(model.coef0), int(model.degree)
        return cls(Callable(_Function(function, parameters)), doubtful=True)

    def rows(self, X: Any, *, training: bool = False, checked: bool = False) -> Any:
        """X as the kernel takes it; it is not looked at again if scikit-learn has ``checked`` it.

        Then it is C-ordered, of float64 and finite, and stays so times a factor up to one.
        """
        known = checked and type(X) is np.ndarray and isinstance(self.kernel, VectorKernel)
        X = X if self.factor == 1.0 else X * self.factor
        if known and self.factor <= 1.0:
            return X
        return self.kernel.rows(X, training=training)

    def design(self, X: Any, *, checked: bool = False) -> KernelDesign:
        """The rows of X as a design without columns."""
        rows = self.rows(X, training=True, checked=checked)
        return KernelDesign(self.kernel, self.kernel.prepared(rows))

    def times(self, X: Any, support: Any, a: Array, *, checked: bool = False) -> Array:
        """Σⱼ k(xᵢ, zⱼ)·aⱼ with the rows z of ``support``."""
        x = self.rows(X, checked=checked)
        z = self.rows(support, training=not self.kernel.pairwise, checked=checked)
        return self.kernel.times(x, z, a)

    def objection(self, design: KernelDesign) -> str:
        """Why the problem is not convex; empty if no reason is found among some rows."""
        if not self.doubtful:
            return ""
        n = design.shape[0]
        some = np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(int)
        gram = design.rows(np.unique(some)).row_gram()
        return "" if check_psd(gram) else "the kernel is not positive semidefinite"


class _Function:
    """A function of inner products, which can be pickled."""

    def __init__(self, function: Any, parameters: tuple[float, float, int]) -> None:
        self.function, self.parameters = function, parameters

    def __call__(self, x: Any, z: Any) -> AnyArray:
        product = x @ z.T
        dense = product.toarray() if hasattr(product, "toarray") else product
        return np.asarray(self.function(dense, *self.parameters))


def _power(product: Array, gamma: float, coef0: float, degree: int) -> Array:
    return np.asarray((gamma * product + coef0) ** degree)


def _tanh(product: Array, gamma: float, coef0: float, degree: int) -> Array:
    return np.tanh(gamma * product + coef0)
