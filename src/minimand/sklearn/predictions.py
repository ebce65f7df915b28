"""Predictions and scores of linear drop-ins: on plain arrays without scikit-learn's conversions.

Inside a search, scikit-learn's checks of X, y and the predictions take longer than a small fit.
Arrays that need no conversion are checked here in one pass, and the results are the same; anything
else goes to scikit-learn's own methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.typing import AnyArray, ArrayLike
from ..estimators.inputs.matrix import all_finite, is_plain_matrix
from ..metrics.labels import accuracy
from ..metrics.regressions import determination


def in_order(model: Any, X: Any) -> bool:
    """Whether X needs no conversion and has the columns of the fit, which had no names."""
    known = model.__dict__
    return (
        is_plain_matrix(X)
        and X.shape[1] == known.get("n_features_in_")
        and type(known.get("coef_")) is np.ndarray
        and "feature_names_in_" not in known
        and all_finite(X)
    )


class PredictsNumbers:
    """Mixin in front of a linear regressor of scikit-learn."""

    def _decision_function(self: Any, X: ArrayLike) -> AnyArray:
        if in_order(self, X):
            found: AnyArray = X @ self.coef_.T + self.intercept_
            return found
        return super()._decision_function(X)  # type: ignore[misc]

    def score(self: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """R² of the predictions for X."""
        return determination(y, self.predict(X), sample_weight)


class PredictsLabels:
    """Mixin in front of a linear classifier of scikit-learn."""

    def decision_function(self: Any, X: ArrayLike) -> AnyArray:
        """Scores z = X w + b: (n,), or (n, k) for more than two classes."""
        if in_order(self, X):
            scores: AnyArray = X @ self.coef_.T + self.intercept_
            return scores.reshape(-1) if scores.ndim > 1 and scores.shape[1] == 1 else scores
        return super().decision_function(X)  # type: ignore[misc]

    def predict(self: Any, X: ArrayLike) -> AnyArray:
        """The label of the largest score."""
        coef = self.__dict__.get("coef_")
        single = type(coef) is np.ndarray and (coef.ndim == 1 or coef.shape[0] == 1)
        if single and self.classes_.size == 2:
            found: AnyArray = self.classes_.take(self.decision_function(X) > 0)
            return found
        return super().predict(X)  # type: ignore[misc]

    def score(self: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike = None) -> float:
        """The share of correct predictions."""
        return accuracy(y, self.predict(X), sample_weight)
