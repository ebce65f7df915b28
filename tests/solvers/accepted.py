"""For every solver a problem that it accepts, where it does not take the squared loss with L2."""

import numpy as np

import minimand as mm
from minimand.solvers import SOLVERS
from minimand.solvers.traits import Trait

PROBLEMS = {
    "simplex": ("absolute", "l1"),
    "column_generation": ("absolute", "l1"),
    "constraint_generation": ("chebyshev", "l2"),
    "row_pairs": ("absolute", "l2"),
    "graduated": ("geman_mc_clure", "l2"),
    "convex_concave": (mm.WeightedRanking([0.0, 1.0]), "l2"),
    "multiplier": ("squared", mm.L1Ball(0.5)),
    "reweighted": ("squared", mm.MCP()),
    "ridge_level": ("absolute", mm.L21(by="output")),
    "class_dual": (mm.CrammerSinger(), "l2"),
    "class_primal_dual": (mm.CrammerSinger(), "l2"),
    "run_newton": ("squared_hinge", "l2"),
    "smoothed": ("hinge", "l2"),
    "low_rank": ("squared", mm.TraceNorm()),
    "splitting": ("absolute", mm.TraceNorm()),
    "by_score": (mm.Quantiles(), "l2"),
    "ordered": (mm.Quantiles(crossing=False), "l2"),
}
# Those whose designs are no matrix are tested in tests/solvers/kernel.
ON_MATRICES = [name for name in SOLVERS if Trait.NO_COLUMNS not in SOLVERS[name].shapes]
KINDS = {
    "convex_concave": mm.Classifier,
    "class_dual": mm.Classifier,
    "class_primal_dual": mm.Classifier,
    "run_newton": mm.Ranker,
    "smoothed": mm.Ranker,
}


def accepted(name, X, y):
    """The estimator's class, a loss and a penalty that a solver accepts, and y for them."""
    loss, penalty = PROBLEMS.get(name, ("squared", "l2"))
    if name in ("working_groups", "norm_level"):
        penalty = mm.GroupL2(np.arange(X.shape[1]) // 2, squared=name == "norm_level")
    kind = KINDS.get(name, mm.Regressor)
    if kind is not mm.Regressor:
        y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    elif name in ("low_rank", "splitting"):
        y = np.column_stack([y, y[::-1]])
    return kind, loss, penalty, y
