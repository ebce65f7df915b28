"""SVC and NuSVC: one machine for every pair of classes."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
from sklearn import svm

from ..._base.typing import AnyArray, Array, IntArray
from ...design import GramDesign, KernelDesign
from ...losses import Hinge
from ...solvers import Control
from ...solvers.kernel import machines
from ..base import own_tolerance
from .machine import FEW, KernelMachine, Machine, constant_machine
from .on_columns import start_on_columns
from .probabilities import probabilities

_MANY = 6000  # samples whose kernel matrix pairs of classes share, 288 MB; safeguard


class PairsOfClasses(KernelMachine):
    """A machine for every pair i < j of classes, positive for class i, as in libsvm."""

    _INFEASIBLE = "Invalid input - all samples with positive weights belong to the same class."

    def _machines(
        self: Any, design: KernelDesign, y: Array, weights: Array, kept: IntArray
    ) -> list[Machine]:
        classes = y.astype(np.intp)
        present = np.unique(classes[kept])
        if present.size < 2:
            raise ValueError(self._INFEASIBLE)
        weights = weights * self.class_weight_[classes]
        # One class after the other, so that the samples of a pair are two runs of rows.
        order = np.concatenate([kept[classes[kept] == c] for c in range(len(self.classes_))])
        ends = np.searchsorted(classes[order], np.arange(len(self.classes_) + 1))
        rows = [np.arange(*span) for span in pairwise(ends)]
        design, weights = self._shared(design.rows(order), present.size), weights[order]
        found = [
            self._pair(design, rows[i], rows[j], weights).among(order, y.size)
            for i, j in combinations(range(len(rows)), 2)
        ]
        self._platt = (np.empty(0), np.empty(0))
        if self.probability is True:
            self._platt = probabilities(self, design, rows, weights)
        return found

    def _shared(self: Any, design: KernelDesign, count: int) -> KernelDesign:
        """The design with its matrix, of which every pair of classes gets a part, if it is small.

        Of two classes all rows are one problem, unless folds for probabilities share them.
        """
        most = FEW if count == 2 and self.probability is not True else _MANY
        return GramDesign.of(design) if design.shape[0] <= most else design

    def _pair(
        self: Any, design: KernelDesign, one: IntArray, other: IntArray, weights: Array
    ) -> Machine:
        numbers = np.concatenate([one, other])
        if not one.size or not other.size:  # all samples of a class have weight zero
            return constant_machine(weights.size, 1.0 if one.size else -1.0)
        y = np.repeat([1.0, -1.0], [one.size, other.size])
        part = design if numbers.size == weights.size else design.rows(numbers)
        with self._limits() as control:
            machine: Machine = self._machine(part, y, weights[numbers], control)
        return machine.among(numbers, weights.size)

    def _store_machines(self: Any, X: Any, machines: list[Machine]) -> None:
        """Support vectors by class; row j − 1 or i holds the coefficients in the pair (i, j)."""
        count = len(self.classes_)
        pairs = list(combinations(range(count), 2))
        owner = self._owner
        used = np.any([m.coef != 0 for m in machines], axis=0)
        support = np.concatenate([np.flatnonzero(used & (owner == c)) for c in range(count)])
        coef = np.zeros((count - 1, support.size))
        for (i, j), machine in zip(pairs, machines):
            mine, theirs = owner[support] == i, owner[support] == j
            coef[j - 1, mine] = machine.coef[support[mine]]
            coef[i, theirs] = machine.coef[support[theirs]]
        self._n_support = np.bincount(owner[support], minlength=count).astype(np.int32)
        self._store_support(X, support, coef, machines)
        self._probA, self._probB = self._platt

    def _expansion(self: Any) -> Array:
        count, coef = len(self.classes_), self._dual_coef_
        coef = coef.toarray() if self._sparse else coef
        ends = np.concatenate([[0], np.cumsum(self._n_support)])
        pairs = list(combinations(range(count), 2))
        found = np.zeros((coef.shape[1], len(pairs)))
        for k, (i, j) in enumerate(pairs):
            mine, theirs = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            found[mine, k] = coef[j - 1, mine]
            found[theirs, k] = coef[i, theirs]
        return found

    def _validate_targets(self: Any, y: AnyArray) -> Array:
        found: Array = super()._validate_targets(y)  # type: ignore[misc]
        self._owner = found.astype(np.intp)
        return found

    def _dense_predict(self: Any, X: Any) -> AnyArray:
        return self._votes(self._scores_of_machines(self._compute_kernel(X)))

    def _sparse_predict(self: Any, X: Any) -> AnyArray:
        return self._votes(self._scores_of_machines(X))

    def _votes(self: Any, scores: Array) -> AnyArray:
        """The class with most votes, the first of several."""
        votes = np.zeros((scores.shape[0], len(self.classes_)), dtype=np.intp)
        for k, (i, j) in enumerate(combinations(range(len(self.classes_)), 2)):
            first = scores[:, k] > 0
            votes[first, i] += 1
            votes[~first, j] += 1
        return np.argmax(votes, axis=1)


class SVC(PairsOfClasses, svm.SVC):
    r"""A kernel support vector classifier, as `sklearn.svm.SVC`, with a certificate.

    .. math:: \min_{f,b} \tfrac{1}{2} \|f\|_H^2 + C \sum_i s_i \max(0, 1 - y_i (f(x_i) + b))

    More than two classes are one versus one. The certificate sums over the pairs of classes.

    Parameters
    ----------
    C : float, default=1.0
        ``inf`` stands for 1e10.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, callable or Kernel, default="rbf"
        Also a kernel of minimand, such as ``minimand.RBF("median")``. "sigmoid" is not positive
        semidefinite: nothing bounds the distance from the optimum, and the certificate says so, as
        it does for a matrix or function that is found indefinite.
    degree, gamma, coef0
        As in scikit-learn.
    shrinking, random_state
        No effect on the optimum.
    probability : bool, default=False
        Whether to fit Platt's sigmoids on five folds for `predict_proba`.
    tol : float, default=1e-6
        The certified relative gap to reach in every pair.
    cache_size : float, default=200
        Megabytes of kernel rows; 2000 are used even if this is less.
    class_weight : dict or "balanced", optional
    verbose : bool, default=False
        Whether to show the gap of every machine as it falls.
    max_iter : int, default=-1
        Most exact computations of the scores; -1 for no limit.
    decision_function_shape : {"ovo", "ovr"}, default="ovr"
    break_ties : bool, default=False

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, coef_
        As in scikit-learn.
    certificate_ : Certificate

    Examples
    --------
    >>> from minimand.sklearn import SVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> model.certificate_.relative <= 1e-6, model.dual_coef_.shape[0]
    (True, 2)
    """

    __init__ = own_tolerance(svm.SVC)

    def _machine(self, design: KernelDesign, y: Array, weights: Array, control: Control) -> Machine:
        bounds = self._bounds(weights)
        start = start_on_columns(Hinge(), design, y, bounds, control)
        found = machines.classes(design, y, bounds, control, start)
        return Machine.of(found, found.a, float(found.levels[0]))


class NuSVC(PairsOfClasses, svm.NuSVC):
    r"""A classifier with a given share of support vectors, as `sklearn.svm.NuSVC`.

    .. math:: \min_{f,b,\rho} \tfrac{1}{2} \|f\|_H^2 - \nu \rho \sum_i s_i
        + \sum_i s_i \max(0, \rho - y_i (f(x_i) + b))

    divided by ρ, so that the margin is one. At most a share ν of the samples lies within the
    margin, and at least that share are support vectors. The gap is that of this problem, relative
    to the distance of f = 0 from the optimum.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1], and at most twice the share of the smaller class of every pair.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose, \
max_iter, decision_function_shape, break_ties, random_state
        As in `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, coef_
        As in scikit-learn.
    certificate_ : Certificate

    Examples
    --------
    >>> from minimand.sklearn import NuSVC
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVC(nu=0.2).fit(X, y).certificate_.relative <= 1e-6
    True
    """

    _INFEASIBLE = "specified nu is infeasible: too few samples of a class have positive weights"
    __init__ = own_tolerance(svm.NuSVC)

    def _machine(self, design: KernelDesign, y: Array, weights: Array, control: Control) -> Machine:
        smaller = min(float(weights[y > 0].sum()), float(weights[y < 0].sum()))
        if 0.5 * self.nu * float(weights.sum()) > smaller * (1 + 1e-12):  # rounding; safeguard
            raise ValueError(self._INFEASIBLE)
        found = machines.nu_classes(design, y, weights, float(self.nu), control)
        b, margin = found.levels.mean(), 0.5 * (found.levels[0] - found.levels[1])
        size = margin if margin > 0 else 1.0  # all of f is zero: no margin to divide by
        return Machine.of(found, found.a / size, float(b / size))
