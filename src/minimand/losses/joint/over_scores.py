"""Sums of one loss over the scores of a row: vector outputs, one class against the rest."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..._base.row_blocks import shifted
from ..._base.typing import Array, ArrayLike
from ..base import Loss
from ..curvature import Diagonal
from ..distance import Squared
from .by_score import ByScore


class OverScores(ByScore):
    r"""The sum of a loss over outputs, each with a score of its own.

    .. math:: \ell(z, y) = \sum_c v_c\,\ell_1(z_c, y_c)

    A `Regressor` with a Y of several columns takes this sum of its loss by itself; write it to give
    outputs weights.

    Parameters
    ----------
    loss : Loss or str
        The loss of one score, or its short name; convex.
    weights : array-like of shape (n_outputs,), optional
        Positive weights v of the outputs; 1 by default.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> loss = mm.OverScores(mm.Absolute(), weights=[1.0, 10.0])
    >>> loss.value(np.array([[1.0, 2.0]]), np.array([[0.0, 0.0]])).tolist()
    [21.0]
    """

    def __init__(self, loss: Loss | str, weights: ArrayLike = None) -> None:
        self.loss = loss
        self.weights = weights

    def check_parameters(self) -> None:
        """The loss must be a loss of one score, the weights positive numbers."""
        super().check_parameters()
        if self.weights is None:
            return
        try:
            weights = np.asarray(self.weights, dtype=float)
            legal = weights.ndim == 1 and np.isfinite(weights).all() and (weights > 0).all()
        except (TypeError, ValueError):
            legal = False
        if not legal:
            raise ValueError(
                f"weights of {type(self).__name__} must be a list of positive numbers, one per "
                f"output, not {self.weights!r}."
            )

    # What a fit asks ---------------------------------------------------------------------------

    def of_score(self, c: int) -> Loss | None:
        """The loss of one score; None if outputs have weights."""
        return self.single if self.weights is None else None

    def score_weights(self, n_scores: int) -> Array | None:
        """The weights of the outputs; refuses another number of them than there are outputs."""
        if self.weights is None:
            return None
        weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (n_scores,):
            raise ValueError(
                f"weights of {type(self).__name__} must hold one number per output: there are "
                f"{n_scores} outputs, but {weights.size} weights."
            )
        return weights

    def refuse_score_weights(self) -> None:
        """Refuse weights where there is a single score, which nothing is weighed against."""
        if self.weights is not None:
            raise ValueError(
                f"weights of {type(self).__name__} are for several scores, but y needs one: leave "
                "them out, and divide alpha by the weight that was meant."
            )

    @property
    def quadratic(self) -> bool:  # type: ignore[override]
        """Whether the curvature is 1 everywhere."""
        return self.single.quadratic and self.weights is None

    @property
    def probabilistic(self) -> bool:  # type: ignore[override]
        """Whether every score gives a probability."""
        return self.single.probabilistic

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """The largest curvature of one score."""
        heaviest = 1.0 if self.weights is None else float(np.max(np.asarray(self.weights)))
        return heaviest * self._heaviest_target * self.single.smoothness

    @property
    def _heaviest_target(self) -> float:
        """The largest weight of a target."""
        return 1.0

    def smoothed(self, width: float) -> Loss | None:
        """The sum of smoothed losses, if no target has a weight; those of outputs divide widths."""
        if self._heaviest_target != 1.0:
            return None
        smooth = self.single.smoothed(width)
        return None if smooth is None else self.copy(loss=smooth)

    def attained(self, y: Array) -> bool:
        """Whether the loss of every score attains its infimum."""
        return self.single.attained(np.ravel(y))

    @property
    def name(self) -> str:
        """``Σ huber(z, y; delta=1.0)``, with weights ``Σ v·huber(…)``."""
        return super().name if self.weights is None else f"Σ v·{self.single.name}"

    # Values ------------------------------------------------------------------------------------

    def value(self, z: Array, y: Array) -> Array:
        """Σ_c v_c·ℓ₁(z_c, y_c)."""
        if self._squared:
            off = z - y
            return 0.5 * np.einsum("ij,ij->i", off, off)
        return self._summed(_each(self.single.value, z, y), y)

    def gradient(self, z: Array, y: Array) -> Array:
        """The gradient of every score by itself."""
        return self._weighed(_each(self.single.gradient, z, y), y)

    def curvature(self, z: Array, y: Array) -> Diagonal:
        """A diagonal: scores do not interact."""
        return Diagonal(self._weighed(_each(self._curvature, z, y), y))

    def _curvature(self, z: Array, y: Array) -> Array:
        return np.broadcast_to(self.single.curvature(z, y), z.shape)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Σ_c v_c·ℓ₁*(u_c/v_c)."""
        return self._summed(_each(self.single.conjugate, self._shared(u, y), y), y)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """The sum of the terms of all scores."""
        return self._summed(_each(self.single.fenchel_young, z, self._shared(u, y), y), y)

    def into_domain(self, u: Array, y: Array) -> Array:
        """Score by score."""
        return self._weighed(_each(self.single.into_domain, self._shared(u, y), y), y)

    def room(self, u: Array, y: Array) -> Array:
        """Score by score."""
        return self._weighed(_each(self.single.room, self._shared(u, y), y), y)

    def infimum(self, y: Array) -> Array:
        """Σ_c v_c·inf ℓ₁."""
        if self._squared:
            return np.zeros(len(y))
        return self._summed(_each(self.single.infimum, y), y)

    def noise(self, z: Array, y: Array) -> float | Array:
        """The sum over scores of what the loss of one hides."""
        found = self.single.noise(np.ascontiguousarray(z).ravel(), np.ascontiguousarray(y).ravel())
        if isinstance(found, np.ndarray):
            return self._summed(found.reshape(z.shape), y)
        if self._factors(y) is None:
            return float(found) * z.shape[1]
        return self._summed(np.full(z.shape, found), y)

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Score by score."""
        factors = self._factors(y)
        steps = np.broadcast_to(step if factors is None else step * factors, z.shape)
        return _each(self.single.prox, z, y, steps)

    def best_shift(self, z: Array, y: Array, mass: Array) -> Array | None:
        """The best intercept of every score by itself, where its mean or its pieces say it."""
        if self.single.quadratic:
            off = y - z
            b = mass @ off
            # A second pass for the digits of the first.
            return np.asarray(b + mass @ shifted(off, -b, in_place=True))
        if self.single.smooth:
            return None
        found = np.empty(z.shape[1])
        for c, (scores, target) in enumerate(zip(z.T, y.T)):
            plq = self.single.plq(np.ascontiguousarray(target))
            if plq is None:
                return None
            heavy = self.target_weights(target)
            share = mass if heavy is None else mass * heavy
            low, high = plq.best_shifts(np.ascontiguousarray(scores), share)
            finite = [end for end in (low, high) if np.isfinite(end)]
            found[c] = sum(finite) / len(finite) if finite else 0.0
        return found

    @property
    def _squared(self) -> bool:
        """Whether it is ½‖z − y‖², which needs no sum over the scores."""
        return self.quadratic and isinstance(self.single, Squared)

    # Weights of the scores -----------------------------------------------------------------------

    def _factors(self, y: Array) -> Array | None:
        """The weight of every score, (k,) or (n, k); None if all are 1."""
        weights, heavy = self.score_weights(y.shape[1]), self.target_weights(y)
        if weights is None or heavy is None:
            return heavy if weights is None else weights
        return weights * heavy

    def _weighed(self, values: Array, y: Array) -> Array:
        factors = self._factors(y)
        return values if factors is None else factors * values

    def _shared(self, u: Array, y: Array) -> Array:
        factors = self._factors(y)
        return u if factors is None else u / factors

    def _summed(self, values: Array, y: Array) -> Array:
        # Of few scores, in a third of the time that a sum along an axis takes.
        return np.einsum("ij->i", self._weighed(values, y))


def _each(function: Any, *arrays: Array) -> Array:
    """A function of one score at every score of every row."""
    flat = [np.ascontiguousarray(a).ravel() for a in arrays]
    found: Array = np.asarray(function(*flat)).reshape(arrays[0].shape)
    return found


class OneVsRest(OverScores):
    r"""One class against the rest, for every class: the sum of a margin loss over the classes.

    .. math:: \ell(z, y) = \sum_c \ell_1(z_c, \pm 1), \quad +1 \text{ if } y = c

    A `Classifier` with a margin loss and more than two classes takes this sum by itself; two
    classes are one problem.

    Parameters
    ----------
    loss : Loss or str
        A loss of the margin, such as `Hinge()` or its short name ``"hinge"``.
    weights : array-like of shape (n_classes,), optional
        Positive weights of the classes' problems; 1 by default.
    balance : float, default=1.0
        The weight of the samples of a class against those of the rest, in the problem of that
        class: as if each of them were there so many times. The rest are many, so that a number
        above 1 finds more of the rare classes; `Tuned` finds it by cross-validation, with
        ``grid={"loss__balance": [1, 2, 4, 8]}`` and ``scoring="accuracy"``, for example.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.Classifier(mm.OneVsRest(mm.SquaredHinge(), balance=2.0)).fit(X, y)
    >>> model.coef_.shape
    (3, 4)
    """

    def __init__(self, loss: Loss | str, weights: ArrayLike = None, balance: float = 1.0) -> None:
        super().__init__(loss, weights)
        self.balance = balance

    def check_parameters(self) -> None:
        """As for a sum over outputs; the balance must be a positive number."""
        super().check_parameters()
        number = isinstance(self.balance, numbers.Real) and not isinstance(self.balance, bool)
        if not number or not 0 < self.balance < np.inf:
            raise ValueError(f"balance of OneVsRest must be a positive number: {self.balance!r}.")

    def target_weights(self, y: Array) -> Array | None:
        """The balance for samples of a class, 1 for the rest."""
        return None if self.balance == 1 else np.where(y > 0, float(self.balance), 1.0)

    @property
    def weighing(self) -> str:  # type: ignore[override]
        """``samples of the class weigh 3``."""
        return "" if self.balance == 1 else f"samples of the class weigh {self.balance:g}"

    def of_score(self, c: int) -> Loss | None:
        """The loss of one score; None if classes or targets have weights."""
        return super().of_score(c) if self.balance == 1 else None

    @property
    def quadratic(self) -> bool:  # type: ignore[override]
        """Whether the curvature is 1 everywhere."""
        return super().quadratic and self.balance == 1

    @property
    def _heaviest_target(self) -> float:
        return max(1.0, float(self.balance))

    @property
    def name(self) -> str:
        """With a balance ``Σ β·logistic(…)``, where β counts for samples of the class only."""
        return super().name if self.balance == 1 else super().name.replace("Σ ", "Σ β·", 1)
