"""Raising an AssertionError of one sentence for a law that is broken."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import Array, BoolArray


def require(ok: Any, sentence: str) -> None:
    """Raise AssertionError with the sentence unless ``ok``."""
    if not ok:
        raise AssertionError(sentence)


def require_all(ok: BoolArray, sentence: str, **where: Array) -> None:
    """Require every entry; the sentence ends with the first place where one is false."""
    ok = np.asarray(ok)
    if ok.all():
        return
    at = np.unravel_index(int(np.argmin(ok)), ok.shape)
    place = ", ".join(f"{k}={np.broadcast_to(v, ok.shape)[at]:.6g}" for k, v in where.items())
    raise AssertionError(f"{sentence} (at {place})")
