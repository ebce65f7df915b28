"""`separable`: whether a hyperplane separates two classes, with a proof."""

from __future__ import annotations

from typing import get_args

import numpy as np
from sklearn.base import BaseEstimator

from .._base.typing import ArrayLike
from ..design import as_design
from ..estimators.inputs import data
from ..solvers.programs.separability import Separability, separability
from ..solvers.programs.separation import Form


def separable(
    X: ArrayLike, y: ArrayLike, *, intercept: bool = True, form: Form = "margin"
) -> Separability:
    """Find a hyperplane that separates two classes, or prove that there is none.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of two classes.
    intercept : bool, default=True
        Whether the plane has an intercept; without one it passes through the origin.
    form : {"margin", "slack"}, default="margin"
        The linear program that is solved: "margin" maximises δ ≤ 1 with y·z ≥ δ for all samples,
        whose optimum is 1 or 0; "slack" minimises Σξ with y·z ≥ 1 − ξ, ξ ≥ 0, and says by how
        much the best plane fails each sample.

    Returns
    -------
    Separability
        True or false, with a plane or a witness. Both are verified on X, so the answer does not
        depend on the tolerance of the linear program.

    Examples
    --------
    >>> import numpy as np, minimand as mm
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> bool(mm.separable(X, [0, 0, 0, 1]))                   # AND
    True
    >>> xor = mm.separable(X, [0, 1, 1, 0])
    >>> print(xor)
    not separable: a mean of samples 0 and 3 of class 0 equals a mean of samples 1 and 2 of class...
    >>> xor.witness
    array([0.25, 0.25, 0.25, 0.25])
    """
    if form not in get_args(Form):
        raise ValueError(f"form must be 'margin' or 'slack', not {form!r}.")
    if not isinstance(intercept, bool | np.bool_):
        raise ValueError(f"intercept must be True or False, not {intercept!r}.")
    X, y = data.check_xy(_Separable(), X, y)
    data.check_labels(y)
    classes, index = np.unique(y, return_inverse=True)
    if classes.size != 2:
        raise ValueError(
            f"y must hold two classes, but it holds {classes.size}: compare one class with the "
            "rest, as in separable(X, y == label)."
        )
    signs = np.where(index == 1, 1.0, -1.0)
    return separability(as_design(X), signs, classes, intercept=bool(intercept), form=form)


class _Separable(BaseEstimator):
    """The estimator that error messages of the checks of X and y name."""
