"""Certificates of the components of a kernel, computed anew from rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._base.linear_system import EPS
from ..._base.typing import Array, ArrayLike, IntArray
from ...certificate import Certificate
from ...certificate.eigenvalues.relaxation import (
    TopSum,
    top_of_kernel,
    top_of_normalised,
    top_of_rows,
)
from ...features.low_rank import MEMORY, PivotedCholesky
from ...kernels import Kernel
from ...kernels.rows import count
from ..base import Course
from ..rows import in_double, kernel_rows, row_weights
from .kernel_fits import outputs_of
from .normalized_fits import Normalized

_RANK = 1000  # columns of a factor where the kernel matrix is too large; safeguard: seconds


def of_kernel_components(
    model: Any, formula: str, X: Any, sample_weight: ArrayLike = None
) -> Certificate:
    """The certificate of a `KernelPCA` on any rows: what its components, and any, leave out."""
    X = in_double(kernel_rows(model, X, model.kernel_, reset=False))
    kernel: Kernel = model.kernel_
    found, rows = model._components, kernel.rows(X, training=True)
    n = count(rows)
    weights = row_weights(sample_weight, n)
    new = kernel.rows(X)
    own = kernel.diagonal(rows)
    centred = bool(model._centred)
    if centred:  # ‖φ − mean‖²
        own = own - 2.0 * kernel.times(new, found.rows, found.mean[:, None])[:, 0]
        own = own + kernel.quadratic_form(found.rows, found.mean)
    outputs = outputs_of(found, kernel, new)
    lost = float(weights @ np.maximum(own - np.einsum("ij,ij->i", outputs, outputs), 0.0))
    top = _top(kernel, X, rows, weights, outputs.shape[1], centred)
    # Inner products cancel where the mean of the features is large: charged to both sides.
    error = 8.0 * EPS * float(weights @ kernel.sizes(rows))
    scale = 0.5 / float(weights.sum())
    return Course(model, formula).certificate(
        scale * (lost + error),
        scale * max(top.discarded - error, 0.0),
        "global",
        scale * (top.rounding + error),
        scale * top.total,
        certain=top.certain,
    )


def _top(kernel: Kernel, X: Any, rows: Any, weights: Array, k: int, centred: bool) -> TopSum:
    """What k directions keep at most: from all values, or from a factor and what it leaves out."""
    n = weights.size
    if 16.0 * n * n <= MEMORY:
        gram = np.asarray(kernel.gram(rows), dtype=float)
        return top_of_kernel(gram, min(k, n), weights=weights, centred=centred)
    features = PivotedCholesky(kernel, max(1, min(_RANK, int(MEMORY / (8 * n)))))
    factor = features.fit_transform(X)
    return top_of_rows(
        factor,
        min(k, factor.shape[1]),
        weights=weights,
        centred=centred,
        remainder=features.remainder_,
    )


def of_embedding(model: Any, formula: str, X: Any, sample_weight: ArrayLike = None) -> Certificate:
    """The certificate of a `NormalizedPCA`, on the rows that it was fitted on."""
    X = in_double(kernel_rows(model, X, model.kernel_, reset=False))
    n, k = count(X), model.embedding_.shape[1]
    if n != model.n_samples_:
        raise ValueError(
            f"X has {n} rows, but this {type(model).__name__} was fitted on {model.n_samples_}: "
            "pass the data it was fitted on."
        )
    weights = row_weights(sample_weight, n)
    kept = np.flatnonzero(weights)
    values = _affinities(model, X, kept)
    problem = Normalized.of(values, weights[kept])
    root = np.sqrt(problem.weights * problem.degrees)[:, None]
    outputs = root * np.column_stack([np.ones(kept.size), model.embedding_[kept].astype(float)])
    basis = np.linalg.qr(outputs)[0]
    primal = k - float(np.vdot(basis, problem.times(basis)))
    top = top_of_normalised(values, k + 1, weights=problem.weights)
    return Course(model, formula).certificate(
        primal, top.discarded, "global", top.rounding, float(k), certain=top.certain
    )


def _affinities(model: Any, X: Any, kept: IntArray) -> Any:
    """The affinities of rows of positive weight, all pairs of them."""
    kernel: Kernel = model.kernel_
    if kernel.pairwise:
        return sparse.csr_array(X)[kept][:, kept] if sparse.issparse(X) else X[np.ix_(kept, kept)]
    if 16.0 * kept.size**2 > MEMORY:
        raise ValueError(
            f"certify needs the affinities of all pairs of {kept.size} rows, which take "
            f"{8e-9 * kept.size**2:.3g} GB: certificate_ is what is known of this model."
        )
    return np.asarray(kernel.gram(kernel.rows(X, training=True)[kept]), dtype=float)
