"""history_: what every fit leaves behind, and plot_history, which draws it."""

import builtins
import pickle
import warnings
from itertools import islice

import numpy as np
import pytest
from accepted import ON_MATRICES, accepted
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.certificate import judge
from minimand.solvers import State
from minimand.solvers.history import combined

X = np.random.default_rng(0).standard_normal((40, 5))
Y = X @ np.arange(5.0) + np.random.default_rng(1).standard_normal(40)


def fit(solver="auto", **kwargs):
    settings = {"loss": "squared", "penalty": "l2", "alpha": 0.1, "max_iter": 30, "random_state": 0}
    settings |= kwargs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mm.Regressor(solver=solver, **settings).fit(X, Y)


@pytest.mark.parametrize("solver", ON_MATRICES)
def test_every_solver_leaves_one(solver):
    seen = []
    kind, loss, penalty, y = accepted(solver, X, Y)
    settings = {"loss": loss, "penalty": penalty, "alpha": 0.1, "max_iter": 30}
    settings |= {} if kind is mm.Ranker else {"random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(solver=solver, callbacks=[seen.append], **settings).fit(X, y)
    history = model.history_
    assert history.solver == model.solver_ == solver
    assert history.objective == model.certificate_.objective
    certificate = model.certificate_
    assert len(seen) == certificate.iterations + 1
    assert len(history) - len(seen) in (0, 1)  # one more if the best model is an earlier one
    for name in ("passes", "seconds", "primal", "dual", "gap"):
        column = getattr(history, name)
        assert column.dtype == np.float64
        told = [getattr(state, name) for state in seen]
        np.testing.assert_array_equal(column[: len(seen) - 1], told[:-1])
    assert (np.diff(history.passes) >= 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    assert (history.gap >= 0).all()
    if solver not in (
        "reweighted",
        "graduated",
        "convex_concave",
    ):  # bounds, every one; those of tangents are of their own problems
        assert (history.dual <= model.certificate_.primal + 1e-12).all()
    assert history.passes[-1] <= model.certificate_.passes
    last = history[-1]
    assert (last.primal, last.dual, last.gap) == (
        certificate.primal,
        certificate.dual,
        certificate.gap,
    )
    assert last.iteration == len(history) - 1
    assert last.point is None


def test_the_last_record_is_that_of_an_earlier_model_where_that_was_the_best():
    class Worse(mm.solvers.ProximalGradient):
        def iterate(self, objective, start, control):
            yield from islice(super().iterate(objective, start, control), 3)
            yield judge(objective, objective.null)

    seen = []
    model = fit(Worse(), callbacks=[seen.append], tol=0.0)
    history = model.history_
    assert len(history) == len(seen) + 1
    assert history[-2].gap == seen[-1].gap > history[-1].gap == model.certificate_.gap


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("labels", [2, 3])
def test_the_last_record_of_classes_is_their_certificate(loss, labels):
    y = np.digitize(Y, np.quantile(Y, np.arange(1, labels) / labels))
    model = mm.Classifier(loss, alpha=0.01).fit(X, y)
    last, certificate = model.history_[-1], model.certificate_
    for name in ("primal", "dual", "gap"):
        assert getattr(last, name) == pytest.approx(getattr(certificate, name), rel=1e-12)


def test_it_is_a_sequence():
    history = fit("proximal_gradient", tol=0.0).history_
    assert [state.iteration for state in history] == list(range(31))
    np.testing.assert_array_equal(history[5:10].gap, history.gap[5:10])
    assert isinstance(history[::2], mm.History)
    with pytest.raises(IndexError):
        history[31]
    assert repr(history).startswith("History(solver='proximal_gradient', iterations=30, passes=")
    assert "empty" in repr(mm.History("x"))
    history.gap[0] = -1.0  # a copy
    assert history[0].gap > 0


def test_options_are_part_of_the_label():
    assert fit(mm.solvers.Fista(restart=True)).history_.solver == "Fista(restart=True)"
    assert fit(mm.solvers.Fista()).history_.solver == "fista"


def test_pickle_and_clone():
    model = fit("fista")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.history_.gap, model.history_.gap)
    assert again.history_.solver == "fista"
    assert not hasattr(clone(model), "history_")
    long = fit("proximal_gradient", tol=0.0, max_iter=1000).history_
    assert len(pickle.dumps(long)) <= 60 * len(long)  # five numbers an iteration, no models


def test_a_new_fit_has_a_new_one():
    model = fit("proximal_gradient", warm_start=True, max_iter=1000, tol=1e-8)
    first = model.history_
    model.fit(X, Y)
    assert model.history_ is not first
    assert len(model.history_) <= 2 < len(first)


def test_classes_add_up():
    Z, labels = load_iris(return_X_y=True)
    model = mm.Classifier("logistic", "l2", alpha=0.01).fit(Z, labels)
    history = model.history_
    assert history.passes[-1] <= model.certificate_.passes
    assert history.gap[-1] <= history.target
    parts = [
        mm.Classifier("logistic", "l2", alpha=0.01).fit(Z, labels == c).history_ for c in range(3)
    ]
    total = combined(parts)
    assert len(total) == max(map(len, parts))
    np.testing.assert_allclose(total.primal, history.primal)
    assert total.primal[-1] == pytest.approx(sum(h.primal[-1] for h in parts))
    np.testing.assert_allclose(total.gap, history.gap, rtol=1e-6, atol=1e-12)


# Figures -------------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_what_is_drawn(pyplot):
    plain, fast = fit("proximal_gradient"), fit(mm.solvers.Fista(restart=True))
    ax = mm.plot_history(plain, fast.history_)
    one, two = ax.get_lines()
    assert [one.get_label(), two.get_label()] == ["proximal_gradient", "Fista(restart=True)"]
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == "passes over the data"
    assert one.get_color() != two.get_color()
    np.testing.assert_array_equal(one.get_xdata(), plain.history_.passes)
    np.testing.assert_array_equal(one.get_ydata(), plain.history_.gap)
    _, mine = pyplot.subplots()
    assert mm.plot_history(plain, labels=["a"], x="seconds", y="primal", ax=mine) is mine
    assert mine.get_legend().get_texts()[0].get_text() == "a"
    np.testing.assert_array_equal(mine.get_lines()[0].get_ydata(), plain.history_.primal)


def test_suboptimality_is_never_less_than_the_truth(pyplot):
    runs = [fit("proximal_gradient"), fit("fista"), fit("newton")]
    best = fit(tol=1e-14, max_iter=None).certificate_.primal
    for run, line in zip(runs, mm.plot_history(*runs, y="suboptimality").get_lines()):
        shown = np.isin(run.history_.passes, line.get_xdata())
        assert (line.get_ydata() >= run.history_.primal[shown] - best - 1e-12).all()


def test_an_infinite_gap_is_left_out(pyplot):
    history = mm.History("unsure")
    for i, gap in enumerate([np.inf, 2.0, np.inf, 0.5, 0.0]):
        history.append(State(i, i, i, 3.0, 3.0 - gap, gap, 0.0))
    line = mm.plot_history(history).get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), [1.0, 3.0])
    np.testing.assert_array_equal(line.get_ydata(), [2.0, 0.5])


@pytest.mark.parametrize("x", ["passes", "iterations", "seconds"])
def test_the_axis_begins_at_zero(pyplot, x):
    """One iteration of k-means is a tenth of a pass, which is not to fill the picture."""
    history = mm.History("bounded")
    for i, passes in enumerate([1.0, 1.1]):
        history.append(State(i, passes, 0.5 + passes, 2.0 - i, 1.0, 1.0, 0.0))
    ax = mm.plot_history(history, x=x, y="primal")
    low, high = ax.get_xlim()
    last = {"passes": 1.1, "iterations": 1.0, "seconds": 1.6}[x]
    assert -0.05 * last <= low <= 0 < last < high <= 1.05 * last
    if x == "iterations":
        assert all(tick == round(tick) for tick in ax.get_xticks())


@pytest.mark.parametrize("model", [mm.KMeans(5, n_init=3, random_state=0), mm.Divisive(4)])
def test_a_clustering_shows_its_objective_above_the_bound(pyplot, model):
    X = np.random.default_rng(0).normal(size=(200, 4))
    history = model.fit(X).history_
    ax = mm.plot_history(model, x="iterations")
    line, bound = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), history.primal)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(len(history)))
    assert len(history) > 3
    assert ax.get_yscale() == "linear"
    assert set(bound.get_ydata()) == {model.certificate_.dual}
    assert bound.get_label() == "lower bound"


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "words"),
    [
        ((), {}, ValueError, "needs at least one"),
        ((mm.Regressor(),), {}, TypeError, "takes fitted minimand estimators"),
        ((3,), {}, TypeError, "takes fitted minimand estimators"),
        ((fit(),), {"x": "time"}, ValueError, "x must be one of"),
        ((fit(),), {"y": "dual"}, ValueError, "y must be one of"),
        ((fit(), fit()), {"labels": ["a"]}, ValueError, "labels must hold one text per run"),
        ((fit(),), {"labels": "a"}, ValueError, "labels must hold one text per run"),
        ((fit(), fit(alpha=1.0)), {"y": "primal"}, ValueError, "runs of one problem"),
    ],
)
def test_refusals_in_words(arguments, settings, error, words):
    with pytest.raises(error, match=words):
        mm.plot_history(*arguments, **settings)


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"plot_history needs matplotlib: .*minimand\[plot\]"):
        mm.plot_history(fit())
