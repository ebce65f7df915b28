"""The rows of a fit: weights, precision, and kernels of all their pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..._base.typing import AnyArray, Array
from ...design import Design, as_design
from ...estimators.inputs.data import check_weights
from ...kernels import REGISTRY
from ...kernels.vectors import VectorKernel
from ..rows import rows_for


def weighted_rows(X: Any, sample_weight: Any) -> tuple[Design, Array]:
    """The rows and their weights; rows of weight zero are left out."""
    design = as_design(X)
    weights = check_weights(sample_weight, design.shape[0])
    if weights is None:
        return design, np.ones(design.shape[0])
    kept = np.flatnonzero(weights)
    if kept.size == weights.size:
        return design, weights
    return design.rows(kept), weights[kept]


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


def in_double(X: Any) -> Any:
    """A float32 matrix in double precision, in which eigenvectors of kernels are computed."""
    single = getattr(X, "dtype", None) == np.float32
    return X.astype(np.float64) if single and hasattr(X, "astype") else X


def kernel_input(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as the kernel of an estimator takes it: a checked matrix, or rows of any kind.

    The matrix of the fit is copied, because the model keeps it and the caller may change X.
    """
    kernel = REGISTRY.get(estimator.kernel)
    of_numbers = isinstance(kernel, VectorKernel) or kernel.pairwise
    found = rows_for(estimator, X, of_numbers=of_numbers, reset=reset)
    return found.copy() if of_numbers and reset and found is X else found
