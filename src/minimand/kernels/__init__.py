"""Kernels k(x, z) = φ(x)·φ(z), and what can be made of them: sums, products, compositions.

Short names are the snake-case class names: ``"rbf"``, ``"linear"``, ``"polynomial"``,
``"laplace"``, ``"matern"``, ``"cosine"``, ``"min"``, ``"periodic"``, ``"precomputed"``; and of
structures ``"spectrum"``, ``"subset_tree"``, ``"weisfeiler_lehman"``, ….
"""

from __future__ import annotations

from .._base.on_demand import on_demand
from .._base.registry import Registry
from .base import Kernel

# Names that other libraries use for a kernel, and what to write here instead.
_ELSEWHERE: dict[str | None, str] = {
    **dict.fromkeys(
        ("gaussian", "gauss", "squared_exponential", "exponentiated_quadratic"), "'rbf'"
    ),
    **dict.fromkeys(("poly", "quadratic"), "minimand.Polynomial(degree=…)"),
    "laplacian": "'laplace'",
    "histogram_intersection": "'min'",
    "sigmoid": "another kernel: the sigmoid is not positive semidefinite",
}

# These modules are loaded on first use; type checkers read the same list in __init__.pyi.
_NAMES = {
    "algebra": ("Constant", "Product", "Scaled", "Sum"),
    "base": ("Kernel",),
    "from_features": ("kernel_of",),
    "degrees": ("ByDegree",),
    "distances": ("RBF", "Laplace", "Matern", "Periodic"),
    "given": ("Callable", "Precomputed"),
    "psd": ("Definiteness", "check_psd"),
    "structures.patterns": ("Graphlet", "ShortestPath"),
    "structures.strings": ("Mismatch", "Spectrum"),
    "structures.subsequence": ("Subsequence",),
    "structures.trees": ("SubsetTree", "SubTree"),
    "structures.weisfeiler_lehman": ("WeisfeilerLehman",),
    "transformed": ("Centered", "Mapped", "Normalized", "On"),
    "vectors": ("Cosine", "Linear", "Min", "Polynomial", "VectorKernel"),
}

__getattr__, __dir__ = on_demand(__name__, _NAMES)

REGISTRY: Registry[Kernel] = Registry(
    "kernel",
    Kernel,
    [
        "RBF",
        "Linear",
        "Polynomial",
        "Laplace",
        "Matern",
        "Cosine",
        "Min",
        "Periodic",
        "Precomputed",
        "Spectrum",
        "Mismatch",
        "Subsequence",
        "SubTree",
        "SubsetTree",
        "WeisfeilerLehman",
        "ShortestPath",
        "Graphlet",
    ],
    __getattr__,
    elsewhere=_ELSEWHERE,
)

__all__ = ["REGISTRY", *(name for names in _NAMES.values() for name in names)]
