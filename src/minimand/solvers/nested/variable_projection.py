"""A hidden layer and its output weights, learnt together by variable projection.

    φ(A, c) = min over w, b of P(w, b; A, c)  +  ½·decay·scale·‖A‖²

For given A and c the inner problem is convex and solved to a certified gap. The gradient of its
value is that of the loss at the inner optimum (envelope theorem): with multipliers θ and weights v
of the units, ∂φ/∂H = (mass∘θ)vᵀ. So L-BFGS minimises φ over A and c alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..._base.typing import Array
from ..._base.watch import StoppedError, look, watching
from ...design import as_design
from ...features.activations import ACTIVATIONS
from ...features.hidden_layer import HiddenLayer
from ...problem.objective import Meter, Objective
from .. import solve
from ..base import Control, Solution

_INNER = 1e-9  # share of the scale: gap of the inner problem, noise to L-BFGS; safeguard
_INNER_WITH_KINKS = 1e-8  # the same where the loss has kinks; safeguard


@dataclass(frozen=True)
class _End:
    """The last or the best point of a search."""

    x: Array
    value: float  # in units of scale
    slope: float
    done: bool
    iterations: int = 1


def learn(
    layer: HiddenLayer, X: Any, objectives: Sequence[Objective], control: Control, solver: Any
) -> Sequence[Objective]:
    """Learn the hidden units of a fitted layer, in place; returns the objectives on its outputs.

    Parameters
    ----------
    X : the rows that the objectives have, as they enter the layer.
    objectives : one per score; all share the units.
    control : how long it may take; the outer problem's own tolerance.
    """
    _refuse(objectives[0])
    search = _Search(layer, X, objectives, control, solver)
    if search.scale > 0:
        _settle(search)
    else:
        search.place(np.zeros_like(search.pack()))  # the null model is perfect
        layer.stationarity_, layer.value_ = 0.0, sum(o.null_primal for o in objectives)
    return search.problems(search.units()[1])


def _refuse(objective: Objective) -> None:
    if not objective.convex:
        raise ValueError(
            "features=HiddenLayer(…) needs a convex problem for the output weights, but the loss "
            "or the penalty is not convex: use a convex one, or other features."
        )
    if objective.n_scores > 1 or objective.slot is not None:
        raise ValueError(
            "features=HiddenLayer(…) needs a problem of all samples for every score by itself, but "
            "the loss or the penalty does not give one: use one versus rest and L1() or L2()."
        )


class _Search:
    """φ and its gradient at any A and c, and the best of the points tried."""

    def __init__(
        self,
        layer: HiddenLayer,
        X: Any,
        objectives: Sequence[Objective],
        control: Control,
        solver: Any,
    ) -> None:
        self.layer, self.X, self.objectives, self.solver = layer, X, objectives, solver
        self.control = control
        self.tol = min(control.tol, _INNER if objectives[0].loss.smooth else _INNER_WITH_KINKS)
        mass = objectives[0].mass
        layer.standardise(X, mass / mass.sum())
        self.scale = sum(objective.scale for objective in objectives)
        self.best: _End | None = None
        self._starts: list[tuple[Array, float]] | None = None

    # A and c as one vector -------------------------------------------------------------------

    def pack(self) -> Array:
        return np.append(self.layer.weights_.ravel(), self.layer.biases_)

    def place(self, x: Array) -> None:
        shape = self.layer.weights_.shape
        split = shape[0] * shape[1]
        self.layer.weights_, self.layer.biases_ = x[:split].reshape(shape), x[split:].copy()

    # The inner problem -----------------------------------------------------------------------

    def units(self) -> tuple[Array, Array]:
        """The inputs and the outputs of the hidden units."""
        inputs = self.layer.inputs(self.X)
        return inputs, ACTIVATIONS[self.layer.activation].value(inputs)

    def problems(self, units: Array) -> Sequence[Objective]:
        """The convex problems of the output weights, one per score."""
        design = as_design(self.layer.beside(self.X, units))
        first = replace(self.objectives[0], design=design, meter=Meter())
        return [first, *(first.with_target(o.y) for o in self.objectives[1:])]

    def solved(self, problems: Sequence[Objective]) -> list[Solution]:
        """Their solutions, each started from the last one's weights."""
        starts: Sequence[tuple[Array, float] | None] = self._starts or [None] * len(problems)
        found = []
        for problem, start in zip(problems, starts):
            limits = Control(
                self.tol,
                max_iter=self.control.max_iter,
                max_seconds=self.control.remaining,
                memory=self.control.memory,
                random_state=self.control.random_state,
            )
            begin = None if start is None else problem.point(*start)
            found.append(solve(problem, self.solver, limits, begin))
            look()
        self._starts = [(s.w, s.b) for s in found]
        return found

    # The outer problem -----------------------------------------------------------------------

    def value_and_slope(self, x: Array) -> tuple[float, Array]:
        """φ/scale and its gradient."""
        self.place(x)
        layer, decay = self.layer, float(self.layer.decay)
        inputs, units = self.units()
        problems = self.problems(units)
        solutions = self.solved(problems)
        value = sum(s.certificate.primal for s in solutions) / self.scale
        value += 0.5 * decay * float((layer.weights_**2).sum())
        pull = np.zeros_like(units)
        for problem, solution in zip(problems, solutions):
            weights = solution.w[self.X.shape[1] :]
            pull += np.outer(problem.mass * _multipliers(problem, solution), weights)
        pull *= ACTIVATIONS[layer.activation].slope(inputs, units) / self.scale
        total = pull.sum(axis=0)
        back = np.asarray(self.X.T @ pull) - np.outer(layer.centre_, total)
        slope = np.append((back / layer.scale_[:, None] + decay * layer.weights_).ravel(), total)
        steepest = float(np.abs(slope).max())
        if self.best is None or value < self.best.value:
            self.best = _End(x.copy(), value, steepest, steepest <= layer.tol)
        return value, slope

    def from_here(self) -> _End:
        """L-BFGS from the current layer; the best point on its way."""
        self.best, self._starts = None, None
        options = {
            "maxiter": int(self.layer.max_iter),
            "gtol": float(self.layer.tol),
            "ftol": 1e-13,  # relative change of φ; safeguard
        }
        start = self.pack()
        found = minimize(self.value_and_slope, start, jac=True, method="L-BFGS-B", options=options)
        assert self.best is not None
        return replace(self.best, iterations=max(int(found.nit), 1))

    def linear(self) -> tuple[_End, float]:
        """The linear model, A = 0, and a lower bound of its objective, in units of scale."""
        self.place(np.zeros_like(self.pack()))
        self._starts = None
        solutions = self.solved(self.problems(self.units()[1]))
        bound = sum(s.certificate.dual for s in solutions) / self.scale
        value, slope = self.value_and_slope(self.pack())
        return _End(self.pack(), value, float(np.abs(slope).max()), True), bound


def _multipliers(problem: Objective, solution: Solution) -> Array:
    """θ at the inner optimum: the slope of the loss, or the dual point if the loss has kinks."""
    theta = solution.certificate.dual_point
    if problem.loss.smooth or theta is None:
        return problem.loss.gradient(solution.point.z, problem.y)
    return theta


def _settle(search: _Search) -> None:
    """Set the lowest end of all starts, or the linear model unless that end is surely lower."""
    layer = search.layer
    random = check_random_state(layer.random_state)
    ends: list[_End] = []
    stopped = False
    linear, bound = _End(np.zeros_like(search.pack()), np.nan, np.inf, False), -np.inf
    with watching(search.control.late, hears=True) as watch:
        try:
            linear, bound = search.linear()
            for _ in range(int(layer.restarts)):
                layer.draw(random)
                ends.append(search.from_here())
        except KeyboardInterrupt:
            watch.interrupt()
            stopped = True
        except StoppedError:
            stopped = True
        if stopped:
            ends += [search.best] if search.best is not None else []
    best = min(ends, key=lambda end: end.value, default=None)
    # The output weights will be solved to a gap of tol only, so the end must be lower by more.
    if best is None or not best.value + search.control.tol <= bound:
        best = linear
    search.place(best.x)
    layer.value_, layer.stationarity_ = best.value * search.scale, best.slope
    layer.n_iter_ = best.iterations
    if not watch.interrupted and (stopped or not best.done):
        _warn(layer, stopped)


def _warn(layer: HiddenLayer, stopped: bool) -> None:
    why = (
        "max_seconds stopped it" if stopped else "it made no more progress, or max_iter was reached"
    )
    warnings.warn(
        f"HiddenLayer: the search for its units ended with a slope of {layer.stationarity_:.1e}, "
        f"above tol={layer.tol:g} or before all restarts, because {why}; the model is valid and no "
        "worse than the linear one: raise max_iter, max_seconds or tol of the layer.",
        ConvergenceWarning,
        stacklevel=7,  # frames up to the user's call
    )
