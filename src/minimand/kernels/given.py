"""Kernels that the user computes: a matrix of values, or a function."""

from __future__ import annotations

from collections.abc import Callable as Function
from typing import Any

import numpy as np

from .._base.typing import Array
from .._base.wording import counted
from .base import Kernel
from .rows import AsGiven, Parts, count, dense, matrix


class Precomputed(Kernel):
    """X is a matrix of kernel values: of all training rows, later of new rows with these.

    Examples
    --------
    >>> import minimand as mm
    >>> x, new = [[0.0], [1.0]], [[2.0]]
    >>> gram, cross = mm.Linear()(x), mm.Linear()(new, x)
    >>> mm.Precomputed().bind(gram)(cross, gram)
    array([[0., 2.]])
    """

    pairwise = True

    def rows(self, X: Any, *, training: bool = False) -> Parts:
        """The values, and for training rows their columns."""
        found = dense(matrix(X))
        if not training:
            return Parts(found, np.full(found.shape[0], -1))
        if found.shape[0] != found.shape[1]:
            raise ValueError(
                f"Precomputed() takes the square matrix of all training rows, but X has shape "
                f"{found.shape}: pass k(X, X) for fitting, and k(X_new, X) for prediction."
            )
        return Parts(found, np.arange(found.shape[0]))

    def block(self, x: Any, z: Any) -> Array:
        """The columns of the training rows z."""
        (values, _), (own, numbers) = x, z
        if values.shape[1] != own.shape[1]:
            raise ValueError(
                f"Precomputed() was fitted on {counted(own.shape[1], 'row')}, so X must have as "
                f"many columns, but it has {values.shape[1]}: pass k(X_new, X)."
            )
        return np.ascontiguousarray(values[:, numbers], dtype=values.dtype)

    def diagonal(self, x: Any) -> Array:
        """The diagonal of the matrix."""
        values, numbers = x
        return np.asarray(values[np.arange(count(values)), numbers], dtype=float)


class Callable(Kernel):
    """A kernel given by a function; X may hold anything that can be counted.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` gives the matrix of all pairs, a row for each of X; or, with
        ``by_pair=True``, ``function(x, z)`` gives one number for one pair. It must be symmetric and
        positive semidefinite (`minimand.check_psd` looks for a counterexample).
    by_pair : bool, default=False

    Examples
    --------
    >>> import minimand as mm
    >>> shared = mm.Callable(lambda a, b: len(set(a) & set(b)), by_pair=True)
    >>> shared(["kernel", "colonel"])
    array([[5., 3.],
           [3., 5.]])
    """

    takes_sparse = True

    def __init__(self, function: Function[[Any, Any], Any], by_pair: bool = False) -> None:
        self.function = function
        self.by_pair = by_pair

    def check_parameters(self) -> None:
        """A function."""
        if not callable(self.function):
            raise ValueError(
                f"function of Callable must be a function of X and Z, not {self.function!r}."
            )

    def rows(self, X: Any, *, training: bool = False) -> AsGiven:
        """X as it is."""
        return AsGiven(X)

    def block(self, x: Any, z: Any) -> Array:
        """What the function gives."""
        if self.by_pair:
            values = [[self.function(a, b) for b in _each(z.given)] for a in _each(x.given)]
        else:
            values = self._of_all(x.given, z.given)
        found = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
        if found.dtype != np.float32:
            found = found.astype(float)
        if found.shape != (len(x), len(z)):
            raise ValueError(
                f"the function of Callable must give a matrix of shape {(len(x), len(z))}, a row "
                f"for each of X and a column for each of Z, but it gives {found.shape}; with "
                "by_pair=True it takes one pair and gives one number."
            )
        if not np.isfinite(found).all():
            raise ValueError("the function of Callable gives NaN or infinity for some pair.")
        return np.ascontiguousarray(found)

    def _of_all(self, X: Any, Z: Any) -> Any:
        try:
            return self.function(X, Z)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise ValueError(
                "the function of Callable fails on all rows of X and Z at once "
                f"({type(error).__name__}: {error}): if it takes one row of each and gives one "
                "number, pass by_pair=True."
            ) from error


def _each(given: Any) -> Any:
    """The rows of a list, an array, a matrix or a data frame, one by one."""
    if hasattr(given, "iloc") or hasattr(given, "to_numpy"):
        return given.to_numpy()
    return given
