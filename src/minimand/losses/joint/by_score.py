"""What sums of one loss over scores have in common: the facts of the loss of one score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from ..._base.typing import Array
from ..base import Loss, Target


class ByScore(Loss):
    """A sum of the loss ``loss`` of one score over scores."""

    loss: Loss | str

    @property
    def single(self) -> Loss:
        """The loss of one score, which the parameter ``loss`` is or names."""
        if isinstance(self.loss, str):
            from .. import REGISTRY

            return REGISTRY.get(self.loss)
        return self.loss

    def check_parameters(self) -> None:
        """The loss must be a loss of one score."""
        one = self.single
        if not isinstance(one, Loss) or one.joint or one.by_score is not None:
            raise ValueError(
                f"loss={self.loss!r} of {type(self).__name__} must be a loss of one score, such as "
                "minimand.Huber() or minimand.Logistic()."
            )
        one.check_parameters()

    @property
    def proved(self) -> bool:  # type: ignore[override]
        """Whether the formulas of the loss of one score are."""
        return self.single.proved

    @property
    def by_score(self) -> Loss:  # type: ignore[override]
        """The loss of one score."""
        return self.single

    @property
    def auto(self) -> Mapping[str, float]:  # type: ignore[override]
        """Parameters of the loss of one score that may be "auto"."""
        return self.single.auto

    @property
    def undecided(self) -> list[str]:
        """Parameters of the loss that are "auto"."""
        return self.single.undecided

    def decided(self, noise: float) -> Self:
        """The same loss with numbers in place of "auto"."""
        return self.copy(loss=self.single.decided(noise))

    @property
    def target(self) -> Target:  # type: ignore[override]
        """The targets that the loss of one score takes."""
        return self.single.target

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """The largest curvature of one score."""
        return self.single.smoothness

    @property
    def convex(self) -> bool:
        """Whether the loss of one score is."""
        return self.single.convex

    @property
    def smooth(self) -> bool:
        """Whether the loss of one score is."""
        return self.single.smooth

    @property
    def nearly_kinked(self) -> bool:
        """Whether the loss of one score is."""
        return self.single.nearly_kinked

    @property
    def refusal(self) -> str:
        """Why no model can be fitted; a sum of pooled losses has no units."""
        return self.single.refusal

    @property
    def name(self) -> str:
        """``Σ huber(z, y; delta=1.0)``."""
        return f"Σ {self.single.name}"

    def transform(self, z: Array) -> Array:
        """Score by score."""
        return self.single.transform(z)
