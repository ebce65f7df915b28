"""The kernel perceptron and stochastic gradients for kernels."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.solvers import Sgd

RNG = np.random.default_rng(0)
WORDS = "11011 00110 01100 10010 10101 10110"
SPAM = np.array([[int(bit) for bit in word] for word in WORDS.split()])
IS_SPAM = np.array([1, 0, 1, 0, 1, 0])
XOR, ODD = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_perceptron_takes_the_same_steps(intercept):
    plain = mm.Perceptron(intercept=intercept, bound=True).fit(SPAM, IS_SPAM)
    kernel = mm.Perceptron(intercept=intercept, bound=True, features=mm.Linear())
    kernel.fit(SPAM, IS_SPAM)
    for name in ("index", "score", "mistake", "b"):
        one, two = getattr(plain.trace_, name), getattr(kernel.trace_, name)
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(kernel.counts_, plain.counts_)
    np.testing.assert_array_equal(kernel.dual_coef_ @ SPAM[kernel.support_], plain.coef_)
    assert kernel.mistakes_ == plain.mistakes_ <= kernel.bound_
    assert abs(kernel.bound_ - plain.bound_) <= 1e-6 * plain.bound_
    assert abs(kernel.margin_ - plain.margin_) <= 1e-12


def test_coefficients_are_signed_mistakes():
    model = mm.Perceptron(features=mm.RBF(1.0)).fit(*_circle())
    assert model.converged_
    assert np.abs(model.dual_coef_).sum() == model.mistakes_ == model.counts_.sum()
    z = mm.RBF(1.0)(_circle()[0], _circle()[0][model.support_]) @ model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(_circle()[0]), z + model.intercept_)
    assert (np.where(z + model.intercept_ > 0, 1, 0) == _circle()[1]).all()


def test_xor_cycles_on_the_linear_kernel_and_ends_on_the_quadratic_one():
    with pytest.warns(ConvergenceWarning, match="cycles"):
        line = mm.Perceptron(features=mm.Linear()).fit(XOR, ODD)
    np.testing.assert_array_equal(line.mistakes_per_pass_, [4])
    np.testing.assert_allclose(line.witness_, 0.25)
    curve = mm.Perceptron(features=mm.Polynomial(2), bound=True).fit(XOR, ODD)
    assert curve.converged_
    assert curve.mistakes_ <= curve.bound_
    np.testing.assert_array_equal(curve.predict(XOR), ODD)


def test_kernel_perceptron_of_several_classes_and_without_a_gram(monkeypatch):
    x = RNG.normal(size=(60, 2))
    y = np.digitize(x[:, 0] * x[:, 1], [-0.3, 0.3])
    whole = mm.Perceptron(features=mm.RBF(0.5), order="random", random_state=0).fit(x, y)
    assert whole.score(x, y) == 1.0
    assert whole.dual_coef_.shape == (3, whole.support_.size)
    monkeypatch.setattr("minimand.solvers.textbook.kernel_perceptron._LARGEST_GRAM", 0)
    apart = mm.Perceptron(features=mm.RBF(0.5), order="random", random_state=0).fit(x, y)
    np.testing.assert_array_equal(apart.counts_, whole.counts_)


def test_streams_and_bad_kernels_are_refused():
    with pytest.raises(ValueError, match="sums over all rows"):
        mm.Perceptron(features="rbf").partial_fit(XOR, ODD, [0, 1])
    with pytest.raises(ValueError, match="tau of RBF"):
        mm.Perceptron(features=mm.RBF(0)).fit(XOR, ODD)


def test_stochastic_kernel_gradients_are_unbiased():
    """The mean of the steps on single samples is a step along the gradient."""
    x, y = RNG.normal(size=(25, 2)), RNG.normal(size=25)
    eta, alpha = 0.1, 0.05
    solver = Sgd("fixed", eta0=eta, average=False, shuffle=False, epochs=1)
    model = mm.Regressor("huber", alpha=alpha, features=mm.RBF(), solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    w, b = model.coef_.copy(), model.intercept_
    moves = []
    for i in range(25):
        one = pickle.loads(pickle.dumps(model)).partial_fit(x[i : i + 1], y[i : i + 1])
        moves.append(one.coef_ - w)
    L = model.features_.transform(x)
    slope = mm.Huber().gradient(L @ w + b, y)
    gradient = L.T @ slope / 25 + alpha * w
    np.testing.assert_allclose(np.mean(moves, axis=0), -eta * gradient, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_steps_of_one_over_root_t_are_those_of_the_coefficients(loss):
    """f ← (1 − η_t·λ)·f − η_t·ℓ'(f(x), y)·k(x, ·) with η_t = η₀/√(t + t₀), t = 1, 2, …."""
    x, y = RNG.normal(size=(30, 2)), RNG.normal(size=30)
    eta, t0, alpha = 0.3, 1.0, 0.1
    gram, a = mm.RBF()(x), np.zeros(30)
    gradient = mm.Squared().gradient if loss == "squared" else mm.Huber().gradient
    for t in range(30):
        step = eta / np.sqrt(t + 1 + t0)
        slope = gradient(gram[t : t + 1] @ a, y[t : t + 1])[0]
        a *= 1.0 - step * alpha
        a[t] -= step * slope
    solver = Sgd("sqrt", eta0=eta, t0=t0, average=False, shuffle=False, epochs=1)
    model = mm.Regressor(loss, alpha=alpha, features=mm.RBF(), solver=solver, intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    np.testing.assert_allclose(model.predict(x), gram @ a, atol=1e-8)
    assert len(model.history_) >= 1
    assert model.certificate_.gap > 0  # what is left, certified


def test_large_penalties_do_not_make_steps_unstable():
    """λ·η₀ far above 2 would blow up η₀·λ steps; the fit says so or stays bounded."""
    x, y = RNG.normal(size=(40, 2)), RNG.normal(size=40)
    model = mm.Regressor(alpha=1e4, features=mm.RBF(), solver=Sgd("sqrt"), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    null = float(np.mean(0.5 * (y - y.mean()) ** 2))
    assert model.certificate_.primal <= 2 * null


def _circle():
    x = np.random.default_rng(1).normal(size=(50, 2))
    return x, (np.linalg.norm(x, axis=1) < 1).astype(int)
