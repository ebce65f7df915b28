"""The demonstration behind ``minimand demo``: fit, audit scikit-learn beside it, one table."""

from __future__ import annotations

from .compare import Row, compare, rows
from .problems import PROBLEMS, LogCosh, Problem
from .table import NOTES, plain, show

__all__ = ["NOTES", "PROBLEMS", "LogCosh", "Problem", "Row", "compare", "plain", "rows", "show"]
