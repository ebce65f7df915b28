"""The problem as solvers get it: extreme columns in units, dependent ones replaced by a basis."""

from __future__ import annotations

from dataclasses import dataclass

from ..certificate import Judgement
from ..certificate.in_units import outside
from ..problem.column_units import ColumnUnits
from ..problem.objective import Objective, Point
from .base import Control, Solver
from .choose import choose_solver
from .independent_columns import IndependentColumns, independent_columns


@dataclass(frozen=True, eq=False)
class View:
    """A problem that is equivalent to the ``whole``, or is below it by next to nothing."""

    whole: Objective
    solver: Solver
    units: ColumnUnits | None = None
    columns: IndependentColumns | None = None

    @classmethod
    def of(cls, objective: Objective, solver: Solver, control: Control, replaceable: bool) -> View:
        """The problem without negligible penalties; another solver if this one is replaceable.

        A textbook solver gets the columns as they are.
        """
        if solver.by_name_only:
            return cls(objective, solver)
        units = ColumnUnits.of(objective)
        if units is not None and replaceable:
            solver = choose_solver(units.problem, control, "auto")
        elif units is not None and not solver.verdict(units.problem, control).ok:
            return cls.of_whole_penalty(objective, solver)
        return cls._with_basis(objective, solver, units)

    @classmethod
    def of_whole_penalty(cls, objective: Objective, solver: Solver) -> View:
        """The problem with all of its penalty."""
        units = ColumnUnits.of(objective, whole_penalty=True)
        return cls._with_basis(objective, solver, units)

    @classmethod
    def _with_basis(cls, objective: Objective, solver: Solver, units: ColumnUnits | None) -> View:
        problem = objective if units is None else units.problem
        return cls(objective, solver, units, independent_columns(problem))

    @property
    def problem(self) -> Objective:
        """The problem that solvers get."""
        if self.columns is not None:
            return self.columns.problem
        return self.whole if self.units is None else self.units.problem

    @property
    def leaves_out(self) -> bool:
        """Whether a part of the penalty is left out."""
        return self.units is not None and self.units.leaves_out

    def inside(self, point: Point) -> Point:
        """A point of the whole problem as one of this problem."""
        point = point if self.units is None else self.units.inside(point)
        return point if self.columns is None else self.columns.inside(point)

    def outside(self, judgement: Judgement) -> Judgement:
        """A judgement of this problem as one of the whole problem."""
        judgement = judgement if self.columns is None else self.columns.outside(judgement)
        return judgement if self.units is None else outside(self.units, judgement)
