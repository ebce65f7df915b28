"""`certify` on models of other libraries whose loss or penalty couples the outputs."""

import warnings

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris, load_linnerud, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale

import minimand as mm
from minimand.audit.foreign.objectives import problem_of

X, Y = load_wine(return_X_y=True)
X = scale(X)[::2]
LABELS = np.array(["barolo", "grignolino", "barbera"])[Y[::2]]
WEIGHTS = np.random.default_rng(0).uniform(0.0, 2.0, len(X))
WEIGHTS[:5] = 0.0
BODIES, EXERCISES = load_linnerud(return_X_y=True)
BODIES = scale(BODIES)


def fitted(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


def norms(w, ratio):
    return ratio * np.abs(w).sum() + (1 - ratio) * 0.5 * (w**2).sum()


MULTINOMIAL = [
    linear_model.LogisticRegression(tol=1e-8, max_iter=1000),
    linear_model.LogisticRegression(solver="newton-cg", tol=1e-8, C=3.0, fit_intercept=False),
    linear_model.LogisticRegression(
        solver="saga", tol=1e-5, C=0.1, l1_ratio=0.6, max_iter=3000, random_state=0
    ),
]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
@pytest.mark.parametrize("model", MULTINOMIAL, ids=["l2", "no intercept", "net"])
def test_a_multinomial_model_has_its_value_and_a_small_gap(model, weights):
    fitted(model, X, LABELS, weights)
    found = mm.certify(model, X, LABELS, weights)
    total = len(X) if weights is None else weights.sum()
    loss = log_loss(LABELS, model.predict_proba(X), sample_weight=weights)
    value = loss + norms(model.coef_, model.l1_ratio) / (model.C * total)
    assert found.primal == pytest.approx(value, rel=1e-9)
    assert found.relative <= 1e-5
    assert "multinomial" in found.objective


def test_class_weights_are_sample_weights():
    by_class = {"barolo": 2.0, "grignolino": 0.5, "barbera": 1.0}
    model = fitted(linear_model.LogisticRegression(class_weight=by_class), X, LABELS)
    found = mm.certify(model, X, LABELS, WEIGHTS)
    model.class_weight = None
    factors = np.array([by_class[label] for label in LABELS])
    same = mm.certify(model, X, LABELS, WEIGHTS * factors)
    assert found.primal == pytest.approx(same.primal)
    assert found.dual == pytest.approx(same.dual)


def test_a_bound_holds_for_every_point():
    best = fitted(linear_model.LogisticRegression(tol=1e-9, max_iter=1000), X, LABELS)
    optimum = mm.certify(best, X, LABELS).primal
    rng = np.random.default_rng(1)
    for size in (1e-3, 0.1, 3.0):
        model = fitted(linear_model.LogisticRegression(), X, LABELS)
        model.coef_ = model.coef_ + size * rng.standard_normal(model.coef_.shape)
        model.intercept_ = model.intercept_ + size * rng.standard_normal(3) + 5.0
        found = mm.certify(model, X, LABELS)
        assert found.dual <= optimum + 1e-9
        assert found.gap >= found.primal - optimum - 1e-9


def test_cross_validated_models_are_read_at_their_choice():
    model = linear_model.LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=3, l1_ratios=(0.0,), scoring="accuracy", use_legacy_attributes=False
    )
    fitted(model.set_params(tol=1e-8, max_iter=1000), X, LABELS)
    found = mm.certify(model, X, LABELS)
    assert found.relative <= 1e-6
    assert f"{1 / (model.C_ * len(X)):.6g}·" in found.objective


def test_liblinear_takes_two_classes():
    model = fitted(linear_model.LogisticRegression(), X, LABELS)
    model.solver = "liblinear"
    with pytest.raises(ValueError, match="does not support multiclass classification"):
        mm.certify(model, X, LABELS)


def test_labels_of_other_data_are_refused():
    model = fitted(linear_model.LogisticRegression(), X, LABELS)
    with pytest.raises(ValueError, match=r"never seen: .*merlot"):
        mm.certify(model, X, np.where(LABELS == "barolo", "merlot", LABELS))


MULTI_TASK = [
    linear_model.MultiTaskLasso(alpha=3.0, tol=1e-9),
    linear_model.MultiTaskElasticNet(alpha=2.0, l1_ratio=0.3, tol=1e-9, fit_intercept=False),
    linear_model.MultiTaskElasticNet(alpha=2.0, l1_ratio=0.0, tol=1e-9),
    linear_model.MultiTaskLassoCV(alphas=[1.0, 5.0], cv=3, tol=1e-9),
    linear_model.MultiTaskElasticNetCV(alphas=[1.0, 5.0], l1_ratio=[0.5, 0.9], cv=3, tol=1e-9),
]


@pytest.mark.parametrize("model", MULTI_TASK, ids=lambda model: type(model).__name__)
def test_a_multi_task_model_has_its_value_and_a_small_gap(model):
    fitted(model, BODIES, EXERCISES)
    found = mm.certify(model, BODIES, EXERCISES)
    ratio = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0))
    alpha = getattr(model, "alpha_", getattr(model, "alpha", None))
    loss = 0.5 * ((model.predict(BODIES) - EXERCISES) ** 2).sum() / len(BODIES)
    rows = np.linalg.norm(model.coef_, axis=0).sum()
    value = loss + alpha * (ratio * rows + (1 - ratio) * 0.5 * (model.coef_**2).sum())
    assert found.primal == pytest.approx(value, rel=1e-9)
    assert found.relative <= 1e-6


def test_one_task_is_a_lasso():
    y = EXERCISES[:, 0]
    lasso = linear_model.Lasso(alpha=1.0, tol=1e-9).fit(BODIES, y)
    task = linear_model.MultiTaskLasso(alpha=1.0, tol=1e-9).fit(BODIES, y[:, None])
    one, other = mm.certify(lasso, BODIES, y), mm.certify(task, BODIES, y[:, None])
    assert one.primal == pytest.approx(other.primal)
    assert other.relative <= 1e-6
    with pytest.raises(ValueError, match=r"shape \(1, 3\).* 3 output"):
        mm.certify(task, BODIES, EXERCISES)


@pytest.mark.parametrize("library", ["celer.dropin_sklearn", "skglm.estimators"])
def test_multi_task_lassos_of_other_libraries(library):
    peer = linear_model.MultiTaskLasso(alpha=3.0, tol=1e-9).fit(BODIES, EXERCISES)
    own = {"__module__": library, "fit": lambda self: self}
    model = type("MultiTaskLasso", (BaseEstimator,), own)()
    model.alpha, model.fit_intercept = 3.0, True
    model.coef_, model.intercept_ = peer.coef_, peer.intercept_
    found = mm.certify(model, BODIES, EXERCISES)
    assert found.objective == mm.certify(peer, BODIES, EXERCISES).objective
    assert found.relative <= 1e-6


def test_the_objective_of_coupled_outputs_is_one():
    task = linear_model.MultiTaskLasso().fit(BODIES, EXERCISES)
    (objective,) = problem_of(task, BODIES, EXERCISES, None).objectives
    assert objective.n_scores == 3


def test_bounds_of_a_matrix_have_their_multipliers():
    X, y = load_iris(return_X_y=True)
    loss, penalty = mm.CrammerSinger(), mm.L2() + mm.Box(-0.2, 0.3)
    model = mm.Classifier(loss, penalty, alpha=0.1, tol=1e-9).fit(X[::2], y[::2])
    found = mm.duality(model, X[::2], y[::2])
    assert len(found.constraints) == 2 * model.coef_.size
    by_name = {each.words: each for each in found.constraints}
    slope = np.stack([table.multiplier @ X[::2] for table in found.samples])  # of the mean loss
    for (c, j), w in np.ndenumerate(model.coef_):
        low, high = by_name[f"w[{c}, {j}] ≥ -0.2"], by_name[f"w[{c}, {j}] ≤ 0.3"]
        assert low.slack == pytest.approx(w + 0.2)
        assert high.slack == pytest.approx(0.3 - w)
        assert min(low.slack, low.multiplier) < 1e-3
        assert min(high.slack, high.multiplier) < 1e-3
        # Lagrange: the slopes of loss and penalty are the forces of the bounds.
        assert slope[c, j] + 0.1 * w == pytest.approx(low.multiplier - high.multiplier, abs=1e-3)
