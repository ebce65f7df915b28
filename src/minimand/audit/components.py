"""Certificates of components, ours and scikit-learn's: what they lose, and what any must lose."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._base.typing import Array, ArrayLike
from ..certificate import Certificate
from ..certificate.eigenvalues.relaxation import top_of_rows
from ..design import as_design
from ..reverse.base import Course
from ..reverse.components.pca import FORMULA, PCA
from ..reverse.rows import row_weights, rows_for

FOREIGN = ("PCA", "IncrementalPCA", "TruncatedSVD")  # of scikit-learn


def takes(model: Any) -> bool:
    """Whether the model projects rows onto ``components_`` of their columns."""
    return isinstance(model, PCA) or any(
        cls.__module__.split(".")[0] == "sklearn" and cls.__name__ in FOREIGN
        for cls in type(model).__mro__
    )


def certify_components(model: Any, X: ArrayLike, sample_weight: ArrayLike) -> Certificate:
    """mean ½‖x − x̂‖² of the model's projection x̂, and its least value for as many components."""
    rows = rows_for(model, X, of_numbers=True, reset=False)
    weights = row_weights(sample_weight, rows.shape[0])
    components = np.asarray(model.components_, dtype=float)
    mean = getattr(model, "mean_", None) if getattr(model, "_centred", True) else None
    scale = 0.5 / float(weights.sum())
    primal = scale * _lost(rows, weights, components, mean)
    count = components.shape[0]
    top = top_of_rows(as_design(rows), count, weights=weights, centred=mean is not None)
    dual = min(scale * top.discarded, primal)
    course = Course(model, FORMULA)
    return course.certificate(
        primal, dual, "global", scale * top.rounding, scale * top.total, certain=top.certain
    )


def _lost(rows: Any, weights: Array, components: Array, mean: Any) -> float:
    """Σ s‖x − mean − its projection onto the components‖²."""
    basis = linalg.orth(components.T)  # (d, k); whitening and rounding do not matter then
    centre = np.zeros(rows.shape[1]) if mean is None else np.asarray(mean, dtype=float)
    size = max(1, (1 << 22) // max(rows.shape[1], 1))  # numbers of a block; safeguard: memory
    total = 0.0
    for start in range(0, rows.shape[0], size):
        part = rows[start : start + size]
        dense = part.toarray() if sparse.issparse(part) else np.asarray(part, dtype=float)
        left = dense - centre
        left = left - (left @ basis) @ basis.T
        total += float(weights[start : start + size] @ np.einsum("ij,ij->i", left, left))
    return total
