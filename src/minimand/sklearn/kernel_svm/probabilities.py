"""Platt's sigmoids for every pair of classes, from the scores of held-out folds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from ..._base.typing import Array, BoolArray, IntArray
from ...design import KernelDesign

_FOLDS = 5  # convention: as in libsvm
_STEPS = 100  # Newton steps; safeguard: they converge quadratically
_SETTLED = 1e-14  # of the mean cross entropy that a step gains; safeguard: some ulp
_FLAT = 1e-12  # curvature of a sample at least; safeguard: far scores have none


def probabilities(
    model: Any, design: KernelDesign, sides: list[tuple[IntArray, IntArray]], weights: Array
) -> tuple[Array, Array]:
    """A and B of P(first class) = 1/(1 + exp(A·score + B)) for every pair, as libsvm has them."""
    orders = [_Order(pair, model.random_state) for pair in sides]
    folds = [order.fold(k) for order in orders for k in range(_FOLDS)]
    n = weights.size
    machines = model._pairs(design, [fold.sides for fold in folds], weights, np.arange(n), n)
    scores = [_held_out(design, fold.test, machine) for fold, machine in zip(folds, machines)]
    found = []
    for m, order in enumerate(orders):
        whole = np.empty(order.numbers.size)
        for k in range(_FOLDS):
            whole[k::_FOLDS] = scores[m * _FOLDS + k]
        found.append(_sigmoid(whole, order.first, order.numbers, weights))
    A, B = (np.array(part) for part in zip(*found))
    return A, B


class _Fold(NamedTuple):
    """The samples of both classes that a machine is fitted on, and those that are held out."""

    sides: tuple[IntArray, IntArray]
    test: IntArray


class _Order:
    """The samples of two classes in a random order, every fifth of which is a fold."""

    def __init__(self, sides: tuple[IntArray, IntArray], random_state: Any) -> None:
        numbers = np.concatenate(sides)
        order = check_random_state(random_state).permutation(numbers.size)
        self.numbers, self.first = numbers[order], np.isin(numbers[order], sides[0])

    def fold(self, k: int) -> _Fold:
        """The samples k, k + 5, … are held out."""
        test = np.arange(self.numbers.size) % _FOLDS == k
        one, other = (np.sort(self.numbers[~test & side]) for side in (self.first, ~self.first))
        return _Fold((one, other), self.numbers[test])


def _held_out(design: KernelDesign, test: IntArray, machine: Any) -> Array:
    """Scores of samples by a machine that was fitted without them."""
    used = np.flatnonzero(machine.coef)
    scores = np.full(test.size, machine.intercept)
    if used.size and test.size:
        scores += design.row_scores(test, used, machine.coef[used])
    return scores


def _sigmoid(
    scores: Array, first: BoolArray, numbers: IntArray, weights: Array
) -> tuple[float, float]:
    """The least cross entropy of 1/(1 + exp(A·score + B)) with Platt's targets, by Newton's steps.

    The targets are not quite 0 and 1, so that the minimum is attained. There are two unknowns and a
    pair of classes has few samples: a general fit would take most of the time of the machines.
    """
    target = np.where(first, (first.sum() + 1) / (first.sum() + 2), 1 / ((~first).sum() + 2))
    s, size = weights[numbers] / weights[numbers].sum(), float(np.std(scores))
    if np.ptp(scores) == 0 or not size > 0:
        share = float(s @ target)
        return 0.0, float(np.log(1 / share - 1))
    middle = float(np.mean(scores))
    rows = np.stack([(scores - middle) / size, np.ones(scores.size)])

    def cost(z: Array) -> float:
        return float(s @ (np.logaddexp(0.0, z) - target * z))

    w, z = np.zeros(2), np.zeros(scores.size)
    for _ in range(_STEPS):
        p = expit(z)
        slope = rows @ (s * (p - target))
        step = np.linalg.solve((rows * (s * p * (1 - p) + _FLAT)) @ rows.T, -slope)
        gain = -float(slope @ step)
        if gain <= _SETTLED:
            break
        change, before, t = step @ rows, cost(z), 1.0
        while t > _SETTLED and cost(z + t * change) > before - 1e-4 * t * gain:  # Armijo's share
            t *= 0.5
        w, z = w + t * step, z + t * change
    slant = float(w[0]) / size
    return -slant, middle * slant - float(w[1])
