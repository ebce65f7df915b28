"""The problem as solvers get it: extreme columns in units, dependent ones replaced by a basis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..certificate import Judgement
from ..certificate.in_units import outside
from ..problem.column_units import ColumnUnits
from ..problem.objective import Objective, Point
from .base import Control, Solver
from .choose import cheapest_others
from .independent_columns import IndependentColumns, independent_columns


@dataclass(frozen=True, eq=False)
class View:
    """A problem that is equivalent to the ``whole``, or is below it by next to nothing."""

    whole: Objective
    solver: Solver
    units: ColumnUnits | None = None
    columns: IndependentColumns | None = None

    @classmethod
    def of(cls, objective: Objective, solver: Solver) -> View:
        """The problem on independent columns; a textbook solver gets the columns as they are."""
        plain = solver.by_name_only or not objective.has_free_columns
        return cls(objective, solver, None, None if plain else independent_columns(objective))

    @classmethod
    def in_units(
        cls, objective: Objective, solver: Solver, control: Control, replaceable: bool
    ) -> Iterator[View]:
        """For columns of extreme sizes: without negligible penalties, then with all of them.

        A solver that is ``replaceable`` may be replaced by one that is better at this problem.
        """
        units = None if solver.by_name_only else ColumnUnits.of(objective)
        while units is not None:
            chosen = next(cheapest_others(units.problem, control, []), solver)
            solver = chosen if replaceable else solver
            if solver.verdict(units.problem, control).ok:
                free = units.problem.has_free_columns
                columns = independent_columns(units.problem) if free else None
                yield cls(objective, solver, units, columns)
            units = units.with_whole_penalty

    @property
    def problem(self) -> Objective:
        """The problem that solvers get."""
        if self.columns is not None:
            return self.columns.problem
        return self.whole if self.units is None else self.units.problem

    def inside(self, point: Point) -> Point:
        """A point of the whole problem as one of this problem."""
        point = point if self.units is None else self.units.inside(point)
        return point if self.columns is None else self.columns.inside(point)

    def outside(self, judgement: Judgement) -> Judgement:
        """A judgement of this problem as one of the whole problem."""
        judgement = judgement if self.columns is None else self.columns.outside(judgement)
        return judgement if self.units is None else outside(self.units, judgement)
