"""The forms of problems that compiled kernels take: quadratics and duals, with their records."""

from .ascent import Ascent, AscentProblem, AscentState, ascend
from .class_dual import ClassAscent, ClassDual
from .descent import Descent, DescentProblem, descend
from .forms import Quadratic, RowDual, Weighted, movable

__all__ = [
    "Ascent",
    "AscentProblem",
    "AscentState",
    "ClassAscent",
    "ClassDual",
    "Descent",
    "DescentProblem",
    "Quadratic",
    "RowDual",
    "Weighted",
    "ascend",
    "descend",
    "movable",
]
