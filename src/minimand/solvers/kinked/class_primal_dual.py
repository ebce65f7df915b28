"""A primal-dual interior-point method for losses of class margins (Crammer-Singer, rankings)."""

from __future__ import annotations

from ...losses.joint.class_margins import ClassMargins
from ...problem.objective import Objective
from ..traits import Trait
from .scores_interior import RowRises
from .scores_path import ScoresPath


class ClassPrimalDual(ScoresPath):
    """Mehrotra's method for class margins with a sum over features: L2, L1, bounds, or nothing.

    Where `class_dual` crawls, as on columns of very different sizes, this one continues.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = mm.Classifier(mm.CrammerSinger(), "l1", alpha=0.01).fit(X, y)
    >>> model.solver_, model.certificate_.relative <= 1e-6
    ('class_primal_dual', True)
    """

    name = "class_primal_dual"
    needs = Trait.CLASS_MARGINS, Trait.SUM_OVER_FEATURES

    def rises(self, objective: Objective) -> RowRises:
        """The rises of every margin, level by level."""
        from .margin_rises import MarginRises

        loss = objective.loss
        assert isinstance(loss, ClassMargins)
        return MarginRises(loss, objective.y, objective.mass, objective.n_scores)
