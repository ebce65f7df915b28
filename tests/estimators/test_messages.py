"""Bad input gets one clear sentence that names the argument and says what to do."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import minimand as mm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = X @ [1.0, 2.0, 3.0] + 0.1 * RNG.normal(size=20)
C = (Y > 0).astype(int)
ONES = np.ones(20)


def spoilt(a, place, value):
    a = np.array(a, dtype=float)
    a[place] = value
    return a


NAN, INF = spoilt(X, (2, 1), np.nan), spoilt(X, (2, 1), -np.inf)
R, K = mm.Regressor, mm.Classifier


def fit(model, X=X, y=None, **kwargs):
    y = (Y if isinstance(model, R) else C) if y is None else y
    return partial(model.fit, X, y, **kwargs)


def objects(*labels):
    return np.array([*labels] * (20 // len(labels)), dtype=object)


def masked(a):
    return np.ma.array(a, mask=np.arange(a.size).reshape(a.shape) == 3)


DAYS = np.arange(20).astype("datetime64[D]")
DATED = {"a": X[:, 0], "when": DAYS.astype("datetime64[ns]")}

BAD_X = {
    "masked": (fit(R(), masked(X)), r"X is a masked array in which 1 of 60 entries are masked: f"),
    "dates": (fit(R(), DAYS[:, None]), r"X holds dates or times \(datetime64\[D\]\): turn them in"),
    "durations": (fit(K(), (DAYS - DAYS[0])[:, None]), r"X holds dates or times \(timedelta64"),
    "pandas dates": (
        fit(R(), pd.DataFrame(DATED)),
        "column 'when' of X holds dates or times: turn",
    ),
    "polars dates": (fit(K(), pl.DataFrame(DATED)), "column 'when' of X holds dates or times"),
    "only dates": (fit(R(), pd.DataFrame({"when": DATED["when"]})), "column 'when' of X holds"),
    "timestamps": (
        fit(R(), np.array([[1.0, pd.Timestamp("2020")]] * 20, dtype=object)),
        r"X must hold numbers, but some entry is no number .*Timestamp.*: encode such columns",
    ),
    "NaN": (fit(R(), NAN), r"X contains NaN \(first at row 2, column 1\): impute or drop"),
    "inf": (fit(K(), INF), r"X contains infinity \(inf\) \(first at row 2, column 1\)"),
    "float32": (fit(R(), NAN.astype(np.float32)), r"X contains NaN \(first at row 2, column 1\)"),
    "csr": (fit(R(), sparse.csr_matrix(NAN)), r"X contains NaN \(first at row 2, column 1\)"),
    "csc": (fit(K(), sparse.csc_array(INF)), r"X contains infinity .*row 2, column 1"),
    "pandas": (fit(R(), pd.DataFrame(NAN)), "X contains NaN"),
    "polars": (fit(R(), pl.DataFrame(NAN)), "X contains NaN"),
    "missing": (
        fit(R(), pd.DataFrame({"a": pd.array([1, None] * 10, dtype="Int64")})),
        "X contains NaN",
    ),
    "no rows": (fit(R(), X[:0], Y[:0]), r"X has 0 sample\(s\) .* a minimum of 1 is required"),
    "no columns": (fit(K(), X[:, :0]), r"X has 0 feature\(s\) .* a minimum of 1 is required"),
    "1D": (fit(R(), X[:, 0]), r"X must be 2D, .* it is 1D: Reshape your data"),
    "3D": (fit(R(), X[:, :, None]), r"X must be 2D, .* it is 3D: .* X.reshape\(len\(X\), -1\)"),
    "dict": (fit(R(), {"a": X[:, 0]}), r"X must be 2D, .* it is a dict: .*DataFrame"),
    "series": (fit(R(), pd.Series(X[:, 0])), "X must be 2D, .* it is 1D"),
    "scalar": (fit(R(), 3.0), "X must be 2D, .* it is 0D"),
    "None": (lambda: R().fit(None, Y), "X is None: pass a matrix"),
    "ragged": (fit(R(), [[1, 2], [3]], [1, 2]), "X .* rows differ in length"),
    "complex": (fit(R(), X + 1j), r"X is complex \(Complex data not supported\): pass real"),
    "complex sparse": (fit(R(), sparse.csr_matrix(X + 1j)), "X is complex"),
    "strings": (
        fit(R(), np.array([["a", "b"]] * 20)),
        "X must hold numbers, but column 0 holds text, 'a': encode such",
    ),
    "objects": (fit(R(), np.array([["a", 1]] * 20, dtype=object)), "X must hold numbers"),
    "text column": (
        fit(R(), pd.DataFrame({"a": ["u"] * 20, "b": X[:, 0]})),
        r"but column 'a' holds text, 'u': encode .*features=make_column_transformer\(.* \['a'\]\)",
    ),
    "text in polars": (
        fit(R(), pl.DataFrame({"b": X[:, 0], "a": ["u"] * 20})),
        "X must hold numbers, but column 'a' holds text, 'u'",
    ),
    "texts": (
        fit(R(), ["u"] * 20),
        r"X must be 2D, .* list of texts.*features=TfidfVectorizer\(\)",
    ),
}

BAD_Y = {
    "NaN": (fit(R(), y=spoilt(Y, 3, np.nan)), r"y contains NaN \(first at index 3\)"),
    "inf": (fit(R(), y=spoilt(Y, 3, np.inf)), "y contains infinity"),
    "NaN label": (fit(K(), y=spoilt(C, 3, np.nan)), "y contains NaN"),
    "short": (fit(R(), y=Y[:-1]), "X and y must hold the same samples, .* 20 rows and y has 19"),
    "long": (fit(K(), y=np.r_[C, 1]), "X and y must hold the same samples"),
    "None": (lambda: R().fit(X, None), "Regressor requires y to be passed"),
    "None label": (lambda: K().fit(X, None), "Classifier requires y to be passed"),
    "scalar": (fit(R(), y=np.float64(3.0)), "y must be 1D, one entry per sample, but it is 0D"),
    "3D": (fit(R(), y=np.zeros((20, 2, 2))), "y must be 1D, one entry per sample, but it is 3D"),
    "2 label columns": (fit(K(), y=np.c_[C, C] + 1), "y has 2 columns, so it must hold zeros"),
    "NaN in a column": (fit(R(), y=np.c_[Y, Y * np.nan]), "y contains NaN"),
    "sparse": (fit(R(), y=sparse.csr_matrix(Y[:, None])), r"y is sparse.*y\.toarray\(\)\.ravel"),
    "strings": (fit(R(), y=["a"] * 20), "y must hold numbers.*use minimand.Classifier"),
    "complex": (fit(R(), y=Y + 1j), "y is complex"),
    "continuous": (fit(K(), y=Y), "y holds no class labels .*use minimand.Regressor"),
    "mixed": (fit(K(), y=objects(1, "a")), r"y holds labels of several types \(int, str\)"),
    "mixed, text first": (fit(K(), y=objects("a", 1)), r"labels of several types \(int, str\)"),
    "mixed list": (fit(K(), y=["a", 1] * 10), r"labels of several types \(int, str\).*all strings"),
    "label None": (fit(K(), y=objects("a", None)), r"y holds a missing label \(None, first at ind"),
    "label nan": (fit(K(), y=objects("a", np.nan)), r"missing label \(nan, first at index 1\)"),
    "number None": (fit(K(), y=objects(0, None)), "y holds a missing label"),
    "list nan": (fit(K(), y=["a", np.nan] * 10), "y holds a missing label"),
    "pandas NA": (fit(K(), y=pd.Series(["a", None] * 10, dtype="string")), "missing label"),
    "category": (fit(K(), y=pd.Series(["a", None] * 10, dtype="category")), "missing label"),
    "polars null": (fit(K(), y=pl.Series(["a", None] * 10)), "y holds a missing label"),
    "None number": (fit(R(), y=objects(1.0, None)), "y contains NaN"),
    "masked": (fit(R(), y=masked(Y)), r"y is a masked array in which 1 of 20 .*: fill or drop"),
    "masked label": (fit(K(), y=masked(C)), "y is a masked array"),
    "dates": (fit(R(), y=DAYS), r"y holds dates or times \(datetime64\[D\]\): turn them into num"),
    "one class": (fit(K(), y=ONES), r"y holds one class only \(\[1\.0\].* at least 2 classes"),
    "one word": (fit(K(), y=["a"] * 20), r"y holds one class only \(\['a'\]"),
    "one weighted class": (fit(K(), sample_weight=C), r"one class only \(\[1\], .*weight 0 left"),
    "negative counts": (fit(R("poisson")), "y is outside the domain of Poisson: .*not negative"),
    "not a share": (fit(R("cross_entropy")), r"y is outside the domain of CrossEntropy.*\[0, 1\]"),
}

BAD_VECTORS = {
    "masked weight": (fit(R(), sample_weight=masked(ONES)), "sample_weight is a masked array in"),
    "masked offset": (fit(K(), offset=masked(ONES)), "offset is a masked array in which 1 of 20"),
    "NaN weight": (fit(R(), sample_weight=spoilt(ONES, 3, np.nan)), "sample_weight contains NaN"),
    "inf weight": (fit(K(), sample_weight=spoilt(ONES, 3, np.inf)), "sample_weight contains inf"),
    "short weight": (
        fit(R(), sample_weight=ONES[1:]),
        "sample_weight must have one number per sample: expected 20, got 19",
    ),
    "2D weight": (fit(K(), sample_weight=np.ones((20, 2))), "sample_weight must be 1D"),
    "text weight": (fit(K(), sample_weight=["a"] * 20), "sample_weight must hold numbers"),
    "zero": (fit(R(), sample_weight=0 * ONES), "sample_weight is zero for every sample: give"),
    "zero label": (fit(K(), sample_weight=0 * ONES), "sample_weight is zero for every sample"),
    "negative": (fit(R(), sample_weight=-ONES), "sample_weight must not be negative"),
    "NaN offset": (fit(R(), offset=spoilt(ONES, 3, np.nan)), "offset contains NaN"),
    "inf offset": (fit(K(), offset=spoilt(ONES, 3, np.inf)), "offset contains infinity"),
    "short offset": (fit(K(), offset=ONES[1:]), "offset must have one number per sample"),
    "2D offset": (fit(K(), offset=np.ones((20, 2))), "offset must be 1D"),
    "text offset": (fit(R(), offset=["a"] * 20), "offset must hold numbers"),
    "complex offset": (fit(R(), offset=1j * ONES), "offset is complex"),
}

BAD_SETTINGS = {
    "margin loss": (fit(R("logistic")), r"loss=Logistic\(\) takes the labels ±1: use minimand.Cla"),
    "margin object": (fit(R(mm.SquaredHinge())), r"loss=SquaredHinge\(\) takes the labels"),
    "count loss": (fit(K("poisson")), r"loss=Poisson\(\) takes counts, not classes"),
    **{
        f"alpha={bad!r}": (fit(R(alpha=bad)), "alpha must be a finite number ≥ 0, not")
        for bad in (-1, -1e-300, np.nan, np.inf, "a", True, np.True_, np.ones(2), 1j)
    },
    **{
        f"tol={bad!r}": (fit(K(tol=bad)), "tol must be a finite number ≥ 0, not")
        for bad in (-1e-9, np.nan, None, "a", False)
    },
    **{
        f"max_iter={bad!r}": (fit(R(max_iter=bad)), "max_iter must be None or an integer ≥ 1")
        for bad in (0, -1, 1.5, "a", True)
    },
    "max_seconds": (fit(R(max_seconds=-1)), "max_seconds must be a finite number ≥ 0, not -1"),
    "memory": (fit(R(memory="1GB")), "memory must be a finite number ≥ 0, not '1GB'"),
    "intercept": (fit(R(intercept="yes")), "intercept must be True or False, not 'yes'"),
    "warm_start": (fit(R(warm_start=None)), "warm_start must be True or False, not None"),
    "verbose": (fit(K(verbose="no")), "verbose must be True or False, not 'no'"),
    "loss": (fit(R("sqared")), "loss='sqared' is not known: .*; did you mean 'squared'"),
    "loss class": (fit(R(mm.Huber)), r"is not known: .*did you mean Huber\(\)\?"),
    "loss None": (fit(R(None)), "loss=None is not known: write loss='squared' for numbers or"),
    "mse": (fit(R("mse")), r"loss='mse' is not known: write loss='squared'\.$"),
    "MAE": (fit(R("MAE")), r"loss='MAE' is not known: write loss='absolute'\.$"),
    "log_loss": (fit(K("log_loss")), r"loss='log_loss' is not known: write loss='logistic'\.$"),
    "log-loss": (fit(K("Log-Loss")), r"loss='Log-Loss' is not known: write loss='logistic'\.$"),
    "squared_error": (fit(R("squared_error")), r"write loss='squared'\.$"),
    "hing": (fit(K("hing")), "loss='hing' is not known: .*; did you mean 'hinge'"),
    "elasticnet": (
        fit(R(penalty="elasticnet")),
        r"'elasticnet' is not known: write penalty=minimand\.L1\(\) \+ 0\.5 \* minimand\.L2\(\)",
    ),
    "elastic net": (fit(R(penalty="elastic-net")), r"write penalty=minimand\.L1\(\) \+ 0\.5"),
    "lasso": (fit(K(penalty="lasso")), r"penalty='lasso' is not known: write penalty='l1'\.$"),
    "ridge": (fit(R(penalty="ridge")), r"penalty='ridge' is not known: write penalty='l2'\.$"),
    "set C": (lambda: K().set_params(C=1), r"'C' for Classifier; write alpha=1/\(C\*n_samples\)"),
    "set alhpa": (lambda: K().set_params(alhpa=1), r"choose from \[.*\], perhaps 'alpha'\."),
    "loss is a penalty": (fit(R(mm.L1())), r"loss=L1\(\) is not known"),
    "penalty": (fit(R(penalty="l3")), "penalty='l3' is not known: pass one of"),
    "penalty class": (fit(R(penalty=mm.L1)), r"penalty=.* is not known.*did you mean L1\(\)\?"),
    "penalty None": (fit(R(penalty=None)), "penalty=None is not known: write penalty='no_penalty'"),
    **{
        f"solver={bad!r}": (fit(R(solver=bad)), "solver=.* is not known: pass 'auto' or one of")
        for bad in ("lbfgs", 3, None, [])
    },
    "delta 0": (fit(R(mm.Huber(0))), "delta of Huber must be a positive number or .auto., not 0"),
    "delta < 0": (fit(R(mm.Huber(-1))), "delta of Huber must be a positive number"),
    "delta NaN": (fit(R(mm.Huber(np.nan))), "delta of Huber must be a positive number"),
    "weights < 0": (fit(R(penalty=mm.L1([-1, 1, 1]))), "weights of L1 must be finite and not neg"),
    "few weights": (fit(R(penalty=mm.L2([1, 1]))), r"weights of L2 .*expected shape \(3,\)"),
    "NaN weights": (fit(R(penalty=mm.L2([1, 1, np.nan]))), "weights of L2 must be finite"),
    "text weights": (fit(R(penalty=mm.L2("abc"))), "weights of L2 must be numbers"),
    "factor < 0": (fit(R(penalty=-1 * mm.L1())), "factor of a penalty must be a number ≥ 0"),
    "factor NaN": (fit(R(penalty=np.nan * mm.L1())), "factor of a penalty must be a number"),
    "factor text": (fit(R(penalty=mm.L1() + "a" * mm.L2())), "factor of a penalty must be"),
    "class_weight name": (fit(K(class_weight="bal")), "class_weight must be None, 'balanced' or"),
    "class_weight list": (fit(K(class_weight=[1, 2])), "class_weight must be None, 'balanced' or"),
    "class_weight class": (fit(K(class_weight={5: 1})), r"class_weight names the class 5,"),
    "class_weight < 0": (fit(K(class_weight={0: -1})), "class_weight of 0 must be a finite number"),
    "class_weight NaN": (fit(K(class_weight={0: np.nan})), "class_weight of 0 must be a finite"),
    "class_weight 0": (fit(K(class_weight={0: 0, 1: 0})), "class_weight is zero for every sample"),
    "class_weight one": (fit(K(class_weight={0: 0})), r"y holds one class only \(\[1\]"),
    "cost": (
        fit(K(mm.CrammerSinger("abc"))),
        "cost of CrammerSinger must be a square matrix of numbers.*or None .*not 'abc'",
    ),
    "ranking weights": (
        fit(K(mm.WeightedRanking("abc"))),
        "weights of WeightedRanking must be a list of finite numbers .*not 'abc'",
    ),
    "kernel's name": (fit(R(features="rbff")), "features='rbff' is not known: .*mean 'rbf'"),
    "perceptron's kernel": (
        partial(mm.Perceptron(features="rbff").fit, X, C),
        "features='rbff' is not known",
    ),
    "texts for a kernel": (
        fit(K(features=mm.RBF()), ["ab", "cd"] * 10),
        "X must be a matrix of numbers, but it holds a text for each row, 'ab': take a kernel of t",
    ),
    "asymmetric kernel": (
        fit(R(features=mm.Precomputed()), np.eye(20) + np.eye(20, k=1)),
        r"Precomputed\(\) is not symmetric: k of rows 0 and 1 is 1, but of 1 and 0 it is 0; .*K\.T",
    ),
    "no solver": (
        fit(R("absolute", "mcp")),
        r"no solver takes mean absolute.* \(its .*smooth loss\): take a smooth loss such as "
        r"Huber\(\) or a penalty such as L1\(\) or L2\(\); minimand.explain shows",
    ),
    "no solver of margins": (fit(K("hinge", mm.MCP())), r"take a smooth loss such as SquaredHinge"),
    "no solver of balls": (
        fit(R("chebyshev", mm.L1Ball())),
        r"no solver takes the penalised problem",
    ),
    "nobody's kind": (
        fit(R("chebyshev", "scad")),
        r"Chebyshev\(\) is one number for the whole set",
    ),
    "closed form": (
        fit(R("huber", solver="closed_form")),
        r"solver='closed_form' does not accept this problem: Huber\(\) is not the squared loss\.",
    ),
    "closed form, l1": (
        fit(R(penalty="l1", solver="closed_form")),
        "solver='closed_form' does not accept .*: the penalty has kinks; .* L2 or no penalty",
    ),
    "newton, l1": (
        fit(K(penalty="l1", solver="newton")),
        "solver='newton' does not accept this problem: the penalty has kinks",
    ),
    "parameter": (lambda: R().set_params(foo=1), "Invalid parameter 'foo' for Regressor; choose"),
    "inner": (lambda: R().set_params(penalty__foo=1), "Invalid parameter 'foo' for L2"),
    "no inner": (lambda: R().set_params(alpha__foo=1), "alpha=None of Regressor has no parameter"),
}

FITTED = R().fit(X, Y)
BAD_PREDICT = {
    "features": (lambda: FITTED.predict(X[:, :2]), "X has 2 features, but Regressor is"),
    "1D": (lambda: FITTED.predict(X[0]), r"X must be 2D.*X\.reshape\(1, -1\) for a single sample"),
    "NaN": (lambda: FITTED.predict(NAN), "X contains NaN"),
    "offset": (lambda: FITTED.predict(X, offset=[1, 2]), "offset must have one number per sample"),
}

ALL = {
    f"{group}: {name}": case
    for group, cases in {
        "X": BAD_X,
        "y": BAD_Y,
        "vectors": BAD_VECTORS,
        "settings": BAD_SETTINGS,
        "predict": BAD_PREDICT,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", ALL)
def test_one_clear_sentence(name):
    call, message = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TypeError, ValueError), match=message) as caught:
            call()
    assert_one_sentence(str(caught.value))


def assert_one_sentence(text):
    assert "\n" not in text
    assert text[-1] in ".?"
    assert ". " not in text
    assert len(text) < 600  # short names are listed
    parts = text.split("; ")
    assert len(parts) == len(set(parts))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (R(features=3), "features must have fit_transform and transform, not 3"),
        (R(features=np.dot), r"function of X and Z pass minimand.Callable\(dot\)"),
        (R(features=StandardScaler), r"features must be an object, .*: pass StandardScaler\(\)"),
        (R(callbacks=print), "callbacks must be a list.*: put a single one in a list"),
        (R(callbacks=3), "callbacks must be a list"),
        (R(callbacks=[3]), "callbacks must be callables, but 3 is not"),
        (R(callbacks=[int]), r"callbacks must hold objects, not classes: pass int\(\)"),
    ],
)
def test_wrong_kinds_of_object(model, message):
    with pytest.raises(TypeError, match=message) as caught:
        model.fit(X, Y)
    assert_one_sentence(str(caught.value))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 1.0}, r"has no parameter 'C': write alpha=1/\(C\*n_samples\)"),
        ({"fit_intercept": False}, "has no parameter 'fit_intercept': write intercept="),
        (
            {"l1_ratio": 0.5},
            r"has no parameter 'l1_ratio': write penalty=l1_ratio \* minimand.L1\(\) \+",
        ),
        ({"penlty": "l1"}, r"has no parameter 'penlty': choose from \[.*\], perhaps 'penalty'"),
    ],
)
def test_parameters_of_other_libraries(params, message):
    for kind in (R, K):
        with pytest.raises(TypeError, match=f"^{kind.__name__} {message}") as caught:
            kind(**params)
        assert_one_sentence(str(caught.value))


def test_a_subclass_may_have_parameters_of_its_own():
    class Ours(R):
        def __init__(self, C=1.0, **rest):
            super().__init__(**rest)
            self.C = C

    model = Ours(C=2.0, alpha=3.0)
    assert (model.C, model.alpha) == (2.0, 3.0)


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba", "score"])
def test_not_fitted(method):
    arguments = (X, C) if method == "score" else (X,)
    for model in (R(), K()):
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                getattr(model, method)(*arguments)


def test_adding_what_is_no_penalty():
    with pytest.raises(TypeError, match="unsupported operand"):
        mm.L1() + 3


class Slow(FunctionTransformer):
    def fit_transform(self, X, y=None):
        raise AssertionError("features were computed before the input was checked")


DATA = [
    name
    for name, (call, _) in ALL.items()
    if name.split(":")[0] in ("y", "vectors") and isinstance(call, partial)
]


@pytest.mark.parametrize("name", DATA)
def test_input_is_checked_before_anything_is_computed(name):
    call, message = ALL[name]
    model = clone(call.func.__self__).set_params(features=Slow())
    with pytest.raises(ValueError, match=message):
        model.fit(*call.args, **call.keywords)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "X is None: pass what features= takes"),
        (X[:0], r"X has 0 sample\(s\) while a minimum of 1 is required"),
        (3.0, "X must hold samples that can be counted, not 3.0"),
        (X[:-1], "X and y must hold the same samples, but X has 19 rows"),
    ],
)
def test_what_features_get_is_theirs_to_judge_but_for_its_rows(bad, message):
    with pytest.raises(ValueError, match=message) as caught:
        R(features=Slow()).fit(bad, Y)
    assert_one_sentence(str(caught.value))


def test_a_failed_fit_leaves_the_last_model_usable():
    model = R().fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(X, spoilt(Y, 0, np.nan))
    assert (model.predict(X) == before).all()
