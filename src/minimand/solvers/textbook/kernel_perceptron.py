"""The perceptron on a kernel: f = Σ aᵢ·k(xᵢ, x) + b, whose coefficients are signed mistakes.

    a mistake is  yᵢ·f(xᵢ) ≤ 0,  and then  aᵢ ← aᵢ + yᵢ,  b ← b + yᵢ

Scores are sums of values of the kernel, so that they are exact where these are whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.typing import AnyArray, Array
from ...kernels import Kernel
from .perceptron import Trace

_LARGEST_GRAM = 1e9  # bytes of a kernel matrix that is kept; safeguard: else a column per mistake
_STRIDE = 512  # samples whose scores are looked at together; safeguard


class KernelMachine:
    """A perceptron on samples with labels ±1 that knows them through a kernel alone."""

    def __init__(self, kernel: Kernel, x: Any, signs: Array, intercept: bool) -> None:
        self.kernel, self.x, self.signs, self.intercept = kernel, x, signs, intercept
        n = signs.size
        self.gram = kernel.gram(x) if 8 * n * n <= _LARGEST_GRAM else None
        self.scores, self.b = np.zeros(n), 0.0
        self.counts = np.zeros(n)
        self._steps: list[tuple[int, float, bool, Array, float]] = []

    @property
    def model(self) -> tuple[Array, float]:
        """The scores of all samples without b, which determine f in their span, and b."""
        return self.scores.copy(), self.b

    @property
    def coefficients(self) -> Array:
        """a, the signed mistakes."""
        return self.counts * self.signs + 0.0  # which makes 0 of −0

    def one_pass(self, order: AnyArray, traced: int) -> int:
        """The mistakes of a pass; steps are traced until there are ``traced`` of them."""
        before = self.counts.sum()
        wanted = max(0, min(traced - len(self._steps), order.size))
        for i in order[:wanted]:
            score = float(self.scores[i]) + self.b
            mistake = bool(self.signs[i] * score <= 0)
            self._steps.append((int(i), score, mistake, self.coefficients, self.b))
            if mistake:
                self._learn(int(i))
        place = wanted
        while place < order.size:
            some = order[place : place + _STRIDE]
            wrong = self.signs[some] * (self.scores[some] + self.b) <= 0
            first = int(np.argmax(wrong))
            if not wrong[first]:
                place += some.size
                continue
            self._learn(int(some[first]))
            place += first + 1
        return int(self.counts.sum() - before)

    def _learn(self, i: int) -> None:
        """One update, on a mistake."""
        if self.gram is None:
            column = self.kernel.block(self.x, self.x[i : i + 1])[:, 0]
        else:
            column = self.gram[i]
        self.scores += self.signs[i] * column
        self.b += float(self.signs[i]) if self.intercept else 0.0
        self.counts[i] += 1.0

    @property
    def trace(self) -> Trace:
        """The traced steps; their w is a."""
        return Trace.of(self._steps, self.counts.size)
