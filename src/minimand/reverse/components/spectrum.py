"""What a method of PCA finds: directions, their variances, and a bound of the best ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..._base.linear_system import EPS
from ..._base.typing import Array
from ...certificate.eigenvalues.ritz import orthonormal

# The optimal hard threshold of Gavish and Donoho (2014) for unknown noise: a polynomial in the
# ratio β of the sides that their paper fits to ω(β), times the median singular value. Definition.
_THRESHOLD = (0.56, -0.95, 1.82, 1.43)


@dataclass(frozen=True, eq=False)
class Found:
    """Components of the matrix C = Σ sᵢ(xᵢ − x̄)(xᵢ − x̄)ᵀ."""

    vectors: Array  # (d, k), orthonormal
    values: Array  # (k,): vᵀCv, the largest first
    total: float  # tr C
    bound: float  # no k directions have a larger sum of vᵀCv, up to rounding
    rounding: float  # of these sums
    mean: Array  # x̄; zeros if the rows are not centred
    spectrum: Array | None = None  # all eigenvalues of C, where a method knows them
    certain: bool = True  # whether the bound rests on no random vector
    passes: float = 1.0
    null: int = 0  # the last so many values are exactly 0: constant columns, or the rows' mean

    @property
    def error(self) -> float:
        """Σ s‖x − x̂‖²: what the components leave out."""
        return max(self.total - float(self.values.sum()), 0.0)

    @property
    def least_error(self) -> float:
        """A lower bound of it for any k directions."""
        return max(self.total - self.bound, 0.0)


def check_count(n_components: Any) -> None:
    """Refuse what is no count, share, "auto" or None, before any data are seen."""
    if n_components is None or (isinstance(n_components, str) and n_components == "auto"):
        return
    number = isinstance(n_components, Real) and not isinstance(n_components, bool | np.bool_)
    if number and isinstance(n_components, Integral) and int(n_components) >= 1:
        return
    if number and not isinstance(n_components, Integral) and 0 < float(n_components) < 1:
        return
    raise ValueError(
        "n_components must be an integer ≥ 1, a share of the variance between 0 and 1, 'auto' or "
        f"None for all, not {n_components!r}."
    )


def is_count(n_components: Any) -> bool:
    """Whether the number of components is given, so that few eigenvalues are enough."""
    return isinstance(n_components, Integral)


def check_against(
    n_components: Any, n: int, d: int, name: str = "min(n_samples, n_features)"
) -> None:
    """Refuse more components than there are directions."""
    most = min(n, d)
    if is_count(n_components) and n_components > most:
        raise ValueError(
            f"n_components={n_components} must be between 1 and {name}={most}: ask for fewer "
            "components, or give more data."
        )


def chosen_count(
    n_components: Any, values: Array, total: float, n: int, d: int, *, noise: float = EPS
) -> int:
    """How many components a count, a share, "auto" or None stands for, given all eigenvalues.

    A share: the fewest whose variances sum to more than that share of the total. "auto": the
    eigenvalues above the optimal hard threshold for data of low rank plus noise. None: those that
    are more than rounding, which is ``noise`` per row or column of the largest. At least one.
    """
    noise *= max(n, d) * float(values.max(initial=0.0))
    if n_components is None:
        return max(1, int((values > noise).sum()))
    if is_count(n_components):
        return int(n_components)
    if isinstance(n_components, str):
        positive = np.sqrt(np.maximum(values[: min(n, d)], 0.0))
        beta = min(n, d) / max(n, d)
        limit = float(np.polyval(_THRESHOLD, beta)) * float(np.median(positive))
        return max(1, int((positive > max(limit, math.sqrt(noise))).sum()))
    if not total > 0:
        return 1
    # A share that is a sum of such variances up to rounding is not exceeded by that sum.
    reached = float(n_components) * (1.0 + values.size * EPS)
    shares = np.cumsum(np.maximum(values, 0.0)) / total
    return min(int(np.searchsorted(shares, reached, side="right")) + 1, values.size)


def completed(vectors: Array, k: int) -> Array:
    """k orthonormal columns that begin with the given ones; others fill up where they are fewer.

    For data of a rank below k: the directions that are added have no variance. They are unit
    vectors, made orthogonal to all columns before them, so that they depend on nothing random.
    """
    d = vectors.shape[0]
    while vectors.shape[1] < k:
        left = 1.0 - np.einsum("ij,ij->i", vectors, vectors)  # ‖e − VVᵀe‖² of unit vectors
        most = min(k - vectors.shape[1], d)
        chosen = np.sort(np.argsort(-left, kind="stable")[:most])
        units = np.zeros((d, chosen.size))
        units[chosen, np.arange(chosen.size)] = 1.0
        vectors = np.hstack([vectors, orthonormal(units, vectors)])
    return vectors[:, :k]


def signed(vectors: Array) -> Array:
    """The columns with signs such that the entry of largest size of each is positive.

    Eigenvectors are determined up to their sign only; this makes them the same for every method.
    Entries within rounding of the largest count as equal, and the first of them decides.
    """
    return vectors * signs_of(vectors)


def signs_of(columns: Array) -> Array:
    """1 or −1 for each column: the sign of its entry of largest size."""
    sizes = np.abs(columns)
    near = sizes >= (1.0 - 1e-6) * sizes.max(axis=0)  # share; safeguard: far above rounding
    signs = np.sign(columns[near.argmax(axis=0), np.arange(columns.shape[1])])
    return np.where(signs == 0, 1.0, signs)
