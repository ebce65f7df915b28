"""`certify` bounds the suboptimality of models that other libraries fitted."""

import warnings

import numpy as np
import oracle
import pytest
from scipy import sparse
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)

import minimand as mm

RNG = np.random.default_rng(3)
N, D = 40, 5
X = RNG.standard_normal((N, D)) * np.geomspace(0.5, 5, D) + 0.5
Y = X @ RNG.standard_normal(D) + RNG.standard_normal(N)
SIGNS = np.where(Y + 3 * RNG.standard_normal(N) > np.median(Y), 1.0, -1.0)
COUNTS = RNG.poisson(np.exp(np.clip(0.3 * (Y - Y.mean()), -2, 2))).astype(float)
S = RNG.uniform(0.2, 3.0, N)
LOOSE, TIGHT = {"tol": 0.3, "max_iter": 3}, {"tol": 1e-10, "max_iter": 50_000}
_STATE = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order():
    """Tests may run alone, in any order or in parallel: each sees the same random numbers."""
    RNG.bit_generator.state = _STATE


def problem(loss, y, l1, l2, intercept=True, weight=None, X=X):
    d = X.shape[1]
    return oracle.Problem(
        loss, X, y, np.broadcast_to(float(l1), d), np.broadcast_to(float(l2), d), intercept, weight
    )


def cases():
    """(name, peer, y, weight, problem, our twin)."""
    for effort, how in (("loose", LOOSE), ("tight", TIGHT)):
        for weight in (None, S):
            total = N if weight is None else S.sum()
            tag = f"{effort}-{'weighted' if weight is not None else 'equal'}"
            for icpt in (True, False):
                yield (
                    f"lasso-{tag}-{icpt}", Lasso(alpha=0.1, fit_intercept=icpt, **how), Y, weight,
                    problem("squared", Y, 0.1, 0, icpt, weight),
                    mm.Regressor("squared", "l1", alpha=0.1, intercept=icpt),
                )  # fmt: skip
            yield (
                f"elastic-{tag}", ElasticNet(alpha=0.2, l1_ratio=0.7, **how), Y, weight,
                problem("squared", Y, 0.14, 0.06, True, weight),
                mm.Regressor("squared", 0.7 * mm.L1() + 0.3 * mm.L2(), alpha=0.2),
            )  # fmt: skip
            yield (
                f"ridge-{tag}", Ridge(alpha=3.0, solver="lsqr", **how), Y, weight,
                problem("squared", Y, 0, 3.0 / total, True, weight),
                mm.Regressor("squared", "l2", alpha=3.0 / total),
            )  # fmt: skip
            yield (
                f"poisson-{tag}", PoissonRegressor(alpha=0.1, **how), COUNTS, weight,
                problem("poisson", COUNTS, 0, 0.1, True, weight),
                mm.Regressor("poisson", "l2", alpha=0.1),
            )  # fmt: skip
            for ratio in (0.0, 1.0, 0.4):
                C = 0.5
                yield (
                    f"logistic-{ratio}-{tag}",
                    LogisticRegression(
                        C=C, l1_ratio=ratio, solver="saga" if ratio else "lbfgs", random_state=0,
                        **how,
                    ),
                    SIGNS, weight,
                    problem("logistic", SIGNS, ratio / (C * total), (1 - ratio) / (C * total), True,
                            weight),
                    mm.Classifier("logistic", ratio * mm.L1() + (1 - ratio) * mm.L2(),
                                  alpha=1 / (C * total)),
                )  # fmt: skip
            yield (
                f"logistic-inf-{tag}", LogisticRegression(C=np.inf, **how), SIGNS, weight,
                problem("logistic", SIGNS, 0, 0, True, weight),
                mm.Classifier("logistic", "no_penalty"),
            )  # fmt: skip


CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_audit(case):
    name, peer, y, weight, p, twin = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X, y, sample_weight=weight)
    c = mm.certify(peer, X, y, sample_weight=weight)
    w, b = np.ravel(peer.coef_), float(np.ravel(peer.intercept_)[0])
    oracle.check_certificate(p, w, b, c)
    true = float(p.primal(w, b) - p.optimum()[2])
    assert c.gap >= true - 1e-12
    assert c.objective
    if np.isfinite(c.gap):
        assert c.by_sample.shape == (N,)
        assert c.by_feature.shape == (D,)
        assert (c.by_sample >= 0).all()
        assert (c.by_feature >= 0).all()
        total = c.by_sample.sum() + c.by_feature.sum()
        assert total == pytest.approx(c.gap, rel=1e-9, abs=1e-14)
    if name.endswith("tight"):
        assert c.gap <= 1e-4
    ours = twin.set_params(tol=1e-10).fit(X, y, sample_weight=weight)
    tight = mm.certify(peer, X, y, sample_weight=weight, against=ours)
    oracle.check_certificate(p, w, b, tight)
    assert tight.gap <= c.gap * (1 + 1e-9) + 1e-15
    assert tight.gap == pytest.approx(true, rel=1e-2, abs=1e-7)
    assert tight.by_sample.sum() + tight.by_feature.sum() == pytest.approx(tight.gap, abs=1e-12)
    again = mm.certify(peer, X, y, sample_weight=weight, against=ours.certificate_)
    assert again.gap == pytest.approx(tight.gap, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_regression(make, intercept):
    peer = LinearRegression(fit_intercept=intercept).fit(X, Y)
    c = mm.certify(peer, make(X), Y)
    oracle.check_certificate(problem("squared", Y, 0, 0, intercept), peer.coef_, peer.intercept_, c)
    assert c.gap <= 1e-12
    peer.coef_ = peer.coef_ + 0.1
    c = mm.certify(peer, make(X), Y)
    p = problem("squared", Y, 0, 0, intercept)
    true = float(p.primal(peer.coef_, peer.intercept_) - p.optimum()[2])
    assert c.gap >= true * (1 - 1e-9)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("scaling", [1.0, 100.0])
def test_liblinear_penalises_its_intercept(penalty, scaling):
    peer = LogisticRegression(
        C=0.7, l1_ratio=1.0 if penalty == "l1" else 0.0, solver="liblinear", tol=1e-8,
        intercept_scaling=scaling, max_iter=10_000,
    ).fit(X, SIGNS)  # fmt: skip
    c = mm.certify(peer, X, SIGNS)
    more = np.column_stack([X, np.full(N, scaling)])
    alpha = 1 / (0.7 * N)
    l1, l2 = (alpha, 0.0) if penalty == "l1" else (0.0, alpha)
    p = problem("logistic", SIGNS, l1, l2, False, X=more)
    oracle.check_certificate(p, np.append(peer.coef_[0], peer.intercept_ / scaling), 0.0, c)
    assert c.relative < 1e-3
    assert "intercept" in c.objective


def test_liblinear_without_intercept_and_class_weight():
    peer = LogisticRegression(
        C=0.7, solver="liblinear", fit_intercept=False, class_weight={1.0: 3.0, -1.0: 1.0}, tol=1e-8
    ).fit(X, SIGNS)
    weight = np.where(SIGNS == 1, 3.0, 1.0)
    alpha = 1 / (0.7 * weight.sum())
    p = problem("logistic", SIGNS, 0, alpha, False, weight)
    c = mm.certify(peer, X, SIGNS)
    oracle.check_certificate(p, peer.coef_[0], 0.0, c)
    assert c.relative < 1e-4


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear"])
@pytest.mark.parametrize("weight", [None, S], ids=["equal", "weighted"])
def test_balanced_class_weights_count_weighted_samples(solver, weight):
    """scikit-learn's "balanced" is n/(k·Σ sample_weight of the class); the audit must agree."""
    y = np.where(np.arange(N) < 12, 1.0, SIGNS)
    peer = LogisticRegression(class_weight="balanced", tol=1e-8, max_iter=5000, solver=solver)
    peer.fit(X, y, sample_weight=weight)
    assert mm.certify(peer, X, y, sample_weight=weight).relative < 1e-4


def test_our_own_models_and_tampered_ones():
    model = mm.Regressor("squared", "l1", alpha=0.1).fit(X, Y)
    c = mm.certify(model, X, Y)
    assert c.gap <= model.certificate_.gap * 1.01 + 1e-6
    p = problem("squared", Y, 0.1, 0)
    for bad in (0.0, 0.5, 10.0, -1.0):
        model.coef_ = bad * np.ones(D)
        c = mm.certify(model, X, Y)
        oracle.check_certificate(p, model.coef_, model.intercept_, c)
        true = float(p.primal(model.coef_, model.intercept_) - p.optimum()[2])
        assert c.gap >= true * (1 - 1e-9)


def test_with_offset():
    offset = RNG.standard_normal(N)
    model = mm.Classifier("logistic", "l2", alpha=0.1).fit(X, SIGNS, offset=offset)
    l2 = np.full(D, 0.1)
    p = oracle.Problem("logistic", X, SIGNS, 0 * l2, l2, True, None, offset)
    c = mm.certify(model, X, SIGNS, offset=offset)
    oracle.check_certificate(p, model.coef_, model.intercept_, c)
    assert c.relative <= 2e-6
    assert mm.certify(model, X, SIGNS).gap > 10 * c.gap  # another problem


def test_refusals_in_words():
    from sklearn.linear_model import TheilSenRegressor
    from sklearn.tree import DecisionTreeRegressor

    for peer in (TheilSenRegressor(), DecisionTreeRegressor()):
        with pytest.raises(TypeError, match="cannot certify"):
            mm.certify(peer.fit(X, Y), X, Y)
    other = mm.Regressor("squared", "l1", alpha=0.1).fit(X[:20], Y[:20])
    with pytest.raises(ValueError, match="other data"):
        mm.certify(Lasso(alpha=0.1).fit(X, Y), X, Y, against=other)
    with pytest.raises(TypeError, match="against"):
        mm.certify(Lasso(alpha=0.1).fit(X, Y), X, Y, against="nothing")


def test_against_an_unrelated_certificate_stays_sound():
    """A dual point of another alpha, or of other weights, is at worst useless."""
    p = problem("logistic", SIGNS, 0.02, 0)
    peer = mm.Classifier("logistic", "l1", alpha=0.02, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X, SIGNS)
    others = [
        mm.Classifier("logistic", "l1", alpha=0.5).fit(X, SIGNS),
        mm.Classifier("logistic", "l2", alpha=1e-4).fit(X, SIGNS),
        mm.Classifier("logistic", "l1", alpha=0.02).fit(X, SIGNS, sample_weight=S),
        mm.Classifier("squared_hinge", "l1", alpha=0.02).fit(X, SIGNS),
        mm.Classifier("logistic", "l1", alpha=0.02, intercept=False).fit(X, SIGNS),
        mm.Classifier("logistic", "l1", alpha=0.02).fit(X, -SIGNS),
    ]
    for other in others:
        c = mm.certify(peer, X, SIGNS, against=other)
        oracle.check_certificate(p, peer.coef_, peer.intercept_, c)
