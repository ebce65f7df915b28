"""python -m bench.low_rank: trace-norm regression against a plain FISTA, to the same certified gap.

No library of those in `peers` has a trace norm, so the peer is the textbook method in a dozen lines
of NumPy: accelerated proximal gradient on the data, with a step of one over the largest eigenvalue.
Its number of steps is the least, within a fifth, that reaches the gap. It is timed twice: alone,
and with a judgement after every step to tell when to stop, which the fit of minimand pays for, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import minimand as mm

from .measures.timing import clock
from .problems import synthetic
from .problems.base import Array
from .problems.single import SEED

_GAP = 1e-5  # relative
_MORE = 1.2  # ratio of the numbers of steps that are tried
_MOST = 3000  # steps; beyond it the peer has not arrived


def data(n: int, d: int, k: int, rank: int = 10) -> tuple[Array, Array]:
    """Correlated columns, and k outputs from a few directions of them, with noise."""
    rng = np.random.default_rng(SEED + 70)
    X = synthetic.correlated(n, d, rng)
    W = rng.standard_normal((d, rank)) @ rng.standard_normal((rank, k)) / np.sqrt(d)
    return X, X @ W + 2.0 * rng.standard_normal((n, k))


class Fista:
    """The peer; columns are centred in place of an intercept."""

    def __init__(self, X: Array, Y: Array, alpha: float) -> None:
        self.alpha, self.shift = alpha, (X.mean(axis=0), Y.mean(axis=0))
        self.X, self.Y = X - self.shift[0], Y - self.shift[1]

    def fit(self, steps: int, judged: bool = False) -> tuple[float, float]:
        """The objective and the gap after some steps; with ``judged``, taken after each of them."""
        primal, gap = float("nan"), float("nan")
        for step, W in enumerate(self._iterates(steps)):
            if judged or step == steps - 1:
                primal, gap = self._judge(W)
        return primal, gap

    def model(self, steps: int) -> Array:
        """The coefficients after some steps, (d, k)."""
        return list(self._iterates(steps))[-1]

    def _iterates(self, steps: int) -> Iterator[Array]:
        n = len(self.X)
        top = 1.0001 * float(np.linalg.eigvalsh(self.X.T @ self.X / n)[-1])
        W = ahead = np.zeros((self.X.shape[1], self.Y.shape[1]))
        t = 1.0
        for _ in range(steps):
            slope = self.X.T @ (self.X @ ahead - self.Y) / n
            u, sigma, v = np.linalg.svd(ahead - slope / top, full_matrices=False)
            new = (u * np.maximum(sigma - self.alpha / top, 0.0)) @ v
            grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            ahead, W, t = new + (t - 1.0) / grown * (new - W), new, grown
            yield W

    def _judge(self, W: Array) -> tuple[float, float]:
        """P, and P − D for the residuals scaled to a slope of spectral norm alpha."""
        residual = self.X @ W - self.Y
        square = float(np.square(residual).sum()) / len(residual)
        slope = self.X.T @ residual / len(residual)
        size = self.alpha * float(np.linalg.svd(W, compute_uv=False).sum())
        s = min(1.0, self.alpha / float(np.linalg.norm(slope, 2)))
        gap = 0.5 * (1.0 - s) ** 2 * square + size + s * float(np.vdot(slope, W))
        return 0.5 * square + size, gap


def _steps(peer: Fista, scale: float) -> int | None:
    steps = 4
    while steps <= _MOST:
        if peer.fit(steps)[1] <= _GAP * scale:
            return steps
        steps = int(_MORE * steps) + 1
    return None


def _best(function: Any, repeats: int) -> float:
    return min(clock(function)[0].cpu for _ in range(repeats))


def main() -> None:
    """Print a table with a row for every alpha."""
    parser = argparse.ArgumentParser(prog="python -m bench.low_rank", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    n, d, k = (500, 40, 20) if options.quick else (5000, 200, 100)
    X, Y = data(n, d, k)
    model = mm.Regressor("squared", mm.TraceNorm(), tol=_GAP)
    top = mm.alpha_max(model, X, Y)
    scale = 0.5 * float(np.square(Y - Y.mean(axis=0)).sum()) / n
    print(f"{n}×{d} → {k}, relative gap {_GAP:g}; seconds of CPU time, best of {options.repeats}")
    print("| alpha/alpha_max | rank | minimand | its gap | FISTA | judged | steps | ratios |")
    print("|---|---|---|---|---|---|---|---|")
    for share in (0.3, 0.1, 0.03):
        model.set_params(alpha=share * top)
        peer = Fista(X, Y, share * top)
        steps = _steps(peer, scale)
        ours = _best(lambda: model.fit(X, Y), options.repeats)
        gap, rank = model.certificate_.relative, np.linalg.matrix_rank(model.coef_, rtol=1e-9)
        start = f"| {share:g} | {rank} | {ours:.3f} | {gap:.0e} |"
        if steps is None:
            print(f"{start} not in {_MOST} steps | | | |")
            continue
        alone = _best(partial(peer.fit, steps), options.repeats)
        judged = _best(partial(peer.fit, steps, judged=True), options.repeats)
        ratios = f"{ours / alone:.2f}, {ours / judged:.2f}"
        print(f"{start} {alone:.3f} | {judged:.3f} | {steps} | {ratios} |")


if __name__ == "__main__":
    main()
