"""Models along a grid of alphas."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._base.typing import Array, ArrayLike
from .._base.watch import INTERRUPT, interruption, watching
from .._base.wording import counted
from ..certificate import Certificate
from ..estimators.explained_loss import constant_loss, loss_above_infimum
from ..estimators.outcome import Part, combined
from ..estimators.prepare import copy_of, posed_for_path
from ..estimators.problem import score_count, stacked
from ..estimators.settings import Settings
from ..estimators.support_vectors import Training
from ..outputs import QueriesOutput, ScalarOutput
from ..penalties import BoundPenalty
from ..problem.condensed import Sums, is_worthwhile
from ..problem.objective import Meter, Objective
from ..solvers import Control, Solution
from ..solvers.paths.path import kind_of_settler, solve_path
from .condensed_path import At, condensed_path
from .grid import grid_of
from .kernel_paths import charged, solver_on_factor
from .stopping import collected, completed
from .training import trained


@dataclass(frozen=True, eq=False)
class Path:
    """Solutions along a grid of alphas, each with its certificate.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    coefs : ndarray of shape (n_alphas, *coef_.shape)
    intercepts : ndarray of shape (n_alphas, ...)
    certificates : list of Certificate
        One per alpha.
    n_nonzero : ndarray of int
        Coefficients that are not zero (features, where there are several scores).
    score : ndarray
        D² on the data of the path, as in `Regressor.score`; R² for the squared loss.
    shrinkage : ndarray
        ‖w(alpha)‖₁ divided by the largest on the path.

    ``model(i)`` is the fitted estimator at ``alphas[i]``, and ``plot()`` draws the coefficients.
    """

    alphas: Array
    coefs: Array
    intercepts: Array
    certificates: list[Certificate] = field(repr=False)
    score: Array = field(repr=False)
    estimator: Any = field(repr=False, default=None)
    attributes: dict[str, Any] = field(repr=False, default_factory=dict)
    training: list[Training | None] = field(repr=False, default_factory=list)

    def __len__(self) -> int:
        return len(self.alphas)

    def __repr__(self) -> str:
        ends = [0, -1] if len(self) > 1 else [0]
        alphas = " … ".join(f"{self.alphas[i]:.3g}" for i in ends)
        nonzeros = " … ".join(f"{self.n_nonzero[i]}" for i in ends)
        worst = max(c.relative for c in self.certificates)
        return (
            f"Path({counted(len(self), 'alpha')} {alphas}, {nonzeros} nonzeros, "
            f"relative gaps ≤ {worst:.1e})"
        )

    @property
    def n_nonzero(self) -> Array:
        """Features with a coefficient that is not zero, per alpha."""
        used = self.coefs != 0
        return (used.any(axis=1) if used.ndim == 3 else used).sum(axis=1)

    @property
    def shrinkage(self) -> Array:
        """‖w(alpha)‖₁ relative to the largest on the path: the shrinkage factor, 0 to 1."""
        size = np.abs(self.coefs.reshape(len(self), -1)).sum(axis=1)
        return size / (size.max() or 1.0)

    def model(self, index: int) -> Any:
        """The estimator fitted at ``alphas[index]``, ready to predict."""
        model = clone(self.estimator).set_params(alpha=float(self.alphas[index]))
        for name, value in self.attributes.items():
            setattr(model, name, value)
        model.coef_ = self.coefs[index].copy()
        intercept = self.intercepts[index]
        model.intercept_ = float(intercept) if np.ndim(intercept) == 0 else intercept.copy()
        model.certificate_ = self.certificates[index]
        model.alpha_ = float(self.alphas[index])
        model._fitted = model._fitted.at(model.alpha_)
        model.n_iter_ = max(self.certificates[index].iterations, 1)
        if self.training:
            model._training = self.training[index]
        return model

    def plot(self, x: str = "alpha", ax: Any = None, chosen: Any = None) -> Any:
        """Draw every coefficient along the path, the largest with their names.

        Parameters
        ----------
        x : {"alpha", "shrinkage"}, default="alpha"
            Against log alpha, or against the shrinkage factor ‖w(alpha)‖₁ / largest.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        chosen : float, sequence or dict, optional
            Alphas to mark, by name in a dict: ``{"best": tuned.alpha_}``.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> import minimand as mm
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> ax = mm.path(mm.Regressor("squared", "l1"), X, y).plot(chosen={"mine": 0.5})
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('alpha', 'coefficient')
        """
        from ..report.path import plot_path

        coefs = self.coefs.reshape(len(self), -1)
        names = self._names()
        return plot_path(
            self.alphas, coefs, self.shrinkage, self.n_nonzero, names, x=x, ax=ax, chosen=chosen
        )

    def _names(self) -> list[str]:
        """Names of the coefficients: of the features, and of the class where there are several."""
        count = self.coefs.shape[-1]
        features = self.attributes.get("feature_names_in_")
        mapped = self.attributes.get("features_")
        if mapped is not None:
            features = _names_out(mapped, features)
        if features is None or len(features) != count:
            features = [f"w{j}" for j in range(count)]
        if self.coefs.ndim == 2 or self.coefs.shape[1] == 1:
            return [str(name) for name in features]
        scores = self.attributes["_fitted"].output.names
        return [f"{score}: {name}" for score in scores for name in features]


def _names_out(mapped: Any, names_in: Any) -> Any:
    """The column names of a transformer; None if it has none."""
    try:
        return mapped.get_feature_names_out(names_in)
    except (AttributeError, ValueError):
        return None


def path(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    alphas: Any = 100,
    *,
    eps: float | None = None,
    sample_weight: ArrayLike = None,
    offset: ArrayLike = None,
    groups: ArrayLike = None,
) -> Path:
    r"""Fit an estimator at many alphas, from large to small, each starting from the one before.

    .. math:: w(\alpha) = \arg\min_w\; \tfrac{\sum_i s_i\,\ell(z_i, y_i)}{\sum_i s_i}
              + \alpha\,\Omega(w)

    Parameters
    ----------
    estimator : Regressor, Classifier or Ranker
        Its ``alpha`` is ignored; its ``tol`` is met at every alpha.
    X, y, sample_weight, offset
        The data.
    alphas : int or array-like, default=100
        The number of alphas, evenly spaced on a log scale from `alpha_max` down, or the values in
        any order. The path has them in decreasing order.
    eps : float, optional
        The smallest alpha divided by the largest. By default 1e-2 if features outnumber samples,
        else 1e-3; without an L1 part 1e-5 times that, because such a grid begins at an alpha at
        which all coefficients are nearly zero.
    groups : array-like of shape (n_samples,), optional
        The query of every item, for a `Ranker`.

    Returns
    -------
    Path

    Raises
    ------
    Interrupted
        After Ctrl-C; its ``result`` is the path so far. After ``max_seconds``, or if a callback
        returns `minimand.STOP`, the alphas that are left get the last model, with its true gap.

    Examples
    --------
    >>> import minimand as mm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = mm.path(mm.Regressor("squared", "l1"), X, y, alphas=50)
    >>> path.coefs.shape, int(path.n_nonzero[0]), int(path.n_nonzero[-1])
    ((50, 10), 0, 10)
    >>> max(c.relative for c in path.certificates) <= 1e-6
    True
    """
    y = copy_of(estimator)._with_groups(y, groups)
    probe, problem = posed_for_path(estimator, X, y, sample_weight, offset)
    settings, objectives = problem.coded.settings, problem.objectives
    grid = grid_of(settings, objectives, alphas, eps, float(estimator.tol))
    planned = len(grid)
    control = probe._control([])
    rest = probe._remainder(problem)
    solver = solver_on_factor(rest, problem, grid, control, estimator.solver)
    with watching() as watch:
        columns = [solved_along(settings, o, grid, control, solver) for o in objectives]
        if watch.interrupted:
            columns, grid = _so_far(columns, grid)
        weights = problem.coded.weights
        columns, training = trained(settings, objectives, grid, columns, weights, control.tol)
        columns = charged(rest, problem, grid, columns, control)
        found = gathered(probe, objectives, grid, columns, training)
    if watch.interrupted:
        worst = max(found.certificates, key=lambda certificate: certificate.relative)
        course = f" after {len(found.alphas)} of {counted(planned, 'alpha')},"
        raise interruption("path", worst, found, course)
    _warn_if_short(estimator, columns)
    return found


def solved_along(
    settings: Settings,
    objective: Objective,
    alphas: Array,
    control: Control,
    solver: Any = "auto",
    sums: Sums | None = None,
) -> list[Solution]:
    """Solutions of one objective at these alphas.

    After a stop (time limit, callback, Ctrl-C), the alphas that are left get the last model, with
    its true gap.
    """
    solutions = along(settings, objective, alphas, control, solver, sums)
    found, reason = collected(solutions, control)
    at = penalties_of(settings, objective)
    rest = [at(objective, float(alpha)) for alpha in alphas[len(found) :]]
    return completed(found, rest, control, reason)


def first_along(
    settings: Settings, objective: Objective, alphas: Array, control: Control, solver: Any
) -> list[Solution]:
    """The solutions without the alphas that are left after a stop; at least one."""
    found, reason = collected(along(settings, objective, alphas, control, solver), control)
    first = penalties_of(settings, objective)(objective, float(alphas[0]))
    return found or completed(found, [first], control, reason)


def along(
    settings: Settings,
    objective: Objective,
    alphas: Array,
    control: Control,
    solver: Any = "auto",
    sums: Sums | None = None,
) -> Iterator[Solution]:
    """Solutions of one objective at these alphas; ``sums`` are those over its rows, if known."""
    at, values = penalties_of(settings, objective), [float(a) for a in alphas]
    _ = objective.facts, objective.scale  # now, so that the problems of all alphas share them
    if solver == "auto" and len(values) > 1 and is_worthwhile(objective):
        # Without kinks all solutions come from one factorisation, and blocks need a Gram only.
        form = objective.bound(settings.penalty, 1.0).sum_over_features
        kinked = form is not None and form.makes_zeros
        if kinked and kind_of_settler(objective, at, values) is None:
            return condensed_path(objective, at, values, control, sums)
    return solve_path(objective, at, values, control, solver, sums)


def penalties_of(settings: Settings, objective: Objective) -> At:
    """A function (objective, alpha) → the objective with the penalty at that alpha."""
    settings = replace(settings, loss=objective.loss)
    rest = objective.words.removeprefix(settings.words)
    unit: list[BoundPenalty] = []

    def bound(alpha: float) -> BoundPenalty:
        """Ours are multiples of one, unless they are not convex; none at an alpha of zero."""
        if not (settings.penalty.proved and alpha > 0):
            return objective.bound(settings.penalty, alpha)
        if not unit:
            unit.append(objective.bound(settings.penalty, 1.0))
        if hasattr(unit[0], "majoriser"):
            return objective.bound(settings.penalty, alpha)
        return unit[0].times(alpha)

    def at(base: Objective, alpha: float) -> Objective:
        words = settings.words_at(alpha) + rest
        penalty = bound(float(alpha))
        return base.with_penalty(penalty, words=words, meter=Meter())

    return at


def gathered(
    probe: Any,
    objectives: Sequence[Objective],
    alphas: Array,
    columns: list[list[Solution]],
    training: list[Training | None] | None = None,
    *,
    scored: bool = True,
) -> Path:
    """One Path from the solutions of all scores; D² is computed only if asked for."""
    parts, what = list(map(Part.of, objectives)), probe._fitted.output.parts
    certificates = [combined([s.certificate for s in row], parts, what) for row in zip(*columns)]
    coefs = np.empty((len(certificates), score_count(objectives), columns[0][0].w.shape[0]))
    intercepts = np.empty(coefs.shape[:2])
    for i, row in enumerate(zip(*columns)):
        coefs[i], intercepts[i] = stacked((s.w, s.b) for s in row)
    perfect = all(objective.constant_target for objective in objectives)
    explained = np.full(len(certificates), 1.0 if perfect else np.nan)
    if scored and not perfect:
        left, constant = np.zeros(len(certificates)), 0.0
        for objective, column in zip(objectives, columns):
            left += [_unexplained(objective, s) for s in column]
            constant += constant_loss(objective)
        explained = 1.0 - left / (constant or 1.0)
    names = ("n_features_in_", "feature_names_in_", "features_", "classes_", "_fitted")
    kept = {name: getattr(probe, name) for name in names if hasattr(probe, name)}
    kept["solver_"] = columns[0][0].solver
    if isinstance(probe._fitted.output, ScalarOutput | QueriesOutput) and coefs.shape[1] == 1:
        coefs, intercepts = coefs[:, 0], intercepts[:, 0]
    return Path(alphas, coefs, intercepts, certificates, explained, probe, kept, training or [])


def _unexplained(objective: Objective, solution: Solution) -> float:
    """The mean loss of a solution minus the mean infimum of the loss."""
    if solution.mean_loss is None:
        return loss_above_infimum(objective, solution.point.z)
    return solution.mean_loss - objective.infimum


def _so_far(columns: list[list[Solution]], alphas: Array) -> tuple[list[list[Solution]], Array]:
    """The alphas that all scores begun so far have reached; at least one."""
    reached = [sum(s.stopped_by != INTERRUPT for s in column) for column in columns]
    length = min((count for count in reached if count), default=1)
    return [column[:length] for column in columns], alphas[:length]


def _warn_if_short(estimator: Any, columns: list[list[Solution]]) -> None:
    short = [s for column in columns for s in column if not s.converged]
    if short:
        worst = max(s.certificate.relative for s in short)
        warnings.warn(
            f"path: {len(short)} of {sum(map(len, columns))} fits were stopped by "
            f"{short[0].stopped_by} above tol={estimator.tol:g} (relative gaps up to {worst:.1e}); "
            "they are valid models: raise the limit or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
