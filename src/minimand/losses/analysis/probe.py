"""Probes a function of one number: is it convex, do its slopes match, does it have kinks?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..._base.typing import Array
from ..numeric.noise import Noise, hidden

Function = Callable[[Array], Array]
_PLAIN = (bool, int, float, str, type(None), np.number, np.bool_)  # that never change in place
_NOTHING = 1e-250  # slope; safeguard: smaller ones are zero, as formulas are clipped at overflow
_HALVINGS = 45  # halvings of a grid interval around a jump, down to a few ulps; safeguard
_LAST = 20  # halvings, the last ones, in which a jump must not shrink; safeguard
_STAYS = 0.97  # share of a rise left after _LAST halvings; safeguard: |t|^1.0022 leaves as much


class Facts(NamedTuple):
    """The results of a probe: a violation of convexity in words, a kink, a minimum."""

    violation: str | None
    kink: float | None
    attained: bool = True  # whether the infimum is a minimum
    nearly_kinked: bool = False  # whether ψ' somewhere rises as steeply as |t|^¼


CONVEX_AND_SMOOTH = Facts(violation=None, kink=None)
WITHOUT_MINIMUM = Facts(violation=None, kink=None, attained=False)


_EQUAL: WeakKeyDictionary[type, dict[Any, dict[Any, Any]]] = WeakKeyDictionary()
_MOST = 256  # losses of one class whose probes are kept; safeguard of memory


def shared(loss: Any, parameters: dict[str, Any]) -> dict[Any, Any]:
    """What probes have found, shared by losses of one class with the same formulas and parameters.

    Every fit copies its loss, and a probe takes longer than the fit of some hundred samples.
    Losses with other than plain parameters share nothing.
    """
    if not all(isinstance(value, _PLAIN) for value in parameters.values()):
        return {}
    kind = type(loss)
    kept = _EQUAL.setdefault(kind, {})
    # The formulas of a class may be replaced; 1, 1.0 and True are equal, but not the same.
    formulas = kind.psi, kind.dpsi, kind.ddpsi
    values = tuple(sorted((name, type(v), v) for name, v in parameters.items()))
    if len(kept) >= _MOST:
        kept.clear()
    return kept.setdefault((formulas, values), {})


def _grid() -> Array:
    """Points that are dense near 0 and ±1, where losses bend, and cover all scales of data."""
    near = np.linspace(-8.0, 8.0, 161)
    far = np.geomspace(1e-8, 1e12, 241)
    return np.unique(np.concatenate([near, far, -far]))


def noise(psi: Function, dpsi: Function, ddpsi: Function) -> Noise | None:
    """The rounding that the formulas of ψ and ψ' hide; None if they hide none."""
    t = _grid()
    found = Noise.measured(t, *_hidden(psi, dpsi, t, *_tabulate(t, psi, dpsi, ddpsi)))
    return found if found.worthwhile else None


def _tabulate(t: Array, *functions: Function) -> list[Array]:
    """The values at the points, which the functions may not change; errors of users' in words."""
    t.setflags(write=False)
    found = []
    for f in functions:
        try:
            with np.errstate(all="ignore"):
                found.append(np.broadcast_to(np.asarray(f(t), float), t.shape))
        except (IndexError, TypeError, ValueError) as error:
            name = getattr(f, "__name__", "a formula")
            raise ValueError(
                f"{name} fails for an array of numbers ({error}): write it as NumPy's functions "
                "are, with a number for each one, and leave the array as it is."
            ) from error
    return found


def _hidden(
    psi: Function, dpsi: Function, t: Array, value: Array, slope: Array, curvature: Array
) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        of_value = hidden(psi, t, np.abs(value) + np.abs(t * slope))
        of_slope = hidden(dpsi, t, np.abs(slope) + np.abs(t * curvature))
    return of_value, of_slope


def inspect(psi: Function, dpsi: Function, ddpsi: Function, scale: float = 1.0) -> Facts:
    """Test the subgradient inequality on all pairs of a grid, then look for jumps of the slope.

    ``scale`` moves the dense part of the grid to the scale of the data. A difference that is no
    larger than the measured rounding of the formulas is not a violation.
    """
    t = scale * _grid()
    value, slope, curvature = _tabulate(t, psi, dpsi, ddpsi)
    rounding = _hidden(psi, dpsi, t, value, slope, curvature)
    with np.errstate(all="ignore"):
        of_curvature = hidden(ddpsi, t, np.zeros_like(t))
        usable = np.isfinite(value) & np.isfinite(slope)
        violation = _violation(*(each[usable] for each in (t, value, slope, *rounding)))
        downwards = usable & (curvature < -of_curvature)
        if violation is None and downwards.any():
            at = t[np.flatnonzero(downwards)[0]]
            violation = f"ddpsi is negative at {at:g}, so psi bends downwards there."
        kink, steep = None, False
        if violation is None:
            kink, steep = _kink(dpsi, t[usable], slope[usable], rounding[1][usable])
        attained = bool((slope[np.abs(t) <= 100 * scale] >= 0).any())
        attained = attained and bool((slope[np.abs(t) <= 100 * scale] <= 0).any())
    return Facts(violation, kink, attained, steep)


def _violation(
    t: Array, value: Array, slope: Array, of_value: Array, of_slope: Array
) -> str | None:
    """Where ψ(b) − ψ(a) − ψ'(a)(b − a) < 0, in words."""
    step = t[None, :] - t[:, None]
    rise = slope[:, None] * step
    above = value[None, :] - value[:, None] - rise
    size = np.abs(value)[None, :] + np.abs(value)[:, None] + np.abs(rise)
    rounding = of_value[None, :] + of_value[:, None] + of_slope[:, None] * np.abs(step)
    bad = above < -1e-10 * size - 2 * rounding - _NOTHING * (1.0 + np.abs(step))
    if not bad.any():
        return None
    a, b = np.unravel_index(np.argmin(np.where(bad, above / size, 0.0)), bad.shape)
    return (
        f"the tangent at {t[a]:g} (slope {slope[a]:g}) lies above psi at {t[b]:g}; "
        "either psi is not convex or dpsi is not its derivative."
    )


def _kink(dpsi: Function, t: Array, slope: Array, of_slope: Array) -> tuple[float | None, bool]:
    """Bisect every interval of the grid towards its larger rise; a jump that stays is a kink.

    The slope of |t|^p, p > 1, rises by h^(p − 1) over a width h: the last `_LAST` halvings divide
    that by 2^(`_LAST`·(p − 1)), by 2 for p = 1.05, but do not change a jump. A rise that is no
    larger than the rounding of the slopes is ignored. The second result is whether some rise
    shrinks more slowly than that of |t|^1.25.
    """
    lo, hi, left, right = t[:-1].copy(), t[1:].copy(), slope[:-1].copy(), slope[1:].copy()
    rise = right - left
    for turn in range(_HALVINGS):
        if turn == _HALVINGS - _LAST:
            rise = right - left
        middle = 0.5 * (lo + hi)
        at = np.broadcast_to(np.asarray(dpsi(middle), float), middle.shape)
        go_right = right - at > at - left
        lo, left = np.where(go_right, middle, lo), np.where(go_right, at, left)
        hi, right = np.where(go_right, hi, middle), np.where(go_right, right, at)
    jump = right - left
    rounding = 1e-7 * (np.abs(left) + np.abs(right)) + 2 * np.maximum(of_slope[:-1], of_slope[1:])
    rounding = rounding + _NOTHING  # below it slopes are denormal, and all of them steps
    kinks = (jump > _STAYS * rise) & (jump > rounding)
    steep = bool(((jump > 0.5 ** (0.25 * _LAST) * rise) & (jump > rounding)).any())
    return float(lo[np.flatnonzero(kinks)[0]]) if kinks.any() else None, steep
