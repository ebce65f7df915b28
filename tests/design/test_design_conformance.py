"""All kinds of matrices against the dense formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import minimand as mm
from minimand.design import (
    Access,
    Block,
    DenseDesign,
    Design,
    Reach,
    SparseDesign,
    Standardized,
    as_design,
)
from minimand.problem.objective import Objective
from minimand.solvers import SOLVERS, Control, solve
from minimand.testing import check_design
from own_models import Cluster


class OnDisk(Design):
    """A design that only knows its shape and its blocks."""

    def __init__(self, x, size=7):
        self.x, self.size, self.shape = x, size, x.shape

    def blocks(self):
        for start in range(0, self.shape[0], self.size):
            rows = slice(start, min(start + self.size, self.shape[0]))
            yield Block(rows, self.x[rows])


def matrix(n=23, d=9, density=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    return x * (rng.uniform(size=(n, d)) < density)


def readonly(x):
    x.flags.writeable = False
    return x


DENSE = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "strided_columns": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "strided_rows": lambda x: np.repeat(x, 3, axis=0)[::3],
    "reversed": lambda x: x[::-1][::-1][::-1],
    "readonly": lambda x: readonly(x.copy()),
    "readonly_F": lambda x: readonly(np.asfortranarray(x)),
    "transposed_view": lambda x: x.T.copy().T,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", DENSE)
@pytest.mark.parametrize("shape", [(23, 9), (5, 12), (2, 2)])
def test_dense(layout, dtype, shape):
    x = DENSE[layout](matrix(*shape).astype(dtype))
    before = x.copy()
    check_design(as_design(x), x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, bool, np.float16, ">f8"])
def test_other_dtypes_become_float64(dtype):
    x = np.asarray(np.round(matrix()), dtype=dtype)
    check_design(as_design(x), x)


def test_dense_is_not_copied():
    for order in "CF":
        for dtype in (np.float32, np.float64):
            x = np.array(matrix(), dtype=dtype, order=order)
            assert np.shares_memory(DenseDesign(x).x, x)


def unsorted(x):
    """Indices of every row or column in reverse order."""
    x = x.copy()
    for a, b in zip(x.indptr[:-1], x.indptr[1:]):
        x.indices[a:b] = x.indices[a:b][::-1].copy()
        x.data[a:b] = x.data[a:b][::-1].copy()
    x.has_sorted_indices = False
    return x


def duplicated(x):
    """Every entry stored twice, as halves."""
    indptr = x.indptr * 2
    made = type(x)(
        (np.repeat(x.data / 2, 2), np.repeat(x.indices, 2), indptr.astype(x.indptr.dtype)),
        shape=x.shape,
    )
    made.has_canonical_format = False
    return made


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array,
                                  sparse.csc_array])  # fmt: skip
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["canonical", "unsorted", "duplicated"])
def test_sparse(make, index, dtype, kind):
    x = make(matrix(density=0.3).astype(dtype))
    dense = x.toarray()
    x.indices, x.indptr = x.indices.astype(index), x.indptr.astype(index)
    x = {"canonical": lambda x: x, "unsorted": unsorted, "duplicated": duplicated}[kind](x)
    stored = x.indices.copy(), x.data.copy()
    check_design(as_design(x), dense)
    np.testing.assert_array_equal(x.indices, stored[0])  # the user's matrix is left alone
    np.testing.assert_array_equal(x.data, stored[1])


def test_sparse_mixed_index_types_and_readonly():
    x = sparse.csr_matrix(matrix(density=0.3))
    x.indptr = x.indptr.astype(np.int64)
    check_design(as_design(x), x.toarray())
    x = sparse.csc_matrix(matrix(density=0.3))
    for part in (x.indptr, x.indices, x.data):
        part.flags.writeable = False
    check_design(as_design(x), x.toarray())


@pytest.mark.parametrize("format", ["coo", "lil", "dok", "bsr", "dia"])
def test_other_sparse_formats(format):
    x = sparse.csr_array(matrix(density=0.3)).asformat(format)
    check_design(as_design(x), x.toarray())


def test_sparse_with_empty_rows_columns_and_explicit_zeros():
    x = matrix(density=0.3)
    x[[0, 5, -1]] = 0
    x[:, [0, 3]] = 0
    s = sparse.csr_array(x)
    s.data[:3] = 0.0
    for made in (s, s.tocsc()):
        check_design(SparseDesign(made), made.toarray())
    check_design(SparseDesign(sparse.csr_array((6, 4))), np.zeros((6, 4)))


def test_canonical_sparse_is_not_copied():
    for make in (sparse.csr_array, sparse.csc_matrix):
        x = make(matrix(density=0.3))
        assert np.shares_memory(SparseDesign(x).x.data, x.data)


@pytest.mark.parametrize("inner", ["dense", "csr", "csc", "blocks"])
def test_standardized(inner):
    x = matrix(density=0.5)
    made = {
        "dense": lambda: as_design(x),
        "csr": lambda: as_design(sparse.csr_array(x)),
        "csc": lambda: as_design(sparse.csc_array(x)),
        "blocks": lambda: OnDisk(x),
    }[inner]()
    rng = np.random.default_rng(1)
    shift, scale = rng.standard_normal(9), rng.uniform(0.3, 3.0, 9)
    check_design(Standardized(made, shift, scale), (x - shift) / scale, rtol=1e-9)
    mean, std = x.mean(axis=0), x.std(axis=0) + 0.1
    check_design(Standardized(made, mean, std), (x - mean) / std, rtol=1e-9)


def test_standardized_refuses():
    x = as_design(matrix())
    with pytest.raises(ValueError, match="positive"):
        Standardized(x, np.zeros(9), np.zeros(9))
    with pytest.raises(ValueError, match="one number per column"):
        Standardized(x, np.zeros(8), np.ones(8))


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_a_design_of_blocks_only(size, density):
    x = matrix(density=density)
    check_design(OnDisk(x if density == 1 else sparse.csr_array(x), size), x)


def test_two_functions_are_enough():
    x = matrix(40, 6)
    check_design(Cluster(x), x)
    with pytest.raises(NotImplementedError):
        next(iter(Cluster(x).blocks()))
    mass = np.full(40, 1 / 40)
    for penalty in (mm.L1(), mm.L2()):
        objective = Objective(mm.Squared(), penalty.bind(6, 0.1), Cluster(x), x[:, 0], mass)
        assert solve(objective, "auto", Control()).converged


class Kernel(Design):
    """Inner products of rows and nothing else."""

    access = Access(Reach.NONE, Reach.CHEAP, Reach.NONE)

    def __init__(self, everything, index):
        self.everything, self.index = everything, index
        self.shape = (len(index), 0)

    def row_gram(self, weights=None, centre=None):
        return self.everything[np.ix_(self.index, self.index)]

    def cross(self, new):
        return self.everything[np.ix_(new.index, self.index)]

    def rows(self, rows):
        return Kernel(self.everything, self.index[rows])

    @property
    def row_lengths(self):
        return np.diag(self.row_gram()).copy()


def test_a_design_without_columns():
    x = matrix(20, 4)
    check_design(Kernel(x @ x.T, np.arange(20)), x)
    with pytest.raises(AssertionError, match=r"Kernel\.row_gram"):
        check_design(Kernel(x @ x.T + 1e-3, np.arange(20)), x)


class FewRows(OnDisk):
    """Blocks of which no more than a few rows may be gathered."""

    def rows(self, rows):
        assert rows.size < self.shape[0], "all rows were copied"
        return super().rows(rows)


@pytest.mark.parametrize("shape", [(30, 5), (30, 200)])
def test_products_of_blocks_gather_no_rows(shape):
    x = matrix(*shape)
    design, rng = OnDisk(x), np.random.default_rng(0)
    if shape[1] > shape[0]:  # else a copy of the rows is smaller than their Gram
        design = FewRows(x)
        np.testing.assert_allclose(design.row_gram(), x @ x.T)
    design.rows = None
    h = rng.uniform(size=30)
    design.matvec(rng.standard_normal(shape[1]))
    design.curvature_product(rng.standard_normal(shape[1]), 0.5, h)
    design.covariance(h)
    np.testing.assert_allclose(design.row_lengths, (x**2).sum(axis=1))


@pytest.mark.parametrize("solver", ["dual", "sgd"])
def test_a_copy_of_all_rows_is_said_and_counted(solver):
    x = matrix(40, 6)
    y, mass, room = np.sign(x[:, 0]), np.full(40, 1 / 40), 8.0 * x.size
    problem = {
        name: Objective(mm.Hinge(), mm.L2().bind(6, 0.1), design, y, mass)
        for name, design in {"blocks": OnDisk(x), "C": as_design(x)}.items()
    }
    said = SOLVERS[solver].verdict(problem["blocks"], Control(memory=room))
    assert said.ok
    assert "copies all rows into memory" in said.reason
    refused = SOLVERS[solver].verdict(problem["blocks"], Control(memory=room - 1))
    assert not refused.ok
    assert "memory" in refused.reason
    for memory in (0.0, np.inf):
        verdict = SOLVERS[solver].verdict(problem["C"], Control(memory=memory))
        assert verdict.ok
        assert "copies" not in verdict.reason


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "standardized"])
@pytest.mark.parametrize("penalty", [mm.L1(), mm.L2(), mm.NoPenalty()], ids=repr)
def test_blocks_are_enough_for_every_solver(solver, kind, penalty):
    x = matrix(40, 6, density=0.6, seed=3)
    y = x @ np.linspace(-1, 1, 6) + np.random.default_rng(0).standard_normal(40)
    design = OnDisk(sparse.csr_array(x) if kind == "sparse" else x)
    if kind == "standardized":
        design, x = Standardized(design, x.mean(0), x.std(0)), (x - x.mean(0)) / x.std(0)
    made = [
        Objective(mm.Squared(), penalty.bind(6, 0.1), d, y, np.full(40, 1 / 40))
        for d in (design, as_design(x))
    ]
    if not SOLVERS[solver].verdict(made[0], Control()).ok:
        assert SOLVERS[solver].verdict(made[0], Control()).reason
        return
    tol, rough = (1e-3, 1e5) if solver == "subgradient" else (1e-10, 1.0)
    one, two = (solve(o, solver, Control(tol=tol, random_state=0)) for o in made)
    if solver != "sgd":  # which stops early by design, but at the same model
        assert one.converged
        assert two.converged
    np.testing.assert_allclose(one.w, two.w, atol=1e-4 * rough * np.abs(two.w).max())
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-8 * rough)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 40),
    d=st.integers(2, 30),
    density=st.sampled_from([0.05, 0.5, 1.0]),
    kind=st.sampled_from(["C", "F", "csr", "csc", "blocks"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 1000),
)
def test_any_shape(n, d, density, kind, dtype, seed):
    x = matrix(n, d, density, seed).astype(dtype)
    made = {
        "C": lambda: as_design(x),
        "F": lambda: as_design(np.asfortranarray(x)),
        "csr": lambda: as_design(sparse.csr_array(x)),
        "csc": lambda: as_design(sparse.csc_array(x)),
        "blocks": lambda: OnDisk(x.astype(float), 5),
    }[kind]()
    check_design(made, x)


def test_large_enough_for_threads_and_blocks():
    x = matrix(20_000, 20, density=0.1, seed=2)
    for made in (x, np.asfortranarray(x), sparse.csr_array(x), sparse.csc_array(x)):
        design = as_design(made)
        rng = np.random.default_rng(0)
        w, u, h = rng.standard_normal(20), rng.standard_normal(20_000), rng.uniform(size=20_000)
        np.testing.assert_allclose(design.matvec(w), x @ w, atol=1e-10)
        np.testing.assert_allclose(design.rmatvec(u), x.T @ u, atol=1e-8)
        np.testing.assert_allclose(design.gram(h), (x.T * h) @ x, rtol=1e-9, atol=1e-6)
        np.testing.assert_allclose(design.moments(h).second, h @ x**2, rtol=1e-10)
        assert sum(b.rows.stop - b.rows.start for b in design.blocks()) == 20_000


class LiesAboutGram(DenseDesign):
    def gram(self, h, columns=None):
        return super().gram(h, columns) * (1 + 1e-6)


class LosesARow(OnDisk):
    def blocks(self):
        yield from list(super().blocks())[:-1]


@pytest.mark.parametrize("made", [LiesAboutGram(matrix()), LosesARow(matrix())])
def test_the_suite_sees_mistakes(made):
    with pytest.raises(AssertionError, match=type(made).__name__):
        check_design(made, matrix())


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("columns", [None, [7, 2, 4, 1]])
def test_a_sparse_covariance_keeps_the_digits_of_columns_far_from_zero(kind, columns):
    """Columns 1, 2 and 7 have means of 1e6 and more, and column 4 is constant."""
    rng = np.random.default_rng(0)
    x = matrix(200, 9, 0.3)
    x[:, [1, 2, 7]] = rng.standard_normal((200, 3)) + np.array([1e6, -1e7, 1e6])
    x[:, 4] = 1e6
    columns = columns if columns is None else np.array(columns)
    h = rng.uniform(size=200) * (rng.uniform(size=200) < 0.8)
    covariance, mean = SparseDesign(kind(x)).covariance(h, columns)
    exact = (x if columns is None else x[:, columns]).astype(np.longdouble)
    middle = h @ exact / h.sum()
    exact = exact - middle
    expected = ((h[:, None] * exact).T @ exact).astype(float)
    np.testing.assert_allclose(mean, middle.astype(float), rtol=1e-13)
    np.testing.assert_allclose(covariance, expected, atol=1e-8)
    assert not covariance[:, middle == 1e6].any()
