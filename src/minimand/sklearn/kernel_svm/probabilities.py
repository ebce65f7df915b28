"""Platt's sigmoids for every pair of classes, from the scores of held-out folds."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._base.typing import Array, BoolArray, IntArray
from ...design import KernelDesign
from ...estimators import Regressor

_FOLDS = 5  # convention: as in libsvm


def probabilities(
    model: Any, design: KernelDesign, rows: list[IntArray], weights: Array
) -> tuple[Array, Array]:
    """A and B of P(first class) = 1/(1 + exp(A·score + B)) for every pair, as libsvm has them."""
    found = [
        _sigmoid(*_held_out(model, design, rows[i], rows[j], weights), weights)
        for i, j in combinations(range(len(rows)), 2)
    ]
    A, B = (np.array(part) for part in zip(*found))
    return A, B


def _held_out(
    model: Any, design: KernelDesign, one: IntArray, other: IntArray, weights: Array
) -> tuple[Array, BoolArray, IntArray]:
    """Scores of samples by machines that were fitted without them, and whether they are first."""
    numbers = np.concatenate([one, other])
    order = check_random_state(model.random_state).permutation(numbers.size)
    numbers, first = numbers[order], np.isin(numbers[order], one)
    scores = np.zeros(numbers.size)
    for k in range(_FOLDS):
        test = np.arange(numbers.size) % _FOLDS == k
        mine, theirs = numbers[~test & first], numbers[~test & ~first]
        machine = model._pair(design, np.sort(mine), np.sort(theirs), weights)
        used = np.flatnonzero(machine.coef)
        scores[test] = machine.intercept
        if used.size and test.any():
            a = machine.coef[used]
            scores[test] += design.kernel.times(
                design.inputs[numbers[test]], design.inputs[used], a
            )
    return scores, first, numbers


def _sigmoid(
    scores: Array, first: BoolArray, numbers: IntArray, weights: Array
) -> tuple[float, float]:
    """The cross entropy with Platt's targets, which are not quite 0 and 1."""
    target = np.where(first, (first.sum() + 1) / (first.sum() + 2), 1 / ((~first).sum() + 2))
    if np.ptp(scores) == 0:
        share = float(np.average(target, weights=weights[numbers]))
        return 0.0, float(np.log(1 / share - 1))
    sigmoid = Regressor("cross_entropy", "no_penalty", alpha=0.0)
    sigmoid.fit(scores[:, None], target, sample_weight=weights[numbers])
    return -float(sigmoid.coef_[0]), -float(sigmoid.intercept_)
