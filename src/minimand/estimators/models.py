"""Models of one or several problems as the arrays that users see, and back.

Separate problems have one score each, a coupled problem has all k of them; either way coefficients
are (k, d) and intercepts (k,).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._base.typing import Array
from ..problem.objective import Objective


def stacked(models: Iterable[tuple[Array, Any]]) -> tuple[Array, Array]:
    """Coefficients (k, d) and intercepts (k,) of models (w, b), with w of shape (d,) or (d, k)."""
    coefs, intercepts = [], []
    for w, b in models:
        coefs.append(w[None] if w.ndim == 1 else w.T)
        intercepts.append(np.atleast_1d(np.asarray(b, dtype=float)))
    if len(coefs) == 1:
        return np.ascontiguousarray(coefs[0]), intercepts[0]
    return np.concatenate(coefs), np.concatenate(intercepts)


def split(objectives: Sequence[Objective], coef: Any, intercept: Array) -> list[tuple[Array, Any]]:
    """The (w, b) of every problem, from coefficients (k, d) and intercepts (k,).

    Problems on different samples of a kernel have coefficients of different lengths, in a list.
    """
    if objectives[0].n_scores > 1:
        return [(np.array(coef.T, dtype=float, order="C"), np.array(intercept, dtype=float))]
    return [(np.array(w, dtype=float), float(b)) for w, b in zip(coef, intercept)]


def score_count(objectives: Sequence[Objective]) -> int:
    """The number of scores per row in all problems."""
    return len(objectives) * objectives[0].n_scores
