"""The problem as solvers get it: extreme columns in units, dependent ones replaced by a basis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..certificate import Finding
from ..certificate.in_units import outside
from ..problem.column_units import ColumnUnits
from ..problem.objective import Objective, Point
from .base import Control, Solver
from .choose import cheapest_others
from .independent_columns import IndependentColumns, independent_columns
from .succession import fully_judged


@dataclass(frozen=True, eq=False)
class View:
    """A problem that is equivalent to the whole one, or is below it by next to nothing."""

    problem: Objective  # what solvers get
    solver: Solver
    units: ColumnUnits | None = None
    columns: IndependentColumns | None = None

    @classmethod
    def on_independent_columns(cls, objective: Objective, solver: Solver) -> View:
        """The problem on columns that are far from collinear."""
        columns = independent_columns(objective)
        return cls(objective if columns is None else columns.problem, solver, None, columns)

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
                view = cls(units.problem, solver, units)
                if units.problem.has_free_columns:
                    view = replace(cls.on_independent_columns(units.problem, solver), units=units)
                yield view
            units = units.with_whole_penalty

    def inside(self, point: Point) -> Point:
        """A point of the whole problem as one of this problem."""
        point = point if self.units is None else self.units.inside(point)
        return point if self.columns is None else self.columns.inside(point)

    def outside(self, judgement: Finding) -> Finding:
        """A judgement of this problem as one of the whole problem."""
        if self.columns is None and self.units is None:
            return judgement
        judgement = fully_judged(self.problem, judgement)
        judgement = judgement if self.columns is None else self.columns.outside(judgement)
        return judgement if self.units is None else outside(self.units, judgement)
