"""The optimum of small problems with a trace norm by Clarabel: a semidefinite program.

‖W‖_tr is the least ½(tr A + tr B) over symmetric A, B for which [[A, W], [Wᵀ, B]] is positive
semidefinite.
"""

import clarabel
import numpy as np
from shapes_oracle import LOSSES, Program


def optimum(objective, X, loss, delta=1.0, q=0.5):
    """(w, b) at the optimum of Σ mass·loss + Ω(W), z = X W + b, Ω a function of singular values.

    ``loss`` is "softmax", or one of "squared", "huber" and "quantile" summed over the scores.
    """
    program, form = Program(), objective.penalty.singular_values
    (n, d), k = X.shape, objective.n_scores
    w = program.variables(d * k, curve=form.l2).reshape(d, k)
    b = program.variables(k if objective.intercept else 0)
    offset = np.zeros((n, k)) if objective.offset is None else objective.offset
    _trace_norm(program, w, form)

    def score(i, c, sign=1.0):
        terms = [(w[j, c], sign * X[i, j]) for j in range(d)]
        return terms + [(place, sign) for place in b[c : c + 1]], sign * offset[i, c]

    if loss in LOSSES:
        LOSSES[loss](program, objective, score)
    else:
        _distances(program, objective, score, loss, delta, q)
    x = program.solve()
    return x[w.ravel()].reshape(d, k), x[b] if b.size else np.zeros(k)


def _trace_norm(program, w, form):
    d, k = w.shape
    size = d + k
    (total,) = program.variables(1, cost=form.l1, curve=form.square)
    sides = {(i, j): program.variables(1)[0] for j in range(size) for i in range(j + 1)
             if not i < d <= j}  # fmt: skip
    rows = []
    for j in range(size):
        for i in range(j + 1):
            place = w[i, j - d] if i < d <= j else sides[i, j]
            rows.append(([(place, 1.0 if i == j else np.sqrt(2.0))], 0.0))
    program.inside(clarabel.PSDTriangleConeT(size), *rows)
    traces = [(sides[i, i], -0.5) for i in range(size)]
    program.inside(clarabel.ZeroConeT(1), ([(total, 1.0), *traces], 0.0))


def _distances(program, objective, score, loss, delta, q):
    # A residual is a smooth part of cost ½a² and a part whose slopes are straight.
    for i, mass in enumerate(objective.mass):
        for c in range(objective.n_scores):
            terms, constant = score(i, c)
            y = objective.y[i, c] if objective.y.ndim > 1 else objective.y[i]
            parts = []
            if loss in ("squared", "huber"):
                parts.append((program.variables(1, curve=mass)[0], -1.0))
            if loss in ("huber", "quantile"):
                costs = (delta, delta) if loss == "huber" else (1.0 - q, q)
                for cost, sign in zip(costs, (1.0, -1.0)):
                    (part,) = program.variables(1, cost=mass * cost)
                    program.inside(clarabel.NonnegativeConeT(1), ([(part, 1.0)], 0.0))
                    parts.append((part, -sign))
            program.inside(clarabel.ZeroConeT(1), ([*terms, *parts], constant - y))
