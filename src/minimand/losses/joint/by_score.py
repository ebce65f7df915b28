"""What sums of one loss over scores have in common: the facts of the loss of one score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from ..._base.typing import Array
from ..base import Loss, Target


class ByScore(Loss):
    """A sum of the loss ``loss`` of one score over scores."""

    loss: Loss

    def check_parameters(self) -> None:
        """The loss must be a loss of one score."""
        if not isinstance(self.loss, Loss) or self.loss.joint or self.loss.by_score is not None:
            raise ValueError(
                f"loss={self.loss!r} of {type(self).__name__} must be a loss of one score, such as "
                "minimand.Huber() or minimand.Logistic()."
            )
        self.loss.check_parameters()

    @property
    def by_score(self) -> Loss:
        """The loss of one score."""
        return self.loss

    @property
    def auto(self) -> Mapping[str, float]:  # type: ignore[override]
        """Parameters of the loss of one score that may be "auto"."""
        return self.loss.auto

    @property
    def undecided(self) -> list[str]:
        """Those of them that are."""
        return self.loss.undecided

    def decided(self, noise: float) -> Self:
        """The same with numbers in place of "auto"."""
        return self.copy(loss=self.loss.decided(noise))

    @property
    def target(self) -> Target:  # type: ignore[override]
        """That of one score."""
        return self.loss.target

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """The largest curvature of one score."""
        return self.loss.smoothness

    @property
    def convex(self) -> bool:
        """Whether the loss of one score is."""
        return self.loss.convex

    @property
    def smooth(self) -> bool:
        """Whether the loss of one score is."""
        return self.loss.smooth

    @property
    def nearly_kinked(self) -> bool:
        """Whether the loss of one score is."""
        return self.loss.nearly_kinked

    @property
    def refusal(self) -> str:
        """Why no model can be fitted; a sum of pooled losses has no units."""
        return self.loss.refusal

    @property
    def name(self) -> str:
        """``Σ huber(z, y; delta=1.0)``."""
        return f"Σ {self.loss.name}"

    def transform(self, z: Array) -> Array:
        """Score by score."""
        return self.loss.transform(z)
