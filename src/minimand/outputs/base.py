"""The protocol of outputs: y as numbers that a loss understands, and scores back as y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._base.typing import AnyArray, Array
from ..losses import Loss


@dataclass(frozen=True, eq=False)
class Output(ABC):
    """The space of y, as a fit found it; the fitted model keeps it and predicts with it.

    It holds arrays and the loss, a value object, and nothing of the data: models that keep it can
    be saved. A subclass for vectors or sequences says how many columns z has, what the loss takes
    for y, and what it predicts from z; whatever else it needs is a field of its own.

    Attributes
    ----------
    loss : Loss
        How y is coded, and what a score means, depends on it.
    """

    loss: Loss

    @property
    @abstractmethod
    def scores(self) -> int:
        """Columns of z, one number or several per row."""

    @abstractmethod
    def encode(self, y: AnyArray) -> Array:
        """What the loss takes for y: (n,) with one score, else (n, scores), its columns together.

        y has been checked, and holds nothing that the output does not know.
        """

    @abstractmethod
    def decode(self, z: Array) -> AnyArray:
        """The prediction for scores z, (n,) or (n, scores)."""

    def columns(self, y: AnyArray) -> list[Array]:
        """The coded y of every score by itself, as one-versus-rest problems take it."""
        return columns_of(self.encode(y))

    def under(self, loss: Loss) -> Self:
        """The same space for another loss."""
        return replace(self, loss=loss)


def columns_of(coded: Array) -> list[Array]:
    """The columns of a coded y, (n,) or (n, scores), each of them contiguous."""
    if coded.ndim == 1:
        return [coded]
    return [np.ascontiguousarray(column) for column in coded.T]
