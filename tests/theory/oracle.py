"""An independent referee: formulas in extended precision, optima by Clarabel and Newton.

Nothing here uses minimand's own formulas. A problem is

    P(w, b) = Σ mᵢ ℓ(zᵢ, yᵢ) + Σ l1ⱼ|wⱼ| + ½ Σ l2ⱼwⱼ²,   z = offset + X w + b,   m = s/Σs,

and `optimum` returns a point whose own duality gap, in extended precision, says how good it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import clarabel
import numpy as np
from scipy import sparse

LD = np.longdouble
EPS = float(np.finfo(float).eps)


def _ld(x):
    return np.asarray(x, dtype=LD)


def _softplus(z):
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def _sigmoid(z):
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1 / (1 + e), e / (1 + e))


def _xlogx(p):
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), LD(0))


class Formula:
    """A loss by hand: value, slope, bend, conjugate (inf outside its domain)."""

    def __init__(self, value, slope, bend, conjugate, clip):
        self.value, self.slope, self.bend = value, slope, bend
        self.conjugate, self.clip = conjugate, clip


def _entropy(p):
    return _xlogx(p) + _xlogx(1 - p)


def huber(delta=1.0):
    def value(z, y):
        r = np.abs(z - y)
        return np.where(r <= delta, r * r / 2, delta * r - LD(delta) ** 2 / 2)

    return Formula(
        value,
        lambda z, y: np.clip(z - y, -delta, delta),
        lambda z, y: (np.abs(z - y) <= delta).astype(LD),
        lambda u, y: np.where(np.abs(u) <= delta * (1 + 1e-15), u * u / 2 + u * y, np.inf),
        lambda u, y: np.clip(u, -delta, delta),
    )


FORMULAS = {
    "squared": Formula(
        lambda z, y: (z - y) ** 2 / 2,
        lambda z, y: z - y,
        lambda z, y: np.ones_like(z),
        lambda u, y: u * u / 2 + u * y,
        lambda u, y: u,
    ),
    "huber": huber(1.0),
    "poisson": Formula(
        lambda z, y: np.exp(z) - y * z + _xlogx(y) - y,
        lambda z, y: np.exp(z) - y,
        lambda z, y: np.exp(z),
        lambda u, y: np.where(
            u + y >= -1e-15 * y, _xlogx(np.maximum(u + y, 0)) - u - _xlogx(y), np.inf
        ),
        lambda u, y: np.maximum(u, -y),
    ),
    "cross_entropy": Formula(
        lambda z, y: _softplus(z) - y * z + _entropy(y),
        lambda z, y: _sigmoid(z) - y,
        lambda z, y: _sigmoid(z) * _sigmoid(-z),
        lambda u, y: np.where(
            np.abs(u + y - 0.5) <= 0.5 + 1e-15,
            _entropy(np.clip(u + y, 0, 1)) - _entropy(y),
            np.inf,
        ),
        lambda u, y: np.clip(u + y, 0, 1) - y,
    ),
    "logistic": Formula(
        lambda z, y: _softplus(-y * z),
        lambda z, y: -y * _sigmoid(-y * z),
        lambda z, y: _sigmoid(z) * _sigmoid(-z),
        lambda u, y: np.where(
            np.abs(-y * u - 0.5) <= 0.5 + 1e-15, _entropy(np.clip(-y * u, 0, 1)), np.inf
        ),
        lambda u, y: -y * np.clip(-y * u, 0, 1),
    ),
    "squared_hinge": Formula(
        lambda z, y: np.maximum(1 - y * z, 0) ** 2,
        lambda z, y: -2 * y * np.maximum(1 - y * z, 0),
        lambda z, y: 2 * (y * z < 1).astype(LD),
        lambda u, y: np.where(y * u <= 0, y * u + u * u / 4, np.inf),
        lambda u, y: y * np.minimum(y * u, 0),
    ),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything the objective is made of, dense."""

    loss: str | Formula
    X: np.ndarray
    y: np.ndarray
    l1: np.ndarray
    l2: np.ndarray
    intercept: bool = True
    weight: np.ndarray | None = None
    offset: np.ndarray | None = None
    lo: float = -np.inf  # bounds of every coefficient
    hi: float = np.inf
    ball: tuple[int, float] | None = None  # the norm, 1 or 2, and its largest value

    @property
    def formula(self) -> Formula:
        return FORMULAS[self.loss] if isinstance(self.loss, str) else self.loss

    @cached_property
    def mass(self):
        s = _ld(np.ones(len(self.y)) if self.weight is None else self.weight)
        return s / s.sum()

    @cached_property
    def shift(self):
        return LD(0) if self.offset is None else _ld(self.offset)

    @cached_property
    def Xl(self):
        return _ld(self.X)

    def scores(self, w, b):
        return self.shift + self.Xl @ _ld(w) + LD(b)

    def primal(self, w, b=0.0) -> LD:
        """P(w, b) in extended precision."""
        w = _ld(w)
        loss = self.mass @ self.formula.value(self.scores(w, b), _ld(self.y))
        return loss + _ld(self.l1) @ np.abs(w) + _ld(self.l2) @ (w * w) / 2

    def noise(self, w, b) -> float:
        """Rounding of the objective in double precision: eps × the numbers it is made of."""
        y, z = _ld(self.y), self.scores(w, b)
        reach = np.abs(self.Xl) @ np.abs(_ld(w)) + abs(LD(b)) + np.abs(self.shift)
        size = np.abs(self.formula.slope(z, y)) * (reach + np.abs(y)) + np.abs(
            self.formula.value(z, y)
        )
        if self.loss == "cross_entropy":
            size = size + 1 + np.abs(y * z)
        elif self.loss == "poisson":
            size = size + np.exp(z) + np.abs(y * z) + np.abs(_xlogx(y)) + y
        return 16 * EPS * float(self.mass @ size)

    @cached_property
    def null_intercept(self) -> float:
        """A b that is nearly the best one for w = 0, by bisection on the slope."""
        if not self.intercept:
            return 0.0
        y, lo, hi = _ld(self.y), LD(-1), LD(1)
        with np.errstate(all="ignore"):

            def slope(b):
                return self.mass @ self.formula.slope(self.shift + b + 0 * y, y)

            while slope(lo) > 0 and lo > -1e12:
                lo *= 4
            while slope(hi) < 0 and hi < 1e12:
                hi *= 4
            for _ in range(100):
                middle = (lo + hi) / 2
                lo, hi = (middle, hi) if slope(middle) < 0 else (lo, middle)
        return float((lo + hi) / 2)

    def gap(self, w, b, theta) -> LD:
        """The Fenchel-Young gap of a point and multipliers, scaled into the l1 box; inf if none.

        Σu and the slope on free columns must vanish; what rounding leaves of them is charged at
        the size of w and b.
        """
        w, y, theta = _ld(w), _ld(self.y), _ld(theta)
        z = self.scores(w, b)
        v = self.Xl.T @ (self.mass * theta)
        l1, l2 = _ld(self.l1), _ld(self.l2)
        only = (l1 > 0) & (l2 == 0)
        over = only & (np.abs(v) > l1)
        s = np.min(l1[over] / np.abs(v[over])) if over.any() else LD(1)
        theta, v = s * theta, s * v
        term = self.formula.value(z, y) + self.formula.conjugate(theta, y) - theta * z
        excess = np.maximum(np.abs(v) - l1, 0)
        curved = l2 > 0
        omega = l1 * np.abs(w) + l2 * w * w / 2 + v * w
        omega[curved] += excess[curved] ** 2 / (2 * l2[curved])
        free = (l1 == 0) & ~curved
        omega[free] = np.abs(v * w)[free]
        total = self.mass @ term + omega.sum()
        if self.intercept:
            total += np.abs((self.mass @ theta) * (LD(b) + self.shift).mean())
        return total

    def optimum(self) -> tuple[np.ndarray, float, LD, LD]:
        """(w, b, P, slack): a point within `slack` of the optimum."""
        if not hasattr(self, "_found"):
            object.__setattr__(self, "_found", self._optimum())
        return self._found

    @np.errstate(over="ignore")
    def _optimum(self):
        scale = np.sqrt((self.X**2).mean(axis=0))
        scale[scale == 0] = 1.0
        w, b = conic(self, scale)
        if self.ball or self.lo > -np.inf or self.hi < np.inf:
            w = np.clip(w, self.lo, self.hi)
            if self.ball:
                w = w * min(1.0, self.ball[1] / max(np.linalg.norm(w, self.ball[0]), 1e-300))
            return w, b, self.primal(w, b), LD(np.nan)  # feasible: P bounds the optimum from above
        w, b = polish(self, w, b, scale)
        theta = self.formula.slope(self.scores(w, b), _ld(self.y))
        return w, b, self.primal(w, b), self.gap(w, b, theta)


def polish(problem, w, b, scale, rounds=60):
    """Newton on the support, gradients in extended precision, steps in double precision."""
    w, b = _ld(w).copy(), LD(b)
    size = np.abs(w) * scale
    l1, l2 = _ld(problem.l1), _ld(problem.l2)
    biggest = size.max(initial=0.0)
    w[(l1 > 0) & (size <= 1e-7 * max(biggest, 1e-12))] = 0
    y, m, f = _ld(problem.y), problem.mass, problem.formula
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
        step = _ld(step)
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


def conic(problem, scale):
    """Clarabel on the conic form, columns scaled to unit root mean square."""
    n, d = problem.X.shape
    m = np.asarray(problem.mass, float)
    y = np.asarray(problem.y, float)
    o = np.zeros(n) if problem.offset is None else problem.offset
    X = problem.X / scale
    l1, l2 = problem.l1 / scale, problem.l2 / scale**2
    k = int(problem.intercept)
    Z = np.hstack([X, np.ones((n, k))])  # z = o + Z v
    eye, zero = np.eye(n), np.zeros((n, n))
    nv = d + k
    name = problem.loss if isinstance(problem.loss, str) else "huber"
    P_parts, q_parts = [np.concatenate([l2, np.zeros(k)])], [np.zeros(nv)]
    rows, rhs, cones = [], [], []
    n_aux = {"squared": n, "huber": 3 * n, "squared_hinge": n}.get(name, 3 * n)
    if name == "poisson":
        n_aux = n
    width = nv + n_aux + d

    def add(block_v, block_aux, right, cone, block_abs=None):
        blocks = [block_v, block_aux]
        blocks.append(np.zeros((block_v.shape[0], d)) if block_abs is None else block_abs)
        rows.append(np.hstack(blocks))
        rhs.append(right)
        cones.append(cone)

    if name == "squared":
        P_parts.append(m)
        q_parts.append(np.zeros(n))
        add(Z, -eye, y - o, clarabel.ZeroConeT(n))  # r = z − y
    elif name == "huber":
        delta = 1.0 if isinstance(problem.loss, str) else problem.loss.clip(np.inf, 0.0)
        P_parts.append(np.concatenate([m, np.zeros(2 * n)]))  # e, s, v ≥ |s|
        q_parts.append(np.concatenate([np.zeros(2 * n), delta * m]))
        add(Z, np.hstack([-eye, -eye, zero]), y - o, clarabel.ZeroConeT(n))
        none = np.zeros((n, nv))
        add(none, np.hstack([zero, eye, -eye]), np.zeros(n), clarabel.NonnegativeConeT(n))
        add(none, np.hstack([zero, -eye, -eye]), np.zeros(n), clarabel.NonnegativeConeT(n))
    elif name == "squared_hinge":
        P_parts.append(2 * m)
        q_parts.append(np.zeros(n))
        add(np.zeros((n, nv)), -eye, np.zeros(n), clarabel.NonnegativeConeT(n))
        add(-y[:, None] * Z, -eye, y * o - 1, clarabel.NonnegativeConeT(n))
    elif name == "poisson":
        P_parts.append(np.zeros(n))
        q_parts.append(m)
        q_parts[0] = q_parts[0] - Z.T @ (m * y)
        for i in range(n):  # (z, 1, t) in the exponential cone
            a, b_ = np.zeros((3, width)), np.zeros(3)
            a[0, :nv], b_[0] = -Z[i], o[i]
            b_[1] = 1.0
            a[2, nv + i] = -1.0
            rows.append(a), rhs.append(b_), cones.append(clarabel.ExponentialConeT())
    else:  # softplus: t ≥ ln(1 + e^x)
        sign = -y if name == "logistic" else np.ones(n)
        P_parts.append(np.zeros(3 * n))
        q_parts.append(np.concatenate([m, np.zeros(2 * n)]))
        if name == "cross_entropy":
            q_parts[0] = q_parts[0] - Z.T @ (m * y)
        for i in range(n):
            for place, x, x0 in ((n, sign[i] * Z[i], sign[i] * o[i]), (2 * n, 0 * Z[i], 0.0)):
                a, b_ = np.zeros((3, width)), np.zeros(3)
                a[0, :nv], a[0, nv + i], b_[0] = -x, 1.0, x0
                b_[1] = 1.0
                a[2, nv + place + i] = -1.0
                rows.append(a), rhs.append(b_), cones.append(clarabel.ExponentialConeT())
        none, both = np.zeros((n, nv)), np.hstack([zero, eye, eye])
        add(none, both, np.ones(n), clarabel.NonnegativeConeT(n))
    P_parts.append(np.zeros(d))
    q_parts.append(l1)
    pick = np.hstack([np.eye(d), np.zeros((d, k))])
    blank = np.zeros((d, n_aux))
    add(pick, blank, np.zeros(d), clarabel.NonnegativeConeT(d), -np.eye(d))
    add(-pick, blank, np.zeros(d), clarabel.NonnegativeConeT(d), -np.eye(d))
    for bound, sign in ((problem.lo, -1), (problem.hi, 1)):
        if np.isfinite(bound):
            add(sign * pick, blank, sign * bound * scale, clarabel.NonnegativeConeT(d))
    if problem.ball and problem.ball[0] == 1:  # Σ of what |w| was replaced by ≤ r
        none = np.zeros((1, nv)), np.zeros((1, n_aux))
        right = np.array([problem.ball[1]])
        add(*none, right, clarabel.NonnegativeConeT(1), (1 / scale)[None, :])
    elif problem.ball:
        top = np.zeros((1, nv)), np.zeros((1, n_aux)), np.zeros((1, d))
        rows.append(np.hstack(top)), rhs.append(np.array([problem.ball[1]]))
        rows.append(np.hstack([-pick / scale[:, None], blank, np.zeros((d, d))]))
        rhs.append(np.zeros(d)), cones.append(clarabel.SecondOrderConeT(d + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags(np.concatenate(P_parts))),
        np.concatenate(q_parts),
        sparse.csc_matrix(np.concatenate(rows)),
        np.concatenate(rhs),
        cones,
        settings,
    ).solve()
    x = np.asarray(solution.x)
    w = x[:d] / scale
    b = float(x[d]) if k else 0.0
    return (w, b) if np.isfinite(x).all() else (np.zeros(d), 0.0)


def form_of(penalty, alpha, d):
    """(l1, l2) by the penalty's name: independent of minimand's own algebra."""
    ones, zeros = np.ones(d), np.zeros(d)
    weights = np.linspace(0.0, 2.0, d)  # includes a zero: an unpenalised column
    return {
        "l1": (alpha * ones, zeros),
        "l2": (zeros, alpha * ones),
        "mixed": (alpha * ones, 0.5 * alpha * ones),
        "none": (zeros, zeros),
        "weighted_l1": (alpha * weights, zeros),
        "weighted_l2": (zeros, alpha * weights),
    }[penalty]


def penalty_of(name, d):
    """minimand's object of that name."""
    import minimand as mm

    weights = np.linspace(0.0, 2.0, d)
    return {
        "l1": mm.L1(),
        "l2": mm.L2(),
        "mixed": mm.L1() + 0.5 * mm.L2(),
        "none": mm.NoPenalty(),
        "weighted_l1": mm.L1(weights),
        "weighted_l2": mm.L2(weights),
    }[name]


def check_certificate(problem, w, b, certificate, *, accuracy=1e-9, value=None):
    """dual ≤ optimum ≤ primal and gap ≥ P(model) − optimum; returns dual − optimum.

    ``accuracy`` is what rounding is allowed, relative to the size of the problem: a thousandth of
    the default tol. ``value`` is the best known objective, by default that of the reference. A
    value at any point is an upper bound of the optimum, so a dual above it is a false certificate
    whatever the quality of the reference.
    """
    w, b = np.ravel(w), float(np.ravel(b)[0])
    with np.errstate(over="ignore"):
        primal = problem.primal(w, b)
    if value is None:
        value = problem.optimum()[2]
    best = min(value, primal)
    null = problem.primal(np.zeros_like(w), problem.null_intercept)
    size = float(max(abs(primal), abs(null)))
    allowed = accuracy * size + 4 * certificate.rounding + problem.noise(w, b) + 1e-300
    assert abs(float(primal - LD(certificate.primal))) <= allowed, (
        f"primal {certificate.primal!r} is not the objective {float(primal)!r}"
    )
    assert certificate.gap >= 0
    assert not np.isnan(certificate.dual)
    excess = float(LD(certificate.dual) - best)
    assert excess <= allowed, (
        f"false certificate: dual {certificate.dual!r} > optimum {float(best)!r} by {excess:.3g}, "
        f"gap {certificate.gap:.3g}, rounding {certificate.rounding:.3g}"
    )
    true_gap = float(primal - best)
    assert true_gap <= certificate.gap + allowed, (
        f"gap {certificate.gap!r} is less than the true suboptimality {true_gap!r}"
    )
    if np.isinf(certificate.gap):
        assert certificate.infeasibility, "an infinite gap must say why"
    return excess
