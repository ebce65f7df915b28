"""Penalties: what is added to the mean loss, times alpha.

Short names are the snake-case class names: ``"l1"``, ``"l2"``, ``"no_penalty"``, ``"mcp"``,
``"scad"``, ``"lq"``, ``"non_negative"``, ``"l1_ball"``, ``"l21"``, ``"trace_norm"``.
"""

from __future__ import annotations

from .._base.on_demand import on_demand
from .._base.registry import Registry
from .base import Penalty

_MIXED = "penalty=minimand.L1() + 0.5 * minimand.L2(), or ratio * L1() + (1 - ratio) * L2()"
# Names that other libraries use for a penalty, and what to write here instead.
_ELSEWHERE = {
    **dict.fromkeys(("elasticnet", "elastic_net", "enet", "l1_l2", "l1l2"), _MIXED),
    **dict.fromkeys(("lasso", "l1_norm"), "penalty='l1'"),
    **dict.fromkeys(("ridge", "tikhonov", "weight_decay", "l2_norm"), "penalty='l2'"),
    **dict.fromkeys((None, "none", "no", "unpenalized", ""), "penalty='no_penalty'"),
    **dict.fromkeys(("nuclear", "nuclear_norm", "trace", "low_rank"), "penalty='trace_norm'"),
    **dict.fromkeys(
        ("group_l2", "group_lasso", "grouplasso", "sparse_group"),
        "penalty=minimand.GroupL2(groups) or minimand.SparseGroup(groups)",
    ),
    **dict.fromkeys(("multitask", "l2_1", "l21_norm"), "penalty='l21'"),
    **dict.fromkeys(("positive", "nonnegative", "nonneg", "nnls"), "penalty='non_negative'"),
}

# These modules are loaded on first use; type checkers read the same list in __init__.pyi.
_NAMES = {
    "algebra": ("Scaled", "Sum"),
    "base": ("BoundPenalty", "Majorised", "Majoriser", "Penalty", "Plane", "Young"),
    "concave": ("Concave",),
    "constraint": ("Ball", "Box", "L1Ball", "L2Ball", "NonNegative"),
    "group": ("L21", "GroupL2", "SparseGroup"),
    "grouped": ("Grouped",),
    "nonconvex": ("MCP", "SCAD", "ConcavePenalty", "Lq"),
    "norm": ("Norm",),
    "partition": ("Groups",),
    "separable": ("L1", "L2", "NoPenalty", "Separable"),
    "spectral": ("SingularValues", "TraceNorm"),
    "squared_norm": ("SquaredNorm",),
    "strengths": ("Strengths",),
}

__getattr__, __dir__ = on_demand(__name__, _NAMES)

REGISTRY: Registry[Penalty] = Registry(
    "penalty",
    Penalty,
    [
        "L1",
        "L2",
        "L21",
        "NoPenalty",
        "NonNegative",
        "Box",
        "L1Ball",
        "L2Ball",
        "MCP",
        "SCAD",
        "Lq",
        "TraceNorm",
    ],
    __getattr__,
    elsewhere=_ELSEWHERE,
)

__all__ = ["REGISTRY", *(name for names in _NAMES.values() for name in names)]
