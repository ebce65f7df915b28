"""Distances of pairs of rows, as kernels of them take them: straight, squared or absolute."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from .._base.typing import Array
from .rows import Parts, products, squares
from .shared_distances import Measure
from .vectors import by_entries

FEW_COLUMNS = 12  # up to which differences cost less than a product of matrices; measured


def sums(x: Any, z: Any, *, squared: bool) -> Array:
    """Σⱼ |xⱼ − zⱼ| or Σⱼ (xⱼ − zⱼ)² of all pairs, in float64, from the differences themselves."""
    compute = partial(_core.sums_of_differences, squared)
    return by_entries(x.astype(float, copy=False), z.astype(float, copy=False), compute)


def distances(x: Any, z: Any) -> Array:
    """‖x − z‖ of all pairs, in float64; exact for rows that are nearly equal."""
    found = sums(x, z, squared=True)
    return np.sqrt(found, out=found)


def _centred(x: Any) -> tuple[Any, float]:
    """Rows for `_squared`: moved to their mean, if many columns make products the faster way."""
    if sparse.issparse(x):
        return Parts(x, squares(x)), 0.0
    if x.shape[1] <= FEW_COLUMNS:
        return x, 0.0
    moved = x - x.mean(axis=0)
    sizes = squares(moved)
    return Parts(moved, sizes), float(sizes.max(initial=0.0))


def _squared(x: Any, z: Any) -> Array:
    """‖x − z‖² of all pairs, as ‖x‖² + ‖z‖² − 2x·z where rows come with their squares."""
    if not isinstance(x, Parts):
        return sums(x, z, squared=True)
    (x, own), (z, other) = x, z
    found = products(x, z)
    found *= -2.0
    found += own[:, None]
    found += other
    return np.maximum(found, 0.0, out=found)


def _plain(x: Any) -> tuple[Any, float]:
    return x, 0.0


SQUARES = Measure("squares", _centred, _squared)
STRAIGHT = Measure("straight", _plain, distances)
ABSOLUTE = Measure("absolute", _plain, lambda x, z: sums(x, z, squared=False))
