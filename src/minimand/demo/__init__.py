"""The demonstration behind ``minimand demo``: fit, audit scikit-learn beside it, one table."""

from __future__ import annotations

from .compare import Row, compare, rows
from .outlier import OUTLIER_FIGURE, draw_outlier, lines
from .problems import PROBLEMS, LogCosh, Problem
from .table import NOTES, plain, show, show_choices
from .tuning import FIGURE, TASKS, choices, draw

__all__ = [
    "FIGURE",
    "NOTES",
    "OUTLIER_FIGURE",
    "PROBLEMS",
    "TASKS",
    "LogCosh",
    "Problem",
    "Row",
    "choices",
    "compare",
    "draw",
    "draw_outlier",
    "lines",
    "plain",
    "rows",
    "show",
    "show_choices",
]
