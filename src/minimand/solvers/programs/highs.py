"""Linear programs by HiGHS, through SciPy."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ..._base.typing import Array

_TOLERANCES = (1e-10, 1e-7)  # feasibility; the second if HiGHS fails with the first; safeguard
_OPTIMAL, _OUT_OF_TIME = 0, 1  # status; definition, as in scipy.optimize.linprog


class Optimum(NamedTuple):
    """A vertex at which a linear program has its minimum, and the multipliers of its rows.

    ``upper`` and ``equal`` are the rates at which the minimum falls when the right-hand sides of
    A_ub x ≤ b_ub and A_eq x = b_eq grow; those of inequalities are ≥ 0.
    """

    x: Array
    value: float
    upper: Array
    equal: Array


class Failure(NamedTuple):
    """Why there is no optimal vertex."""

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
    from scipy.optimize import linprog  # loaded on first use: it is slow to import

    matrices = (*(upper or (None, None)), *(equal or (None, None)))
    began = time.perf_counter()
    for tolerance in _TOLERANCES:
        options = {f"{side}_feasibility_tolerance": tolerance for side in ("primal", "dual")}
        if seconds is not None:
            # Seconds at least; safeguard.
            options["time_limit"] = max(seconds - (time.perf_counter() - began), 1e-3)
        with np.errstate(all="ignore"):
            found = linprog(cost, *matrices, bounds, method="highs-ds", options=options)
        if found.status in (_OPTIMAL, _OUT_OF_TIME):
            break
    if found.status != _OPTIMAL:
        return Failure(found.message.split("(")[0].strip().rstrip("."))
    return Optimum(found.x, float(found.fun), -found.ineqlin.marginals, -found.eqlin.marginals)
