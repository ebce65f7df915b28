"""One class against one other, for every pair of classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._base.typing import Array, IntArray
from ..base import Loss
from .by_score import ByScore


class OneVsOne(ByScore):
    r"""One class against one other, for every pair of classes.

    .. math:: \ell(z, y) = \sum_{a < b,\; y \in \{a, b\}} \ell_1(z_{ab}, \pm 1),
              \quad +1 \text{ if } y = b

    A `Classifier` solves one problem per pair, on the samples of its two classes: k(k − 1)/2 small
    problems for k classes, in the order (0, 1), (0, 2), …, (1, 2), …. Every pair has one vote, and
    the class with most votes is predicted; the sum of its scores breaks ties. The mean is over all
    samples, so that a pair has C = 1/(alpha·n_samples), as in scikit-learn's SVC. Two classes are
    one problem, that of the loss itself.

    Parameters
    ----------
    loss : Loss or str
        A loss of the margin, such as `Hinge()` or its short name ``"hinge"``.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = mm.Classifier(mm.OneVsOne(mm.SquaredHinge()), alpha=0.1).fit(X, y)
    >>> model.coef_.shape, model.decision_function(X).shape
    ((45, 64), (1797, 10))
    """

    in_pairs: ClassVar[bool] = True

    def __init__(self, loss: Loss | str) -> None:
        self.loss = loss

    def value(self, z: Array, y: Array) -> Array:
        """The sum over the pairs of the class y = 0, 1, 2, … of a row; z has a column per pair."""
        places, codes = self._own_pairs(z, y)
        found = self.single.value(np.take_along_axis(z, places, axis=1).ravel(), codes.ravel())
        return np.asarray(found.reshape(codes.shape).sum(axis=1))

    def gradient(self, z: Array, y: Array) -> Array:
        """The gradient of every pair; 0 for pairs of other classes."""
        places, codes = self._own_pairs(z, y)
        slopes = self.single.gradient(np.take_along_axis(z, places, axis=1).ravel(), codes.ravel())
        whole = np.zeros_like(z)
        np.put_along_axis(whole, places, slopes.reshape(codes.shape), axis=1)
        return whole

    def _own_pairs(self, z: Array, y: Array) -> tuple[IntArray, Array]:
        """For every row its k − 1 pairs, and how the loss codes its class in each."""
        places = places_of_pairs(class_count(z.shape[1]))
        number = np.asarray(y).astype(np.int64)
        second = np.arange(places.shape[1]) < number[:, None]  # the other class has a lower number
        return places[number], np.where(second, 1.0, self.single.low_code)


def class_count(n_pairs: int) -> int:
    """The number k of classes that form k(k − 1)/2 pairs.

    >>> class_count(45)
    10
    """
    return (1 + int(np.sqrt(1 + 8 * n_pairs))) // 2


def pairs_of_classes(n_classes: int) -> tuple[IntArray, IntArray]:
    """The lower and the higher class of every pair: (0, 1), (0, 2), …, (1, 2), …

    >>> [a.tolist() for a in pairs_of_classes(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    low, high = np.triu_indices(n_classes, 1)
    return low, high


def places_of_pairs(n_classes: int) -> IntArray:
    """For every class the numbers of its k − 1 pairs, in the order of the other class.

    >>> places_of_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    low, high = pairs_of_classes(n_classes)
    table = np.zeros((n_classes, n_classes - 1), dtype=np.int64)
    table[low, high - 1] = np.arange(low.size)
    table[high, low] = np.arange(low.size)
    return table
