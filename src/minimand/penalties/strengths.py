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
        rows = [_row_of(penalty) for penalty in penalties]
        known = [row for row in rows if row is not None]
        if len(known) < len(rows) or not known:
            return None
        return cls(*(np.stack(part) for part in zip(*known)))

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


def _row_of(penalty: BoundPenalty) -> tuple[Array, Array] | None:
    """The kinks and squares of one penalty."""
    form = penalty.sum_over_features
    if isinstance(penalty, Grouped):
        l2 = penalty.l2
        if penalty.l1.any() or not penalty.groups.are_rows or (l2 != l2[:, :1]).any():
            return None
        found = penalty.norm, l2[:, 0]
    elif form is not None and form.l1.ndim == 1 and not form.has_constraints:
        found = form.l1, form.l2
    else:
        return None
    return found if ((found[0] > 0) | (found[1] > 0)).all() else None
