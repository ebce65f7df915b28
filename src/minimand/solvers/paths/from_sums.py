"""A path from the sums over the rows, all in arrays: no alpha has a problem or a record of its own.

For the models that a search only compares, of which a cross-validation has hundreds: each costs
less than the record of a fit.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._base.typing import Array
from ...certificate.gram_models import GramModels
from ...penalties import Strengths
from ...problem.condensed import Sums
from ...problem.objective import Objective
from .certified_models import CHARGE
from .gram_kernels import Squares, minimised
from .on_gram import SHARE


class SummedModels(NamedTuple):
    """Certified models along the first axis."""

    coefs: Array
    shifts: Array
    relative: Array  # their gaps, as shares of the scale


def models_from_sums(
    base: Objective, sums: Sums, strengths: Strengths, alphas: Array, tol: float
) -> SummedModels | None:
    """The models under these penalties, one per alpha; None if one of them misses the tolerance.

    ``base`` has the columns, the outputs and the intercept, and ``sums`` the rows, which may be
    some of its own. The scale is half the mean square of the null model, whose loss may be zero.
    """
    models = GramModels(base, sums)
    scale = 0.5 * models.square
    target = tol * scale
    coefs = minimised(
        Squares(models.gram, models.linear, models.square), strengths, alphas, SHARE * target
    )
    if coefs is None or not models.charges(coefs).max() <= CHARGE * target:
        return None
    found = models.judged(strengths, coefs)
    if not (scale > 0 and (found.gaps <= target).all()):
        return None
    return SummedModels(coefs, found.shifts, found.gaps / scale)
