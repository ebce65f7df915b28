"""Figures of clusters hold what they should; how they look was looked at."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs

import minimand as mm
from minimand.report.clusters import on_two_components, plot_clusters, plot_silhouettes
from minimand.report.dendrogram import plot_dendrogram
from minimand.report.number_of_clusters import plot_choice

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

X, label = load_iris(return_X_y=True)


def abs_difference(a, b):
    return float(np.abs(a - b).sum())


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_two_components_are_principal():
    centred = X - X.mean(axis=0)
    _, values, rows = np.linalg.svd(centred, full_matrices=False)
    centers = np.stack([X[label == c].mean(axis=0) for c in range(3)])
    for given in (X, sparse.csr_matrix(X)):
        points, middle, names = on_two_components(given, centers)
        np.testing.assert_allclose(np.abs(points), np.abs(centred @ rows[:2].T), atol=1e-8)
        np.testing.assert_allclose(middle, [points[label == c].mean(axis=0) for c in range(3)])
        assert f"{values[0] ** 2 / (values**2).sum():.0%}" in names[0]
    assert (on_two_components(X[:, :2])[0] == X[:, :2]).all()
    assert on_two_components(X[:, :1], X[:2, :1])[0].shape == (150, 2)
    assert on_two_components(np.ones((5, 4)))[0].shape == (5, 2)


def test_the_view_of_clusters():
    ax = plot_clusters(X, label, np.stack([X[label == c].mean(axis=0) for c in range(3)]))
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["0: 50", "1: 50", "2: 50"]
    shown = np.concatenate([c.get_offsets() for c in ax.collections[:3]])
    assert len(shown) == 150
    assert len(ax.collections) == 5  # and crosses, twice
    ax.figure.canvas.draw()
    many = plot_clusters(np.random.default_rng(0).standard_normal((300, 3)), np.arange(300) % 100)
    assert many.get_legend() is None
    many.figure.canvas.draw()
    large = plot_clusters(np.zeros((50_000, 2)), np.zeros(50_000, dtype=int))
    assert len(large.collections[0].get_offsets()) <= 20_000


def test_silhouettes():
    samples = mm.metrics.silhouette_samples(X, label)
    ax = plot_silhouettes(samples, label)
    assert len(ax.collections) == 3
    assert ax.get_legend().get_texts()[0].get_text() == f"mean {samples.mean():.3f}"
    ax.figure.canvas.draw()


@pytest.mark.parametrize("kind", [mm.KMeans, mm.SoftKMeans])
def test_a_clustering_draws_its_rows_and_centres(kind):
    model = kind(3, random_state=0).fit(X)
    ax = model.plot(X)
    drawn = sum(len(points.get_offsets()) for points in ax.collections)
    assert drawn == len(X) + 2 * 3  # every centre is a cross of two colours
    ax.figure.canvas.draw()


@pytest.mark.parametrize("linkage", ["ward", "single", "centroid"])
def test_dendrograms(linkage):
    model = mm.Agglomerative(3, linkage).fit(X)
    ax = model.plot()
    heights = [segment[:, 1].max() for c in ax.collections for segment in c.get_segments()]
    assert len(heights) == 39  # forty leaves
    assert max(heights) == pytest.approx(model.distances_.max())
    ax.figure.canvas.draw()
    small = mm.Agglomerative(3, linkage).fit(X[::10])
    drawn = [c for c in small.plot().collections if len(c.get_segments())]
    assert sum(len(c.get_segments()) for c in drawn) == 14
    assert model.plot("clusters", ax=pyplot.subplots()[1]).get_legend() is not None
    with pytest.raises(ValueError, match="kind must be one of"):
        model.plot("tree")


def test_long_chains_can_be_drawn():
    line = np.cumsum(1.0 + 0.001 * np.arange(3000))[:, None]  # every merge adds one sample
    model = mm.Agglomerative(2, "single").fit(line)
    ax = model.plot()
    ax.figure.canvas.draw()
    assert ax.get_ylim()[1] >= model.distances_.max()
    ax = plot_dendrogram(mm.Agglomerative(1).fit([[0.0], [1.0]]).linkage_)
    ax.figure.canvas.draw()
    assert len(ax.get_xticklabels()) == 2


def test_trees_of_divisions_and_choices():
    rows, _ = make_blobs(60, centers=4, random_state=0)
    ax = mm.Divisive(4, random_state=0).fit(rows).plot()
    names = [text.get_text() for text in ax.get_xticklabels()]
    assert len(names) == 4
    assert sum(int(name.split("(")[1][:-1]) for name in names) == 60
    ax.figure.canvas.draw()
    choice = mm.choose_k(rows, range(1, 6), n_references=3, random_state=0)
    ax = choice.plot()
    assert f"k = {choice.k}" in {text.get_text() for text in ax.texts}
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    "model",
    [
        mm.KMeans(3, distance="manhattan", random_state=0),
        mm.SoftKMeans(3, random_state=0),
        mm.KernelKMeans(3, kernel=mm.RBF(3.0), random_state=0),
        mm.NormalizedCut(3, random_state=0),
    ],
)
def test_a_clustering_draws_its_silhouettes(model):
    model.fit(X)
    ax = model.plot(X, kind="silhouettes")
    assert len(ax.collections) == 3
    kernel = mm.RBF(3.0) if isinstance(model, mm.KernelKMeans) else None
    distance = "manhattan" if isinstance(model, mm.KMeans) else "euclidean"
    mean = mm.metrics.silhouette(X, model.labels_, distance, kernel)
    assert ax.get_legend().get_texts()[0].get_text() == f"mean {mean:.3f}"
    with pytest.raises(ValueError, match="kind must be one of"):
        model.plot(X, kind="dendrogram")


@pytest.mark.parametrize("chosen", [2, 5, 8])
def test_the_label_of_the_choice_is_within_the_axes(chosen):
    ks = np.arange(2, 9)
    ax = plot_choice(ks, np.linspace(1.0, 0.0, 7), None, chosen, "criterion")
    ax.figure.canvas.draw()
    (label,) = ax.texts
    box, whole = label.get_window_extent(), ax.get_window_extent()
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0


@pytest.mark.parametrize(
    "model",
    [mm.PCA(2), mm.KernelPCA(2), mm.NormalizedPCA(2, kernel="rbf")],
    ids=lambda model: type(model).__name__,
)
def test_rows_in_place_of_axes_are_refused(model):
    model.fit(X)
    with pytest.raises(TypeError, match=rf"ax of {type(model).__name__}.plot must be .*Axes"):
        model.plot(X)
    assert model.plot(pyplot.gca()) is pyplot.gca()


@pytest.mark.parametrize(
    "model",
    [mm.KMeans(3), mm.SoftKMeans(3), mm.KernelKMeans(3), mm.NormalizedCut(3)],
    ids=lambda model: type(model).__name__,
)
def test_axes_in_place_of_rows_are_refused(model):
    model.set_params(random_state=0).fit(X)
    with pytest.raises(TypeError, match=r"takes X, the rows to draw, before the axes"):
        model.plot(pyplot.gca())
    with pytest.raises(TypeError, match=rf"ax of {type(model).__name__}.plot must be"):
        model.plot(X, X)
    if isinstance(model, mm.KMeans | mm.SoftKMeans):
        with pytest.raises(TypeError, match=r"plot needs X, the rows to draw"):
            model.plot()
    else:
        assert model.plot(ax=pyplot.gca()) is pyplot.gca()


@pytest.mark.parametrize("model", [mm.Agglomerative(3), mm.Divisive(3)])
def test_a_tree_says_what_its_picture_takes(model):
    model.fit(X)
    with pytest.raises(TypeError, match="takes kind first"):
        model.plot(X)
    with pytest.raises(TypeError, match=rf"ax of {type(model).__name__}.plot must be .*Axes"):
        model.plot("dendrogram", X)
    assert model.plot(ax=pyplot.gca()) is pyplot.gca()


@pytest.mark.parametrize(
    ("distance", "kernel"),
    [("manhattan", None), ("euclidean", mm.RBF(2.0)), ("euclidean", None), (abs_difference, None)],
)
def test_a_tree_draws_its_silhouettes_by_its_own_distances(distance, kernel):
    models = [mm.Agglomerative(3, "average", distance=distance, kernel=kernel)]
    if distance == "euclidean":
        models.append(mm.Divisive(3, kernel=kernel, random_state=0))
    some = X[::3]
    for model in models:
        rows = {"X": some} if isinstance(model, mm.Divisive) else {}
        ax = model.fit(some).plot("silhouettes", **rows)
        mean = mm.metrics.silhouette(some, model.labels_, distance, kernel)
        assert ax.get_legend().get_texts()[0].get_text() == f"mean {mean:.3f}"
        if distance == "euclidean" and kernel is None:
            assert len(model.plot("clusters", **rows).collections) == 3 + 2  # crosses are double
        elif kernel is not None:
            with pytest.raises(ValueError, match="kind='clusters'"):
                model.plot("clusters", **rows)


def test_a_division_needs_the_rows_it_shall_draw():
    with pytest.raises(TypeError, match=r"Divisive.plot needs X"):
        mm.Divisive(3, random_state=0).fit(X).plot("clusters")
