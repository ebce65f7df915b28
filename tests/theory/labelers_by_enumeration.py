"""Random small problems of labelers, and their optima by enumeration of all labellings."""

from __future__ import annotations

from itertools import pairwise, product

import clarabel
import numpy as np
from scipy import optimize, sparse
from scipy.special import logsumexp

import minimand as mm

LOSSES = ["crf", "crf", "max_margin"]
PENALTIES = {"l2": (0, 1), "l1": (1, 0), "elastic_net": (0.5, 0.5), "no_penalty": (0, 0)}


def problem(seed):
    """A labeler with odd parameters, and odd data for it."""
    rng = np.random.default_rng(seed)
    k, d, u = int(rng.integers(2, 5)), int(rng.integers(1, 5)), int(rng.integers(1, 9))
    lengths = rng.integers(1, 5 if k > 2 else 6, size=u)
    X = [_rows(rng, int(length), d) for length in lengths]
    X = _odd_columns(rng, X)
    rare = rng.random() < 0.4
    p = np.array([1.0] + [0.15 if rare else 1.0] * (k - 1))
    y = [rng.choice(k, size=length, p=p / p.sum()).tolist() for length in lengths]
    if len({label for own in y for label in own}) < 2:
        y[0][0] = 1 - y[0][0] if y[0][0] < 2 else 0
    if len({label for own in y for label in own}) < 2:
        X.append(X[0].copy())
        y.append([1 - c if c < 2 else 0 for c in y[0]])
    loss = str(rng.choice(LOSSES))
    penalty = str(rng.choice([p for p in PENALTIES if loss == "crf" or p != "no_penalty"]))
    options = {
        "alpha": float(10.0 ** rng.uniform(-5, 1)),
        "ends": bool(rng.random() < 0.6),
        "transitions": str(rng.choice(["full", "full", "observed"])),
        "weights": str(rng.choice(["all", "all", "observed"])),
        "edge_features": [None, None, "later"][int(rng.integers(3))],
    }
    weights = None
    if rng.random() < 0.4:
        weights = rng.integers(0, 4, size=len(X)).astype(float)
        weights[:2] = 1.0
        kept = {c for own, s in zip(y, weights) if s for c in own}
        weights = weights if len(kept) > 1 else None
    labeler = mm.SequenceLabeler(loss, penalty, max_seconds=20, **options)
    as_csr = rng.random() < 0.3
    return labeler, [sparse.csr_array(x) for x in X] if as_csr else X, y, weights


def _rows(rng, length, d):
    kind = rng.random()
    if kind < 0.4:
        return rng.normal(size=(length, d))
    return (rng.random((length, d)) < 0.5).astype(float) if kind < 0.8 else np.ones((length, d))


def _odd_columns(rng, X):
    """Copies of a column, a constant one, and units of all sizes."""
    if rng.random() < 0.3:
        X = [np.column_stack([x, x[:, 0]]) for x in X]
    if rng.random() < 0.3:
        X = [np.column_stack([x, np.ones(len(x))]) for x in X]
    if rng.random() < 0.4:
        units = 10.0 ** rng.uniform(-4, 4, size=X[0].shape[1])
        X = [x * units for x in X]
    return X


class Enumerated:
    """The objective of a fitted labeler on its data, over all labellings, as a function of w.

    w holds coef (d, k), transitions (k, k), start, stop and the weights of edges (d, k, k); those
    that the labeler does not have are kept at zero by ``free``.
    """

    def __init__(self, model, X, y, weights):
        X = [x.toarray() if sparse.issparse(x) else x for x in X]
        self.model, classes = model, model.classes_.tolist()
        s = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
        kept = np.flatnonzero(s)
        self.mass = s[kept] / s[kept].sum()
        self.k, self.d = len(classes), X[0].shape[1]
        codes = [[classes.index(c) for c in y[i]] for i in kept]
        rows = [X[i] for i in kept]
        self.free = self._existing(rows, codes)
        self.phi, self.delta = [], []
        for x, gold in zip(rows, codes):
            labellings = [c for c in product(range(self.k), repeat=len(x)) if self._allowed(c)]
            phi = np.array([self._features(x, c) for c in labellings])
            self.phi.append((phi - self._features(x, gold)) * self.free)
            self.delta.append(np.array([np.sum(np.array(c) != gold) for c in labellings], float))

    def _allowed(self, c):
        m = self.model
        steps = np.isfinite([m.transitions_[a, b] for a, b in pairwise(c)]).all()
        return steps and np.isfinite(m.start_[c[0]]) and np.isfinite(m.stop_[c[-1]])

    def _features(self, x, c):
        k, d = self.k, self.d
        coef, steps = np.zeros((d, k)), np.zeros((k, k))
        start, stop, edge = np.zeros(k), np.zeros(k), np.zeros((d, k, k))
        for t, label in enumerate(c):
            coef[:, label] += x[t]
            if t:
                steps[c[t - 1], label] += 1
                edge[:, c[t - 1], label] += x[t]
        start[c[0]] += 1
        stop[c[-1]] += 1
        return np.concatenate([a.ravel() for a in (coef, steps, start, stop, edge)])

    def _existing(self, rows, codes):
        m, k, d = self.model, self.k, self.d
        coef, steps = np.ones((d, k), bool), np.isfinite(m.transitions_)
        if m.weights == "observed":
            coef, seen = np.zeros((d, k), bool), np.zeros((k, k), bool)
            for x, gold in zip(rows, codes):
                for t, label in enumerate(gold):
                    coef[:, label] |= x[t] != 0
                    if t:
                        seen[gold[t - 1], label] = True
            steps = steps & seen
        ends = np.full(k, bool(m.ends))
        edge = np.broadcast_to(steps & (m.edge_features is not None), (d, k, k))
        parts = (coef, steps, ends & np.isfinite(m.start_), ends & np.isfinite(m.stop_), edge)
        return np.concatenate([part.ravel() for part in parts])

    def weights(self):
        """Those of the labeler."""
        m = self.model
        tables = [np.where(np.isfinite(t), t, 0.0) for t in (m.transitions_, m.start_, m.stop_)]
        edge = getattr(m, "edge_coef_", None)
        edge = np.zeros((self.d, self.k, self.k)) if edge is None else edge
        return np.concatenate([a.ravel() for a in (m.coef_.T, *tables, edge)])

    def penalty(self):
        """l1 and l2, alpha included."""
        return [self.model.alpha * share for share in PENALTIES[self.model.penalty]]

    def smooth(self, w):
        """The mean negative log-likelihood with ½l2·‖w‖², and its slope."""
        l2 = self.penalty()[1]
        value, slope = 0.5 * l2 * float(w @ w), l2 * w
        for s, phi in zip(self.mass, self.phi):
            z = phi @ w
            value += s * logsumexp(z)
            slope = slope + s * (np.exp(z - logsumexp(z)) @ phi)
        return value, slope

    def value(self, w):
        """The objective."""
        l1, l2 = self.penalty()
        if self.model.loss == "crf":
            return self.smooth(w)[0] + l1 * np.abs(w).sum()
        parts = zip(self.mass, self.phi, self.delta)
        losses = [s * (phi @ w + cost).max() for s, phi, cost in parts]
        return sum(losses) + l1 * np.abs(w).sum() + 0.5 * l2 * float(w @ w)

    def least(self):
        """A value near the optimum: by SciPy from two starts, or by Clarabel."""
        if self.model.loss == "max_margin":
            return self._program()
        l1, size = self.penalty()[0], self.free.size
        options = {"maxiter": 5000, "maxfun": 50000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 30}

        def split(v):
            value, slope = self.smooth(v[:size] - v[size:])
            return value + l1 * v.sum(), np.concatenate([slope, -slope]) + l1

        found = []
        for start in (np.zeros(size), self.weights()):
            if l1:
                v = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
                bounds = [(0, None)] * (2 * size)
                run = optimize.minimize(split, v, jac=True, bounds=bounds, options=options)
            else:
                how = {"jac": True, "method": "L-BFGS-B", "options": options}
                run = optimize.minimize(self.smooth, start, **how)
            found.append(float(run.fun))
        return min(found)

    def _program(self):
        """min l1·Στ + ½l2·‖w‖² + Σ mass·ξ  where  ξ_i ≥ Δ + φ·w, τ ≥ |w|: the program itself."""
        (l1, l2), places = self.penalty(), np.flatnonzero(self.free)
        sizes = np.maximum(np.sqrt(sum((p[:, places] ** 2).sum(axis=0) for p in self.phi)), 1e-12)
        u, n = len(self.phi), places.size
        rows, right = [], []
        for i, (phi, cost) in enumerate(zip(self.phi, self.delta)):
            slack = np.zeros((phi.shape[0], u))
            slack[:, i] = -1.0
            rows.append(np.hstack([phi[:, places] / sizes, slack, np.zeros((cost.size, n))]))
            right.append(-cost)
        for sign in (1.0, -1.0):
            rows.append(np.hstack([sign * np.eye(n), np.zeros((n, u)), -np.eye(n)]))
            right.append(np.zeros(n))
        P = sparse.diags(np.concatenate([l2 / sizes**2, np.zeros(u + n)]), format="csc")
        q = np.concatenate([np.zeros(n), self.mass, l1 / sizes])
        A = sparse.csc_matrix(np.vstack(rows))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        b = np.concatenate(right)
        cones = [clarabel.NonnegativeConeT(b.size)]
        solution = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
        w = np.zeros(self.free.size)
        w[places] = np.array(solution.x[:n]) / sizes
        return self.value(w)
