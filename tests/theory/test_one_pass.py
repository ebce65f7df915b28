"""`certify(model, batches=…)`: one pass, a sound bound, in memory that does not grow."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone

import minimand as mm
from minimand.certificate import streamed as one_pass

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N, D = 300, 5
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)) * [1.0, 2.0, 0.1, 5.0, 1.0]
Z = X @ [1.0, -0.5, 0.0, 0.0, 2.0] + 0.7 + RNG.standard_normal(N)
LABELS = np.array(["no", "yes"])[(Z > 0.5).astype(int)]
MANY = np.array(["a", "b", "c"])[(Z > -1).astype(int) + (Z > 2)]
WEIGHTS = RNG.integers(0, 4, N).astype(float)

REGRESSIONS = ["squared", "huber", mm.Quantile(0.3), "poisson"]
CLASSIFICATIONS = ["logistic", "hinge", "squared_hinge"]
PENALTIES = [mm.L2(), mm.L1(), 0.5 * mm.L1() + mm.L2(), mm.L1() + mm.NonNegative(), mm.NoPenalty()]


def batches(X, y, size=37, weights=None):
    for start in range(0, X.shape[0], size):
        rows = slice(start, start + size)
        yield (X[rows], y[rows]) if weights is None else (X[rows], y[rows], weights[rows])


def by_its_gradient(*arguments):
    """What the model's own gradient proves: no other fit is asked for its dual point."""
    with mock.patch("minimand.audit.examination._with_solved_dual", lambda _, first, *rest: first):
        return mm.certify(*arguments)


def target_of(loss):
    if loss in CLASSIFICATIONS:
        return LABELS
    return np.rint(np.exp(0.2 * Z)) if loss == "poisson" else Z


def estimator_of(loss, penalty, **options):
    kind = mm.Classifier if loss in CLASSIFICATIONS else mm.Regressor
    return kind(loss, penalty, 0.05, tol=1e-9, **options)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", [*REGRESSIONS, *CLASSIFICATIONS], ids=str)
def test_the_bound_is_sound_at_the_optimum_and_far_from_it(loss, penalty, intercept):
    y = target_of(loss)
    best = estimator_of(loss, penalty, intercept=intercept).fit(X, y)
    rng = np.random.default_rng(1)
    for distance in (0.0, 1e-3, 0.3):
        model = clone(best).fit(X, y)
        moved = model.coef_ + distance * rng.standard_normal(model.coef_.shape)
        model.coef_ = np.abs(moved) if "NonNegative" in repr(penalty) else moved
        model.intercept_ = model.intercept_ + intercept * distance * rng.standard_normal()
        found = mm.certify(model, batches=batches(X, y))
        full = mm.certify(model, X, y)
        slack = 1e-10 * abs(full.primal)
        assert found.primal == pytest.approx(full.primal, rel=1e-12)
        assert found.dual <= best.certificate_.primal + slack
        assert found.gap >= found.primal - best.certificate_.primal - slack
        assert found.gap <= full.primal + slack  # θ = 0 is always there
        assert found.relative >= (full.primal - best.certificate_.primal - slack) / full_scale(full)
        assert found.objective == full.objective
        assert found.by_feature.shape == (D,)


def full_scale(certificate):
    return certificate.gap / certificate.relative if certificate.relative else np.inf


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "poisson"])
def test_as_tight_as_with_all_data_where_every_dual_point_is_feasible(loss):
    """L2, a smooth loss and no intercept: the gradient is a dual point as it is."""
    y = target_of(loss)
    model = mm.fit_stream(estimator_of(loss, mm.L2(), intercept=False), batches(X, y))
    found, full = mm.certify(model, batches=batches(X, y)), by_its_gradient(model, X, y)
    assert found.gap <= full.gap * (1 + 1e-9)
    assert found.relative == pytest.approx(found.gap / full_scale(full), rel=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("penalty", PENALTIES[:3], ids=repr)
def test_little_is_lost_beside_a_free_intercept_and_an_l1_norm(loss, penalty):
    y = target_of(loss)
    model = mm.fit_stream(estimator_of(loss, penalty), [*batches(X, y)] * 20)
    found, full = mm.certify(model, batches=batches(X, y)), by_its_gradient(model, X, y)
    assert found.gap <= 2 * full.gap + 1e-6 * full.primal
    assert found.relative < 0.1


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=40), st.booleans())
def test_it_does_not_matter_how_rows_come(sizes, dense):
    model = mm.Classifier("logistic", "l1", alpha=0.02, tol=1e-2).fit(X, LABELS, WEIGHTS)
    whole = mm.certify(model, batches=[(X, LABELS, WEIGHTS)])  # both may be had again
    ends = [*(e for e in np.cumsum(sizes) if e < N), N]
    data = X if dense else sparse.csr_matrix(X)
    parts, start = [], 0
    for end in ends:
        if WEIGHTS[start:end].any():
            parts.append((data[start:end], LABELS[start:end], WEIGHTS[start:end]))
        start = end
    found = mm.certify(model, batches=parts)
    assert found.primal == pytest.approx(whole.primal, rel=1e-10)
    assert found.gap == pytest.approx(whole.gap, rel=1e-6)
    assert found.primal == pytest.approx(mm.certify(model, X, LABELS, WEIGHTS).primal, rel=1e-10)


def test_sorted_rows_give_a_looser_but_sound_bound(monkeypatch):
    monkeypatch.setattr(one_pass, "_SAMPLE", 50)  # the first rows know one class only
    order = np.argsort(LABELS, kind="stable")
    best = mm.Classifier(alpha=0.01, tol=1e-10).fit(X, LABELS)
    for shift in (0.0, 0.1):
        best.intercept_ = best.intercept_ + shift
        found = mm.certify(best, batches=batches(X[order], LABELS[order], 20))
        assert found.dual <= best.certificate_.primal + found.rounding
        assert found.gap < 0.5 * found.primal


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(one_pass, "_SAMPLE", 64)
    held = []
    flush = one_pass.Tally._flush

    def watched(tally):
        held.append(sum(rows.y.size for rows in tally.waiting))
        flush(tally)
        assert not tally.waiting

    monkeypatch.setattr(one_pass.Tally, "_flush", watched)
    model = mm.Regressor(alpha=0.1).fit(X, Z)
    found = mm.certify(model, batches=batches(X, Z, 10))
    assert max(held) <= 64 + 10
    assert found.relative < 1e-3
    assert found.dual_point is None


SCIKIT = [
    linear_model.Ridge(3.0),
    linear_model.Lasso(0.1),
    linear_model.ElasticNet(0.1, positive=True),
    linear_model.SGDRegressor(random_state=0),
    linear_model.LogisticRegression(C=0.1),
    linear_model.SGDClassifier("log_loss", alpha=0.01, random_state=0, class_weight={"a": 2.0}),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", SCIKIT, ids=lambda m: type(m).__name__)
def test_models_of_scikit_learn(model, weighted):
    """Also those whose alpha depends on how much all rows weigh."""
    y = Z if not hasattr(model, "predict_proba") else LABELS
    y = MANY if isinstance(model, linear_model.SGDClassifier) else y
    weights = WEIGHTS if weighted else None
    model = clone(model).fit(X, y, sample_weight=weights)
    found = mm.certify(model, batches=batches(X, y, 50, weights))
    full = by_its_gradient(model, X, y, weights)
    assert found.primal == pytest.approx(full.primal, rel=1e-10)
    assert found.objective == full.objective
    assert found.dual <= full.primal
    assert found.gap <= 3 * full.gap + 1e-3 * full.primal


def test_several_outputs_and_penalised_intercepts():
    ridge = linear_model.Ridge([1.0, 5.0]).fit(X, np.column_stack([Z, -Z]))
    Y = np.column_stack([Z, -Z])
    found, full = mm.certify(ridge, batches=batches(X, Y)), mm.certify(ridge, X, Y)
    assert found.primal == pytest.approx(full.primal, rel=1e-10)
    assert found.relative < 1e-6
    from sklearn.svm import LinearSVC

    svm = LinearSVC(C=0.1, loss="squared_hinge").fit(X, MANY)
    found, full = mm.certify(svm, batches=batches(X, MANY)), mm.certify(svm, X, MANY)
    assert found.primal == pytest.approx(full.primal, rel=1e-10)
    assert found.gap == pytest.approx(full.gap, rel=0.5)


def test_features_and_constraints():
    model = mm.Regressor("squared", "l2", 0.1, features=mm.Monomials(2)).fit(X, Z)
    found = mm.certify(model, batches=batches(X, Z))
    assert found.relative < 1e-6
    assert found.by_feature.shape == model.coef_.shape
    model = mm.Regressor("squared", mm.Box(1.0, 2.0), 0.1).fit(X, Z)  # zero is not allowed
    found, full = mm.certify(model, batches=batches(X, Z)), mm.certify(model, X, Z)
    assert found.gap == pytest.approx(full.gap, abs=1e-6 * full.primal)


def test_an_unpenalised_model_of_separable_classes_is_not_called_optimal():
    y = np.where(X[:, 0] > 0, 1, -1)
    model = mm.Classifier("logistic", "no_penalty", alpha=0.0, max_iter=3).fit(X, y)
    found = mm.certify(model, batches=batches(X, y))
    assert found.dual <= 1e-12  # the infimum is zero, and never reached
    assert found.gap >= found.primal * (1 - 1e-12)


REFUSALS = [
    (mm.Classifier(class_weight="balanced"), LABELS, {}, "needs all of y at once"),
    (mm.Regressor("chebyshev"), Z, {}, r"Chebyshev\(\) is none"),
    (mm.Regressor("geman_mc_clure"), Z, {}, r"GemanMcClure\(.*\) is none"),
    (mm.Regressor("squared", mm.MCP()), Z, {}, "the model's penalty is none"),
    (linear_model.HuberRegressor(), Z, {}, "scale"),
    (mm.Regressor(), Z, {"X": X, "y": Z}, "either X"),
    (mm.Regressor(), Z, {"batches": None}, "needs X and y"),
    (mm.Regressor(), Z, {"batches": []}, "empty"),
    (mm.Regressor(), Z, {"batches": [(X, Z), (X[:, 1:], Z)]}, "batch number 2: .*features"),
    (mm.Regressor(), Z, {"batches": [X]}, "tuples"),
    (mm.Regressor(), Z, {"batches": 3}, "iterable"),
    (mm.Classifier(), LABELS, {"batches": [(X, MANY)]}, "batch number 1: y holds the class 'a'"),
]


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case[3])
def test_refusals(case):
    model, y, arguments, words = case
    model = clone(model).fit(X, y)
    with pytest.raises((TypeError, ValueError), match=words):
        mm.certify(model, **{"batches": batches(X, y), **arguments})


def test_numbers_are_plain_numbers():
    found = mm.certify(mm.Regressor(alpha=0.1).fit(X, Z), batches=batches(X, Z))
    for value in (found.primal, found.dual, found.gap, found.relative, found.rounding):
        assert type(value) is float


def test_a_model_outside_its_constraints_has_no_bound():
    model = mm.Regressor("squared", mm.NonNegative(), 0.1).fit(X, Z)
    model.coef_ = model.coef_ - 1.0
    found = mm.certify(model, batches=batches(X, Z))
    assert found.gap == np.inf
    assert found.infeasibility == "the objective is infinite"


def poisson_stream(seed=0, n=3000, d=5):
    """Counts of a log-linear model, in batches, and a model trained on one pass over them."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.standard_normal((n, d))
    y = rng.poisson(np.exp(X @ rng.standard_normal(d) + 1.0)).astype(float)
    return X, y, [(X[i : i + 100], y[i : i + 100]) for i in range(0, n, 100)]


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_second_pass_proves_about_what_the_data_in_memory_do(penalty, intercept):
    """The gradient of the stream's model proves little; a Newton step from it, nearly all."""
    X, y, batches = poisson_stream()
    model = mm.Regressor("poisson", penalty, alpha=1e-3, intercept=intercept)
    model = mm.fit_stream(model, batches)
    once, twice = mm.certify(model, batches=iter(batches)), mm.certify(model, batches=batches)
    memory = mm.certify(model, X, y)
    assert once.passes == 1
    assert twice.passes == 2
    assert twice.relative <= 3 * memory.relative
    assert twice.relative < 0.2 * once.relative
    best = mm.Regressor("poisson", penalty, alpha=1e-3, intercept=intercept, tol=1e-9).fit(X, y)
    for found in (once, twice):
        assert found.dual <= best.certificate_.primal + found.rounding


def test_batches_that_differ_at_the_second_pass_are_not_used():
    """Sums of other rows say nothing about these."""
    _, _, batches = poisson_stream(1)
    model = mm.fit_stream(mm.Regressor("poisson", "l2", alpha=1e-3), batches)

    class Changing:
        times = 0

        def __iter__(self):
            self.times += 1
            return iter([(a, b * self.times) for a, b in batches])

    changing = Changing()
    found = mm.certify(model, batches=changing)
    assert changing.times == 2
    assert found.passes == 1
    assert found.gap == mm.certify(model, batches=iter(batches)).gap
