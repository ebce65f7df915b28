"""Distances of pairs of rows, each computed once for kernels of several bandwidths.

A search over ``tau`` compares the same rows again for every value. Inside `sharing_distances` the
factors of kernel matrices get their rows as `Measured`: with their numbers in a `Table`, which
computes the distances of a row to all others when they are first asked for, and keeps them. Rows
with the same content share a table, whatever kernel or column selection they came from.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._base.typing import Array, IntArray
from .rows import count


class Measure(NamedTuple):
    """A distance of two rows."""

    name: str
    prepare: Callable[[Any], tuple[Any, float]]  # rows as `between` takes them, and its error
    between: Callable[[Any, Any], Array]  # of all pairs, in float64


class Table:
    """Distances of some of the rows to all of them, kept as long as there is room.

    ``error`` is the size of the numbers whose difference a distance is, in its unit; 0 if nothing
    cancels in it.
    """

    def __init__(self, x: Any, measure: Measure, room: float) -> None:
        n = count(x)
        self._rows, self.error = measure.prepare(x)
        self._between = measure.between
        # Memory that is never written to is never taken.
        self._kept = np.empty((min(n, int(room / (8 * n))), n))
        self._place = np.full(n, -1, dtype=np.intp)
        self._used = 0

    @property
    def nbytes(self) -> int:
        """What the table may grow to."""
        return int(self._kept.nbytes)

    def of_rows(self, numbers: IntArray) -> Array:
        """The distances of all rows to these, (n, these), to be written to."""
        new = numbers[self._place[numbers] < 0]
        places = np.arange(self._used, min(self._used + new.size, self._kept.shape[0]))
        new = new[: places.size]
        if new.size:
            self._kept[places] = self._between(self._rows[new], self._rows)
            self._place[new], self._used = places, int(places[-1]) + 1
        found, places = np.empty((numbers.size, self._kept.shape[1])), self._place[numbers]
        found[places >= 0] = self._kept[places[places >= 0]]
        if (left := places < 0).any():
            found[left] = self._between(self._rows[numbers[left]], self._rows)
        return found.T

    def known(self, rows: IntArray, numbers: IntArray) -> Array | None:
        """The distances of some rows to others if all of these are kept; None if not."""
        places = self._place[numbers]
        return self._kept[np.ix_(places, rows)].T if (places >= 0).all() else None


class Measured:
    """Rows with their numbers in a table of distances; None: all rows of the table."""

    __slots__ = ("numbers", "rows", "table")

    def __init__(self, rows: Any, table: Table, numbers: IntArray | None = None) -> None:
        self.rows, self.table, self.numbers = rows, table, numbers

    def __len__(self) -> int:
        return count(self.rows)

    def __getitem__(self, rows: Any) -> Measured:
        known = np.arange(len(self)) if self.numbers is None else self.numbers
        return Measured(self.rows[rows], self.table, known[rows])

    def distances(self, others: Measured) -> Array | None:
        """All distances to other rows, to be written to; None where the table has none of them."""
        if others.numbers is None:
            return None
        if self.numbers is None:
            return self.table.of_rows(others.numbers)
        return self.table.known(self.numbers, others.numbers)


class _Scope(threading.local):
    """The tables of a thread; None outside `sharing_distances`."""

    tables: _Tables | None = None


class _Tables:
    """A table for every measure and content of rows, within a number of bytes."""

    def __init__(self, room: float) -> None:
        self._room, self._known = room, dict[tuple[str, bytes], Table]()

    def of(self, x: Any, measure: Measure) -> Table:
        key = measure.name, _digest(x)
        if key not in self._known:
            self._known[key] = Table(x, measure, self._room)
            self._room -= self._known[key].nbytes
        return self._known[key]


_scope = _Scope()


@contextmanager
def sharing_distances(room: float) -> Iterator[None]:
    """Factors of kernel matrices in this block, and thread, share up to ``room`` bytes of them."""
    before, _scope.tables = _scope.tables, _Tables(room)
    try:
        yield
    finally:
        _scope.tables = before


def measured(x: Any, measure: Measure) -> Any:
    """The rows with their table, inside `sharing_distances`; else as they are."""
    return x if _scope.tables is None else Measured(x, _scope.tables.of(x, measure))


def _digest(x: Any) -> bytes:
    """A fingerprint of the rows."""
    found = hashlib.blake2b(f"{x.shape} {x.dtype}".encode(), digest_size=16)
    for part in (x.data, x.indices, x.indptr) if sparse.issparse(x) else (x,):
        found.update(np.ascontiguousarray(part).data)
    return found.digest()
