"""One problem at many values of alpha: each starts where the last one ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...certificate.gram_models import GramModels
from ...penalties import Grouped, Strengths
from ...problem.condensed import Sums, is_worthwhile, sums
from ...problem.objective import Objective
from ...problem.path_facts import PathFacts
from .. import choose_solver, solve
from ..base import Control, Solution, Solver
from ..smooth.closed_form import ridge_path, ridges_of_gram
from .blocks import Blocks, Settler, form_of
from .certified_models import certified, certify_models, squares_findings
from .gram_kernels import FeatureKernel, GramKernel, GroupKernel
from .on_columns import OnColumns
from .on_curves import OnCurves
from .on_gram import EVERYTHING, MOST_COLUMNS, OnGram
from .trail import Trail

_FAILURES = 3  # alphas that a settler may fail at before it is no longer used; safeguard
_LARGEST_SIDE = 3000, 15_000  # unknowns of one factorisation: for few alphas, for many; safeguard
_MANY_ALPHAS = 20  # Cholesky factors that take the time of a tridiagonal form; safeguard

At = Callable[[Objective, float], Objective]


def solve_path(
    base: Objective,
    at: At,
    alphas: Sequence[float],
    control: Control,
    solver: str | Solver = "auto",
    known: Sums | None = None,
) -> Iterator[Solution]:
    """Certified solutions, one per alpha, in the given order.

    Parameters
    ----------
    base : the problem without its penalty: the data, the loss and the masses.
    at : ``at(objective, alpha)`` is the same problem under the penalty of that alpha.
    alphas : best in decreasing order, so that solutions change slowly.
    known : the sums over all rows, if they are known.
    """
    # Tangents of a non-convex penalty are different problems, so nothing is kept between them.
    convex = at(base, 1.0).convex
    base = base.with_path_facts(PathFacts() if convex else None)
    automatic = isinstance(solver, str) and solver == "auto"
    all_at_once = _ridge_solutions(base, at, alphas, control, known) if automatic else None
    if all_at_once is not None:
        yield from all_at_once
        return
    settler = settler_of(base, at, alphas, control, known) if automatic else None
    picks = not (isinstance(settler, OnGram) and settler.meets_everything)
    if picks and base.loss.smooth and len(alphas) > 2 and _sparse_models(at(base, 1.0)):
        base.design.ready_to_pick()
    blocks = None if settler is None else Blocks(settler, control)
    trail, done, failures, chosen = Trail(), 0, 0, None
    while done < len(alphas):
        before, size = done, 0 if blocks is None or control.expired else blocks.size
        if blocks is not None and size:
            some = [float(alpha) for alpha in alphas[done : done + size]]
            for solution in blocks.solved([at(base, alpha) for alpha in some], some, trail):
                done += 1
                yield solution
        if done > before:
            continue
        failures += 1
        if failures > _FAILURES:
            blocks = None
        # A problem that no settler accepts, or has solved, is solved by itself.
        alpha = float(alphas[done])
        objective = at(base, alpha)
        if base.path_facts is not None:
            base.path_facts.forecast = trail.forecast(alpha)
        # For losses with kinks, a weak penalty needs another solver than a strong one, and interior
        # points may get stuck at a warm start: then other solvers take over.
        if settler is None and base.loss.smooth and (chosen is None or alpha == 0):
            chosen = choose_solver(objective, control, solver)
        named = chosen or solver
        more = True if automatic else None  # others may go on if "auto" stands for the solver
        solution = solve(objective, named, replace(control), trail.last, replaceable=more)
        base = objective  # it has cached what no penalty changes
        trail.add(alpha, solution.point, solution.slope)
        done += 1
        yield solution


def settler_of(
    base: Objective,
    at: At,
    alphas: Sequence[float],
    control: Control,
    known: Sums | None = None,
) -> Settler | None:
    """The settler that solves these problems in blocks; None if each is solved by itself."""
    kind = kind_of_settler(base, at, alphas)
    if kind is None:
        return None
    _ = base.facts  # now, so that all problems share them
    control.target = control.tol * base.scale
    if kind is OnColumns:
        return OnColumns(base, control)
    least = at(base, min(alphas))
    form = form_of(least)
    kernel: GramKernel = GroupKernel(form) if isinstance(form, Grouped) else FeatureKernel()
    if kind is OnCurves:
        return OnCurves(base, kernel, control)
    summed = Strengths.of([least.penalty]) is not None and base.is_summed
    return OnGram(base, kernel, control, known, summed=summed)


Kind = type[OnGram] | type[OnCurves] | type[OnColumns]


def kind_of_settler(base: Objective, at: At, alphas: Sequence[float]) -> Kind | None:
    """Blocks are for smooth losses with an l1 part or norms, all columns penalised, no bounds."""
    if not base.loss.smooth or base.loss.pooled or base.loss.unit == "run" or len(alphas) < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(base.scale):
            return None
    least = at(base, min(alphas))
    form = least.penalty.sum_over_features if base.n_scores == 1 else None
    if form is None:
        return _kind_for_groups(base, least)
    if form.has_constraints or not least.convex or least.has_rays or not form.makes_zeros:
        return None
    if not base.loss.quadratic:
        return OnCurves if _is_curved(base) else None
    if base.design.sparse and not is_worthwhile(base):
        return OnColumns
    return OnGram if min(base.design.shape) <= MOST_COLUMNS else None


def _kind_for_groups(base: Objective, least: Objective) -> Kind | None:
    """The kind for sums over groups of features: dense columns, one curvature for all scores."""
    form = least.penalty.sum_over_groups
    if form is None or form.by_rows is None or least.has_rays or not form.makes_zeros:
        return None
    if base.design.sparse:
        return None
    if base.loss.quadratic:
        return OnGram if min(base.design.shape) <= MOST_COLUMNS else None
    return OnCurves if base.n_scores == 1 and _is_curved(base) else None


def _is_curved(base: Objective) -> bool:
    """Whether columns are dense and the loss is curved at every sample."""
    if base.design.sparse:
        return False  # descent on the columns costs less than their Gram
    with np.errstate(over="ignore", invalid="ignore"):
        curvature = base.loss.curvature(base.null.z, base.y)
    if not isinstance(curvature, np.ndarray):
        return False  # the curvature is not one number per row
    return bool(np.isfinite(curvature).all() and (curvature > 0).all())


def _sparse_models(objective: Objective) -> bool:
    """Whether most coefficients will be zero, so that few columns matter."""
    penalty = objective.penalty
    form = penalty.sum_over_features or penalty.sum_over_groups
    return form is not None and form.makes_zeros


def _ridge_solutions(
    base: Objective, at: At, alphas: Sequence[float], control: Control, known: Sums | None
) -> list[Solution] | None:
    """Squared loss and L2 on every column: all solutions from one factorisation.

    They are certified from the sums over the rows if there are more rows than columns, else in two
    passes; one that misses the tolerance is solved by itself.
    """
    side = min(base.design.shape)
    most = _LARGEST_SIDE[len(alphas) >= _MANY_ALPHAS]
    if not base.loss.quadratic or side > most or len(alphas) < 2 or min(alphas) <= 0:
        return None
    if base.n_scores > 1:
        return None
    base = base.with_path_facts(None)
    _ = base.facts, base.scale  # now, so that all problems share them
    unit = at(base, 1.0)
    l2 = unit.penalty.ridge
    if l2 is None or not (l2 > 0).all():
        return None
    problems = [at(base, alpha) for alpha in alphas]
    origin = [("closed_form", 1, "")] * len(problems)
    n, d = base.design.shape
    if n < d or d > EVERYTHING:
        coefs, intercepts = ridge_path(unit, np.asarray(alphas, dtype=float))
        return list(certify_models(unit, problems, coefs, intercepts, control, origin))
    models = GramModels(base, sums(base) if known is None else known)
    coefs = ridges_of_gram(models.gram, models.linear, l2, np.asarray(alphas, dtype=float))
    findings = squares_findings(base, models, problems, coefs, control.tol * base.scale)
    return list(certified(problems, findings, control, origin))
