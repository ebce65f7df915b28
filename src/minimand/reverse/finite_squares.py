"""Data whose squares are finite numbers above zero: sums of squares are what this room computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from .._core import dot

# By bytes of a number: the largest size of an entry whose squares can be summed, and the least that
# the largest entry may have. Safeguards: sums of many squares are finite, and do not vanish.
_LARGEST = {4: 1e15, 8: 1e150}
_LEAST = {4: 1e-15, 8: 1e-150}
_SINGLE = 1e-25, 1e30  # of an array, with digits in single precision besides; safeguard
# Weights that change squares by little, and the products of a weight and a square that are allowed:
# many of them are summed, and small shares of them count. Safeguards.
_PLAIN = 1e-3, 1e3
_PRODUCTS = 1e-280, 1e303


def with_finite_squares(X: Any) -> Any:
    """X, an array or a sparse matrix; in double precision, or refused, where squares overflow."""
    return in_range(X, reset=False)


def in_range(X: Any, *, reset: bool) -> Any:
    """`with_finite_squares`; in a fit (``reset``), also refuse what `refuse_tiny` does."""
    if _seen_to_be_usual(X):
        return X
    largest = _largest(X)
    if reset:
        _refuse_tiny(largest)
    if largest == 0 or _LEAST[_bytes(X)] <= largest <= _LARGEST[_bytes(X)]:
        return X
    if largest > _LARGEST[8]:
        raise ValueError(
            f"X holds numbers as large as {largest:.1e}, whose squares overflow: divide X by a "
            "number of that size."
        )
    return X.astype(np.float64)


def in_range_as_given(X: Any, *, reset: bool) -> Any:
    """`in_range` of what a user passed: a frame or a list stays one, unless squares overflow."""
    values = X if sparse.issparse(X) else np.asarray(X)
    if in_range(values, reset=reset) is values:
        return X
    return X.astype(np.float64) if hasattr(X, "astype") else values.astype(np.float64)


def refuse_tiny(X: Any) -> None:
    """Refuse rows of a fit whose squares all underflow, so that they would seem to be equal."""
    if not _seen_to_be_usual(X):
        _refuse_tiny(_largest(X))


def _refuse_tiny(largest: float) -> None:
    if 0 < largest < _LEAST[8]:
        raise ValueError(
            f"X holds no number above {largest:.1e}, and squares of such numbers underflow: "
            "divide X by a number of that size."
        )


def check_weighted_squares(X: Any, weights: Any) -> None:
    """Refuse weights so small or large that they times squares of X underflow or overflow."""
    heaviest = 1.0 if weights is None else float(weights.max(initial=0.0))
    if heaviest == 0 or _PLAIN[0] <= heaviest <= _PLAIN[1]:
        return
    size = heaviest * _largest(X) ** 2
    if (size == 0 and _largest(X) == 0) or _PRODUCTS[0] <= size <= _PRODUCTS[1]:
        return
    raise ValueError(
        f"sample_weight is at most {heaviest:.1e}, and products with squares of X "
        f"{'underflow' if size < 1 else 'overflow'}: divide the weights by a number of that size."
    )


def with_finite_values(values: Any, kernel: Any) -> Any:
    """Values of a kernel; refused if some, or their sum, are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(np.sum(values))  # one number: no copy of a large matrix
    if not np.isfinite(total):
        raise ValueError(
            f"{kernel!r} has values on these rows that overflow: divide X by a number of the size "
            "of its entries."
        )
    return values


def is_of_usual_size(X: Any) -> bool:
    """Whether distances of rows neither vanish nor overflow in single precision."""
    largest = _largest(X)
    return largest == 0 or _SINGLE[0] <= largest <= _SINGLE[1]


def _seen_to_be_usual(X: Any) -> bool:
    """Whether the sum of all squares shows, in one pass, that the largest of them is neither vast
    nor tiny; False where it does not.
    """
    values = X.data if sparse.issparse(X) and X.format in ("csr", "csc") else X
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or not values.flags.forc:
        return False
    numbers = values.ravel(order="K")
    total = dot(numbers, numbers)  # NaN is not within the limits either
    return bool(_LEAST[8] ** 2 * max(numbers.size, 1) <= total <= _LARGEST[8] ** 2)


def _largest(X: Any) -> float:
    """The size of the largest entry; 0 where it is not known, or no number: others refuse that."""
    if sparse.issparse(X) and X.format in ("dok", "lil"):  # which have no array of their numbers
        X = X.tocsr()
    values = X.data if sparse.issparse(X) else X
    if not isinstance(values, np.ndarray) or not values.size or values.dtype.kind != "f":
        return 0.0
    largest = max(float(values.max()), -float(values.min()))
    return largest if math.isfinite(largest) else 0.0


def _bytes(X: Any) -> int:
    return 4 if X.dtype == np.float32 else 8
