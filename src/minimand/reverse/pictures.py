"""What ``plot(kind=…)`` of a clustering draws."""

from __future__ import annotations

from typing import Any

from .._base.typing import AnyArray, Array
from ..metrics.silhouettes import of_fitted, silhouette_samples
from ..report.figure import is_axes

KINDS = ("clusters", "silhouettes")
OF_TREES = ("dendrogram", *KINDS)


def check_picture(model: Any, X: Any, kind: Any, *, kept: bool = False) -> None:
    """Refuse a picture that is not known, and one without rows if the model has not ``kept`` them.

    The first argument of other models' ``plot`` is the axes, so that they may come as X.
    """
    name = type(model).__name__
    if is_axes(X):
        raise TypeError(
            f"{name}.plot takes X, the rows to draw, before the axes: call plot(X, ax=axes)"
            + (", or plot(ax=axes)." if kept else ".")
        )
    if X is None and not kept:
        raise TypeError(f"{name}.plot needs X, the rows to draw: the model does not keep them.")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, not {kind!r}.")


def check_picture_of_tree(model: Any, kind: Any, *, rows: str) -> None:
    """Refuse a picture of a hierarchy that is not known; ``rows`` says where its rows come from."""
    if not isinstance(kind, str):
        raise TypeError(
            f"{type(model).__name__}.plot takes kind first, one of {list(OF_TREES)}, not "
            f"{type(kind).__name__}: {rows}, and axes are ax=axes."
        )
    if kind not in OF_TREES:
        raise ValueError(f"kind must be one of {list(OF_TREES)}, not {kind!r}.")


def clusters_of_rows(
    X: Any,
    labels: AnyArray,
    centers: Array,
    what: str,
    *,
    kind: str,
    distance: str = "euclidean",
    ax: Any,
) -> Any:
    """Rows and centres on two components, or silhouettes by the distance of the clustering."""
    from ..report.clusters import plot_clusters

    if kind == "silhouettes":
        return silhouettes(X, labels, what, distance=distance, kernel=None, ax=ax)
    return plot_clusters(X, labels, centers, what=what, ax=ax)


def silhouettes(
    X: Any, labels: AnyArray, what: str, *, distance: str = "euclidean", kernel: Any, ax: Any
) -> Any:
    """The silhouettes of rows, by the distance or the kernel of the clustering."""
    from ..report.clusters import plot_silhouettes

    samples = silhouette_samples(X, labels, distance, kernel)
    return plot_silhouettes(samples, labels, what=what, ax=ax)


def silhouettes_of_fitted(pairs: Any, labels: AnyArray, what: str, ax: Any) -> Any:
    """The silhouettes of the rows that a `Dissimilarity` was fitted to."""
    from ..report.clusters import plot_silhouettes

    return plot_silhouettes(of_fitted(pairs, labels), labels, what=what, ax=ax)
