"""Stochastic training of several scores that one loss couples."""

import numpy as np
import pytest
import scipy.sparse as sp

import minimand as mm
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import Control, Sgd
from minimand.solvers.loop import solve


def classes(n=600, d=6, k=4):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    z = X / X.std(axis=0) @ rng.standard_normal((d, k))
    return X, np.argmax(z + rng.gumbel(size=z.shape), axis=1).astype(float)


def problem(X, y, penalty, alpha=1e-2, loss=None, **fields):
    loss = mm.Multinomial() if loss is None else loss
    k, design = loss.scores_for(int(y.max()) + 1), as_design(X)
    mass = loss.masses(fields.pop("weights", np.ones(len(y))))
    return Objective(
        loss=loss, penalty=penalty.bind((design.shape[1], k), alpha), design=design, y=y, mass=mass,
        n_scores=k, **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("step", "make"),
    [
        ("adaptive", np.asarray),
        ("adaptive", sp.csr_array),
        ("decay", sp.csr_array),
        ("pegasos", np.asarray),
    ],
)
def test_epochs_come_near_the_optimum(step, make):
    X, y = classes(400)
    X = X / X.std(axis=0) if step != "adaptive" else X
    best = solve(problem(X, y, mm.L2()), "newton").certificate.primal
    objective = problem(make(X), y, mm.L2())
    found = solve(objective, Sgd(step, epochs=20), Control(random_state=0)).certificate
    assert found.dual <= best + 1e-9
    assert found.primal - best <= 0.02 * objective.scale
    assert np.isfinite(found.gap)


@pytest.mark.parametrize("reference", [None, 1])
def test_a_reference_and_offsets(reference):
    X, y = classes()
    loss = mm.Multinomial(reference)
    offset = np.random.default_rng(1).standard_normal((len(y), loss.scores_for(4)))
    objective = problem(X, y, mm.L2(), loss=loss, offset=offset)
    best = solve(problem(X, y, mm.L2(), loss=loss, offset=offset), "newton").certificate.primal
    found = solve(objective, Sgd(epochs=20), Control(random_state=0)).certificate
    assert found.dual <= best + 1e-9
    assert found.primal - best <= 0.03 * objective.scale


def test_an_l1_part_makes_zeros():
    X, y = classes()
    X = np.hstack([X, np.random.default_rng(2).standard_normal((len(y), 10))])
    objective = problem(X, y, mm.L1(), alpha=0.05)
    found = solve(objective, Sgd(epochs=10), Control(random_state=0))
    zero = found.w == 0
    assert zero[6:].mean() > 0.5
    assert not zero[:6].all()
    assert found.certificate.primal < objective.null_primal


def test_balanced_epochs_and_early_stopping():
    X, y = classes()
    for options in ({"balanced": True}, {"early_stopping": True}):
        objective = problem(X, y, mm.L2())
        found = solve(objective, Sgd(epochs=10, **options), Control(random_state=0)).certificate
        assert found.primal < 0.8 * objective.null_primal


def test_a_penalty_that_differs_between_scores_is_refused():
    X, y = classes()
    objective = problem(X, y, mm.L2())
    l2 = objective.penalty.l2.copy()
    l2[:, 0] *= 2
    other = objective.with_penalty(type(objective.penalty)(objective.penalty.l1, l2))
    with pytest.raises(ValueError, match="differs between the scores"):
        solve(other, "sgd")
