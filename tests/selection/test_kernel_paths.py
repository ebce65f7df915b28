"""Paths and searches on kernels: certificates for the kernel itself, matrices cut in folds."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=80)
SIGNS = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
KERNEL = mm.RBF(0.8)
FEW = 8 * 80 * 12  # bytes that hold 12 columns of the factor
CASES = [
    (mm.Regressor(features=KERNEL), Y),
    (mm.Classifier("logistic", features=KERNEL), SIGNS),
    (mm.Classifier("hinge", features=KERNEL), SIGNS),
    (mm.Classifier("multinomial", features=KERNEL), THREE),
    (mm.Classifier(mm.OneVsOne(mm.Logistic()), features=KERNEL), THREE),
    (mm.Regressor("huber", mm.L2Ball(2.0), features=KERNEL), Y),
]


@pytest.mark.parametrize(("machine", "y"), CASES, ids=lambda case: repr(case)[:40])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_path_on_a_cut_factor_bounds_the_optimum_of_the_kernel(machine, y):
    alphas = [1e-1, 1e-3]
    path = mm.path(machine.set_params(memory=FEW), X, y, alphas=alphas)
    for i, alpha in enumerate(alphas):
        whole = mm.Classifier if hasattr(machine, "class_weight") else mm.Regressor
        whole = whole(machine.loss, machine.penalty, alpha, features=KERNEL, tol=1e-9).fit(X, y)
        found, best = path.certificates[i], whole.certificate_
        assert found.dual <= best.primal + 1e-12
        assert found.gap >= found.primal - best.primal - 1e-12
        alone = machine.set_params(alpha=alpha).fit(X, y).certificate_
        assert found.gap <= 2.0 * alone.gap + 1e-4 * alone.primal
        machine.set_params(alpha=None)


def test_cut_factors_are_told():
    machine = mm.Regressor(features=KERNEL, memory=FEW)
    with pytest.warns(ConvergenceWarning, match="the cut of the kernel matrix at 12 columns"):
        mm.path(machine, X, Y, alphas=[1e-3, 1e-4])
    with pytest.warns(ConvergenceWarning, match="missed tol"):
        tuned = mm.Tuned(machine, alphas=[1e-3, 1e-4], cv=3).fit(X, Y)
    assert (tuned.cv_results_["max_relative_gap"] > machine.tol).all()
    best = mm.Regressor(features=KERNEL, alpha=tuned.alpha_).fit(X, Y).certificate_
    assert tuned.certificate_.dual <= best.primal
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        whole = mm.Tuned(mm.Regressor(features=KERNEL), alphas=[1e-2, 1e-3], cv=3).fit(X, Y)
    assert (whole.cv_results_["max_relative_gap"] <= 1e-6).all()


@pytest.mark.parametrize("weights", [None, RNG.integers(0, 3, 80).astype(float)])
@pytest.mark.parametrize("features", [mm.Precomputed(), "precomputed"])
def test_a_matrix_of_kernel_values_is_cut_in_folds(features, weights):
    options = {"alphas": [1e-1, 1e-2, 1e-3], "cv": KFold(4, shuffle=True, random_state=0)}
    plain = mm.Tuned(mm.Classifier("logistic", features=KERNEL), **options)
    given = mm.Tuned(mm.Classifier("logistic", features=features), **options)
    plain.fit(X, SIGNS, sample_weight=weights)
    given.fit(KERNEL(X), SIGNS, sample_weight=weights)
    for name in ("mean_test_score", "split2_test_score"):
        np.testing.assert_allclose(given.cv_results_[name], plain.cv_results_[name], atol=1e-6)
    new = RNG.normal(size=(5, 3))
    found = given.decision_function(KERNEL(new, X))
    np.testing.assert_allclose(found, plain.decision_function(new), atol=1e-4)


def test_lists_and_frames_of_kernel_values():
    pd = pytest.importorskip("pandas")
    gram = KERNEL(X)
    found = [
        mm.Tuned(mm.Regressor(features=mm.Precomputed()), alphas=[0.1, 0.01], cv=3)
        .fit(given, Y)
        .cv_results_["mean_test_score"]
        for given in (gram, gram.tolist(), pd.DataFrame(gram))
    ]
    np.testing.assert_allclose(found[1:], found[:2])
    exact = mm.Tuned(mm.Regressor(features=mm.Precomputed()), cv="loo").fit(gram, Y)
    other = mm.Tuned(mm.Regressor(features=KERNEL), cv="loo").fit(X, Y)
    assert exact.best_score_ == pytest.approx(other.best_score_, rel=1e-6)
    with pytest.raises(ValueError, match="square matrix of all training rows"):
        mm.Tuned(mm.Regressor(features=mm.Precomputed()), cv=3).fit(X, Y)


@pytest.mark.parametrize("kernel", [mm.RBF("median"), mm.RBF(1.0).center()], ids=repr)
def test_leaving_one_out_keeps_what_a_kernel_takes_from_all_rows(kernel):
    """The formula needs no refit: it equals fits without one row on the kernel of all rows."""
    bound, alphas = kernel.bind(X), [1e-1, 1e-3]
    found = mm.Tuned(mm.Regressor(features=kernel), alphas=alphas, cv="loo").fit(X, Y)
    gram = bound(X)
    others = ~np.eye(80, dtype=bool)
    for alpha, score in zip(alphas, found.cv_results_["mean_test_score"]):
        machine = mm.Regressor(alpha=alpha, features=mm.Precomputed(), tol=1e-12)
        left = [
            machine.fit(gram[np.ix_(rest, rest)], Y[rest]).predict(gram[i : i + 1, rest])[0]
            for i, rest in enumerate(others)
        ]
        assert score == pytest.approx(-0.5 * np.mean((Y - left) ** 2), rel=1e-6)


@pytest.mark.parametrize("kernel", [KERNEL, mm.RBF("median"), mm.RBF(1.0).center()], ids=repr)
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_folds_are_fits_of_their_own(kernel, scoring):
    """Whether they share a factor, or the kernel takes something from their training rows."""
    cv, weights = KFold(4, shuffle=True, random_state=0), RNG.integers(0, 3, 80).astype(float)
    machine = mm.Regressor("huber", features=kernel, tol=1e-9)
    tuned = mm.Tuned(machine, alphas=[1e-1, 1e-2], cv=cv, scoring=scoring)
    tuned.fit(X, Y, sample_weight=weights)
    for i, (train, test) in enumerate(cv.split(X)):
        for j, alpha in enumerate([1e-1, 1e-2]):
            alone = mm.Regressor("huber", alpha=alpha, features=kernel, tol=1e-9)
            alone.fit(X[train], Y[train], sample_weight=weights[train])
            rest = alone.predict(X[test]) - Y[test]
            losses = mm.Huber().value(rest, np.zeros(test.size)) if scoring is None else rest**2
            expected = -np.average(losses, weights=weights[test])
            found = tuned.cv_results_[f"split{i}_test_score"][j]
            assert found == pytest.approx(expected, rel=1e-3)
