"""SVC and NuSVC: one machine for every pair of classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from sklearn import svm

from ..._base.typing import AnyArray, Array, IntArray
from ...design import GramDesign, KernelDesign
from ...losses import Hinge
from ...solvers import Control, State
from ...solvers.kernel import tasks
from ...solvers.kernel.machines import BoxSolution
from ..base import own_tolerance
from .machine import KernelMachine, Machine, constant_machine
from .on_columns import start_on_columns
from .probabilities import probabilities

_MANY = 6000  # samples whose kernel matrix pairs of classes share, 288 MB; safeguard

_CLASSES = 0.5  # per sample, from where on scikit-learn warns that y looks like numbers; convention

Sides = tuple[IntArray, IntArray]  # the rows of the two classes of a pair


class PairsOfClasses(KernelMachine):
    """A machine for every pair i < j of classes, positive for class i, as in libsvm."""

    _INFEASIBLE = "Invalid input - all samples with positive weights belong to the same class."

    def _machines(
        self: Any, X: Any, design: KernelDesign, y: Array, weights: Array, kept: IntArray
    ) -> list[Machine]:
        classes = self._owner
        sizes = np.bincount(classes[kept], minlength=len(self.classes_))
        if np.count_nonzero(sizes) < 2:
            raise ValueError(self._INFEASIBLE)
        weights = weights * self.class_weight_[classes]
        # One class after the other, so that the samples of a pair are two runs of rows.
        order = kept[np.argsort(classes[kept], kind="stable")]
        rows = [np.arange(*span) for span in pairwise([0, *np.cumsum(sizes).tolist()])]
        design, weights = self._shared(design.rows(order), sizes), weights[order]
        sides = [(rows[i], rows[j]) for i, j in combinations(range(len(rows)), 2)]
        found: list[Machine] = self._pairs(design, sides, weights, order, y.size, X)
        self._platt = (np.empty(0), np.empty(0))
        if self.probability is True:
            self._platt = probabilities(self, design, sides, weights)
        return found

    def _shared(self: Any, design: KernelDesign, sizes: IntArray) -> KernelDesign:
        """The design with its matrix, of which every pair of classes gets a part, if it is small.

        Pairs of large classes need few rows of it only, unless folds for probabilities share them.
        """
        pair = int(np.sort(sizes)[-2:].sum())
        small = pair <= self._few or self.probability is True
        return GramDesign.of(design) if small and design.shape[0] <= _MANY else design

    def _pairs(
        self: Any,
        design: KernelDesign,
        sides: list[Sides],
        weights: Array,
        numbers: IntArray,
        n: int,
        X: Any = None,
    ) -> list[Machine]:
        """A machine for every pair of runs of rows, by one call where that is possible.

        ``numbers`` are those of the rows among n samples. Callbacks are told if X is given.
        """
        known = [m for m, (one, other) in enumerate(sides) if one.size and other.size]
        places = [np.concatenate(sides[m]) for m in known]
        signs = [np.repeat([1.0, -1.0], [side.size for side in sides[m]]) for m in known]
        posed = [
            self._task(sign, weights[place], design.row_lengths[place])
            for sign, place in zip(signs, places)
        ]

        def placed(points: list[Any], found: list[Any]) -> list[Machine]:
            done = zip(known, places, points, found)
            fitted = {
                m: self._machine(point, solution, numbers[place], n)
                for m, place, point, solution in done
            }
            return [
                fitted.get(m) or constant_machine(n, _without_a_class(*pair))
                for m, pair in enumerate(sides)
            ]

        def at(solved: list[BoxSolution], state: State) -> dict[str, Any]:
            points = [*((s.a, s.levels) for s in solved), state.point]
            found: dict[str, Any] = self._attributes_at(X, placed(points, [*solved, None]))
            return found

        solved = self._solved(design, places, posed, None if X is None else at)
        return placed([(s.a, s.levels) for s in solved], solved)

    def _store_machines(self: Any, X: Any, machines: list[Machine]) -> None:
        """Support vectors by class; row j − 1 or i holds the coefficients in the pair (i, j)."""
        count, owner = len(self.classes_), self._owner
        table = np.array([machine.coef for machine in machines])
        used = table.any(axis=0)
        support = np.concatenate([np.flatnonzero(used & (owner == c)) for c in range(count)])
        self._n_support = np.bincount(owner[support], minlength=count).astype(np.int32)
        coef, table = np.zeros((count - 1, support.size)), table[:, support]
        for pair, line, span in self._places():
            coef[line, span] = table[pair, span]
        self._store_support(X, support, coef, machines)
        self._probA, self._probB = self._platt

    def _expansion(self: Any) -> Array:
        coef = self._dual_coef_
        coef = coef.toarray() if self._sparse else coef
        found = np.zeros((coef.shape[1], self._intercept_.size))
        for pair, line, span in self._places():
            found[span, pair] = coef[line, span]
        return found

    def _places(self: Any) -> Iterator[tuple[int, int, slice]]:
        """Where coefficients are: the pair of classes, row of `dual_coef_`, support vectors."""
        ends = np.concatenate([[0], np.cumsum(self._n_support)])
        spans = [slice(*span) for span in pairwise(ends.tolist())]
        for pair, (i, j) in enumerate(combinations(range(len(spans)), 2)):
            yield pair, j - 1, spans[i]
            yield pair, i, spans[j]

    def _validate_targets(self: Any, y: AnyArray) -> Array:
        self._owner = self._numbers_of(y)
        return self._owner.astype(float)

    def _numbers_of(self: Any, y: AnyArray) -> IntArray:
        """The class of every sample, as scikit-learn finds it, which takes longer for integers."""
        if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub":
            classes, numbers = np.unique(y, return_inverse=True)
            if self.class_weight is None and 2 <= classes.size <= _CLASSES * y.size:
                self.classes_, self.class_weight_ = classes, np.ones(classes.size)
                return numbers
        found: Array = super()._validate_targets(y)
        return found.astype(np.intp)

    def _dense_predict(self: Any, X: Any) -> AnyArray:
        return self._votes(self._scores_of_machines(self._compute_kernel(X)))

    def _sparse_predict(self: Any, X: Any) -> AnyArray:
        return self._votes(self._scores_of_machines(X))

    def _votes(self: Any, scores: Array) -> AnyArray:
        """The class with most votes, the first of several."""
        change, votes = _ballots(len(self.classes_))
        return np.argmax(votes + (scores > 0).astype(float) @ change, axis=1)


@cache
def _ballots(count: int) -> tuple[Array, Array]:
    """What the first class of a pair changes if it wins, and the votes if all second ones win."""
    first, second = np.triu_indices(count, 1)
    each = np.eye(count)
    return each[first] - each[second], each[second].sum(axis=0)


def _without_a_class(one: IntArray, other: IntArray) -> float:
    """The score where all samples of a class have weight zero; 0 if there are some of both."""
    if one.size and other.size:
        return 0.0
    return 1.0 if one.size else -1.0


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

    def _task(self, y: Array, weights: Array, lengths: Array) -> tasks.BoxTask:
        return tasks.classes(y, self._bounds(weights))

    def _begin(self, design: KernelDesign, task: tasks.BoxTask, control: Control) -> Array | None:
        return start_on_columns(Hinge(), design, task.box.above, task, control)


class NuSVC(PairsOfClasses, svm.NuSVC):
    r"""A classifier with a given share of support vectors, as `sklearn.svm.NuSVC`.

    .. math:: \min_{f,b,\rho} \tfrac{1}{2} \|f\|_H^2 - \nu \rho \sum_i s_i
        + \sum_i s_i \max(0, \rho - y_i (f(x_i) + b))

    divided by ρ, so that the margin is one. At most a share ν of the samples lies within the
    margin, and at least that share are support vectors. The gap is that of this problem at the best
    multiple of f, b and ρ, all of which are the same model; it is relative to the distance of f = 0
    from the optimum.

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

    def _task(self, y: Array, weights: Array, lengths: Array) -> tasks.BoxTask:
        smaller = min(float(weights[y > 0].sum()), float(weights[y < 0].sum()))
        if 0.5 * self.nu * float(weights.sum()) > smaller * (1 + 1e-12):  # rounding; safeguard
            raise ValueError(self._INFEASIBLE)
        return tasks.nu_classes(y, weights, float(self.nu), lengths)

    def _model(self, a: Array, levels: Array) -> tuple[Array, float]:
        b, margin = levels.mean(), 0.5 * (levels[1] - levels[0])
        size = margin if margin > 0 else 1.0  # all of f is zero: no margin to divide by
        return a / size, float(b / size)
