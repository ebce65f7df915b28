"""The components of a kernel: from all its values, or from a factor of low rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...design.dense import DenseDesign
from ...features.low_rank import LowRank
from ...kernels import Kernel
from ...kernels.rows import count
from ..factors import factor_of
from ..rows import all_values
from .exact import by_covariance, top_eigen
from .spectrum import chosen_count, is_count, signs_of

_INDEFINITE = 1e-8  # of the largest eigenvalue, below zero; safeguard: rounding is far smaller


@dataclass(frozen=True, eq=False)
class KernelFound:
    """Components Σᵢ aᵢ·φ(zᵢ) − (their mean), of rows z of the fit or of landmarks among them."""

    values: Array  # (k,): the variances along the components, times Σs
    total: float  # Σ s‖φ(x) − mean φ‖², or an upper bound of it
    least: float  # a lower bound of what any k directions leave out of it
    rounding: float
    outputs: Array  # (n, k), of the rows of the fit
    rows: Any  # z
    coefs: Array  # (m, k): a
    shift: Array  # (k,): outputs are k(x, z)·a + shift
    mean: Array  # (m,): the mean of the features is Σ meanᵢ·φ(zᵢ)
    spectrum: Array | None = None

    @property
    def error(self) -> float:
        """What the components leave out."""
        return max(self.total - float(self.values.sum()), 0.0)


def of_all_values(
    kernel: Kernel, rows: Any, weights: Array, n_components: Any, centred: bool
) -> KernelFound:
    """The eigenvectors u of S^½HKHᵀS^½, H = I − 1pᵀ with p = s/Σs; its eigenvalues are λ.

    The component of u is Σ aᵢ(φ(xᵢ) − mean φ) with a = S^½u/√λ; the output of row i is √λ·uᵢ/√sᵢ.
    """
    gram = all_values(kernel, rows)
    n, root = len(gram), np.sqrt(weights)
    share = weights / weights.sum() if centred else np.zeros(n)
    means = gram @ share
    middle = float(share @ means)
    matrix = gram - means - means[:, None] + middle if centred else gram
    matrix = matrix * np.outer(root, root)
    total = max(float(np.trace(matrix)), 0.0)
    # Centring subtracts numbers of this size, whose rounding stays.
    largest = float(np.abs(gram).max()) * float(weights.max())
    values, turns = top_eigen(matrix, n_components if kernel.definite else None)
    if not kernel.definite:
        _check_definite(values, n * EPS * largest, kernel)
    spectrum = np.maximum(values, 0.0) if values.size == n else None
    k = chosen_count(n_components, values, total, n, n)
    values = np.maximum(values[:k], 0.0)
    top = float(values[0])
    # Directions without variance, up to rounding, get the output 0 and not noise of length one.
    rounding = EPS * n * (k * top + total + (4 * (k + 1) * largest if centred else 0.0))
    usable = values > n * EPS * max(top, largest)
    values = np.where(usable, values, 0.0)
    turns = turns[:, :k] * usable
    turns = turns * signs_of(turns / root[:, None])
    directions = root[:, None] * turns / np.sqrt(np.where(usable, values, 1.0))
    along = directions.sum(axis=0)
    return KernelFound(
        values,
        total,
        max(total - float(values.sum()), 0.0),
        rounding,
        turns * np.sqrt(values) / root[:, None],
        rows,
        directions - np.outer(share, along),
        middle * along - means @ directions,
        share,
        spectrum,
    )


def of_a_factor(
    features: LowRank, X: Any, weights: Array, n_components: Any, centred: bool
) -> KernelFound:
    """The components of the rows of L, K = LLᵀ + R with R ⪰ 0.

    The coordinates L are those of φ(x) in a basis of the span of the landmarks, so that components
    in that span keep of φ(x) what they keep of L. R adds Σ s·R to the total at the most, and it
    only adds to what any directions leave out: both sides of the certificate hold for K itself.
    """
    kept = np.flatnonzero(weights)
    factor, rest = factor_of(features, X, weights)
    rank = factor.shape[1]
    wanted = min(int(n_components), rank) if is_count(n_components) else n_components
    design = DenseDesign(np.ascontiguousarray(factor[kept]))
    found = by_covariance(design, weights[kept], wanted, centred)
    vectors, values = found.vectors, found.values
    missing = int(n_components) - rank if is_count(n_components) else 0
    if missing > 0:
        vectors = np.hstack([vectors, np.zeros((rank, missing))])
        values = np.append(values, np.zeros(missing))
    outputs = (factor - found.mean) @ vectors
    signs = signs_of(outputs)
    vectors, outputs = vectors * signs, outputs * signs
    return KernelFound(
        values,
        found.total + float(weights @ rest),
        found.least_error,
        found.rounding,
        outputs,
        features.landmarks,
        features.expansion(vectors.T),
        -found.mean @ vectors,
        features.expansion(found.mean[None])[:, 0],
    )


def _check_definite(values: Array, rounding: float, kernel: Kernel) -> None:
    """Refuse eigenvalues that are clearly negative: features would have negative lengths.

    ``rounding`` is that of the values of the kernel, about.
    """
    least, most = float(values[-1]), float(values[0])
    if least < -max(_INDEFINITE * max(most, -least * 1e-3), 16 * rounding):
        raise ValueError(
            f"{kernel!r} is not positive semidefinite on these rows (its least eigenvalue is "
            f"{least:.3g}): minimand.check_psd(k(X)) gives a witness."
        )


def outputs_of(found: KernelFound, kernel: Kernel, rows: Any) -> Array:
    """The outputs of other rows."""
    if not count(rows):
        return np.empty((0, found.values.size))
    return kernel.times(rows, found.rows, found.coefs) + found.shift
