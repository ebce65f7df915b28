"""Several quantiles of one y, each with a score of its own, in order or free to cross."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._base.parameters import as_numbers
from ..._base.typing import Array, ArrayLike, BoolArray
from ..base import Loss
from ..curvature import Diagonal
from ..piecewise import Quantile

_SAME = 1e-10  # share of |z| + |y| by which scores in order may seem to cross; safeguard: rounding


class Quantiles(Loss):
    r"""The sum of the losses of several quantiles of y, with a score for each.

    .. math:: \ell(z, y) = \sum_c \max\bigl(-q_c\,r_c,\ (1 - q_c)\,r_c\bigr), \quad r_c = z_c - y

    One fit gives all of them; `predict` returns a column for each. Fitted one by one, quantiles may
    cross: the predicted median of a sample may lie above its 0.9-quantile. ``crossing=False`` adds
    the constraint z₁ ≤ z₂ ≤ … on every training row, so that the scores are one problem.

    Parameters
    ----------
    q : list of float, default=(0.1, 0.5, 0.9)
        At least two numbers between 0 and 1, increasing.
    crossing : bool, default=True
        Whether scores may cross. Without, they are in order on the rows of the fit, up to rounding;
        on other rows only as far as the model extends the order.

    Notes
    -----
    With partial sums U_c = u₁ + … + u_c, the conjugate with order is y·U_k where every U_c lies
    above max(−q₁ − … − q_c, U_k − (1 − q_{c+1}) − … − (1 − q_k)), and U_k between the ends of the
    sum of all slopes; it is infinite elsewhere.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> loss = mm.Quantiles([0.1, 0.9])
    >>> round(float(loss.value(np.array([[-1.0, 1.0]]), np.zeros(1))[0]), 12)
    0.2
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=200)
    >>> y = x * rng.standard_normal(200)
    >>> model = mm.Regressor(mm.Quantiles([0.25, 0.5, 0.75], crossing=False), "no_penalty")
    >>> z = model.fit(x[:, None], y).predict(x[:, None])
    >>> z.shape, bool((np.diff(z, axis=1) >= 0).all())
    ((200, 3), True)
    """

    joint = True
    proved = True

    def __init__(self, q: ArrayLike = (0.1, 0.5, 0.9), crossing: bool = True) -> None:
        self.q = q
        self.crossing = crossing

    def check_parameters(self) -> None:
        """Increasing numbers between 0 and 1, at least two; crossing is True or False."""
        levels = as_numbers(self.q)
        legal = levels is not None and levels.ndim == 1 and levels.size > 1
        if levels is None or not legal or not (np.diff([0.0, *levels, 1.0]) > 0).all():
            raise ValueError(
                "q of Quantiles must be at least two increasing numbers between 0 and 1, "
                f"exclusive, not {self.q!r}; Quantile takes a single one."
            )
        if not isinstance(self.crossing, bool | np.bool_):
            raise ValueError(f"crossing of Quantiles must be True or False, not {self.crossing!r}.")

    # What a fit asks ---------------------------------------------------------------------------

    @property
    def levels(self) -> Array:
        """The q as an array."""
        return np.asarray(self.q, dtype=float)

    def scores_for(self, n_classes: int) -> int:
        """One score for every quantile."""
        return self.levels.size

    def of_score(self, c: int) -> Loss | None:
        """The loss of one quantile; None if the order couples them."""
        return Quantile(float(self.levels[c])) if self.crossing else None

    @property
    def in_order(self) -> bool:  # type: ignore[override]
        """Whether scores must not cross."""
        return not self.crossing

    @property
    def smooth(self) -> bool:
        """False: every quantile has a kink."""
        return False

    # Values ------------------------------------------------------------------------------------

    def value(self, z: Array, y: Array) -> Array:
        """The sum over quantiles; inf where the order must hold and does not."""
        r = z - y[:, None]
        total = np.maximum(-self.levels * r, (1.0 - self.levels) * r).sum(axis=1)
        return total if self.crossing else np.where(self._crosses(z, y), np.inf, total)

    def _crosses(self, z: Array, y: Array) -> BoolArray:
        """Whether scores of a row are out of order by more than rounding."""
        size = np.abs(z[:, 1:]) + np.abs(z[:, :-1]) + np.abs(y[:, None])
        return np.asarray((z[:, :-1] - z[:, 1:] > _SAME * size).any(axis=1), dtype=bool)

    def gradient(self, z: Array, y: Array) -> Array:
        """1 − q above y, −q below: a subgradient with the order, too."""
        return np.where(z >= y[:, None], 1.0, 0.0) - self.levels

    def curvature(self, z: Array, y: Array) -> Diagonal:
        """None."""
        return Diagonal(np.zeros_like(z))

    def conjugate(self, u: Array, y: Array) -> Array:
        """y·Σu in the domain."""
        inside, _, _ = self._decomposed(u)
        return np.where(inside, y * u.sum(axis=1), np.inf)

    def fenchel_young(self, z: Array, u: Array, y: Array) -> Array:
        """Σ (ρ(r) − s·r) + Σ λ_c(z_{c+1} − z_c), u = s + (λ_c − λ_{c−1}): no term is negative."""
        inside, slopes, multipliers = self._decomposed(u)
        r = z - y[:, None]
        # The slope of ρ at r minus s, times r.
        terms = np.maximum((np.where(r > 0, 1.0, 0.0) - self.levels - slopes) * r, 0.0).sum(axis=1)
        if not self.crossing:
            terms = terms + np.maximum(multipliers * np.diff(z, axis=1), 0.0).sum(axis=1)
            inside = inside & ~self._crosses(z, y)
        return np.where(inside, terms, np.inf)

    def _decomposed(self, u: Array) -> tuple[BoolArray, Array, Array]:
        """Whether u is in the domain, slopes s of every quantile and multipliers λ of the order.

        u may leave the domain by its rounding: s is clipped.
        """
        low, high, noise = -self.levels, 1.0 - self.levels, 64 * np.finfo(float).eps
        if self.crossing:
            within = np.asarray(((u >= low - noise) & (u <= high + noise)).all(axis=1))
            return within, np.clip(u, low, high), np.zeros((len(u), u.shape[1] - 1))
        sums = np.cumsum(u, axis=1)
        least = self._least(sums[:, -1])
        noise = noise * (1.0 + np.abs(u).sum(axis=1))
        inside = np.asarray((sums[:, :-1] >= least[:, :-1] - noise[:, None]).all(axis=1))
        inside &= (sums[:, -1] >= low.sum() - noise) & (sums[:, -1] <= high.sum() + noise)
        slopes = np.clip(np.diff(least, axis=1, prepend=0.0), low, high)
        return inside, slopes, np.maximum(sums - least, 0.0)[:, :-1]

    def _least(self, total: Array) -> Array:
        """The least partial sums of slopes with a given total: low slopes first, then high ones."""
        low, high = np.cumsum(-self.levels), np.cumsum(1.0 - self.levels)
        return np.maximum(low, total[:, None] - (high[-1] - high))

    def into_domain(self, u: Array, y: Array) -> Array:
        """A point of the domain near u: partial sums that are too small are raised."""
        low, high = -self.levels, 1.0 - self.levels
        if self.crossing:
            return np.clip(u, low, high)
        sums = np.cumsum(u, axis=1)
        sums[:, -1] = np.clip(sums[:, -1], low.sum(), high.sum())
        least = self._least(sums[:, -1])
        if (sums >= least).all() and (sums[:, -1] == u.sum(axis=1)).all():
            return u
        sums[:, :-1] = np.maximum(sums[:, :-1], least[:, :-1])
        return np.diff(sums, axis=1, prepend=0.0)

    def room(self, u: Array, y: Array) -> Array:
        """How far the slope of every quantile is from its ends."""
        _, slopes, _ = self._decomposed(u)
        return np.asarray(np.minimum(slopes + self.levels, 1.0 - self.levels - slopes))

    def infimum(self, y: Array) -> Array:
        """0, where all scores are y."""
        return np.zeros(len(y))

    def smoothed(self, width: float) -> Loss | None:
        """The envelopes of the quantiles, if they may cross."""
        from .rounded_quantiles import RoundedQuantiles

        return RoundedQuantiles(self, width) if self.crossing else None

    # Minimisers --------------------------------------------------------------------------------

    def prox(self, z: Array, y: Array, step: float | Array) -> Array:
        """Every quantile by itself, or blocks of them where the order binds."""

        def block(first: int, last: int) -> Array:
            level = float(self.levels[first:last].mean())
            middle = z[:, first:last].mean(axis=1)
            return np.asarray(Quantile(level).prox(middle, y, np.broadcast_to(step, y.shape)))

        return self._in_order(block)

    def best_shift(self, z: Array, y: Array, mass: Array) -> Array:
        """The best intercepts; with the order, b_c − b_{c+1} is at most the least distance."""
        gaps = np.zeros(self.levels.size)
        if not self.crossing:
            gaps[1:] = np.cumsum(np.diff(z, axis=1).min(axis=0))
        left = (y[:, None] - z + gaps).T  # intercepts plus these gaps must be in order

        def block(first: int, last: int) -> Array:
            points = np.ascontiguousarray(left[first:last]).ravel()
            plq = Quantile(float(self.levels[first:last].mean())).plq(points)
            assert plq is not None
            low, high = plq.best_shifts(np.zeros(points.size), np.tile(mass, last - first))
            return np.array([0.5 * low + 0.5 * high])

        return np.asarray(self._in_order(block)[0] - gaps)

    def _in_order(self, block: Callable[[int, int], Array]) -> Array:
        """The minimiser of a sum over quantiles from those of sums over blocks of neighbours.

        In order, it is max over first ≤ c of min over last ≥ c of the block's minimiser: the
        solution of isotonic regression, which needs no more of the functions than convexity.
        """
        k = self.levels.size
        if self.crossing:
            return np.stack([block(c, c + 1) for c in range(k)], axis=1)
        found: list[Array | None] = [None] * k
        for first in range(k):
            least: Array | None = None
            for c in range(k - 1, first - 1, -1):
                own = block(first, c + 1)
                least = own if least is None else np.minimum(least, own)
                known = found[c]
                found[c] = least if known is None else np.maximum(known, least)
        return np.stack([column for column in found if column is not None], axis=1)
