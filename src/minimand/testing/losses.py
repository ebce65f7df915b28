"""`check_loss`: what a loss must obey."""

from __future__ import annotations

import numpy as np

from .._base.typing import Array, ArrayLike
from ..losses import Loss
from ..problem.objective import EPS
from .axis import TARGETS, axis, rounding_of
from .conjugates import check_conjugate, check_domain, check_infimum, check_prox, dual_points
from .require import require, require_all
from .slopes import (
    check_extremes,
    check_piecewise_form,
    check_slopes,
    check_steps,
    check_tangents,
    check_terms,
)
from .units import check_units


def check_loss(loss: Loss, y: ArrayLike = None, *, n_scores: int | None = None) -> None:
    """Check a loss against its own definition, over the whole axis of z.

    Slopes are checked without finite-difference error: for a convex ℓ the gradient lies between
    the difference quotients of its two sides, at every step size and at kinks too.

    Parameters
    ----------
    loss : Loss
        An object of your own class.
    y : array-like, optional
        Targets to try; by default typical ones of the loss's domain, its edges included. Rows of
        a matrix are the targets of a loss that has several numbers per row.
    n_scores : int, optional
        Scores of a row: by default one, or as many as a loss over classes has for these targets. A
        loss over runs of rows must have been bound to some.

    Raises
    ------
    AssertionError
        One sentence with the broken law and the first z and y where it breaks.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> class LogCosh(mm.Distance):
    ...     def psi(self, r): return np.logaddexp(r, -r) - np.log(2)
    ...     def dpsi(self, r): return np.tanh(r)
    ...     def ddpsi(self, r): return 1 - np.tanh(r) ** 2
    >>> mm.testing.check_loss(LogCosh())
    >>> class Wrong(LogCosh):
    ...     def ddpsi(self, r): return 2 - np.tanh(r) ** 2
    >>> mm.testing.check_loss(Wrong())
    Traceback (most recent call last):
        ...
    AssertionError: Wrong(): the curvature is not the slope of the gradient (at z=..., y=...)
    """
    try:
        loss.check_parameters()
    except ValueError as error:
        raise AssertionError(str(error)) from error
    targets = np.asarray(TARGETS[loss.target] if y is None else y, dtype=float)
    if n_scores is None:
        classes = loss.target == "class"
        n_scores = loss.scores_for(int(targets.max()) + 1) if classes else 1
    targets = targets.ravel() if n_scores == 1 else targets
    loss.check_target(targets)
    if loss.composed is not None:
        check_loss(loss.composed.base, y, n_scores=n_scores)
    else:
        require(loss.convex, f"{loss!r}: the loss says that it is not convex.")
    if (loss.unit != "row" or n_scores > 1 or loss.target == "class") and loss.convex:
        check_units(loss, targets, n_scores)
        return
    check = _check_convex if loss.composed is None else _check_robust
    for target in targets:
        z = axis(float(target))
        ys = np.full(z.shape, target)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            check_extremes(loss, float(target))
            check_terms(loss, z, ys)
            check(loss, z, ys)


def _check_convex(loss: Loss, z: Array, y: Array) -> None:
    """The laws of a convex loss at one target: slopes, tangents below it, and its dual side."""
    usable = np.abs(loss.value(z, y)) < 1e30
    target, z, y = float(y[0]), z[usable], y[usable]
    check_slopes(loss, z, y)
    check_tangents(loss, z, y)
    check_piecewise_form(loss, z, y)
    slopes = dual_points(loss, z, y)
    check_conjugate(loss, z, slopes, target)
    check_domain(loss, slopes, target)
    check_infimum(loss, z, y)
    check_prox(loss, z, target)


def _check_robust(loss: Loss, z: Array, y: Array) -> None:
    """The laws of a loss that is not convex: slopes, and tangents that lie above and touch."""
    inner = loss.composed
    assert inner is not None
    check_steps(loss, z, y)
    check_infimum(loss, z, y)
    base, weights = inner.base.value(z, y), inner.weights(z, y)
    value, noise = loss.value(z, y), rounding_of(loss, z, y)
    above = value[:, None] + weights[:, None] * (base[None, :] - base[:, None])
    size = np.abs(above) + weights[:, None] * (np.abs(base)[None, :] + np.abs(base)[:, None])
    slack = noise[:, None] + noise[None, :] + 64 * EPS * size
    sentence = f"{loss!r}: a tangent, the base loss with weights, lies below the loss"
    require_all(value[None, :] <= above + slack, sentence, tangent_at=z[:, None], z=z[None, :])
