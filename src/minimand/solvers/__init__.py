"""Solvers, and the choice between them: by verdict, the cheapest first."""

from __future__ import annotations

from collections.abc import Mapping

from .._base.on_demand import on_demand
from .._base.registry import Defaults, Registry, snake_case
from .base import Solver

# These modules are loaded on first use; type checkers read the same list in __init__.pyi.
_NAMES = {
    "base": ("STOP", "Control", "HandOver", "Solution", "Solver", "State", "Verdict"),
    "kinked.class_dual": ("ClassDual",),
    "kinked.class_primal_dual": ("ClassPrimalDual",),
    "smooth.closed_form": ("ClosedForm",),
    "kinked.column_generation": ("ColumnGeneration",),
    "programs.constraint_generation": ("ConstraintGeneration",),
    "textbook.coordinates": ("Cyclic", "Random"),
    "choose": ("choose_solver", "shared", "verdicts"),
    "kinked.dual": ("Dual",),
    "loop": ("run", "solve"),
    "nested.graduated": ("Graduated",),
    "programs.linear_program": ("Simplex",),
    "matrix.low_rank": ("LowRank",),
    "matrix.splitting": ("Splitting",),
    "nested.by_score": ("ByScore",),
    "nested.convex_concave": ("ConvexConcave",),
    "nested.multiplier": ("Multiplier",),
    "nested.norm_level": ("NormLevel",),
    "smooth.newton": ("Newton",),
    "kinked.ordered": ("Ordered",),
    "kinked.primal_dual": ("PrimalDual",),
    "textbook.proximal": ("Fista", "ProximalGradient"),
    "nested.reweighted": ("Reweighted",),
    "nested.ridge_level": ("RidgeLevel",),
    "smooth.run_newton": ("RunNewton",),
    "nested.smoothed": ("Smoothed",),
    "stochastic.sgd": ("Sgd",),
    "textbook.subgradient": ("Subgradient",),
    "kernel.row_pairs": ("RowPairs",),
    "kernel.row_system": ("RowSystem",),
    "kernel.smo": ("Smo",),
    "sparse.working_groups": ("WorkingGroups",),
    "sparse.working_set": ("WorkingSet",),
}

__getattr__, __dir__ = on_demand(__name__, _NAMES)

_ASKED = (  # considered by solver="auto"
    "ClosedForm",
    "Newton",
    "WorkingSet",
    "WorkingGroups",
    "Dual",
    "ClassDual",
    "ClassPrimalDual",
    "PrimalDual",
    "ColumnGeneration",
    "Multiplier",
    "NormLevel",
    "RidgeLevel",
    "Reweighted",
    "Simplex",
    "ConstraintGeneration",
    "Graduated",
    "ConvexConcave",
    "RunNewton",
    "Smoothed",
    "LowRank",
    "Splitting",
    "ByScore",
    "Ordered",
    "RowSystem",
    "Smo",
)
_BY_NAME = ("ProximalGradient", "Fista", "Subgradient", "Cyclic", "Random", "RowPairs", "Sgd")

REGISTRY: Registry[Solver] = Registry(
    "solver", Solver, (*_ASKED, *_BY_NAME), __getattr__, special="auto"
)
SOLVERS: Mapping[str, Solver] = Defaults(REGISTRY)
ASKED = tuple(map(snake_case, _ASKED))

__all__ = ["ASKED", "REGISTRY", "SOLVERS", *(name for names in _NAMES.values() for name in names)]
