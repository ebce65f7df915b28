"""The last digits of an optimum."""

from __future__ import annotations

import numpy as np

from .formulas import LD, ld


def polish(problem, w, b, scale, rounds=60):
    """Newton on the support, gradients in extended precision, steps in double precision."""
    w, b = ld(w).copy(), LD(b)
    size = np.abs(w) * scale
    l1, l2 = ld(problem.l1), ld(problem.l2)
    biggest = size.max(initial=0.0)
    w[(l1 > 0) & (size <= 1e-7 * max(biggest, 1e-12))] = 0
    y, m, f = ld(problem.y), problem.mass, problem.formula
    value = problem.primal(w, b)
    damp = 0.0
    for _ in range(rounds):
        S = np.flatnonzero((w != 0) | (l1 == 0))
        z = problem.scores(w, b)
        g, h = m * f.slope(z, y), m * f.bend(z, y)
        A = problem.Xl[:, S]
        if problem.intercept:
            A = np.column_stack([A, np.ones(len(y), dtype=LD)])
        grad = A.T @ g
        reg = np.zeros(A.shape[1], dtype=LD)
        reg[: S.size] = l2[S]
        grad[: S.size] += l2[S] * w[S] + l1[S] * np.sign(w[S])
        if not A.shape[1]:
            break
        H = np.asarray((A.T * (h + damp * m)) @ A + np.diag(reg), dtype=float)
        d = np.sqrt(np.maximum(np.diag(H), 1e-300))
        step = -np.linalg.lstsq(H / np.outer(d, d), np.asarray(grad, float) / d, rcond=1e-14)[0] / d
        step = ld(step)
        t, moved = LD(1), False
        for _ in range(12):
            nw = w.copy()
            nw[S] += t * step[: S.size]
            crossed = (l1 > 0) & (nw * w < 0)
            nw[crossed] = 0
            nb = b + t * step[-1] if problem.intercept else b
            new = problem.primal(nw, nb)
            if new < value:
                moved = True
                break
            t /= 2
        if not moved:
            if damp > 1:
                break
            damp = max(100 * damp, 1e-6)
            continue
        damp = damp / 10 if damp > 1e-9 else 0.0
        w, b, value = nw, nb, new
    return w, b
