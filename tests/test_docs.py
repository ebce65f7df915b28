"""The documents tell the truth: code runs, quotes are quotes, lists are complete."""

import re
import subprocess
import sys
import textwrap
import tomllib
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

import layers
import minimand as mm

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "minimand"
CURRENT = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
CURRENT += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = [*CURRENT, "CHANGELOG.md"]


def _text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks():
    """(document, line, language, quoted file, code) of every fenced block."""
    fence = re.compile(r"^```(\w+)(?: quote=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for name in DOCUMENTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        for found in fence.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            language, quoted, code = found.groups()
            yield pytest.param(name, line, language, quoted, code, id=f"{name}:{line}")


PYTHON = [p for p in blocks() if p.values[2] == "python" and not p.values[3]]
QUOTES = [p for p in blocks() if p.values[3]]


@pytest.mark.parametrize(("name", "line", "language", "quoted", "code"), PYTHON)
def test_code_runs(name, line, language, quoted, code):
    program = compile("\n" * line + code, str(ROOT / name), "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the tour stops a fit on purpose
        exec(program, {"__name__": f"{name}:{line}"})


@pytest.mark.parametrize(("name", "line", "language", "quoted", "code"), QUOTES)
def test_quotes_are_in_the_code_base(name, line, language, quoted, code):
    source = (ROOT / quoted).read_text(encoding="utf-8")
    assert textwrap.dedent(code).strip() in textwrap.dedent(source) or code.strip("\n") in source, (
        f"{name}:{line} quotes {quoted}, which has changed: update the quote."
    )


def test_the_tour_is_not_empty():
    assert len(PYTHON) >= 7
    assert len(QUOTES) >= 3


def test_the_first_pages_are_short():
    assert len(_text("README.md").splitlines()) <= 250
    assert len(_text("ARCHITECTURE.md").split()) <= 1500


def _same_problems():
    X, y = load_diabetes(return_X_y=True)
    a, r, c, n = 0.3, 0.4, 0.7, len(y)
    mix = r * mm.L1() + (1 - r) * mm.L2()
    yield linear_model.LinearRegression(), mm.Regressor("squared", "no_penalty"), X, y
    yield linear_model.Ridge(alpha=a), mm.Regressor("squared", "l2", alpha=a / n), X, y
    yield linear_model.Lasso(alpha=a, tol=1e-8), mm.Regressor("squared", "l1", alpha=a), X, y
    theirs = linear_model.ElasticNet(alpha=a, l1_ratio=r, tol=1e-8)
    yield theirs, mm.Regressor("squared", mix, alpha=a), X, y
    theirs = linear_model.PoissonRegressor(alpha=a, tol=1e-7, max_iter=1000)
    yield theirs, mm.Regressor("poisson", "l2", alpha=a), X, y
    theirs = linear_model.GammaRegressor(alpha=a, tol=1e-7, max_iter=1000)
    yield theirs, mm.Regressor("gamma", "l2", alpha=a), X, y
    theirs = linear_model.TweedieRegressor(power=1.5, alpha=a, tol=1e-7, max_iter=1000)
    yield theirs, mm.Regressor("tweedie", "l2", alpha=a), X, y
    X, y = load_breast_cancer(return_X_y=True)
    theirs = linear_model.LogisticRegression(C=c, tol=1e-9, max_iter=5000)
    yield theirs, mm.Classifier("logistic", "l2", alpha=1 / (c * len(y))), scale(X), y
    yield (
        svm.SVC(kernel="linear", C=c, tol=1e-8),
        mm.Classifier("hinge", "l2", alpha=1 / (c * len(y))),
        scale(X),
        y,
    )
    X, y = load_diabetes(return_X_y=True)
    theirs = svm.SVR(kernel="linear", C=c, epsilon=9.0, tol=1e-8)
    ours = mm.Regressor(mm.EpsilonInsensitive(9.0), "l2", alpha=1 / (c * n))
    yield theirs, ours, scale(X), y
    theirs = linear_model.QuantileRegressor(quantile=0.8, alpha=a)
    yield theirs, mm.Regressor(mm.Quantile(0.8), "l1", alpha=a), scale(X), y


@pytest.mark.parametrize(
    ("theirs", "ours", "X", "y"),
    [pytest.param(*case, id=type(case[0]).__name__) for case in _same_problems()],
)
def test_the_table_of_scales_is_true(theirs, ours, X, y):
    theirs.fit(X, y)
    ours.set_params(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-3)
    np.testing.assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), rtol=1e-2, atol=1e-3)
    assert mm.certify(theirs, X, y, against=ours).relative < 1e-6
    assert f"`{type(theirs).__name__}(" in _text("docs/guide/switching.md")


def test_every_file_says_what_it_is_for():
    """ARCHITECTURE.md sends its readers to the first lines of files."""
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    assert [str(path) for path in files if not layers.said_of(path)] == []


@pytest.mark.parametrize("name", CURRENT)
def test_every_file_that_is_named_exists(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|pyi|cpp|hpp)|[\w]+(?:/\w+)*/)`", text))
    homes = [SOURCE, ROOT, ROOT / "core", ROOT / "core" / "common"]
    gone = [file for file in sorted(named) if not any((home / file).exists() for home in homes)]
    assert not gone, f"{name} names files that do not exist: {gone}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert ((ROOT / name).parent / target).exists(), (
            f"{name} links to {target}, which is not there."
        )


def test_every_page_can_be_found():
    for folder in ("guide", "decisions"):
        pages = {path.name for path in (ROOT / "docs" / folder).glob("*.md")} - {"README.md"}
        listed = (ROOT / "docs" / folder / "README.md").read_text(encoding="utf-8")
        assert pages
        assert [page for page in sorted(pages) if f"]({page})" not in listed] == []


def test_the_limits_name_what_certify_reads():
    from minimand.audit.foreign.scikit_learn import READERS

    text = _text("docs/guide/limits.md")
    assert [name for name in READERS if f"`{name}`" not in text] == []


STUBS = sorted(SOURCE.rglob("__init__.pyi"))


def package_of(stub):
    return import_module(".".join(["minimand", *stub.parent.relative_to(SOURCE).parts]))


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_the_stub_has_the_same_names_as_the_package(stub):
    text, package = stub.read_text(encoding="utf-8"), package_of(stub)
    names = set(re.findall(r"import (\w+) as \1|^(\w+): ", text, re.MULTILINE))
    names = {name for pair in names for name in pair if name} - {"threads", "__version__"}
    assert names == set(package.__all__), (
        "a public name must be in both __init__.py and __init__.pyi; they differ in "
        f"{sorted(names ^ set(package.__all__))}."
    )


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_the_stub_says_where_names_live(stub):
    text, package = stub.read_text(encoding="utf-8"), package_of(stub)
    for module, name in re.findall(r"from (\.\w+) import (\w+) as \2", text):
        home = import_module(module, package.__name__)
        assert getattr(package, name) is getattr(home, name)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_every_public_name_can_be_had(stub):
    namespace, package = {}, package_of(stub)
    exec(f"from {package.__name__} import *", namespace)
    for name in package.__all__:
        assert namespace[name] is getattr(package, name)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_a_fit_loads_what_it_needs_and_no_more():
    code = """
import sys
from minimand import Regressor
import numpy as np
X = np.arange(12.0).reshape(6, 2) % 5
Regressor("squared", "l1", alpha=0.1).fit(X, X[:, 0])
print(*(name for name in sys.modules if name.startswith("minimand.")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"minimand.solvers.sparse.working_set", "minimand.losses.distance"} <= loaded
    rare = ("solvers.stochastic.sgd", "solvers.textbook.proximal", "solvers.programs.highs")
    rare += ("solvers.kinked.interior", "losses.powers", "losses.matching_loss")
    rare += ("penalties.nonconvex", "report.progress")
    for name in rare:
        assert import_module(f"minimand.{name}")  # so that a file that moved is noticed
    assert not loaded & {f"minimand.{name}" for name in rare}


def test_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == mm.__version__
    assert f"## [{mm.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_guide_counts_the_mistakes_of_perceptrons():
    """The table of perceptrons and widest margins."""
    text = _text("docs/guide/support-vectors.md")
    iris, digits = load_iris(), load_digits()
    pair = digits.target < 2
    cases = {
        "iris: setosa or not": (iris.data, iris.target == 0),
        "digits: 0 or 1": (digits.data[pair], digits.target[pair]),
    }
    for name, (X, y) in cases.items():
        found, widest = mm.Perceptron(bound=True).fit(X, y), mm.HardMargin().fit(X, y)
        assert found.mistakes_ <= found.bound_
        assert found.margin_ <= widest.margin_
        margins = f"{found.margin_:.3f} | {widest.margin_:.3f}"
        assert f"| {name} | {found.mistakes_} | {found.bound_:.0f} | {margins} |" in text
