"""What given components leave out of some rows, and what the best ones would."""

from __future__ import annotations

import numpy as np

from ..._base.typing import AnyArray, Array
from ...certificate import Certificate
from ...certificate.relaxation import rows_operator, top_of_rows
from ...design import Design


def judge_components(
    design: Design, weights: Array, components: AnyArray, mean: AnyArray, centred: bool, words: str
) -> Certificate:
    """The certificate of k directions and a mean on rows, which need not be those of their fit.

    The rows are rebuilt as mean + (x − mean)VᵀV. The bound is that of k directions about the mean
    of these rows, or about zero if the model has no mean. Directions need not be orthonormal.
    """
    v = np.asarray(components, dtype=float).T
    operator = rows_operator(design, weights, np.asarray(mean, dtype=float))
    image = operator.product(v)
    kept = 2.0 * float(np.vdot(v, image)) - float(np.vdot(v.T @ v, v.T @ image))
    best = top_of_rows(design, v.shape[1], weights=weights, centred=centred)
    scale = 0.5 / float(weights.sum())
    bound = best.attained if best.exact else best.bound
    dual = scale * max(best.total - bound, 0.0)
    primal = max(scale * (operator.trace - kept), dual)
    gap, whole = primal - dual, scale * best.total
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative=0.0 if gap == 0 else (gap / whole if whole > 0 else np.inf),
        objective=words,
        rounding=scale * best.rounding,
    )
