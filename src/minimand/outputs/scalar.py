"""One real number per sample."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Numbers


@dataclass(frozen=True, eq=False)
class ScalarOutput(Numbers):
    """One number per sample."""

    @property
    def scores(self) -> int:
        """One, unless the loss has several for one y."""
        return self.loss.scores_for(1) if self.loss.joint else 1
