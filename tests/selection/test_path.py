"""Paths: every point is certified, and is the optimum that a cold fit finds."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

import minimand as mm
from minimand.estimators.prepare import posed_for_path
from minimand.selection.path import penalties_of


def awkward(n=60, d=40, seed=0):
    """Correlated, duplicated, constant and wildly scaled columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    X[:, 3] = X[:, 2]
    X[:, 4] = 2.0
    X[:, 5] *= 1e3
    X[:, 6] *= 1e-3
    y = X[:, :3] @ [1.0, -2.0, 0.5] + 0.002 * X[:, 5] + 0.3 * rng.standard_normal(n)
    return X, y


PENALTIES = {
    "l1": mm.L1(),
    "l2": mm.L2(),
    "elastic net": mm.L1() + 0.5 * mm.L2(),
    "weights": mm.L1(weights=np.r_[0.0, 0.0, np.linspace(0.5, 2.0, 38)]),
}
FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "float32": lambda X: X.astype(np.float32),
}


def agree(path, make, X, y, **data):
    """Each certificate is true: no cold fit is lower than its bound, or higher by its gap."""
    for i in range(len(path)):
        cold = make(path.alphas[i]).set_params(tol=1e-9).fit(X, y, **data)
        found = path.certificates[i]
        scale = cold.certificate_.gap / max(cold.certificate_.relative, 1e-300)
        slack = 1e-8 * max(scale, 1e-12) + found.rounding
        assert found.relative <= 1e-6 or found.gap <= found.rounding
        assert found.dual <= cold.certificate_.primal + slack
        assert cold.certificate_.dual <= found.primal + slack
        again = mm.certify(path.model(i), X, y, against=path.model(i), **data)
        assert again.primal == pytest.approx(found.primal, rel=1e-9, abs=1e-12)
        assert again.gap <= found.gap * (1 + 1e-6) + 10 * found.rounding + slack


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_point_is_the_optimum(penalty, form):
    X, y = awkward()
    X = form(X)
    model = mm.Regressor("squared", penalty)
    agree(mm.path(model, X, y, 15), lambda a: mm.Regressor("squared", penalty, alpha=a), X, y)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_classifiers(loss, penalty):
    X, y = awkward(seed=1)
    y = np.where(y > np.median(y), "yes", "no")
    path = mm.path(mm.Classifier(loss, penalty), X, y, 12, eps=1e-2)
    agree(path, lambda a: mm.Classifier(loss, penalty, alpha=a), X, y)
    assert path.coefs.shape == (12, 1, 40)
    assert path.intercepts.shape == (12, 1)


@pytest.mark.parametrize("loss", ["huber", "poisson", "gamma", "cross_entropy"])
def test_other_losses_with_weights_and_offset(loss):
    X, y = awkward(seed=2)
    X[:, 5] *= 1e-3
    y = 1 / (1 + np.exp(-0.3 * y)) if loss == "cross_entropy" else np.exp(0.2 * y / y.std())
    rng = np.random.default_rng(3)
    data = {"sample_weight": rng.integers(0, 3, 60), "offset": 0.1 * rng.standard_normal(60)}
    path = mm.path(mm.Regressor(loss, "l1"), X, y, 8, eps=1e-2, **data)
    agree(path, lambda a: mm.Regressor(loss, "l1", alpha=a), X, y, **data)


def test_many_columns_few_of_them_looked_at():
    """Slopes that cannot leave the box are not computed: fewer passes, the same certificates."""
    rng = np.random.default_rng(4)
    X = np.asfortranarray(rng.standard_normal((100, 3000)))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(100)
    path = mm.path(mm.Regressor("squared", "l1"), X, y, 30, eps=0.1)
    agree(path, lambda a: mm.Regressor("squared", "l1", alpha=a), X, y)
    early = [c.passes for c in path.certificates[2:12]]
    assert min(early) < 2.1  # scores twice, and hardly any slopes


def test_one_versus_rest():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 6))
    y = np.argmax(X[:, :3] + 0.5 * rng.standard_normal((90, 3)), axis=1)
    path = mm.path(mm.Classifier("logistic", "l1"), X, y, 7)
    assert path.coefs.shape == (7, 3, 6)
    assert path.n_nonzero[0] == 0
    cold = mm.Classifier("logistic", "l1", alpha=path.alphas[-1]).fit(X, y)
    model = path.model(len(path) - 1)
    assert np.allclose(model.coef_, cold.coef_, atol=2e-2)
    assert (model.predict(X) == cold.predict(X)).all()
    assert np.allclose(model.predict_proba(X), cold.predict_proba(X), atol=1e-2)


def test_the_grid_is_sorted_and_any_order_gives_the_same_path():
    X, y = awkward()
    alphas = [0.01, 1.0, 0.1, 0.1, 0.5]
    path = mm.path(mm.Regressor("squared", "l1"), X, y, alphas)
    assert np.array_equal(path.alphas, [1.0, 0.5, 0.1, 0.01])
    agree(path, lambda a: mm.Regressor("squared", "l1", alpha=a), X, y)


def test_alpha_zero_ends_a_path():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((50, 4))
    y = X @ [1.0, 2.0, 0.0, 0.0] + rng.standard_normal(50)
    path = mm.path(mm.Regressor("squared", "l1"), X, y, [0.1, 0.0])
    exact = np.linalg.lstsq(np.c_[X, np.ones(50)], y, rcond=None)[0]
    assert np.allclose(path.coefs[1], exact[:4], atol=1e-6)


@pytest.mark.parametrize("penalty", ["l1", mm.L1() + mm.L2(), PENALTIES["weights"]])
def test_alpha_max_is_where_the_model_empties(penalty):
    X, y = awkward()
    model = mm.Regressor("squared", penalty, tol=1e-12)
    top = mm.alpha_max(model, X, y)
    free = 2 if isinstance(penalty, mm.L1) else 0
    assert np.count_nonzero(model.set_params(alpha=top * (1 + 1e-9)).fit(X, y).coef_) == free
    assert np.count_nonzero(model.set_params(alpha=0.98 * top).fit(X, y).coef_) > free


def test_ridge_has_no_alpha_max_but_a_path():
    X, y = awkward()
    with pytest.raises(ValueError, match="never makes coefficients exactly zero"):
        mm.alpha_max(mm.Regressor("squared", "l2"), X, y)
    X = X[:, 7:]  # without the wild scales
    path = mm.path(mm.Regressor("squared", "l2"), X, X[:, :3] @ [1.0, -2.0, 0.5], 20)
    assert path.score[0] < 0.05
    assert path.score[-1] > 0.9
    assert (np.diff(path.score) > 0).all()


def test_attributes():
    X, y = awkward()
    path = mm.path(mm.Regressor("squared", "l1"), X, y, 10)
    assert len(path) == 10
    assert path.n_nonzero[0] == 0
    assert path.shrinkage[0] == 0
    assert path.shrinkage.max() == 1
    for i in (0, 4, 9):
        assert path.score[i] == pytest.approx(r2_score(y, path.model(i).predict(X)), abs=1e-9)
    assert "10 alphas" in repr(path)
    again = pickle.loads(pickle.dumps(path))
    assert np.array_equal(again.coefs, path.coefs)


def test_the_estimator_is_not_touched():
    X, y = awkward()
    model = mm.Regressor("squared", "l1", alpha=7.0)
    mm.path(model, X, y, 3)
    assert not hasattr(model, "coef_")
    assert model.alpha == 7.0


def test_feature_names_reach_the_models():
    pandas = pytest.importorskip("pandas")
    X, y = awkward()
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(40)])
    model = mm.path(mm.Regressor("squared", "l1"), frame, y, 3).model(2)
    assert list(model.feature_names_in_[:2]) == ["x0", "x1"]
    model.predict(frame)


def test_non_convex_penalties_have_stationary_paths():
    X, y = awkward()
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    path = mm.path(mm.Regressor("squared", mm.MCP()), X, y, 6)
    assert {c.kind for c in path.certificates} <= {"stationary"}
    assert max(c.relative for c in path.certificates) <= 1e-6


def test_limits_leave_valid_models():
    X, y = awkward()
    y = np.where(y > np.median(y), 1, -1)
    X = sparse.csr_array(X)  # whose alphas are solved one by one, so that iterations are counted
    model = mm.Classifier("logistic", "l1", max_iter=1, tol=1e-14)
    with pytest.warns(ConvergenceWarning, match="of 10 fits were stopped by max_iter=1"):
        path = mm.path(model, X, y, 10)
    for i in range(10):
        best = mm.Classifier("logistic", "l1", alpha=path.alphas[i], tol=1e-10).fit(X, y)
        assert path.certificates[i].dual <= best.certificate_.primal * (1 + 1e-12)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"alphas": 0}, "alphas must be a number of them"),
        ({"alphas": [-1.0]}, "alphas must be finite numbers"),
        ({"alphas": []}, "at least one"),
        ({"alphas": "many"}, "alphas must be how many"),
        ({"alphas": True}, "alphas must be how many"),
        ({"alphas": [[0.1]]}, "alphas must be how many"),
        ({"eps": "small"}, "eps must be a number between 0 and 1"),
        ({"eps": 2.0}, "eps must be a number between 0 and 1"),
    ],
)
def test_bad_arguments_are_refused(arguments, sentence):
    X, y = awkward()
    with pytest.raises(ValueError, match=sentence):
        mm.path(mm.Regressor("squared", "l1"), X, y, **arguments)


def test_only_our_estimators_have_paths():
    from sklearn.linear_model import Lasso

    with pytest.raises(
        TypeError, match="estimator must be a minimand Regressor, Classifier or Ranker, not Lasso"
    ):
        mm.path(Lasso(), *awkward())


def test_one_alpha_is_one():
    rng = np.random.default_rng(0)
    found = mm.path(mm.Regressor(penalty="l1"), rng.normal(size=(20, 3)), np.arange(20.0), [0.1])
    assert repr(found).startswith("Path(1 alpha 0.1, 3 nonzeros, relative gaps ≤ ")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_models_that_interpolate_are_a_good_start_too(seed, intercept):
    """With two rows every residual vanishes soon: the next alpha starts at a corner."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2, 5)), rng.normal(size=2)
    model = mm.Regressor("absolute", mm.L1() + mm.NonNegative(), intercept=intercept)
    found = mm.path(model, X, y, alphas=8)
    for alpha, certificate in zip(found.alphas, found.certificates):
        cold = clone(model).set_params(alpha=alpha).fit(X, y).certificate_
        assert certificate.relative <= 1e-6
        assert certificate.primal <= cold.primal + cold.gap + certificate.gap + 1e-12


def test_a_start_that_leads_nowhere_is_given_up():
    """From the model of the alpha before, interior points get stuck at one of these alphas."""
    rng = np.random.default_rng(5)
    n, d = int(rng.integers(50, 200)), int(rng.integers(5, 20))
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    path = mm.path(mm.Regressor(mm.Quantile(0.1), "l1"), X, y, alphas=100)
    assert max(certificate.relative for certificate in path.certificates) <= 1e-6


@pytest.mark.parametrize(
    "penalty",
    [
        mm.L1(weights=np.arange(1.0, 7.0)),
        0.3 * mm.L1() + 0.7 * mm.L2(),
        mm.L1() + mm.Box(-0.2, 0.3),
        mm.L1Ball(1.5),
        mm.MCP(),
        mm.SCAD(),
        mm.GroupL2([0, 0, 1, 1, 2, 2]) + 0.1 * mm.L2(),
        mm.SparseGroup([0, 0, 1, 1, 2, 2]),
        mm.GroupL2([0, 0, 1, 1, 2, 2], squared=True),
    ],
    ids=repr,
)
def test_the_penalty_of_every_alpha_is_the_bound_one(penalty):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    _, problem = posed_for_path(mm.Regressor("squared", penalty), X, y, None, None)
    [objective] = problem.objectives
    at = penalties_of(problem.coded.settings, objective)
    for alpha in (0.0, 0.02, 3.0):
        found, expected = at(objective, alpha).penalty, penalty.bind(6, alpha)
        assert type(found) is type(expected)
        for w in (0.1 * rng.standard_normal(6), np.zeros(6), np.full(6, 2.0)):
            assert found.value(w) == pytest.approx(expected.value(w), rel=1e-14)
