"""Classification calibration: whether minimising a surrogate minimises the mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base import Loss
from ..unary import Margin
from .facts import labels, scores

_NEAR = 1e-9  # margin; safeguard: slopes at ±_NEAR are compared to find a kink at 0


@dataclass(frozen=True)
class Calibration:
    """An answer that is true or false, with its reason in words."""

    calibrated: bool
    reason: str

    def __bool__(self) -> bool:
        return self.calibrated


def is_calibrated(loss: Loss | str) -> Calibration:
    """Whether a loss is classification-calibrated.

    Let η be the probability of the positive class, and C_η(z) = η·ℓ(z, +1) + (1 − η)·ℓ(z, −1) the
    expected loss of a score. The loss is calibrated if for every η ≠ ½ scores of the wrong sign
    (or 0) stay above the infimum of C_η: then minimising the loss over all functions minimises the
    mistakes. A convex ψ(m) is calibrated if and only if it is differentiable at m = 0 with
    ψ'(0) < 0 (Bartlett, Jordan and McAuliffe 2006); for other losses C_η is evaluated on a grid.

    Parameters
    ----------
    loss : Loss or str
        A loss of labels: of the margin, or one that takes y in [0, 1].

    Returns
    -------
    Calibration
        True or false in an ``if``; its ``reason`` says why.

    Examples
    --------
    >>> import minimand as mm
    >>> bool(mm.is_calibrated(mm.Logistic())), bool(mm.is_calibrated(mm.PerceptronLoss()))
    (True, False)
    >>> mm.is_calibrated(mm.Squared()).reason
    'Squared() takes numbers, not labels: ask of a loss of the margin, such as SquaredMargin()'
    """
    if not isinstance(loss, Loss):
        from .. import REGISTRY

        loss = REGISTRY.get(loss)
    if loss.target == "class":
        if loss.probabilistic:
            words = (
                "the expected loss is least at the true probabilities, the largest of which wins"
            )
            return Calibration(True, words)
        return Calibration(False, f"{loss!r} is over classes: the criterion is for margin losses")
    if labels(loss) is None:
        words = "takes numbers, not labels: ask of a loss of the margin, such as SquaredMargin()"
        return Calibration(False, f"{loss!r} {words}")
    if isinstance(loss, Margin) and loss.convex:
        return _by_slope(loss)
    return _by_risk(loss)


def _by_slope(loss: Margin) -> Calibration:
    """The criterion for convex ψ."""
    with np.errstate(all="ignore"):
        left, middle, right = loss.dpsi(np.array([-_NEAR, 0.0, _NEAR]))
    if right - left > 1e-6 * max(1.0, abs(left), abs(right)):  # share of the slopes; safeguard
        words = f"ψ has a kink at m = 0, where its slope jumps from {left:.3g} to {right:.3g}"
        return Calibration(False, words)
    if middle < 0:
        return Calibration(True, f"ψ is convex, and differentiable at 0 with ψ'(0) = {middle:.3g}")
    return Calibration(False, f"ψ'(0) = {middle:.3g} is not negative")


def _by_risk(loss: Loss) -> Calibration:
    """Compare, on a grid of η and z, the least C_η of wrong signs with the least of all."""
    coded = labels(loss)
    assert coded is not None
    z = scores()
    tilt = np.concatenate([np.geomspace(1e-3, 0.45, 24), [0.49, 0.499]])
    eta = np.concatenate([0.5 - tilt, 0.5 + tilt])[:, None]
    with np.errstate(all="ignore"):
        negative, positive = (loss.value(z, np.full(z.shape, y)) for y in coded)
        risk = eta * positive + (1.0 - eta) * negative
        wrong = np.where((2 * eta - 1) * z <= 0, risk, np.inf)
        lost = wrong.min(axis=1) - risk.min(axis=1)
        size = np.abs(risk.min(axis=1)) + np.abs(positive[z == 0]) + np.abs(negative[z == 0])
    bad = ~(lost > 1e-12 * size)  # share of C_η; safeguard: rounding
    if bad.any():
        worst = float(eta[np.argmax(bad), 0])
        words = f"where the positive class has probability {worst:.3g}, a score of the wrong sign "
        return Calibration(False, words + "is as good as the best")
    return Calibration(
        True, "at all odds tried, a score of the wrong sign costs more than the best"
    )
