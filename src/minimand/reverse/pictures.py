"""What ``plot(kind=…)`` of a clustering draws."""

from __future__ import annotations

from typing import Any

from .._base.typing import AnyArray, Array
from ..metrics.silhouettes import silhouette_samples

KINDS = ("clusters", "silhouettes")


def check_kind(kind: Any) -> None:
    """Refuse a picture that is not known."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, not {kind!r}.")


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
