"""Losses of one number with their kinks rounded off by parabolas."""

from __future__ import annotations

from .pieces import Pieces
from .unary import Distance, Margin, Unary


class _Rounded(Unary):
    """The envelope of a loss of pieces: see `Pieces.smoothed`."""

    proved = True

    def __init__(self, loss: Unary, width: float) -> None:
        self.loss = loss
        self.width = width

    @property
    def pieces(self) -> Pieces:
        """The pieces of the loss, with a parabola of this width for every kink."""
        sharp = self.loss.pieces
        assert sharp is not None
        return sharp.smoothed(self.width)


class RoundedDistance(_Rounded, Distance):
    """min over s of ψ(s) + (r − s)²/(2·width), for a loss of the residual."""


class RoundedMargin(_Rounded, Margin):
    """min over s of ψ(s) + (m − s)²/(2·width), for a loss of the margin."""


def rounded(loss: Unary, width: float) -> Unary | None:
    """The loss with rounded kinks; None for a loss of another form."""
    if loss.pieces is None:
        return None
    if isinstance(loss, Distance):
        return RoundedDistance(loss, width)
    return RoundedMargin(loss, width) if isinstance(loss, Margin) else None
