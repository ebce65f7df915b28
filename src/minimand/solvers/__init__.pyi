"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from collections.abc import Mapping

from ..registry import Registry
from .base import STOP as STOP
from .base import Control as Control
from .base import Solution as Solution
from .base import Solver as Solver
from .base import State as State
from .base import Verdict as Verdict
from .base import run as run
from .closed_form import ClosedForm as ClosedForm
from .column_generation import ColumnGeneration as ColumnGeneration
from .constraint_generation import ConstraintGeneration as ConstraintGeneration
from .coordinates import Cyclic as Cyclic
from .coordinates import Random as Random
from .decision import choose as choose
from .decision import shared as shared
from .decision import solve as solve
from .decision import verdicts as verdicts
from .dual import Dual as Dual
from .graduated import Graduated as Graduated
from .linear_program import Simplex as Simplex
from .multiplier import Multiplier as Multiplier
from .newton import Newton as Newton
from .primal_dual import PrimalDual as PrimalDual
from .proximal import Fista as Fista
from .proximal import ProximalGradient as ProximalGradient
from .reweighted import Reweighted as Reweighted
from .stochastic import Sgd as Sgd
from .subgradient import Subgradient as Subgradient
from .working_set import WorkingSet as WorkingSet

REGISTRY: Registry[Solver]
SOLVERS: Mapping[str, Solver]
ASKED: tuple[str, ...]
