"""What a fit did, iteration by iteration: objective and gap against passes and seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from .._base.typing import Array
from ..problem.objective import Point

_COLUMNS = ("passes", "seconds", "primal", "dual", "gap")


@dataclass(frozen=True)
class State:
    """What a callback sees after every iteration."""

    iteration: int
    passes: float
    seconds: float
    primal: float
    dual: float
    gap: float
    target: float
    point: Point | None = field(default=None, repr=False)


class History(Sequence[State]):
    """One record per iteration, the starting point first; five numbers each.

    The last one is that of the model that was handed over, as its certificate says it. Where that
    is the model of an earlier iteration, which no later one has improved, it is a further record.

    Attributes
    ----------
    passes, seconds : ndarray
        Passes over the data and seconds since the start, the referee's work included.
    primal, dual, gap : ndarray
        The objective, the lower bound that was proved there, and their distance.
    solver : str
        The solver, with its options if it has any that are not the default.
    objective : str
        The formula that was minimised, in words.
    target : float
        The gap that was asked for.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> history = mm.Regressor("squared", "l1", alpha=0.5, solver="fista").fit(X, y).history_
    >>> history.solver, len(history) == len(history.gap)
    ('fista', True)
    >>> bool(history.gap[-1] <= history.target)
    True
    >>> history[0].passes <= history[-1].passes
    True
    """

    def __init__(self, solver: str = "", objective: str = "", target: float = 0.0) -> None:
        self.solver, self.objective, self.target = solver, objective, target
        self._records = np.empty((0, len(_COLUMNS)))  # room for more rows than there are records
        self._length = 0

    def append(self, state: State) -> None:
        """Record a state; its model is not kept."""
        if self._length == len(self._records):  # twice the room, so that records cost O(1) each
            room = np.empty((max(16, 2 * self._length), len(_COLUMNS)))
            room[: self._length] = self._records
            self._records = room
        values = (state.passes, state.seconds, state.primal, state.dual, state.gap)
        self._records[self._length] = values
        self._length += 1

    def _column(self, name: str) -> Array:
        """One number of every record; a view."""
        return self._records[: self._length, _COLUMNS.index(name)]

    def ending(self, primal: float, dual: float, gap: float) -> History:
        """The same course, if there is one, with these numbers in place of the last ones."""
        ended = self[:]
        if not len(ended):
            return ended
        for name, value in (("primal", primal), ("dual", dual), ("gap", gap)):
            ended._column(name)[-1] = value
        return ended

    @property
    def passes(self) -> Array:
        """Passes over the data."""
        return self._column("passes").copy()

    @property
    def seconds(self) -> Array:
        """Seconds since the start."""
        return self._column("seconds").copy()

    @property
    def primal(self) -> Array:
        """The objective."""
        return self._column("primal").copy()

    @property
    def dual(self) -> Array:
        """The lower bounds that were proved."""
        return self._column("dual").copy()

    @property
    def gap(self) -> Array:
        """The certified gaps, primal − dual."""
        return self._column("gap").copy()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> State: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> State | History:
        if isinstance(index, slice):
            part = History(self.solver, self.objective, self.target)
            part._records = self._records[: self._length][index].copy()
            part._length = len(part._records)
            return part
        place = range(len(self))[index]
        passes, seconds, primal, dual, gap = self._records[place].tolist()
        return State(place, passes, seconds, primal, dual, gap, self.target)

    def __repr__(self) -> str:
        if not len(self):
            return f"History(solver={self.solver!r}, empty)"
        last = self[-1]
        return (
            f"History(solver={self.solver!r}, iterations={last.iteration}, "
            f"passes={last.passes:g}, seconds={last.seconds:.3g}, gap={last.gap:.3g})"
        )


def combined(histories: Sequence[History]) -> History:
    """One history for problems solved side by side: iteration by iteration, everything adds up.

    A problem that was solved in fewer iterations stays where it ended.
    """
    first = histories[0]
    if len(histories) == 1:
        return first
    total = History(first.solver, first.objective, sum(h.target for h in histories))
    length = max(len(h) for h in histories)
    total._records, total._length = np.zeros((length, len(_COLUMNS))), length
    for history in histories:
        if len(history):
            last = len(history) - 1
            total._records += history._records[np.minimum(np.arange(length), last)]
    return total
