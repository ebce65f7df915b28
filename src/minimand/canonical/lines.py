"""Selects the compiled kernel for a matrix: the one for arrays or the one for compressed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .. import _core
from ..design import Lines

T = TypeVar("T")


def kernel_for(
    lines: Lines, compressed: Callable[..., T], dense: Callable[..., T]
) -> Callable[..., T]:
    """The kernel for these lines."""
    return compressed if isinstance(lines, _core.Compressed) else dense
