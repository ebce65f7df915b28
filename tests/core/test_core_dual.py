"""Dual ascent over rows: what holds after any number of steps, in every type and order."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import minimand as mm
from minimand.design import AscentProblem, AscentState, as_design


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 15), st.integers(1, 9)),
    density=st.sampled_from([0.0, 0.3, 1.0]),
    kind=st.sampled_from(["rows", "columns", "csr", "csc"]),
    single=st.booleans(),
    wide=st.booleans(),
    equal=st.booleans(),
    intercept=st.booleans(),
    epochs=st.integers(0, 6),
)
def test_the_state_is_consistent(
    seed, shape, density, kind, single, wide, equal, intercept, epochs
):
    """w = −inverse·Xᵀ(mass·sign·v), slopes stay slopes of the loss, and the dual never falls."""
    rng = np.random.default_rng(seed)
    n, d = shape
    dense = rng.standard_normal(shape) * (rng.uniform(size=shape) < density)
    dense = dense.astype(np.float32 if single else np.float64)
    X = {"rows": dense, "columns": np.asfortranarray(dense)}.get(kind)
    if X is None:
        X = sp.csr_matrix(dense).asformat(kind)
        index = np.int64 if wide else np.int32
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    design, exact = as_design(X), dense.astype(float)
    inverse = np.array([2.0]) if equal else rng.uniform(0.5, 3.0, d)
    by_column = np.broadcast_to(inverse, d)
    squares = design.row_squares(inverse)
    np.testing.assert_allclose(squares, (exact**2 * by_column).sum(axis=1), rtol=1e-12)

    sign, mass = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 1.0, n)
    pieces = mm.Hinge().pieces
    problem = AscentProblem(
        pieces.parts, (sign, np.zeros(n), mass, squares), inverse, (intercept, 1.0)
    )
    bias = 0.5 if intercept else 0.0
    state = AscentState(
        np.zeros(n), np.zeros(d), np.arange(n, dtype=np.uint32), (0.0, bias, n, np.inf)
    )

    def dual(v):
        """−Σ mass·ψ*(v) − ½ Σ inverse·(Xᵀ(mass·sign·v))², ψ*(v) = v for the hinge."""
        image = exact.T @ (mass * sign * v)
        return -(mass @ v) - 0.5 * (by_column @ image**2)

    found = design.ascend(problem, state, epochs, 0.0, seed)
    image = exact.T @ (mass * sign * state.v)
    np.testing.assert_allclose(state.w, -by_column * image, atol=1e-9)
    assert (state.v >= -1.0).all()
    assert (state.v <= 0.0).all()
    assert sorted(state.order) == list(range(n))
    assert 0 <= found.memory[2] <= n
    if not intercept:
        before = state.v.copy()
        design.ascend(problem, state._replace(memory=found.memory), 1, 0.0, seed + 1)
        assert dual(state.v) >= dual(before) - 1e-12
