"""Rows of programs that are eliminated: the same as the rows written out."""

import numpy as np

from minimand.solvers.programs.quadratic_program import Rows, RowsWithSizes, minimise_quadratic


def test_sizes_and_slacks_are_eliminated_exactly():
    rng = np.random.default_rng(0)
    B, groups = rng.normal(size=(7, 3)), np.array([0, 0, 1, 1, 1, 2, 2])
    slacks, eye = np.eye(3)[groups], np.eye(3)
    none = np.zeros((3, 3))
    whole = np.block([[B, -slacks, np.zeros((7, 3))], [eye, none, -eye], [-eye, none, -eye]])
    short = RowsWithSizes(B, groups, 3)
    x, multipliers = rng.normal(size=9), rng.uniform(0.1, 1.0, size=13)
    np.testing.assert_allclose(short.times(x), whole @ x)
    np.testing.assert_allclose(short.transposed(multipliers), whole.T @ multipliers)
    quadratic = np.array([0.3, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    normal = whole.T @ (multipliers[:, None] * whole) + np.diag(quadratic)
    found = short.solver(multipliers, quadratic)(x)
    np.testing.assert_allclose(found, np.linalg.solve(normal, x), rtol=1e-6)
    limits = np.concatenate([-rng.uniform(0.5, 1.0, size=7), np.zeros(6)])
    linear = np.concatenate([np.zeros(3), np.ones(3), np.full(3, 0.2)])
    one, two = (
        minimise_quadratic(quadratic, linear, rows, limits) for rows in (short, Rows(whole))
    )
    np.testing.assert_allclose(one.x, two.x, atol=1e-6)
    np.testing.assert_allclose(one.multipliers, two.multipliers, atol=1e-6)
