"""An independent referee: formulas in extended precision, optima by Clarabel and Newton.

Nothing here uses minimand's own formulas. A problem is

    P(w, b) = Σ mᵢ ℓ(zᵢ, yᵢ) + Σ l1ⱼ|wⱼ| + ½ Σ l2ⱼwⱼ²,   z = offset + X w + b,   m = s/Σs,

and `optimum` returns a point whose own duality gap, in extended precision, says how good it is.
"""

from .check import check_certificate, form_of, penalty_of
from .formulas import FORMULAS, Formula, huber, ld
from .polish import polish
from .problem import Problem

__all__ = [
    "FORMULAS",
    "Formula",
    "Problem",
    "check_certificate",
    "form_of",
    "huber",
    "ld",
    "penalty_of",
    "polish",
]
