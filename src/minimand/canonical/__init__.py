"""The forms of problems that compiled kernels take: quadratics and duals, with their records."""

from .ascent import Ascent, AscentProblem, AscentState, ascend
from .box_dual import Box, BoxSteps
from .class_dual import ClassAscent, ClassDual
from .descent import Descent, DescentProblem, descend
from .dual_batch import MOST_CLASSES, BatchAscent, DualBatch
from .forms import Quadratic, RowDual, Weighted, movable
from .groups import Runs, ScoreModel, minimise_groups

__all__ = [
    "MOST_CLASSES",
    "Ascent",
    "AscentProblem",
    "AscentState",
    "BatchAscent",
    "Box",
    "BoxSteps",
    "ClassAscent",
    "ClassDual",
    "Descent",
    "DescentProblem",
    "DualBatch",
    "Quadratic",
    "RowDual",
    "Runs",
    "ScoreModel",
    "Weighted",
    "ascend",
    "descend",
    "minimise_groups",
    "movable",
]
