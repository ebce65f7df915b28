"""Gaps of many models of the squared loss under norms of groups, from their slopes: one call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _core
from .._base.typing import Array, IntArray
from ..penalties import Strengths
from ..penalties.strengths import InGroups

_LONG, _SHORT = 1e150, 1e-150  # sizes whose squares would overflow or vanish; safeguard


class Charges(NamedTuple):
    """For each model its penalty, the gap, and the scale of the dual point that proves it."""

    price: Array
    gap: Array
    s: Array

    def tolist(self) -> list[list[float]]:
        """The numbers of the models as lists."""
        return [part.tolist() for part in self]


def charged(strengths: Strengths, coefs: Array, slopes: Array, squares: Array) -> Charges:
    """The least gap of the residuals scaled into the domain of Ω*, and into the balls."""
    models, d, k = coefs.shape
    starts = np.arange(0, d * k + 1, k)
    flat = np.reshape(coefs, (models, d * k)), np.reshape(slopes, (models, d * k))
    return charged_in_runs(strengths, starts, *flat, squares)


def charged_in_runs(
    strengths: Strengths, starts: IntArray, coefs: Array, slopes: Array, squares: Array
) -> Charges:
    """The same for groups of coefficients, which begin at these places in every model."""
    found = np.empty((3, len(coefs)))
    norm, l2 = map(np.ascontiguousarray, strengths)
    models = np.ascontiguousarray(slopes), np.ascontiguousarray(coefs)
    _core.gaps_of_groups(squares, *models, starts, norm, l2, found)
    gaps, scales, prices = found
    return Charges(prices, gaps, scales)


def charged_by_groups(
    groups: InGroups, coefs: Array, slopes: Array, squares: Array
) -> Charges | None:
    """The same for norms of groups of features; None for huge or tiny numbers."""
    if not (is_moderate(coefs) and is_moderate(slopes)):
        return None
    order, starts, strengths = groups
    if not (np.diff(order) == 1).all():
        coefs, slopes = coefs[:, order], slopes[:, order]
    return charged_in_runs(strengths, starts, coefs, slopes, squares)


def is_moderate(values: Array) -> bool:
    """Whether squares of the largest number neither overflow nor vanish."""
    most = float(np.abs(values).max(initial=0.0))
    return most == 0 or _SHORT < most < _LONG
