"""Parts of the coefficients on which Newton steps are taken: features, or single coefficients.

With an l1 part and no norms, few of the d·k coefficients are in the model, and often one score of a
feature is. Their Hessian is small even where that of their features with all scores is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import Array, IntArray
from ...canonical import Runs, minimise_groups
from ...certificate import Judgement
from ...design import Design
from ...losses.curvature import Curvature, Simplex
from ...penalties import Grouped, Separable
from ...problem.objective import Objective
from ..base import Control
from .group_models import SHARE, Step, minimiser, square_of

_FEWEST = 500  # coefficients of a working set at least; safeguard
_MOST = 3000  # coefficients of a working set; safeguard of memory: 70 MB


class Part(ABC):
    """Some coefficients; the others are zero."""

    design: Design  # the columns of their features
    form: Any  # their penalty
    everything: bool  # whether these are all

    @abstractmethod
    def of(self, w: Array) -> Array:
        """These coefficients of a model."""

    @abstractmethod
    def into(self, w: Array, values: Array) -> Array:
        """A model with other values of these coefficients."""

    @abstractmethod
    def scores(self, change: Array) -> Array:
        """How the scores change with them, without intercepts."""

    @abstractmethod
    def minimiser(self, step: Step, w: Array, control: Control) -> tuple[Array, Any]:
        """The minimiser of a quadratic model with the penalty, and the intercept's move."""


@dataclass(frozen=True, eq=False)
class Features(Part):
    """Some features with all their scores, in whole groups; all features if groups divide them."""

    form: Grouped
    runs: Runs
    features: IntArray
    design: Design
    everything: bool
    divided: bool  # whether groups divide the coefficients of a feature

    @classmethod
    def chosen(cls, objective: Objective, form: Grouped, features: IntArray) -> Features:
        """These features; their columns are gathered in the order of the groups."""
        everything = np.arange(objective.n_features)
        if form.by_rows is None:
            runs, order = Runs.of_numbers(form), everything
        else:
            runs = Runs.of(form, features)
            order = runs.order
        same = np.array_equal(order, everything)
        design = objective.design if same else objective.design.columns(order)
        whole = order.size == objective.n_features
        own = form if same else form.take(order)
        return cls(own, runs, order, design, whole, form.by_rows is None)

    def of(self, w: Array) -> Array:
        """Their rows of W."""
        return w[self.features]

    def into(self, w: Array, values: Array) -> Array:
        """W with these rows."""
        full = w.copy()
        full[self.features] = values
        return full

    def scores(self, change: Array) -> Array:
        """X_c times the change."""
        return self.design.matvec(change)

    def minimiser(self, step: Step, w: Array, control: Control) -> tuple[Array, Any]:
        """On a Gram or on the columns."""
        return minimiser(step, self.runs, w, flat=self.divided, control=control)


def best_coefficients(judgement: Judgement, form: Separable, factor: int) -> IntArray | None:
    """Places in W.ravel(), by score, of the model and the steepest others; None: too many."""
    w, l1 = judgement.point.w.ravel(), form.l1.ravel()
    gauges = np.abs(judgement.slope.ravel()) / np.where(l1 > 0, l1, 1.0)
    inside = (w != 0) | (l1 == 0)
    count = int(np.count_nonzero(inside))
    size = min(max(factor * count, _FEWEST), w.size)
    if size > _MOST:
        return None
    gauges[inside] = np.inf
    places = np.argpartition(-gauges, size - 1)[:size]
    scores = judgement.point.w.shape[1]
    return places[np.lexsort((places // scores, places % scores))]


@dataclass(frozen=True, eq=False)
class Coefficients(Part):
    """Some coefficients of W, the columns of their features, and their penalty."""

    objective: Objective
    places: IntArray
    form: Separable  # of these coefficients

    @classmethod
    def chosen(cls, objective: Objective, form: Separable, places: IntArray) -> Coefficients:
        """The penalty of these coefficients of a matrix."""
        own = Separable(form.l1.ravel()[places], form.l2.ravel()[places])
        return cls(objective, places, own)

    @cached_property
    def _features(self) -> tuple[IntArray, IntArray]:
        found = np.unique(self.places // self.objective.n_scores, return_inverse=True)
        return found[0], found[1].reshape(-1)

    @cached_property
    def score(self) -> IntArray:
        """The score of each coefficient."""
        return self.places % self.objective.n_scores

    @cached_property
    def design(self) -> Design:  # type: ignore[override]
        """The columns of the features."""
        return self.objective.design.columns(self._features[0])

    @cached_property
    def _columns(self) -> Any:
        """A column for every coefficient."""
        parts = [part.matrix for part in self.design.blocks()]
        if self.design.sparse:
            return sparse.vstack(parts).tocsc()[:, self._features[1]]
        return np.concatenate([np.asarray(part, float) for part in parts])[:, self._features[1]]

    def spread(self, values: Array) -> Array:
        """The coefficients as rows of the features, a number for every score."""
        full = np.zeros((self._features[0].size, self.objective.n_scores))
        full[self._features[1], self.score] = values
        return full

    def gathered(self, rows: Array) -> Array:
        """The opposite: the numbers of the coefficients."""
        return rows[self._features[1], self.score]

    def _weighted(self, weights: Array) -> Any:
        """The column of every coefficient times the weights of its score."""
        columns = self._columns
        if not sparse.issparse(columns):
            return columns * weights[:, self.score]
        score = np.repeat(self.score, np.diff(columns.indptr))
        data = columns.data * weights[columns.indices, score]
        return sparse.csc_array((data, columns.indices, columns.indptr), shape=columns.shape)

    def hessian(self, curvature: Curvature) -> tuple[Array, Array]:
        """The second derivative in the coefficients, and its mixed part with the intercepts."""
        joint = isinstance(curvature, Simplex)
        diagonal = curvature.p if isinstance(curvature, Simplex) else curvature.bound
        scale = np.ones(len(diagonal))
        if isinstance(curvature, Simplex) and curvature.scale is not None:
            scale = curvature.scale
        own = self._weighted(np.sqrt(scale[:, None] * diagonal))
        same = self.score[:, None] == self.score
        gram = np.where(same, _dense(own.T @ own), 0.0)
        sums = self._weighted(scale[:, None] * diagonal)
        total = np.asarray(sums.sum(axis=0)).ravel()
        cross = np.where(self.score[:, None] == np.arange(diagonal.shape[1]), total[:, None], 0.0)
        if joint:
            shared = self._weighted(np.sqrt(scale)[:, None] * diagonal)
            gram -= _dense(shared.T @ shared)
            cross -= np.asarray(shared.T @ (np.sqrt(scale)[:, None] * diagonal))
        return gram, cross

    def minimiser(self, step: Step, w: Array, control: Control) -> tuple[Array, Any]:
        """The coefficients that minimise the model with the penalty, and the intercepts' move."""
        gram, cross = self.hessian(step.weighted)
        slope = self.gathered(self.design.rmatvec(step.q))
        total, k = step.q.sum(axis=0), self.objective.n_scores
        inverse = step.over_scores if self.objective.intercept else np.zeros((k, k))
        gram -= cross @ inverse @ cross.T
        slope = slope - cross @ (inverse @ total)
        new, linear, size = w.copy(), slope - gram @ w, w.size
        l1, l2 = self.form.l1[:, None], self.form.l2[:, None]
        runs = Runs(np.arange(size), np.arange(size + 1), np.zeros(size), l1, l2)
        square = square_of(step, w, slope + linear)
        minimise_groups(gram, linear, square, runs, new, SHARE * step.goal)
        return new, -inverse @ (total + cross.T @ (new - w))

    everything = False

    def of(self, w: Array) -> Array:
        """Those of W."""
        return w.ravel()[self.places]

    def into(self, w: Array, values: Array) -> Array:
        """W with these coefficients."""
        full = w.copy()
        full.ravel()[self.places] = values
        return full

    def scores(self, change: Array) -> Array:
        """The scores that they change."""
        return self.design.matvec(self.spread(change))


def _dense(product: Any) -> Array:
    return np.asarray(product.toarray() if sparse.issparse(product) else product, float)
