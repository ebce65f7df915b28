"""`HardMargin`: the widest margin between two classes that a plane can separate."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._base.typing import AnyArray, Array, ArrayLike
from .._base.watch import stoppable
from ..certificate import Certificate
from ..design import as_design
from ..losses import Hinge
from ..outputs import ClassOutput
from ..solvers import Control
from ..solvers.programs.hard_margin import Classes, Widest, judge_plane, separating_plane, widest
from ..solvers.programs.separability import separability
from .inputs import data
from .inputs.matrix import matrix_of
from .settings import check_limits, check_solver
from .summary import Summarised


class HardMargin(ClassifierMixin, Summarised):
    r"""Minimise ½‖w‖² subject to y·(x·w + b) ≥ 1 for every sample, y = ±1.

    The plane whose distance 1/‖w‖ to the nearest sample is largest. It exists if and only if some
    plane separates the two classes; where none does, ``fit`` raises a ValueError that quotes the
    witness of `separable`.

    Parameters
    ----------
    intercept : bool, default=True
        Whether to fit b; without it the plane passes through the origin.
    solver : str or Solver, default="auto"
        For the soft-margin problems with growing C whose solutions approach the hard margin.
    tol : float, default=1e-6
        The largest ``certificate_.relative``: the gap divided by ½‖w‖².
    max_seconds : float, optional
        A fit that reaches the limit returns a separating plane with its true gap, and warns.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    margin_ : float
        1/‖w‖, the distance of the nearest samples from the plane.
    support_ : ndarray of shape (n_support,)
        The samples with a positive multiplier.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Those rows of X.
    dual_coef_ : ndarray of shape (1, n_support)
        yᵢαᵢ of the support vectors: w = Σ dual_coefᵢ·xᵢ, and ‖w‖² = Σα.
    certificate_ : Certificate
        Of ½‖w‖² against the dual Σα − ½‖Σ αᵢyᵢxᵢ‖², α ≥ 0, with Σ αᵢyᵢ = 0 if there is an
        intercept; ``dual_point`` holds α.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]])
    >>> model = mm.HardMargin().fit(X, [0, 0, 1, 1])
    >>> round(model.margin_, 9), model.support_.tolist()         # halfway between (1, 0) and (3, 0)
    (1.0, [1, 2])
    >>> mm.HardMargin().fit(X, [0, 1, 0, 1])
    Traceback (most recent call last):
        ...
    ValueError: not separable: a mean of samples 0 and 2 of class 0 equals ...
    """

    def __init__(
        self,
        *,
        intercept: bool = True,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_seconds: float | None = None,
    ) -> None:
        self.intercept = intercept
        self.solver = solver
        self.tol = tol
        self.max_seconds = max_seconds

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the widest margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind, of two classes.
        """
        check_limits(self)
        check_solver(self.solver)
        control = Control(tol=float(self.tol), max_seconds=self.max_seconds)
        X, y = data.check_xy(self, X, y)
        classes, coded = self._encode(X, y, bool(self.intercept))
        with stoppable(self) as watch:
            plane = separating_plane(coded, control)
            if plane is None:
                if watch.interrupted:
                    raise KeyboardInterrupt  # there is no model yet
                found = separability(coded.design, coded.signs, classes, intercept=coded.intercept)
                if not found or found.coef is None:
                    raise ValueError(f"{found}: take Classifier(Hinge()), whose margin is soft.")
                plane = found.coef
            best = widest(coded, plane, control, self.solver)
            self.classes_, self._with_intercept = classes, coded.intercept
            self.coef_, self.intercept_ = best.w[None, :], np.array([best.b])
            self.margin_ = float(1.0 / np.linalg.norm(best.w))
            self.support_ = np.flatnonzero(best.alpha)
            self.support_vectors_ = matrix_of(as_design(X).rows(self.support_))
            self.dual_coef_ = (coded.signs * best.alpha)[None, self.support_]
            self.certificate_ = self._certificate(best, control.seconds)
        if self.certificate_.gap > max(self.tol * best.primal, best.rounding):
            warnings.warn(
                f"HardMargin: stopped with a relative gap of {self.certificate_.relative:.1e}, "
                f"above tol={self.tol:g}; the plane separates the classes, and its margin is "
                "within that of the widest: raise tol or max_seconds.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _encode(self, X: Any, y: AnyArray, intercept: bool) -> tuple[AnyArray, Classes]:
        """The two classes, and the samples with labels ±1."""
        data.check_labels(y)
        output = ClassOutput.of(y, Hinge())
        if output.classes.size != 2:
            raise ValueError(
                "Only binary classification is supported. HardMargin takes two classes, but y has "
                f"{output.classes.size}: fit one class against the rest, with y == label."
            )
        return output.classes, Classes(as_design(X), output.encode(y), intercept)

    def _certificate(self, best: Widest, seconds: float = 0.0) -> Certificate:
        score = "X w + b" if self._with_intercept else "X w"
        return Certificate(
            primal=best.primal,
            dual=best.primal - best.gap,
            gap=best.gap,
            relative=best.gap / best.primal,
            objective=f"½‖w‖² + I(y·z ≥ 1), z = {score}",
            rounding=best.rounding,
            seconds=seconds,
            dual_point=best.alpha,
            by_sample=best.by_sample,
            by_feature=best.by_feature,
        )

    def judged(self, X: ArrayLike, y: ArrayLike) -> tuple[Widest, Certificate]:
        """The fitted plane and a certificate computed anew from the data it was fitted on."""
        check_is_fitted(self)
        X, y = data.check_xy(self, X, y, fitted=True)
        classes, coded = self._encode(X, y, self._with_intercept)
        alpha = self.certificate_.dual_point
        if (
            alpha is None
            or not np.array_equal(classes, self.classes_)
            or alpha.shape != coded.signs.shape
        ):
            raise ValueError("X and y are not the data that this HardMargin was fitted on.")
        best = judge_plane(coded, self.coef_[0], alpha, float(self.intercept_[0]))
        if best is None:
            raise ValueError("the plane does not separate these data: it was fitted on others.")
        return best, self._certificate(best)

    def decision_function(self, X: ArrayLike) -> Array:
        """The score z = X w + b; samples of ``fit`` have |z| ≥ 1."""
        check_is_fitted(self)
        X = data.check_x(self, X)
        return as_design(X).matvec(self.coef_[0]) + self.intercept_[0]

    def predict(self, X: ArrayLike) -> AnyArray:
        """The class on whose side of the plane each sample lies."""
        z = self.decision_function(X)
        return ClassOutput(Hinge(), self.classes_).decode(z)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is accepted; two classes only."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
