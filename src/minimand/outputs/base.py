"""The protocol of outputs: encodes y for the loss, and decodes scores to predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from .._base.typing import AnyArray, Array
from ..losses import Loss


@dataclass(frozen=True, eq=False)
class Output(ABC):
    """The space of y, as a fit found it; the fitted model keeps it and predicts with it.

    An output holds small arrays and the loss, but no training data, so models that keep it can be
    saved. A subclass defines the number of columns of z, how y is encoded for the loss, and how z
    is decoded; further facts are fields of the subclass.

    Attributes
    ----------
    loss : Loss
        The coding of y and the meaning of a score depend on it. Of a sum over scores it is the loss
        of one score.
    """

    loss: Loss
    parts: ClassVar[str] = "outputs"  # what there is one score for

    @property
    @abstractmethod
    def scores(self) -> int:
        """Columns of z, one number or several per row."""

    @abstractmethod
    def encode(self, y: AnyArray) -> Array:
        """Y as the loss takes it: (n,) with one score or for a joint loss, else (n, scores).

        y has been checked, and holds only values of this output space.
        """

    @abstractmethod
    def decode(self, z: Array) -> AnyArray:
        """The prediction for scores z, (n,) or (n, scores)."""

    def decision(self, z: Array) -> Array:
        """The scores as `decision_function` returns them: z itself."""
        return z

    @property
    def names(self) -> list[str]:
        """A name for every score."""
        return [str(number) for number in range(self.scores)]

    def columns(self, y: AnyArray) -> list[Array]:
        """The coded y, one vector per score, as one-versus-rest problems take it."""
        return columns_of(self.encode(y))

    def under(self, loss: Loss) -> Self:
        """The same space for another loss."""
        return replace(self, loss=loss.of_one_score)


def columns_of(coded: Array) -> list[Array]:
    """The columns of a coded y, (n,) or (n, scores), each of them contiguous."""
    if coded.ndim == 1:
        return [coded]
    return [np.ascontiguousarray(column) for column in coded.T]
