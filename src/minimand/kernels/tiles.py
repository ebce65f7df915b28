"""Values of kernels tile by tile, so that every step of a tile finds it in a cache.

Every thread has tiles of its own: the threads of BLAS would wait for each other at every tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .._base.in_order import in_order
from .._base.threads import get_num_threads
from .._base.typing import AnyArray, Array
from .rows import Parts, count

ROWS = 256  # of a tile; safeguard: products of thinner matrices are slow
_COLUMNS = 1024  # of a tile, 2 MB of float64; measured at 12000×30
_LARGE = 1 << 22  # values that are worth threads, some milliseconds; safeguard


class Tiled(Protocol):
    """A kernel that can write its values into a part of a table."""

    def tile(self, x: Any, z: Any, out: AnyArray) -> None:
        """Write k(xᵢ, zⱼ) of all pairs to ``out``, whose rows may lie apart."""


def serve(kernel: Any, block: Any, x: Any, z: Any) -> bool:
    """Whether tiles give what ``block`` gives: dense rows, and a class that has not changed it."""
    return type(kernel).block is block and _dense(x) and _dense(z)


def fill(kernel: Tiled, x: Any, z: Any, out: AnyArray) -> None:
    """Write k(xᵢ, zⱼ) of all pairs to ``out``."""
    across = runs(out.shape[1], _COLUMNS)

    def strip(rows: slice) -> None:
        for columns in across:
            kernel.tile(x[rows], z[columns], out[rows, columns])

    share_out(strip, runs(out.shape[0], ROWS), out.size)


def times(kernel: Tiled, x: Any, z: Any, a: Array, dtype: Any) -> Array:
    """Σⱼ k(xᵢ, zⱼ)·aⱼ in float64, from values in ``dtype``; a is (n,) or (n, k)."""
    found, across = np.zeros((count(x), *a.shape[1:])), runs(count(z), _COLUMNS)

    def strip(rows: slice) -> None:
        tile = np.empty((rows.stop - rows.start, min(_COLUMNS, count(z))), dtype=dtype)
        for columns in across:
            out = tile[:, : columns.stop - columns.start]
            kernel.tile(x[rows], z[columns], out)
            found[rows] += out @ a[columns]

    share_out(strip, runs(count(x), ROWS), count(x) * count(z))
    return found


def runs(n: int, size: int) -> list[slice]:
    """The numbers from 0 to n in runs of a size."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def share_out(work: Callable[[slice], None], runs: list[slice], values: int) -> None:
    """``work`` on all runs, on threads if there is much of it."""
    jobs = min(get_num_threads(), len(runs)) if values >= _LARGE else 1
    for _ in in_order(work, runs, jobs):
        pass


def _dense(x: Any) -> bool:
    """Whether the rows are an array, with or without a number for each."""
    return not sparse.issparse(x.parts[0] if isinstance(x, Parts) else x)
