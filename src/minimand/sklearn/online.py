"""What drop-ins that learn row by row share: scikit-learn's parameters → `Learner` → attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.typing import AnyArray, Array
from ..canonical.row_steps import OnlineRule
from ..estimators.stopping import stoppable
from ..solvers.stochastic.online import Learner
from .epochs import Epochs

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


class Online:
    """Mixin in front of a scikit-learn class that runs its updates in our compiled passes.

    scikit-learn checks parameters and data, splits rows for early stopping and sets the step count
    ``t_``. Rows are shuffled in the same order, so that a ``random_state`` gives the same model.
    """

    _learners: list[Learner]

    def _rule(self, X: Any) -> OnlineRule:
        raise NotImplementedError

    def _learners_on(self: Any, X: Any, n_scores: int) -> list[Learner]:
        """One learner per score; at the beginning of a fit, new ones from its start coefficients.

        After steps of another kind, the learners continue from their coefficients.
        """
        if self.t_ == 1.0 or not hasattr(self, "_learners"):
            rule = self._rule(X)
            w = np.reshape(self.coef_, (n_scores, -1))
            b = np.reshape(self.intercept_, n_scores)
            self._learners = [Learner(rule, w[i], float(b[i])) for i in range(n_scores)]
        return self._learners

    def _keep(self: Any, n_iter: int, X: Any) -> tuple[AnyArray, AnyArray]:
        """Set ``t_`` and ``n_iter_``; returns coefficients (n_scores, d) and intercepts."""
        self.n_iter_ = n_iter
        self.t_ += n_iter * X.shape[0]
        models = [learner.averaged for learner in self._learners]
        coef = np.stack([w for w, _ in models]).astype(X.dtype)
        return coef, np.array([b for _, b in models], dtype=X.dtype)


class OnlineRegressor(Online):
    """One score, a number."""

    def _fit_regressor(self: Any, X: Any, y: AnyArray, *how: Any) -> None:
        # The arguments in between differ between versions of scikit-learn.
        sample_weight, max_iter = how[-2:]
        if not hasattr(self, "t_"):
            self.t_ = 1.0
        weight = np.asarray(sample_weight, dtype=np.float64)
        held_out = self._make_validation_split(y, sample_mask=weight > 0)
        score = self._make_validation_score_cb(held_out, X, y, weight)
        (learner,) = self._learners_on(X, 1)
        targets = np.asarray(y, dtype=np.float64)
        epochs = Epochs(self, X, held_out, max_iter)
        with stoppable(self):
            n_iter = epochs.run(learner, targets, weight, seeds_of(self, 1)[0], score)
            coef, self.intercept_ = self._keep(n_iter, X)
            self.coef_ = coef[0]


class OnlineClassifier(Online):
    """Two classes are one score, more are one-versus-rest."""

    def _fit_binary(self: Any, X: Any, y: AnyArray, **how: Any) -> None:
        self._learners_on(X, 1)
        self._seeds = seeds_of(self, 1)
        low, high = self._expanded_class_weight
        with stoppable(self):
            n_iter = self._fit_score(0, X, y == self.classes_[1], (high, low), None, how)
            self.coef_, self.intercept_ = self._keep(n_iter, X)

    def _fit_multiclass(self: Any, X: Any, y: AnyArray, **how: Any) -> None:
        k = self.classes_.size
        self._learners_on(X, k)
        self._seeds = seeds_of(self, k)
        held_out = self._make_validation_split(y, sample_mask=how["sample_weight"] > 0)
        n_iter = 0
        with stoppable(self):
            for i, label in enumerate(self.classes_):
                weights = (self._expanded_class_weight[i], 1.0)
                took = self._fit_score(i, X, y == label, weights, held_out, how)
                n_iter = max(n_iter, took)
            self.coef_, self.intercept_ = self._keep(n_iter, X)

    def _fit_score(
        self: Any,
        i: int,
        X: Any,
        positive: AnyArray,
        class_weights: tuple[float, float],
        held_out: AnyArray | None,
        how: dict[str, Any],
    ) -> int:
        """Run the passes of one learner; returns their number."""
        y = np.where(positive, 1.0, -1.0)
        sample_weight = np.asarray(how["sample_weight"], dtype=np.float64)
        if held_out is None:
            held_out = self._make_validation_split(y, sample_mask=sample_weight > 0)
        classes = np.array([-1.0, 1.0])
        score = self._make_validation_score_cb(held_out, X, y, sample_weight, classes=classes)
        weight: Array = np.where(positive, *class_weights) * sample_weight
        epochs = Epochs(self, X, held_out, how["max_iter"])
        return epochs.run(self._learners[i], y, weight, self._seeds[i], score)
