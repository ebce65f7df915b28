"""What kernels of structures share: lists of samples, short names, values that overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import Array


def samples_of(X: Any, what: str, plural: str) -> list[Any]:
    """X as a list with one object per sample."""
    if X is None:
        raise ValueError(f"X is None: pass a list of {what}.")
    if isinstance(X, str | bytes):
        raise ValueError(f"X is one text, {X!r:.50}: pass a list of {plural}, one per sample.")
    if hasattr(X, "nodes") or isinstance(X, dict) or not hasattr(X, "__iter__"):
        raise ValueError(f"X is one {type(X).__name__}: pass a list of {plural}, one per sample.")
    if sparse.issparse(X) or getattr(X, "ndim", 1) != 1:
        shape = tuple(np.shape(X))
        raise ValueError(
            f"X must be a list of {what}, one per sample, not a {type(X).__name__} of shape "
            f"{shape}: pass one column of it, or list(X)."
        )
    return list(X)


_LONGEST = 120  # characters of a name; safeguard: names of large parts grow with every level


def abbreviated(name: str, number: int) -> str:
    """A name, cut if it is very long; the number then tells such names apart."""
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}… #{number}"


def finite(kernel: Any, values: Array) -> Array:
    """Values of a kernel; those that overflow are refused."""
    if not np.isfinite(values).all():
        raise ValueError(f"{kernel!r} overflows on such large samples: take a smaller decay.")
    return values
