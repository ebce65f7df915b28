"""Probabilities for classifiers whose scores are none: calibration by cross-validation."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._base.typing import AnyArray, Array, ArrayLike
from ..certificate import Certificate
from .classifier import Classifier
from .inputs import data


class Calibrated(CalibratedClassifierCV):
    """Class probabilities for any classifier, learnt from scores on held-out folds.

    The score of a hinge, or of any margin loss but the logistic one, is no probability. Here the
    classifier is fitted on the training part of every fold, and an increasing function of its score
    is fitted to the labels of the rest: a sigmoid (Platt) or a staircase (isotonic regression).
    With more than two classes there is one function per class, and their values are normalised.
    `predict` returns the most probable class. scikit-learn's `CalibratedClassifierCV` does the
    work, so that everything said there holds here.

    Parameters
    ----------
    estimator : classifier, default=Classifier("hinge")
        Any classifier with a ``decision_function`` or ``predict_proba``.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        "isotonic" fits any increasing function, and overfits with fewer than about 1000 samples.
    cv : int, splitter or iterable, default=5
        The folds.
    n_jobs : int, optional
        Folds that are fitted at once.
    ensemble : bool or "auto", default="auto"
        Whether predictions average the models of all folds; if False, one model is fitted on all
        data, and the folds only tell its function.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    calibrated_classifiers_ : list
        A model with its functions for every fold, or a single one.
    labels_ : list of Calibrated
        Only with several labels per sample (a table y of zeros and ones): one model per label.
    certificates_ : list of Certificate
        How far each of those models can be from its optimum; those without one are left out.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = mm.Classifier("hinge", "l2", alpha=0.01)
    >>> model = mm.Calibrated(svm, method="sigmoid", cv=3).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    >>> max(certificate.relative for certificate in model.certificates_) <= 1e-6
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "sigmoid",
        cv: Any = None,
        n_jobs: int | None = None,
        ensemble: Any = "auto",
    ) -> None:
        super().__init__(estimator, method=method, cv=cv, n_jobs=n_jobs, ensemble=ensemble)

    def _get_estimator(self) -> Any:
        """The classifier, by default a support vector machine."""
        return Classifier("hinge") if self.estimator is None else self.estimator

    def fit(
        self, X: ArrayLike, y: AnyArray, sample_weight: ArrayLike = None, **fit_params: Any
    ) -> Self:
        """Fit the classifier and the functions of its scores.

        Parameters
        ----------
        X, y, sample_weight
            The data.
        fit_params
            Arguments of the classifier's ``fit``; its predictions get none of them, so an
            ``offset`` is refused.
        """
        if "offset" in fit_params:
            raise ValueError("Calibrated takes no offset: probabilities are those of the score.")
        self.__dict__.pop("labels_", None)  # of an earlier fit
        if y is not None and data.n_columns(y) > 1:
            return self._fit_labels(X, np.asarray(y), sample_weight, fit_params)
        if y is not None:
            y = column_or_1d(y, warn=True)
        super().fit(X, y, sample_weight=sample_weight, **fit_params)
        models = [each.estimator for each in self.calibrated_classifiers_]
        found = [getattr(model, "certificate_", None) for model in models]
        self.certificates_ = [one for one in found if isinstance(one, Certificate)]
        return self

    def _fit_labels(
        self, X: ArrayLike, y: AnyArray, sample_weight: ArrayLike, fit_params: dict[str, Any]
    ) -> Self:
        """One calibrated model per column of a table of labels."""
        data.check_indicator(y)
        classifier = self._get_estimator()
        weights: Any = getattr(classifier, "class_weight", None)
        by_label = isinstance(weights, list | tuple)
        self.labels_ = []
        for c, column in enumerate(y.T.astype(int)):
            if column.min() == column.max():
                raise ValueError(
                    f"column {c} of y holds one value only: a label that all samples have, or "
                    "none, cannot be learnt; leave the column out."
                )
            model = clone(self).set_params(estimator=clone(classifier))
            if by_label:
                model.estimator.set_params(class_weight=weights[c])
            self.labels_.append(model.fit(X, column, sample_weight, **fit_params))
        first = self.labels_[0]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        self.classes_ = np.arange(y.shape[1])
        self.calibrated_classifiers_ = [m for o in self.labels_ for m in o.calibrated_classifiers_]
        self.certificates_ = [found for one in self.labels_ for found in one.certificates_]
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Class probabilities; of several labels those of every label by itself."""
        check_is_fitted(self)
        if "labels_" not in self.__dict__:
            return np.asarray(super().predict_proba(X))
        return np.column_stack([label.predict_proba(X)[:, 1] for label in self.labels_])

    def predict(self, X: ArrayLike) -> AnyArray:
        """The most probable class; of several labels those with a probability above ½."""
        check_is_fitted(self)
        if "labels_" not in self.__dict__:
            return np.asarray(super().predict(X))
        return (self.predict_proba(X) > 0.5).astype(int)
