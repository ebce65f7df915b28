"""Coordinate descent with the soft threshold, in cyclic or in random order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._base.typing import Array, IntArray
from ...canonical import Weighted
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..steps.line_search import Caution, line_search
from ..traits import Trait
from .proximal import COST


class _Coordinates(Solver):
    """Sweeps over all coordinates; subclasses define the order.

    With a = Σ h x² and c = a·wⱼ − slopeⱼ, a coordinate becomes soft(c, l1)/(a + l2): its exact
    minimiser under the squared loss. For one sweep another loss is replaced by a parabola above it
    (or, if its curvature has no bound, by its own parabola and a line search).
    """

    by_name_only = True
    needs = Trait.SMOOTH, Trait.SUM_OVER_FEATURES  # else coordinates get stuck at kinks
    default_max_iter = 100_000  # sweeps; safeguard
    patience = 1000  # sweeps without progress; safeguard

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses with a separable penalty."""
        words = "by name only: separable penalty; one coordinate at a time"
        return Verdict(True, words, COST * objective.design.nnz)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """A sweep, then a judgement, whose gradient serves the next sweep."""
        form = objective.penalty.sum_over_features
        assert form is not None
        random = check_random_state(control.random_state)
        caution = Caution()
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        while np.isfinite(judgement.primal):
            order = self._order(objective.n_features, random)
            point = _swept(objective, form, judgement, order, caution)
            judgement = judge(objective, recentred(objective, point), known=[judgement.dual])
            yield judgement

    def _order(self, n_features: int, random: Any) -> IntArray:
        raise NotImplementedError


class Cyclic(_Coordinates):
    r"""Cyclic coordinate descent: one coordinate after the other, from the first to the last.

    .. math:: w_j \leftarrow \frac{\mathrm{soft}(c_j, \alpha)}{a_j},\qquad
              a_j = \overline{x_j^2},\quad c_j = \overline{x_j\,(y - \hat z_{-j})}

    for the lasso, bars being means over the samples. An iteration is a sweep over all coordinates.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mm.Regressor("squared", "l1", alpha=0.5, solver="cyclic").fit(X, y)
    >>> model.certificate_.relative <= 1e-6
    True
    """

    name = "cyclic"

    def _order(self, n_features: int, random: Any) -> IntArray:
        return np.arange(n_features)


class Random(_Coordinates):
    """Randomised coordinate descent: every sweep takes the coordinates in a new random order.

    The order depends on the estimator's ``random_state`` only.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mm.Regressor("squared", "l1", alpha=0.5, solver="random", random_state=0).fit(X, y)
    >>> model.certificate_.relative <= 1e-6
    True
    """

    name = "random"

    def _order(self, n_features: int, random: Any) -> IntArray:
        return np.asarray(random.permutation(n_features), dtype=np.int64)


def _swept(
    objective: Objective, form: Separable, judgement: Judgement, order: IntArray, caution: Caution
) -> Point:
    """The point after one compiled sweep over the coordinates in the given order."""
    point, terms = judgement.point, judgement.terms
    bounded = np.isfinite(objective.loss.smoothness)
    if bounded:
        curvature = objective.loss.majoriser(point.z, objective.y)
    else:
        curvature = caution.curvature(objective, point, terms).bound
    h, q = objective.mass * curvature, objective.mass * terms.gradient
    model = Weighted(objective.design, order, h, q, objective.intercept)
    swept = point.w[order]
    objective.meter.passes += 1
    shift = model.descend(form.take(order), swept, 1, 0.0).shift
    w = _placed(swept, order)
    dw = w - point.w
    dz = objective.forward(dw) + shift
    if bounded:
        return Point(w, point.b + shift, point.z + dz)
    t, moved = line_search(objective, form, point, dw, dz, shift)
    if not caution.learn(t):
        return point
    # Zeros of a full step are kept exactly: in floating point, w + 1·(new − w) may differ from new.
    return Point(w, moved.b, moved.z) if t == 1.0 else moved


def _placed(values: Array, order: IntArray) -> Array:
    w = np.empty_like(values)
    w[order] = values
    return w
