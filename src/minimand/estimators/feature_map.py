"""``features=``: the map that an estimator applies to X, fitted or learnt along with the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from .._base.typing import Array
from .._base.watch import watching
from ..certificate import Certificate
from ..design import Design
from ..features import Features
from ..features.low_rank import MEMORY, PivotedCholesky, as_map
from ..problem.objective import Objective
from .inputs.columns import columns_from
from .inputs.matrix import check_finite

if TYPE_CHECKING:
    from .problem import Posed


class MapsFeatures:
    """The part of an estimator that applies φ; ``features_`` exists if the fit had features."""

    features: Any
    solver: Any
    alpha_: float
    features_: Any
    _features_memory: float = MEMORY  # bytes that φ(X) may take as a matrix, as the fit had them

    def _fit_features(self, X: Any, y: Any, weights: Array | None = None) -> Any:
        """X through ``features``, a scikit-learn transformer, fitted on a clone.

        Half of the time limit is for the factor of a kernel matrix, so that the rest is left for
        the solver.
        """
        if self.features is None:
            return X
        self.features_ = clone(as_map(self.features, X, getattr(self, "memory", None)))
        given = getattr(self, "memory", None)
        self._features_memory = MEMORY if given is None else float(given)
        with watching(self._first_half().late) as watch:
            if isinstance(self.features_, Features):
                found = self.features_.fitted_rows(X, y, weights, self._features_memory)
            else:
                found = self.features_.fit_transform(X, y)
        if watch.interrupted:
            raise KeyboardInterrupt  # there is no model yet
        return _mapped(found, len(y))

    def _map_features(self, X: Any) -> Any:
        """X through the features of the fit."""
        if "features_" not in self.__dict__:
            return X
        known = np.shape(self.coef_)[-1] if hasattr(self, "coef_") else None
        if isinstance(self.features_, Features):
            found = self.features_.mapped_rows(X, self._features_memory)
        else:
            found = self.features_.transform(X)
        return _mapped(found, _num_samples(X), known)

    @property
    def _features_are_learnt(self) -> bool:
        return getattr(self.__dict__.get("features_"), "learnt", False) is True

    def _on_learnt_features(self, posed: Posed) -> Posed:
        """The problem on φ(X) after the estimator has learnt the parameters of φ.

        The objectives have the rows of X whose weight is not zero.
        """
        if not self._features_are_learnt:
            return posed._replace(objectives=self._described(posed.objectives))
        from ..solvers.nested.variable_projection import learn  # loads much of scikit-learn

        X, weights = self.features_.checked(posed.X), posed.coded.weights
        kept = X if weights is None or weights.all() else X[np.flatnonzero(weights)]
        control = self._first_half()
        learnt = learn(self.features_, kept, posed.objectives, control, self.solver)
        self.features_.alpha_ = self.alpha_
        return posed._replace(objectives=self._described(learnt))

    def _first_half(self: Any) -> Any:
        """Limits of the search for features: half of the time limit, and no callbacks."""
        return replace(self._control([]).share(2), callbacks=())

    def _described(self, objectives: Sequence[Objective]) -> Sequence[Objective]:
        """Objectives that say that their features were learnt, and at which alpha.

        Or that a kernel was restricted to functions of some rows, as memory had no room for all.
        """
        mapped = self.__dict__.get("features_")
        if isinstance(mapped, PivotedCholesky) and not mapped.complete:
            note = f" of {mapped.rank_} rows"
            return [replace(o, words=o.words + note) for o in objectives]
        if not self._features_are_learnt:
            return objectives
        units = f"[X, {self.features_.activation}(X A + c)]"
        note = ", A and c to be learnt"
        if hasattr(self.features_, "alpha_"):
            to = f"alpha={self.features_.alpha_:g} to slopes of {self.features_.stationarity_:.1e}"
            note = f", given A and c learnt at {to}"
        return [replace(o, words=o.words.replace("X w", f"{units} w") + note) for o in objectives]

    def _qualified(self, certificate: Certificate) -> Certificate:
        """A fit whose features were learnt is stationary as a whole.

        The gap is that of the output weights given the features, which were learnt at the
        estimator's own alpha, also for the other alphas of a path.
        """
        if not self._features_are_learnt or self.alpha_ != self.features_.alpha_:
            return certificate
        return replace(certificate, kind="stationary")


def _mapped(X: Any, n_samples: int, n_columns: int | None = None) -> Any:
    """What ``features`` gives, as a finite float matrix, or as a design that computes it."""
    if isinstance(X, Design):
        return X
    X = columns_from(X, n_samples, n_columns)
    check_finite(X, "the output of features=")
    return X
