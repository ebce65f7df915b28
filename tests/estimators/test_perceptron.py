"""The perceptron: the seeds' tables exactly, and its theorems on random data."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import minimand as mm

SPAM = np.array(
    [
        [1, 1, 0, 1, 1],
        [0, 0, 1, 1, 0],
        [0, 1, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [1, 0, 1, 0, 1],
        [1, 0, 1, 1, 0],
    ]
)
IS_SPAM = np.array([1, -1, 1, -1, 1, -1])
XOR = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
IS_ODD = np.array([-1, 1, 1, -1])


def separable_data(seed, n=30, d=3, gap=0.2):
    """Two classes with some distance between them, and labels −1, 1."""
    rng = np.random.default_rng(seed)
    X, plane, shift = rng.normal(size=(n, d)), rng.normal(size=d), rng.normal() / 2
    score = X @ plane + shift
    y = np.where(score > 0, 1, -1)
    X += gap * y[:, None] * plane / np.linalg.norm(plane)
    y[-2:] = -1, 1  # both classes, always
    X[-2:] = np.outer([-1, 1], plane) * (1 + abs(shift)) * 3 / (plane @ plane)
    return X, y


def not_separable(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, (n, d)).astype(float), rng.integers(0, 2, n)


def signed_padded(X, y):
    return y[:, None] * np.column_stack([X, np.ones(len(X))])


# The tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_the_spam_trace(matrix):
    model = mm.Perceptron(trace=6).fit(matrix(SPAM.astype(float)), IS_SPAM)
    trace = model.trace_
    assert trace.index.tolist() == [0, 1, 2, 3, 4, 5]
    assert trace.score.tolist() == [0, 2, 0, 2, 1, -1]
    assert trace.mistake.tolist() == [True, True, True, True, False, False]
    assert trace.w.tolist() == [
        [0, 0, 0, 0, 0],
        [1, 1, 0, 1, 1],
        [1, 1, -1, 0, 1],
        [1, 2, 0, 0, 1],
        [0, 2, 0, -1, 1],
        [0, 2, 0, -1, 1],
    ]
    assert trace.b.tolist() == [0, 1, 0, 1, 0, 0]
    assert model.coef_.tolist() == [[0, 2, 0, -1, 1]]
    assert model.intercept_.tolist() == [0]
    assert model.mistakes_per_pass_.tolist() == [4, 0]
    assert (model.mistakes_, model.n_iter_) == (4, 2)
    assert model.converged_
    assert not model.cycling_
    assert (model.predict(matrix(SPAM.astype(float))) == IS_SPAM).all()
    assert (model.certificate_.primal, model.certificate_.gap) == (0, 0)
    assert model.certificate_.kind == "global"


@pytest.mark.parametrize("most", [1, 2, 5, 1000])
def test_xor_comes_back_after_every_pass(most):
    with pytest.warns(ConvergenceWarning, match="cycles.*no plane separates the classes"):
        model = mm.Perceptron(max_epochs=most).fit(XOR, IS_ODD)
    assert model.cycling_
    assert not model.converged_
    assert model.mistakes_per_pass_.tolist() == [4]
    assert not model.coef_.any()
    assert not model.intercept_.any()
    assert model.witness_.tolist() == [0.25] * 4
    assert model.certificate_.dual == 0.25
    for _ in range(3):  # and so it goes on
        model.partial_fit(XOR, IS_ODD)
        assert not model.coef_.any()
        assert not model.intercept_.any()
    assert model.mistakes_ == 16


def test_a_tie_predicts_the_first_class_and_is_a_mistake_for_either():
    model = mm.Perceptron(max_epochs=1)
    with pytest.warns(ConvergenceWarning):
        model.fit([[0.0], [0.0]], ["a", "b"])  # b goes to −1 and back to 0
    assert model.trace_.mistake.all()
    assert model.predict([[5.0]]).tolist() == ["a"]


# Theorems --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), intercept=st.booleans(), random=st.booleans())
def test_mistakes_stay_within_the_bound(seed, intercept, random):
    X, y = separable_data(seed)
    if not intercept:
        X = np.column_stack([X, np.ones(len(X))])
    order = "random" if random else "fixed"
    model = mm.Perceptron(
        intercept=intercept, order=order, bound=True, max_epochs=100_000, random_state=seed
    ).fit(X, y)
    assert model.converged_
    assert 1 <= model.mistakes_ <= model.bound_ < np.inf
    assert model.mistakes_ == model.mistakes_per_pass_.sum() == model.counts_.sum()
    # The bound is that of the widest margin of padded samples, up to the tolerance of its solver.
    rows = signed_padded(X, y) if intercept else y[:, None] * X
    assert model.radius_**2 == pytest.approx((rows**2).sum(axis=1).max())
    found = np.append(model.coef_[0], model.intercept_[0] if intercept else [])
    assert (rows @ found).min() / np.linalg.norm(found) <= model.gamma_ * (1 + 1e-5)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_an_update_adds_the_padded_square_to_the_margin(seed):
    X, y = separable_data(seed)
    trace = mm.Perceptron(trace=200, max_epochs=100_000).fit(X, y).trace_
    after = np.einsum("ij,ij->i", trace.w[1:], X[trace.index[:-1]]) + trace.b[1:]
    label = y[trace.index[:-1]]
    gain = np.where(trace.mistake[:-1], (X[trace.index[:-1]] ** 2).sum(axis=1) + 1, 0)
    np.testing.assert_allclose(label * (after - trace.score[:-1]), gain, atol=1e-10)
    assert ((y[trace.index] * trace.score <= 0) == trace.mistake).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_weights_are_counts_of_mistakes_and_the_margin_is_at_most_the_widest(seed):
    X, y = separable_data(seed)
    model = mm.Perceptron(max_epochs=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], (model.counts_ * y) @ X, atol=1e-9)
    assert model.intercept_[0] == (model.counts_ * y).sum()
    margins = y * (X @ model.coef_[0] + model.intercept_[0])
    assert model.margin_ == pytest.approx(margins.min() / np.linalg.norm(model.coef_))
    assert 0 < model.margin_ <= mm.HardMargin().fit(X, y).margin_ * (1 + 1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), random=st.booleans())
def test_whole_numbers_end_in_a_plane_or_in_a_cycle_that_proves_there_is_none(seed, random):
    X, y = not_separable(n=12, d=2, seed=seed)
    y[:2] = 0, 1
    order = "random" if random else "fixed"
    model = mm.Perceptron(order=order, max_epochs=50_000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.converged_ != model.cycling_
    assert bool(mm.separable(X, y)) == model.converged_
    if model.cycling_:
        assert (model.witness_ >= 0).all()
        np.testing.assert_allclose(
            model.witness_ @ signed_padded(X, np.where(y == 1, 1, -1)), 0, atol=1e-14
        )
        assert model.certificate_.dual == 1 / 12
        assert model.certificate_.primal >= 1 / 12


def test_samples_that_no_mistake_was_made_on_do_not_matter():
    X, y = separable_data(3, n=200)
    model = mm.Perceptron().fit(X, y)
    used = model.counts_ > 0
    assert 2 < used.sum() < 100
    again = mm.Perceptron().fit(X[used], y[used])
    np.testing.assert_allclose(again.coef_, model.coef_)


def test_the_bound_of_classes_that_no_plane_separates_is_infinite():
    X, y = not_separable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cycling = mm.Perceptron(bound=True).fit(X, y)
        stopped = mm.Perceptron(bound=True, max_epochs=1).fit(X, y)
    assert cycling.cycling_
    assert not stopped.cycling_
    assert (cycling.bound_, stopped.bound_, cycling.gamma_) == (np.inf, np.inf, 0.0)
    assert not hasattr(mm.Perceptron(max_epochs=50).fit(SPAM, IS_SPAM), "bound_")


def test_a_limit_of_passes_is_said_and_a_separable_problem_keeps_its_bound():
    X, y = separable_data(1, gap=1e-3)
    with pytest.warns(ConvergenceWarning, match=r"max_epochs=1\b.*separable\(X, y\)"):
        model = mm.Perceptron(max_epochs=1, bound=True).fit(X, y)
    assert model.mistakes_ <= model.bound_ < np.inf
    assert model.certificate_.dual == 0
    assert model.certificate_.kind == "relaxation"


# Forms of data ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix, lambda X: X[::1, ::-1][:, ::-1]],
)
def test_every_form_of_x_gives_the_same_model(form):
    X, y = not_separable(n=300, d=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.Perceptron(max_epochs=7).fit(X, y)
        again = mm.Perceptron(max_epochs=7).fit(form(X), y)
        single = mm.Perceptron(max_epochs=7).fit(form(X).astype(np.float32), y)
    for other in (again, single):
        assert (other.coef_ == model.coef_).all()
        assert (other.counts_ == model.counts_).all()
        assert (other.decision_function(X) == model.decision_function(X)).all()


def test_more_classes_are_one_versus_rest():
    rng = np.random.default_rng(0)
    centres = 10.0 * np.array([[1, 0], [-1, 1], [-1, -1]])
    y = np.array(["north", "east", "west"])[np.arange(60) % 3]
    X = centres[np.arange(60) % 3] + rng.normal(size=(60, 2))
    model = mm.Perceptron(bound=True).fit(X, y)
    assert model.coef_.shape == (3, 2)
    assert len(model.trace_) == len(model.mistakes_per_pass_) == 3
    assert (model.mistakes_ <= model.bound_).all()
    assert model.score(X, y) == 1
    assert model.certificate_.gap == 0
    for i, label in enumerate(model.classes_):
        alone = mm.Perceptron().fit(X, y == label)
        assert (alone.coef_[0] == model.coef_[i]).all()
        assert alone.mistakes_ == model.mistakes_[i]


def test_a_mixed_certificate_does_not_call_itself_global():
    y = np.array([0, 0, 1, 2])
    X = np.array([[0.0], [3.0], [1.0], [2.0]])  # class 0 lies around the others
    with pytest.warns(ConvergenceWarning, match="cycles"):
        found = mm.Perceptron(max_epochs=5000).fit(X, y).certificate_
    assert found.gap > 0
    assert found.kind == "relaxation"


def test_batches_are_one_pass():
    X, y = not_separable(n=200, d=5)
    with pytest.warns(ConvergenceWarning):
        whole = mm.Perceptron(max_epochs=1).fit(X, y)
    parts = mm.Perceptron()
    for rows in np.split(np.arange(200), [1, 50, 120]):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    assert (parts.coef_ == whole.coef_).all()
    assert (parts.intercept_ == whole.intercept_).all()
    assert parts.mistakes_ == whole.mistakes_


def test_the_random_order_is_that_of_its_seed():
    X, y = separable_data(5, n=100, gap=0.05)
    fits = [
        mm.Perceptron(order="random", random_state=seed, max_epochs=100_000).fit(X, y)
        for seed in (0, 0, 1)
    ]
    assert (fits[0].coef_ == fits[1].coef_).all()
    assert (fits[0].coef_ != fits[2].coef_).any()
    assert (pickle.loads(pickle.dumps(fits[0])).predict(X) == y).all()


def test_traces_are_limited():
    X, y = separable_data(2)
    assert len(mm.Perceptron(trace=0).fit(X, y).trace_) == 0
    assert len(mm.Perceptron(trace=7).fit(X, y).trace_) == 7
    assert len(mm.Perceptron(max_epochs=10_000).fit(X, y).trace_) <= 100
    wide = sparse.random(20, 500_000, density=1e-4, format="csr", random_state=0)
    assert len(mm.Perceptron(max_epochs=100).fit(wide, np.arange(20) % 2).trace_) == 1
    with_trace = mm.Perceptron(trace=7).fit(X, y)
    assert (with_trace.coef_ == mm.Perceptron(trace=0).fit(X, y).coef_).all()
    assert "7 steps" in repr(with_trace.trace_)


# Bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"order": "shuffled"}, "order must be 'fixed' or 'random'"),
        ({"max_epochs": 0}, "max_epochs must be an integer ≥ 1"),
        ({"max_epochs": True}, "max_epochs must be an integer ≥ 1"),
        ({"trace": -1}, "trace must be an integer ≥ 0"),
        ({"bound": "yes"}, "bound must be True or False"),
        ({"intercept": None}, "intercept must be True or False"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_bad_parameters_get_one_sentence(parameters, words):
    with pytest.raises(ValueError, match=words):
        mm.Perceptron(**parameters).fit(SPAM, IS_SPAM)


def test_bad_batches_get_one_sentence():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        mm.Perceptron().partial_fit(SPAM, IS_SPAM)
    with pytest.raises(ValueError, match="at least 2 labels"):
        mm.Perceptron().partial_fit(SPAM, IS_SPAM, classes=[1])
    with pytest.raises(ValueError, match=r"y holds the class -1, .* not among \[1, 2\]"):
        mm.Perceptron().partial_fit(SPAM, IS_SPAM, classes=[1, 2])
    model = mm.Perceptron().partial_fit(SPAM, IS_SPAM, classes=[-1, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(SPAM, IS_SPAM, classes=[-1, 1, 2])
    for later in (model, mm.Perceptron().fit(SPAM, IS_SPAM)):
        with pytest.raises(ValueError, match="y holds the class 7, which is not among"):
            later.partial_fit(SPAM[:1], [7])
    np.testing.assert_array_equal(model.coef_, before)
    later.partial_fit(SPAM[:1], IS_SPAM[:1], classes=[1, -1])  # in any order, after a fit too


@pytest.mark.parametrize("model", [mm.Perceptron(), mm.Classifier()], ids=repr)
@pytest.mark.parametrize("classes", [[1], [[1, -1]], 3, [None, 1], [[1], [2, 3]], []], ids=str)
def test_classes_that_are_none_get_one_sentence(model, classes):
    with pytest.raises(
        ValueError,
        match=r"classes (must (hold at least 2|be a list of) labels|holds a missing label)",
    ):
        model.partial_fit(SPAM, IS_SPAM, classes=classes)


@pytest.mark.conformance
@parametrize_with_checks([mm.Perceptron(), mm.Perceptron(order="random", bound=False, trace=0)])
def test_sklearn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
