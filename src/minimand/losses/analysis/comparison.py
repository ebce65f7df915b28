"""A table of losses: which are convex, smooth, bounded, robust, calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .. import REGISTRY
from ..base import Loss
from ..powers import Lp
from .facts import labels

_HEADS = ("convex", "smooth", "bounded", "robust", "≥ 0-1", "calibrated")
_FORMULA = 18  # characters of the formula column; convention


class Row(NamedTuple):
    """The facts of one loss; the last two are None if it does not take labels."""

    loss: Loss
    convex: bool
    smooth: bool
    bounded: bool
    robust: bool
    upper_bounds_zero_one: bool | None
    calibrated: bool | None

    @property
    def formula(self) -> str:
        """The first words of the docstring of the loss, which are its formula."""
        first = (type(self.loss).__doc__ or "").strip().split("\n")[0].rstrip(".")
        depth = 0
        for place, character in enumerate(first):
            depth += (character in "([{") - (character in ")]}")
            if depth == 0 and character in ":,":
                return first[:place]
        return first


@dataclass(frozen=True)
class Table:
    """Rows of facts; prints as a table of less than 100 columns."""

    rows: tuple[Row, ...]

    def __str__(self) -> str:
        names = [repr(row.loss) for row in self.rows]
        width = max(map(len, ["loss", *names]))
        head = f"{'loss':<{width}}  {'formula':<{_FORMULA}}  " + "  ".join(_HEADS)
        lines = [head, "─" * len(head)]
        for name, row in zip(names, self.rows):
            formula = row.formula
            formula = formula if len(formula) <= _FORMULA else formula[: _FORMULA - 1] + "…"
            cells = [f"{_mark(fact):<{len(h)}}" for h, fact in zip(_HEADS, row[1:])]
            lines.append(f"{name:<{width}}  {formula:<{_FORMULA}}  " + "  ".join(cells).rstrip())
        return "\n".join(lines)

    __repr__ = __str__


def _mark(fact: object) -> str:
    return "" if fact is None else "yes" if fact else "no"


def row_of(loss: Loss) -> Row:
    """The facts of one loss."""
    coded = labels(loss) is not None
    return Row(
        loss,
        loss.convex,
        loss.smooth,
        loss.bounded,
        loss.robust,
        loss.upper_bounds_zero_one if coded else None,
        loss.calibrated if coded else None,
    )


def table(*losses: Loss) -> Table:
    """The facts of losses side by side: convex, smooth, bounded, robust, calibrated.

    *robust*: the gradient of one sample is bounded; *bounded*: its loss is bounded. *≥ 0-1*: the
    loss is an upper bound of the zero-one loss; *calibrated*: minimising it minimises the mistakes.
    The last two apply to losses of labels only.

    Parameters
    ----------
    *losses : Loss
        The losses of one score to compare, also your own; by default all that have a short name,
        and powers.

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
    for loss in losses:
        if loss.joint or loss.by_score is not None:
            raise ValueError(f"the table compares losses of one score, and {loss!r} has several.")
    known = map(REGISTRY.get, REGISTRY.names)
    powers = (Lp(p) for p in (0, 0.5, 1, 1.5, 4))
    shown = losses or (*(loss for loss in known if not loss.joint), *powers)
    return Table(tuple(row_of(loss) for loss in shown))
