"""Estimators in scikit-learn's shape."""

from __future__ import annotations

from .classifier import Classifier
from .regressor import Regressor
from .stream import fit_stream

__all__ = ["Classifier", "Regressor", "fit_stream"]
