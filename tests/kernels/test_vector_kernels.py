"""Kernels of vectors: formulas, explicit features, refusals, layouts."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import minimand as mm
from minimand.testing import check_kernel

KERNELS = [
    mm.Linear(),
    mm.Polynomial(),
    mm.Polynomial(3, c=0.5),
    mm.Polynomial(2, c=0),
    mm.RBF(2.0),
    mm.RBF("median"),
    mm.Laplace(0.7),
    mm.Laplace("scale"),
    mm.Min(),
    mm.Cosine(),
    mm.Matern(nu=0.5),
    mm.Matern(2.0, nu=1.5),
    mm.Matern(nu=2.5),
    mm.Matern(nu=0.8),
    mm.Matern(nu=np.inf),
    mm.Periodic(2.0, tau=1.5),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_obeys_the_laws(kernel):
    check_kernel(kernel)


def test_values_are_those_of_the_formulas():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    tau = 1.3
    gamma = 0.5 / tau**2
    np.testing.assert_allclose(mm.RBF(tau)(x, z), pairwise.rbf_kernel(x, z, gamma), rtol=1e-12)
    laplacian = pairwise.laplacian_kernel(x, z, 1 / tau)
    np.testing.assert_allclose(mm.Laplace(tau)(x, z), laplacian, rtol=1e-12)
    np.testing.assert_allclose(mm.Cosine()(x, z), pairwise.cosine_similarity(x, z), rtol=1e-12)
    cubic = pairwise.polynomial_kernel(x, z, 3, gamma=1.0, coef0=2.0)
    np.testing.assert_allclose(mm.Polynomial(3, c=2.0)(x, z), cubic, rtol=1e-12)
    for nu in (0.5, 1.5, 2.5, 1.2):
        peer = gp.Matern(tau, nu=nu)(x, z)
        np.testing.assert_allclose(mm.Matern(tau, nu=nu)(x, z), peer, rtol=1e-9)
    minima = np.minimum(np.abs(x)[:, None], np.abs(z)[None]).sum(axis=2)
    np.testing.assert_allclose(mm.Min()(np.abs(x), np.abs(z)), minima, rtol=1e-12)
    sine = np.sin(np.pi * (x[:, None] - z[None]) / 0.8) ** 2
    repeated = np.exp(-2 / tau**2 * sine.sum(axis=2))
    np.testing.assert_allclose(mm.Periodic(0.8, tau)(x, z), repeated, rtol=1e-9)


def test_quadratic_features_are_the_printed_ones():
    (row,) = mm.Polynomial(2, c=0).features([[3.0, 5.0]])
    np.testing.assert_allclose(np.sort(row), np.sort([9.0, np.sqrt(2) * 15.0, 25.0]))
    assert mm.Polynomial(2, c=0).features(np.ones((1, 2))).shape[1] == 3
    assert (mm.Linear() * mm.Linear()).features(np.ones((1, 4))).shape[1] == 16  # D²
    both = mm.Linear() * mm.Linear() + mm.Linear() + 1.0
    assert both.features(np.ones((1, 4))).shape[1] == 16 + 4 + 1  # D² + D + 1


def test_rows_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 3))
    near = mm.RBF(1.0)(x)
    np.testing.assert_allclose(mm.RBF(1.0)(x + 1e6), near, atol=1e-8)
    # a bandwidth far below the spread: squared lengths cancel, differences do not
    pair = np.array([[0.0], [1e6], [1e6 + 1e-3]])
    value = mm.RBF(1e-3)(pair)[1, 2]
    assert abs(value - np.exp(-0.5)) < 1e-6


def test_blocks_give_the_whole(monkeypatch):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 4))
    kernel = mm.RBF(1.5) + mm.Linear()
    whole, a = kernel(x), rng.normal(size=(150, 2))
    monkeypatch.setattr("minimand.kernels.base.BUFFER", 10_000)
    np.testing.assert_allclose(kernel(x), whole, rtol=1e-12)
    assert (kernel(x) == kernel(x).T).all()
    np.testing.assert_allclose(kernel(x[:70], x), whole[:70], rtol=1e-12)
    rows = kernel.rows(x)
    np.testing.assert_allclose(kernel.times(rows, rows, a), whole @ a, rtol=1e-9)
    form = float(np.trace(a.T @ whole @ a))
    assert abs(kernel.quadratic_form(rows, a) - form) <= 1e-9 * abs(form)


@pytest.mark.parametrize("kernel", [mm.RBF(), mm.Laplace(), mm.Min(), mm.Linear() + 1.0], ids=repr)
def test_single_precision_stays_single(kernel):
    x = np.random.default_rng(3).random((9, 4)).astype(np.float32)
    assert kernel(x).dtype == np.float32
    np.testing.assert_allclose(kernel(x), kernel(x.astype(float)), rtol=1e-5)
    assert kernel(x.astype(float), x).dtype == np.float64


def test_sparse_rows_beside_dense_ones():
    x = np.random.default_rng(4).random((9, 4)) * (np.arange(36).reshape(9, 4) % 3 > 0)
    thin = sparse.csr_array(x)
    for kernel in (mm.RBF(), mm.Laplace(), mm.Min(), mm.Matern(), mm.Cosine(), mm.Polynomial(3)):
        np.testing.assert_allclose(kernel(thin, x[:4]), kernel(x, x[:4]), rtol=1e-12)
        np.testing.assert_allclose(kernel(sparse.csc_array(x)), kernel(x), rtol=1e-12, atol=1e-15)


def test_bandwidths_from_data():
    x = np.random.default_rng(5).normal(size=(40, 3))
    bound = mm.RBF("scale").bind(x)
    gamma = 1 / (3 * x.var())
    assert abs(0.5 / bound.tau**2 - gamma) <= 1e-12 * gamma
    far = pairwise.euclidean_distances(x)[np.triu_indices(40, 1)]
    assert abs(mm.RBF("median").bind(x).tau - np.median(far)) < 1e-12
    assert mm.RBF("median").bind(np.ones((3, 2))).tau == 1.0
    with pytest.raises(ValueError, match=r"takes tau='median' from the training rows"):
        mm.RBF("median")(x, x)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mm.Min()([[-1.0]]), "inputs ≥ 0 only, but X holds -1"),
        (lambda: mm.RBF(0.0)([[1.0]]), "tau of RBF must be a positive number"),
        (lambda: mm.RBF("wide")([[1.0]]), "'median' or 'scale', not 'wide'"),
        (lambda: mm.Polynomial(1.5)([[1.0]]), "degree of Polynomial must be an integer"),
        (lambda: mm.Polynomial(c=-1)([[1.0]]), "c of Polynomial must be a number ≥ 0"),
        (lambda: mm.RBF().features([[1.0]]), "no finite feature map"),
        (lambda: mm.Linear()([[1.0, 2.0]], [[1.0]]), "X has 2 features, but the kernel is exp"),
        (lambda: mm.Linear()([[np.nan]]), "NaN"),
        (lambda: mm.Precomputed()(np.ones((2, 3))), "square matrix of all training rows"),
        (lambda: mm.Callable(lambda x, z: [1.0])([[1.0]]), "must give a matrix of shape"),
        (lambda: mm.Polynomial(12).features(np.ones((1, 30))), "use the kernel itself"),
    ],
)
def test_refusals_are_sentences(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_parameters_of_other_libraries_are_explained():
    with pytest.raises(TypeError, match=r"no parameter 'gamma': write tau="):
        mm.RBF(gamma=1.0)
    with pytest.raises(ValueError, match="write 'rbf'"):
        mm.kernels.REGISTRY.get("gaussian")


@pytest.mark.parametrize("make", [mm.RBF, mm.Laplace, mm.Matern, mm.Periodic])
@pytest.mark.parametrize("tau", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_bandwidths_have_their_limits(make, tau):
    rows = np.array([[0.0, 1.0], [0.3, 2.0], [1e6, 2.5]])
    expected = np.eye(3) if tau < 1 else np.ones((3, 3))
    np.testing.assert_array_equal(make(tau=tau)(rows), expected)


TILED = [mm.RBF(2.0), mm.Polynomial(1), mm.Polynomial(2, c=0.0), mm.Polynomial(3), mm.Polynomial(7)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [*TILED, mm.Linear(), mm.Laplace()], ids=repr)
def test_tiles_are_parts_of_the_block(kernel, dtype):
    rng = np.random.default_rng(0)
    x, z = (0.5 * rng.normal(size=(n, 4)).astype(dtype) for n in (300, 1100))  # several tiles
    a = rng.normal(size=(1100, 2))
    block, close = kernel.block(x, z), {"rtol": 1e-4 if dtype == np.float32 else 1e-11}
    both = kernel.prepared(np.concatenate([x, z]))
    whole = kernel.gram(both)
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_allclose(whole[:300, 300:], block, **close)
    table = np.empty((300, 1100), dtype=dtype)
    kernel.fill(both[:300], both[300:], table)
    np.testing.assert_allclose(table, block, **close)
    size = np.abs(block).max() * np.abs(a).sum()
    np.testing.assert_allclose(kernel.times(x, z, a), block @ a, atol=1e-6 * size)
    np.testing.assert_allclose(
        kernel.times(both[:300], both[300:], a[:, 0]), block @ a[:, 0], atol=1e-6 * size
    )


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6, 9])
def test_powers_by_products(degree):
    x = np.random.default_rng(0).normal(size=(9, 3))
    found = mm.Polynomial(degree, c=0.7)(x)
    np.testing.assert_allclose(found, (0.7 + x @ x.T) ** degree, rtol=1e-12)


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("kernel", [mm.RBF(0.8), mm.Polynomial(4, c=0.5)], ids=repr)
def test_rounding_stays_within_the_doubt(kernel, nonnegative):
    rng = np.random.default_rng(1)
    x = 2.0 * rng.normal(size=(200, 60))
    x = np.abs(x) if nonnegative else x
    inputs = kernel.prepared(x)
    exact, table = kernel.block(inputs, inputs), np.empty((200, 200), np.float32)
    if hasattr(inputs, "parts"):
        single = type(inputs)(inputs.parts[0].astype(np.float32), inputs.parts[1])
    else:
        single = inputs.astype(np.float32)
    kernel.fill(single, single, table)
    share, number = kernel.doubt(inputs, 2.0**-24)
    assert 0 < share + number < np.inf
    assert (np.abs(table - exact) <= share * table + number).all()


def test_a_kernel_with_its_own_block_is_not_tiled():
    class Half(mm.RBF):
        def block(self, x, z):
            return 0.5 * super().block(x, z)

    x = np.random.default_rng(0).normal(size=(20, 3))
    half, rows = Half(1.0), mm.RBF(1.0).prepared(x)
    np.testing.assert_allclose(half.times(x, x, np.ones(20)), 0.5 * mm.RBF(1.0)(x).sum(axis=1))
    table = np.empty((20, 20))
    half.fill(rows, rows, table)
    np.testing.assert_allclose(table, 0.5 * mm.RBF(1.0)(x))
    assert half.doubt(rows, 1e-8)[0] == np.inf
