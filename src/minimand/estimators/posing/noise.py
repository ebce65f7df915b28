"""An estimate of the noise, for losses whose scale is to be found: ``sigma="auto"``.

    noise = 1.4826 · median of |rᵢ|,   r: residuals of a fit with the absolute loss

The factor 1.4826 makes it the standard deviation if the noise is normal. A model with p parameters
passes through p samples, whose residuals carry no information: the p smallest sizes are left out.
Outliers move neither the fit nor the median, as long as they are less than half of the samples and
not far out in X.

The estimate should not depend on how much coefficients are shrunk, nor on the units of y and X. So
the first fit has only the weak penalty ½·(1/1000u)·Σ(vⱼwⱼ)², with u the median deviation of y and
vⱼ the standard deviation of a column; it makes the model unique where columns are dependent. With
more than half as many columns as samples, the model would pass through too many samples: then the
first fit has the penalty and the alpha of the estimator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._base.typing import Array
from ..._base.weighted import median
from ...losses import Absolute, Squared
from ...penalties import Separable
from ...problem.objective import Meter, Objective
from ...solvers import Control, Solution, solve
from ..problem import Posed

_NORMAL = 1.4826  # factor; definition: standard deviation / median |r| of normal noise
_WEAK = 1e-3  # penalty of the first fit, in units of y and of the columns; safeguard
_TOL = 1e-9  # relative gap of the first fit; measured: at 1e-6 the fourth digit still changes
_ZERO = 1e-12  # share of the largest |y|; safeguard: smaller residuals are rounding


def with_scale_found(posed: Posed, control: Control) -> Posed:
    """The problem with a number in place of every parameter of its loss that is "auto"."""
    coded, objectives = posed.coded, posed.objectives
    before = coded.settings
    loss = before.loss.decided(noise_of(objectives, control))
    settings = replace(before, loss=loss)
    return posed._replace(
        coded=replace(coded, settings=settings, output=coded.output.under(loss)),
        objectives=[
            replace(o, loss=loss, words=settings.words + o.words.removeprefix(before.words))
            for o in objectives
        ],
    )


def noise_of(objectives: Sequence[Objective], control: Control) -> float:
    """One noise estimate for all scores; always positive."""
    y, mass = (np.concatenate([getattr(o, name) for o in objectives]) for name in ("y", "mass"))
    spread = np.abs(y - median(y, mass))
    least = _ZERO * float(np.abs(y).max())
    # If the fit is exact, the spread of y replaces the residuals as the scale.
    unit = _middle(spread, y, mass, 1, least)
    if unit is None:
        return 1.0  # y is constant
    fits = [_first_fit(objective, unit, control) for objective in objectives]
    sizes = np.concatenate([np.abs(s.point.z - o.y) for o, s in zip(objectives, fits)])
    passed = sum(int(np.count_nonzero(s.w)) + o.intercept for o, s in zip(objectives, fits))
    least = max(least, *(s.certificate.gap for s in fits))  # smaller ones may be 0 at the optimum
    return _NORMAL * (_middle(sizes, y, mass, passed, least) or unit)


def _first_fit(objective: Objective, unit: float, control: Control) -> Solution:
    """A fit with the absolute loss, or with the squared loss if no solver takes the former."""
    first = replace(objective, loss=Absolute(), meter=Meter())
    if 2 * (objective.n_features + 1) <= objective.n_samples:
        variance = np.maximum(objective.column_norms, np.finfo(float).tiny) ** 2
        first = replace(first, penalty=Separable(np.zeros_like(variance), _WEAK / unit * variance))
    control = replace(control, tol=min(control.tol, _TOL))
    try:
        return solve(first, "auto", control, None)
    except ValueError:
        return solve(replace(first, loss=Squared()), "auto", control, None)


def _middle(sizes: Array, y: Array, mass: Array, dropped: int, least: float) -> float | None:
    """The median of the sizes above ``least``, without the ``dropped`` smallest; None if empty.

    Sizes up to ``least`` count among the smallest, equal y once: so it makes no difference whether
    rounding made a size zero or nearly zero, or whether a sample is repeated.
    """
    met = sizes <= least
    more = dropped - np.unique(y[met]).size
    kept = sizes > max(least, _smallest(sizes[~met], more))
    return median(sizes[kept], mass[kept]) if kept.any() else None


def _smallest(sizes: Array, count: int) -> float:
    """The ``count``-th smallest size, equal ones counted once; 0 if there are fewer."""
    values = np.unique(sizes)
    return float(values[count - 1]) if 0 < count < values.size else 0.0
