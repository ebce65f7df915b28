"""Products of powers of the inputs: a linear model becomes a polynomial."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted

from .._base.parameters import check_count
from .._base.typing import IntArray
from .._base.wording import counted
from .base import Features

_BYTES_PER_COLUMN = 80  # bytes; safeguard: a fit holds about ten vectors of this length
_DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Monomials(Features):
    r"""All monomials of the inputs up to a degree.

    .. math:: \varphi(x) = \bigl(x_1^{p_1} \cdots x_d^{p_d}\bigr)_{1 \le p_1 + \dots + p_d \le t}

    Columns are ordered by degree. There is no constant column: the estimator has an intercept,
    which is not penalised. With one input and degree t − 1, a polynomial passes through any t
    points.

    Parameters
    ----------
    degree : int, default=2
        The largest total degree t.
    interactions : bool or "only", default=True
        True: all monomials. False: powers of one input at a time, x, x², …. "only": products of
        different inputs, each to the power of one.

    Attributes
    ----------
    powers_ : ndarray of shape (n_columns, n_features)
        The exponents of every column.

    Notes
    -----
    Columns are counted before any is made: if the machine has not enough memory, they are refused.
    Sparse rows stay sparse. High powers of inputs that are far from one in size are very large or
    small, and the penalty weighs them accordingly: scale the inputs first if that is not wanted.

    Examples
    --------
    XOR has no linear solution, but x₀·x₁ alone solves it:

    >>> import numpy as np
    >>> import minimand as mm
    >>> X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    >>> model = mm.Classifier(alpha=0.01, features=mm.Monomials(2)).fit(X, [0, 1, 1, 0])
    >>> model.predict(X)
    array([0, 1, 1, 0])
    >>> [str(name) for name in model.features_.get_feature_names_out()]
    ['x0', 'x1', 'x0²', 'x0·x1', 'x1²']
    """

    takes_sparse = True
    fixed = True

    def __init__(self, degree: int = 2, interactions: Any = True) -> None:
        self.degree = degree
        self.interactions = interactions

    def check_parameters(self) -> None:
        """Degree ≥ 1; True, False or "only"."""
        check_count(self, "degree")
        known = isinstance(self.interactions, bool | np.bool_) or self.interactions == "only"
        if not known:
            raise ValueError(
                "interactions of Monomials must be True, False or 'only', "
                f"not {self.interactions!r}."
            )

    def learn(self, X: Any) -> None:
        """Check that the columns fit into memory; there is nothing to learn."""
        self._check_size(X[:0])

    @property
    def powers_(self) -> IntArray:
        """The exponents; computed on access, since they may be larger than sparse data."""
        check_is_fitted(self, "n_features_in_")
        d = self.n_features_in_
        return np.stack([np.bincount(term, minlength=d) for term in self._terms(d)])

    def columns(self, X: Any) -> Any:
        """Every product, as dense or sparse as X."""
        self._check_size(X)
        if self.interactions:
            return self._expansion(X).transform(X)
        exponents = range(1, int(self.degree) + 1)
        if sparse.issparse(X):
            return sparse.hstack([X.power(p) for p in exponents], format=X.format)
        return np.hstack([X**p for p in exponents])

    def _count(self, inputs: int) -> int:
        """The number of monomials of so many inputs."""
        degree = int(self.degree)
        if not self.interactions:
            return inputs * degree
        if self.interactions == "only":
            return sum(comb(inputs, p) for p in range(1, min(degree, inputs) + 1))
        return comb(inputs + degree, degree) - 1

    def _check_size(self, X: Any) -> None:
        """Refuse columns that cannot fit into memory, before any is made."""
        n, d = X.shape
        columns = self._count(d)
        if sparse.issparse(X):
            stored, rows = np.unique(np.diff(X.tocsr().indptr), return_counts=True)
            entries = sum(self._count(int(r)) * int(m) for r, m in zip(stored, rows))
            size = entries * (X.data.itemsize + X.indices.itemsize)
        else:
            size = n * columns * X.itemsize
        size += columns * _BYTES_PER_COLUMN
        limit = memory_of_machine()
        if size > limit:
            raise ValueError(
                f"{self!r} makes {Decimal(columns):.3g} columns of {counted(d, 'column')} of X, "
                f"which take about {Decimal(size) / 10**9:.3g} GB of memory where there are "
                f"{limit / 1e9:.3g} GB: lower degree, set interactions=False, or select columns "
                "of X first."
            )

    def names(self, inputs: list[str]) -> Iterator[str]:
        """x0, x0², x0·x1²."""
        for term in self._terms(len(inputs)):
            counts = Counter(term)  # keeps the order of the inputs
            yield "·".join(_power(inputs[j], exponent) for j, exponent in counts.items())

    def _terms(self, n_features: int) -> Iterator[tuple[int, ...]]:
        """The factors of every column, as indices of inputs; in scikit-learn's order."""
        inputs = range(n_features)
        for p in range(1, int(self.degree) + 1):
            if not self.interactions:
                yield from ((j,) * p for j in inputs)
            elif self.interactions == "only":
                yield from combinations(inputs, p)
            else:
                yield from combinations_with_replacement(inputs, p)

    def _expansion(self, X: Any) -> Any:
        only = self.interactions == "only"
        # Products of more inputs than there are do not exist.
        degree = min(int(self.degree), X.shape[1]) if only else int(self.degree)
        return PolynomialFeatures(degree, interaction_only=only, include_bias=False).fit(X[:1])


def memory_of_machine() -> float:
    """Bytes of memory of this machine; infinite if unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return np.inf


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else name + str(exponent).translate(_DIGITS)
