"""The objective of another library's model, on our scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...losses import Loss
from ...penalties import L1, L2, L21, NonNegative, Penalty

Total = Callable[[], float]


@dataclass(frozen=True)
class Formulation:
    """A model's objective; ``constant`` is the value of a penalised constant column, 0 if none.

    ``per_row``: the loss is divided by the number of rows, whatever these weigh.
    """

    loss: Loss
    penalty: Penalty
    alpha: Any  # a number, or one per output
    intercept: bool
    constant: float = 0.0
    labels: bool = False
    per_row: bool = False

    @property
    def coupled(self) -> bool:
        """Whether all outputs are one problem."""
        return self.loss.joint or self.penalty.couples_scores


def signed(model: Any, penalty: Penalty) -> Penalty:
    """The penalty, with w ≥ 0 if the model was asked for positive coefficients."""
    return penalty + NonNegative() if getattr(model, "positive", False) else penalty


def mix(l1_ratio: float, weights: Any = None) -> Penalty:
    """l1_ratio·‖w‖₁ + (1 − l1_ratio)·½‖w‖², with weights per feature if there are any."""
    return float(l1_ratio) * L1(weights) + (1.0 - float(l1_ratio)) * L2(weights)


def mix_of_rows(l1_ratio: float) -> Penalty:
    """l1_ratio·Σ‖W_j‖₂ + (1 − l1_ratio)·½‖W‖², which couples the outputs unless l1_ratio is 0."""
    ratio = float(l1_ratio)
    if ratio in (0.0, 1.0):
        return L21() if ratio else L2()
    return ratio * L21() + (1.0 - ratio) * L2()
