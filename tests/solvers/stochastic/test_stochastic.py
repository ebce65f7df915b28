"""Stochastic steps: what they are on average, where they lead, and what must not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.canonical.row_steps import Rule
from minimand.design import as_design
from minimand.problem.objective import Objective
from minimand.solvers import Sgd
from minimand.solvers.stochastic.learner import Learner, Steps

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MARGIN = [mm.Hinge(), mm.Logistic(), mm.SquaredHinge(), mm.PerceptronLoss(), mm.Exponential()]
DISTANCE = [mm.Squared(), mm.Huber(0.5), mm.Absolute(), mm.Quantile(0.8), mm.EpsilonInsensitive()]
PENALTIES = [mm.NoPenalty(), mm.L2(), mm.L1(), mm.L1() + 0.5 * mm.L2()]


def problem(loss, penalty=None, alpha=0.1, n=60, d=5, seed=0, X=None, offset=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) if X is None else X
    dense = X.toarray() if sparse.issparse(X) else X
    z = dense @ rng.standard_normal(dense.shape[1]) + 0.5 * rng.standard_normal(dense.shape[0])
    y = np.where(z > 0, 1.0, -1.0) if loss.target == "sign" else z
    mass = np.full(y.size, 1.0 / y.size)
    bound = (penalty or mm.L2()).bind(dense.shape[1], alpha)
    return Objective(loss, bound, as_design(X), y, mass, offset)


def after(objective, steps, order=None, weight=None, w=None, b=0.0, average=False):
    n, d = objective.design.shape
    learner = Learner.start(np.zeros(d) if w is None else w, b, steps.rule)
    order = np.arange(n, dtype=np.uint32) if order is None else np.asarray(order, dtype=np.uint32)
    learner.learn(objective, np.ones(n) if weight is None else weight, order, steps)
    return learner.model(objective, average)


@pytest.mark.parametrize("loss", MARGIN + DISTANCE, ids=repr)
def test_the_mean_step_is_the_gradient(loss):
    rng = np.random.default_rng(1)
    objective = problem(loss, offset=rng.standard_normal(60))
    w, b, eta = rng.standard_normal(5), 0.3, 1e-3
    moves = []
    for i in range(objective.n_samples):
        moved, shift = after(objective, Steps(eta), [i], w=w, b=b)
        moves.append(np.append(moved - w, shift - b) / -eta)
    point = objective.point(w, b)
    u = objective.mass * loss.gradient(point.z, objective.y)
    gradient = np.append(objective.backward(u) + 0.1 * w, u.sum())
    np.testing.assert_allclose(np.mean(moves, axis=0), gradient, atol=1e-9)


def test_pegasos():
    """w ← (1 − 1/t)w + y·x/(λt) where y·w·x < 1; from the second step on w is a mean."""
    objective = problem(mm.Hinge(), mm.L2(), alpha=0.5)
    objective = Objective(
        objective.loss,
        objective.penalty,
        objective.design,
        objective.y,
        objective.mass,
        intercept=False,
    )
    w = np.zeros(5)
    for t, (x, y) in enumerate(zip(objective.design.x, objective.y), 1):
        violated = y * (x @ w) < 1
        w = (1 - 1 / t) * w + violated * y * x / (0.5 * t)
    steps = Sgd("pegasos").steps_for(objective, np.arange(60), None)
    np.testing.assert_allclose(after(objective, steps)[0], w, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("alpha", [1e-3, 1e-2])
def test_pegasos_keeps_the_intercept_of_a_rare_class(loss, alpha):
    """Steps of 1/alpha that no penalty takes back would leave the null model.

    The excess falls like 1/(alpha·t).
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 10)) / 3
    y = X[:, 0] + X[:, 1] + 0.2 * rng.standard_normal(4000) > 0.8
    assert 0.02 < y.mean() < 0.1
    best = mm.Classifier(loss, alpha=alpha, tol=1e-4).fit(X, y).certificate_
    solver = Sgd("pegasos", epochs=round(0.05 / alpha))  # alpha·t = 200
    found = mm.Classifier(loss, alpha=alpha, solver=solver, random_state=0).fit(X, y)
    null = best.gap / best.relative  # the infimum of these losses is 0
    assert best.dual <= found.certificate_.primal
    assert found.certificate_.primal - best.primal <= 0.1 * (null - best.primal)


def test_classes_learn_together_as_a_stream_does():
    """One pass of a fit over all classes, dense or sparse, is one batch of a stream."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(600) % 9)
    X = 0.1 * rng.standard_normal((600, 12)) * (rng.uniform(size=(600, 12)) < 0.5)
    X[np.arange(600), y] += 1.0  # so that a pass leads somewhere for every class
    for step in ("adaptive", "decay", "pegasos"):
        solver = Sgd(step, epochs=1, shuffle=False)
        found = []
        for matrix in (X, sparse.csr_matrix(X)):
            model = mm.Classifier("hinge", alpha=1e-3, solver=solver)
            found.append(model.fit(matrix, y).coef_)
            stream = mm.Classifier("hinge", alpha=1e-3, solver=solver)
            stream.partial_fit(matrix, y)
            np.testing.assert_allclose(stream.coef_, found[-1], rtol=1e-10, atol=1e-12)
        tolerance = 0.05 if step == "adaptive" else 1e-9  # l2 steps wait for the fastest class
        np.testing.assert_allclose(found[0], found[1], rtol=tolerance, atol=tolerance)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(MARGIN[:4] + DISTANCE),
    penalty=st.sampled_from(PENALTIES),
    rule=st.sampled_from([Rule.PLAIN, Rule.ADAPTIVE]),
    single=st.booleans(),
    wide=st.booleans(),
)
def test_sparse_rows_are_dense_rows(seed, loss, penalty, rule, single, wide):
    rng = np.random.default_rng(seed)
    X = sparse.random(40, 7, 0.3, format="csr", random_state=rng)
    X = X.astype(np.float32 if single else np.float64)
    index = np.int64 if wide else np.int32
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    steps = Steps(0.5 if rule == Rule.ADAPTIVE else 0.05, rule=rule)
    pair = [problem(loss, penalty, X=x, seed=seed) for x in (X, X.toarray())]
    found = [after(p, steps) for p in pair]
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6, atol=1e-9)
    fortran = problem(loss, penalty, X=np.asfortranarray(X.toarray()), seed=seed)
    np.testing.assert_allclose(after(fortran, steps)[0], found[1][0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", [*DISTANCE, *MARGIN[:3]], ids=repr)
def test_the_flow_solves_its_equation(loss):
    """dt/ds = −ψ'(t), against a thousand small steps, from one row of weight one."""
    objective = problem(loss, mm.NoPenalty(), n=4, d=1, seed=3)
    x, y = objective.design.x[:1, 0], objective.y[:1]
    steps = Steps(3.0, rule=Rule.ADAPTIVE)
    w, b = after(objective, steps, [0])
    z, start = x * w[0] + b, loss.gradient(np.zeros(1), y)[0]
    # rates: 1/(|x|·|slope·x|) for w, 1/|slope| for b; both inputs count 1, so η = 3/√2
    speed = (1 / abs(start) + 1 / abs(start)) * 3.0 / np.sqrt(2)
    t, parts = np.zeros(1), 20_000
    for _ in range(parts):
        t = t - speed / parts * loss.gradient(t, y)
    np.testing.assert_allclose(z, t, atol=2e-3)


@pytest.mark.parametrize("loss", [mm.Squared(), mm.Absolute(), mm.Logistic()], ids=repr)
def test_the_units_of_columns_do_not_matter(loss):
    units = np.array([1e-4, 1e-2, 1.0, 1e3, 1e5])
    objective = problem(loss, mm.NoPenalty())
    scaled = Objective(
        loss, objective.penalty, as_design(objective.design.x * units), objective.y, objective.mass
    )
    steps = Steps(0.5, rule=Rule.ADAPTIVE)
    np.testing.assert_allclose(
        after(scaled, steps)[0] * units, after(objective, steps)[0], rtol=1e-9
    )


def test_weights_lengthen_the_flow():
    """For the squared loss what is left after weight 4 is the square of what is left after 1.

    The time of the flow is weight·rate, and the rate falls with the root of the weight.
    """
    objective = problem(mm.Squared(), mm.NoPenalty(), n=1, d=2)
    x, y = objective.design.x[0], objective.y[0]
    left = []
    for weight in (1.0, 4.0):
        w, b = after(objective, Steps(0.1, rule=Rule.ADAPTIVE), weight=np.array([weight]))
        left.append(1 - (x @ w + b) / y)
    np.testing.assert_allclose(left[1], left[0] ** 2, rtol=1e-12)
    assert 0 < left[1] < left[0] < 1


def test_a_huge_step_does_not_overshoot():
    objective = problem(mm.Squared(), mm.NoPenalty(), n=1, d=3)
    w, b = after(objective, Steps(1e9, rule=Rule.ADAPTIVE))
    np.testing.assert_allclose(objective.design.x[0] @ w + b, objective.y[0], rtol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("alpha", [1e-3, 1e-2])
def test_five_epochs_come_within_one_percent(loss, alpha):
    rng = np.random.default_rng(0)
    X = (rng.uniform(size=(8000, 40)) < 0.2) * 1.0
    y = np.where(X @ rng.standard_normal(40) + rng.standard_normal(8000) > 0.2, "a", "b")
    best = mm.Classifier(loss, alpha=alpha, tol=1e-5).fit(X, y).certificate_
    found = mm.Classifier(loss, alpha=alpha, solver="sgd", random_state=0).fit(X, y)
    assert best.dual <= found.certificate_.primal <= 1.01 * best.primal
    assert found.certificate_.dual <= best.primal
    assert found.solver_ == "sgd"


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "poisson"])
def test_regression_in_five_epochs(loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6000, 8)) * np.array([1e3, 1, 1, 1, 1, 1, 1, 1e-3])
    z = X @ (rng.standard_normal(8) / X.std(axis=0)) * 0.3
    y = rng.poisson(np.exp(z)) if loss == "poisson" else 5 + z + 0.3 * rng.standard_normal(6000)
    best = mm.Regressor(loss, "no_penalty", 0.0, tol=1e-5).fit(X, y).certificate_
    found = mm.Regressor(loss, "no_penalty", 0.0, solver="sgd", random_state=0).fit(X, y)
    scale = best.gap / best.relative if best.relative else 1.0
    assert found.certificate_.primal - best.primal <= 0.02 * scale


def test_a_target_far_from_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    y = 1e6 + 100 * (X @ np.arange(5.0) + rng.standard_normal(500))
    best = mm.Regressor(alpha=1e-3).fit(X, y).certificate_
    found = mm.Regressor(alpha=1e-3, solver="sgd", random_state=0).fit(X, y).certificate_
    assert found.primal <= 1.1 * best.primal


@pytest.mark.parametrize("step", ["adaptive", "fixed", "decay", "sqrt"])
def test_l1_gives_exact_zeros(step):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 30))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(2000)
    model = mm.Regressor("squared", "l1", 0.2, solver=Sgd(step), random_state=0).fit(X, y)
    assert (model.coef_[2:] == 0).sum() >= (15 if step == "adaptive" else 5)
    assert model.coef_[0] > 0.5
    assert model.coef_[1] < -0.5


@pytest.mark.parametrize("step", ["adaptive", "fixed", "decay", "sqrt", "pegasos"])
@pytest.mark.parametrize("options", [{}, {"average": False}, {"batch": 16}, {"balanced": True}])
def test_every_schedule_learns(step, options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = X @ rng.standard_normal(5) + 0.3 * rng.standard_normal(3000) > 1.0
    model = mm.Classifier("logistic", alpha=1e-2, solver=Sgd(step, **options), random_state=0)
    assert model.fit(X, y).score(X, y) > 0.85
    again = mm.Classifier("logistic", alpha=1e-2, solver=Sgd(step, **options), random_state=0)
    np.testing.assert_array_equal(again.fit(X, y).coef_, model.coef_)


def test_early_stopping_hands_over_the_best_model_on_held_out_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 40)), rng.integers(0, 2, 300)
    solver = Sgd(early_stopping=True, epochs=50, validation_fraction=0.3)
    model = mm.Classifier(alpha=1e-6, solver=solver, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped by early_stopping \(.*not fallen"
    ) as seen:
        model.fit(X, y)
    assert "set early_stopping=False" in str(seen[0].message)
    assert model.n_iter_ < 50
    with pytest.warns(ConvergenceWarning, match="its last epoch.*raise epochs for more") as seen:
        model.set_params(solver__epochs=2).fit(X, y)
    assert "early_stopping" not in str(seen[0].message)


def test_balanced_orders_spread_the_classes():
    objective = problem(mm.Hinge(), n=400)
    objective.y[:] = -1.0
    objective.y[:40] = 1.0
    order = Sgd(balanced=True).order_of(objective, np.arange(400), np.random.RandomState(0))
    assert sorted(order) == list(range(400))
    counts = [(order[k : k + 100] < 40).sum() for k in range(0, 400, 100)]
    assert min(counts) >= 9
    assert max(counts) <= 11


def test_explain_says_that_a_loss_is_not_compiled():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.poisson(1.0, 30)
    assert "NumPy" in mm.explain(mm.Regressor("poisson"), X, y).verdicts["sgd"].reason
    assert "NumPy" not in mm.explain(mm.Regressor("absolute"), X, y).verdicts["sgd"].reason


def test_the_warning_says_that_it_ends_by_design():
    X, y = np.random.default_rng(0).standard_normal((50, 3)), np.arange(50) % 2
    with pytest.warns(ConvergenceWarning, match="by design.*solver='"):
        mm.Classifier(alpha=0.1, solver="sgd", random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"step": "fast"}, "step"),
        ({"eta0": 0.0}, "eta0"),
        ({"step": "pegasos", "eta0": 1.0}, "eta0"),
        ({"t0": 1.0}, "t0"),
        ({"batch": 0}, "batch"),
        ({"epochs": 2.5}, "epochs"),
        ({"average": 3}, "average"),
        ({"balanced": True, "shuffle": False}, "balanced"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
    ],
)
def test_bad_options_are_refused(options, name):
    with pytest.raises(ValueError, match=name):
        mm.Regressor(solver=Sgd(**options)).fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize(
    ("loss", "penalty", "solver", "reason"),
    [
        ("squared", mm.NonNegative(), Sgd(), "bounds"),
        ("squared", mm.L2([1.0, 2.0, 3.0]), Sgd("fixed"), "l2 weights differ"),
        ("squared", mm.L1(), Sgd("pegasos"), "needs an L2"),
        ("chebyshev", mm.L2(), Sgd(), "whole set"),
    ],
)
def test_problems_that_it_cannot_take_are_refused(loss, penalty, solver, reason):
    with pytest.raises(ValueError, match=reason):
        mm.Regressor(loss, penalty, solver=solver).fit(np.eye(3), np.arange(3.0))
