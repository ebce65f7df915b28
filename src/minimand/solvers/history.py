"""The course of a fit by iteration: objective and gap against passes and seconds."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from .._base.typing import Array
from ..certificate import Finding
from ..problem.objective import Point

_COLUMNS = ("passes", "seconds", "primal", "dual", "gap")


@dataclass(frozen=True)
class State:
    """What a callback gets after every iteration."""

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

    The last record is that of the returned model, with the numbers of its certificate. If that
    model was found in an earlier iteration and not improved since, it is an additional record.

    Attributes
    ----------
    passes, seconds : ndarray
        Passes over the data and seconds since the start, the referee's work included.
    primal, dual, gap : ndarray
        The objective, the lower bound that was proved there, and their distance.
    solver : str
        The solver, with its options if they are not the default; "first → second" if another
        solver continued. If solvers took turns many times, each is named once.
    hand_overs : tuple of str
        Why it did, one sentence each, with the number of times if there were several; usually
        empty.
    objective : str
        The formula that was minimised, in words.
    target : float
        The requested gap.

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
        self.hand_overs: tuple[str, ...] = ()
        self._numbers = array("d")  # one record after the other

    def append(self, state: State) -> None:
        """Record a state; its model is not kept."""
        values = (state.passes, state.seconds, state.primal, state.dual, state.gap)
        self._numbers.extend(values)

    def extend(self, primal: list[float], passes: list[float], seconds: float, dual: float) -> None:
        """Record several points for which the same lower bound is known."""
        for value, count in zip(primal, passes):
            self._numbers.extend((count, seconds, value, dual, value - dual))

    def end(self, primal: float, dual: float, gap: float) -> None:
        """Replace the numbers of the last record, if there is one."""
        if self._numbers:
            self._numbers[-3:] = array("d", (primal, dual, gap))

    def ends_at(self, finding: Finding | None) -> bool:
        """Whether the last record belongs to this point."""
        if finding is None or not self._numbers:
            return False
        return (self._numbers[-3], self._numbers[-1]) == (finding.primal, finding.gap)

    def ending(self, primal: float, dual: float, gap: float) -> History:
        """A copy, if there is a record, with these numbers in the last one."""
        ended = self[:]
        ended.end(primal, dual, gap)
        return ended

    def __getstate__(self) -> dict[str, object]:
        """The numbers as a NumPy array, which skops can save."""
        return {**vars(self), "_numbers": np.array(self._numbers)}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore the numbers from a NumPy array."""
        self.__dict__.update(state)
        self._numbers = array("d", np.asarray(state["_numbers"]).tobytes())

    @property
    def _records(self) -> Array:
        """A copy, one row per record."""
        return np.array(self._numbers).reshape(-1, len(_COLUMNS))

    def _column(self, name: str) -> Array:
        """One number of every record, as a copy."""
        return self._records[:, _COLUMNS.index(name)].copy()

    @property
    def passes(self) -> Array:
        """Passes over the data."""
        return self._column("passes")

    @property
    def seconds(self) -> Array:
        """Seconds since the start."""
        return self._column("seconds")

    @property
    def primal(self) -> Array:
        """The objective."""
        return self._column("primal")

    @property
    def dual(self) -> Array:
        """The lower bounds."""
        return self._column("dual")

    @property
    def gap(self) -> Array:
        """The certified gaps, primal − dual."""
        return self._column("gap")

    def __len__(self) -> int:
        return len(self._numbers) // len(_COLUMNS)

    @overload
    def __getitem__(self, index: int) -> State: ...
    @overload
    def __getitem__(self, index: slice) -> History: ...
    def __getitem__(self, index: int | slice) -> State | History:
        if isinstance(index, slice):
            part = History(self.solver, self.objective, self.target)
            part.hand_overs = self.hand_overs
            if index == slice(None):
                part._numbers = self._numbers[:]
            else:
                part._numbers = array("d", self._records[index].tobytes())
            return part
        place = range(len(self))[index]
        size = len(_COLUMNS)
        passes, seconds, primal, dual, gap = self._numbers[size * place : size * (place + 1)]
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
    """One history of several problems: iteration by iteration, all numbers are summed.

    A problem that was solved in fewer iterations keeps its last numbers.
    """
    first = histories[0]
    if len(histories) == 1:
        return first
    total = History(first.solver, first.objective, sum(h.target for h in histories))
    total.hand_overs = tuple(reason for h in histories for reason in h.hand_overs)
    length = max(len(h) for h in histories)
    numbers = np.zeros((length, len(_COLUMNS)))
    for history in histories:
        if len(history):
            numbers += history._records[np.minimum(np.arange(length), len(history) - 1)]
    total._numbers = array("d", numbers.tobytes())
    return total
