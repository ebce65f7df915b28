"""The last two models of a path, and the linear extrapolation from them."""

from __future__ import annotations

from ... import _core
from ..._base.typing import Array
from ...problem.objective import Point
from ...problem.path_facts import Forecast


class Trail:
    """The last two models of a path, and the line through them.

    Between the knots of a path of the squared loss, coefficients and slopes are linear in alpha, so
    that the extrapolation is exact there.
    """

    def __init__(self) -> None:
        self._seen: list[tuple[float, Point, Array]] = []  # alphas, models, slopes

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, alpha: float, point: Point, slope: Array) -> None:
        """Append a model of the path; only the last two are kept."""
        self._seen = [*self._seen[-1:], (alpha, point, slope)]

    @property
    def alphas(self) -> list[float]:
        """The alphas of the last two models, or of the only one."""
        return [alpha for alpha, _, _ in self._seen]

    @property
    def coefs(self) -> list[Array]:
        """The coefficients of the same models."""
        return [point.w for _, point, _ in self._seen]

    @property
    def last(self) -> Point | None:
        """The last model; None at the beginning."""
        return self._seen[-1][1].scored if self._seen else None

    def slope(self, alpha: float) -> Array:
        """The slopes at an alpha by linear extrapolation, however far."""
        last = self._seen[-1][2]
        if len(self) < 2 or self.alphas[0] == self.alphas[1]:
            return last
        before, here = self.alphas
        ahead = (alpha - here) / (here - before)
        return last + ahead * (last - self._seen[0][2]) if ahead > 0 else last

    def forecast(self, alpha: float) -> Forecast | None:
        """Coefficients and slopes at an alpha; None if they cannot be extrapolated."""
        if len(self) < 2 or self._seen[0][1].w.ndim > 1:
            return None
        (older, before, _), (old, last, _) = self._seen
        ahead = _core.steps_ahead(older, old, alpha)
        return (
            Forecast(_core.drawn_on(before.w, last.w, ahead), self.slope(alpha)) if ahead else None
        )
