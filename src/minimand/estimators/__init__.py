"""Estimators in scikit-learn's shape."""

from __future__ import annotations

from .._base.on_demand import on_demand

# Loaded when they are first used; type checkers read the same list in __init__.pyi.
_NAMES = {
    "classifier": ("Classifier",),
    "regressor": ("Regressor",),
    "batches": ("fit_stream",),
}

__getattr__, __dir__ = on_demand(__name__, _NAMES)

__all__ = [name for names in _NAMES.values() for name in names]
