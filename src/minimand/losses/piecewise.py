"""Losses with kinks, given to the solvers as linear and quadratic pieces."""

from __future__ import annotations

from functools import lru_cache

from .._base.parameters import check_number
from .pieces import Pieces
from .unary import Distance, Margin


class Absolute(Distance):
    """|r|, least absolute deviations: the median instead of the mean.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Absolute().value(np.array([3.0, -1.0]), np.zeros(2))
    array([3., 1.])
    """

    proved = True

    pieces = Pieces([0.0], [-1.0, 1.0])


class Quantile(Distance):
    """max(−q·r, (1 − q)·r): the q-quantile of y given x.

    A residual r = z − y below zero (a prediction that is too low) costs q per unit, one above
    costs 1 − q; ``Quantile(0.5)`` is half of `Absolute`.

    Parameters
    ----------
    q : float, default=0.5
        Between 0 and 1, exclusive.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Quantile(0.9).value(np.array([-1.0, 1.0]), np.zeros(2))
    array([0.9, 0.1])
    """

    proved = True

    def __init__(self, q: float = 0.5) -> None:
        self.q = q

    def check_parameters(self) -> None:
        """0 < q < 1."""
        check_number(self, "q", "a number between 0 and 1, exclusive", lambda q: 0 < q < 1)

    @property
    def pieces(self) -> Pieces:
        """Two lines."""
        return _two_lines(float(self.q))


class EpsilonInsensitive(Distance):
    """max(0, |r| − ε): residuals up to ε cost nothing (support vector regression).

    Parameters
    ----------
    eps : float, default=0.1
        Half the width of the tube, in units of y; not negative.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.EpsilonInsensitive(0.5).value(np.array([0.25, 2.0]), np.zeros(2))
    array([0. , 1.5])
    """

    proved = True

    def __init__(self, eps: float = 0.1) -> None:
        self.eps = eps

    def check_parameters(self) -> None:
        """eps ≥ 0."""
        check_number(self, "eps", "a number that is not negative", lambda eps: eps >= 0)

    @property
    def pieces(self) -> Pieces:
        """A line, nothing, a line."""
        return _tube(float(self.eps), 1.0, 0.0)


class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """max(0, |r| − ε)²: the parameter is that of `EpsilonInsensitive`.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.SquaredEpsilonInsensitive(0.5).value(np.array([0.25, 2.0]), np.zeros(2))
    array([0.  , 2.25])
    """

    @property
    def pieces(self) -> Pieces:
        """A parabola, nothing, a parabola."""
        return _tube(float(self.eps), 0.0, 2.0)


class Hinge(Margin):
    """max(0, 1 − m): the support vector machine.

    The slack of a sample is its hinge loss: margins 0.8, −1 and 2.5 have slacks 0.2, 2 and 0.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.Hinge().value(np.array([0.75, -1.0, 2.5]), np.ones(3))
    array([0.25, 2.  , 0.  ])
    """

    proved = True

    pieces = Pieces([1.0], [-1.0, 0.0])


class PerceptronLoss(Margin):
    """max(0, −m): mistakes cost their depth, correct answers nothing.

    Any w that makes no mistake is a minimiser, and so is w = 0: with and without a penalty the null
    model has loss 0. The loss is meant for online updates; for a fit use `Hinge`.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> mm.PerceptronLoss().value(np.array([-2.0, 2.0]), np.ones(2))
    array([2., 0.])
    """

    proved = True

    pieces = Pieces([0.0], [-1.0, 0.0])


@lru_cache
def _two_lines(q: float) -> Pieces:
    return Pieces([0.0], [-q, 1.0 - q])


@lru_cache
def _tube(eps: float, slope: float, curvature: float) -> Pieces:
    if eps == 0:
        return Pieces([0.0], [-slope, slope], [curvature, curvature])
    return Pieces([-eps, eps], [-slope, 0.0, slope], [curvature, 0.0, curvature])
