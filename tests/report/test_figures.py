"""Figures hold what they should; how they look was looked at."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import minimand as mm

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

X, Y = load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def tuned():
    return mm.Tuned(mm.Regressor("squared", "l1"), alphas=30).fit(X, Y)


def texts(ax):
    return {text.get_text() for text in ax.texts}


def lines_of(ax):
    """The coefficients that were drawn, in colour or thin."""
    drawn = [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) > 2]
    return drawn + [path[:, 1] for c in ax.collections for path in c.get_segments()]


def test_every_coefficient_is_a_line_and_the_largest_have_names(tuned):
    ax = tuned.path_.plot(chosen={"best": tuned.alpha_})
    drawn = np.array(sorted(lines_of(ax), key=lambda line: tuple(line)))
    wanted = np.array(sorted(tuned.path_.coefs.T, key=tuple))
    np.testing.assert_array_equal(drawn, wanted)
    assert {"bmi", "s5", "sex", "best"} <= texts(ax)
    assert ax.get_xscale() == "log"
    assert ax.get_xlim()[0] > ax.get_xlim()[1]  # the model grows from left to right
    ax.figure.canvas.draw()


def test_against_the_shrinkage_factor(tuned):
    ax = tuned.path_.plot(x="shrinkage", chosen=[tuned.alpha_])
    across = next(line.get_xdata() for line in ax.get_lines() if len(line.get_xdata()) > 2)
    np.testing.assert_array_equal(across, tuned.path_.shrinkage)
    assert across.max() == 1.0
    marked = ax.get_lines()[-1].get_xdata()[0]
    assert marked == pytest.approx(tuned.path_.shrinkage[tuned.best_index_])
    ax.figure.canvas.draw()


def test_many_columns_stay_readable():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((30, 5000))
    path = mm.path(mm.Regressor("squared", "l1"), wide, wide[:, 0] - wide[:, 1], alphas=10)
    figure, given = pyplot.subplots()
    ax = path.plot(ax=given)
    assert ax is given
    assert len(lines_of(ax)) <= 8 + np.count_nonzero(path.coefs.any(axis=0))
    assert {"w0", "w1"} <= texts(ax)
    assert len(texts(ax)) <= 8
    figure.canvas.draw()


def test_classes_are_named():
    X, y = load_iris(return_X_y=True, as_frame=True)
    path = mm.path(mm.Classifier("logistic", "l2"), X, y, alphas=4)
    assert "2: petal width (cm)" in texts(path.plot())
    mapped = mm.Regressor("squared", "l1", features=_Square())
    assert "w0" in texts(mm.path(mapped, pd.DataFrame(X), y, alphas=3).plot())


class _Square:
    """A transformer without names."""

    def get_params(self, deep=True):
        return {}

    def fit_transform(self, X, y=None):
        return np.asarray(X) ** 2

    def transform(self, X):
        return np.asarray(X) ** 2


def test_empty_and_single_paths_can_be_drawn():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    for alphas in ([100.0], [100.0, 50.0], [0.1, 0.0]):
        path = mm.path(mm.Regressor("squared", "l1"), X, y, alphas=alphas)
        for x in ("alpha", "shrinkage"):
            path.plot(x=x, chosen=alphas[0]).figure.canvas.draw()


def test_the_curve_has_its_band_and_its_marks(tuned):
    ax = tuned.plot()
    mean = next(line for line in ax.get_lines() if line.get_label() == "mean held-out loss")
    np.testing.assert_array_equal(mean.get_ydata(), -tuned.cv_results_["mean_test_score"])
    assert {"best", "1-SE rule"} <= texts(ax)
    assert ax.get_legend().get_texts()[0].get_text() == "± one standard error"
    ax.figure.canvas.draw()


def test_a_score_is_drawn_as_it_is():
    tuned = mm.Tuned(mm.Regressor("squared", "l2"), alphas=5, scoring="r2").fit(X, Y)
    ax = tuned.plot(ax=pyplot.subplots()[1])
    mean = next(line for line in ax.get_lines() if line.get_label() == "mean r2")
    np.testing.assert_array_equal(mean.get_ydata(), tuned.cv_results_["mean_test_score"])
    alone = mm.Tuned(mm.Regressor("squared", "l2"), alphas=5, cv="loo").fit(X, Y)
    alone.plot().figure.canvas.draw()
    single = mm.Tuned(mm.Regressor("squared", "l1"), alphas=[1.0]).fit(X, Y)
    assert "best, and 1-SE rule" in texts(single.plot())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"x": "time"}, "x must be 'alpha' or 'shrinkage'"), ({"chosen": -1.0}, "chosen must hold")],
)
def test_bad_arguments_get_a_sentence(tuned, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        tuned.path_.plot(**options)


def test_without_matplotlib_one_sentence_says_what_to_install(tuned, without):
    without("matplotlib")
    for plot in (tuned.path_.plot, tuned.plot):
        with pytest.raises(ImportError, match=r"pip install 'minimand\[plot\]'"):
            plot()
