"""What `SequenceLabeler` takes: arrays, sparse matrices, frames, dicts; all else by name."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import minimand as mm
from minimand.estimators.labelers.tokens import flattened, read

X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 2.0]])]
Y = [["a", "b"], ["b"]]


def dicts(sequences):
    return [[{f"x{j}": float(v) for j, v in enumerate(row) if v} for row in x] for x in sequences]


FORMS = {
    "lists": lambda x: x.tolist(),
    "float32": lambda x: x.astype(np.float32),
    "integers": lambda x: x.astype(int),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "frame": pandas.DataFrame,
    "read_only": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_matrices_are_one_model(form):
    model = mm.SequenceLabeler(alpha=0.1).fit(X, Y)
    given = [FORMS[form](x) for x in X]
    other = mm.SequenceLabeler(alpha=0.1).fit(given, Y)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-3)
    assert other.predict(given) == model.predict(X)
    assert other.n_features_in_ == 2


def test_containers_of_sequences_and_labels():
    cube = np.ones((2, 3, 1)) * np.array([1.0, -1.0])[:, None, None]
    model = mm.SequenceLabeler(alpha=0.1).fit(cube, np.array([[0, 0, 0], [1, 1, 1]]))
    assert model.predict(cube) == [[0, 0, 0], [1, 1, 1]]
    boxes = np.empty(2, dtype=object)
    boxes[:] = X
    assert mm.SequenceLabeler(alpha=0.1).fit(boxes, pandas.Series(Y)).predict(boxes) == Y
    assert mm.SequenceLabeler(alpha=0.1).fit(tuple(X), tuple(map(tuple, Y))).predict(X) == Y


@pytest.mark.parametrize(
    "labels",
    [
        ("x", "y"),
        (1, 0),
        (True, False),
        (1.5, 2.5),
        (("NP", 1), ("VP", 2)),
        ("x", 3),
        (np.int64(4), 9),
    ],
)
def test_labels_of_any_hashable_type_come_back(labels):
    one, two = labels
    y = [[one, two], [two]]
    model = mm.SequenceLabeler(alpha=0.01).fit(X, y)
    assert model.predict(X) == y
    assert model.score(X, y) == 1.0
    assert len(model.classes_) == 2


def test_dicts_are_the_matrix_of_their_numbers():
    model = mm.SequenceLabeler(alpha=0.1).fit(X, Y)
    other = mm.SequenceLabeler(alpha=0.1).fit(dicts(X), Y)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-3)
    assert other.features_.feature_names_ == ["x0", "x1"]


def test_values_of_features():
    token = {
        "s": "v",
        "n": 2,
        "b": True,
        "f": np.float32(0.5),
        "l": ["p", "q"],
        "d": {"e": {"g": "h"}},
    }
    expected = {"s:v": 1, "n": 2, "b": 1, "f": 0.5, "l:p": 1, "l:q": 1, "d:e:g:h": 1}
    assert flattened(token) == expected
    model = mm.SequenceLabeler(alpha=0.1).fit([[token, {"s": "u"}]], [["a", "b"]])
    assert set(model.features_.feature_names_) == {*expected, "s:u"}
    plain = {name: value for name, value in token.items() if name != "d"}
    model = mm.SequenceLabeler(alpha=0.1).fit([[plain, {"s": "u"}]], [["a", "b"]])
    assert set(model.features_.feature_names_) == {*expected, "s:u"} - {"d:e:g:h"}
    names = mm.SequenceLabeler(alpha=0.1).fit([[["w=the", "first"], ["w=dog"]]], [["a", "b"]])
    assert set(names.features_.feature_names_) == {"w=the", "first", "w=dog"}


@pytest.mark.parametrize("beside", [{}, {"near": {"left": "z"}}])
def test_what_a_token_has_twice_counts_twice_however_dicts_become_rows(beside):
    X = [[{"parts": ["p", "p", "q"], **beside}, {"parts": ["q"]}, {"parts": ["p"]}]]
    indexed = mm.SequenceLabeler(alpha=0.1).fit(X, [["a", "b", "a"]])
    hashed = mm.SequenceLabeler(alpha=0.1, features="hash").fit(X, [["a", "b", "a"]])
    expected = indexed.predict_marginals(X)[0]
    np.testing.assert_allclose(hashed.predict_marginals(X)[0], expected, atol=2e-3)
    columns = indexed.features_.get_feature_names_out().tolist()
    assert indexed.features_.transform(X[0][1:])[0, columns.index("parts:q")] == 1.0
    rows = read(X, indexed).matrix
    assert rows[0, columns.index("parts:p")] == 2.0


def test_features_that_the_fit_has_not_seen_count_nothing():
    model = mm.SequenceLabeler(alpha=0.1).fit([[{"w": "x"}, {"w": "y"}]], [["a", "b"]])
    new = [[{"w": "x", "other": 9.0}, {"w": "z"}]]
    np.testing.assert_allclose(
        model.predict_marginals(new)[0], model.predict_marginals([[{"w": "x"}, {}]])[0]
    )


def test_empty_sequences_have_no_labels():
    model = mm.SequenceLabeler(alpha=0.1).fit(dicts(X), Y)
    first, empty, last = model.predict([dicts(X)[0], [], dicts(X)[1]])
    assert (first, empty, last) == (Y[0], [], Y[1])
    assert model.predict([[]]) == [[]]
    assert model.predict_proba([[], dicts(X)[1]])[0] == 1.0
    assert model.predict_marginals([[], dicts(X)[1]])[0].shape == (0, 2)
    assert model.log_likelihood([[], dicts(X)[1]], [[], ["b"]])[0] == 0.0
    assert [len(best) for best in model.decode([[], dicts(X)[1]], k=2)] == [1, 2]
    assert model.decode([[]]) == [[([], 0.0, 1.0)]]
    steps = mm.SequenceLabeler("perceptron").fit(dicts(X), Y)
    assert steps.decode([[]]) == [[([], 0.0, None)]]


def test_nothing_of_the_callers_is_changed():
    token = {"w": "x", "near": {"l": "y"}}
    given, labels = [[token, {"w": "z"}]], [["a", "b"]]
    csr = [sparse.csr_array(x) for x in X]
    before = [x.toarray() for x in csr]
    mm.SequenceLabeler(alpha=0.1).fit(given, labels)
    mm.SequenceLabeler(alpha=0.1).fit(csr, Y)
    assert given == [[{"w": "x", "near": {"l": "y"}}, {"w": "z"}]]
    assert all(np.array_equal(x.toarray(), kept) for x, kept in zip(csr, before))


@pytest.mark.parametrize("size", [1e-30, 1e140])
@pytest.mark.parametrize("given", [("crf", "l2", 0.1), ("crf", "l1", 0.05), ("max_margin",)])
def test_features_of_any_size_are_no_obstacle(given, size):
    rng = np.random.default_rng(0)
    rows = [size * rng.normal(size=(3, 4)) for _ in range(20)]
    labels = [np.where(x[:, 0] > 0, "a", "b").tolist() for x in rows]  # separable: weights grow
    model = mm.SequenceLabeler(*given).fit(rows, labels)
    assert model.certificate_.relative <= 1e-4


def test_the_bound_of_a_perceptron_does_not_overflow():
    model = mm.SequenceLabeler("perceptron", random_state=0).fit([1e140 * x for x in X], Y)
    assert model.bound_ >= 0


NAN = [np.array([[1.0, np.nan]])]
BAD = {
    "none": (None, Y, "X is None"),
    "text": ("the dog", Y, "X must hold sequences, not str"),
    "one dict": ({"w": 1}, Y, "X must hold sequences, not dict"),
    "a number": (3, Y, "X must hold sequences, not 3"),
    "no sequence": ([], [], "X has 0 sequences"),
    "one matrix": (np.ones((3, 2)), Y, "X is a single matrix of shape"),
    "one sparse matrix": (sparse.eye_array(3), Y, "X is a single matrix of shape"),
    "a frame": (pandas.DataFrame({"a": [1, 2]}), Y, "groupby"),
    "texts": (["the", "dog"], Y, r"X\[0\] must be a sequence of tokens, not str"),
    "words": ([["the", "dog"], ["a"]], Y, r"X\[0\] holds plain words such as 'the'"),
    "one sequence of dicts": ([{"w": 1}, {"w": 2}], Y, r"X\[0\] must be a sequence of tokens"),
    "empty": ([X[0], np.ones((0, 2))], [Y[0], []], r"X\[1\] is an empty sequence"),
    "nan": ([X[0], NAN[0]], Y, r"X\[1\] contains NaN \(row 0, column 1\)"),
    "nan in a dict": ([[{"w": "x"}, {"w": float("nan")}]], [["a", "b"]], "row 1, w"),
    "huge": ([1e200 * X[0], X[1]], Y, "whose squares overflow: divide its columns"),
    "widths": ([X[0], np.ones((1, 3))], Y, r"X\[1\] has 3 features a row"),
    "no matrix": ([X[0], np.ones(1)], Y, r"X\[1\] is no \(length × features\) matrix"),
    "complex": ([X[0] * 1j, X[1]], Y, r"X\[0\] is no \(length × features\) matrix"),
    "too large": ([[{"w": 10**400}, {}]], [["a", "b"]], "'w' is too large"),
    "too large beside texts": ([[{"w": [], "v": 10**400}, {}]], [["a", "b"]], "'v' is too large"),
    "too large in a list": ([[[10**400], [1]], X[1]], Y, r"X\[0\] is no \(length × features\)"),
    "an object as a value": ([[{"w": object()}, {}]], [["a", "b"]], "feature 'w' is <object"),
    "no dict": ([[{"w": 1}, 3]], [["a", "b"]], "holds 3 beside feature dicts"),
    "y none": (X, None, "requires y to be passed"),
    "y text": (X, "ab", "y must be a list"),
    "y of texts": (X, ["ab", "b"], r"y\[0\] must be a list .* pass list\(y\[0\]\)"),
    "y too short": (X, Y[:1], "X has 2 and y has 1"),
    "lengths": (X, [["a", "b"], ["b", "a"]], r"X\[1\] has 1 tokens and y\[1\] has 2 labels"),
    "one label": (X, [["a", "a"], ["a"]], "y holds one label only"),
    "one label and nan": ([X[0], NAN[0]], [["a", "a"], ["a"]], r"X\[1\] contains NaN"),
    "missing label": (X, [["a", None], ["b"]], "missing label"),
    "nan label": (X, [[1.0, float("nan")], [2.0]], "missing label"),
    "unhashable": (X, [["a", ["b"]], ["b"]], "cannot be hashed"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_get_one_sentence(case):
    given, labels, words = BAD[case]
    with pytest.raises((TypeError, ValueError), match=words) as raised:
        mm.SequenceLabeler(alpha=0.1).fit(given, labels)
    assert "\n" not in str(raised.value)


PARAMETERS = {
    "loss": ({"loss": "hinge"}, "loss of SequenceLabeler must be one of"),
    "penalty": ({"penalty": "mcp"}, "treat all weights alike"),
    "penalty of rows": ({"penalty": "l21"}, "treat all weights alike"),
    "weights of a penalty": ({"penalty": mm.L1(weights=[1.0, 2.0])}, "treat all weights alike"),
    "alpha": ({"alpha": -1.0}, "alpha must be a finite number"),
    "transitions": ({"transitions": "some"}, "transitions must be 'full', 'observed', pairs"),
    "table": ({"transitions": np.ones((3, 3))}, "transitions must be 'full'"),
    "weights": ({"weights": "some"}, "weights must be 'all' or 'observed'"),
    "edges": (
        {"edge_features": "before"},
        "edge_features must be None, 'later', 'both', or",
    ),
    "edges by number": ({"edge_features": 3}, "edge_features must be None, 'later', .* not 3"),
    "failing edges": (
        {"edge_features": lambda x: x[:, [99]]},
        "edge_features raised IndexError for sequence 0 with 1 step .* numeric rows",
    ),
    "unknown penalty": ({"penalty": "l3"}, "penalty='l3' is not known: take 'l2', 'l1', 'elastic"),
    "penalty of a perceptron": ({"loss": "perceptron", "penalty": "l1"}, "penalty has no meaning"),
    "cost of a crf": ({"cost": 1 - np.eye(2)}, "cost is the Δ of loss='max_margin'"),
    "cost of a perceptron": (
        {"loss": "perceptron", "cost": 1 - np.eye(2)},
        "'perceptron' has",
    ),
    "own edges": ({"edge_features": lambda x: x}, "a row for each step"),
    "cost": ({"loss": "max_margin", "cost": np.ones((2, 2))}, "0 where the label is right"),
    "cost's shape": ({"loss": "max_margin", "cost": np.eye(3)}, r"cost must be a \(2, 2\) table"),
    "features": ({"features": "rbf"}, "no map of rows"),
    "kernel": ({"features": mm.RBF()}, "Nystrom"),
    "ends": ({"ends": "yes"}, "ends must be True or False"),
    "pairs": ({"transitions": [("a", "zz")]}, "'zz', which is not among the labels of y"),
    "tol": ({"tol": -1}, "tol must be"),
    "max_iter": ({"max_iter": 0}, "max_iter must be"),
    "callbacks": ({"callbacks": 3}, "callbacks must be a list"),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_bad_parameters_get_one_sentence(case):
    params, words = PARAMETERS[case]
    with pytest.raises((TypeError, ValueError), match=words):
        mm.SequenceLabeler(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("labeler", "units"), [(mm.SequenceLabeler, "sequences"), (mm.GraphLabeler, "graphs")]
)
def test_parameters_of_crfsuite_are_translated(labeler, units):
    with pytest.raises(TypeError, match=rf"alpha=2\*c2/len\(X\), since .* over {units} here"):
        labeler(c2=1.0)
    with pytest.raises(TypeError, match=r"penalty=c1\*L1\(\) \+ 2\*c2\*L2\(\), alpha=1/len"):
        labeler(c1=0.1, c2=1.0)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"penalty": "l1"}, "partial_fit takes penalty='l2' or 'no_penalty', as"),
        ({"weights": "observed"}, "partial_fit takes weights='all', as"),
        ({"transitions": [("a", "b")]}, "partial_fit takes transitions='full', as"),
    ],
)
def test_batches_say_which_parameter_they_do_not_take(params, words):
    with pytest.raises(ValueError, match=words):
        mm.SequenceLabeler(**params).partial_fit(X, Y)


def test_what_does_not_fit_the_model_is_named():
    model = mm.SequenceLabeler(alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="fitted on 2"):
        model.predict([np.ones((1, 3))])
    with pytest.raises(TypeError, match="fitted on matrices"):
        model.predict(dicts(X))
    with pytest.raises(ValueError, match="'z', which is not among"):
        model.log_likelihood(X, [["a", "z"], ["b"]])
    with pytest.warns(UserWarning, match="counts as an error"):
        assert model.score(X, [["a", "z"], ["b"]]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="k must be"):
        model.decode(X, k=0)
    of_dicts = mm.SequenceLabeler(alpha=0.1).fit(dicts(X), Y)
    with pytest.raises(TypeError, match="fitted on feature dicts"):
        of_dicts.predict(X)


@pytest.mark.parametrize("features", [None, StandardScaler()])
def test_columns_of_frames_go_by_their_names(features):
    rng = np.random.default_rng(0)
    frames = [pandas.DataFrame(rng.normal(size=(4, 3)), columns=list("pqr")) for _ in range(9)]
    labels = [np.where(frame["q"] > 0, "up", "down") for frame in frames]
    edges = [[(0, 1), (1, 2), (2, 3)]] * len(frames)
    other = [frame[["r", "q", "p"]] for frame in frames]
    for model, more in (
        (mm.SequenceLabeler(alpha=0.01, features=features), ()),
        (mm.GraphLabeler(alpha=0.01, features=features), (edges,)),
    ):
        model.fit(frames, labels, *more)
        assert model.feature_names_in_.tolist() == ["p", "q", "r"]
        assert model.top_features("up", 1)[0].feature == "q"
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(other, *more)
        with pytest.raises(ValueError, match=r"X\[1\] has the columns \['r', 'q', 'p'\]"):
            model.fit([frames[0], *other[1:]], labels, *more)
        model.fit([frame.to_numpy() for frame in frames], labels, *more)
        assert not hasattr(model, "feature_names_in_")


def test_no_more_labellings_are_looked_for_than_there_are():
    sequences = mm.SequenceLabeler(alpha=0.1).fit(X, Y)
    graphs = mm.GraphLabeler(alpha=0.1).fit(X, Y, [[(0, 1)], []])
    for found in (sequences.decode(X, k=10**15), graphs.decode(X, [[(0, 1)], []], k=10**15)):
        assert [len(own) for own in found] == [4, 2]
        np.testing.assert_allclose([sum(one.probability for one in own) for own in found], 1.0)
