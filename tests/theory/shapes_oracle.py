"""The optimum of small problems of any shape by Clarabel: epigraphs in cones."""

import clarabel
import numpy as np
from scipy import sparse


class Program:
    """minimise ½xᵀ diag(curve) x + cost·x with rows of x in cones; variables come one by one."""

    def __init__(self):
        self.cost, self.curve, self.parts = [], [], []

    def variables(self, count, cost=0.0, curve=0.0):
        start = len(self.cost)
        self.cost += list(np.broadcast_to(cost, count).astype(float))
        self.curve += list(np.broadcast_to(curve, count).astype(float))
        return np.arange(start, start + count)

    def inside(self, cone, *rows):
        """A row is (places with factors, a constant); the vector of rows lies in the cone."""
        self.parts.append((cone, rows))

    def solve(self):
        size = len(self.cost)
        matrix, right, cones = [], [], []
        for cone, rows in self.parts:
            cones.append(cone)
            for terms, constant in rows:
                row = np.zeros(size)
                for place, factor in terms:
                    row[place] -= factor
                matrix.append(row)
                right.append(constant)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, 1e-11)
        solver = clarabel.DefaultSolver(
            sparse.diags_array(self.curve).tocsc(), np.array(self.cost),
            sparse.csc_array(np.array(matrix)), np.array(right), cones, settings,
        )  # fmt: skip
        return np.array(solver.solve().x)


def optimum(objective, X, loss, *, norms=None, squares=None):
    """(w, b) at the optimum of Σ mass·loss + Σ normsⱼ‖Wⱼ‖ + ½ Σ squaresⱼ‖Wⱼ‖², z = X W + b.

    ``loss`` is one of "softmax", "margins", "quantiles", "run_squares", "run_maximum" and
    "largest".
    """
    program, k = Program(), objective.n_scores
    n, d = X.shape
    squares = np.zeros(d) if squares is None else np.broadcast_to(squares, d)
    w = program.variables(d * k, curve=np.repeat(squares, k)).reshape(d, k)
    b = program.variables(k if objective.intercept else 0)
    offset = np.zeros((n, k)) if objective.offset is None else objective.offset.reshape(n, k)

    def score(i, c, sign=1.0):
        terms = [(w[j, c], sign * X[i, j]) for j in range(d)]
        return terms + [(place, sign) for place in b[c : c + 1]], sign * offset[i, c]

    for j in np.flatnonzero(np.zeros(d) if norms is None else np.broadcast_to(norms, d)):
        top = program.variables(1, cost=np.broadcast_to(norms, d)[j])
        rows = [([(top[0], 1.0)], 0.0)] + [([(w[j, c], 1.0)], 0.0) for c in range(k)]
        program.inside(clarabel.SecondOrderConeT(k + 1), *rows)
    LOSSES[loss](program, objective, score)
    x = program.solve()
    found = x[w.ravel()].reshape(d, k), x[b] if b.size else np.zeros(k)
    return found if k > 1 else (found[0][:, 0], float(found[1][0]))


def _softmax(program, objective, score):
    # t ≥ log Σ e^{z_c}: Σ e^{z_c − t} ≤ 1.
    for i, mass in enumerate(objective.mass):
        (t,) = program.variables(1, cost=mass)
        shares = program.variables(objective.n_scores)
        for c, share in enumerate(shares):
            terms, constant = score(i, c)
            rows = ([*terms, (t, -1.0)], constant), ([], 1.0), ([(share, 1.0)], 0.0)
            program.inside(clarabel.ExponentialConeT(), *rows)
        program.inside(clarabel.NonnegativeConeT(1), ([(s, -1.0) for s in shares], 1.0))
        terms, _ = score(i, int(objective.y[i]))
        for place, factor in terms:
            program.cost[place] -= mass * factor


def _margins(program, objective, score):
    # The sum of the j largest max(0, t_c) is the least j·s + Σ max(0, t_c − s) over s ≥ 0.
    k = objective.n_scores
    weights, costs = objective.loss.order_weights(k), objective.loss.costs(k)
    falls = weights - np.append(weights[1:], 0.0)
    for i, mass in enumerate(objective.mass):
        label = int(objective.y[i])
        right, right_constant = score(i, label)
        for j in np.flatnonzero(falls):
            (level,) = program.variables(1, cost=mass * falls[j] * (j + 1))
            program.inside(clarabel.NonnegativeConeT(1), ([(level, 1.0)], 0.0))
            for c in range(k):
                if c == label:
                    continue
                (excess,) = program.variables(1, cost=mass * falls[j])
                program.inside(clarabel.NonnegativeConeT(1), ([(excess, 1.0)], 0.0))
                terms, constant = score(i, c, -1.0)
                row = [*terms, *right, (level, 1.0), (excess, 1.0)]
                constant += right_constant - costs[label, c]
                program.inside(clarabel.NonnegativeConeT(1), (row, constant))


def _quantiles(program, objective, score):
    for i, mass in enumerate(objective.mass):
        for c, q in enumerate(objective.loss.levels):
            (top,) = program.variables(1, cost=mass)
            for slope in (-q, 1.0 - q):  # slope·(z_c − y) ≤ top
                terms, constant = score(i, c, -slope)
                row = [*terms, (top, 1.0)], constant + slope * objective.y[i]
                program.inside(clarabel.NonnegativeConeT(1), row)


def _run_squares(program, objective, score):
    for mass, start, stop in zip(objective.mass, objective.units, objective.units[1:]):
        (mean,) = program.variables(1, curve=mass)
        terms, constant = [(mean, -1.0)], 0.0
        for i in range(start, stop):
            own, shift = score(i, 0)
            terms += [(place, factor / (stop - start)) for place, factor in own]
            constant += (shift - objective.y[i]) / (stop - start)
        program.inside(clarabel.ZeroConeT(1), (terms, constant))


def _run_maximum(program, objective, score):
    for mass, start, stop in zip(objective.mass, objective.units, objective.units[1:]):
        (top,) = program.variables(1, cost=mass)
        program.inside(clarabel.NonnegativeConeT(1), ([(top, 1.0)], 0.0))
        for i in range(start, stop):
            terms, constant = score(i, 0, -1.0)
            row = [*terms, (top, 1.0)], constant + objective.y[i]
            program.inside(clarabel.NonnegativeConeT(1), row)


def _largest(program, objective, score):
    (top,) = program.variables(1, cost=1.0)
    for i in range(objective.n_samples):
        for sign in (1.0, -1.0):
            terms, constant = score(i, 0, -sign)
            row = [*terms, (top, 1.0)], constant + sign * objective.y[i]
            program.inside(clarabel.NonnegativeConeT(1), row)


LOSSES = {
    "softmax": _softmax,
    "margins": _margins,
    "quantiles": _quantiles,
    "run_squares": _run_squares,
    "run_maximum": _run_maximum,
    "largest": _largest,
}
