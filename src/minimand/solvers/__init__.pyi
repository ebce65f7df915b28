"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from collections.abc import Mapping

from .._base.registry import Registry
from .base import STOP as STOP
from .base import Control as Control
from .base import HandOver as HandOver
from .base import Solution as Solution
from .base import Solver as Solver
from .base import State as State
from .base import Verdict as Verdict
from .choose import choose_solver as choose_solver
from .choose import shared as shared
from .choose import verdicts as verdicts
from .kernel.row_pairs import RowPairs as RowPairs
from .kernel.row_system import RowSystem as RowSystem
from .kernel.smo import Smo as Smo
from .kinked.class_dual import ClassDual as ClassDual
from .kinked.class_primal_dual import ClassPrimalDual as ClassPrimalDual
from .kinked.column_generation import ColumnGeneration as ColumnGeneration
from .kinked.dual import Dual as Dual
from .kinked.ordered import Ordered as Ordered
from .kinked.primal_dual import PrimalDual as PrimalDual
from .loop import run as run
from .loop import solve as solve
from .matrix.low_rank import LowRank as LowRank
from .matrix.splitting import Splitting as Splitting
from .nested.by_score import ByScore as ByScore
from .nested.convex_concave import ConvexConcave as ConvexConcave
from .nested.graduated import Graduated as Graduated
from .nested.multiplier import Multiplier as Multiplier
from .nested.norm_level import NormLevel as NormLevel
from .nested.reweighted import Reweighted as Reweighted
from .nested.ridge_level import RidgeLevel as RidgeLevel
from .nested.smoothed import Smoothed as Smoothed
from .programs.constraint_generation import ConstraintGeneration as ConstraintGeneration
from .programs.linear_program import Simplex as Simplex
from .smooth.closed_form import ClosedForm as ClosedForm
from .smooth.newton import Newton as Newton
from .smooth.run_newton import RunNewton as RunNewton
from .sparse.working_groups import WorkingGroups as WorkingGroups
from .sparse.working_set import WorkingSet as WorkingSet
from .stochastic.sgd import Sgd as Sgd
from .textbook.coordinates import Cyclic as Cyclic
from .textbook.coordinates import Random as Random
from .textbook.proximal import Fista as Fista
from .textbook.proximal import ProximalGradient as ProximalGradient
from .textbook.subgradient import Subgradient as Subgradient

REGISTRY: Registry[Solver]
SOLVERS: Mapping[str, Solver]
ASKED: tuple[str, ...]
