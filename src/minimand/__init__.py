"""minimand: learning as optimisation, with a certificate.

mean loss(z, y) + alpha·penalty(w), z = offset + X w + b: name a loss and a penalty, get the best
model there is and a proof of how far it can be from the optimum.
"""

from __future__ import annotations

from ._base import threads as threads  # at once: a limit set before the first fit must hold in it
from ._base.on_demand import on_demand

__version__ = "0.1.0"

# The public names and the modules they live in, loaded when they are first used: ``minimand
# --help`` must not wait for NumPy. Type checkers and editors read the same list in __init__.pyi.
_MODULES = (
    "design",
    "features",
    "kernels",
    "losses",
    "metrics",
    "norms",
    "penalties",
    "sklearn",
    "solvers",
    "testing",
    "transforms",
)
_NAMES = {
    "audit.certify": ("certify",),
    "certificate": ("Certificate",),
    "audit.duality": ("duality",),
    "estimators": ("Classifier", "Regressor", "fit_stream"),
    "audit.explain": ("explain",),
    "features": ("Centers", "HiddenLayer", "Monomials", "Neighbors", "Nystrom", "RandomFourier"),
    "estimators.calibrated": ("Calibrated",),
    "estimators.hard_margin": ("HardMargin",),
    "solvers.history": ("History",),
    "kernels": (
        "RBF",
        "Callable",
        "Cosine",
        "Kernel",
        "Laplace",
        "Linear",
        "Matern",
        "Min",
        "Periodic",
        "Polynomial",
        "Precomputed",
        "check_psd",
        "Graphlet",
        "Mismatch",
        "ShortestPath",
        "Spectrum",
        "Subsequence",
        "SubsetTree",
        "SubTree",
        "WeisfeilerLehman",
    ),
    "losses": (
        "Absolute",
        "Chebyshev",
        "CrammerSinger",
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
        "Multinomial",
        "OneVsOne",
        "OneVsRest",
        "OverScores",
        "PerceptronLoss",
        "Pieces",
        "Poisson",
        "RobustLoss",
        "Quantile",
        "Ranking",
        "Quantiles",
        "Squared",
        "SquaredEpsilonInsensitive",
        "SquaredHinge",
        "SquaredMargin",
        "TanhMargin",
        "TopK",
        "TruncatedSquared",
        "Tweedie",
        "WeightedRanking",
        "ZeroOne",
        "is_calibrated",
    ),
    "penalties": (
        "L1",
        "L2",
        "L21",
        "MCP",
        "SCAD",
        "Box",
        "GroupL2",
        "L1Ball",
        "L2Ball",
        "Lq",
        "NoPenalty",
        "NonNegative",
        "Penalty",
        "SparseGroup",
        "TraceNorm",
    ),
    "estimators.perceptron": ("Perceptron",),
    "estimators.priors": ("with_priors",),
    "estimators.ranker": ("Ranker",),
    "report": ("plot_history",),
    "reverse.hierarchy.agglomerative": ("Agglomerative",),
    "reverse.neighbors": ("KNNClassifier", "KNNRegressor"),
    "selection": ("Path", "Tuned", "alpha_max", "path"),
    "audit.separable": ("separable",),
    "solvers": ("STOP",),
    "_base.watch": ("Interrupted",),
}

__getattr__, __dir__ = on_demand(__name__, _NAMES, _MODULES)

__all__ = sorted((*_MODULES, *(name for names in _NAMES.values() for name in names)))
