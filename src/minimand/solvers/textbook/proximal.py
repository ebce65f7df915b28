"""Gradient descent and fast gradient descent, with a proximal step for the penalty."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...certificate import Judgement, judge
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point, dot
from ..base import Control, Solver, Verdict
from ..steps.linearised import Linearised
from ..steps.step_size import lipschitz
from ..traits import Trait

COST = 1e5  # passes over the data of a badly conditioned problem; estimate
_BOLD = 4.0  # factor of the safe step with which backtracking begins; safeguard
_GROWTH = 1.2  # factor by which an accepted step grows; safeguard
_TRIALS = 100  # halvings of a step; safeguard


class _Gradient(Solver):
    """Base of plain and fast gradient descent: which problems they accept, and their step."""

    by_name_only = True
    shapes = (Trait.COLUMNS,)
    needs = (Trait.SMOOTH,)
    default_max_iter = 100_000  # steps; safeguard
    backtracking: bool
    subsample: int | None

    def check_parameters(self) -> None:
        """Switches are True or False; ``subsample`` is a number of rows."""
        check_switch(self, "backtracking")
        rows = self.subsample
        is_count = isinstance(rows, numbers.Integral) and not isinstance(rows, bool)
        if rows is not None and not (is_count and rows >= 1):
            raise ValueError(
                f"subsample of {type(self).__name__} must be None or a number of rows ≥ 1, "
                f"not {rows!r}."
            )

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses; any penalty, by its proximal step."""
        how = "by backtracking" if self._checks(objective) else "from the top eigenvalue"
        words = f"by name only: any prox; step {how}"
        return Verdict(True, words, COST * objective.design.nnz)

    def _checks(self, objective: Objective) -> bool:
        """Whether a step must be tested before it is taken."""
        bounded = np.isfinite(objective.loss.smoothness)
        return bool(self.backtracking or self.subsample is not None or not bounded)

    def _first_step(self, objective: Objective, judgement: Judgement) -> float:
        """1/L, from the bound of the curvature, or the curvature at the start if there is none."""
        every = 1
        if self.subsample is not None:
            every = max(1, objective.n_samples // int(self.subsample))
        rows = objective if every == 1 else objective.thinned(every)
        bound = objective.loss.smoothness
        curvature = bound if np.isfinite(bound) else judgement.terms.curvature.bound[::every]
        if np.ndim(curvature) > 1:  # the largest of a row's scores bounds all of them
            curvature = np.max(curvature, axis=1)
        largest = lipschitz(rows, rows.mass * curvature)
        if rows is not objective:
            objective.meter.passes += rows.meter.passes / every
        step = 1.0 / largest if 0 < largest < np.inf else 1.0
        return _BOLD * step if self.backtracking else step


@dataclass(frozen=True)
class _Stepper:
    """w ← prox(w − s·∇f(w), s), halving s until the parabola lies above f, if ``checks``.

    f(w⁺) ≤ f(w) + ∇f(w)·(w⁺ − w) + ‖w⁺ − w‖²/(2s) is tested through the Bregman divergence, which
    is the mean Fenchel-Young term of the new scores and the old gradient: no digits cancel.
    """

    objective: Objective
    checks: bool

    def __call__(self, tangent: Linearised, step: float) -> tuple[Point, float]:
        """The new point, and the step size that was taken."""
        for _ in range(_TRIALS):
            new = self._move(tangent, step)
            if not self.checks or self._below(tangent, new, step):
                break
            step *= 0.5
        return new, step

    def _move(self, tangent: Linearised, step: float) -> Point:
        objective, point = self.objective, tangent.point
        w = objective.penalty.prox(point.w - step * tangent.slope, step)
        z = point.z + objective.forward(w - point.w)
        return recentred(objective, Point(w, point.b, z))

    def _below(self, tangent: Linearised, new: Point, step: float) -> bool:
        loss, y = self.objective.loss, self.objective.y
        bregman = self.objective.mean(loss.fenchel_young(new.z, tangent.gradient, y))
        moved = new.w - tangent.point.w
        return bool(bregman <= dot(moved, moved) / (2.0 * step))


class ProximalGradient(_Gradient):
    r"""Gradient descent: w ← prox(w − s·∇f(w), s), f the mean loss with the best intercept.

    .. math:: w_{t+1} = \mathrm{prox}_{s\,\alpha\Omega}\bigl(w_t - s\,\nabla f(w_t)\bigr),
              \qquad s = 1/L

    L = ℓ''max·λmax(Xᵀdiag(mass)X), the columns centred if there is an intercept; with it the
    objective never rises. For `L2` the same iterates come from plain gradient steps of length
    1/(L + α) on the whole objective; with strong convexity μ the distance to the optimum falls by
    1 − (μ + α)/(L + α) a step, otherwise the objective converges like 1/t.

    Parameters
    ----------
    backtracking : bool, default=False
        Try longer steps and halve them while they overshoot. Losses whose curvature has no bound
        (Poisson) always do.
    subsample : int, optional
        Estimate L from about that many rows, evenly spaced; a step that proves too long is halved.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mm.Regressor("squared", "l1", alpha=0.5, solver="proximal_gradient").fit(X, y)
    >>> model.certificate_.relative <= 1e-6
    True
    >>> model.set_params(solver=mm.solvers.ProximalGradient(subsample=100)).fit(X, y).solver_
    'proximal_gradient'
    """

    name = "proximal_gradient"
    patience = 1000  # steps without progress; safeguard

    def __init__(self, backtracking: bool = False, subsample: int | None = None) -> None:
        self.backtracking = backtracking
        self.subsample = subsample

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """A step, then a judgement, whose slope serves the next step."""
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        step = self._first_step(objective, judgement)
        take = _Stepper(objective, self._checks(objective))
        grows = self.backtracking or not np.isfinite(objective.loss.smoothness)
        while np.isfinite(judgement.primal):
            point, step = take(Linearised.of(judgement), step)
            judgement = judge(objective, point, known=[judgement.dual])
            yield judgement
            step = _GROWTH * step if grows else step


class Fista(_Gradient):
    r"""Fast gradient descent: a gradient step from a point extrapolated with momentum t/(t + 3).

    .. math:: w_{t+1} = \mathrm{prox}_{s\,\alpha\Omega}\bigl(\theta_t - s\,\nabla f(\theta_t)\bigr),
              \qquad \theta_{t+1} = w_{t+1} + \tfrac{t}{t+3}\,(w_{t+1} - w_t)

    The objective converges like 1/t², not monotonically. An iteration is three passes over
    the data: two of the method and one of the referee.

    Parameters
    ----------
    restart : bool, default=False
        Drop the momentum when it points uphill, (θ_t − w_{t+1})·(w_{t+1} − w_t) > 0: this avoids
        oscillation, and converges linearly if the problem is strongly convex.
    backtracking : bool, default=False
        Begin with a longer step and halve it when it overshoots. Losses whose curvature has no
        bound (Poisson) always do.
    subsample : int, optional
        Estimate L from about that many rows, evenly spaced; a step that proves too long is halved.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mm.Regressor("squared", "l2", alpha=1e-3, solver="fista").fit(X, y)
    >>> again = mm.Regressor("squared", "l2", alpha=1e-3, solver=mm.solvers.Fista(restart=True))
    >>> bool(again.fit(X, y).n_iter_ < model.n_iter_)
    True
    """

    name = "fista"
    patience = 5000  # steps without progress; safeguard: oscillations may be long

    def __init__(
        self, restart: bool = False, backtracking: bool = False, subsample: int | None = None
    ) -> None:
        self.restart = restart
        self.backtracking = backtracking
        self.subsample = subsample

    def check_parameters(self) -> None:
        """Also checks ``restart``."""
        super().check_parameters()
        check_switch(self, "restart")

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """A step from θ, a judgement of w, then the next θ."""
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        step = self._first_step(objective, judgement)
        take = _Stepper(objective, self._checks(objective))
        last, ahead, t = judgement.point, Linearised.of(judgement), 0
        while np.isfinite(judgement.primal):
            point, step = take(ahead, step)
            judgement = judge(objective, point, known=[judgement.dual])
            yield judgement
            uphill = dot(ahead.point.w - point.w, point.w - last.w) > 0
            t = 0 if self.restart and uphill else t
            ahead = Linearised.of(judgement)
            if t > 0:
                ahead = Linearised.ahead(objective, last, point, t / (t + 3)) or ahead
            last, t = point, t + 1


def check_switch(solver: Solver, name: str) -> None:
    """Refuse an option that is not True or False."""
    value = getattr(solver, name)
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} of {type(solver).__name__} must be True or False, not {value!r}.")
