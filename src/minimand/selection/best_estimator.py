"""The methods of a meta-estimator that delegates to its ``best_estimator_``."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._base.available import available_if
from .._base.typing import AnyArray, Array, ArrayLike
from ..certificate import Certificate
from ..estimators.summary import Summarised, facts_of
from .scores import scorer_for, with_offset


def _has(name: str) -> Any:
    """Whether the fitted model, or before a fit the estimator, has a method."""

    def check(tuned: Any) -> bool:
        getattr(getattr(tuned, "best_estimator_", tuned.estimator), name)
        return True

    return check


class DelegatesToBest(MetaEstimatorMixin, Summarised):
    """A meta-estimator that predicts by its ``best_estimator_``."""

    estimator: Any
    scoring: Any
    alpha_: float
    _scoring: Any  # the scorer of the fit

    def _facts(self) -> dict[str, str]:
        """``alpha_``, and the facts of the best estimator."""
        known = vars(self)
        if "alpha_" not in known:
            return {}
        model = known.get("best_estimator_")
        return {"alpha": f"{self.alpha_:.3g}"} | ({} if model is None else facts_of(model))

    @property
    def certificate_(self) -> Certificate:
        """The certificate of `best_estimator_`."""
        return self._model().certificate_

    def _model(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "refit=False leaves no model to predict with: fit the estimator at alpha_."
            )
        return self.best_estimator_

    def predict(self, X: ArrayLike, offset: ArrayLike = None) -> AnyArray:
        """The prediction of ``best_estimator_``."""
        return self._model().predict(X, offset)

    def decision_function(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """The score z of ``best_estimator_``."""
        return self._model().decision_function(X, offset)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """The class probabilities of ``best_estimator_``."""
        return self._model().predict_proba(X, offset)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: ArrayLike, offset: ArrayLike = None) -> Array:
        """The logarithms of the class probabilities."""
        return self._model().predict_log_proba(X, offset)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        offset: ArrayLike = None,
        groups: ArrayLike = None,
    ) -> float:
        """The score of ``best_estimator_`` by ``scoring``; by default its own: D², accuracy, NDCG.

        ``groups`` are the queries of the items, for a `Ranker`.
        """
        model = self._model()
        scorer, target = scorer_for(model, self._scoring), model._with_groups(y, groups)
        if scorer is None and model.in_queries:
            return float(model.score(X, y, groups, offset))
        if scorer is None:
            return float(model.score(X, y, sample_weight, offset))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(with_offset(copy(model), offset), X, target, **weights))

    def __sklearn_tags__(self) -> Any:
        """The tags of the estimator."""
        tags = super().__sklearn_tags__()
        inner = get_tags(vars(self).get("best_estimator_", self.estimator))
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        return tags
