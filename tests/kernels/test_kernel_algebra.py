"""The algebra of kernels: Table 2.1, positive semidefiniteness, compositions, parameters."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import minimand as mm
from minimand.testing import check_kernel

LEAVES = [mm.Linear(), mm.Polynomial(2), mm.RBF(1.5), mm.Laplace(2.0), mm.Cosine(), mm.Min()]


@st.composite
def kernels(draw, depth=2):
    """A random expression of kernels."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(LEAVES))
    one = draw(kernels(depth=depth - 1))
    how = draw(st.sampled_from(["+", "*", "scale", "shift", "normalize", "center", "on", "@"]))
    if how in "+*":
        other = draw(kernels(depth=depth - 1))
        return one + other if how == "+" else one * other
    return {
        "scale": lambda: draw(st.floats(0.0, 3.0)) * one,
        "shift": lambda: one + draw(st.floats(0.0, 3.0)),
        "normalize": lambda: (one + 0.1).normalize(),
        "center": one.center,
        "on": lambda: one.on([0]),
        "@": lambda: one @ np.abs,
    }[how]()


@settings(max_examples=40, deadline=None)
@given(kernels(), st.integers(0, 1000))
def test_every_expression_is_positive_semidefinite(kernel, seed):
    x = np.random.default_rng(seed).random((12, 3))
    found = mm.check_psd(kernel, x)
    assert found, found.reason
    bound = kernel.bind(x)
    np.testing.assert_allclose(bound.diag(x), np.diag(bound(x)), rtol=1e-9, atol=1e-9)


def test_features_of_every_operation():
    """Table 2.1: what each operation does to the feature map."""
    x = np.random.default_rng(0).normal(size=(8, 3))
    one, two = mm.Linear(), mm.Polynomial(2)
    phi, psi = one.features(x), two.features(x)
    side_by_side = (one + two).features(x)
    np.testing.assert_allclose(side_by_side, np.hstack([phi, psi]))
    np.testing.assert_allclose((one + 4.0).features(x), np.hstack([phi, np.full((8, 1), 2.0)]))
    np.testing.assert_allclose((9.0 * one).features(x), 3.0 * phi)
    tensor = np.einsum("ia,ib->iab", phi, psi).reshape(8, -1)
    np.testing.assert_allclose((one * two).features(x), tensor)
    unit = psi / np.linalg.norm(psi, axis=1, keepdims=True)
    np.testing.assert_allclose(two.normalize().features(x), unit)
    np.testing.assert_allclose(two.center().features(x), psi - psi.mean(axis=0))
    np.testing.assert_allclose((two @ np.exp).features(x), two.features(np.exp(x)))
    np.testing.assert_allclose(two.on([2, 0]).features(x), two.features(x[:, [2, 0]]))


def test_centring_is_hkh():
    x = np.random.default_rng(1).normal(size=(9, 2))
    gram = mm.RBF()(x)
    h = np.eye(9) - 1 / 9
    np.testing.assert_allclose(mm.RBF().center()(x), h @ gram @ h, atol=1e-12)
    new = np.random.default_rng(2).normal(size=(4, 2))
    cross = mm.RBF()(new, x)
    centred = (cross - gram.mean(axis=0)) @ h
    np.testing.assert_allclose(mm.RBF().center().bind(x)(new, x), centred, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * mm.RBF() + mm.Linear() * mm.Cosine(),
        (mm.Linear() + mm.RBF("median")).center(),
        mm.RBF("scale") @ StandardScaler(),
        mm.Polynomial(2) @ mm.Monomials(2),
        mm.Linear().on([0]) * mm.RBF().on([1, 2]) + 1.0,
        mm.Polynomial(3).normalize(),
    ],
    ids=repr,
)
def test_compositions_obey_the_laws(kernel):
    check_kernel(kernel)


def test_negative_numbers_are_refused():
    with pytest.raises(ValueError, match="multiplied by a number ≥ 0"):
        (-1.0 * mm.Linear())([[1.0]])
    with pytest.raises(ValueError, match="number ≥ 0 can be added"):
        (mm.Linear() + -1.0)([[1.0]])
    with pytest.raises(ValueError, match=r"not positive for row 1"):
        mm.Linear().normalize()([[1.0], [0.0]])
    with pytest.raises(TypeError):
        mm.Linear() + "rbf"


def test_parameters_are_reached_through_expressions():
    kernel = mm.RBF(2.0) + 0.5 * mm.Polynomial(3)
    assert kernel.get_params()["left__tau"] == 2.0
    changed = clone(kernel).set_params(left__tau=3.0, right__kernel__degree=4)
    assert repr(changed) == "RBF(tau=3.0) + 0.5 * Polynomial(degree=4)"
    assert repr(kernel) == "RBF(tau=2.0) + 0.5 * Polynomial(degree=3)"
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert repr((mm.Linear() + mm.RBF()) * mm.Min()) == "(Linear() + RBF()) * Min()"
    assert repr((mm.Linear() + mm.RBF()).on([1])) == "(Linear() + RBF()).on([1])"


def test_columns_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [1.0, 2.0, 4.0], "word": ["a", "b", "a"], "size": [0.0, 1.0, 3.0]})
    same = mm.Callable(lambda a, b: float(a == b), by_pair=True)
    kernel = mm.RBF().on(["age", "size"]) + same.on("word")
    expected = mm.RBF()(frame[["age", "size"]].to_numpy())
    expected += np.equal.outer(frame["word"].to_numpy(), frame["word"].to_numpy())
    np.testing.assert_allclose(kernel(frame), expected)
    np.testing.assert_allclose(kernel.bind(frame)(frame[:2], frame), expected[:2])
    with pytest.raises(ValueError, match="names columns that X does not have"):
        mm.Linear().on(["height"])(frame)
    counts = sparse.coo_array(np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(mm.Linear().on([0, 2])(counts), [[4.0, 10.0], [10.0, 34.0]])


def test_witness_of_a_matrix_that_is_no_gram():
    x = np.array([[-2.0], [-1.0], [1.0]])
    gram = np.minimum(x, x.T)  # Min() of negative inputs
    found = mm.check_psd(gram)
    assert not found
    assert found.witness @ gram @ found.witness < 0
    assert mm.check_psd(np.ones((4, 4)))
    lopsided = mm.check_psd([[1.0, 0.5], [0.0, 1.0]])
    assert not lopsided
    assert "not symmetric" in lopsided.reason
    with pytest.raises(ValueError, match="square"):
        mm.check_psd([[1.0, 2.0]])
    with pytest.raises(ValueError, match="complex"):
        mm.check_psd([[1.0, 1j], [-1j, 1.0]])


def test_centred_counts_know_parts_that_training_samples_lack():
    words = ["abab", "bcbc", "aab"]
    new = ["cdcd", "dcdc", "abcd"]
    for kernel in (mm.Spectrum(2), mm.Spectrum(2).normalize(), mm.Spectrum(1) + mm.Spectrum(2)):
        bound = kernel.center().bind(words)
        phi = np.asarray(bound.features(new))
        np.testing.assert_allclose(phi @ phi.T, bound(new, new), atol=1e-12)
        own = np.asarray(bound.features(words))
        np.testing.assert_allclose(own @ own.T, bound(words, words), atol=1e-12)


def test_what_is_no_number_is_named_by_its_column():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [1.0, 2.0], "town": ["Rome", "Bonn"]})
    with pytest.raises(ValueError, match="column 'town' holds text, 'Rome'"):
        mm.RBF()(frame)
    gaps = pd.DataFrame({"age": [1.0, 2.0], "height": [1.7, np.nan]})
    with pytest.raises(ValueError, match=r"NaN \(first at row 1, column 'height'\)"):
        mm.Regressor(features=mm.RBF()).fit(gaps, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"infinity \(inf\) \(first at row 0, column 1\)"):
        mm.Linear()(np.array([[0.0, np.inf]]))
    assert mm.RBF().on(["age"])(gaps).shape == (2, 2)


def test_functions_of_one_pair_are_told_to_say_so():
    dot = mm.Callable(lambda x, z: float(np.dot(x, z)))
    with pytest.raises(ValueError, match="pass by_pair=True"):
        dot(np.ones((3, 2)))
    assert mm.Callable(dot.function, by_pair=True)(np.ones((3, 2)))[0, 1] == 2.0


def test_rounding_of_a_difference_is_no_witness():
    """A constant kernel, centred: all that is left is rounding of the numbers subtracted."""
    x = np.random.default_rng(1).random((12, 3))
    assert mm.check_psd(mm.Cosine().center().on([0]), x)
