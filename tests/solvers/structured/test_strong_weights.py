"""The joint curvature of strong weights is that of tokens between known neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from minimand.design import as_design
from minimand.solvers.base import Control
from minimand.solvers.structured.crf import penalised
from minimand.solvers.structured.crf.chains import train_crf
from minimand.solvers.structured.crf.strong_weights import StrongMetric
from minimand.solvers.structured.problem import ChainProblem


def _problem(observed: bool, seed: int = 0, d: int = 700, k: int = 3) -> ChainProblem:
    """More columns than blocks of labels are made for, of which most occur a few times."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, size=60)
    n = int(lengths.sum())
    often = 1.0 / np.arange(1, d + 1)
    X = sparse.csr_array((rng.random((n, d)) < often) * rng.uniform(0.5, 1.5, size=(n, d)))
    y = rng.integers(k, size=n)
    present = None
    if observed:
        present = np.asarray(X.T @ np.eye(k)[y]) > 0
    mass = rng.uniform(0.5, 1.5, size=lengths.size)
    return ChainProblem(
        as_design(X),
        np.append(0, np.cumsum(lengths)).astype(np.int64),
        y.astype(np.int64),
        k,
        mass / mass.sum(),
        l2=0.02,
        present=present,
    )


def _enumerated(problem: ChainProblem, p: np.ndarray) -> np.ndarray:
    """Σ mass·(Σ p f fᵀ − g gᵀ) over all weights, from dense features of every token."""
    k, layout = problem.n_labels, problem.layout
    X = problem.design.by_row.toarray()
    found = np.zeros((layout.size, layout.size))
    for first, last in zip(problem.offsets[:-1], problem.offsets[1:]):
        for t in range(first, last):
            rows = np.zeros((k, layout.size))
            for c in range(k):
                table, steps = np.zeros(layout.shape), np.zeros((k, k))
                table[:, c] = X[t]
                if t > first:
                    steps[problem.labels[t - 1], c] += 1
                if t + 1 < last:
                    steps[c, problem.labels[t + 1]] += 1
                coef = table.reshape(-1)
                coef = coef if layout.coef is None else coef[layout.coef]
                rows[c, : coef.size] = coef
                rows[c, coef.size : coef.size + k * k] = steps.reshape(-1)
            mean = p[t] @ rows
            found += problem.token_mass[t] * ((rows.T * p[t]) @ rows - np.outer(mean, mean))
    return found


@pytest.mark.parametrize("observed", [False, True])
def test_curvature_is_that_of_tokens_between_known_neighbours(observed):
    problem = _problem(observed)
    sparse_slope = penalised.ChainModel(problem).likelihood.direct
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(problem.n_labels), size=problem.n_tokens)
    p = np.maximum(p, 0.01)
    p /= p.sum(axis=1, keepdims=True)
    chosen = np.sort(rng.choice(sparse_slope.together, size=60, replace=False))
    chosen = np.union1d(chosen, problem.layout.sizes[0] + np.arange(problem.n_labels**2))
    rows = np.arange(problem.n_tokens)
    found = sparse_slope.curvature(chosen, rows, problem.token_mass, p)
    expected = _enumerated(problem, p)[np.ix_(chosen, chosen)]
    np.testing.assert_allclose(np.tril(found), np.tril(expected), atol=1e-12)


@pytest.mark.parametrize("observed", [False, True])
def test_the_metric_is_symmetric_and_positive(observed):
    problem = _problem(observed)
    model = penalised.ChainModel(problem)
    zero = np.zeros(problem.layout.size)
    assert not isinstance(model.metric(model.scored(zero).terms), StrongMetric)  # soon untrue
    near = 0.01 * np.random.default_rng(3).normal(size=zero.size)
    metric = model.metric(model.scored(near).terms)
    assert isinstance(metric, StrongMetric)
    images = np.array([metric.solve(row) for row in np.eye(problem.layout.size)])
    np.testing.assert_allclose(images, images.T, atol=1e-9)
    assert np.linalg.eigvalsh(images).min() >= -1e-9


@pytest.mark.parametrize("observed", [False, True])
def test_the_optimum_does_not_depend_on_the_metric(observed, monkeypatch):
    problem = _problem(observed, seed=2)
    found = train_crf(problem, Control(tol=1e-8)).certificate
    monkeypatch.setattr(penalised, "with_strong_weights", lambda metric, *others: metric)
    plain = train_crf(problem, Control(tol=1e-8)).certificate
    assert found.gap <= 1e-8 * np.log(3) * 10
    assert plain.dual <= found.primal
    assert found.primal == pytest.approx(plain.primal, rel=1e-7)
