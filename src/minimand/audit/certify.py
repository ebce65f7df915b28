"""Certify any model on any data: ours, or one that another library fitted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._base.typing import ArrayLike
from ..certificate import Certificate
from ..estimators.base import Estimator
from ..estimators.hard_margin import HardMargin
from ..estimators.labelers.base import Labeler
from ..estimators.settings import check_real
from ..reverse.cuts.graph_classifier import GraphClassifier
from ..solvers import Control
from ..solvers.nested.joint_scale import Scaled
from ..solvers.nested.scale_search import minimise_jointly, null_of
from . import clusterings
from .batches import certify_batches
from .examination import ENOUGH, TIGHT, Given, dual_points, examine, foreign_models
from .foreign import scikit_learn

_CRFSUITE = "sklearn_crfsuite", "pycrfsuite"  # libraries of sequence labelers


def certify(
    model: Any,
    X: ArrayLike = None,
    y: ArrayLike = None,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    against: Any = None,
    *,
    batches: Iterable[Any] | None = None,
    groups: ArrayLike = None,
    edges: Any = None,
    thorough: bool = False,
    max_seconds: float | None = None,
) -> Certificate:
    """Bound how far a fitted model is from the optimum of the objective it was meant to minimise.

    Parameters
    ----------
    model : a fitted `Regressor`, `Classifier`, `Ranker` or `GraphClassifier`, or scikit-learn's
        LinearRegression, Ridge, RidgeCV, RidgeClassifier, Lasso, ElasticNet, LassoCV, ElasticNetCV,
        LassoLarsIC, MultiTaskLasso, MultiTaskElasticNet, MultiTaskLassoCV, MultiTaskElasticNetCV,
        LogisticRegression, LogisticRegressionCV, PoissonRegressor, GammaRegressor,
        TweedieRegressor, QuantileRegressor, HuberRegressor (with its scale), LinearSVC, LinearSVR,
        SVC, SVR, KernelRidge, SGDClassifier, SGDRegressor, or one of their
        drop-ins in `minimand.sklearn`, or a `HardMargin`; or, without y, a clustering: `KMeans`,
        `SoftKMeans`, `KernelKMeans`, `NormalizedCut`, `Divisive`, components (`PCA`, `KernelPCA`,
        `NormalizedPCA`), or scikit-learn's
        KMeans, MiniBatchKMeans, BisectingKMeans, PCA, IncrementalPCA and TruncatedSVD; or a
        `SequenceLabeler`, a `GraphLabeler`, sklearn-crfsuite's CRF or a pycrfsuite.Tagger.
    X, y, sample_weight, offset
        The data it was fitted on; for our labelers any data with their labels and features.
    against : a fitted minimand estimator, a Certificate or "exact", optional
        A dual point to try beside those found here. With the dual point of a converged fit of the
        same problem, the gap is the model's true suboptimality. If the gap is not small, `certify`
        makes such a fit itself, starting from the model; passing one saves that time.
        ``"exact"`` is for a model with ``features=Nystrom(kernel)``: the bound is then that of the
        problem with the kernel itself, whose optimum may be lower than that of the features.
    batches : iterable of (X, y) or (X, y, sample_weight), optional
        Instead of X and y: batches of unknown total length, such as those of `fit_stream`. One pass
        in constant memory gives a sound bound. It is as tight as the model's own gradient allows
        if the loss is smooth, the penalty quadratic, and the intercept absent or optimal; otherwise
        it is somewhat looser, and loose if the loss has kinks. No second fit tightens it. Batches
        that can be read again (a list, not a generator) are read a second time if a gap is left and
        the loss is smooth, with dual points from a Newton step: the bound is then about as tight as
        for data in memory, and ``passes`` is 2. ``relative`` is an upper bound, and there is no
        ``by_sample``.
    groups : array-like of shape (n_samples,), optional
        The query of every item, for a `Ranker`, whose `by_sample` has a number per query with
        pairs.
    edges : list of array-likes of shape (m, 2), optional
        The edges of every graph, for a `GraphLabeler`.
    thorough : bool, default=False
        For clusterings: look for a proof that the clustering is the best of all, in the dual of a
        semidefinite relaxation. If there is one, ``kind`` is "global"; else the bound is the best
        that was found, which may take some minutes for 2000 rows.
    max_seconds : float, optional
        The time after which the fit that `certify` makes itself, or the search of
        ``thorough=True``, is stopped; the bound so far is valid, but looser. Not for batches
        and `HardMargin`. Ctrl-C does the same, and raises `Interrupted`, whose ``result`` is the
        certificate.

    Returns
    -------
    Certificate
        With `by_sample` and `by_feature`, and the objective in words.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> certificate = mm.certify(Lasso(alpha=0.1).fit(X, y), X, y)
    >>> certificate.objective
    'mean squared(z, y) + 0.1·‖w‖₁, z = X w + b'
    >>> certificate.relative < 1e-3
    True
    """
    given = Given(X, y, sample_weight, offset)
    _check_call(model, given, batches, thorough=thorough, max_seconds=max_seconds)
    if batches is not None:
        if against is not None or any(each is not None for each in given):
            raise TypeError(
                "certify takes either X, y and what goes with them or batches, whose tuples hold "
                "the weights; pass one of both."
            )
        return certify_batches(model, batches)
    if clusterings.takes(model):
        return clusterings.certify_clustering(
            model, X, sample_weight, thorough=thorough, max_seconds=max_seconds
        )
    if _is_labeler(model):
        from .labelings import certify_labeler  # which few models need

        return certify_labeler(model, X, y, sample_weight, edges, against, max_seconds)
    if isinstance(model, HardMargin):
        return model.judged(X, y)[1]
    if isinstance(model, GraphClassifier):
        inner = Given(*model.problem_of(X, y, sample_weight), None)
        return model.worded(examine(model.classifier_, inner, against, max_seconds).certificate)
    if isinstance(model, Estimator):
        given = given._replace(y=model._with_groups(y, groups))
    if scikit_learn.has_joint_scale(model):
        return _with_scale(model, given, against, max_seconds)
    return examine(model, given, against, max_seconds).certificate


def _check_call(
    model: Any,
    given: Given,
    batches: Iterable[Any] | None,
    *,
    thorough: bool,
    max_seconds: float | None,
) -> None:
    """Refuse arguments of `certify` that do not belong together or to this model."""
    X, y, sample_weight, offset = given
    if max_seconds is not None:
        check_real("max_seconds", max_seconds, low=0.0)
        if batches is not None or isinstance(model, HardMargin):
            raise TypeError(
                "max_seconds is for models of a mean loss and a penalty, judged on X and y, for "
                "labelers and for clusterings: leave it out."
            )
    if batches is not None:
        return
    if clusterings.takes(model):
        if X is None:
            raise TypeError("certify needs X, the rows that were clustered.")
        return
    if thorough:
        raise TypeError(
            "thorough=True is for clusterings: the bound of other models is the best anyway."
        )
    if X is None or y is None:
        if X is not None and clusterings.needs_no_y(model):
            raise TypeError(clusterings.refusal_of(model))
        raise TypeError("certify needs X and y, or batches=… that yields them.")
    if (_is_labeler(model) or isinstance(model, GraphClassifier)) and offset is not None:
        raise ValueError(f"{type(model).__name__} takes no offset: leave it out.")
    if isinstance(model, HardMargin):
        refuse_weights(model, sample_weight, offset)


def _is_labeler(model: Any) -> bool:
    return isinstance(model, Labeler) or type(model).__module__.partition(".")[0] in _CRFSUITE


def _with_scale(model: Any, given: Given, against: Any, max_seconds: float | None) -> Certificate:
    """The certificate of a model with a fitted scale (Huber); `examine` holds the scale fixed."""
    (objective,), (w,), (b,) = foreign_models(model, given)
    scaled = Scaled(objective, float(model.scale_))
    (duals,) = dual_points(against, [objective])
    point, scale = objective.point(w, float(b)), null_of(scaled).value
    joint = scaled.judged(point, duals)
    if joint.gap > ENOUGH * scale:
        control = Control(tol=TIGHT, max_seconds=max_seconds)
        _, solution = minimise_jointly(scaled, control, point)
        assert solution.certificate.dual_point is not None
        again = scaled.judged(point, [solution.certificate.dual_point])
        joint = min(joint, again, key=lambda each: each.gap)
    return scaled.audited(joint, scale)


def refuse_weights(model: HardMargin, sample_weight: ArrayLike, offset: ArrayLike) -> None:
    """Refuse weights and offsets: the constraints of a hard margin have none."""
    if sample_weight is not None or offset is not None:
        raise ValueError("HardMargin takes no sample_weight and no offset: leave them out.")
