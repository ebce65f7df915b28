"""Linear models of celer and skglm, recognised by class names: neither library is imported.

Both divide the loss by the number of samples, so their alpha is ours; their C multiplies a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...losses import Gamma, Hinge, Huber, Logistic, Loss, Poisson, Squared
from ...penalties import L1, L2, MCP, SCAD, Lq, NonNegative, Penalty
from .formulation import Formulation, Total, mix, mix_of_rows, signed

LIBRARIES = ("celer", "skglm")


def _net(model: Any, total: Total) -> Formulation:
    """Least squares with l1, or with l1 and l2; both may have weights per feature."""
    penalty = mix(getattr(model, "l1_ratio", 1.0), getattr(model, "weights", None))
    return Formulation(Squared(), signed(model, penalty), float(model.alpha), model.fit_intercept)


def _cross_validated_net(model: Any, total: Total) -> Formulation:
    """The objective at the alpha and ratio found by cross-validation."""
    penalty = mix(getattr(model, "l1_ratio_", 1.0))
    return Formulation(Squared(), signed(model, penalty), float(model.alpha_), model.fit_intercept)


def _multi_task(model: Any, total: Total) -> Formulation:
    """Least squares of several targets with Σ‖W_j‖₂; its CV form at the alpha that was found."""
    alpha = float(model.alpha_ if hasattr(model, "alpha_") else model.alpha)
    return Formulation(Squared(), mix_of_rows(1.0), alpha, model.fit_intercept)


def _mcp_regression(model: Any, total: Total) -> Formulation:
    if model.weights is not None:
        raise ValueError(
            "cannot certify MCPRegression with weights, as these multiply its value, not its λ: "
            "leave weights out, or fit minimand's MCP(weights=…)."
        )
    penalty = signed(model, MCP(float(model.gamma)))
    return Formulation(Squared(), penalty, float(model.alpha), model.fit_intercept)


def _sparse_logistic(model: Any, total: Total) -> Formulation:
    penalty = mix(getattr(model, "l1_ratio", 1.0))
    alpha, intercept = float(model.alpha), bool(model.fit_intercept)
    return Formulation(Logistic(), penalty, alpha, intercept, labels=True)


def _l1_logistic(model: Any, total: Total) -> Formulation:
    """C·Σ loss + ‖w‖₁."""
    alpha = 1.0 / (float(model.C) * total())
    return Formulation(Logistic(), L1(), alpha, bool(model.fit_intercept), labels=True)


def _linear_svc(model: Any, total: Total) -> Formulation:
    """C·Σ hinge + ½‖w‖², without an intercept whatever fit_intercept says."""
    return _svm(float(model.C), total)


def _svm(C: float, total: Total) -> Formulation:
    return Formulation(Hinge(), L2(), 1.0 / (C * total()), False, labels=True)


def _generalized(model: Any, total: Total) -> Formulation:
    """Any pair of a datafit and a penalty that are known."""
    datafit, form = type(model.datafit).__name__, type(model.penalty).__name__
    if (datafit, form) == ("QuadraticSVC", "IndicatorBox"):
        return _svm(float(model.penalty.alpha), total)
    if datafit not in _DATAFITS or form not in _PENALTIES:
        raise ValueError(
            f"cannot certify GeneralizedLinearEstimator with {datafit} and {form}: its datafit "
            f"must be one of {sorted(_DATAFITS)} and its penalty one of {sorted(_PENALTIES)}, or "
            "QuadraticSVC with IndicatorBox."
        )
    penalty = signed(model.penalty, _PENALTIES[form](model.penalty))
    alpha = float(getattr(model.penalty, "alpha", 0.0))
    intercept = bool(model.solver.fit_intercept)
    loss = _DATAFITS[datafit](model.datafit)
    return Formulation(loss, penalty, alpha, intercept, labels=datafit == "Logistic")


_DATAFITS: dict[str, Callable[[Any], Loss]] = {
    "Quadratic": lambda _: Squared(),
    "Logistic": lambda _: Logistic(),
    "Huber": lambda datafit: Huber(float(datafit.delta)),
    "Poisson": lambda _: Poisson(),
    "Gamma": lambda _: Gamma(),
}
_PENALTIES: dict[str, Callable[[Any], Penalty]] = {
    "L1": lambda _: L1(),
    "L2": lambda _: L2(),
    "L1_plus_L2": lambda penalty: mix(penalty.l1_ratio),
    "WeightedL1": lambda penalty: L1(penalty.weights),
    "MCPenalty": lambda penalty: MCP(float(penalty.gamma)),
    "SCAD": lambda penalty: SCAD(float(penalty.gamma)),
    "L0_5": lambda _: Lq(0.5),
    "L2_3": lambda _: Lq(2 / 3),
    "PositiveConstraint": lambda _: NonNegative(),
}

PEERS: dict[str, Callable[[Any, Total], Formulation]] = {
    "celer.Lasso": _net,
    "celer.ElasticNet": _net,
    "celer.LassoCV": _cross_validated_net,
    "celer.ElasticNetCV": _cross_validated_net,
    "celer.MultiTaskLasso": _multi_task,
    "celer.MultiTaskLassoCV": _multi_task,
    "celer.LogisticRegression": _l1_logistic,
    "skglm.Lasso": _net,
    "skglm.WeightedLasso": _net,
    "skglm.ElasticNet": _net,
    "skglm.MultiTaskLasso": _multi_task,
    "skglm.MCPRegression": _mcp_regression,
    "skglm.SparseLogisticRegression": _sparse_logistic,
    "skglm.LinearSVC": _linear_svc,
    "skglm.GeneralizedLinearEstimator": _generalized,
}
