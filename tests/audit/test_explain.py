"""mm.explain says which solvers would work and why; mm.certify refuses in words."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import NuSVC

import minimand as mm
from minimand.solvers import SOLVERS

X, Y = make_regression(60, 5, noise=1.0, random_state=0)
C = (np.median(Y) < Y).astype(int)


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        (mm.Regressor("squared", "l2"), "closed_form"),
        (mm.Regressor("squared", "no_penalty"), "closed_form"),
        (mm.Regressor("squared", "l1"), "working_set"),
        (mm.Regressor("huber", "l2"), "newton"),
        (mm.Regressor("huber", mm.L1() + mm.L2()), "working_set"),
        (mm.Classifier("logistic", "l2"), "newton"),
        (mm.Classifier("logistic", "l1"), "working_set"),
        (mm.Classifier("logistic", "l2", solver="working_set"), "working_set"),
    ],
    ids=repr,
)
def test_the_chosen_solver_is_the_one_that_fit_takes(model, chosen):
    y = Y if isinstance(model, mm.Regressor) else C
    explanation = mm.explain(model, X, y)
    assert explanation.chosen == chosen
    assert set(explanation.verdicts) == set(SOLVERS)
    assert explanation.verdicts[chosen].ok
    assert not hasattr(model, "coef_")
    assert model.fit(X, y).solver_ == chosen
    assert model.certificate_.objective == explanation.objective


def test_the_text_is_readable():
    text = str(mm.explain(mm.Regressor("huber", mm.L1() + 0.5 * mm.L2(), alpha=0.1), X, Y))
    lines = text.splitlines()
    assert lines[0] == "minimise mean huber(z, y; delta=1.0) + 0.1·‖w‖₁ + 0.05·½‖w‖², z = X w + b"
    assert lines.pop() == "  (↳ continues where working_set hands over)"
    assert len(lines) == 1 + len(SOLVERS)
    marks = {line.split()[1]: line.split()[0] for line in lines[1:]}
    assert marks["primal_dual"] == "↳"
    assert marks["closed_form"] == "✗"
    assert marks["newton"] == "✗"
    assert marks["working_set"] == "→"
    assert "Huber() is not the squared loss" in text
    assert all(len(line.split(maxsplit=2)[2]) > 10 for line in lines[1:])
    assert "operations" in next(line for line in lines if "→" in line)
    assert max(map(len, lines)) < 120


def test_who_goes_on_where_the_chosen_solver_hands_over():
    hinge = mm.explain(mm.Classifier("hinge", alpha=0.1, solver="dual"), X, C)
    assert (hinge.chosen, hinge.heir) == ("dual", "primal_dual")
    assert "↳ primal_dual" in str(hinge)
    logistic = mm.explain(mm.Classifier("logistic", alpha=0.1, solver="dual"), X, C)
    assert (logistic.chosen, logistic.heir) == ("dual", "newton")
    assert mm.explain(mm.Regressor("poisson", "l1"), X, np.exp(Y / Y.max())).heir == ""
    assert mm.explain(mm.Regressor("squared", "l2"), X, Y).heir == ""


def test_refusals_have_reasons_and_no_cost():
    for verdict in mm.explain(mm.Regressor("huber", "l1"), X, Y).verdicts.values():
        assert verdict.reason
        assert np.isfinite(verdict.cost) == verdict.ok


def test_memory_is_a_reason():
    found = mm.explain(mm.Regressor(memory=10), X, Y)
    assert not found.verdicts["closed_form"].ok
    assert "too large" in found.verdicts["closed_form"].reason


def test_weights_offsets_features_and_several_classes():
    model = mm.Regressor(features=PolynomialFeatures(2), intercept=False)
    found = mm.explain(model, X, Y, sample_weight=np.ones(60), offset=np.ones(60))
    assert found.objective.endswith("z = offset + φ(X) w, φ = PolynomialFeatures()")
    assert not hasattr(model, "features_")
    X4, y4 = make_classification(100, 8, n_informative=6, n_classes=4, random_state=0)
    assert mm.explain(mm.Classifier(), X4, y4).chosen == "newton"


def test_a_solver_by_name_that_refuses():
    found = mm.explain(mm.Regressor(penalty="l1", solver="newton"), X, Y)
    assert found.chosen == ""
    assert "✗ newton" in str(found)
    assert "→" not in str(found)


def test_a_problem_that_nobody_takes_gets_the_table():
    found = mm.explain(mm.Regressor("absolute", "mcp"), X, Y)
    assert found.chosen == ""
    assert not any(verdict.ok for verdict in found.verdicts.values())


@pytest.mark.parametrize("thing", [3, "regressor", Lasso(), None])
def test_only_our_estimators_are_explained(thing):
    with pytest.raises(
        TypeError, match="estimator must be a minimand Regressor, Classifier or Ranker, not"
    ):
        mm.explain(thing, X, Y)


# Certify -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [NuSVC(), 3, mm.Regressor, None])
def test_certify_says_whom_it_knows(model):
    with pytest.raises(TypeError, match=r"cannot certify .*: pass a fitted minimand estimator"):
        mm.certify(model, X, C)


@pytest.mark.parametrize("model", [mm.Regressor(), mm.Classifier(), Lasso(), Ridge()])
def test_certify_needs_a_fitted_model(model):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        mm.certify(model, X, C)


@pytest.mark.parametrize("model", [mm.Regressor().fit(X, Y), Lasso().fit(X, Y)])
def test_certify_wants_the_same_features(model):
    with pytest.raises(ValueError, match="X has 3 features"):
        mm.certify(model, X[:, :3], Y)


def test_certify_wants_as_many_targets_as_rows():
    with pytest.raises(ValueError, match="X has 60 rows and y has 59"):
        mm.certify(mm.Regressor().fit(X, Y), X, Y[1:])


@pytest.mark.parametrize("against", [3, mm.Regressor(), Lasso()])
def test_against_must_have_a_dual_point(against):
    with pytest.raises(TypeError, match="against must be a fitted minimand estimator"):
        mm.certify(mm.Regressor().fit(X, Y), X, Y, against=against)


def test_against_of_other_data():
    other = mm.Regressor().fit(X[:30], Y[:30])
    with pytest.raises(ValueError, match=r"against was fitted on other data: .*\(30, 1\)"):
        mm.certify(mm.Regressor().fit(X, Y), X, Y, against=other)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (LinearRegression(), mm.Regressor("squared", "no_penalty")),
        (Ridge(alpha=6.0), mm.Regressor("squared", "l2", alpha=6.0 / 60)),
        (Lasso(alpha=2.0), mm.Regressor("squared", "l1", alpha=2.0)),
        (
            ElasticNet(alpha=2.0, l1_ratio=0.25),
            mm.Regressor("squared", 0.25 * mm.L1() + 0.75 * mm.L2(), alpha=2.0),
        ),
        (LogisticRegression(C=0.5), mm.Classifier("logistic", "l2", alpha=1 / 30)),
    ],
    ids=repr,
)
def test_audits_of_others_and_ours_agree(theirs, ours):
    y = C if isinstance(theirs, LogisticRegression) else Y
    theirs.fit(X, y)
    ours.set_params(tol=1e-12).fit(X, y)
    audit = mm.certify(theirs, X, y, against=ours)
    excess = audit.primal - ours.certificate_.primal
    assert excess >= -1e-9 * abs(audit.primal)
    assert audit.gap >= excess - 1e-9 * abs(audit.primal)
    assert audit.relative < 1e-3
    assert_allclose(audit.by_sample.sum() + audit.by_feature.sum(), audit.gap, atol=1e-9)


def test_an_audit_of_a_stopped_fit_finds_the_gap():
    with pytest.warns(ConvergenceWarning):
        short = mm.Classifier(alpha=1e-4, tol=0.0, max_iter=3).fit(X, C)
    best = mm.Classifier(alpha=1e-4, tol=1e-12).fit(X, C)
    audit = mm.certify(short, X, C, against=best)
    true_gap = short.certificate_.primal - best.certificate_.primal
    # Never less than the truth, not even a little; and with the best dual point hardly more.
    assert true_gap - 1e-12 <= audit.gap <= true_gap * (1 + 1e-4)


def test_of_a_tuned_model_its_estimator_is_explained():
    tuned = mm.Tuned(mm.Regressor("huber", "l1"), alphas=5, cv=3)
    before = mm.explain(tuned, X, Y)
    assert before.objective == mm.explain(tuned.estimator, X, Y).objective
    after = mm.explain(tuned.fit(X, Y), X, Y)
    assert after.objective == tuned.certificate_.objective
    assert after.chosen == before.chosen == "working_set"
