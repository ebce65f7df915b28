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
from ...design import Design, as_design
from ...losses.curvature import Curvature, Simplex
from ...penalties import Grouped, Separable
from ...problem.objective import Objective
from ..base import Control
from .group_models import SHARE, Step, minimiser

_FEWEST = 500  # coefficients of a working set at least; safeguard
_NEAR = 0.9  # share of the bound, from which a slope may reach it in a round; measured on text
_ROOM = 1.2  # coefficients of a working set per one in the model, at least; safeguard
_MOST = 3000  # coefficients of a working set; safeguard of memory: 70 MB


class Part(ABC):
    """Some coefficients; the others are zero."""

    design: Design  # the columns of their features
    form: Any  # their penalty
    everything: bool  # whether these are all

    @abstractmethod
    def of(self, w: Array) -> Array:
        """The coefficients that a model has in these places."""

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
        """The problem on these features; columns are gathered in the order of the groups."""
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


def best_coefficients(judgement: Judgement, form: Separable) -> IntArray | None:
    """Places in W.ravel(), by score, of the model and the steepest others; None: too many."""
    w, l1 = judgement.point.w.ravel(), form.l1.ravel()
    gauges = np.abs(judgement.slope.ravel())
    gauges /= np.where(l1 > 0, l1, 1.0)
    inside = (w != 0) | (l1 == 0)
    needed = int(np.count_nonzero(inside))
    size = min(max(2 * needed, _FEWEST), _MOST, w.size)
    if _ROOM * needed > size and size < w.size:
        return None
    gauges[inside] = np.inf
    places = np.flatnonzero(gauges >= min(_NEAR, gauges.max(initial=0.0)))
    if places.size > size:
        places = places[np.argpartition(-gauges[places], size - 1)[:size]]
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
    def _matrix(self) -> Any:
        """The columns of the features as a matrix, by rows if it is sparse, else centred."""
        parts = self.design.gathered_blocks()
        if self.design.sparse:
            return sparse.vstack(parts).tocsr()
        return np.concatenate([np.asarray(part, float) for part in parts]) - self._means

    @cached_property
    def _means(self) -> Array:
        """What is subtracted from the columns, so that intercepts hardly interact with them.

        Their part of a Gram would otherwise cancel digits of columns far from zero.
        """
        if self.design.sparse or not self.objective.intercept:
            return np.zeros(self._features[0].size)
        return self.design.rmatvec(self.objective.row_mass)

    @cached_property
    def _columns(self) -> Any:
        """A column for every coefficient."""
        if not self.design.sparse:
            return self._matrix[:, self._features[1]]
        return self._matrix.tocsc()[:, self._features[1]].tocsr()

    def as_rows(self, values: Array) -> Array:
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
        row = np.repeat(np.arange(len(weights)), np.diff(columns.indptr))
        data = columns.data * weights[row, self.score[columns.indices]]
        return sparse.csr_matrix((data, columns.indices, columns.indptr), shape=columns.shape)

    def hessian(self, curvature: Curvature) -> tuple[Array, Array]:
        """The second derivative in the coefficients, and its mixed part with the intercepts.

        Scores of their own add a Gram for each; shares p of a row, −Σ s·(Σ_c p_c a_c)(…)ᵀ, a_c the
        columns of score c.
        """
        diagonal, scale = curvature.bound, None
        if isinstance(curvature, Simplex):
            diagonal = curvature.p
            scale = np.ones(len(diagonal)) if curvature.scale is None else curvature.scale
        h = diagonal if scale is None else scale[:, None] * diagonal
        k = diagonal.shape[1]
        size, design = self.places.size, as_design(self._matrix)
        gram, cross = np.zeros((size, size)), np.zeros((size, k))
        sums = design.rmatvec(h)
        for c in range(k):  # coefficients are in the order of their scores
            own = np.flatnonzero(self.score == c)
            if own.size:
                weights, places = np.ascontiguousarray(h[:, c]), self._features[1][own]
                gram[np.ix_(own, own)] = design.gram(weights, places)
                cross[own, c] = sums[places, c]
        if scale is not None:
            shared = as_design(self._weighted(diagonal))
            gram -= shared.gram(scale)
            cross -= shared.rmatvec(h)
        return gram, cross

    def minimiser(self, step: Step, w: Array, control: Control) -> tuple[Array, Any]:
        """The coefficients that minimise the model with the penalty, and the intercepts' move."""
        gram, cross = self.hessian(step.weighted)
        total, k = step.q.sum(axis=0), self.objective.n_scores
        slope = self.gathered(self.design.rmatvec(step.q) - np.outer(self._means, total))
        inverse = step.over_scores if self.objective.intercept else np.zeros((k, k))
        gram -= cross @ inverse @ cross.T
        slope = slope - cross @ (inverse @ total)
        new, size = w.copy(), w.size
        l1, l2 = self.form.l1[:, None], self.form.l2[:, None]
        runs = Runs(np.arange(size), np.arange(size + 1), np.zeros(size), l1, l2)
        minimise_groups(gram, slope, self.objective.scale, runs, new, SHARE * step.goal)
        shift = -inverse @ (total + cross.T @ (new - w))
        return new, shift - self._means @ self.as_rows(new - w)

    @property
    def everything(self) -> bool:  # type: ignore[override]
        """Whether they are all of W."""
        return self.places.size == self.objective.n_features * self.objective.n_scores

    def of(self, w: Array) -> Array:
        """The coefficients of W in these places."""
        return w.ravel()[self.places]

    def into(self, w: Array, values: Array) -> Array:
        """W with these coefficients."""
        full = w.copy()
        full.ravel()[self.places] = values
        return full

    def scores(self, change: Array) -> Array:
        """The scores that they change."""
        return self.design.matvec(self.as_rows(change))
