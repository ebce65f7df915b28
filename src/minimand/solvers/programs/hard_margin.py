"""The plane of widest margin: min ½‖w‖² with yᵢ(xᵢ·w + b) ≥ 1 for every sample.

The dual maximises Σα − ½‖Xᵀ(α∘y)‖² over α ≥ 0 with Σ αᵢyᵢ = 0 if b is free. For a feasible plane
and such α, scaled so that Σα = ‖Xᵀ(α∘y)‖²,

    ½‖w‖² − dual = ½‖w − Xᵀ(α∘y)‖² + Σ αᵢ(yᵢzᵢ − 1),

a sum of terms ≥ 0 that vanish at the optimum.

The soft margin C·Σ hinge + ½‖w‖² has the same solution if C ≥ max α. There Σα = ‖w‖², and the norm
of any separating plane bounds ‖w‖, so a finite C suffices.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from ..._base.typing import Array, BoolArray, IntArray
from ..._base.watch import interrupt
from ...design import Design
from ...losses import Hinge
from ...penalties import L2
from ...problem.objective import EPS, Objective
from .. import solve
from ..base import Control

_LARGEST_SET = 500  # support vectors whose equations are solved directly; safeguard
_LARGEST_ROWS = 20_000_000  # numbers in their rows; safeguard of memory
_FIRST_C = (1.0, 100.0)  # C·‖x‖² of soft margins that are tried for a separating plane; safeguard
_FIRST_ITERATIONS = 30  # iterations of each of these; safeguard
_MOST_ROUNDS = 100  # changes of the set of support vectors; safeguard


@dataclass(frozen=True, eq=False)
class Classes:
    """Samples with labels ±1, and whether the plane has an intercept."""

    design: Design
    signs: Array
    intercept: bool

    def weighted_sum(self, alpha: Array) -> Array:
        """Xᵀ(α∘y)."""
        return self.design.rmatvec(alpha * self.signs)


@dataclass(frozen=True, eq=False)
class Widest:
    """A feasible plane, multipliers, and the gap between them by sample."""

    w: Array
    b: float
    margins: Array  # y·z ≥ 1
    alpha: Array
    by_feature: Array  # ½(w − Xᵀ(α∘y))²
    signs: Array
    rounding: float

    @property
    def intercepts(self) -> tuple[float, float]:
        """The lowest and the highest b for which, with w, all margins are at least 1."""
        spare = self.margins - 1.0
        positive = self.signs > 0
        return float(self.b - spare[positive].min()), float(self.b + spare[~positive].min())

    @property
    def primal(self) -> float:
        """½‖w‖²."""
        return 0.5 * float(self.w @ self.w)

    @property
    def by_sample(self) -> Array:
        """α·(y·z − 1)."""
        return self.alpha * np.maximum(self.margins - 1.0, 0.0)

    @property
    def gap(self) -> float:
        """½‖w‖² minus the dual objective."""
        return float(self.by_feature.sum() + self.by_sample.sum())


def judge_plane(classes: Classes, w: Array, alpha: Array, b: float | None = None) -> Widest | None:
    """The referee: the plane with its best b (or the given b), scaled so that it is feasible.

    None if the plane does not separate the classes, or if α proves no bound.
    """
    placed = _feasible(classes, w, b)
    alpha = _admissible(classes, alpha)
    pull = classes.weighted_sum(alpha)
    length = float(pull @ pull)
    if placed is None or not length > 0:
        return None
    factor = float(alpha.sum()) / length
    alpha, pull = factor * alpha, factor * pull
    w, b, margins = placed
    reach = float(np.abs(margins).max()) + abs(b)
    rounding = 8 * EPS * (float(w @ w) + float(alpha.sum()) * reach)
    return Widest(w, b, margins, alpha, 0.5 * (w - pull) ** 2, classes.signs, rounding)


def _feasible(classes: Classes, w: Array, b: float | None) -> tuple[Array, float, Array] | None:
    """(w, b) scaled so that the least margin is 1, and the margins."""
    scores = classes.design.matvec(w)
    positive = classes.signs > 0
    if b is None:
        middle = -0.5 * (scores[positive].min() + scores[~positive].max())
        b = float(middle) if classes.intercept else 0.0
    least = float((classes.signs * (scores + b)).min())
    if not least > 0:
        return None
    factor = (1.0 + 8 * EPS) / least
    w, b = w * factor, b * factor
    return w, b, classes.signs * (scores * factor + b)


def _admissible(classes: Classes, alpha: Array) -> Array:
    """α ≥ 0, with the same sum in both classes if b is free."""
    alpha = np.maximum(alpha, 0.0)
    if not classes.intercept:
        return alpha
    positive = classes.signs > 0
    plus, minus = float(alpha[positive].sum()), float(alpha[~positive].sum())
    least = min(plus, minus)
    if not least > 0:
        return np.zeros_like(alpha)
    return alpha * np.where(positive, least / plus, least / minus)


def widest(classes: Classes, plane: Array, control: Control, solver: Any = "auto") -> Widest:
    """Soft margins with growing C, until the gap of the hard one is at most tol·½‖w‖².

    ``plane`` is a w that separates the classes.
    """
    n = classes.signs.size
    positive = classes.signs > 0
    share = np.where(positive, 1.0 / max(positive.sum(), 1), 1.0 / max((~positive).sum(), 1))
    best = judge_plane(classes, plane, share)  # equal α in each class
    if best is None:
        raise ValueError("the plane to start from does not separate the classes.")
    highest = 2.0 * best.primal
    C = max(2.0 * (best.primal - best.gap), 1e-3 * highest / n)
    try:
        while not best.gap <= max(control.tol * best.primal, best.rounding):
            found = _soft(classes, C, best, control, solver)
            best = _better(classes, best, *found)
            best = _better(classes, best, *_on_support(classes, best, control))
            if highest < C or control.expired:
                break
            C *= 10.0
    except KeyboardInterrupt:
        interrupt()
    return best if control.expired else _sharpened(classes, best, control.tol)


def _better(classes: Classes, old: Widest, w: Array, alpha: Array) -> Widest:
    """The better of both planes with the better of both multipliers."""
    pairs = ((w, alpha), (w, old.alpha), (old.w, alpha))
    judged = [judge_plane(classes, *pair) for pair in pairs]
    return min([old, *(j for j in judged if j is not None)], key=lambda found: found.gap)


def _sharpened(classes: Classes, best: Widest, tol: float) -> Widest:
    """The same with α = 0 off the margin, if the gap stays within tol."""
    found = judge_plane(classes, best.w, np.where(_has_multiplier(best), best.alpha, 0.0))
    allowed = max(tol * best.primal, best.gap)
    return found if found is not None and found.gap <= allowed else best


def _has_multiplier(best: Widest) -> BoolArray:
    """A guess: of αᵢ and yᵢzᵢ − 1, each in its own unit, the smaller one is taken to be zero."""
    return best.alpha > best.alpha.max() * (best.margins - 1.0)


def separating_plane(classes: Classes, control: Control) -> Array | None:
    """A w that separates the classes, from a soft margin; None if a linear program must decide.

    With many columns this is far quicker than the linear programs, which can also prove that no
    plane separates.
    """
    length = float(classes.design.row_squares(np.ones(1)).mean()) or 1.0
    for C in _FIRST_C:
        objective = _soft_margin(classes, C / length)
        inner = replace(control, tol=1e-3, max_iter=_FIRST_ITERATIONS, callbacks=())
        found = solve(objective, "auto", inner)
        if _feasible(classes, found.w, None) is not None:
            return found.w
    return None


def _soft(
    classes: Classes, C: float, best: Widest, control: Control, solver: Any
) -> tuple[Array, Array]:
    """w and α of the soft margin C·Σ hinge + ½‖w‖², to a gap small enough for the hard margin."""
    objective = _soft_margin(classes, C)
    target = 0.1 * control.tol * best.primal / (C * classes.signs.size)
    inner = Control(
        tol=max(target / objective.scale, 1e-14),
        max_seconds=control.max_seconds,
        started=control.started,
    )
    start = objective.point(best.w, best.b)
    found = solve(objective, solver, inner, start)
    theta = found.certificate.dual_point
    assert theta is not None
    return found.w, -C * classes.signs * theta


def _soft_margin(classes: Classes, C: float) -> Objective:
    """C·Σ hinge + ½‖w‖², divided by C·n."""
    n, d = classes.design.shape
    return Objective(
        loss=Hinge(),
        penalty=L2().bind(d, 1.0 / (C * n)),
        design=classes.design,
        y=classes.signs,
        mass=np.full(n, 1.0 / n),
        intercept=classes.intercept,
    )


def _on_support(classes: Classes, best: Widest, control: Control) -> tuple[Array, Array]:
    """w and α from the equations of the support vectors, yᵢzᵢ = 1, by active sets.

    Support vectors with negative α leave the set, the most violated sample enters; a good first
    guess needs a few rounds. The referee judges the result.
    """
    chosen = np.flatnonzero(_has_multiplier(best))
    w, alpha = best.w, best.alpha
    if chosen.size > w.size + 1:  # more equations than unknowns: keep the largest α
        chosen = np.sort(chosen[np.argsort(-alpha[chosen], kind="stable")[: w.size + 1]])
    for _ in range(_MOST_ROUNDS):
        few = 0 < chosen.size <= min(_LARGEST_SET, _LARGEST_ROWS // w.size)
        if not few or control.expired:
            break
        values, b = _equations(classes, chosen)
        if (values <= 0).any():
            chosen = chosen[values > min(0.5 * float(values.min()), 0.0)]
            continue
        alpha = np.zeros_like(best.alpha)
        alpha[chosen] = values
        w = classes.weighted_sum(alpha)
        margins = classes.signs * (classes.design.matvec(w) + b)
        worst = int(np.argmin(margins))
        if margins[worst] >= 1.0 - 1e-12 or worst in chosen:
            break
        chosen = np.union1d(chosen, [worst])
    return w, alpha


def _equations(classes: Classes, chosen: IntArray) -> tuple[Array, float]:
    """α of the chosen samples and b, where all of them lie on the margin."""
    signs = classes.signs[chosen]
    rows = classes.design.rows(chosen).rmatvec(np.diag(signs))
    gram = rows.T @ rows
    unit = float(np.trace(gram)) / chosen.size or 1.0
    system, right = gram / unit, np.ones(chosen.size)
    if classes.intercept:
        system = np.block([[system, signs[:, None]], [signs[None, :], np.zeros((1, 1))]])
        right = np.append(right, 0.0)
    values = _solved(system, right)
    return values[: chosen.size] / unit, float(values[-1]) if classes.intercept else 0.0


def _solved(system: Array, right: Array) -> Array:
    """By a factorisation, thirty times as fast; if that fails, the least-norm solution."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            return linalg.solve(system, right, assume_a="sym", check_finite=False)
        except (linalg.LinAlgError, linalg.LinAlgWarning):
            return np.asarray(linalg.lstsq(system, right, check_finite=False)[0])
