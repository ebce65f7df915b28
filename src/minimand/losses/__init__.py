"""Losses: what a score z costs when the target is y.

A loss is a value object without data. Short names are the snake-case class names.
"""

from __future__ import annotations

from ..registry import Registry
from .base import Loss, Terms
from .calibration import Calibration, is_calibrated
from .chebyshev import Chebyshev
from .composed import Composed
from .concave import RobustLoss
from .deviance import Gamma, Tweedie
from .distance import Huber, Squared
from .margin import Logistic, SquaredHinge
from .matching import CrossEntropy, Poisson
from .matching_loss import MatchingLoss
from .pieces import PLQ, Pieces
from .piecewise import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    PerceptronLoss,
    Quantile,
    SquaredEpsilonInsensitive,
)
from .powers import Lp
from .robust import GemanMcClure, TanhMargin, TruncatedSquared
from .rowwise import Rowwise, Softplus
from .surrogates import Exponential, SquaredMargin, ZeroOne
from .table import Table, tabulate
from .unary import Distance, Margin, Unary

REGISTRY: Registry[Loss] = Registry(
    "loss",
    Loss,
    [
        Squared,
        Huber,
        Absolute,
        Chebyshev,
        Quantile,
        EpsilonInsensitive,
        SquaredEpsilonInsensitive,
        Logistic,
        Hinge,
        SquaredHinge,
        PerceptronLoss,
        Poisson,
        CrossEntropy,
        Gamma,
        Tweedie,
        Exponential,
        SquaredMargin,
        ZeroOne,
        GemanMcClure,
        TruncatedSquared,
        TanhMargin,
    ],
)

__all__ = [
    "PLQ",
    "REGISTRY",
    "Absolute",
    "Calibration",
    "Chebyshev",
    "Composed",
    "CrossEntropy",
    "Distance",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "GemanMcClure",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Lp",
    "Margin",
    "MatchingLoss",
    "PerceptronLoss",
    "Pieces",
    "Poisson",
    "Quantile",
    "RobustLoss",
    "Rowwise",
    "Softplus",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "SquaredMargin",
    "Table",
    "TanhMargin",
    "Terms",
    "TruncatedSquared",
    "Tweedie",
    "Unary",
    "ZeroOne",
    "is_calibrated",
    "table",
]


def table(*losses: Loss) -> Table:
    """The facts of losses side by side: convex, smooth, bounded, robust, calibrated.

    *robust*: the pull of one sample stays bounded however far it is off; *bounded*: its loss does.
    *≥ 0-1*: the loss is an upper bound of the zero-one loss; *calibrated*: minimising it leads to
    the fewest mistakes. The last two are asked of losses of labels only.

    Parameters
    ----------
    *losses : Loss
        Those to compare, your own among them; by default all that have a short name, and powers.

    Returns
    -------
    Table
        Prints as text; its ``rows`` hold the facts.

    Examples
    --------
    >>> import minimand as mm
    >>> print(mm.losses.table(mm.Logistic(), mm.Hinge()))
    loss        formula             convex  smooth  bounded  robust  ≥ 0-1  calibrated
    ───...
    Logistic()  log(1 + e^−m)       yes     yes     no       yes     no     yes
    Hinge()     max(0, 1 − m)       yes     no      no       yes     yes    yes
    """
    powers = [Lp(p) for p in (0, 0.5, 1, 1.5, 4)]
    return tabulate(losses or [*(REGISTRY.get(name) for name in REGISTRY.names), *powers])
