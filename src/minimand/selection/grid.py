"""The grid of alphas of a path, and `alpha_max`."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.typing import Array, ArrayLike, BoolArray
from ..estimators.prepare import prepared
from ..estimators.settings import Settings
from ..losses.curvature import as_curvature
from ..penalties import Ball, BoundPenalty, Concave, Majorised, NoPenalty, Norm, Separable
from ..problem.intercept import balanced_gradient, recentred
from ..problem.objective import EPS, Objective, Point
from ..solvers import Control, solve
from .kinked_top import least_slope

_RIDGE_TOP = 1e3  # factor of the curvature; convention: there w is 1/1000 of its unpenalised size
_RIDGE_RANGE = 1e-5  # factor of eps without L1; convention: such a grid begins at a large alpha


def alpha_max(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
) -> float:
    r"""The smallest alpha at which every penalised coefficient is zero.

    .. math:: \alpha_{\max} = \max_j |\partial_j L| / c_j

    at the best model without them, with L the mean loss and :math:`c_j` the weight of the L1 part.
    If the loss has kinks and many samples lie at one (the hinge), the subgradient of L is not
    unique, and a linear program finds the one that needs the smallest alpha. With very many such
    samples (half a million numbers in their rows), or if some columns are not penalised, the result
    is an upper bound: it makes every coefficient zero, but a smaller alpha may do so, too. With L2
    alone there is no alpha_max: L2 makes coefficients small, never zero.

    Parameters
    ----------
    estimator : Regressor or Classifier
        Its loss, penalty and intercept matter; its alpha does not.
    X, y, sample_weight, offset
        The data.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lasso = mm.Regressor("squared", "l1")
    >>> top = mm.alpha_max(lasso, X, y)
    >>> int((lasso.set_params(alpha=top).fit(X, y).coef_ != 0).sum())
    0
    >>> int((lasso.set_params(alpha=0.95 * top).fit(X, y).coef_ != 0).sum())
    1
    """
    _, settings, objectives = prepared(estimator, X, y, sample_weight, offset)
    _refuse_overflow(objectives[0])
    tops = [top_of(settings, objective, estimator.tol) for objective in objectives]
    if any(top is None for top in tops):
        raise ValueError(
            f"alpha_max does not exist: penalty {settings.penalty!r} never makes coefficients "
            "exactly zero; pass alphas of your own."
        )
    return float(max(top for top in tops if top is not None))


def top_of(settings: Settings, objective: Objective, tol: float = 1e-6) -> float | None:
    """alpha_max of one objective; None if no alpha makes the coefficients zero."""
    bound = objective.bound(settings.penalty, 1.0)
    if isinstance(bound, Norm):
        if (bound.unseen & ~bound.free).any():
            return None
        objective, unit = _convex(objective)
        return bound.dual_norm(unit * slope_without(objective, ~bound.free, tol))
    is_norm = (
        isinstance(bound, BoundPenalty) and type(bound).dual_norm is not BoundPenalty.dual_norm
    )
    if objective.n_scores > 1 or (is_norm and bound.sum_over_features is None):
        return _top_of_norm(bound, objective)
    if isinstance(bound, BoundPenalty) and bound.quadratic_floor > 0:
        return None  # no kink at zero
    form = _unit_form(settings, objective)
    kinked = form.l1 > 0
    curved_only = (form.l2 > 0) & ~kinked
    if not kinked.any() or curved_only.any():
        return None
    objective, unit = _convex(objective)
    slope = unit * slope_without(objective, kinked, tol)
    if isinstance(bound, Concave) and not np.isfinite(bound.slopes(np.zeros_like(slope))).all():
        return _where_zero_wins(objective, bound, slope, unit)
    top = float((_pull(form, slope)[kinked] / form.l1[kinked]).max())
    if not kinked.all():  # that model is only approximately at its kinks
        return top
    best = unit * least_slope(objective, form, slope, top / unit)
    return min(top, float((_pull(form, best) / form.l1).max()))


def _top_of_norm(bound: BoundPenalty, objective: Objective) -> float | None:
    """The dual norm of the slope at the null model; an upper bound if the loss has kinks."""
    if isinstance(bound, Majorised):
        bound = bound.first_majoriser().penalty
    return bound.dual_norm(-_slope_at(objective, objective.null))


def _convex(objective: Objective) -> tuple[Objective, float]:
    """The problem itself, or 1/unit times the convex one from which a robust margin loss starts.

    The null model of such a loss has an infinite intercept, where all slopes vanish.
    """
    inner = objective.loss.composed
    if inner is None or inner.attained(objective.y):
        return objective, 1.0
    weights = np.full(objective.n_samples, inner.first_weight)
    return objective.weighted(inner.base, weights)


def _where_zero_wins(
    objective: Objective, bound: Concave, slope: Array, unit: float = 1.0
) -> float:
    """The alpha beyond which no single column lowers the objective, for penalties steep at zero.

    A coefficient of size t lowers the loss by |slope|·t − ½ct², with c the curvature at the null
    model, and costs alpha·p(t). The best t is searched on a grid in (0, 2|slope|/c).
    """
    curvature = unit * objective.row_mean(objective.loss.curvature(objective.null.z, objective.y))
    bend = np.maximum(curvature * objective.column_norms**2, 1e-300)  # safeguard: division by 0
    gain, steep = 0.0, np.abs(slope)
    for share in np.geomspace(1e-3, 2.0, 200, endpoint=False):  # shares of |slope|/c; safeguard
        t = share * steep / bend
        height = bound.heights(t)
        won = np.where(
            height > 0, (steep * t - 0.5 * bend * t * t) / np.where(height > 0, height, 1), 0
        )
        gain = max(gain, float(won.max(initial=0.0)))
    return gain


def _pull(form: Separable, slope: Array) -> Array:
    """The slope that draws each coefficient away from zero, in directions its bounds allow."""
    if form.bounds is None:
        return np.abs(slope)
    low, high = form.bounds
    return np.where(slope < 0, np.where(high > 0, -slope, 0.0), np.where(low < 0, slope, 0.0))


def grid_of(
    settings: Settings, objectives: Sequence[Objective], alphas: Any, eps: float | None, tol: float
) -> Array:
    """Decreasing alphas: those given, or that many, evenly spaced on a log scale from alpha_max."""
    if not isinstance(alphas, int | np.integer) or isinstance(alphas, bool):
        return check_alphas(alphas)
    if alphas < 1:
        raise ValueError(f"alphas must be a number of them ≥ 1, or a list, not {alphas!r}.")
    n, d = objectives[0].design.shape
    if eps is not None and not (isinstance(eps, numbers.Real) and 0 < float(eps) < 1):
        raise ValueError(f"eps must be a number between 0 and 1, not {eps!r}.")
    _refuse_overflow(objectives[0])
    ratio = (1e-2 if n < d else 1e-3) if eps is None else float(eps)  # factor; convention
    tops = [top_of(settings, objective, tol) for objective in objectives]
    known = [top for top in tops if top is not None]
    if len(known) < len(tops):
        known = [_ridge_top(settings, objective) for objective in objectives]
        ratio *= _RIDGE_RANGE if eps is None else 1.0
    top = max(known) or 1.0  # no column explains any of y
    return np.geomspace(top, ratio * top, int(alphas)) if alphas > 1 else np.array([top])


def _refuse_overflow(objective: Objective) -> None:
    """Refuse columns so large that the slopes of the loss along them overflow."""
    with np.errstate(over="ignore"):
        wild = ~np.isfinite(objective.root_spread)
    if wild.any():
        raise ValueError(
            f"X holds numbers whose squares overflow, in column {int(np.argmax(wild))} first, so "
            "no grid of alphas can be found: rescale X."
        )


def check_alphas(alphas: Any) -> Array:
    """Finite numbers that are not negative, in decreasing order."""
    try:
        given = np.asarray(alphas, dtype=float)
        if isinstance(alphas, bool) or given.ndim != 1:
            raise ValueError
        values = np.unique(given)[::-1]
    except (TypeError, ValueError) as error:
        raise ValueError("alphas must be how many there are, or a list of numbers.") from error
    if not values.size or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("alphas must be finite numbers that are not negative, at least one.")
    return np.ascontiguousarray(values)


def slope_without(objective: Objective, left_out: BoolArray, tol: float) -> Array:
    """Xᵀ gradient of the mean loss at the best model on the other columns and the intercept."""
    if left_out.all():
        return _slope_at(objective, objective.null)
    kept = np.flatnonzero(~left_out)
    nothing = NoPenalty().bind(kept.size)
    bare = objective.with_penalty(nothing, columns=kept)
    found = solve(bare, "auto", Control(tol=1e-3 * tol))  # share of tol; safeguard: its error
    w = np.zeros(objective.n_features)
    w[kept] = found.w
    return _slope_at(objective, objective.point(w, found.b))


def _slope_at(objective: Objective, point: Point) -> Array:
    """Xᵀ(mass∘gradient) with the best intercept; entries within rounding of 0 are 0."""
    point = recentred(objective, point)
    balanced = balanced_gradient(objective, point.z) if objective.intercept else None
    at_hand = objective.loss.gradient(point.z, objective.y)
    gradient = at_hand if balanced is None else balanced
    slope = objective.backward(objective.weigh(gradient))
    if objective.intercept:
        # With the best intercept the mean gradient is 0 up to rounding, which is taken out here.
        mean = objective.row_mean(gradient) / float(objective.row_mass.sum())
        slope = slope - np.multiply.outer(objective.column_means, mean)
    size = np.sqrt(objective.row_mean(gradient * gradient))
    size = np.multiply.outer(objective.root_spread, size)
    noise = 8 * EPS * np.sqrt(objective.n_samples + 16.0)  # share of terms; safeguard: rounding
    return np.where(np.abs(slope) <= noise * size, 0.0, slope)


def _ridge_top(settings: Settings, objective: Objective) -> float:
    """`_RIDGE_TOP` times the largest curvature of the mean loss along a column, per unit of L2.

    At this alpha w is a thousandth of its size without a penalty, whatever the units of y are.
    """
    floor = objective.bound(settings.penalty, 1.0).quadratic_floor
    if floor > 0:  # a squared norm penalises at least as much as an L2 of this factor
        l2 = np.full(objective.n_features, floor)
    else:
        form = _unit_form(settings, objective)
        l2 = form.l2 if form.l2.ndim == 1 else form.l2.min(axis=1)
    if not l2.any():
        raise ValueError(
            f"penalty {settings.penalty!r} has no scale for a grid: pass alphas of your own."
        )
    objective, unit = _convex(objective)
    bound = as_curvature(objective.loss.curvature(objective.null.z, objective.y)).bound
    curvature = unit * float(np.max(objective.row_mean(bound)))
    bends = curvature * objective.column_norms[l2 > 0] ** 2 / l2[l2 > 0]
    return _RIDGE_TOP * float(bends.max(initial=0.0))


def _unit_form(settings: Settings, objective: Objective) -> Separable:
    """The penalty at alpha = 1; for a non-convex one, its tangent at zero (a lasso)."""
    bound = objective.bound(settings.penalty, 1.0)
    convex = bound.first_majoriser().penalty if isinstance(bound, Majorised) else bound
    form = convex.sum_over_features
    if isinstance(bound, Ball):
        raise ValueError(
            f"penalty {settings.penalty!r} has no alpha_max, as alpha does not touch a ball: fit "
            "it at radii of your own, or pass alphas for what else there is."
        )
    if form is None:
        raise ValueError(
            f"penalty {settings.penalty!r} is no sum over features and no norm, so that its "
            "alpha_max is not known: pass alphas of your own."
        )
    return form
