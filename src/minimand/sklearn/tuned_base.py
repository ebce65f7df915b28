"""The base of drop-ins that find alpha or C by cross-validation."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.utils import check_scalar
from sklearn.utils.metadata_routing import process_routing

from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import stoppable
from ..estimators.callbacks import with_callbacks
from .base import DropIn


class TunedDropIn(DropIn):
    """A drop-in that compares models on held-out data, and fits the best one on all data."""

    _course = " with the strength of its penalty chosen by what was compared until then,"

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None, **params: Any
    ) -> Self:
        """Find the best strength of the penalty, and fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Or of shape (n_samples, n_targets), in classes that accept several targets.
        sample_weight : float or array-like of shape (n_samples,), optional
        **params : dict
            For the splitter, such as ``groups``, and for the scorer, if the class has one; needs
            scikit-learn's metadata routing.
        """
        self._check_parameters()
        extra = self._routed(sample_weight, params)
        X, y, weights = self._check_data(X, y, sample_weight)
        with stoppable(self):
            self._choose(X, y, weights, params, extra)
        return self

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """What goes to the splitter and the scorer by scikit-learn's routing; None if it is off."""
        return routed(self, sample_weight, params)

    def _choose(
        self, X: Any, y: AnyArray, weights: Array | None, params: dict[str, Any], extra: Any
    ) -> None:
        """Set the best parameters, and the attributes of the model on all data."""
        raise NotImplementedError(f"{type(self).__name__} must define _choose")


def check_alphas(alphas: Any, boundaries: str = "left") -> Array:
    """The strengths to choose from, in their order, refused in scikit-learn's words."""
    values = list(alphas) if np.ndim(alphas) else [alphas]
    for i, alpha in enumerate(values):
        name = "alphas" if len(values) == 1 else f"alphas[{i}]"
        check_scalar(alpha, name, numbers.Real, min_val=0.0, include_boundaries=boundaries)
    return np.array(values, dtype=float)


def routed(model: Any, sample_weight: Any, params: dict[str, Any]) -> Any:
    """What goes to the splitter and the scorer by scikit-learn's routing; None if it is off."""
    if get_config()["enable_metadata_routing"]:
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return process_routing(model, "fit", **given, **params)
    if params:
        raise ValueError(
            f"Passing extra keyword arguments to {type(model).__name__}.fit is only supported if "
            "enable_metadata_routing=True, which you can set using `sklearn.set_config`."
        )
    return None
