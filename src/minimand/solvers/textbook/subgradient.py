"""Subgradient descent, the simplest and slowest method for penalties with kinks."""

from __future__ import annotations

import numbers
from collections.abc import Iterator

import numpy as np

from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Verdict
from ..steps.step_size import lipschitz
from ..traits import Trait
from .proximal import COST


class Subgradient(Solver):
    r"""Subgradient descent for L1 penalties: w ← w − (η₀/√(t+1))·g, g the shortest subgradient.

    .. math:: g_j = \partial_j f + \alpha\,\mathrm{sign}(w_j) \text{ if } w_j \ne 0,\qquad
              g_j = \mathrm{soft}(\partial_j f, \alpha) \text{ if } w_j = 0

    A coefficient at zero stays there iff \|∂ⱼf\| ≤ α, but other coefficients rarely become zero.
    The objective converges like 1/√t and is not monotone: expect two or three digits, and set
    ``max_iter``. Proximal steps (`ProximalGradient`) need far fewer passes.

    Parameters
    ----------
    step : float, optional
        η₀; by default 1/L, see `ProximalGradient`. It must be given for a loss whose curvature has
        no bound (Poisson), where too long a step ends the fit.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mm.Regressor("squared", "l1", alpha=0.5, solver="subgradient", tol=0.01)
    >>> model.fit(X, y).certificate_.relative <= 0.01
    True
    """

    name = "subgradient"
    by_name_only = True
    needs = (Trait.SUM_OVER_FEATURES,)
    default_max_iter = 100_000  # steps; safeguard
    patience = 5000  # steps without progress; safeguard

    def __init__(self, step: float | None = None) -> None:
        self.step = step

    def check_parameters(self) -> None:
        """A step is a positive number."""
        step = self.step
        is_number = isinstance(step, numbers.Real) and not isinstance(step, bool)
        if step is not None and not (is_number and 0 < step < np.inf):
            raise ValueError(
                f"step of Subgradient must be None or a positive number, not {step!r}."
            )

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Convex losses that are sums over samples, with a penalty that is a sum over features."""
        loss = objective.loss
        if self.step is None and loss.smooth and not np.isfinite(loss.smoothness):
            words = f"{loss!r} has no bound on its curvature: pass Subgradient(step=…)"
            return Verdict(False, words)
        words = "by name only: separable penalty; two or three digits at best"
        # 10: factor to proximal gradients; estimate.
        return Verdict(True, words, 10 * COST * objective.design.nnz)

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """A step, then a judgement, whose slope serves the next step."""
        form = objective.penalty.sum_over_features
        assert form is not None
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        first = self._first_step(objective, form)
        t = 0
        while np.isfinite(judgement.primal):
            point = judgement.point
            step = first / np.sqrt(t + 1.0)
            dw = -step * shortest_subgradient(form, point.w, judgement.slope)
            moved = Point(point.w + dw, point.b, point.z + objective.forward(dw))
            judgement = judge(objective, recentred(objective, moved), known=[judgement.dual])
            yield judgement
            t += 1

    def _first_step(self, objective: Objective, form: Separable) -> float:
        if self.step is not None:
            return float(self.step)
        # A kink has no curvature: one unit of slope per unit of score is used instead.
        bend = objective.loss.smoothness if objective.loss.smooth else 1.0
        largest = lipschitz(objective, bend * objective.mass)
        largest += float(np.max(form.l2, initial=0.0))
        return 1.0 / largest if largest > 0 else 1.0


def shortest_subgradient(form: Separable, w: Array, slope: Array) -> Array:
    """The element of ∇f + ∂Ω(w) nearest to zero; zero iff w is optimal."""
    at_zero = np.sign(slope) * np.maximum(np.abs(slope) - form.l1, 0.0)
    return np.where(w == 0, at_zero, slope + form.l1 * np.sign(w) + form.l2 * w)
