"""Certificates of clusterings and components, ours and scikit-learn's: `certify` without y."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._base.typing import Array, ArrayLike
from .._base.watch import interruption, time_limit, watching
from ..certificate import Certificate
from ..reverse.base import Reverse
from ..reverse.cuts.kernel_kmeans import KernelKMeans
from ..reverse.cuts.normalized_cut import NormalizedCut
from ..reverse.proof import judged
from ..reverse.rows import rows_for
from . import components

_CENTRES = ("KMeans", "MiniBatchKMeans", "BisectingKMeans")  # of scikit-learn, Euclidean


def takes(model: Any) -> bool:
    """Whether the model has no y: a `Reverse` estimator, or a peer of one in scikit-learn."""
    return isinstance(model, Reverse) or _is_foreign(model) or components.takes(model)


def refusal_of(model: Any) -> str:
    """Why `certify` does not take a model that was fitted on rows alone."""
    *peers, last = (*_CENTRES, *components.FOREIGN)
    text = (
        f"certify takes no {type(model).__name__}: of models without y it takes minimand's KMeans, "
        "SoftKMeans, KernelKMeans, NormalizedCut, Divisive, PCA, KernelPCA and NormalizedPCA, and "
        f"scikit-learn's {', '.join(peers)} and {last}."
    )
    own = (
        " What is known of this one is its certificate_." if hasattr(model, "certificate_") else ""
    )
    return text + own


def needs_no_y(model: Any) -> bool:
    """Whether a model was fitted on rows alone, as scikit-learn's tags tell."""
    try:
        return not get_tags(model).target_tags.required
    except (AttributeError, TypeError, ValueError):
        return False


def certify_clustering(
    model: Any,
    X: ArrayLike,
    sample_weight: ArrayLike,
    *,
    thorough: bool,
    max_seconds: float | None = None,
) -> Certificate:
    """The certificate of a model on rows X; ``thorough`` asks for the dual of k-means.

    After ``max_seconds`` the search for a better bound ends; after Ctrl-C the best so far is the
    ``result`` of `Interrupted`.
    """
    check_is_fitted(model)
    with watching(time_limit(max_seconds)) as watch:
        found = _judged(model, X, sample_weight, thorough)
        stopped = watch.why() if thorough and found.kind != "global" else ""
    if watch.interrupted:
        raise interruption("certify", found, found)
    if stopped:
        warnings.warn(
            f"certify: stopped by {stopped}; the bound is valid, and more time may raise it.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found


def _judged(model: Any, X: ArrayLike, sample_weight: ArrayLike, thorough: bool) -> Certificate:
    if isinstance(model, KernelKMeans):
        return judged.of_kernel(model, X, sample_weight, thorough=thorough)
    if isinstance(model, NormalizedCut):
        return judged.of_cut(model, X, sample_weight, thorough=thorough)
    centres = _euclidean_centres(model)
    if centres is not None:
        rows = rows_for(model, X, of_numbers=True, reset=False)
        # A tree of divisions does not always take a row to the nearest of its leaves.
        divided = any(cls.__name__ == "BisectingKMeans" for cls in type(model).__mro__)
        labels = model.predict(X) if divided else None
        return judged.of_centres(
            model, rows, centres, sample_weight, thorough=thorough, labels=labels
        )
    if components.takes(model) and not thorough:
        return components.certify_components(model, X, sample_weight)
    if thorough:
        raise TypeError(
            "thorough=True is for k-means with Euclidean distances, KernelKMeans and "
            f"NormalizedCut, not for {_name_of(model)}: leave it out."
        )
    found: Certificate = model.judged(X, sample_weight)
    return found


def _name_of(model: Any) -> str:
    distance = getattr(model, "distance", None)
    name = type(model).__name__
    return name if distance is None else f"{name} with distance={distance!r}"


def _is_foreign(model: Any) -> bool:
    return any(
        cls.__module__.split(".")[0] == "sklearn" and cls.__name__ in _CENTRES
        for cls in type(model).__mro__
    )


def _euclidean_centres(model: Any) -> Array | None:
    """The centres of a k-means model with Euclidean distances; None for other models."""
    own = type(model).__name__ == "KMeans" and getattr(model, "distance", None) == "euclidean"
    if not (own or _is_foreign(model)):
        return None
    return np.asarray(model.cluster_centers_, dtype=float)
