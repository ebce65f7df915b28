"""Certify any model on any data: ours, or one that another library fitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.typing import Array, ArrayLike
from .._base.watch import interruption, watching
from ..certificate import Certificate, Judgement, judge
from ..estimators.base import Estimator
from ..estimators.hard_margin import HardMargin
from ..estimators.inputs import data
from ..estimators.kernel_machines.expansion import Judged, Remainder, left_out
from ..estimators.labelers.base import Labeler
from ..estimators.outcome import Part, combined
from ..estimators.problem import score_count, split
from ..estimators.settings import check_real
from ..problem.objective import Objective
from ..problem.slot import sum_over_problems
from ..solvers import Control, solve
from ..solvers.nested.joint_scale import Scaled
from ..solvers.nested.scale_search import minimise_jointly, null_of
from . import clusterings
from .batches import certify_batches, check_intercept
from .foreign import kernel_machines, scikit_learn
from .foreign.objectives import problem_of

_ENOUGH = 1e-6  # relative gap; convention: the default tol, below which no dual is solved for
_TIGHT = 1e-9  # relative gap of the fit that supplies the dual point; safeguard: far below _ENOUGH
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
    model : a fitted `Regressor`, `Classifier` or `Ranker`, or a fitted scikit-learn
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
        The data it was fitted on.
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
        ``thorough=True``, is stopped; the bound so far is valid, but looser. Not for labelers,
        batches and `HardMargin`. Ctrl-C does the same for clusterings, and raises `Interrupted`,
        whose ``result`` is the certificate.

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
    if max_seconds is not None:
        check_real("max_seconds", max_seconds, low=0.0)
        if batches is not None or _is_judged_alone(model):
            raise TypeError(
                "max_seconds is for models of a mean loss and a penalty, judged on X and y, and "
                "for clusterings: leave it out."
            )
    if batches is not None:
        if not all(given is None for given in (X, y, sample_weight, offset, against)):
            raise TypeError(
                "certify takes either X, y and what goes with them or batches, whose tuples hold "
                "the weights; pass one of both."
            )
        return certify_batches(model, batches)
    if clusterings.takes(model):
        if X is None:
            raise TypeError("certify needs X, the rows that were clustered.")
        return clusterings.certify_clustering(
            model, X, sample_weight, thorough=thorough, max_seconds=max_seconds
        )
    if thorough:
        raise TypeError(
            "thorough=True is for clusterings: the bound of other models is the best anyway."
        )
    if X is None or y is None:
        if X is not None and clusterings.needs_no_y(model):
            raise TypeError(
                f"certify takes no {type(model).__name__}: its certificate_, if it has one, is "
                "what is known of it."
            )
        raise TypeError("certify needs X and y, or batches=… that yields them.")
    if _is_labeler(model):
        if offset is not None:
            raise ValueError(f"{type(model).__name__} takes no offset: leave it out.")
        from .labelings import certify_labeler  # which few models need

        return certify_labeler(model, X, y, sample_weight, edges, against)
    if isinstance(model, HardMargin):
        refuse_weights(model, sample_weight, offset)
        return model.judged(X, y)[1]
    if isinstance(model, Estimator):
        y = model._with_groups(y, groups)
    if scikit_learn.has_joint_scale(model):
        return _with_scale(model, X, y, sample_weight, offset, against, max_seconds)
    return examine(model, X, y, sample_weight, offset, against, max_seconds).certificate


def _is_labeler(model: Any) -> bool:
    return isinstance(model, Labeler) or type(model).__module__.partition(".")[0] in _CRFSUITE


def _is_judged_alone(model: Any) -> bool:
    """Whether no fit is made to judge it."""
    return _is_labeler(model) or isinstance(model, HardMargin)


class Examination(NamedTuple):
    """A model's objectives, one per score or output, and the referee's judgement of each."""

    objectives: Sequence[Objective]
    judgements: list[Judgement]
    model: Any
    rest: Remainder | None = None  # what the factor of a kernel matrix leaves out

    @property
    def certificate(self) -> Certificate:
        """One certificate of all judgements."""
        if isinstance(self.model, Estimator):
            parts = self.model._fitted.output.parts
            return self.model._qualified(
                _summary(self.objectives, self.judgements, parts, self.rest)
            )
        parts = "outputs" if self.objectives[0].slot is None else "pairs of classes"
        return _summary(self.objectives, self.judgements, parts)


def examine(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    against: Any = None,
    max_seconds: float | None = None,
) -> Examination:
    """Judge a fitted model as `certify` explains."""
    control = Control(tol=_TIGHT, max_seconds=max_seconds)
    own = isinstance(model, Estimator)
    exact = isinstance(against, str) and against == "exact"
    rest = None
    if own:
        check_is_fitted(model)
        posed = model._posed_again(X, y, sample_weight, offset)
        objectives, coefs, intercepts = _own(model, posed.objectives)
        rest = left_out(model, posed, exact=exact)
    else:
        objectives, coefs, intercepts = _foreign(model, X, y, sample_weight, offset)
    if exact:
        if not own:
            raise TypeError("against='exact' is for models on features=Nystrom(kernel).")
        against = None
    duals = _dual_points(against, objectives)
    if own and against is None:
        duals = _own_evidence(model, objectives)
    parts = []
    with watching() as watch:
        models = split(objectives, coefs, intercepts)
        for objective, (w, b), evidence in zip(objectives, models, duals):
            check_intercept(model, objective, b)
            first = judge(objective, objective.point(w, b), evidence, thorough=True)
            parts.append(_with_solved_dual(objective, first, control))
    found = Examination(objectives, parts, model, rest)
    if watch.interrupted:
        raise interruption("certify", found.certificate, found.certificate)
    return found


def _with_scale(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    offset: ArrayLike,
    against: Any,
    max_seconds: float | None,
) -> Certificate:
    """The certificate of a model with a fitted scale (Huber); `examine` holds the scale fixed."""
    (objective,), (w,), (b,) = _foreign(model, X, y, sample_weight, offset)
    scaled = Scaled(objective, float(model.scale_))
    (duals,) = _dual_points(against, [objective])
    point, scale = objective.point(w, float(b)), null_of(scaled).value
    joint = scaled.judged(point, duals)
    if joint.gap > _ENOUGH * scale:
        control = Control(tol=_TIGHT, max_seconds=max_seconds)
        _, solution = minimise_jointly(scaled, control, point)
        assert solution.certificate.dual_point is not None
        again = scaled.judged(point, [solution.certificate.dual_point])
        joint = min(joint, again, key=lambda each: each.gap)
    return scaled.certificate(joint, scale)


def refuse_weights(model: HardMargin, sample_weight: ArrayLike, offset: ArrayLike) -> None:
    """Refuse weights and offsets: the constraints of a hard margin have none."""
    if sample_weight is not None or offset is not None:
        raise ValueError("HardMargin takes no sample_weight and no offset: leave them out.")


def _with_solved_dual(objective: Objective, first: Judgement, control: Control) -> Judgement:
    """If the gap is not small, a judgement with the dual point of a fit made here.

    The gradients of an inaccurate model give a loose dual point, and at a kink the subgradient is
    not unique. So the problem is solved, starting from the model, and the solution's dual point is
    used to judge the model.
    """
    if not objective.convex or first.reaches(objective, 0.0):
        return first
    enough = _ENOUGH * objective.scale
    if first.gap <= enough or control.late():
        return first
    try:
        solution = solve(objective, "auto", replace(control), first.point)
    except ValueError:  # no solver accepts the problem; the first judgement remains valid
        return first
    theta = solution.certificate.dual_point
    if theta is None:
        return first
    again = judge(objective, first.point, [theta], raw=False, thorough=True)
    return again if again.gap < first.gap else first


def _own(model: Any, objectives: Sequence[Objective]) -> tuple[Sequence[Objective], Array, Array]:
    """The objectives of one of our models, one per score, and its point of each."""
    coefs = np.atleast_2d(model.coef_)
    intercepts = np.atleast_1d(model.intercept_)
    expected = (score_count(objectives), objectives[0].n_features)
    if coefs.shape != expected or intercepts.shape != expected[:1]:
        raise ValueError(
            f"coef_ has shape {np.shape(model.coef_)}, but these data need {expected} and one "
            "intercept_ per row: the model was changed after its fit."
        )
    return objectives, coefs, intercepts


def _own_evidence(model: Any, objectives: Sequence[Objective]) -> list[list[Array]]:
    """The dual points of a model's own fit, if the sizes match; the referee checks them."""
    try:
        return _dual_points(model, objectives)
    except (TypeError, ValueError):
        return [[] for _ in objectives]


def _summary(
    objectives: Sequence[Objective],
    parts: list[Judgement],
    what: str,
    rest: Remainder | None = None,
) -> Certificate:
    problems = [Part.of(objective) for objective in objectives]
    found = []
    for part, objective in zip(parts, objectives):
        one = replace(part.certificate(objective), by_sample=part.by_sample)
        if rest is not None:
            own = rest.of_problem(objective)
            one = own.charged([Judged(objective, part.point, one)], _ENOUGH)[0]
        found.append(one)
    whole = combined(found, problems, what)
    shares = [problem.share for problem in problems]
    by_sample = [s * np.asarray(one.by_sample) for s, one in zip(shares, found)]
    by_feature = None  # a design without columns has no features
    if objectives[0].has_columns:
        by_feature = np.sum([s * part.by_feature for s, part in zip(shares, parts)], axis=0)
    slots = [problem.slot for problem in problems]
    samples = sum_over_problems(slots, by_sample)
    by_score = whole.by_score
    if len(objectives) == 1:
        by_score = _by_class(objectives[0], by_sample[0], by_feature)
    return replace(whole, by_sample=samples, by_feature=by_feature, by_score=by_score)


def _by_class(objective: Objective, samples: Array, features: Array | None) -> Array | None:
    """The terms of the samples of every class and of its coefficients; None if they are shared."""
    if objective.loss.target != "class" or objective.loss.pooled or features is None:
        return None
    if np.shape(features) != objective.coef_shape or objective.n_scores < 2:
        return None
    labels = objective.y.astype(np.int64)
    found = np.bincount(labels, weights=samples, minlength=objective.n_scores)
    if len(found) != objective.n_scores:
        return None  # a class of reference has no coefficients
    return np.asarray(found + features.sum(axis=0))


def _dual_points(against: Any, objectives: Sequence[Objective]) -> list[list[Array]]:
    """The dual points of ``against``, one list per problem."""
    if against is None:
        return [[] for _ in objectives]
    first, several = objectives[0], len(objectives) > 1
    shape = (first.n_samples, score_count(objectives))
    if first.slot is not None and several:
        shape = first.slot.shape
    certificate = (
        against if isinstance(against, Certificate) else getattr(against, "certificate_", None)
    )
    if certificate is None or certificate.dual_point is None:
        raise TypeError("against must be a fitted minimand estimator or a Certificate.")
    points = certificate.dual_point.reshape(certificate.dual_point.shape[0], -1)
    if points.shape != shape:
        raise ValueError(
            "against was fitted on other data: its dual point has shape "
            f"{points.shape}, but this problem has {shape}."
        )
    if first.n_scores > 1:
        return [[np.ascontiguousarray(points)]]
    return [
        [o.slot.cut(points) if o.slot and several else np.ascontiguousarray(points[:, i])]
        for i, o in enumerate(objectives)
    ]


def _foreign(
    model: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, offset: ArrayLike
) -> tuple[Sequence[Objective], Any, Array]:
    """The objectives of a scikit-learn model, one per output, and its point of each."""
    scikit_learn.check_known(model)
    check_is_fitted(model)
    X, y = data.check_xy(model, X, y, fitted=True, many=True)
    weights = data.check_weights(sample_weight, X.shape[0])
    shift = data.check_offset(offset, X.shape[0])
    if kernel_machines.is_kernel_machine(model):
        return kernel_machines.models_of(model, X, y, weights, shift)
    problem = problem_of(model, X, y, weights, shift)
    shape = (1, *np.shape(model.coef_))[-2:]
    if shape != (score_count(problem.objectives), X.shape[1]):
        raise ValueError(
            f"the model has coefficients of shape {np.shape(model.coef_)}, but X has {X.shape[1]} "
            f"features and y {score_count(problem.objectives)} output(s): pass the data it was "
            "fitted on."
        )
    coefs, intercepts = problem.points(model.coef_, model.intercept_)
    return problem.objectives, coefs, intercepts
