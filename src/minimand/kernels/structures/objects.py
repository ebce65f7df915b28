"""Samples of any kind as rows of a kernel, put together when a block is computed."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from ..._base.typing import AnyArray, IntArray

Sample = TypeVar("Sample")


class Objects(Generic[Sample]):
    """A list that is cut by slices and by lists of numbers."""

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            return type(self)(self.samples[rows])
        places = np.arange(len(self.samples))[rows]
        return type(self)([self.samples[i] for i in places.tolist()])

    def __getstate__(self) -> dict[str, Any]:
        return {"samples": self.samples}

    @cached_property
    def starts(self) -> IntArray:
        """Where the entries of every sample begin in their concatenation, and the end."""
        sizes = [len(sample) for sample in self.samples]  # type: ignore[arg-type]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def concatenated(arrays: list[AnyArray], kind: Any) -> AnyArray:
    """Arrays one after another, also if there are none."""
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=kind)
