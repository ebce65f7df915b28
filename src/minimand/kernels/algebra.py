"""Sums, products and multiples of kernels."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from .._base.typing import Array
from .base import Kernel, learnt
from .rows import Parts, count, dense


class Nested(Kernel):
    """A kernel with one kernel inside, whose values it takes over by default."""

    kernel: Kernel
    has_parts: ClassVar[bool] = False  # whether `rows` are parts, the first of the inner kernel

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel takes sparse rows."""
        return self.kernel.takes_sparse

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Whether X of the inner kernel is a matrix of pairs."""
        return self.kernel.pairwise

    @property
    def of_objects(self) -> bool:  # type: ignore[override]
        """Whether the samples of the inner kernel are objects, not rows of numbers."""
        return self.kernel.of_objects

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel is positive semidefinite."""
        return self.kernel.definite

    @property
    def in_threads(self) -> bool:  # type: ignore[override]
        """Whether the inner kernel may be computed so."""
        return self.kernel.in_threads

    def check_parameters(self) -> None:
        """Check the parameters of the inner kernel."""
        check_kernel(self, self.kernel)

    @property
    def unbound(self) -> str:
        """What the inner kernel needs."""
        return self.kernel.unbound

    def learn(self, X: Any, weights: Array | None = None) -> Kernel:
        """The kernel with its inner kernel bound."""
        inner = learnt(self.kernel, X, weights)
        return self if inner is self.kernel else self.copy(kernel=inner)

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """Rows as the inner kernel takes them."""
        return self.kernel.rows(X, training=training)

    def measured(self, x: Any) -> Any:
        """Rows as the inner kernel has them."""
        if self.has_parts:
            return Parts(self.kernel.measured(x.parts[0]), *x.parts[1:])
        return self.kernel.measured(x)

    def block(self, x: Any, z: Any) -> Array:
        """Values of the inner kernel."""
        return self.kernel.block(x, z)

    def diagonal(self, x: Any) -> Array:
        """The diagonal of the inner kernel."""
        return self.kernel.diagonal(x)

    def sizes(self, x: Any) -> Array:
        """Sizes of the values of the inner kernel."""
        return self.kernel.sizes(x)

    def feature_map(self, x: Any) -> Any:
        """Features of the inner kernel."""
        return self.kernel.feature_map(x)


class Pair(Kernel):
    """A kernel with two kernels inside."""

    sign = ""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether both kernels do."""
        return self.left.takes_sparse and self.right.takes_sparse

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Whether one of the kernels is."""
        return self.left.pairwise or self.right.pairwise

    @property
    def of_objects(self) -> bool:  # type: ignore[override]
        """Whether the samples of one of the kernels are."""
        return self.left.of_objects or self.right.of_objects

    @property
    def definite(self) -> bool:  # type: ignore[override]
        """Whether both kernels are."""
        return self.left.definite and self.right.definite

    @property
    def in_threads(self) -> bool:  # type: ignore[override]
        """Whether both kernels may be computed so."""
        return self.left.in_threads and self.right.in_threads

    def check_parameters(self) -> None:
        """Check the parameters of both kernels."""
        check_kernel(self, self.left)
        check_kernel(self, self.right)

    @property
    def unbound(self) -> str:
        """What both kernels need."""
        return " and ".join(filter(None, (self.left.unbound, self.right.unbound)))

    def learn(self, X: Any, weights: Array | None = None) -> Kernel:
        """The kernel with both of its kernels bound."""
        left, right = (learnt(kernel, X, weights) for kernel in (self.left, self.right))
        same = left is self.left and right is self.right
        return self if same else type(self)(left, right)

    def rows(self, X: Any, *, training: bool = False) -> Parts:
        """Rows as both kernels take them, side by side."""
        return Parts(*(k.rows(X, training=training) for k in (self.left, self.right)))

    def measured(self, x: Any) -> Parts:
        """Rows as both kernels have them."""
        return Parts(self.left.measured(x.parts[0]), self.right.measured(x.parts[1]))

    def __repr__(self) -> str:
        return f"{self.left!r} {self.sign} {self.right!r}"


class Sum(Pair):
    """k₁(x, z) + k₂(x, z), whose features are those of both.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Linear() + mm.RBF(tau=2.0)
    Linear() + RBF(tau=2.0)
    """

    sign = "+"

    def block(self, x: Any, z: Any) -> Array:
        """The sum of both blocks."""
        left = self.left.block(x.parts[0], z.parts[0])
        return np.asarray(left + self.right.block(x.parts[1], z.parts[1]))

    def diagonal(self, x: Any) -> Array:
        """The sum of both."""
        return self.left.diagonal(x.parts[0]) + self.right.diagonal(x.parts[1])

    def sizes(self, x: Any) -> Array:
        """The sum of both."""
        return self.left.sizes(x.parts[0]) + self.right.sizes(x.parts[1])

    def feature_map(self, x: Any) -> Any:
        """Both maps side by side."""
        maps = [self.left.feature_map(x.parts[0]), self.right.feature_map(x.parts[1])]
        if any(map(sparse.issparse, maps)):
            return sparse.hstack(maps, format="csr")
        return np.concatenate(maps, axis=1)


class Product(Pair):
    """k₁(x, z)·k₂(x, z), whose features are all products of a feature of each.

    Examples
    --------
    >>> import minimand as mm
    >>> (mm.Linear() * mm.Linear()).features([[1.0, 2.0]])
    array([[1., 2., 2., 4.]])
    """

    sign = "*"

    def block(self, x: Any, z: Any) -> Array:
        """The product of both blocks, entry by entry."""
        left = self.left.block(x.parts[0], z.parts[0])
        return np.asarray(left * self.right.block(x.parts[1], z.parts[1]))

    def diagonal(self, x: Any) -> Array:
        """The product of both."""
        return self.left.diagonal(x.parts[0]) * self.right.diagonal(x.parts[1])

    def sizes(self, x: Any) -> Array:
        """The product of both."""
        return self.left.sizes(x.parts[0]) * self.right.sizes(x.parts[1])

    def feature_map(self, x: Any) -> Array:
        """All products of a feature of each."""
        left, right = (
            dense(self.left.feature_map(x.parts[0])),
            dense(self.right.feature_map(x.parts[1])),
        )
        return (left[:, :, None] * right[:, None, :]).reshape(left.shape[0], -1)

    def __repr__(self) -> str:
        return f"{in_brackets(self.left, Sum)} * {in_brackets(self.right, Sum)}"


class Scaled(Nested):
    """factor·k(x, z) for a factor ≥ 0, with features √factor·φ.

    Examples
    --------
    >>> import minimand as mm
    >>> 0.5 * mm.Linear()
    0.5 * Linear()
    """

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = factor
        self.kernel = kernel

    def check_parameters(self) -> None:
        """A factor that keeps the kernel positive semidefinite."""
        super().check_parameters()
        if not _is_number(self.factor) or self.factor < 0:
            raise ValueError(
                f"a kernel is multiplied by a number ≥ 0 only, not by {self.factor!r}: the result "
                "would not be positive semidefinite."
            )

    def block(self, x: Any, z: Any) -> Array:
        """The inner block times the factor."""
        found = self.kernel.block(x, z)
        return np.asarray(found * found.dtype.type(self.factor))

    def diagonal(self, x: Any) -> Array:
        """The inner one times the factor."""
        return float(self.factor) * self.kernel.diagonal(x)

    def sizes(self, x: Any) -> Array:
        """The inner ones times the factor."""
        return float(self.factor) * self.kernel.sizes(x)

    def feature_map(self, x: Any) -> Any:
        """√factor·φ."""
        return self.kernel.feature_map(x) * float(np.sqrt(self.factor))

    def __repr__(self) -> str:
        return f"{self.factor!r} * {in_brackets(self.kernel, Sum)}"


class Constant(Kernel):
    """k(x, z) = c ≥ 0: what ``kernel + c`` adds, a feature √c for all rows.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Linear() + 1.0
    Linear() + 1.0
    """

    takes_sparse = True
    definite = in_threads = True

    def __init__(self, c: float = 1.0) -> None:
        self.c = c

    def check_parameters(self) -> None:
        """A constant that is a kernel."""
        if not _is_number(self.c) or self.c < 0:
            raise ValueError(
                f"a number ≥ 0 can be added to a kernel, not {self.c!r}: the sum would not be "
                "positive semidefinite."
            )

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """Rows without entries: only their number counts."""
        kind = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return np.empty((_num_samples(X), 0), dtype=kind)

    def block(self, x: Any, z: Any) -> Array:
        """c everywhere."""
        return np.full((count(x), count(z)), self.c, dtype=np.result_type(x.dtype, z.dtype))

    def diagonal(self, x: Any) -> Array:
        """c."""
        return np.full(count(x), float(self.c))

    def feature_map(self, x: Any) -> Array:
        """√c."""
        return np.full((count(x), 1), np.sqrt(self.c), dtype=x.dtype)

    def __repr__(self) -> str:
        return repr(self.c)


def check_kernel(owner: Kernel, kernel: Any) -> None:
    """Check the parameters of a kernel inside another."""
    if not isinstance(kernel, Kernel):
        raise ValueError(f"{type(owner).__name__} is made of kernels, not of {kernel!r}.")
    kernel.check_parameters()


def in_brackets(kernel: Kernel, *kinds: type) -> str:
    """The kernel in words, in brackets if it is of a kind that would be read differently."""
    return f"({kernel!r})" if isinstance(kernel, kinds) else repr(kernel)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
