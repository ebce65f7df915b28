"""The forms that compiled kernels see: a quadratic model × a separable penalty, and a dual."""

from .forms import Quadratic, RowDual, Weighted, movable

__all__ = ["Quadratic", "RowDual", "Weighted", "movable"]
