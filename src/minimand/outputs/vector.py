"""Several real numbers per sample, each with a score of its own."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Numbers


@dataclass(frozen=True, eq=False)
class VectorOutput(Numbers):
    """One number per sample and column of Y."""

    n_outputs: int

    @property
    def scores(self) -> int:
        """One per column."""
        return self.n_outputs
