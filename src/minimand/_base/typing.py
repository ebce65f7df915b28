"""Names for the array types that appear in signatures."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
ArrayLike: TypeAlias = Any

# Short names, for editors and type checkers; a test compares them with the registries.
RegressorLossName: TypeAlias = Literal[
    "squared",
    "absolute",
    "huber",
    "quantile",
    "quantiles",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "chebyshev",
    "geman_mc_clure",
    "truncated_squared",
    "poisson",
    "gamma",
    "tweedie",
    "cross_entropy",
]
ClassifierLossName: TypeAlias = Literal[
    "logistic",
    "multinomial",
    "hinge",
    "squared_hinge",
    "exponential",
    "squared_margin",
    "perceptron_loss",
    "tanh_margin",
    "squared",
    "absolute",
    "huber",
    "quantile",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "chebyshev",
    "geman_mc_clure",
    "truncated_squared",
    "cross_entropy",
    "crammer_singer",
    "ranking",
    "top_k",
    "weighted_ranking",
]
PenaltyName: TypeAlias = Literal[
    "l2",
    "l1",
    "no_penalty",
    "mcp",
    "scad",
    "lq",
    "non_negative",
    "box",
    "l1_ball",
    "l2_ball",
    "l21",
    "trace_norm",
]
