"""Checks what `bind` of a user's penalty returns, on which solvers and certificates rely."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from .base import BoundPenalty, Majorised, Penalty
from .separable import Separable

_METHODS = ("value", "fenchel_young", "shrink", "project")  # of a bound form
_POINTS = 3  # random coefficients, and as many slopes, at which the terms are compared; convention
_ROUNDING = 1e-8  # share of the terms; safeguard: rounding of a user's code


class At(NamedTuple):
    """A dual point with this slope, for a design with columns."""

    slope: Array
    plane: None = None


def check_bound(penalty: Penalty, bound: Any, shape: Any) -> None:
    """Raise ValueError, in one sentence, for a bound form that is none of a convex penalty.

    The numbers of a `Separable` are looked at; of another form, whether its Fenchel-Young terms
    belong to its value: Ω*(v) = term − Ω(w) + v·w must be the same for every w.
    """
    if type(penalty).bind is Penalty.bind:
        return  # a norm, which `bind` itself has checked
    if not all(hasattr(bound, name) for name in _METHODS):
        raise ValueError(
            f"bind of {penalty!r} must return a minimand.penalties.Separable or another "
            f"BoundPenalty, not {bound!r}."
        )
    if isinstance(bound, Separable):
        _check_numbers(penalty, bound, (shape,) if np.ndim(shape) == 0 else tuple(shape))
    elif not isinstance(bound, Majorised):
        _check_terms(penalty, bound, shape)


def _check_numbers(penalty: Penalty, form: Separable, shape: tuple[int, ...]) -> None:
    arrays: dict[str, Any] = {"l1": form.l1, "l2": form.l2}
    if form.bounds is not None:
        arrays |= zip(("lo", "hi"), form.bounds)
    for name, values in arrays.items():
        if isinstance(values, np.ndarray):
            if values.dtype == float and values.shape == shape and values.flags.c_contiguous:
                continue
            found = f"one of {values.dtype} and shape {values.shape}"
        else:
            found = repr(values)
        raise ValueError(
            f"bind of {penalty!r} must return {name} as an array of float64 of shape {shape} "
            f"in C order, as np.full(n_features, 1.0) is, not {found}."
        )
    for name, values in (("l1", form.l1), ("l2", form.l2)):
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError(
                f"bind of {penalty!r} must return finite numbers ≥ 0 as {name}, without which the "
                "penalty is not convex; bounds keep a coefficient at zero."
            )
    if form.bounds is not None and not (form.bounds[0] <= form.bounds[1]).all():
        raise ValueError(f"bind of {penalty!r} must return bounds with lo ≤ hi for every feature.")


def _check_terms(penalty: Penalty, bound: BoundPenalty, shape: Any) -> None:
    rng = np.random.default_rng(0)
    points = [bound.project(np.zeros(shape))]
    points += [bound.project(rng.standard_normal(shape)) for _ in range(_POINTS)]
    for _ in range(_POINTS):
        v = rng.standard_normal(shape)
        v = np.where(bound.unscalable(v), 0.0, v)
        v = (1.0 - _ROUNDING) * bound.shrink(v) * v  # a larger step may have left dom Ω*
        conjugates, size = [], 1e-300
        for w in points:
            term, value = bound.fenchel_young(w, At(-v)).total, float(bound.value(w))
            along = float(np.vdot(v, w))
            if not term >= 0:
                raise ValueError(f"{_terms_of(penalty)} are negative or NaN at some w and v.")
            conjugates.append(term - value + along)
            size = max(size, abs(value) + abs(along) + (term if np.isfinite(term) else 0.0))
        if np.ptp(conjugates) > _ROUNDING * size:
            raise ValueError(
                f"{_terms_of(penalty)} are not Ω(w) + Ω*(v) − v·w: term − Ω(w) + v·w differs from "
                "w to w; minimand.testing.check_penalty says more."
            )


def _terms_of(penalty: Penalty) -> str:
    return f"the Fenchel-Young terms (by_feature) that bind of {penalty!r} gives"
