"""What drop-ins that learn row by row share: scikit-learn's parameters → `Learner` → attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from ..._base.typing import AnyArray, Array
from ..._base.watch import stoppable
from ...estimators.inputs.data import few_labels, in_order
from ...estimators.inputs.matrix import learn_width
from ...solvers.stochastic.learner import Learner
from ..parameters import ReadsParameters
from ..predictions import PredictsLabels, PredictsNumbers
from .passes import Epochs, Learnt, OnlineRule

MOST = np.iinfo(np.int32).max


def seeds_of(model: Any, n_scores: int) -> list[int]:
    """Seeds of the shuffles of rows, one per score, drawn as in scikit-learn."""
    random = check_random_state(model.random_state)
    if not hasattr(model, "classes_"):
        return [int(random.randint(MOST))]
    if n_scores == 1:
        return [_second(random)]
    return [_second(check_random_state(s)) for s in random.randint(MOST, size=n_scores)]


def _second(random: Any) -> int:
    """The second of two random numbers; scikit-learn's classifiers use the first otherwise."""
    random.randint(1, MOST)
    return int(random.randint(MOST))


class Online(ReadsParameters):
    """Mixin in front of a scikit-learn class that runs its updates in our compiled passes.

    scikit-learn checks parameters and data, splits rows for early stopping and sets the step count
    ``t_``. Rows are shuffled in the same order, so that a ``random_state`` gives the same model.
    """

    _learners: list[Learner]
    _learnt_by: OnlineRule

    def _rule(self, X: Any) -> OnlineRule:
        raise NotImplementedError

    def _learners_on(self: Any, X: Any, n_scores: int) -> list[Learner]:
        """One learner per score; at the beginning of a fit, new ones from its start coefficients.

        After steps of another kind, the learners continue from their coefficients.
        """
        if self.t_ == 1.0 or not hasattr(self, "_learners"):
            self._learnt_by = self._rule(X)
            rule, sparse = self._learnt_by.steps.rule, issparse(X)
            w = np.reshape(self.coef_, (n_scores, -1))
            b = np.reshape(self.intercept_, n_scores)
            self._learners = [
                Learner.start(w[i], float(b[i]), rule, sparse=sparse) for i in range(n_scores)
            ]
        return self._learners

    def _begins(self: Any, X: Any, y: AnyArray, *given: Any) -> bool:
        """Whether a new fit begins from zero, with none of these, on rows in order."""
        return (
            getattr(self, "coef_", None) is None
            and all(argument is None for argument in given)
            and in_order(X, y)
            and (X.format == "csr" if issparse(X) else X.flags.c_contiguous)
        )

    def _keep(self: Any, scores: list[Learnt], X: Any) -> tuple[AnyArray, AnyArray]:
        """The clock, and coefficients (n_scores, d) and intercepts in the precision of X."""
        self.n_iter_ = max(learnt.epochs for learnt in scores)
        self.t_ += self.n_iter_ * X.shape[0]
        coef = np.stack([learnt.w for learnt in scores]).astype(X.dtype)
        return coef, np.array([learnt.b for learnt in scores], dtype=X.dtype)


class OnlineRegressor(Online, PredictsNumbers):
    """One score, a number."""

    def _partial_fit(self: Any, X: Any, y: AnyArray, *how: Any, **named: Any) -> Any:
        """scikit-learn's own; at the begin of a fit whose data are in order, without its checks.

        The arguments before the last four differ between versions of scikit-learn.
        """
        if named or self.average or not self._begins(X, y, *how[-3:]):
            return super()._partial_fit(X, y, *how, **named)  # type: ignore[misc]
        learn_width(self, X)
        self._allocate_parameter_mem(1, X.shape[1], X.dtype)
        ones = np.ones(X.shape[0], dtype=X.dtype)
        self._fit_regressor(X, y.astype(X.dtype, copy=False), *how[:-4], ones, how[-4])
        return self

    def _fit_regressor(self: Any, X: Any, y: AnyArray, *how: Any) -> None:
        # The arguments in between differ between versions of scikit-learn.
        sample_weight, max_iter = how[-2:]
        if not hasattr(self, "t_"):
            self.t_ = 1.0
        weight = np.asarray(sample_weight, dtype=np.float64)
        held_out = self._make_validation_split(y, sample_mask=weight > 0)
        score = self._make_validation_score_cb(held_out, X, y, weight)
        (learner,) = self._learners_on(X, 1)
        targets = np.ascontiguousarray(y, dtype=np.float64)
        epochs = Epochs(self, X, held_out, max_iter)
        with stoppable(self):
            seed = seeds_of(self, 1)[0]
            learnt = epochs.run(learner, self._learnt_by, targets, weight, seed, score)
            coef, self.intercept_ = self._keep([learnt], X)
            self.coef_ = coef[0]


class OnlineClassifier(Online, PredictsLabels):
    """Two classes are one score, more are one-versus-rest."""

    def _partial_fit(self: Any, X: Any, y: AnyArray, *how: Any, **named: Any) -> Any:
        """scikit-learn's own; at the begin of a fit whose data are in order, without its checks.

        The arguments before the last seven differ between versions of scikit-learn.
        """
        if named or not self._begins_in_order(X, y, *how[-4:]):
            return super()._partial_fit(X, y, *how, **named)  # type: ignore[misc]
        loss, _, max_iter, classes = how[-7:-3]
        learn_width(self, X)
        self.classes_, self._expanded_class_weight = classes, np.ones(classes.size)
        self._allocate_parameter_mem(classes.size, X.shape[1], X.dtype)
        self._loss_function_ = self._get_loss_function(loss)
        train = self._fit_binary if classes.size == 2 else self._fit_multiclass
        train(X, y, sample_weight=np.ones(X.shape[0], dtype=X.dtype), max_iter=max_iter)
        return self

    def _begins_in_order(
        self: Any, X: Any, y: AnyArray, classes: Any, sample_weight: Any, *starts: Any
    ) -> bool:
        """Whether a new fit begins from zero, on rows of equal weight that need no conversion."""
        given = (self.class_weight, sample_weight, *starts)
        return (
            not hasattr(self, "classes_")
            and self._begins(X, y, *given)
            and few_labels(y) is not None
            and classes.size > 1
        )

    def _fit_binary(self: Any, X: Any, y: AnyArray, **how: Any) -> None:
        self._learners_on(X, 1)
        self._seeds = seeds_of(self, 1)
        low, high = self._expanded_class_weight
        with stoppable(self):
            learnt = self._fit_score(0, X, y == self.classes_[1], (high, low), None, how)
            self.coef_, self.intercept_ = self._keep([learnt], X)

    def _fit_multiclass(self: Any, X: Any, y: AnyArray, **how: Any) -> None:
        k = self.classes_.size
        self._learners_on(X, k)
        self._seeds = seeds_of(self, k)
        held_out = self._make_validation_split(y, sample_mask=how["sample_weight"] > 0)
        scores = []
        with stoppable(self):
            for i, label in enumerate(self.classes_):
                weights = (self._expanded_class_weight[i], 1.0)
                scores.append(self._fit_score(i, X, y == label, weights, held_out, how))
            self.coef_, self.intercept_ = self._keep(scores, X)

    def _fit_score(
        self: Any,
        i: int,
        X: Any,
        positive: AnyArray,
        class_weights: tuple[float, float],
        held_out: AnyArray | None,
        how: dict[str, Any],
    ) -> Learnt:
        """Passes of one learner."""
        y = np.where(positive, 1.0, -1.0)
        sample_weight = np.asarray(how["sample_weight"], dtype=np.float64)
        if held_out is None:
            held_out = self._make_validation_split(y, sample_mask=sample_weight > 0)
        classes = np.array([-1.0, 1.0])
        score = self._make_validation_score_cb(held_out, X, y, sample_weight, classes=classes)
        weight: Array = np.where(positive, *class_weights) * sample_weight
        epochs = Epochs(self, X, held_out, how["max_iter"])
        learner, seed = self._learners[i], self._seeds[i]
        return epochs.run(learner, self._learnt_by, y, weight, seed, score)
