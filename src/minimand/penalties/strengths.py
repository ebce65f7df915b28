"""The penalties of many models: the same sum over features, or over rows of W, in other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._base.typing import Array, IntArray
from .base import BoundPenalty
from .grouped import Grouped


class Strengths(NamedTuple):
    """Σ kinkⱼ‖wⱼ‖ + ½ Σ l2ⱼ‖wⱼ‖², a row of both arrays for each model.

    wⱼ is the coefficient of feature j, or the row of W that holds one for every score. There are no
    bounds, and no feature is free of both parts.
    """

    kink: Array
    l2: Array

    @classmethod
    def of(cls, penalties: Sequence[BoundPenalty]) -> Strengths | None:
        """Those of penalties that are bound; None if one of them is no such sum."""
        rows = []
        for penalty in penalties:
            row = penalty.row_sizes
            if row is None:
                return None
            rows.append(row)
        if not rows:
            return None
        kink, l2 = zip(*rows)
        return cls(np.stack(kink), np.stack(l2))

    def times(self, factors: Array) -> Strengths:
        """Every factor times the penalty of the only model."""
        return Strengths(*(np.multiply.outer(factors, part[0]) for part in self))


class InGroups(NamedTuple):
    """Groups of features as runs: the features in this order, and the first place of each group."""

    order: IntArray
    starts: IntArray
    strengths: Strengths  # by group


def in_groups(penalties: Sequence[BoundPenalty]) -> InGroups | None:
    """Σ norm_g‖w_g‖ + ½ l2‖w‖² over the same groups of features; None if one is no such sum."""
    first = penalties[0]
    if not isinstance(first, Grouped) or first.groups.label.ndim > 1:
        return None
    norms, squares = [], []
    for form in penalties:
        if not isinstance(form, Grouped) or not form.groups.same_as(first.groups):
            return None
        even = float(form.l2[0]) if form.l2.size else 0.0
        if form.l1.any() or (form.l2 != even).any() or not (even > 0 or (form.norm > 0).all()):
            return None
        norms.append(form.norm)
        squares.append(np.full(form.norm.size, even))
    order = np.argsort(first.groups.label, kind="stable")
    starts = np.concatenate([[0], np.cumsum(first.groups.sizes)])
    return InGroups(order, starts, Strengths(np.stack(norms), np.stack(squares)))
