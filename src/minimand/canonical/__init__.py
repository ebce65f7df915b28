"""The forms of problems that compiled kernels take: quadratics and duals, with their records."""

from .box_batch import BoxBatch, Settled
from .box_dual import Box, BoxSteps
from .class_dual import ClassAscent, ClassDual
from .dual_batch import MOST_CLASSES, BatchAscent, DualBatch
from .groups import Runs, ScoreModel, minimise_groups, minimise_groups_on_lines
from .quadratics import Descent, DescentProblem, Quadratic, Weighted, descend, movable
from .row_dual import Ascent, AscentProblem, AscentState, RowDual, ascend

__all__ = [
    "MOST_CLASSES",
    "Ascent",
    "AscentProblem",
    "AscentState",
    "BatchAscent",
    "Box",
    "BoxBatch",
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
    "Settled",
    "Weighted",
    "ascend",
    "descend",
    "minimise_groups",
    "minimise_groups_on_lines",
    "movable",
]
