"""minimand: learning as optimisation, with a certificate.

mean loss(z, y) + alpha·penalty(w), z = offset + X w + b: name a loss and a penalty, get the best
model there is and a proof of how far it can be from the optimum.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import threads as threads  # at once: a limit set before the first fit must hold in it

__version__ = "0.1.0"

# The public names and the modules they live in, loaded when they are first used: ``minimand
# --help`` must not wait for NumPy. Type checkers and editors read the same list in __init__.pyi.
_MODULES = ("design", "features", "losses", "penalties", "solvers", "testing", "transforms")
_NAMES = {
    "audit": ("certify",),
    "certificate": ("Certificate",),
    "complementarity": ("duality",),
    "estimators": ("Classifier", "Regressor", "fit_stream"),
    "explanation": ("explain",),
    "features": ("Centers", "HiddenLayer", "Monomials", "Neighbors"),
    "hard_margin": ("HardMargin",),
    "history": ("History",),
    "losses": (
        "Absolute",
        "Chebyshev",
        "CrossEntropy",
        "Distance",
        "EpsilonInsensitive",
        "Exponential",
        "Gamma",
        "GemanMcClure",
        "Hinge",
        "Huber",
        "Logistic",
        "Loss",
        "Lp",
        "Margin",
        "MatchingLoss",
        "PerceptronLoss",
        "Pieces",
        "Poisson",
        "RobustLoss",
        "Quantile",
        "Squared",
        "SquaredEpsilonInsensitive",
        "SquaredHinge",
        "SquaredMargin",
        "TanhMargin",
        "TruncatedSquared",
        "Tweedie",
        "ZeroOne",
        "is_calibrated",
    ),
    "penalties": (
        "L1",
        "L2",
        "MCP",
        "SCAD",
        "Box",
        "L1Ball",
        "L2Ball",
        "Lq",
        "NoPenalty",
        "NonNegative",
        "Penalty",
    ),
    "perceptron": ("Perceptron",),
    "report": ("plot_history",),
    "selection": ("Path", "Tuned", "alpha_max", "path"),
    "separability": ("separable",),
    "solvers": ("STOP",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted((*_MODULES, *_HOMES))


def __getattr__(name: str) -> Any:
    """A public name, from the module that defines it."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What tab completion offers."""
    return [*__all__, "__version__"]
