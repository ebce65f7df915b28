"""Random small problems without y, whose optimum is known: by all partitions, or by eigenvalues.

`check(seed)` makes one problem, fits the models of the reverse form to it, and asserts that no
lower bound is above the optimum, that no objective is below it, and that nothing is proved
falsely. It returns what it has counted.
"""

import warnings
from collections import Counter
from functools import lru_cache

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm

TIGHT = 1e-9  # of the total; far above the rounding of a few dozen numbers
PROVED = 2e-6  # a gap of 1e-6 counts as none: of the objective of a clustering, else of the total
EXACT = 1e-13  # of the total: the rounding of the optimum itself


@lru_cache
def partitions(n, k):
    """Labels of all partitions of n rows into at most k clusters, (P, n)."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*some, c] for some in found for c in range(min(max(some) + 2, k))]
    return np.array(found)


@lru_cache
def indicators(n, k):
    """The same as matrices of zeros and ones, (P, k, n)."""
    return (partitions(n, k)[:, None, :] == np.arange(k)[None, :, None]).astype(float)


class Problem:
    """Rows with weights; of a kind that people have."""

    def __init__(self, seed):
        rng = np.random.default_rng([17, seed])
        n, d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
        if rng.random() < 0.5:
            X += 5.0 * np.abs(X).max() * rng.integers(0, 3, size=(n, 1))  # some groups
        if rng.random() < 0.3:
            X[rng.integers(n)] = X[rng.integers(n)]  # duplicates
        if rng.random() < 0.2:
            X[:, 0] = X[0, 0]  # a constant column
        if rng.random() < 0.2:
            X[rng.random(X.shape) < 0.4] = 0.0
        if rng.random() < 0.1:
            X += 1e3 * np.abs(X).max()
        if rng.random() < 0.25:
            X = X.astype(np.float32)
        self.weights = None
        if rng.random() < 0.5:
            self.weights = rng.integers(0, 4, size=n).astype(float)
            self.weights[rng.integers(n, size=2)] = 1.0
            if rng.random() < 0.5:
                self.weights *= 0.37
        self.exact = X.astype(float)
        self.X = sparse.csr_matrix(X) if rng.random() < 0.2 else X
        self.double = self.X.astype(float)
        s = np.ones(n) if self.weights is None else self.weights
        self.s, self.kept = s, s > 0
        heavy = int(self.kept.sum())
        self.k = int(rng.choice([1, heavy, min(2, heavy), min(3, heavy), min(4, heavy)]))
        self.seed = seed

    def best(self, K, kept):
        """The least Σ s‖φ − centre‖² over all partitions, and that of one cluster."""
        s = self.s[kept]
        middle = s @ K / s.sum()
        K = K - middle - middle[:, None] + float(s @ middle) / s.sum()  # so that little cancels
        Y = indicators(s.size, self.k) * s
        inner = np.einsum("pkn,nm,pkm->pk", Y, K, Y)
        volumes = Y.sum(axis=2)
        terms = np.divide(inner, volumes, out=np.zeros_like(inner), where=volumes > 0)
        total = float(s @ np.diag(K))
        return max(total - float(terms.sum(axis=1).max()), 0.0), total

    def best_cosine(self):
        """The least Σ s(1 − cos) over all partitions."""
        s, rows = self.s[self.kept], self.exact[self.kept]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        sums = np.einsum("pkn,nd->pkd", indicators(s.size, self.k) * s, unit)
        return float(s.sum()) - float(np.linalg.norm(sums, axis=2).sum(axis=1).max())

    def best_cut(self, K):
        """The least normalised cut over all partitions into exactly k clusters."""
        graph = K * np.outer(self.s, self.s)
        graph = graph[np.ix_(self.kept, self.kept)]
        Y = indicators(len(graph), self.k)
        Y = Y[(Y.sum(axis=2) > 0).all(axis=1)]
        inner = np.einsum("pkn,nm,pkm->pk", Y, graph, Y)
        return float((1.0 - inner / (Y @ graph.sum(axis=1))).sum(axis=1).min())


def holds(found, least, total, what):
    """The bound is below the optimum, and the objective is not; a proof is true."""
    slack = TIGHT * total + 4.0 * found.rounding
    assert found.dual <= least + slack, (what, found, least)
    assert found.primal >= least - slack, (what, found, least)
    assert found.dual <= found.primal, (what, found)
    if found.kind == "global":
        near = PROVED * total + slack
        if any(name in what[0] for name in ("Means", "Cut")):
            near = PROVED * found.primal + EXACT * total
            if least <= EXACT * total:  # clusters of equal rows: all of the objective is rounding
                near += slack
        assert found.primal <= least + near, (what, found, least)


def check(seed):
    """One problem, all models; the numbers of certificates by kind, and of tight bounds."""
    problem = Problem(seed)
    counts = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for what, found, least, total in certificates(problem):
            holds(found, least, total, (what, seed))
            counts[what, found.kind] += 1
            counts["in all"] += 1
            counts["optimal"] += found.primal <= least + PROVED * total
            counts["bound attained"] += found.dual >= least - PROVED * total
    return counts


def certificates(problem):
    """(name, certificate, optimum, objective of the trivial model) of every model."""
    yield from of_centres(problem)
    yield from of_kernels(problem)
    yield from of_components(problem)


def of_centres(problem):
    X, w, k, seed = problem.X, problem.weights, problem.k, problem.seed
    linear = problem.exact[problem.kept]
    centred = linear - linear.mean(axis=0)
    least, total = problem.best(centred @ centred.T, problem.kept)
    total += 1e-12 * float(problem.s @ (problem.exact**2).sum(axis=1))  # what is rounding
    for algorithm in ("auto", "hartigan", "minibatch"):
        model = mm.KMeans(k, algorithm=algorithm, random_state=seed).fit(X, sample_weight=w)
        yield f"KMeans {algorithm}", model.certificate_, least, total
        yield "KMeans judged", mm.certify(model, X, sample_weight=w), least, total
        proof = mm.certify(model, X, sample_weight=w, thorough=True)
        yield "KMeans thorough", proof, least, total
    divided = mm.Divisive(k, random_state=seed).fit(X, sample_weight=w)
    yield "Divisive", divided.certificate_, least, total
    cosine = mm.KMeans(k, distance="cosine", random_state=seed).fit(X, sample_weight=w)
    mass = float(problem.s.sum())
    for found in (cosine.certificate_, mm.certify(cosine, X, sample_weight=w)):
        yield "KMeans cosine", found, problem.best_cosine(), mass


def of_kernels(problem):
    X, w, k, seed = problem.X, problem.weights, problem.k, problem.seed
    kept = problem.kept
    kernel = mm.RBF(max(float(np.abs(problem.exact - problem.exact.mean(axis=0)).max()), 1e-6))
    K = kernel(problem.double)
    least, _ = problem.best(K[np.ix_(kept, kept)], kept)
    for rank in (None, 2):
        model = mm.KernelKMeans(k, kernel=kernel, rank=rank, random_state=seed)
        model.fit(X, sample_weight=w)
        noise = float(problem.s.sum())  # values of the kernel cancel where rows are close
        yield f"KernelKMeans {rank}", model.certificate_, least, noise
        yield "KernelKMeans judged", mm.certify(model, X, sample_weight=w), least, noise
        proof = mm.certify(model, X, sample_weight=w, thorough=True)
        yield "KernelKMeans thorough", proof, least, noise
    cut = mm.NormalizedCut(k, kernel=kernel, random_state=seed).fit(X, sample_weight=w)
    lowest = problem.best_cut(K)
    yield "NormalizedCut", cut.certificate_, lowest, float(k)
    proof = mm.certify(cut, X, sample_weight=w, thorough=True)
    yield "NormalizedCut thorough", proof, lowest, float(k)


def of_components(problem):
    X, w, seed = problem.X, problem.weights, problem.seed
    s, rows = problem.s[problem.kept], problem.exact[problem.kept]
    rows = rows - s @ rows / s.sum()
    values = np.linalg.svd(np.sqrt(s)[:, None] * rows, compute_uv=False) ** 2
    count = min(problem.k, values.size)
    scale, size = 0.5 / s.sum(), float(s @ (problem.exact[problem.kept] ** 2).sum(axis=1))
    least = scale * float(values[count:].sum())
    methods = ["auto", "covariance", "gram", "krylov", "power"]
    for method in methods:
        model = mm.PCA(count, method=method, random_state=seed).fit(X, sample_weight=w)
        for found in (model.certificate_, mm.certify(model, X, sample_weight=w)):
            yield f"PCA {method}", found, least, scale * size
    kernel = mm.RBF(max(float(np.abs(rows).max()), 1e-6))
    K = kernel(problem.double)[np.ix_(problem.kept, problem.kept)]
    middle = s @ K / s.sum()
    centred = K - middle - middle[:, None] + float(s @ middle) / s.sum()
    values = np.linalg.eigvalsh(centred * np.sqrt(np.outer(s, s)))[::-1]
    least = scale * float(np.maximum(values[count:], 0.0).sum())
    kernels = mm.KernelPCA(count, kernel).fit(X, sample_weight=w)
    for found in (kernels.certificate_, mm.certify(kernels, X, sample_weight=w)):
        yield "KernelPCA", found, least, 0.5
    if count < s.size:
        degrees = K @ s
        values = np.linalg.eigvalsh(K * np.sqrt(np.outer(s / degrees, s / degrees)))[::-1]
        least = count - float(values[1 : count + 1].sum())
        embedded = mm.NormalizedPCA(count, kernel).fit(X, sample_weight=w)
        for found in (embedded.certificate_, mm.certify(embedded, X, sample_weight=w)):
            yield "NormalizedPCA", found, least, float(count)
