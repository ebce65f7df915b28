"""Samples with their weights and offsets, and how cross-validation divides them into folds."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, LeaveOneOut, check_cv
from sklearn.utils import _safe_indexing, get_tags

from .._base.typing import AnyArray, Array, IntArray
from ..design import Design
from ..estimators.inputs.class_weights import weighted_by_class


@dataclass(frozen=True, eq=False)
class Samples:
    """X, y, weights and offsets, checked; rows are taken of all of them at once."""

    X: Any
    y: AnyArray
    weight: Array | None = None
    offset: Array | None = None
    pairwise: bool = False  # whether X has a column for every sample, as a kernel matrix has

    def __len__(self) -> int:
        return int(self.y.shape[0])

    def take(self, rows: IntArray, columns: IntArray | None = None) -> Samples:
        """These rows; if X is a Design, in increasing order.

        If X has a column for every sample, it gets the ``columns`` of some samples, by default of
        the same.
        """
        design = isinstance(self.X, Design)
        rows = np.sort(rows) if design else rows
        X = self.X.rows(rows) if design else _safe_indexing(self.X, rows)
        if self.pairwise:
            X = _safe_indexing(X, rows if columns is None else columns, axis=1)
        return Samples(
            X,
            self.y[rows],
            None if self.weight is None else self.weight[rows],
            None if self.offset is None else self.offset[rows],
        )

    @property
    def countable(self) -> Any:
        """An X for splitters, which use its number of rows only."""
        return self.y if isinstance(self.X, Design) else self.X

    def for_features_of(self, estimator: Any) -> Samples:
        """The samples, whose X is known to be pairwise if that is what the estimator takes."""
        if not get_tags(estimator).input_tags.pairwise:
            return self
        X = self.X if hasattr(self.X, "shape") else np.asarray(self.X)
        return replace(self, X=X, pairwise=True)

    def weighted(self, rows: IntArray) -> IntArray:
        """Those of the rows that have a positive weight."""
        return rows if self.weight is None else rows[self.weight[rows] > 0]

    def weight_of(self, rows: IntArray) -> float:
        """Σ s over some rows."""
        return float(rows.size if self.weight is None else self.weight[rows].sum())


def present_for(estimator: Any, samples: Samples) -> Samples:
    """The samples; those of a class of weight 0 get weight 0."""
    if not is_classifier(estimator):
        return samples
    weight = samples.weight
    by_class = weighted_by_class(estimator.class_weight, samples.y, weight)
    if by_class is None or by_class.all():
        return samples
    return replace(samples, weight=np.where(by_class > 0, 1.0 if weight is None else weight, 0.0))


class Fold(NamedTuple):
    """Rows to train on and rows to test on."""

    train: IntArray
    test: IntArray


def leaves_one_out(cv: Any) -> bool:
    """Whether ``cv`` means that every sample is left out once."""
    return isinstance(cv, LeaveOneOut) or (isinstance(cv, str) and cv == "loo")


def folds_of(cv: Any, estimator: Any, samples: Samples, groups: Any) -> list[Fold]:
    """The folds of a splitter, a number, or a list of pairs; stratified by class, whole queries.

    Folds whose test samples all have weight 0 are left out.
    """
    if estimator.in_queries:
        groups = samples.y[:, 1]
    splitter = _splitter(cv, estimator, samples)
    folds = [
        Fold(_rows(train, len(samples)), _rows(test, len(samples)))
        for train, test in splitter.split(samples.countable, samples.y, groups)
    ]
    for i, fold in enumerate(folds):
        if not fold.train.size or not fold.test.size or samples.weight_of(fold.train) == 0:
            raise ValueError(
                f"cv gives a fold (number {i}) with no sample of positive weight to train on, or "
                "none to test on: use fewer folds."
            )
    if is_classifier(estimator):
        _check_classes(folds, samples)
    tested = [fold for fold in folds if samples.weight_of(fold.test) > 0]
    if not tested:
        raise ValueError("cv gives no fold that tests on a sample of positive weight.")
    return tested


def _check_classes(folds: list[Fold], samples: Samples) -> None:
    """Refuse folds whose training part lacks a class."""
    if samples.y.ndim > 1:
        return  # labels that a fold lacks are refused by its fit, which names the column
    classes = np.unique(samples.y[samples.weighted(np.arange(len(samples)))])
    for i, fold in enumerate(folds):
        missing = np.setdiff1d(classes, samples.y[samples.weighted(fold.train)])
        if missing.size:
            raise ValueError(
                f"cv leaves fold {i} without a sample of class {missing.tolist()[0]!r} to train "
                "on: use fewer folds, a stratified splitter, or leave such a class out."
            )


def _splitter(cv: Any, estimator: Any, samples: Samples) -> Any:
    if leaves_one_out(cv):
        if estimator.in_queries:
            raise ValueError(
                "cv='loo' leaves out one item, which is in no pair by itself: use "
                "sklearn.model_selection.LeaveOneGroupOut() to leave out one query."
            )
        return LeaveOneOut()
    cv = 5 if cv is None else cv  # folds; convention: scikit-learn's default
    number = isinstance(cv, numbers.Integral) and not isinstance(cv, bool)
    if number and not 2 <= cv <= len(samples):
        raise ValueError(
            f"cv must be at least 2 and at most the number of samples, n_samples={len(samples)}, "
            f"not {cv!r}."
        )
    if isinstance(cv, str | bool) or not (
        number or hasattr(cv, "split") or isinstance(cv, Iterable)
    ):
        raise ValueError(
            f"cv must be a number of folds, a scikit-learn splitter, a list of (train, test) "
            f"pairs or 'loo', not {cv!r}."
        )
    if number and estimator.in_queries:  # whole queries
        queries = np.unique(samples.y[:, 1]).size
        if cv > queries:
            raise ValueError(f"cv must be at most the number of queries, {queries}, not {cv!r}.")
        return GroupKFold(int(cv))
    return check_cv(cv, samples.y, classifier=is_classifier(estimator))


def _rows(rows: Any, n_samples: int) -> IntArray:
    """Row numbers, from numbers or from a mask."""
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (n_samples,):
        return np.flatnonzero(found)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise ValueError("cv must give row numbers or masks: pairs of arrays (train, test).")
    if found.size and not (-n_samples <= found.min() and found.max() < n_samples):
        raise ValueError(f"cv gives row numbers beyond the {n_samples} samples.")
    return (found % n_samples).astype(np.int64) if found.size else np.zeros(0, dtype=np.int64)
