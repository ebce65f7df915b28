"""scikit-learn's kernel machines, SVC, SVR and KernelRidge: their problems and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from ..._base.typing import AnyArray, Array, IntArray
from ...design import KernelDesign
from ...estimators.posing.coded import build
from ...estimators.posing.pair_problems import PairProblems
from ...estimators.settings import Settings
from ...kernels import Precomputed
from ...losses import Hinge
from ...outputs import PairsOutput
from ...penalties import L2
from ...problem.objective import Objective
from .named_kernel import NamedKernel
from .objectives import problem_of, refuse_unknown, weighted_by_fit

Models = tuple[Sequence[Objective], Sequence[Array], Array]  # problems, their w and their b


def is_kernel_machine(model: Any) -> bool:
    """Whether it is given by coefficients of samples instead of columns."""
    if isinstance(model, SVC) and len(model.classes_) > 2:
        return True
    if isinstance(model, SVC | SVR):
        return callable(model.kernel) or model.kernel != "linear"
    return isinstance(model, KernelRidge)


def models_of(
    model: Any, X: Any, y: AnyArray, weights: Array | None, offset: Array | None
) -> Models:
    """The problems of a machine on the samples of its fit, and its models by these samples."""
    design = _design(model, X)
    if isinstance(model, SVC) and len(model.classes_) > 2:
        return _pairs(model, X, design, y, weights, offset)
    objectives = problem_of(model, design, y, weights, offset).objectives
    kept = slice(None) if weights is None else np.flatnonzero(weights)
    if isinstance(model, KernelRidge):
        a = np.asarray(model.dual_coef_, dtype=float).reshape(X.shape[0], -1)[kept]
        return objectives, list(np.ascontiguousarray(a.T)), np.zeros(a.shape[1])
    a = _by_sample(model, X, weights)[kept, 0]
    return objectives, [np.ascontiguousarray(a)], np.ravel(np.asarray(model.intercept_, float))


def _pairs(
    model: Any,
    X: Any,
    design: KernelDesign,
    y: AnyArray,
    weights: Array | None,
    offset: Array | None,
) -> Models:
    """A problem for every pair of classes; scikit-learn's scores are positive for the first."""
    refuse_unknown(model, y)
    weights = weighted_by_fit(model, y, weights)
    kept = np.arange(y.size) if weights is None else np.flatnonzero(weights)
    output = PairsOutput(Hinge(), model.classes_)
    numbers = output.encode(y)
    if np.unique(numbers[kept]).size < len(model.classes_):
        raise ValueError(
            "all samples of a class have weight zero: leave them out, and fit the model without."
        )
    total = float(y.size if weights is None else weights.sum())
    settings = Settings(Hinge(), L2(), 1.0 / (float(model.C) * total))
    whole = build(settings, design, numbers, weights, offset, True)
    problems = PairProblems(whole, output, settings.penalty, settings.factor)
    table = -_by_sample(model, X, weights)[kept]
    slots = [problem.slot for problem in problems]
    return problems, [slot.cut(table) for slot in slots if slot is not None], -model.intercept_


def _design(model: Any, X: Any) -> KernelDesign:
    """The samples of the fit as a design without columns.

    Raises
    ------
    ValueError
        If X has other rows than the fit, or the kernel is not positive semidefinite.
    """
    ridge = isinstance(model, KernelRidge)
    n = model.dual_coef_.shape[0] if ridge else model.shape_fit_[0]
    if X.shape[0] != n:
        raise ValueError(
            f"{type(model).__name__} was fitted on {n} samples, but X has {X.shape[0]}: pass the "
            "data it was fitted on."
        )
    if ridge:
        X, kernel = model._get_kernel(X, X), NamedKernel(Precomputed(), doubtful=True)
    else:
        X = model._compute_kernel(X) if callable(model.kernel) else X
        kernel = NamedKernel.of(model)
    design = kernel.design(np.asarray(X, dtype=float) if isinstance(X, np.ndarray) else X)
    objection = kernel.objection(design)
    if objection:
        raise ValueError(f"cannot certify {type(model).__name__}: {objection}.")
    return design


def _by_sample(model: Any, X: Any, weights: Array | None) -> Array:
    """``dual_coef_`` with a row for every sample of the fit."""
    dual = model.dual_coef_
    dual = dual.toarray() if sparse.issparse(dual) else np.asarray(dual, dtype=float)
    found = np.zeros((X.shape[0], dual.shape[0]))
    found[_support(model, X, weights)] = dual.T
    return found


def _support(model: Any, X: Any, weights: Array | None) -> IntArray:
    """The numbers of the support vectors among the samples.

    scikit-learn's own ``support_`` counts samples of positive weight only, and the drop-ins' all.
    Precomputed kernels have no support vectors to compare with, and predict by ``support_`` as it
    is.
    """
    numbers = np.asarray(model.support_, dtype=np.intp)
    vectors = model.support_vectors_
    if callable(model.kernel) or model.kernel == "precomputed" or not numbers.size:
        return numbers
    choices = [numbers]
    if weights is not None and not weights.all():
        choices.append(np.flatnonzero(weights)[numbers % np.count_nonzero(weights)])
    for chosen in choices:
        if _same(X[chosen], vectors):
            return chosen
    raise ValueError(
        f"the support vectors of {type(model).__name__} are not the rows of X with the numbers "
        "support_: pass the data it was fitted on."
    )


def _same(one: Any, other: Any) -> bool:
    if sparse.issparse(one):
        return one.shape == other.shape and (one != other).nnz == 0
    return np.array_equal(one, other)
