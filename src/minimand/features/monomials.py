"""Products of powers of the inputs: a linear model becomes a polynomial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from .._typing import IntArray
from .base import Features, check_count

_DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Monomials(Features):
    r"""All monomials of the inputs up to a degree.

    .. math:: \varphi(x) = \bigl(x_1^{p_1} \cdots x_d^{p_d}\bigr)_{1 \le p_1 + \dots + p_d \le t}

    Columns are ordered by degree. There is no constant column: the estimator's intercept is that,
    and is not penalised. With one input and degree t − 1, a polynomial passes through any t points.

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
    powers_: IntArray

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
        """Which products there are."""
        if self._pure:
            identity = np.eye(X.shape[1], dtype=np.int64)
            powers = [p * identity for p in range(1, int(self.degree) + 1)]
            self.powers_ = np.concatenate(powers)
        else:
            self.powers_ = self._expansion(X).powers_

    def columns(self, X: Any) -> Any:
        """Every product, as dense or sparse as X."""
        if not self._pure:
            return self._expansion(X).transform(X)
        exponents = range(1, int(self.degree) + 1)
        if sparse.issparse(X):
            return sparse.hstack([X.power(p) for p in exponents], format=X.format)
        return np.hstack([X**p for p in exponents])

    def names(self, inputs: list[str]) -> Iterator[str]:
        """x0, x0², x0·x1²."""
        for row in self.powers_:
            yield "·".join(_power(inputs[j], row[j]) for j in np.flatnonzero(row))

    @property
    def _pure(self) -> bool:
        return not self.interactions

    def _expansion(self, X: Any) -> Any:
        only = self.interactions == "only"
        # Products of more inputs than there are do not exist.
        degree = min(int(self.degree), X.shape[1]) if only else int(self.degree)
        return PolynomialFeatures(degree, interaction_only=only, include_bias=False).fit(X[:1])


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else name + str(exponent).translate(_DIGITS)
