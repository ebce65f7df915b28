"""Scaling and adding penalties: ``0.1 * L1() + 0.5 * L2()``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import BoundPenalty, Penalty


class Scaled(Penalty):
    """factor·Ω(w), factor ≥ 0.

    Examples
    --------
    >>> import minimand as mm
    >>> 0.5 * mm.L1()
    0.5 * L1()
    >>> (0.5 * mm.L1()).value([2.0])
    1.0
    """

    def __init__(self, factor: float, penalty: Penalty) -> None:
        self.factor = factor
        self.penalty = penalty

    @property
    def proved(self) -> bool:  # type: ignore[override]
        """Whether Ω is."""
        return self.penalty.proved

    @property
    def couples_scores(self) -> bool:
        """Whether Ω does."""
        return self.penalty.couples_scores

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """(α·factor)·Ω."""
        _check_factor(self.factor)
        return self.penalty.bind(n_features, alpha * self.factor)

    def __repr__(self) -> str:
        inner = f"({self.penalty!r})" if isinstance(self.penalty, Sum) else repr(self.penalty)
        return f"{self.factor!r} * {inner}"

    def formula(self, factor: float = 1.0) -> str:
        """(factor·self.factor)·Ω; 0 for a zero factor."""
        return self.penalty.words(factor * self.factor)

    def words(self, factor: float = 1.0) -> str:
        """The formula, also for a factor of 0, because a constraint holds for every alpha."""
        return self.formula(factor)


class Sum(Penalty):
    """Ω₁(w) + Ω₂(w).

    Examples
    --------
    >>> import minimand as mm
    >>> (mm.L1() + 0.5 * mm.L2()).value([2.0])
    3.0
    """

    def __init__(self, left: Penalty, right: Penalty) -> None:
        self.left = left
        self.right = right

    @property
    def proved(self) -> bool:  # type: ignore[override]
        """Whether both are."""
        return self.left.proved and self.right.proved

    @property
    def couples_scores(self) -> bool:
        """Whether one of both does."""
        return self.left.couples_scores or self.right.couples_scores

    def bind(self, n_features: Any, alpha: float = 1.0) -> BoundPenalty:
        """The sum of both bound penalties, where their forms can be added."""
        left: Any = self.left.bind(n_features, alpha)
        right: Any = self.right.bind(n_features, alpha)
        try:
            total: BoundPenalty = left + right
        except TypeError as error:
            raise ValueError(
                f"{self!r} cannot be added: sums over features can, one ball with them, sums over "
                "the same groups, and L2() without weights to a norm of your own or a squared norm."
            ) from error
        return total

    def __repr__(self) -> str:
        return f"{self.left!r} + {self.right!r}"

    def formula(self, factor: float = 1.0) -> str:
        """Both formulas joined by a plus; a part that is zero is left out."""
        parts = [part.words(factor) for part in (self.left, self.right)]
        shown = [part for part in parts if part != "0"]
        return " + ".join(shown) or "0"

    def words(self, factor: float = 1.0) -> str:
        """The formula, also for a factor of 0, because a constraint holds for every alpha."""
        return self.formula(factor)


def _check_factor(factor: Any) -> None:
    is_number = isinstance(factor, int | float | np.number) and not isinstance(factor, bool)
    if not is_number or not np.isfinite(factor) or factor < 0:
        raise ValueError(f"the factor of a penalty must be a number ≥ 0, not {factor!r}.")
