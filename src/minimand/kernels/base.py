"""The base class of kernels: values of all pairs of rows, block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .. import _core
from .._base.parameters import NamesParameters, Parameterized
from .._base.typing import AnyArray, Array
from .._base.watch import look
from .rows import count, picked
from .tiles import runs, share_out

if TYPE_CHECKING:
    from .algebra import Product, Scaled, Sum
    from .degrees import ByDegree
    from .transformed import Centered, Mapped, Normalized, On

_STRIP = 256  # rows of a Gram matrix computed together; safeguard: products of matrices
BUFFER = 1 << 23  # numbers of a block, 64 MB; safeguard: temporaries do not grow with n²


class Kernel(NamesParameters, Parameterized, ABC):
    r"""A similarity of two rows that is an inner product of features of them.

    .. math:: k(x, z) = \varphi(x)\cdot\varphi(z)

    A kernel is a value object: it stores its arguments unchanged and knows no data. A subclass
    writes `block`, the values of all pairs of rows; everything else has a default. If it depends on
    data, `learn` gives a kernel that does not.

    Kernels are added, multiplied, scaled, normalised, centred, restricted to columns and composed
    with a map of the inputs, and stay kernels::

        RBF(tau=2.0) + 0.5 * Polynomial(3) * Linear().on(["age"])

    Examples
    --------
    >>> import minimand as mm
    >>> k = mm.RBF(tau=2.0) + 1.0
    >>> k([[0.0], [2.0]]).round(3)
    array([[2.   , 1.607],
           [1.607, 2.   ]])
    >>> k.diag([[0.0], [2.0]])
    array([2., 2.])
    """

    takes_sparse: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False  # whether X is a matrix of kernel values itself
    of_objects: ClassVar[bool] = False  # whether samples are objects, which have no columns
    definite: ClassVar[bool] = False  # whether it is proved to be a kernel: fits need no check
    in_threads: ClassVar[bool] = False  # whether several threads may compute values at a time
    explicit: ClassVar[bool] = False  # whether features= takes the columns of φ, not values of k
    _elsewhere: ClassVar[Mapping[str, str]] = {
        "gamma": "tau=(2 * gamma) ** -0.5 for RBF, tau=1/gamma for Laplace",
        **dict.fromkeys(("length_scale", "sigma", "bandwidth", "lengthscale"), "tau=…"),
        "coef0": "c=…, after scaling the inputs by the root of gamma",
    }

    def __init__(self) -> None:
        """No parameters."""

    # What a subclass writes ------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Raise ValueError, in one sentence, for a parameter outside its range."""

    @property
    def unbound(self) -> str:
        """What `bind` has to find in the data, in words; empty if the kernel needs none."""
        return ""

    def learn(self, X: Any) -> Kernel:
        """The kernel with everything that it takes from the data; by default itself."""
        return self

    @abstractmethod
    def rows(self, X: Any, *, training: bool = False) -> Any:
        """X as `block` takes it: checked, and cut by ``rows[numbers]``.

        ``training`` says that X holds all rows that the kernel will be compared with.
        """

    def prepared(self, rows: Any) -> Any:
        """`rows` with what `block` would find out about each of them again and again.

        Blocks of prepared rows are of parts of the same ones; by default these are the rows.
        """
        return rows

    def measured(self, x: Any) -> Any:
        """`rows` with distances that are kept for other kernels, where a search shares them.

        `block` takes all of them, or some, with others of the same; by default these are the rows.
        """
        return x

    @abstractmethod
    def block(self, x: Any, z: Any) -> Array:
        """k(xᵢ, zⱼ) for all pairs, a matrix of float32 or float64; ``z`` are training rows."""

    def in_tiles(self, x: Any) -> bool:
        """Whether `fill` of these rows computes tiles, on any thread; False by default."""
        return False

    def fill(self, x: Any, z: Any, out: AnyArray) -> None:
        """Write the values of `block` to ``out``, an array of float32 or float64."""
        out[...] = self.block(x, z)

    def diagonal(self, x: Any) -> Array:
        """k(xᵢ, xᵢ) of training rows; by default from small blocks."""
        size = 32  # rows of a block; safeguard: of its values all but the diagonal are wasted
        starts = range(0, count(x), size)
        parts = (x[start : start + size] for start in starts)
        return np.concatenate([np.diag(self.block(part, part)) for part in parts], dtype=float)

    def sizes(self, x: Any) -> Array:
        """The size of the numbers of which k(xᵢ, xᵢ) is computed; k(xᵢ, xᵢ), unless some cancel.

        The rounding of k(xᵢ, xⱼ) is some ulp of √(sizeᵢ·sizeⱼ).
        """
        return self.diagonal(x)

    def doubt(self, x: Any, unit: float) -> tuple[float, float]:
        """By how much computed values k(xᵢ, xⱼ) of training rows may differ from exact ones.

        A share of the value, for kernels whose values are never negative, and a number;
        ``unit`` is the rounding of one operation. Infinite if nothing is known, the default.
        """
        return float("inf"), 0.0

    def feature_map(self, x: Any) -> Any:
        """φ(x) with φ(x)·φ(z) = k(x, z), where there are finitely many features."""
        raise ValueError(
            f"{self!r} has no finite feature map: minimand.RandomFourier or minimand.Nystrom "
            "approximate one."
        )

    # What follows from it --------------------------------------------------------------------

    def bind(self, X: Any, weights: Array | None = None) -> Kernel:
        """The kernel with everything that it takes from the data X; the object itself stays.

        ``RBF(tau="median")`` becomes an RBF with a number, and ``k.center()`` learns the means. A
        row of weight k counts like k copies of it.
        """
        self.check_parameters()
        even = weights is None or bool((weights == weights[0]).all())
        return learnt(self, X, None if even else weights)

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """k of all pairs of rows of X and Z (of X and X by default), as a matrix."""
        kernel = self._ready(X, Z)
        if Z is None:
            return kernel.gram(kernel.rows(X, training=True))
        z = kernel.rows(Z, training=True)
        parts = [part for _, part in kernel.blocks(kernel.rows(X), z)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def diag(self, X: Any) -> Array:
        """k(x, x) of every row."""
        kernel = self._ready(X, None)
        return kernel.diagonal(kernel.rows(X, training=True))

    def features(self, X: Any) -> Any:
        """φ(X), a row per row of X, with φ(x)·φ(z) = k(x, z); refused if there is no finite φ.

        Examples
        --------
        >>> import minimand as mm
        >>> mm.Polynomial(degree=2, c=0).features([[1.0, 2.0]]).round(3)
        array([[1.   , 2.828, 4.   ]])
        """
        kernel = self._ready(X, None)
        return kernel.feature_map(kernel.rows(X, training=True))

    def blocks(self, x: Any, z: Any) -> Iterator[tuple[slice, Array]]:
        """Some rows of the matrix of all pairs at a time; x and z are `rows`."""
        n = count(x)
        size = max(1, BUFFER // max(count(z), 1))
        for start in range(0, max(n, 1), size):
            look()
            some = slice(start, min(start + size, n))
            yield some, self.block(x[some], z)

    def gram(self, x: Any) -> Array:
        """The symmetric matrix of all pairs of training rows; half of it is computed."""
        n, tiled = count(x), self.in_tiles(x)
        strips = runs(n, _STRIP)
        # The first strip tells the type; it is copied, as it may be the user's.
        first = np.asarray(self.block(x[strips[0]], x))
        kind = np.float32 if first.dtype == np.float32 else np.float64
        found = first if tiled and len(strips) == 1 else np.empty((n, n), dtype=kind)
        if found is not first:
            found[strips[0]] = first

        def strip(rows: slice) -> None:
            self.fill(x[rows], x[rows.start :], found[rows, rows.start :])

        if tiled:
            share_out(strip, strips[1:], n * n)
        else:
            for rows in strips[1:]:
                look()
                strip(rows)
        _core.mirror_upper(found)
        return found

    def times(self, x: Any, z: Any, a: Array) -> Array:
        """Σⱼ k(xᵢ, zⱼ)·aⱼ, without the whole matrix; a is (n,) or (n, k)."""
        return np.concatenate([np.asarray(part @ a, dtype=float) for _, part in self.blocks(x, z)])

    def quadratic_form(self, x: Any, u: Array) -> float:
        """Σ uᵢ·k(xᵢ, xⱼ)·uⱼ over training rows, summed over the columns of u if it has several."""
        return float(self.quadratic_forms(x, u.reshape(u.shape[0], -1)).sum())

    def quadratic_forms(self, x: Any, u: Array) -> Array:
        """uᵀKu for every column u of a table (n, k): values of the kernel serve many of them."""
        size = max(1, BUFFER // max(u.shape[0], 1))
        parts = (u[:, first : first + size] for first in range(0, u.shape[1], size))
        return np.concatenate([np.einsum("ij,ij->j", v, self.times(x, x, v)) for v in parts])

    # The algebra -----------------------------------------------------------------------------

    def __add__(self, other: Any) -> Sum:
        from .algebra import Constant, Sum

        if isinstance(other, Real):
            return Sum(self, Constant(float(other)))
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Sum:
        return self + other

    def __mul__(self, other: Any) -> Product | Scaled:
        from .algebra import Product, Scaled

        if isinstance(other, Real):
            return Scaled(float(other), self)
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    def __rmul__(self, other: Any) -> Product | Scaled:
        return self * other

    def __matmul__(self, map: Any) -> Mapped:
        """k(map(x), map(z)): ``map`` is a function of X, or a transformer."""
        from .transformed import Mapped

        return Mapped(self, map)

    def on(self, columns: Any) -> On:
        """The kernel of some columns, by number or by name of a data frame."""
        from .transformed import On

        return On(self, columns)

    def normalize(self) -> Normalized:
        """k(x, z)/√(k(x, x)·k(z, z)): features of length one."""
        from .transformed import Normalized

        return Normalized(self)

    def center(self) -> Centered:
        """The kernel of φ(x) minus the mean of φ over the training rows, HKH."""
        from .transformed import Centered

        return Centered(self)

    def by_degree(self) -> ByDegree:
        """k(x, z)/(λ(x)·λ(z)), λ(x) the sum of k(x, xⱼ) over the training rows: Λ⁻¹KΛ⁻¹."""
        from .degrees import ByDegree

        return ByDegree(self)

    def _ready(self, X: Any, Z: Any) -> Kernel:
        """The kernel, bound to X if that holds the training rows."""
        self.check_parameters()
        if not self.unbound:
            return self
        if Z is not None:
            raise ValueError(
                f"{self!r} takes {self.unbound} from the training rows: call bind(X) first, and "
                "then the kernel that it gives."
            )
        return self.bind(X)

    def __sklearn_clone__(self) -> Self:
        """A copy without what was learnt, for scikit-learn's ``clone``."""
        return self.copy()


def learnt(kernel: Kernel, X: Any, weights: Array | None) -> Kernel:
    """`Kernel.learn` of rows of these weights.

    A kernel whose ``learn`` has no parameter ``weights`` learns from the rows of positive weight.
    """
    if weights is None:
        return kernel.learn(X)
    if "weights" in signature(kernel.learn).parameters:
        heard: Any = kernel.learn
        found: Kernel = heard(X, weights=weights)
        return found
    every = weights.all() or not kernel.unbound
    return kernel.learn(X if every else picked(X, np.flatnonzero(weights)))
