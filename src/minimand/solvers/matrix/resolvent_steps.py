"""Alternating directions on ½⟨W, GW⟩ − ⟨B, W⟩ + Ω(W), for columns of very different units.

    W  ←  (G + ρ)⁻¹(B + ρ(Z − U))      Z  ←  prox of Ω/ρ at W + U      U  ←  U + W − Z

Proximal steps on the model are as long as its largest curvature allows. Here directions of much
curvature are solved for at once, and those of little, where Z is zero, are not in the way; ρ is
between both. The first step is an eigendecomposition of G, and each one a product with its vectors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .gram_descent import Correction, Descent, correction

_RELAXED = 1.6  # factor of the step of W; convention
_LOOKS = 10  # steps between two estimates of the gap, and two changes of ρ; safeguard
_MOST = 600  # steps; safeguard
_BALANCED = 400  # steps after which ρ stays as it is; safeguard: then they converge
_UNEVEN, _CHANGE = 2.0, 10.0  # factors of ρ: least worth a change, most at once; safeguard


def split(
    descent: Descent, enough: Callable[[Correction], bool], stop: Callable[[], bool]
) -> Correction | None:
    """Steps from the model of a descent, until the gap is enough: then that is the model.

    None, and the model as it was, if the metric has no resolvent or steps are no better.
    """
    resolvent = descent.metric.resolvent()
    if resolvent is None:
        return None
    metric, penalty = descent.metric, descent.penalty
    z, u, rho = descent.w, np.zeros_like(descent.w), max(descent.metric.middle, 1e-300)
    for taken in range(1, _MOST + 1):
        w = resolvent(descent.linear + rho * (z - u), rho)
        ahead = _RELAXED * w + (1.0 - _RELAXED) * z
        factors = penalty.shrunk(ahead + u, 1.0 / rho)
        new = factors.matrix.reshape(z.shape)
        apart, moved = float(np.linalg.norm(w - new)), float(np.linalg.norm(new - z))
        u, z = u + ahead - new, new
        if taken % _LOOKS:
            continue
        image = metric.times(z)
        found = correction(metric, penalty, factors, descent.linear - image)
        before = descent.w, descent.image, descent.factors
        descent.w, descent.image, descent.factors = z, image, factors
        if enough(found):  # it may look at the model
            return found
        descent.w, descent.image, descent.factors = before
        if stop() or not np.isfinite(found.gap):
            break
        size = max(float(np.linalg.norm(z)), 1e-300), max(float(np.linalg.norm(u)), 1e-300)
        if taken < _BALANCED and min(apart, moved) > 0:
            factor = float(np.sqrt(apart / size[0] * size[1] / moved))
            if not 1.0 / _UNEVEN <= factor <= _UNEVEN:
                factor = float(np.clip(factor, 1.0 / _CHANGE, _CHANGE))
                rho, u = rho * factor, u / factor
    return None
