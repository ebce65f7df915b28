"""`check_penalty`: what a penalty must obey."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._base.typing import Array, BoolArray
from ..penalties import BoundPenalty, Majorised, Penalty
from ..penalties.base import shape_of
from ..penalties.checked import At, check_bound
from .require import require


def check_penalty(penalty: Penalty, n_features: Any = 7) -> None:
    """Check a penalty: Fenchel's inequality, its terms by feature, its prox, its free columns.

    For a non-convex penalty, also that its tangents lie above it, which checks its slopes too.

    Parameters
    ----------
    penalty : Penalty
        An object of your own class, or an expression such as ``L1() + 0.5 * L2()``.
    n_features : int or tuple (int, int), default=7
        Number of coefficients, that of the penalty's weights if it has any; a shape (d, k) is that
        of a matrix of coefficients, with k scores.

    Raises
    ------
    AssertionError
        One sentence with the broken law.

    Examples
    --------
    >>> import minimand as mm
    >>> mm.testing.check_penalty(mm.L1(weights=[1.0, 0.0, 2.0]), n_features=3)
    """
    rng = np.random.default_rng(0)
    for alpha in (1.0, 0.3):
        bound = _bound(penalty, n_features, alpha)
        free = np.asarray(bound.free)
        points = list(_vectors(rng, n_features))
        require(
            free.shape == points[0].shape and free.dtype == bool,
            f"{penalty!r}: free must be one flag per coefficient.",
        )
        for w in points:
            _check_scaling(penalty, alpha, w)
            _check_free(penalty, bound, w, free)
            _check_answers(penalty, bound, w)
            for v in points:
                _check_fenchel(penalty, bound, w, np.where(bound.unscalable(v), 0.0, v))
        if isinstance(bound, Majorised):
            _check_majorisers(penalty, bound, points)
            _check_global_prox(penalty, alpha, points)
            continue
        for v in points:
            _check_shrink(penalty, bound, v)
        _check_penalty_prox(penalty, alpha, points)


def _bound(penalty: Penalty, n_features: Any, alpha: float) -> BoundPenalty:
    """The bound form; a refusal by `bind` counts as a broken law."""
    try:
        bound = penalty.bind(n_features, alpha)
        check_bound(penalty, bound, n_features)
        return bound
    except ValueError as refusal:
        raise AssertionError(f"{penalty!r}: {refusal}") from refusal


def _vectors(rng: np.random.Generator, shape: Any) -> Iterator[Array]:
    """Zero, unit vectors and random ones from small to large, some entries exactly zero."""
    yield np.zeros(shape)
    unit = np.zeros(shape)
    unit.flat[-1] = 1.0
    yield unit
    for size in (1e-6, 0.1, 1.0, 1e4):
        yield size * rng.standard_normal(shape)
        some = rng.uniform(size=shape if np.ndim(shape) == 0 else (shape[0], 1)) < 0.5
        yield size * rng.standard_normal(shape) * some


def _conjugate(bound: Any, v: Array) -> float:
    """Ω*(v), from the terms at the point of the domain nearest to zero."""
    w = bound.project(np.zeros_like(v))
    return bound.fenchel_young(w, At(-v)).total + float(np.vdot(v, w)) - float(bound.value(w))


def _check_scaling(penalty: Penalty, alpha: float, w: Array) -> None:
    one, two = penalty.bind(shape_of(w), alpha).value(w), penalty.scaled(alpha).value(w)
    same = one == two or abs(one - two) <= 1e-12 * (abs(one) + abs(two))
    require(same, f"{penalty!r}: scaled({alpha:g}) and bind(…, {alpha:g}) differ: {one}, {two}.")
    require(np.isfinite(one) or one == np.inf, f"{penalty!r}: the value is {one}.")
    if 0 < one < 1e100:  # constraints are 0 or inf for every alpha
        more = penalty.bind(shape_of(w), 2 * alpha).value(w)
        sentence = f"{penalty!r}: bind(…, alpha) ignores alpha: twice of it costs no more."
        require(more > one or alpha == 0, sentence)


def _check_free(penalty: Penalty, bound: Any, w: Array, free: BoolArray) -> None:
    w = bound.project(w)
    require(np.isfinite(bound.value(w)), f"{penalty!r}: project leads to an infinite value.")
    moved = np.where(free, w + 17.0, w)
    same = abs(bound.value(moved) - bound.value(w)) <= 1e-12 * abs(bound.value(w))
    require(same, f"{penalty!r}: the value depends on a column that is said to be free.")
    base = bound.project(np.zeros_like(w))
    for j in np.flatnonzero(~free):
        for way in (1e150, -1e150):
            far, pull = base.copy(), np.zeros_like(w)
            far.flat[j] += way
            pull.flat[j] = np.sign(way)
            if bound.unscalable(pull).flat[j]:
                continue
            sentence = f"{penalty!r}: column {j} is not said to be free, but costs nothing."
            require(bound.value(far) > bound.value(base), sentence)


def _check_answers(penalty: Penalty, bound: BoundPenalty, w: Array) -> None:
    """The answers of a bound penalty to questions about its kind are true of its values."""
    value = bound.value(w)
    require(np.isfinite(value) or bound.has_constraints, f"{penalty!r}: has_constraints is false.")
    norm = np.array([np.linalg.norm(w)])
    answers: tuple[tuple[str, BoundPenalty | None, Array], ...] = (
        ("sum_over_features", bound.sum_over_features, w),
        ("sum_over_groups", bound.sum_over_groups, w),
        ("function_of_norm", bound.function_of_norm, norm),
    )
    for question, form, at in answers:
        # At the edge of a constraint, rounding of a norm decides between 0 and ∞.
        said = value if form is None else min(form.value(at * (1 - 1e-12)), form.value(at))
        same = said == value or abs(said - value) <= 1e-11 * value
        require(same, f"{penalty!r}: {question} has another value, {said} instead of {value}.")
    if bound.ridge is not None:
        said = 0.5 * float(np.sum(bound.ridge * w**2))
        same = said == value or abs(said - value) <= 1e-12 * value
        require(same, f"{penalty!r}: ridge says {said}, but the value is {value}.")


def _check_fenchel(penalty: Penalty, bound: Any, w: Array, v: Array) -> None:
    young = bound.fenchel_young(w, At(-v))
    if young.parts is not None:
        terms = np.asarray(young.parts)
        whole = terms.shape == w.shape or (terms.ndim == 1 and terms.size <= w.size)
        require(whole, f"{penalty!r}: by_feature must give one term per feature or group.")
        require((terms >= 0).all(), f"{penalty!r}: a term by feature is negative or NaN.")
        adds = young.total == terms.sum() or abs(young.total - terms.sum()) <= 1e-12 * young.total
        require(adds, f"{penalty!r}: the terms by feature do not add up to the whole.")
    require(young.total >= 0, f"{penalty!r}: the Fenchel-Young term is negative or NaN.")
    conjugate, value = _conjugate(bound, v), bound.value(w)
    size = abs(value) + abs(float(np.vdot(np.abs(v), np.abs(w))))
    if value == np.inf:
        sentence = f"{penalty!r}: by_feature is finite where the value is not."
        require(np.isinf(young.total), sentence)
        return
    if np.isfinite(conjugate):
        size += abs(conjugate)
        total = value + conjugate - float(np.vdot(v, w))
        sentence = f"{penalty!r}: by_feature does not add up to value + conjugate − v·w: "
        require(abs(young.total - total) <= 1e-12 * size, f"{sentence}{young.total}, {total}.")
    else:
        require(np.isinf(young.total), f"{penalty!r}: by_feature is finite where Ω* is not.")
    lower = float(np.vdot(v, w)) - value
    sentence = f"{penalty!r}: the conjugate {conjugate} is less than v·w − Ω(w) = {lower}."
    require(conjugate >= lower - 1e-12 * size, sentence)


def _check_shrink(penalty: Penalty, bound: Any, v: Array) -> None:
    kept = np.where(bound.unscalable(v), 0.0, v)
    s = bound.shrink(v)
    require(0.0 <= s <= 1.0, f"{penalty!r}: shrink gave {s}, which is not in [0, 1].")
    finite = np.isfinite(_conjugate(bound, s * kept))
    require(finite, f"{penalty!r}: the conjugate is not finite after shrinking by {s}.")
    if s < 1.0:
        larger = np.isfinite(_conjugate(bound, s * (1 + 1e-9) * kept))
        require(not larger, f"{penalty!r}: shrink gave {s}, but a larger factor would do.")


def _check_penalty_prox(penalty: Penalty, alpha: float, points: list[Array]) -> None:
    """Ω(x) + |x−w|²/2s ≥ Ω(p) + |p−w|²/2s + |x−p|²/2s for every x; (w−p)/s is a subgradient."""
    scaled = penalty.scaled(alpha)
    bound = penalty.bind(shape_of(points[0]), alpha)
    for step in (0.01, 1.0, 20.0):
        for w in points:
            p = scaled.prox(w, step)
            at = scaled.value(p) + float(((p - w) ** 2).sum()) / (2 * step)
            for x in [*points, p + 1e-3, p * 1.01]:
                left = scaled.value(x) + float(((x - w) ** 2).sum()) / (2 * step)
                right = at + float(((x - p) ** 2).sum()) / (2 * step)
                sentence = f"{penalty!r}: prox is not the minimiser for step={step:g}."
                require(left >= right - 1e-12 * (left + right), sentence)
            v = (w - p) / step
            v = np.where(bound.unscalable(v), 0.0, v)
            v = bound.shrink(v) * v  # rounding may have left the domain of Ω*
            touch = bound.fenchel_young(p, At(-v)).total
            size = 1e-9 * (scaled.value(p) + float(np.vdot(np.abs(w), np.abs(p))) / step + 1e-12)
            sentence = f"{penalty!r}: the terms by feature do not vanish at a subgradient: {touch}."
            require(touch <= size, sentence)


def _check_majorisers(penalty: Penalty, bound: Any, points: list[Array]) -> None:
    """Ω(x) − Ω(w) ≤ M(x) − M(w) for the tangent M at w, wherever x is and however near to w."""
    first = bound.first_majoriser()
    sentence = f"{penalty!r}: first_majoriser must be a sum over all features."
    require(first.columns is None and first.penalty.sum_over_features is not None, sentence)
    for w in points:
        majoriser, columns = bound.majoriser(w)
        columns = np.arange(len(w)) if columns is None else np.asarray(columns)
        kept = np.isin(np.arange(len(w)), columns).reshape(-1, *[1] * (w.ndim - 1))
        sentence = f"{penalty!r}: the tangent leaves out a coefficient that is not zero."
        require(not np.where(kept, 0.0, w).any(), sentence)
        near = [w * (1 + h) for h in (-1.0, -0.5, -1e-3, 1e-3, 1.0, 1e3)]
        for x in [*near, *(np.where(kept, x, 0.0) for x in points)]:
            value, tangent = bound.value(x), majoriser.value(x[columns])
            before, touching = bound.value(w), majoriser.value(w[columns])
            size = value + before + tangent + touching
            sentence = f"{penalty!r}: a tangent lies below the penalty: is the slope that of it?"
            require(value - before <= tangent - touching + 1e-12 * size, sentence)


def _check_global_prox(penalty: Penalty, alpha: float, points: list[Array]) -> None:
    """No x has a smaller Ω(x) + |x−w|²/2s, near or far; where there is a prox."""
    scaled = penalty.scaled(alpha)
    try:
        scaled.prox(points[0], 1.0)
    except NotImplementedError:
        return  # no solver of ours asks for it

    def value(x: Array, w: Array, step: float) -> float:
        return scaled.value(x) + float(((x - w) ** 2).sum()) / (2 * step)

    for step in (0.01, 1.0, 20.0):
        for w in points:
            p = scaled.prox(w, step)
            place = np.arange(w.size).reshape(w.shape)
            single = [np.where(place == j, 0.0, p) for j in range(w.size)]
            least = min(value(x, w, step) for x in [*points, *single, w, p * 1.01, p * 0.99])
            at = value(p, w, step)
            sentence = f"{penalty!r}: prox is not the minimiser for step={step:g}."
            require(at <= least + 1e-12 * (at + least), sentence)
