"""Penalties that keep or drop groups of coefficients: groups of features, rows and columns of W."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .._base.typing import Array, ArrayLike, IntArray
from .base import BoundPenalty, Penalty, number
from .grouped import grouped
from .partition import Groups
from .separable import NoPenalty, factors
from .squared_norm import SquaredNorm


class _GroupPenalty(Penalty):
    """Base of penalties on groups of features: which features, and the factor of each group."""

    proved = True

    groups: Any
    weights: ArrayLike

    @property
    def couples_scores(self) -> bool:
        """True: a group holds all scores of its features."""
        return True

    def _bound_groups(self, n_features: Any) -> tuple[Groups, Array]:
        """The groups of all coefficients, and the factors: √size by default."""
        owner = type(self).__name__
        d = n_features if np.ndim(n_features) == 0 else n_features[0]
        label, count = _labels(self.groups, d, owner)
        sizes = np.bincount(label, minlength=count)
        weights = np.sqrt(sizes) if self.weights is None else self.weights
        found = factors(weights, count, owner, "group")
        if np.ndim(n_features) > 0:
            label = np.repeat(label[:, None], n_features[1], axis=1)
        return Groups(label, count), found


class GroupL2(_GroupPenalty):
    """Σ weights_g‖w_g‖₂ over groups of features: a group enters the model as a whole or not at all.

    Parameters
    ----------
    groups : array-like of n_features labels, or a list of lists of feature numbers
        Labels are numbers or strings; groups are ordered as the sorted labels, or as the lists.
        Every feature belongs to exactly one group: overlapping groups and features in none are
        refused. A group with weight 0 is unpenalised.
    weights : array-like of shape (n_groups,), optional
        In the order of the groups: that of the sorted labels, or that of the lists. By default
        √size of each group, so that large groups have no advantage.
    squared : bool, default=False
        Half the square of the sum instead of the sum itself.

    Notes
    -----
    w_g = 0 is optimal iff ‖∂_gL‖ ≤ α·weights_g, L the mean loss. With k scores, a group holds all
    scores of its features.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.GroupL2([0, 0, 1], weights=[1.0, 2.0]).value([3.0, 4.0, -1.0])
    7.0
    >>> mm.GroupL2([[0, 1], [2]], weights=[1.0, 1.0]).prox([3.0, 4.0, 0.5], step=1.0)
    array([2.4, 3.2, 0. ])
    """

    def __init__(self, groups: Any, weights: ArrayLike = None, *, squared: bool = False) -> None:
        self.groups = groups
        self.weights = weights
        self.squared = squared

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """norm = α·weights."""
        return _of_norms(*self._bound_groups(n_features), alpha, self.squared)

    def formula(self, factor: float = 1.0) -> str:
        """factor·Σ c_g‖w_g‖₂."""
        return _formula("Σ c_g‖w_g‖₂", factor, self.squared)


class SparseGroup(_GroupPenalty):
    """share·‖w‖₁ + (1 − share)·Σ weights_g‖w_g‖₂: few groups, and few features in each.

    Parameters
    ----------
    groups : array-like of n_features labels, or a list of lists of feature numbers
        As in `GroupL2`.
    share : float, default=0.5
        Share of the 1-norm, between 0 (``GroupL2``) and 1 (``L1``).
    weights : array-like of shape (n_groups,), optional
        In the order of the groups, as in `GroupL2`. By default √size of each group.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.SparseGroup([0, 0, 1], share=0.5, weights=[1.0, 2.0]).value([3.0, 4.0, -1.0])
    7.5
    >>> mm.SparseGroup([0, 0, 1], weights=[2.0, 2.0]).prox([3.5, 4.5, 1.2], step=1.0)
    array([2.4, 3.2, 0. ])
    """

    def __init__(self, groups: Any, share: float = 0.5, weights: ArrayLike = None) -> None:
        self.groups = groups
        self.share = share
        self.weights = weights

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """l1 = α·share, norm = α·(1 − share)·weights."""
        share = self.share
        is_number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
        if not is_number or not 0 <= share <= 1:
            raise ValueError(f"share of SparseGroup must be a number from 0 to 1, not {share!r}.")
        groups, weights = self._bound_groups(n_features)
        l1 = np.full(groups.label.shape, alpha * share)
        return grouped(groups, alpha * (1.0 - share) * weights, l1, np.zeros_like(l1))

    def formula(self, factor: float = 1.0) -> str:
        """factor·(share·‖w‖₁ + (1 − share)·Σ c_g‖w_g‖₂)."""
        parts = ((self.share, "‖w‖₁"), (1 - self.share, "Σ c_g‖w_g‖₂"))
        words = [f"{number(factor * part)}{norm}" for part, norm in parts if part]
        return " + ".join(words) or "0"


class L21(Penalty):
    """Σ weightsⱼ‖Wⱼ‖₂ over the rows of W: a feature is used for all outputs or for none.

    Parameters
    ----------
    weights : array-like, optional
        One factor per feature, or per output with ``by="output"``; 0 leaves it unpenalised.
    by : {"feature", "output"}, default="feature"
        Whose coefficients form a group: those of a feature (a row of W, d features × k outputs),
        or those of an output (a column), so that whole outputs drop out.
    squared : bool, default=False
        Half the square of the sum instead of the sum itself.

    Notes
    -----
    With a single output, ``L21()`` is ``L1()``, and ``L21(by="output")`` is ‖w‖₂.

    Examples
    --------
    >>> import minimand as mm
    >>> W = [[3.0, 4.0], [0.0, 1.0]]
    >>> mm.L21().value(W)
    6.0
    >>> mm.L21().prox(W, step=1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    >>> mm.L21(squared=True).value(W)
    18.0
    """

    proved = True

    def __init__(
        self,
        weights: ArrayLike = None,
        by: Literal["feature", "output"] = "feature",
        *,
        squared: bool = False,
    ) -> None:
        self.weights = weights
        self.by = by
        self.squared = squared

    @property
    def couples_scores(self) -> bool:
        """Whether a group or the square joins several outputs, or outputs have weights."""
        return self.by == "feature" or self.squared or self.weights is not None

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """norm = α·weights, a group for every row or column."""
        if self.by not in ("feature", "output"):
            raise ValueError(f"by of L21 must be 'feature' or 'output', not {self.by!r}.")
        d, k = (n_features, 1) if np.ndim(n_features) == 0 else n_features
        by_row = self.by == "feature"
        count, line = (d, np.arange(d)[:, None]) if by_row else (k, np.arange(k))
        if by_row and np.ndim(n_features):
            groups = Groups.of_rows(d, k)
        else:
            groups = Groups(np.broadcast_to(line, (d, k)).reshape(n_features), count)
        weights = np.ones(count)
        if self.weights is not None:
            weights = factors(self.weights, count, "L21", self.by)
        return _of_norms(groups, weights, alpha, self.squared)

    def formula(self, factor: float = 1.0) -> str:
        """factor·Σ‖Wⱼ‖₂."""
        inner = "W_j" if self.by == "feature" else "W_·c"
        inner = f"Σ‖{inner}‖₂" if self.weights is None else f"Σ c‖{inner}‖₂"
        return _formula(inner, factor, self.squared)


def _of_norms(groups: Groups, weights: Array, alpha: float, squared: bool) -> BoundPenalty:
    """α·Σ weights‖w_g‖, or α·½(…)²."""
    shape = groups.label.shape
    if alpha == 0 or not weights.any():
        return NoPenalty().bind(shape[0] if len(shape) == 1 else shape)
    if squared:
        return SquaredNorm(groups, weights, alpha)
    return grouped(groups, alpha * weights, np.zeros(shape), np.zeros(shape))


def _formula(norm: str, factor: float, squared: bool) -> str:
    return f"{number(factor)}½({norm})²" if squared else f"{number(factor)}{norm}"


def _labels(groups: Any, d: int, owner: str) -> tuple[IntArray, int]:
    """The number of its group for each feature, and how many groups there are."""
    if isinstance(groups, str) or not hasattr(groups, "__len__"):
        raise ValueError(
            f"groups of {owner} must be one label per feature, or lists of feature numbers."
        )
    if len(groups) and _is_list(next(iter(groups))):
        return _from_lists(groups, d, owner), len(groups)
    if len(groups) != d:
        raise ValueError(
            f"groups of {owner} must hold one label per feature: expected {d}, got {len(groups)}."
        )
    try:
        names, label = np.unique(np.asarray(groups), return_inverse=True)
    except (TypeError, ValueError) as error:  # lists among labels, or labels of several types
        raise ValueError(
            f"groups of {owner} must be all labels of one type, or all lists of feature numbers."
        ) from error
    if names.dtype.kind == "f" and np.isnan(names).any():
        raise ValueError(f"groups of {owner} must not be NaN: give every feature a label.")
    return label.reshape(d).astype(np.int64), len(names)


def _is_list(group: Any) -> bool:
    return not isinstance(group, str) and np.ndim(group) > 0


def _from_lists(groups: Any, d: int, owner: str) -> IntArray:
    """The label of each feature, from lists of feature numbers."""
    label = np.full(d, -1, dtype=np.int64)
    for number_of_group, group in enumerate(groups):
        members = np.atleast_1d(np.asarray(group))
        if not members.size:
            raise ValueError(f"group {number_of_group} of {owner} is empty: leave it out.")
        whole = members.ndim == 1 and members.dtype.kind in "iu"
        if not whole or (members < 0).any() or (members >= d).any():
            raise ValueError(
                f"group {number_of_group} of {owner} must hold feature numbers from 0 to {d - 1}."
            )
        taken = members[label[members] >= 0]
        if taken.size or np.unique(members).size < members.size:
            twice = int(taken[0] if taken.size else np.sort(members)[0])
            raise ValueError(
                f"groups of {owner} must not overlap: feature {twice} is listed twice; copy its "
                "column if it belongs to two groups."
            )
        label[members] = number_of_group
    if (label < 0).any():
        missing = int(np.flatnonzero(label < 0)[0])
        raise ValueError(
            f"feature {missing} is in no group of {owner}: put it into one; a group with weight 0 "
            "is unpenalised."
        )
    return label
