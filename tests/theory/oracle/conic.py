"""The optimum by Clarabel, on the conic form of the problem.

Variables are v = (w in units of the columns, b), what the loss needs besides, and |w|; cones hold
right − rows @ variables.
"""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse


def conic(problem, scale):
    """(w, b), columns scaled to unit root mean square; zeros where Clarabel finds nothing."""
    program = Program(problem, scale)
    FORMS[problem.loss if isinstance(problem.loss, str) else "huber"](program)
    program.add_penalty()
    program.add_bounds()
    x = program.solve()
    if not np.isfinite(x).all():
        return np.zeros(program.d), 0.0
    return x[: program.d] / scale, float(x[program.d]) if problem.intercept else 0.0


class Program:
    """minimise ½xᵀ diag(P) x + q·x subject to cones; blocks are added one by one."""

    def __init__(self, problem, scale):
        self.problem, self.scale = problem, scale
        self.n, self.d = problem.X.shape
        self.m, self.y = np.asarray(problem.mass, float), np.asarray(problem.y, float)
        self.o = np.zeros(self.n) if problem.offset is None else problem.offset
        k = int(problem.intercept)
        self.Z = np.hstack([problem.X / scale, np.ones((self.n, k))])  # z = o + Z v
        self.pick = np.hstack([np.eye(self.d), np.zeros((self.d, k))])  # w = scale⁻¹ pick v
        self.linear, self.more = np.zeros(self.d + k), 0
        self.rows, self.right, self.cones = [], [], []

    def costs(self, curvature, slope):
        """Cost of the variables that the loss needs besides v; said before any row is added."""
        self.curvature, self.slope, self.more = curvature, slope, len(slope)

    def add(self, cone, right, v=None, more=None, size=None):
        """A cone whose rows see v, the loss's own variables and |w|; None is zero."""
        widths = (len(self.linear), self.more, self.d)
        blocks = [
            np.zeros((len(right), width)) if block is None else block
            for block, width in zip((v, more, size), widths)
        ]
        self.rows.append(np.hstack(blocks))
        self.right.append(right)
        self.cones.append(cone)

    def add_exponential(self, v, own, right, bound):
        """(v·variables + own + right, 1, bound) in the exponential cone."""
        along, above = np.zeros((3, len(self.linear))), np.zeros((3, self.more))
        along[0] = -v
        if own is not None:
            above[0, own] = 1.0
        above[2, bound] = -1.0
        self.add(clarabel.ExponentialConeT(), np.array([right, 1.0, 0.0]), along, above)

    def add_penalty(self):
        """|w| lies above w and −w."""
        for sign in (1, -1):
            cone = clarabel.NonnegativeConeT(self.d)
            self.add(cone, np.zeros(self.d), sign * self.pick, size=-np.eye(self.d))

    def add_bounds(self):
        """A box, and a ball of either norm."""
        problem, scale = self.problem, self.scale
        for bound, sign in ((problem.lo, -1), (problem.hi, 1)):
            if np.isfinite(bound):
                cone = clarabel.NonnegativeConeT(self.d)
                self.add(cone, sign * bound * scale, sign * self.pick)
        if not problem.ball:
            return
        norm, radius = problem.ball
        if norm == 1:
            cone = clarabel.NonnegativeConeT(1)
            self.add(cone, np.array([radius]), size=(1 / scale)[None, :])
        else:
            rows = np.vstack([np.zeros(len(self.linear)), -self.pick / scale[:, None]])
            self.add(clarabel.SecondOrderConeT(self.d + 1), np.eye(1, self.d + 1)[0] * radius, rows)

    def solve(self):
        """All variables."""
        l1, l2 = self.problem.l1 / self.scale, self.problem.l2 / self.scale**2
        free = np.zeros(len(self.linear) - self.d)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        P = np.concatenate([l2, free, self.curvature, np.zeros(self.d)])
        solution = clarabel.DefaultSolver(
            sparse.csc_matrix(sparse.diags(P)),
            np.concatenate([self.linear, self.slope, l1]),
            sparse.csc_matrix(np.concatenate(self.rows)),
            np.concatenate(self.right),
            self.cones,
            settings,
        ).solve()
        return np.asarray(solution.x)


def _squared(p):
    p.costs(p.m, np.zeros(p.n))
    p.add(clarabel.ZeroConeT(p.n), p.y - p.o, p.Z, -np.eye(p.n))  # r = z − y


def _huber(p):
    """r = e + s: e squared, s at the price δ·|s|."""
    named = isinstance(p.problem.loss, str)
    delta = 1.0 if named else p.problem.loss.clip(np.inf, 0.0)
    eye, zero = np.eye(p.n), np.zeros((p.n, p.n))
    p.costs(np.r_[p.m, np.zeros(2 * p.n)], np.r_[np.zeros(2 * p.n), delta * p.m])
    p.add(clarabel.ZeroConeT(p.n), p.y - p.o, p.Z, np.hstack([-eye, -eye, zero]))
    for sign in (1, -1):
        above = np.hstack([zero, sign * eye, -eye])
        p.add(clarabel.NonnegativeConeT(p.n), np.zeros(p.n), more=above)


def _squared_hinge(p):
    p.costs(2 * p.m, np.zeros(p.n))
    p.add(clarabel.NonnegativeConeT(p.n), np.zeros(p.n), more=-np.eye(p.n))
    p.add(clarabel.NonnegativeConeT(p.n), p.y * p.o - 1, -p.y[:, None] * p.Z, -np.eye(p.n))


def _poisson(p):
    """t ≥ e^z."""
    p.costs(np.zeros(p.n), p.m)
    p.linear = p.linear - p.Z.T @ (p.m * p.y)
    for i in range(p.n):
        p.add_exponential(p.Z[i], None, p.o[i], i)


def _softplus(p, sign):
    """t ≥ ln(1 + e^x), x = sign·z: e^{x − t} + e^{−t} ≤ 1."""
    p.costs(np.zeros(3 * p.n), np.r_[p.m, np.zeros(2 * p.n)])
    for i in range(p.n):
        p.add_exponential(sign[i] * p.Z[i], i, sign[i] * p.o[i], p.n + i)
        p.add_exponential(0 * p.Z[i], i, 0.0, 2 * p.n + i)
    eye, zero = np.eye(p.n), np.zeros((p.n, p.n))
    p.add(clarabel.NonnegativeConeT(p.n), np.ones(p.n), more=np.hstack([zero, eye, eye]))


def _cross_entropy(p):
    p.linear = p.linear - p.Z.T @ (p.m * p.y)
    _softplus(p, np.ones(p.n))


FORMS = {
    "squared": _squared,
    "huber": _huber,
    "squared_hinge": _squared_hinge,
    "poisson": _poisson,
    "cross_entropy": _cross_entropy,
    "logistic": lambda p: _softplus(p, -p.y),
}
