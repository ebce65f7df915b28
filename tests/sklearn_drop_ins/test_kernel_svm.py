"""The kernel machines: libsvm's answers and attributes, weights, kernels, probabilities."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import minimand as mm
from minimand.sklearn import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from sklearn_checks import by_checks, quietly

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:150] for part in load_diabetes(return_X_y=True))
W = np.random.default_rng(0).integers(0, 3, 150).astype(float)
MACHINES = [
    (SVC, svm.SVC, {}, X, Y),
    (SVC, svm.SVC, {"kernel": "poly", "coef0": 1.0, "degree": 2}, X, Y),
    (SVC, svm.SVC, {"kernel": "linear", "C": 0.1}, X[:100], Y[:100]),
    (SVC, svm.SVC, {"class_weight": "balanced", "C": 10.0}, X[:130], Y[:130]),
    (NuSVC, svm.NuSVC, {"nu": 0.3}, X, Y),
    (SVR, svm.SVR, {"C": 30.0, "epsilon": 5.0}, XR, YR),
    (NuSVR, svm.NuSVR, {"C": 30.0, "nu": 0.3}, XR, YR),
    (OneClassSVM, svm.OneClassSVM, {"nu": 0.2}, X, Y),
]


def scores(model, data):
    return (getattr(model, "decision_function", None) or model.predict)(data)


@pytest.mark.parametrize("weights", [None, "some"])
@pytest.mark.parametrize(("ours", "theirs", "options", "data", "y"), MACHINES)
def test_the_model_is_libsvms(ours, theirs, options, data, y, weights):
    w = None if weights is None else W[: len(y)]
    model = ours(tol=1e-9, **options).fit(data, y, sample_weight=w)
    other = theirs(**{"tol": 1e-9, **options}).fit(data, y, sample_weight=w)
    assert model.certificate_.relative <= 1e-9
    size = np.abs(scores(other, data)).max()
    np.testing.assert_allclose(scores(model, data), scores(other, data), atol=3e-4 * size)
    for name in ("intercept_", "classes_", "class_weight_", "shape_fit_"):
        if hasattr(other, name):
            assert np.shape(getattr(model, name)) == np.shape(getattr(other, name)), name
    assert model.dual_coef_.shape[0] == other.dual_coef_.shape[0]
    assert model.dual_coef_.shape[1] == len(model.support_) == model.n_support_.sum()
    np.testing.assert_array_equal(model.support_vectors_, data[model.support_])
    if w is not None:
        assert (w[model.support_] > 0).all()
    # libsvm reads our support vectors, and predicts the same with them
    name = "_dense_decision_function" if hasattr(model, "decision_function") else "_dense_predict"
    found, expected = getattr(model, name)(data), getattr(theirs, name)(model, data)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * size)


@pytest.mark.parametrize(
    "model",
    [SVC(gamma=0.5), NuSVC(nu=0.2, gamma=0.5), OneClassSVM(gamma=0.5), SVR(gamma=0.5, C=3.0)],
    ids=repr,
)
def test_weights_are_copies_and_zero_is_absent(model):
    model.set_params(tol=1e-11)
    copies = np.repeat(np.arange(150), W.astype(int))
    one = model.fit(X, Y, sample_weight=W)
    first = scores(one, X).copy(), one.certificate_.primal
    two = model.fit(X[copies], Y[copies])
    np.testing.assert_allclose(first[0], scores(two, X), atol=1e-4)
    assert first[1] == pytest.approx(two.certificate_.primal, rel=1e-8)


def test_kernels_given_as_matrix_function_or_sparse_rows_are_the_same():
    gamma = 0.2
    plain = SVC(gamma=gamma, tol=1e-9).fit(X, Y)
    gram = rbf_kernel(X, gamma=gamma)
    matrix = SVC(kernel="precomputed", tol=1e-9).fit(gram, Y)
    function = SVC(kernel=lambda a, b: rbf_kernel(a, b, gamma=gamma), tol=1e-9).fit(X, Y)
    sparse = SVC(gamma=gamma, tol=1e-9).fit(sp.csr_matrix(X), Y)
    expected = plain.decision_function(X)
    np.testing.assert_allclose(matrix.decision_function(gram), expected, atol=1e-4)
    np.testing.assert_allclose(function.decision_function(X), expected, atol=1e-4)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X)), expected, atol=1e-4)
    assert sp.issparse(sparse.dual_coef_)
    assert matrix.support_vectors_.shape == (0, 0)
    np.testing.assert_array_equal(sparse.predict(sp.csr_matrix(X)), plain.predict(X))


def test_coef_of_the_linear_kernel_and_pickles():
    model = SVC(kernel="linear", tol=1e-8).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    ovo = SVC(kernel="linear", tol=1e-8, decision_function_shape="ovo").fit(X, Y)
    pairs = X @ ovo.coef_.T + ovo.intercept_
    np.testing.assert_allclose(ovo.decision_function(X), pairs, atol=1e-10)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities_are_near_those_of_libsvm():
    ours = SVC(probability=True, random_state=0).fit(X, Y)
    theirs = svm.SVC(probability=True, random_state=0).fit(X, Y)
    found = ours.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(found - theirs.predict_proba(X)).mean() < 0.02
    with pytest.raises(AttributeError, match="predict_proba"):
        SVC().fit(X, Y).predict_proba(X)


def test_an_indefinite_kernel_has_no_certificate():
    gram = -polynomial_kernel(X, degree=2)
    for model, data in ((SVC(kernel="precomputed"), gram), (SVC(kernel="sigmoid", coef0=-9.0), X)):
        with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
            model.fit(data, Y)
        assert model.certificate_.gap == np.inf
        assert model.certificate_.kind == "stationary"
        assert "semidefinite" in model.certificate_.infeasibility


def test_degenerate_data():
    y = np.array([0, 1] * 10)
    same = np.ones((20, 3))
    model = SVC(gamma=0.5).fit(same, y)
    assert model.certificate_.relative <= 1e-6
    assert np.isfinite(model.decision_function(same)).all()
    for C in (1e-9, 1e9):
        assert SVC(C=C, gamma=0.5).fit(X, Y).certificate_.relative <= 1e-6
    assert SVC(gamma=0.0).fit(X, Y).certificate_.relative <= 1e-6  # a constant kernel
    with pytest.raises(ValueError, match="zero or negative weights"):
        SVC().fit(X, Y, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match="same class"):
        SVC().fit(X, Y, sample_weight=(Y == 1).astype(float))
    with pytest.raises(ValueError, match="infeasible"):
        NuSVC(nu=0.9).fit(X[:110], Y[:110])
    with pytest.raises(ValueError, match="must be finite"):
        SVC(C=1e308).fit(X, Y)


def test_a_limit_is_told(monkeypatch):
    monkeypatch.setattr("minimand.sklearn.kernel_svm.machine.FEW", 0)  # rows in float32
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = SVC(max_iter=1, tol=1e-13, C=100.0).fit(X[50:], Y[50:])
    assert model.fit_status_ == 1
    assert model.certificate_.gap > 0


def test_pairs_share_one_matrix_and_large_problems_generate_rows(monkeypatch):
    models = [
        SVC(tol=1e-8),
        SVC(tol=1e-8, probability=True, random_state=0),
        NuSVC(nu=0.2, tol=1e-8),
        SVR(tol=1e-8),
        NuSVR(tol=1e-8),
        OneClassSVM(nu=0.2, tol=1e-8),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        shared = [scores(clone(model).fit(X, Y, sample_weight=W), X) for model in models]
        monkeypatch.setattr("minimand.sklearn.kernel_svm.machine.FEW", 0)
        monkeypatch.setattr("minimand.sklearn.kernel_svm.classifiers._MANY", 0)
        for model, expected in zip(models, shared):
            found = scores(model.fit(X, Y, sample_weight=W), X)
            np.testing.assert_allclose(found, expected, atol=1e-3)


def test_the_linear_kernel_on_columns_of_any_size():
    data, y = load_breast_cancer(return_X_y=True)
    model = SVC(kernel="linear").fit(data, y)
    assert model.certificate_.relative <= 1e-6
    assert mm.certify(model, data, y).relative <= 1e-6
    best = mm.Classifier("hinge", alpha=1 / len(y)).fit(data, y).certificate_
    assert model.certificate_.primal / len(y) == pytest.approx(best.primal, rel=1e-5)
    sums = SVR(kernel="linear", C=1.0).fit(data[:, :9] * 10.0 ** np.arange(9), data[:, 9])
    assert sums.certificate_.relative <= 1e-6


def test_kernels_of_minimand_are_taken():
    plain, given = SVC(gamma=0.5, tol=1e-8), SVC(kernel=mm.RBF(1.0), tol=1e-8)
    np.testing.assert_allclose(
        given.fit(X, Y).decision_function(X), plain.fit(X, Y).decision_function(X), atol=1e-4
    )
    bound = SVR(kernel=mm.RBF("median")).fit(X[:100], Y[:100])
    tau = mm.RBF("median").bind(X[:100]).tau
    other = SVR(gamma=0.5 / tau**2).fit(X[:100], Y[:100])
    np.testing.assert_allclose(bound.predict(X), other.predict(X), atol=1e-4)
    assert bound.certificate_.kind == "global"
    again = pickle.loads(pickle.dumps(bound))
    np.testing.assert_array_equal(again.predict(X), bound.predict(X))


def test_verbose_shows_the_gap(capsys):
    SVC(verbose=True).fit(X, Y)
    assert "SVC" in capsys.readouterr().err


def test_an_interrupted_fit_has_a_model(monkeypatch):
    from minimand.canonical import BoxBatch

    steps, begun = BoxBatch.settled, []

    def impatient(self, matrix, start, goals, shares=None):
        begun.append(1)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return steps(self, matrix, start, goals, shares)

    monkeypatch.setattr(BoxBatch, "settled", impatient)
    with pytest.raises(mm.Interrupted) as stopped:
        SVC(verbose=True).fit(X, Y)  # a bar for each of the three pairs
    model = stopped.value.result
    assert len(begun) == 2
    assert np.isfinite(model.certificate_.gap)
    assert model.predict(X).shape == (150,)


_FEW = [SVC(gamma=1.0, tol=1e-12)]
_OTHERS = [
    SVC(kernel="linear", tol=1e-12),
    SVR(gamma=1.0, tol=1e-12),
    NuSVR(gamma=1.0, tol=1e-12),
    OneClassSVM(gamma=1.0, tol=1e-12),
    NuSVC(),
]


def _expected(estimator):
    weights = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if isinstance(estimator, OneClassSVM):
        return dict.fromkeys(
            weights, "free support vectors have score 0, up to its rounding's sign"
        )
    if isinstance(estimator, NuSVC):
        reason = "weights make this nu infeasible, as in scikit-learn's own class"
        return dict.fromkeys(["check_class_weight_classifiers", *weights], reason)
    return {}


@by_checks(_FEW, _OTHERS, _expected)
def test_conformance(estimator, check):
    quietly(estimator, check)
