"""Which loss and penalty a scikit-learn model minimises, on our scale: mean loss + alpha·penalty.

Each function reads a model's parameters. The total weight S = Σs turns sums into means: Ridge's
Σ s·r² + α‖w‖² is, up to a factor, mean ½r² + (α/S)·½‖w‖². All conversions of scales are here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.linear_model import (
    HuberRegressor,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLassoCV,
)

from ...losses import (
    CrammerSinger,
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Margin,
    Multinomial,
    PerceptronLoss,
    Pieces,
    Poisson,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tweedie,
)
from ...penalties import L1, L2, NoPenalty, Penalty
from .celer_skglm import LIBRARIES, PEERS
from .formulation import Formulation, Total, mix, mix_of_rows, signed


def read(model: Any, total: Total) -> Formulation:
    """The objective of a model; ``total()`` is the sum of the sample weights."""
    name = check_known(model)
    return (PEERS if name in PEERS else READERS)[name](model, total)


def check_known(model: Any) -> str:
    """The name of a known class, the model's own or a base class; refuses other models.

    A class of celer or skglm is known by its own name only: it may be a subclass of one of
    scikit-learn's that minimises something else.
    """
    own: Any = type(model)
    if name := _known_name(own):
        return name
    if hasattr(model, "steps"):
        raise TypeError(
            "cannot certify a Pipeline: pass its last step, and X as the steps before transform it."
        )
    if hasattr(model, "best_estimator_"):
        raise TypeError(f"cannot certify {type(model).__name__}: pass its best_estimator_.")
    raise TypeError(
        f"cannot certify {type(model).__name__}: pass a fitted minimand estimator, one of "
        f"scikit-learn's {sorted(READERS)}, or one of {sorted(PEERS)}."
    )


@lru_cache(maxsize=256)  # classes; safeguard: a program may make classes without end
def _known_name(model: type) -> str:
    """The name by which a class is known; empty if it is not."""
    for cls in model.__mro__:
        library = cls.__module__.split(".")[0]
        if library in LIBRARIES:
            own = f"{library}.{cls.__name__}"
            return own if own in PEERS else ""
        if library == "sklearn" and cls.__name__ in READERS:
            return cls.__name__
    return ""


def has_joint_scale(model: Any) -> bool:
    """Whether the model has a scale that is minimised over, beside its coefficients."""
    return isinstance(model, HuberRegressor)


def _linear_regression(model: Any, total: Total) -> Formulation:
    return Formulation(Squared(), signed(model, NoPenalty()), 0.0, model.fit_intercept)


def _ridge(model: Any, total: Total) -> Formulation:
    alpha = np.asarray(model.alpha, dtype=float) / total()
    return Formulation(Squared(), signed(model, L2()), alpha, model.fit_intercept)


def _ridge_classifier(model: Any, total: Total) -> Formulation:
    return replace(_ridge(model, total), labels=True)


def _ridge_cv(model: Any, total: Total) -> Formulation:
    return Formulation(Squared(), L2(), np.asarray(model.alpha_) / total(), model.fit_intercept)


def _elastic_net(model: Any, total: Total) -> Formulation:
    penalty = net_penalty(model, getattr(model, "l1_ratio", 1.0))
    return Formulation(Squared(), penalty, float(model.alpha), model.fit_intercept)


def net_penalty(model: Any, l1_ratio: float) -> Penalty:
    """The penalty of an elastic net at one of the ratios that it chooses from.

    In a multi-task model the rows of W take the place of single coefficients.
    """
    return mix_of_rows(l1_ratio) if is_multi_task(model) else signed(model, mix(l1_ratio))


def is_multi_task(model: Any) -> bool:
    """Whether it is an elastic net whose penalty couples the targets."""
    return isinstance(model, MultiTaskElasticNet | MultiTaskElasticNetCV | MultiTaskLassoCV)


def _elastic_net_cv(model: Any, total: Total) -> Formulation:
    penalty = net_penalty(model, getattr(model, "l1_ratio_", 1.0))  # a LassoCV has none
    return Formulation(Squared(), penalty, float(model.alpha_), model.fit_intercept)


def _logistic_regression(model: Any, total: Total) -> Formulation:
    penalty = getattr(model, "penalty", "l2")
    ratio = getattr(model, "l1_ratio", None) or 0.0
    return _logistic(model, total, penalty, ratio, float(model.C))


def _logistic_regression_cv(model: Any, total: Total) -> Formulation:
    """At the C and the ratio that were found; a single ratio counts, whatever l1_ratio_ says."""
    ratios = np.unique([0.0 if ratio is None else ratio for ratio in model.l1_ratios_])
    ratio = float(ratios[0] if ratios.size == 1 else np.ravel(model.l1_ratio_)[0])
    return _logistic(model, total, model.penalty, ratio, float(np.ravel(model.C_)[0]))


def _logistic(model: Any, total: Total, penalty: Any, ratio: float, C: float) -> Formulation:
    """Two classes have one score, more of them one score each, with free intercepts."""
    many = len(model.classes_) > 2
    if many and model.solver == "liblinear":
        raise ValueError(
            "Only binary classification is supported. "
            "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). "
            "Either use another solver or wrap the estimator in a OneVsRestClassifier to keep "
            "applying a one-versus-rest scheme."
        )
    by_name: dict[Any, Penalty] = {None: NoPenalty(), "l1": L1(), "l2": L2()}
    # scikit-learn ≥ 1.8 deprecates `penalty` in favour of l1_ratio alone.
    form = by_name.get(penalty, mix(ratio))
    unpenalised = penalty is None or not np.isfinite(C)
    alpha = 0.0 if unpenalised else 1.0 / (C * total())
    constant = 0.0
    if model.solver == "liblinear" and model.fit_intercept:
        constant = float(model.intercept_scaling)
    apart = getattr(model, "multi_class", None) == "ovr"  # until scikit-learn 1.7
    loss = Multinomial() if many and not apart else Logistic()
    return Formulation(loss, form, alpha, model.fit_intercept, constant, labels=True)


def _poisson(model: Any, total: Total) -> Formulation:
    return Formulation(Poisson(), L2(), float(model.alpha), model.fit_intercept)


def _gamma(model: Any, total: Total) -> Formulation:
    return Formulation(Gamma(), L2(), float(model.alpha), model.fit_intercept)


def _tweedie(model: Any, total: Total) -> Formulation:
    """The log link for powers from 1 to 2, the identity link for the normal law of power 0."""
    link = model.link if model.link != "auto" else "identity" if model.power <= 0 else "log"
    loss: Loss
    if link == "log" and 1 <= model.power <= 2:
        loss = Tweedie(float(model.power))
    elif link == "identity" and model.power == 0:
        loss = Squared()
    else:
        raise ValueError(
            f"cannot certify TweedieRegressor with power={model.power!r} and link={link!r}: its "
            "deviance is convex for powers from 1 to 2 with the log link, and for power 0 with "
            "the identity."
        )
    return Formulation(loss, L2(), float(model.alpha), model.fit_intercept)


def _huber_regressor(model: Any, total: Total) -> Formulation:
    """With the scale σ held fixed: what remains of the joint problem, divided by 2/σ."""
    sigma = float(getattr(model, "scale_", 1.0))
    loss = Huber(float(model.epsilon) * sigma)
    return Formulation(loss, L2(), float(model.alpha) * sigma / total(), model.fit_intercept)


def _quantile_regressor(model: Any, total: Total) -> Formulation:
    return Formulation(
        Quantile(float(model.quantile)), L1(), float(model.alpha), model.fit_intercept
    )


def _linear_svc(model: Any, total: Total) -> Formulation:
    """One versus rest, or Crammer and Singer's loss of all classes, whose penalty is always L2."""
    if model.multi_class == "crammer_singer":
        many = len(model.classes_) > 2
        found = _liblinear(model, total, CrammerSinger() if many else Hinge(), L2(), labels=True)
        # Of two classes scikit-learn keeps w = w₁ − w₀, where w₁ = −w₀: ½‖w₀‖² + ½‖w₁‖² = ¼‖w‖².
        return found if many else replace(found, alpha=0.5 * found.alpha)
    loss = Hinge() if model.loss == "hinge" else SquaredHinge()
    penalty = L1() if model.penalty == "l1" else L2()
    return _liblinear(model, total, loss, penalty, labels=True)


def _linear_svr(model: Any, total: Total) -> Formulation:
    squared = model.loss == "squared_epsilon_insensitive"
    form = SquaredEpsilonInsensitive if squared else EpsilonInsensitive
    return _liblinear(model, total, form(float(model.epsilon)), L2(), labels=False)


def _liblinear(model: Any, total: Total, loss: Loss, penalty: Penalty, labels: bool) -> Formulation:
    """C·Σ loss + penalty, where the intercept is the coefficient of a constant column."""
    alpha = 1.0 / (float(model.C) * total())
    constant = float(model.intercept_scaling) if model.fit_intercept else 0.0
    return Formulation(loss, penalty, alpha, model.fit_intercept, constant, labels)


def _svc(model: Any, total: Total) -> Formulation:
    if len(model.classes_) > 2:
        raise ValueError(
            f"cannot certify SVC with {len(model.classes_)} classes, which are fitted one versus "
            "one: take two classes at a time."
        )
    return replace(_libsvm(model, total, Hinge()), labels=True)


def _svr(model: Any, total: Total) -> Formulation:
    return _libsvm(model, total, EpsilonInsensitive(float(model.epsilon)))


def _libsvm(model: Any, total: Total, loss: Loss) -> Formulation:
    return Formulation(loss, L2(), 1.0 / (float(model.C) * total()), True)


def _kernel_ridge(model: Any, total: Total) -> Formulation:
    return Formulation(Squared(), L2(), np.asarray(model.alpha, dtype=float) / total(), False)


def _sgd(model: Any, total: Total) -> Formulation:
    penalties: dict[Any, Penalty] = {
        "l2": L2(),
        "l1": L1(),
        "elasticnet": mix(model.l1_ratio or 0.0),
        None: NoPenalty(),
    }
    losses: dict[str, Loss] = {
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "perceptron": PerceptronLoss(),
        "log_loss": Logistic(),
        "modified_huber": _ModifiedHuber(),
        "squared_error": Squared(),
        "huber": Huber(model.epsilon),
        "epsilon_insensitive": EpsilonInsensitive(model.epsilon),
        "squared_epsilon_insensitive": SquaredEpsilonInsensitive(model.epsilon),
    }
    penalty, labels = penalties[model.penalty], hasattr(model, "classes_")
    fitted, alpha = bool(model.fit_intercept), float(model.alpha)
    return Formulation(losses[model.loss], penalty, alpha, fitted, labels=labels, per_row=True)


class _ModifiedHuber(Margin):
    """max(0, 1 − m)² for m ≥ −1, −4m beyond."""

    pieces = Pieces([-1.0, 1.0], [-4.0, -4.0, 0.0], [0.0, 2.0, 0.0], base=4.0)


READERS: dict[str, Callable[[Any, Total], Formulation]] = {
    "LinearRegression": _linear_regression,
    "Ridge": _ridge,
    "RidgeClassifier": _ridge_classifier,
    "RidgeCV": _ridge_cv,
    "Lasso": _elastic_net,
    "ElasticNet": _elastic_net,
    "MultiTaskLasso": _elastic_net,
    "MultiTaskElasticNet": _elastic_net,
    "LassoCV": _elastic_net_cv,
    "ElasticNetCV": _elastic_net_cv,
    "MultiTaskLassoCV": _elastic_net_cv,
    "MultiTaskElasticNetCV": _elastic_net_cv,
    "LassoLarsIC": _elastic_net_cv,
    "LogisticRegression": _logistic_regression,
    "LogisticRegressionCV": _logistic_regression_cv,
    "LinearSVC": _linear_svc,
    "LinearSVR": _linear_svr,
    "SVC": _svc,
    "SVR": _svr,
    "KernelRidge": _kernel_ridge,
    "HuberRegressor": _huber_regressor,
    "QuantileRegressor": _quantile_regressor,
    "PoissonRegressor": _poisson,
    "SGDClassifier": _sgd,
    "SGDRegressor": _sgd,
    "GammaRegressor": _gamma,
    "TweedieRegressor": _tweedie,
}
