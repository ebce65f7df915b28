"""Random losses of a user's own over k scores, and norms of a user's own of the matrix W."""

import numpy as np

import minimand as mm
from minimand.losses.curvature import Operator
from minimand.penalties import Penalty


class OfVector(mm.Loss):
    """height·φ((z − y)/width) for a convex φ of k numbers, as a user would write it."""

    target, joint = "vector", True

    def __init__(self, shape, width=1.0, height=1.0):
        self.shape = shape
        self.width = width
        self.height = height

    def value(self, z, y):
        return self.height * self.shape.value((z - y) / self.width)

    def gradient(self, z, y):
        return self.height / self.width * self.shape.slope((z - y) / self.width)

    def conjugate(self, u, y):
        v = u * self.width / self.height
        return self.height * self.shape.conjugate(v) + (u * y).sum(axis=1)

    def into_domain(self, u, y):
        return self.height / self.width * self.shape.inside(u * self.width / self.height)

    def infimum(self, y):
        return np.full(len(y), self.height * self.shape.least)


class WithCurvature(OfVector):
    """The same with the second derivative written down, too."""

    def curvature(self, z, y):
        blocks = self.height / self.width**2 * self.shape.bend((z - y) / self.width)
        bound = np.repeat(np.linalg.eigvalsh(blocks)[:, -1:], z.shape[1], axis=1)
        return Operator(lambda t: np.einsum("nce,ne->nc", blocks, t), np.maximum(bound, 0.0))


class Shape:
    """φ(A r) for one of the shapes below, A an invertible matrix."""

    least = 0.0

    def __init__(self, matrix):
        self.matrix = np.asarray(matrix, float)
        self.inverse = np.linalg.inv(self.matrix)

    def __repr__(self):
        return f"{type(self).__name__.lower()}(k={len(self.matrix)})"

    def value(self, r):
        return self.own_value(r @ self.matrix.T)

    def slope(self, r):
        return self.own_slope(r @ self.matrix.T) @ self.matrix

    def bend(self, r):
        inner = self.own_bend(r @ self.matrix.T)
        return np.einsum("ac,nab,be->nce", self.matrix, inner, self.matrix)

    def conjugate(self, v):
        return self.own_conjugate(v @ self.inverse)

    def inside(self, v):
        return self.own_inside(v @ self.inverse) @ self.matrix

    def own_inside(self, v):
        return v


class Parabola(Shape):
    """½‖t‖²."""

    def own_value(self, t):
        return 0.5 * (t * t).sum(axis=1)

    def own_slope(self, t):
        return t

    def own_bend(self, t):
        return np.broadcast_to(np.eye(t.shape[1]), (len(t), t.shape[1], t.shape[1]))

    def own_conjugate(self, v):
        return 0.5 * (v * v).sum(axis=1)


class Cone(Shape):
    """√(1 + ‖t‖²) − 1."""

    def own_value(self, t):
        return np.sqrt(1.0 + (t * t).sum(axis=1)) - 1.0

    def own_slope(self, t):
        return t / (1.0 + self.own_value(t))[:, None]

    def own_bend(self, t):
        v, s = self.own_slope(t), 1.0 + self.own_value(t)
        return (np.eye(t.shape[1]) - v[:, :, None] * v[:, None, :]) / s[:, None, None]

    def own_conjugate(self, v):
        inside = 1.0 - (v * v).sum(axis=1)
        return np.where(inside >= -1e-12, 1.0 - np.sqrt(np.maximum(inside, 0.0)), np.inf)

    def own_inside(self, v):
        return v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True) * (1 + 1e-14), 1.0)


class Ditch(Shape):
    """½·max(0, ‖t‖ − 1)²: flat near zero."""

    def own_value(self, t):
        return 0.5 * np.maximum(np.linalg.norm(t, axis=1) - 1.0, 0.0) ** 2

    def own_slope(self, t):
        size = np.linalg.norm(t, axis=1, keepdims=True)
        return t * np.maximum(1.0 - 1.0 / np.maximum(size, 1e-300), 0.0)

    def own_bend(self, t):
        size = np.maximum(np.linalg.norm(t, axis=1), 1e-300)[:, None, None]
        unit = t / size[:, :, 0]
        along = unit[:, :, None] * unit[:, None, :]
        return np.where(size > 1, np.eye(t.shape[1]) * (1 - 1 / size) + along / size, 0.0)

    def own_conjugate(self, v):
        size = np.linalg.norm(v, axis=1)
        return size + 0.5 * size**2


class Pillow(Shape):
    """‖t‖^p/p."""

    def __init__(self, matrix, p=3.0):
        super().__init__(matrix)
        self.p = p

    def own_value(self, t):
        return np.linalg.norm(t, axis=1) ** self.p / self.p

    def own_slope(self, t):
        size = np.maximum(np.linalg.norm(t, axis=1, keepdims=True), 1e-300)
        return t * size ** (self.p - 2.0)

    def own_bend(self, t):
        size = np.maximum(np.linalg.norm(t, axis=1), 1e-12)[:, None, None]
        unit = t / size[:, :, 0]
        along = unit[:, :, None] * unit[:, None, :]
        return size ** (self.p - 2.0) * (np.eye(t.shape[1]) + (self.p - 2.0) * along)

    def own_conjugate(self, v):
        q = self.p / (self.p - 1.0)
        return np.linalg.norm(v, axis=1) ** q / q


class Chains(Shape):
    """Σ log cosh t."""

    def own_value(self, t):
        return (np.abs(t) + np.log1p(np.exp(-2 * np.abs(t))) - np.log(2)).sum(axis=1)

    def own_slope(self, t):
        return np.tanh(t)

    def own_bend(self, t):
        return (1 - np.tanh(t) ** 2)[:, :, None] * np.eye(t.shape[1])

    def own_conjugate(self, v):
        inside = (np.abs(v) <= 1 + 1e-12).all(axis=1)
        v = np.clip(v, -1.0, 1.0)
        from scipy.special import xlogy

        terms = 0.5 * (xlogy(1 + v, 1 + v) + xlogy(1 - v, 1 - v))
        return np.where(inside, terms.sum(axis=1), np.inf)

    def own_inside(self, v):
        return np.clip(v, -1.0, 1.0)


class Steep(Shape):
    """Σ e^t − 1 − t: a curvature without a bound."""

    def own_value(self, t):
        return (np.expm1(t) - t).sum(axis=1)

    def own_slope(self, t):
        return np.expm1(t)

    def own_bend(self, t):
        return np.exp(t)[:, :, None] * np.eye(t.shape[1])

    def own_conjugate(self, v):
        from scipy.special import xlogy

        inside = (v >= -1 - 1e-12).all(axis=1)
        w = np.maximum(1 + v, 0.0)
        return np.where(inside, (xlogy(w, w) - v).sum(axis=1), np.inf)

    def own_inside(self, v):
        return np.maximum(v, -1.0)


class Shares(Shape):
    """log Σ e^t − mean t: does not see what is added to all numbers of a row."""

    def __init__(self, matrix):
        super().__init__(np.eye(len(matrix)))
        self.least = float(np.log(len(matrix)))

    def own_value(self, t):
        from scipy.special import logsumexp

        return logsumexp(t, axis=1) - t.mean(axis=1)

    def own_slope(self, t):
        from scipy.special import softmax

        return softmax(t, axis=1) - 1.0 / t.shape[1]

    def own_bend(self, t):
        from scipy.special import softmax

        p = softmax(t, axis=1)
        return p[:, :, None] * np.eye(t.shape[1]) - p[:, :, None] * p[:, None, :]

    def own_conjugate(self, v):
        from scipy.special import xlogy

        p = v + 1.0 / v.shape[1]
        off = np.abs(p.sum(axis=1) - 1.0) + np.maximum(-p, 0.0).sum(axis=1)
        p = np.maximum(p, 0.0)
        return np.where(off <= 1e-10, xlogy(p, p).sum(axis=1), np.inf)

    def own_inside(self, v):
        p = v + 1.0 / v.shape[1]
        ordered = -np.sort(-p, axis=1)
        level = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, p.shape[1] + 1)
        count = (ordered > level).sum(axis=1)
        level = np.take_along_axis(level, count[:, None] - 1, axis=1)
        return np.maximum(p - level, 0.0) - 1.0 / v.shape[1]


SHAPES = [Parabola, Cone, Ditch, Pillow, Chains, Steep, Shares]


def random_loss(rng, k):
    """One of these, with a matrix that is not too far from singular, at any scale."""
    kind = SHAPES[rng.integers(len(SHAPES))]
    matrix = np.linalg.qr(rng.standard_normal((k, k)))[0] * 10 ** rng.uniform(-1, 1, k)
    shape = kind(matrix, rng.uniform(1.3, 4.0)) if kind is Pillow else kind(matrix)
    form = OfVector if rng.random() < 0.5 else WithCurvature
    return form(shape, 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-2, 2))


# Norms of W -------------------------------------------------------------------------------------


class OfMatrix(Penalty):
    """A norm of the matrix W of all scores."""

    couples_scores = True


class Frobenius(OfMatrix):
    """‖W‖."""

    def value(self, w):
        return float(np.linalg.norm(w))

    def prox(self, w, step):
        size = np.linalg.norm(w)
        return w * max(1.0 - step / size, 0.0) if size > 0 else w


class RowLengths(OfMatrix):
    """Σ ‖W_j‖."""

    def value(self, w):
        return float(np.linalg.norm(w, axis=1).sum())

    def prox(self, w, step):
        size = np.linalg.norm(w, axis=1, keepdims=True)
        return w * np.maximum(1.0 - step / np.where(size > 0, size, np.inf), 0.0)


class RowTops(OfMatrix):
    """Σ max |W_jc|: by row, w minus its projection on an l1 ball."""

    def value(self, w):
        return float(np.abs(w).max(axis=1).sum())

    def prox(self, w, step):
        return np.array([row - projected(row, step) for row in w])


class Largest(OfMatrix):
    """max |W_jc|."""

    def value(self, w):
        return float(np.abs(w).max())

    def prox(self, w, step):
        return w - projected(w.ravel(), step).reshape(w.shape)


class Spectral(OfMatrix):
    """The largest singular value."""

    def value(self, w):
        return float(np.linalg.norm(w, 2))

    def prox(self, w, step):
        u, s, vt = np.linalg.svd(w, full_matrices=False)
        return (u * (s - projected(s, step))) @ vt


class Nuclear(OfMatrix):
    """The sum of the singular values."""

    def value(self, w):
        return float(np.linalg.svd(w, compute_uv=False).sum())

    def prox(self, w, step):
        u, s, vt = np.linalg.svd(w, full_matrices=False)
        return (u * np.maximum(s - step, 0.0)) @ vt


class LaterRows(RowLengths):
    """Σ ‖W_j‖ over all rows but the first, which is free."""

    def value(self, w):
        return super().value(w[1:])

    def prox(self, w, step):
        return np.vstack([w[:1], super().prox(w[1:], step)])


def projected(v, radius):
    """The nearest point with Σ|x| ≤ radius."""
    size = np.abs(v)
    if size.sum() <= radius:
        return v
    ordered = -np.sort(-size)
    level = (np.cumsum(ordered) - radius) / np.arange(1, v.size + 1)
    count = int((ordered > level).sum())
    return np.sign(v) * np.maximum(size - level[max(count, 1) - 1], 0.0)


NORMS = [Frobenius, RowLengths, RowTops, Largest, Spectral, Nuclear, LaterRows]


def random_penalty(rng):
    """A norm of one's own, or one of ours that takes a matrix; the solver it needs."""
    if rng.random() < 0.5:
        norm = NORMS[rng.integers(len(NORMS))]()
        norm = norm + 0.3 * mm.L2() if rng.random() < 0.3 else norm
        return norm, mm.solvers.Fista(restart=True)
    ours = [
        mm.L2(),
        mm.L1(),
        mm.L1() + 0.5 * mm.L2(),
        mm.L21(),
        mm.L21() + 0.5 * mm.L2(),
        mm.L21(squared=True),
        mm.L21(by="output"),
        mm.TraceNorm(),
        mm.TraceNorm(squared=True),
        mm.NoPenalty(),
    ]
    return ours[rng.integers(len(ours))], "auto"
