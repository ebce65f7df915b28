"""A kernel after a change of its inputs or features: normalised, centred, composed, on columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from .._base.typing import Array
from .algebra import Nested, Pair, Scaled, in_brackets
from .base import Kernel, learnt
from .rows import Parts, columns_of, count, dense, together
from .vectors import VectorKernel


class Normalized(Nested):
    """k(x, z)/√(k(x, x)·k(z, z)), which is 1 for x = z; every k(x, x) must be positive.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Polynomial(2).normalize()([[1.0], [2.0]]).round(3)
    array([[1. , 0.9],
           [0.9, 1. ]])
    """

    has_parts = True

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def rows(self, X: Any, *, training: bool = False) -> Parts:
        """The inner rows, and 1/√k(x, x)."""
        x = self.kernel.rows(X, training=training)
        if self.pairwise and not training:
            raise ValueError(
                f"{self!r} needs k(x, x) of new rows, which a precomputed matrix does not hold: "
                "normalise the matrix yourself."
            )
        squared = self.kernel.diagonal(x)
        clear = (squared >= np.finfo(float).tiny) & (squared < np.inf)  # below, digits are lost
        if not clear.all():
            first = int(np.flatnonzero(~clear)[0])
            raise ValueError(
                f"{self!r} divides by √k(x, x), which is not positive for row {first} of X, or "
                "overflows: leave such rows out, or add a constant to the kernel first."
            )
        return Parts(x, 1.0 / np.sqrt(squared))

    def block(self, x: Any, z: Any) -> Array:
        """The inner block, with both sides divided."""
        found = self.kernel.block(x.parts[0], z.parts[0])
        kind = found.dtype
        return np.asarray(found * x.parts[1].astype(kind)[:, None] * z.parts[1].astype(kind))

    def diagonal(self, x: Any) -> Array:
        """1."""
        return np.ones(len(x))

    def sizes(self, x: Any) -> Array:
        """The inner ones, divided as the values are."""
        return self.kernel.sizes(x.parts[0]) * x.parts[1] ** 2

    def feature_map(self, x: Any) -> Any:
        """φ(x)/‖φ(x)‖."""
        found = self.kernel.feature_map(x.parts[0])
        if sparse.issparse(found):
            return sparse.diags_array(x.parts[1]).dot(found).tocsr()
        return found * x.parts[1].astype(found.dtype)[:, None]

    def __repr__(self) -> str:
        return f"{in_brackets(self.kernel, Pair, Scaled, Mapped)}.normalize()"


class Centered(Nested):
    """The kernel of φ(x) − mean φ over the training rows, whose Gram matrix is HKH, H = I − 11ᵀ/n.

    Where samples have weights s, the mean is theirs, H = I − 1sᵀ/Σs.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.Linear().center()([[1.0], [3.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    has_parts = True
    _reference: Any = None  # the training rows of the inner kernel, once bound
    _shares: Any = None  # what each of them counts, in sum 1
    _total = 0.0  # the mean of all values of their pairs
    _mean: Any = None  # their mean feature, where features are finite

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def unbound(self) -> str:
        """The means."""
        own = "" if self._reference is not None else "the mean of its features"
        return " and ".join(filter(None, (self.kernel.unbound, own)))

    def learn(self, X: Any, weights: Array | None = None) -> Kernel:
        """The same kernel with the means over the rows of X, each counted by its weight."""
        bound = self.copy(kernel=learnt(self.kernel, X, weights))
        bound._reference = bound.kernel.rows(X, training=True)
        n = count(bound._reference)
        bound._shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
        bound._total = float(bound._shares @ bound._means(bound._reference))
        return bound

    def rows(self, X: Any, *, training: bool = False) -> Parts:
        """The inner rows, and the mean of their values with all training rows."""
        x = self.kernel.rows(X, training=training)
        return Parts(x, self._means(x))

    def block(self, x: Any, z: Any) -> Array:
        """k(x, z) minus both means plus the mean of all."""
        found = self.kernel.block(x.parts[0], z.parts[0])
        kind = found.dtype
        found = found - (x.parts[1] - self._total).astype(kind)[:, None]
        found -= z.parts[1].astype(kind)
        return np.asarray(found)

    def diagonal(self, x: Any) -> Array:
        """‖φ(x) − mean φ‖²."""
        return self.kernel.diagonal(x.parts[0]) - 2.0 * x.parts[1] + self._total

    def sizes(self, x: Any) -> Array:
        """Sizes of the inner kernel and of the means, which cancel if the rows lie close."""
        return self.kernel.sizes(x.parts[0]) + 2.0 * np.abs(x.parts[1]) + abs(self._total)

    def feature_map(self, x: Any) -> Array:
        """φ(x) minus the mean of φ over the training rows."""
        inner, reference = together(x.parts[0], self._reference)
        mean = self._mean
        if mean is None or reference is not self._reference:
            mean = self._shares @ dense(self.kernel.feature_map(reference))
        if reference is self._reference:
            self._mean = mean
        return np.asarray(dense(self.kernel.feature_map(inner)) - mean)

    def _means(self, x: Any) -> Array:
        """mean over training rows of their values with each of x."""
        return self.kernel.times(x, self._reference, self._shares)

    def __repr__(self) -> str:
        return f"{in_brackets(self.kernel, Pair, Scaled, Mapped)}.center()"


class Mapped(Nested):
    """k(f(x), f(z)), written ``k @ f``.

    Parameters
    ----------
    kernel : Kernel
    map : callable or transformer
        A function of X as a whole, or an object with ``fit`` and ``transform``, which `bind` fits
        on a copy.

    Examples
    --------
    >>> import numpy as np
    >>> import minimand as mm
    >>> (mm.Linear() @ np.sqrt)(np.array([[4.0], [9.0]]))
    array([[4., 6.],
           [6., 9.]])
    """

    _transformer: Any = None  # the fitted copy, once bound

    def __init__(self, kernel: Kernel, map: Any) -> None:
        self.kernel = kernel
        self.map = map

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether the map does: it sees what the user passes."""
        tagged = hasattr(self.map, "__sklearn_tags__")
        return tagged and bool(get_tags(self.map).input_tags.sparse)

    def check_parameters(self) -> None:
        """A map that can be applied."""
        super().check_parameters()
        if not callable(self.map) and not hasattr(self.map, "transform"):
            raise ValueError(f"kernel @ map takes a function or a transformer, not {self.map!r}.")

    @property
    def unbound(self) -> str:
        """What the map and the kernel take from the data."""
        fits = hasattr(self.map, "fit") and self._transformer is None
        return " and ".join(filter(None, ("the map" if fits else "", self.kernel.unbound)))

    def learn(self, X: Any, weights: Array | None = None) -> Kernel:
        """The same with a map fitted on X, and the kernel bound to the rows that it gives."""
        bound = self.copy()
        if hasattr(self.map, "fit"):
            bound._transformer = clone(self.map).fit(X)
        bound.kernel = learnt(self.kernel, bound._applied(X), weights)
        return bound

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """The rows of the inner kernel, after the map."""
        return self.kernel.rows(self._applied(X), training=training)

    def _applied(self, X: Any) -> Any:
        if self._transformer is not None:
            return self._transformer.transform(X)
        if hasattr(self.map, "transform"):
            return self.map.transform(X)
        return self.map(np.asarray(X) if isinstance(X, list | tuple) else X)

    def __repr__(self) -> str:
        name = getattr(self.map, "__name__", None) or repr(self.map)
        return f"{in_brackets(self.kernel, Pair, Scaled)} @ {name}"


class On(Nested):
    """k of some columns of X, written ``k.on(columns)``.

    Parameters
    ----------
    kernel : Kernel
    columns : list of int or str, or one of them
        Numbers of columns, or names of columns of a data frame. One column that is not in a list
        is given to a kernel of other things than vectors as a list of its entries.

    Examples
    --------
    >>> import minimand as mm
    >>> k = mm.RBF().on([0]) + mm.Linear().on([1, 2])
    >>> k
    RBF().on([0]) + Linear().on([1, 2])
    >>> k([[0.0, 1.0, 2.0]])
    array([[6.]])
    """

    of_objects = False  # X is a table, some of whose entries may be

    def __init__(self, kernel: Kernel, columns: Any) -> None:
        self.kernel = kernel
        self.columns = columns

    def check_parameters(self) -> None:
        """At least one column."""
        super().check_parameters()
        if not isinstance(self.columns, str | int | np.integer) and len(self.columns) == 0:
            raise ValueError("on([]) leaves the kernel no columns: name at least one.")

    def learn(self, X: Any, weights: Array | None = None) -> Kernel:
        """The kernel with its inner kernel bound to these columns."""
        inner = learnt(self.kernel, self._chosen(X), weights)
        return self if inner is self.kernel else self.copy(kernel=inner)

    def rows(self, X: Any, *, training: bool = False) -> Any:
        """The rows of the inner kernel, from these columns."""
        return self.kernel.rows(self._chosen(X), training=training)

    def _chosen(self, X: Any) -> Any:
        single = isinstance(self.columns, str | int | np.integer)
        if single and isinstance(self.kernel, VectorKernel):
            return columns_of(X, [self.columns])
        chosen = columns_of(X, self.columns)
        return list(chosen) if single and not sparse.issparse(chosen) else chosen

    def __repr__(self) -> str:
        return f"{in_brackets(self.kernel, Pair, Scaled, Mapped)}.on({self.columns!r})"
