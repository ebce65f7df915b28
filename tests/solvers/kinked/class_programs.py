"""Problems of class margins for tests, and their optimum as a quadratic program."""

import clarabel
import numpy as np
from scipy import sparse

import minimand as mm
from score_problems import objective_of_scores

COST = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [1.0, 3.0, 0.0]])
LOSSES = [
    mm.CrammerSinger(),
    mm.CrammerSinger(COST),
    mm.Ranking(COST),
    mm.TopK(2),
    mm.WeightedRanking(),
]


def data(seed=0, n=40, d=5, k=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-0.5, 0.5, d) + 0.3
    y = np.argmax(X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k)), axis=1)
    y[:k] = np.arange(k)
    return X, y.astype(float)


def problem(
    loss, X, y, alpha=0.05, *, k=3, intercept=True, weights=None, offset=None, l2=None, penalty=None
):
    penalty, options = penalty or mm.L2(l2), {"offset": offset, "intercept": intercept}
    return objective_of_scores(loss, penalty, X, y, k, alpha, weights, **options)


def program_value(objective):
    """The optimum by Clarabel: ξ and λ of Σⱼ (aⱼ − aⱼ₊₁)·(j·λ + Σ_c max(0, t_c − λ)), all ≥ 0."""
    X = objective.design.rows(np.arange(objective.n_samples)).matvec(np.eye(objective.n_features))
    n, d, k = *X.shape, objective.n_scores
    weights, cost = objective.loss.order_weights(k), objective.loss.costs(k)
    steps = weights - np.append(weights[1:], 0.0)
    used = np.flatnonzero(steps)
    free = d * k + k * objective.intercept
    # |W|, then λ and k − 1 excesses for every row and step.
    free += d * k
    size = free + n * used.size * k
    linear, curve = np.zeros(size), np.zeros(size)
    form = objective.penalty.sum_over_features
    curve[: d * k] = form.l2.ravel()
    linear[free - d * k : free] = form.l1.ravel()
    rows, right = [], []
    for place in range(d * k):
        for sign in (1.0, -1.0):
            row = np.zeros(size)
            row[place], row[free - d * k + place] = sign, -1.0
            rows.append(row)
            right.append(0.0)
    for i, label in enumerate(objective.y.astype(int)):
        for place, j in enumerate(used):
            at = free + (i * used.size + place) * k
            linear[at] = objective.mass[i] * steps[j] * (j + 1)
            linear[at + 1 : at + k] = objective.mass[i] * steps[j]
            for slot, c in enumerate([c for c in range(k) if c != label]):
                row = np.zeros(size)  # t_c − λ − ξ_c ≤ 0
                row[np.arange(d) * k + c] += X[i]
                row[np.arange(d) * k + label] -= X[i]
                if objective.intercept:
                    row[d * k + c], row[d * k + label] = 1.0, -1.0
                row[at] = row[at + 1 + slot] = -1.0
                rows.append(row)
                shift = 0.0
                if objective.offset is not None:
                    shift = objective.offset[i, c] - objective.offset[i, label]
                right.append(-cost[label, c] - shift)
    matrix = sparse.vstack(
        [sparse.csc_array(np.array(rows)), -sparse.eye_array(size, format="csc")[free:]]
    ).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.diags_array(curve).tocsc(), linear, matrix,
        np.append(right, np.zeros(size - free)),
        [clarabel.NonnegativeConeT(matrix.shape[0])], settings,
    )  # fmt: skip
    return solver.solve().obj_val
