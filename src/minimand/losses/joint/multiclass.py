"""Losses over classes: k scores a row, and the number of a class as the target."""

from __future__ import annotations

import numbers

import numpy as np

from ... import _core
from ..._base.typing import Array, BoolArray, IntArray
from ..base import Loss, ShiftedSums, Terms
from ..curvature import Simplex
from ..numeric.simplex import below_simplex, onto_simplex
from ..numeric.softmax_prox import softmax_prox

_OFF = 1e-12  # distance from the simplex that counts as rounding; safeguard
_MANY = 64  # classes, beyond which BLAS multiplies their probabilities; safeguard
_BLOCK = 1 << 20  # numbers in a block of rows, 8 MB; safeguard: temporaries stay that small


class Multinomial(Loss):
    r"""log Σ e^{z_c} − z_y: the softmax, or multinomial logistic, loss of k classes.

    .. math:: \ell(z, y) = \log \sum_{c=1}^{k} e^{z_c} - z_y

    The score of every class is a linear function of its own. `transform` gives the probabilities
    :math:`e^{z_c} / \sum_b e^{z_b}`, which `predict_proba` returns.

    Parameters
    ----------
    reference : int, optional
        A class whose score is 0, by its number among the sorted classes (−1: the last). The other
        k − 1 classes have a score each: log-odds against the reference. By default no class is
        singled out: k scores, whose intercepts add up to 0. Without a penalty both give the same
        probabilities; a penalty acts on the scores, and so depends on the choice.

    Notes
    -----
    y holds the numbers 0, …, k − 1 of the classes. Adding one number to all k scores of a row
    changes nothing. With two classes and the penalty L2, the fit is that of `Logistic` with half
    the alpha.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> z = np.log([[1.0, 1.0, 2.0], [6.0, 3.0, 1.0]])
    >>> mm.Multinomial().transform(z)
    array([[0.25, 0.25, 0.5 ],
           [0.6 , 0.3 , 0.1 ]])
    >>> bool(np.allclose(np.exp(-mm.Multinomial().value(z, np.array([2.0, 0.0]))), [0.5, 0.6]))
    True
    >>> odds = z[:, 1:] - z[:, :1]
    >>> mm.Multinomial(reference=0).transform(odds).round(4)[1]
    array([0.6, 0.3, 0.1])
    """

    target = "class"
    joint = True
    proved = True
    probabilistic = True
    smoothness = 0.5

    def __init__(self, reference: int | None = None) -> None:
        self.reference = reference

    def check_parameters(self) -> None:
        """The reference must be the number of a class."""
        chosen = self.reference
        is_number = isinstance(chosen, numbers.Integral) and not isinstance(chosen, bool)
        if chosen is not None and not is_number:
            raise ValueError(
                "reference of Multinomial must be the number of a class among the sorted classes, "
                f"or None, not {chosen!r}."
            )

    @property
    def level_free(self) -> bool:  # type: ignore[override]
        """Without a reference, scores count by their differences."""
        return self.reference is None

    def scores_for(self, n_classes: int) -> int:
        """One for every class, or for every class but the reference."""
        if self.reference is None:
            return n_classes
        self._place_of_reference(n_classes)
        return n_classes - 1

    def class_scores(self, z: Array) -> Array:
        """(n, k): with a reference, its zeros among the other scores."""
        z = z[:, None] if z.ndim == 1 else z
        if self.reference is None:
            return np.ascontiguousarray(z)
        place = self._place_of_reference(z.shape[1] + 1)
        return np.ascontiguousarray(np.insert(z, place, 0.0, axis=1))

    def value(self, z: Array, y: Array) -> Array:
        """log Σ e^{z_c} − z_y."""
        return _core.softmax_value(self.class_scores(z), _numbers(y))

    def gradient(self, z: Array, y: Array) -> Array:
        """p_c − [c = y]; for c = y this is minus the sum of the others, which does not cancel."""
        return self._own(_core.softmax_gradient(self.class_scores(z), _numbers(y)), z)

    def curvature(self, z: Array, y: Array) -> Simplex | Array:
        """Diag(p) − ppᵀ of every row."""
        return self._curvature(_core.softmax(self.class_scores(z)), z)

    def terms(self, z: Array, y: Array) -> Terms:
        """All of them from one set of exponentials."""
        value, gradient, p = _core.softmax_terms(self.class_scores(z), _numbers(y))
        return Terms(value, self._own(gradient, z), self._curvature(p, z))

    def conjugate(self, u: Array, y: Array) -> Array:
        """Σ p log p, p = u + [c = y]; inf unless p is a probability law."""
        found = np.empty(len(y))
        for rows in _blocks(u):
            p = self._law(u[rows], y[rows])
            positive = np.where(p > 0, p, 1.0)
            found[rows] = np.where(_is_law(p), (p * np.log(positive)).sum(axis=1), np.inf)
        return found

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """Σ p log(p/q), p = u + [c = y], q the softmax of z: the relative entropy.

        A term p log(p/q) − p + q is never negative, and where p and q are close it comes from
        their difference u − (q − [c = y]), so that it is accurate when it is small.
        """
        found = np.empty(len(y))
        for rows in _blocks(u):
            moved = self._all_slopes(u[rows])
            inside = _is_law(self._law(u[rows], y[rows]))
            scores, numbers = self.class_scores(z[rows]), _numbers(y[rows])
            terms = _core.softmax_relative_entropy(scores, moved, numbers)
            found[rows] = np.where(inside, terms, np.inf)
        return found

    def into_domain(self, u: Array, y: Array) -> Array:
        """The nearest u for which u + [c = y] is a probability law."""
        moved = u
        for rows in _blocks(u):
            part, labels = u[rows], y[rows]
            off = np.flatnonzero(~_is_law(self._law(part, labels)))
            if off.size:
                moved = moved.copy() if moved is u else moved
                nearest = self._nearest(part[off], labels[off])
                moved[np.arange(len(u))[rows][off]] = nearest
        return moved

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """argmin_t ℓ(t, y) + ‖t − z‖²/(2·step) of every row, by Newton's method."""
        return softmax_prox(self, z, y, np.broadcast_to(step, (len(z),)))

    @property
    def robust(self) -> bool:
        """Slopes are differences of probabilities."""
        return True

    def infimum(self, y: Array) -> Array:
        """0, where the score of the class is far above the others."""
        return np.zeros(len(y))

    def attained(self, y: Array) -> bool:
        """Never: e^{z_c − z_y} is not 0."""
        return False

    def best_shift(self, z: Array, y: Array, mass: Array) -> float | Array | None:
        """The logarithms of the classes' shares, less the scores, if all rows have the same."""
        if not len(z) or (z != z[:1]).any():
            return None
        scores = self.class_scores(z[:1])[0]
        share = np.bincount(_numbers(y), weights=mass, minlength=scores.size)
        if not (share > 0).all():
            return None  # the score of an absent class falls for ever
        b = np.log(share) - scores
        if self.reference is None:
            return np.asarray(b - b.mean())
        b -= b[self._place_of_reference(scores.size)]
        own = self._own(b[None], z[:1])[0]
        return float(own) if z.ndim == 1 else np.asarray(own)

    def shifted_sums(self, z: Array, b: Array, y: Array, mass: Array) -> ShiftedSums:
        """In one pass; with many classes a matrix product finds the second derivative faster."""
        scores, shift = self.class_scores(z), self.class_scores(np.atleast_2d(b))[0]
        if shift.size > _MANY:
            return super().shifted_sums(z, b, y, mass)
        value, slope, size, square = _core.softmax_sums(scores, shift, _numbers(y), mass)
        hessian = -square
        # The sum over classes vanishes; p − p² would cancel where p is near one.
        np.fill_diagonal(hessian, 0.0)
        np.fill_diagonal(hessian, -hessian.sum(axis=1))
        if self.reference is not None:
            own = np.delete(np.arange(shift.size), self._place_of_reference(shift.size))
            slope, size, hessian = slope[own], size[own], hessian[np.ix_(own, own)]
        return ShiftedSums(value, slope, size, hessian)

    def softmax_classes(self, y: Array) -> IntArray | None:
        """The classes, unless one of them is a reference, whose score is 0."""
        return _numbers(y) if self.reference is None else None

    def transform(self, z: Array) -> Array:
        """The probabilities of all k classes."""
        return _core.softmax(self.class_scores(z))

    # Scores of all classes, with or without a reference ----------------------------------------

    def _place_of_reference(self, n_classes: int) -> int:
        chosen = self.reference
        assert chosen is not None
        if not -n_classes <= chosen < n_classes:
            raise ValueError(
                f"reference={chosen} of Multinomial must be the number of one of the "
                f"{n_classes} classes."
            )
        return int(chosen) % n_classes

    def _all_slopes(self, u: Array) -> Array:
        """(n, k): with a reference, its slope is minus the sum of the others."""
        u = u[:, None] if u.ndim == 1 else u
        if self.reference is None:
            return np.ascontiguousarray(u)
        place = self._place_of_reference(u.shape[1] + 1)
        return np.ascontiguousarray(np.insert(u, place, -u.sum(axis=1), axis=1))

    def _own(self, full: Array, z: Array) -> Array:
        """The columns of the scores that the model has, in the shape of z."""
        if self.reference is None:
            return full
        place = self._place_of_reference(full.shape[1])
        return np.ascontiguousarray(np.delete(full, place, axis=1)).reshape(z.shape)

    def _curvature(self, p: Array, z: Array) -> Simplex | Array:
        own = self._own(p, z)
        return Simplex(own) if own.ndim > 1 else own * (1.0 - own)

    def _law(self, u: Array, y: Array) -> Array:
        """u + [c = y] for all classes."""
        p = self._all_slopes(u)
        p = p.copy() if self.reference is None else p
        p[np.arange(len(y)), _numbers(y)] += 1.0
        return p

    def _nearest(self, u: Array, y: Array) -> Array:
        """In the model's own scores, where the law of a reference need only be below one."""
        law = self._law(u, y)
        one = self._law(np.zeros_like(u), y)
        if self.reference is None:
            return onto_simplex(law) - one
        own = self._own(law, u).reshape(len(u), -1)
        return below_simplex(own).reshape(u.shape) - self._own(one, u)


def _numbers(y: Array) -> IntArray:
    """Class numbers as integers."""
    return np.asarray(y).astype(np.int64)


def _is_law(p: Array) -> BoolArray:
    """Whether every row is a probability law, up to rounding."""
    off = np.abs(p.sum(axis=1) - 1.0) - np.minimum(p, 0.0).sum(axis=1)
    return np.asarray(off <= _OFF, dtype=bool)


def _blocks(u: Array) -> list[slice]:
    """Blocks of rows with at most `_BLOCK` numbers."""
    width = u.shape[1] if u.ndim > 1 else 1
    rows = max(1, _BLOCK // max(width, 1))
    return [slice(start, start + rows) for start in range(0, len(u), rows)]
