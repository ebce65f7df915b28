"""The public names, for type checkers and editors; __init__.py loads the same ones on demand."""

from .._base.registry import Registry
from .algebra import Scaled as Scaled
from .algebra import Sum as Sum
from .base import BoundPenalty as BoundPenalty
from .base import Majorised as Majorised
from .base import Majoriser as Majoriser
from .base import Penalty as Penalty
from .base import Plane as Plane
from .base import Young as Young
from .concave import Concave as Concave
from .constraint import Ball as Ball
from .constraint import Box as Box
from .constraint import L1Ball as L1Ball
from .constraint import L2Ball as L2Ball
from .constraint import NonNegative as NonNegative
from .group import L21 as L21
from .group import GroupL2 as GroupL2
from .group import SparseGroup as SparseGroup
from .grouped import Grouped as Grouped
from .nonconvex import MCP as MCP
from .nonconvex import SCAD as SCAD
from .nonconvex import ConcavePenalty as ConcavePenalty
from .nonconvex import Lq as Lq
from .norm import Norm as Norm
from .partition import Groups as Groups
from .separable import L1 as L1
from .separable import L2 as L2
from .separable import NoPenalty as NoPenalty
from .separable import Separable as Separable
from .spectral import SingularValues as SingularValues
from .spectral import TraceNorm as TraceNorm
from .squared_norm import SquaredNorm as SquaredNorm
from .strengths import Strengths as Strengths

REGISTRY: Registry[Penalty]
