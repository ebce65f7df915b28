"""Kernels that count parts of structures: inner products of sparse rows of counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ... import _core
from ..._base.typing import AnyArray, Array, IntArray
from ..base import Kernel
from .keys import signed

_COMMON = 0.25  # share of the samples; measured: a part that more of them have is faster in BLAS


class Examples(Protocol):
    """Where parts were found, so that they can be named."""

    def names(self, at: IntArray) -> Sequence[str]:
        """The names of the parts at these places in the list of keys."""


class Occurrences(NamedTuple):
    """The keys of all parts of all samples, one sample after another."""

    keys: AnyArray  # uint64
    starts: IntArray  # where the keys of every sample begin, and the end
    times: Array | None  # how often each key counts; None: once
    examples: Examples


class Parts:
    """The different parts that some samples have."""

    def __init__(self, keys: IntArray, first: IntArray, examples: Examples) -> None:
        self.keys = keys
        self.first = first  # where each key came first
        self.examples = examples
        self._places: tuple[Parts, AnyArray] | None = None

    def __len__(self) -> int:
        return int(self.keys.size)

    def places(self, other: Parts) -> AnyArray:
        """The numbers of these parts among others; −1 where there is none."""
        if self._places is None or self._places[0] is not other:
            self._places = other, _core.key_numbers(other.keys, self.keys)
        return self._places[1]

    def names(self) -> list[str]:
        """A name for each part, all different."""
        names = list(self.examples.names(self.first))
        if len(set(names)) == len(names):
            return names
        often = Counter(names)  # labels such as 1 and "1"
        return [n if often[n] == 1 else f"{n} #{place}" for place, n in enumerate(names)]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_places": None}


class Counts:
    """Samples as counts of their parts: a row of a sparse table each."""

    def __init__(self, table: Any, parts: Parts) -> None:
        self.table = table
        self.parts = parts

    def __getstate__(self) -> dict[str, Any]:
        return {"table": self.table, "parts": self.parts}

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def __getitem__(self, rows: Any) -> Counts:
        return Counts(self.table[rows], self.parts)

    def of(self, parts: Parts) -> Any:
        """The table of counts of other parts."""
        if parts is self.parts:
            return self.table
        places = self.parts.places(parts)[self.table.indices]
        known = places >= 0
        starts = np.concatenate([[0], np.cumsum(known)])[self.table.indptr]
        shape = (len(self), len(parts))
        return sparse.csr_matrix((self.table.data[known], places[known], starts), shape=shape)

    def joined(self, other: Counts) -> tuple[Counts, Counts]:
        """Both as counts of the parts of the other, then of parts that only these samples have."""
        if self.parts is other.parts:
            return self, other
        new = np.flatnonzero(self.parts.places(other.parts) < 0)
        keys = np.concatenate([other.parts.keys, self.parts.keys[new]])
        first = np.concatenate([other.parts.first, self.parts.first[new]])
        parts = Parts(keys, first, other.parts.examples)
        none = sparse.csr_matrix((len(other), new.size))
        mine = sparse.hstack([self.of(other.parts), self.table[:, new]], format="csr")
        theirs = sparse.hstack([other.table, none], format="csr")
        return Counts(mine, parts), Counts(theirs, parts)

    @cached_property
    def divided(self) -> Divided:
        """The table, divided into common and rare parts."""
        often = np.bincount(self.table.indices, minlength=len(self.parts))
        common = np.flatnonzero(often > _COMMON * len(self))
        rare = self.table.copy()
        rare.data[np.isin(rare.indices, common)] = 0.0
        rare.eliminate_zeros()
        return Divided(common, self.table[:, common].toarray(), rare.tocsc())


class Divided(NamedTuple):
    """Counts of common parts, dense, and of all others."""

    common: IntArray
    dense: Array
    rare: Any  # CSC

    def products(self, table: Any) -> Array:
        """The inner products of the rows of a table with all rows here.

        Common parts make most of the products; those are left to BLAS.
        """
        found: Array = table[:, self.common].toarray() @ self.dense.T
        left, right = (
            _core.Compressed(m.indptr, m.indices, m.data, m.shape[a])
            for m, a in ((table, 1), (self.rare, 0))
        )
        _core.row_products(left, right, found)
        return found


class Counted(Kernel, TransformerMixin, BaseEstimator):
    """k(x, z) = Σ_u φ_u(x)·φ_u(z), where φ_u(x) is the number of times that x has the part u.

    A subclass finds the parts of samples. The kernel counts all of them. As features, for
    ``features=`` or as a transformer in a pipeline, the parts of the training samples are the
    columns of a sparse matrix; other parts are left out, since the model has no coefficient for
    them.
    """

    explicit = True
    of_objects = True
    definite = True
    binary: bool = False

    # What a subclass writes ------------------------------------------------------------------

    def find(self, X: Any) -> Occurrences:
        """The parts of all samples; what is no sample is refused in one sentence."""
        raise NotImplementedError

    # The kernel --------------------------------------------------------------------------------

    def rows(self, X: Any, *, training: bool = False) -> Counts:
        """The counts of all parts."""
        return self._counted(self.find(X), None)

    def block(self, x: Any, z: Any) -> Array:
        """The inner products of counts."""
        return z.divided.products(x.of(z.parts))

    def diagonal(self, x: Any) -> Array:
        """Sums of squared counts."""
        return np.asarray(x.table.multiply(x.table).sum(axis=1), dtype=float).ravel()

    def gram(self, x: Any) -> Array:
        """All pairs at once: sums of whole numbers are symmetric to the last bit."""
        return self.block(x, x)

    def feature_map(self, x: Any) -> Any:
        """The counts, as a CSR matrix."""
        return x.table

    def _counted(self, found: Occurrences, known: Parts | None) -> Counts:
        keys = signed(found.keys)
        given = None if known is None else known.keys
        starts, numbers, counts, first = _core.key_counts(keys, found.starts, found.times, given)
        parts = Parts(keys[first], first, found.examples) if known is None else known
        if self.binary:
            counts[:] = 1.0
        shape = (found.starts.size - 1, len(parts))
        return Counts(sparse.csr_matrix((counts, numbers, starts), shape=shape), parts)

    # The transformer -----------------------------------------------------------------------------

    parts_: Parts
    kernel_: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which parts there are; y is ignored."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn which parts there are, and count them."""
        self.kernel_ = self.bind(X)
        found = self.kernel_.rows(X, training=True)
        self.parts_ = found.parts
        return found.table

    def transform(self, X: Any) -> Any:
        """How often samples have each part of the training samples, as a CSR matrix."""
        check_is_fitted(self, "parts_")
        kernel: Any = self.kernel_
        return kernel._counted(kernel.find(X), self.parts_).table

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The parts, as texts."""
        check_is_fitted(self, "parts_")
        return np.asarray(self.parts_.names(), dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Samples are objects, not rows of a matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
