"""The rows of a fit: weights, precision, and kernels of all their pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..._base.typing import AnyArray, Array
from ...design import Design, as_design
from ...estimators.inputs.data import check_weights
from ...kernels import REGISTRY
from ..finite_squares import check_weighted_squares
from ..rows import in_double, kernel_rows


def weighted_rows(X: Any, sample_weight: Any) -> tuple[Design, Array]:
    """The rows and their weights; rows of weight zero are left out."""
    design = as_design(X)
    weights = check_weights(sample_weight, design.shape[0])
    if weights is None:
        return design, np.ones(design.shape[0])
    check_weighted_squares(X, weights)
    kept = np.flatnonzero(weights)
    if kept.size == weights.size:
        return design, weights
    return design.rows(kept), weights[kept]


def rows_to_keep(model: Any, X: Any) -> tuple[Any, Any]:
    """The rows of a fit as the kernel of a model takes them, in double precision; and theirs.

    The model keeps them: they are never X itself, which the caller may change.
    """
    found = kernel_rows(model, X, REGISTRY.get(model.kernel), reset=True, copy=True)
    return in_double(found), precision(found)


def precision(X: Any) -> Any:
    """float32 for such data, else float64."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def checked_outputs(Y: Any, n_components: int) -> AnyArray:
    """Outputs as a matrix of floats, a column for each component."""
    found = check_array(Y, dtype=[np.float64, np.float32], input_name="Y")
    if found.shape[1] != n_components:
        raise ValueError(
            f"Y must have {n_components} columns, one for each component, but it has "
            f"{found.shape[1]}."
        )
    return np.asarray(found)
