"""Linear programs by HiGHS, which SciPy brings along."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import Array


class Optimum(NamedTuple):
    """A vertex where a linear program has its minimum, and the multipliers of its rows.

    ``upper`` and ``equal`` are the rates at which the minimum falls when the right-hand sides of
    A_ub x ≤ b_ub and A_eq x = b_eq grow: those of inequalities are never negative.
    """

    x: Array
    value: float
    upper: Array
    equal: Array


class Failure(NamedTuple):
    """Why there is no vertex, in words."""

    reason: str


def minimise(
    cost: Array,
    *,
    upper: tuple[Any, Array] | None = None,
    equal: tuple[Any, Array] | None = None,
    bounds: Any = (None, None),
    seconds: float | None = None,
) -> Optimum | Failure:
    """The least cost·x with A_ub x ≤ b_ub, A_eq x = b_eq and x within bounds; exact vertices.

    Parameters
    ----------
    upper, equal : pairs (A, b)
        The matrices may be sparse and stay so.
    bounds : one pair, or a (k, 2) array; infinite or None where a side is open
    seconds : how long it may take
    """
    from scipy.optimize import linprog  # only those who need it wait for it

    options = {} if seconds is None else {"time_limit": max(seconds, 1e-3)}
    A_ub, b_ub = upper or (None, None)
    A_eq, b_eq = equal or (None, None)
    with np.errstate(all="ignore"):
        found = linprog(cost, A_ub, b_ub, A_eq, b_eq, bounds, method="highs-ds", options=options)
    if found.status != 0 or found.x is None:
        return Failure(found.message.split("(")[0].strip().rstrip("."))
    return Optimum(found.x, float(found.fun), -found.ineqlin.marginals, -found.eqlin.marginals)
