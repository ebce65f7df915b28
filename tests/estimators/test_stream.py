"""Streams: batches of any size are one pass of fit, and bad ones are refused in words."""

import copy
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import minimand as mm
from minimand.solvers import Sgd

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PENALTIES = [mm.L2(), mm.L1(), 0.5 * mm.L1() + mm.L2(), mm.NoPenalty()]
STEPS = [("adaptive", 0.5), ("fixed", 0.01), ("sqrt", 0.05)]


def data(n=200, d=6, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.uniform(size=(n, d)) < 0.6)
    z = X @ rng.standard_normal((d, classes)) + 0.3 * rng.standard_normal((n, classes))
    return X, z[:, 0], np.array(["a", "b", "c", "d"])[np.argmax(z, axis=1)]


def batches(X, y, sizes=(1, 30, 2, 80, 87), *more):
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        yield X[rows], y[rows], *(m[rows] for m in more)
        start += size
    assert start == X.shape[0]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s[0])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("loss", ["huber", "poisson"])
def test_batches_are_one_pass_of_fit(step, penalty, kind, loss):
    X, y, _ = data()
    eta = step[1]
    if loss == "poisson":  # few steps, which must beat the null model to be handed over
        y, eta = np.rint(np.exp(0.3 * y + 1.0)), eta if step[0] == "adaptive" else 2 * eta
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    sizes = (8, 64, 128) if loss == "poisson" else (1, 30, 2, 80, 87)  # steps of 8 rows in NumPy
    solver = Sgd(step[0], eta, shuffle=False, epochs=1)
    model = mm.Regressor(loss, penalty, 1e-3, solver=solver)
    streamed = mm.fit_stream(clone(model), batches(X, y, sizes))
    model.fit(X, y)
    np.testing.assert_array_equal(streamed.coef_, model.coef_)
    assert streamed.intercept_ == model.intercept_


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_declared_once(classes):
    X, _, y = data(classes=classes)
    solver = Sgd(eta0=0.5, shuffle=False, epochs=1)
    model = mm.Classifier("hinge", alpha=1e-3, solver=solver)
    streamed = mm.fit_stream(clone(model), batches(X, y), classes=np.unique(y))
    model.fit(X, y)
    np.testing.assert_array_equal(streamed.coef_, model.coef_)
    np.testing.assert_array_equal(streamed.predict(X), model.predict(X))
    assert streamed.score(X, y) > 0.7
    assert not hasattr(streamed, "certificate_")
    certificate = mm.certify(streamed, X, y)
    optimum = mm.Classifier("hinge", alpha=1e-3).fit(X, y).certificate_
    assert certificate.dual <= optimum.primal + 1e-12  # rounding
    assert certificate.primal >= optimum.dual


def test_a_class_that_was_not_declared_is_refused():
    X, _, y = data(classes=4)
    model = mm.Classifier().partial_fit(X[y != "d"], y[y != "d"])
    with pytest.raises(ValueError, match=r"'d'.*classes="):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match=r"one class only.*classes="):
        mm.Classifier().partial_fit(X[y == "a"], y[y == "a"])


def test_a_fit_learns_on_and_a_new_fit_forgets():
    X, y, _ = data()
    model = mm.Regressor(alpha=1e-3).fit(X, y)
    fresh, before = model.coef_.copy(), model.score(X, y)
    model.partial_fit(X, y)
    assert not hasattr(model, "certificate_")
    assert model.score(X, y) > before - 0.1
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, fresh, atol=1e-6)
    assert model.certificate_.relative <= 1e-6


def test_default_steps_learn_from_a_stream():
    X, y, labels = data(4000, classes=2)
    regressor = mm.fit_stream(mm.Regressor(alpha=1e-4), batches(X, y, [500] * 8))
    assert regressor.score(X, y) > 0.9
    stream = batches(X, labels, [500] * 8, np.ones(4000))
    classifier = mm.fit_stream(mm.Classifier(alpha=1e-4), stream)
    assert classifier.score(X, labels) > 0.9


def test_weight_zero_is_absence():
    X, y, _ = data()
    weight = (np.arange(200) % 3 > 0) * 1.0
    model = mm.Regressor("absolute", alpha=1e-3, solver=Sgd(eta0=0.5))
    one = clone(model).partial_fit(X, y, sample_weight=weight)
    other = clone(model).partial_fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"solver": "newton"}, "solver must be"),
        ({"solver": Sgd(early_stopping=True)}, r"hold rows out.*use Sgd\(early_stopping=False\)"),
        ({"solver": Sgd(balanced=True)}, r"rows as they come.*use Sgd\(balanced=False\)"),
        ({"solver": Sgd(epochs=3)}, r"every batch once: epochs=3 .*use Sgd\(epochs=1\)"),
        ({"penalty": mm.NonNegative()}, "bounds"),
    ],
)
def test_what_a_stream_cannot_do(change, match):
    X, _, y = data()
    with pytest.raises(ValueError, match=match):
        mm.Classifier(**change).partial_fit(X, y)


def test_options_of_a_stream_do_not_change_within_it():
    X, y, _ = data()
    model = mm.Regressor(solver=Sgd(eta0=0.5)).partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="is not what this stream began with"):
        model.set_params(solver__eta0=0.1).partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)
    model.set_params(solver__eta0=0.5).partial_fit(X, y)
    model.set_params(solver__epochs=2).fit(X, y)
    with pytest.raises(ValueError, match=r"set_params\(solver__epochs=1\) after a fit"):
        model.partial_fit(X, y)
    model.set_params(solver__epochs=1).partial_fit(X, y)


def test_balanced_weights_need_all_of_y():
    assert not hasattr(mm.Classifier(class_weight="balanced"), "partial_fit")
    X, _, y = data()
    weights = {"a": 2.0, "b": 1.0}
    one = mm.Classifier(class_weight=weights, solver=Sgd(eta0=0.5)).partial_fit(X, y)
    other = mm.Classifier(solver=Sgd(eta0=0.5)).partial_fit(
        X, y, sample_weight=np.where(y == "a", 2.0, 1.0)
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_batches_must_be_tuples():
    X, y, _ = data()
    with pytest.raises(ValueError, match="batch number 1"):
        mm.fit_stream(mm.Regressor(), [X])
    with pytest.raises(ValueError, match="empty"):
        mm.fit_stream(mm.Regressor(), [])
    with pytest.raises(ValueError, match="features"):
        mm.fit_stream(mm.Regressor(), [(X, y), (X[:, :3], y)])


# What a stream may look like, and how it may end --------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 4])
def test_steps_do_not_depend_on_how_rows_come(kind, classes):
    """Steps are found on the first 1000 rows, whatever the batches: one pass of fit again."""
    X, _, y = data(2300, classes=classes)
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    model = mm.Classifier(alpha=1e-3)
    fitted = clone(model).set_params(solver=Sgd(shuffle=False, epochs=1)).fit(X, y)
    for sizes in ((1,) * 40 + (2260,), (999, 2, 1299), (2300,)):
        streamed = mm.fit_stream(clone(model), batches(X, y, sizes), classes=np.unique(y))
        np.testing.assert_allclose(streamed.coef_, fitted.coef_, rtol=1e-9)
        np.testing.assert_allclose(streamed.intercept_, fitted.intercept_, rtol=1e-9)


def test_a_stream_may_begin_with_one_class():
    X, _, y = data(600)
    order = np.argsort(y, kind="stable")  # some "a" first
    rows = np.concatenate([order[:20], np.random.default_rng(0).permutation(600)[:200]])
    model = mm.fit_stream(
        mm.Classifier(alpha=1e-3, class_weight={"b": 2.0}),
        ((X[[i]], y[[i]]) for i in rows),
        classes=["a", "b"],
    )
    assert model.score(X, y) > 0.85


def test_files_frames_and_empty_batches(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, _ = data(500)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)

    def chunks():
        for chunk in pd.read_csv(tmp_path / "rows.csv", chunksize=77):
            yield chunk.drop(columns="y"), chunk["y"]
            yield chunk.drop(columns="y")[:0], chunk["y"][:0]  # nothing was left of it

    model = mm.fit_stream(mm.Regressor(alpha=1e-3), chunks())
    plain = mm.fit_stream(mm.Regressor(alpha=1e-3), batches(X, y, (77,) * 6 + (38,)))
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6)
    assert list(model.feature_names_in_) == list("abcdef")
    certificate = mm.certify(model, batches=chunks())
    assert certificate.primal == pytest.approx(mm.certify(model, frame[list("abcdef")], y).primal)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame[list("fedcba")], y)


def test_a_bad_batch_is_named_and_leaves_the_model_as_it_was():
    X, y, labels = data()
    bad = X.copy()
    bad[3, 2] = np.nan
    for batch, words in (
        ((bad, y), "batch number 3: X contains NaN"),
        ((X[:, 1:], y), "batch number 3: X has 5 features"),
        ((X, y[:5]), "batch number 3: X and y"),
        ((X, y, -np.ones(200)), "batch number 3: sample_weight"),
        (X, "batch number 3 is a ndarray"),
    ):
        model = mm.Regressor(alpha=1e-3)
        with pytest.raises(ValueError, match=words):
            mm.fit_stream(model, [(X, y), (X[:0], y[:0]), batch])
        two = mm.fit_stream(mm.Regressor(alpha=1e-3), [(X, y)])
        np.testing.assert_array_equal(model.coef_, two.coef_)
    with pytest.raises(ValueError, match="batch number 2: y holds the class 'z'"):
        mm.fit_stream(mm.Classifier(), [(X, labels), (X, np.full(200, "z"))])


def test_refused_before_the_first_batch():
    def untouched():
        raise AssertionError("a batch was asked for")
        yield

    for estimator, options, words in (
        (3, {}, "int has none"),
        (mm.Classifier(class_weight="balanced"), {}, "needs all of y at once"),
        (mm.Regressor(), {"classes": [0, 1]}, "classes is for classifiers"),
        (mm.Regressor("nope"), {}, "loss='nope'"),
        (mm.Regressor(solver="newton"), {}, "stochastic steps"),
        (mm.Regressor(features=mm.HiddenLayer(3)), {}, "learnt along with the model"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            mm.fit_stream(estimator, untouched(), **options)
    X, _, y = data()
    with pytest.raises(ValueError, match="at least 2 labels"):
        mm.fit_stream(mm.Classifier(), [(X, y)], classes=["a"])
    with pytest.raises(TypeError, match="iterable"):
        mm.fit_stream(mm.Regressor(), None)
    with pytest.raises(ValueError, match="empty"):
        mm.fit_stream(mm.Classifier(), [(X[:0], y[:0])])


def test_a_hidden_layer_learns_on_once_it_is_fitted():
    X, y, _ = data()
    model = mm.Regressor(alpha=1e-3, features=mm.HiddenLayer(3, random_state=0)).fit(X, y)
    assert mm.fit_stream(model, batches(X, y)).score(X, y) > 0.8


@pytest.mark.filterwarnings("default")
def test_streams_that_are_stopped():
    X, _, y = data()
    seen = []

    def interrupted():
        yield from list(batches(X, y))[:2]
        raise KeyboardInterrupt

    def callback(state):
        seen.append(state.iteration)
        return mm.STOP if state.iteration == 2 else None

    two = mm.fit_stream(mm.Classifier(), list(batches(X, y))[:2], classes=["a", "b"])
    endless = ((X, y) for _ in iter(int, 1))
    for options, source, words in (
        ({"callbacks": [callback]}, batches(X, y), "callback after 2 batches"),
        ({"max_seconds": 1e-9}, endless, "max_seconds=1e-09 after 1 batch;"),
    ):
        model = mm.Classifier(**options)
        with pytest.warns(ConvergenceWarning, match=words):
            assert mm.fit_stream(model, source, classes=["a", "b"]) is model
        if "max_seconds" not in options:
            np.testing.assert_array_equal(model.coef_, two.coef_)
    assert seen == [1, 2]
    model = mm.Classifier()
    with pytest.raises(mm.Interrupted, match=r"Ctrl-C\) after 2 batches") as stopped:
        mm.fit_stream(model, interrupted(), classes=["a", "b"])
    assert stopped.value.result is model
    np.testing.assert_array_equal(model.coef_, two.coef_)

    def at_once():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt) as stopped:
        mm.fit_stream(mm.Classifier(), at_once())
    assert not isinstance(stopped.value, mm.Interrupted)  # there is no model yet


def test_a_few_rows_do_not_spoil_a_fit():
    """A model that is good already asks for short steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = X @ np.arange(5.0) + 0.1 * rng.standard_normal(3000)
    model = mm.Regressor(alpha=1e-3).fit(X, y)
    for count in (1, 10, 100):
        again = copy.deepcopy(model).partial_fit(X[:count], y[:count])
        assert again.score(X, y) > 0.99, count
    for step in ("sqrt", "decay", "pegasos"):
        plain = copy.deepcopy(model).set_params(solver=Sgd(step)).partial_fit(X[:3], y[:3])
        assert plain._stream.learner.scalars[0, 0] == 3003  # the schedule goes on
        assert plain.score(X, y) > 0.99, step
    labels = y > 0
    model = mm.Classifier(alpha=1e-3).fit(X, labels)
    again = copy.deepcopy(model).partial_fit(X[:10], labels[:10])
    assert again.score(X, labels) > model.score(X, labels) - 0.02


# The order of classes ------------------------------------------------------------------------


def _labelled(labels, size=100, seed=0):
    """Batches of rows with these labels, in that order."""
    rng = np.random.default_rng(seed)
    for start in range(0, len(labels), size):
        y = np.asarray(labels[start : start + size])
        yield rng.standard_normal((len(y), 2)) + y[:, None], y


SORTED = np.repeat([0, 1], 1500)


@pytest.mark.parametrize("labels", [SORTED, np.repeat([0, 1, 2], 1100)], ids=["two", "three"])
def test_a_stream_sorted_by_class_warns_once(labels):
    with pytest.warns(UserWarning, match="are all of the class 0: .* so mix the rows") as caught:
        mm.fit_stream(mm.Classifier(), _labelled(labels), classes=np.unique(labels))
    assert len([w for w in caught if "of the class" in str(w.message)]) == 1


def test_a_class_that_comes_late_and_alone_warns():
    mixed = np.tile([0, 1], 1000)
    stream = mm.Classifier().partial_fit(*next(_labelled(mixed, 2000)))
    with pytest.warns(UserWarning, match="the last 1000 rows of the stream are all of the class 1"):
        mm.fit_stream(stream, _labelled(np.ones(1000, dtype=int)))


@pytest.mark.parametrize(
    ("labels", "size"),
    [
        (np.tile([0, 1], 1500), 1),  # single rows hold one class each, by nature
        (np.tile(np.repeat([0, 1], 100), 15), 100),  # one class a batch, but in turn
        (np.where(np.arange(6000) % 500 == 0, 1, 0), 100),  # a rare class
        (np.random.default_rng(0).permutation(SORTED), 100),
    ],
    ids=["rows", "in turn", "rare", "mixed"],
)
def test_other_streams_do_not(labels, size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mm.fit_stream(mm.Classifier(), _labelled(labels, size), classes=[0, 1])


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0.0, 1.0, np.nan], r"classes holds a missing label \(nan, first at index 2\)"),
        (["a", None], "classes holds a missing label"),
        (["a", "b", 1], r"classes holds labels of several types \(int, str\)"),
    ],
)
def test_declared_classes_are_labels_of_one_type(classes, message):
    X, y = next(_labelled(np.tile([0, 1], 10)))
    with pytest.raises(ValueError, match=message):
        mm.Classifier().partial_fit(X, y, classes=classes)
