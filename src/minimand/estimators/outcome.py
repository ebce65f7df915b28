"""One certificate for the solutions of all scores, and a warning if one missed the tolerance."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._base.wording import counted
from ..certificate import Certificate, relative_gap
from ..kernels.isolation import isolates
from ..problem.objective import Objective
from ..problem.slot import Slot, as_table
from ..solvers import REGISTRY as SOLVERS
from ..solvers import Control, Solution, verdicts
from ..solvers.base import CALLBACK, UNATTAINED_MINIMUM

_HIDDEN = 1e-3  # of the scale; safeguard: rounding above it does not excuse a gap either
_UNEVEN = 30.0  # ratio of column sizes; safeguard
# Solvers that such columns slow down: by sweeps over rows, or by steps on matrices.
_SLOWED = ("class_dual", "dual", "low_rank", "splitting")


class Ended(Protocol):
    """What is told of a fit that stopped short."""

    @property
    def certificate(self) -> Certificate:
        """What it has reached."""

    @property
    def solver(self) -> str:
        """Who was at work."""

    @property
    def stopped_by(self) -> str:
        """What stopped it."""


class Part(NamedTuple):
    """One of several independent problems: the unit of its gap, and what it counts in the sum."""

    scale: float
    share: float = 1.0
    slot: Slot | None = None

    @classmethod
    def of(cls, objective: Objective) -> Part:
        """The part that an objective is."""
        return cls(objective.scale, objective.share, objective.slot)


def combined(
    certificates: list[Certificate], problems: list[Part], parts: str = "classes"
) -> Certificate:
    """One certificate for several independent problems: the sums of their numbers."""
    if len(certificates) == 1:
        return certificates[0]
    scale = sum(problem.share * problem.scale for problem in problems)
    certificates = [_counted(c, problem.share) for c, problem in zip(certificates, problems)]
    gap = sum(c.gap for c in certificates)
    points = [c.dual_point for c in certificates if c.dual_point is not None]
    return replace(
        certificates[0],
        primal=sum(c.primal for c in certificates),
        dual=sum(c.dual for c in certificates),
        gap=gap,
        relative=relative_gap(gap, scale),
        objective=f"Σ over {len(certificates)} {parts} of {certificates[0].objective}",
        rounding=sum(c.rounding for c in certificates),
        iterations=max(c.iterations for c in certificates),
        passes=sum(c.passes for c in certificates),
        seconds=sum(c.seconds for c in certificates),
        infeasibility="; ".join(sorted({c.infeasibility for c in certificates} - {""})),
        dual_point=as_table([p.slot for p in problems], points) if points else None,
        by_score=np.array([c.gap for c in certificates]),
    )


def _counted(certificate: Certificate, share: float) -> Certificate:
    """The certificate of a problem that counts so much."""
    if share == 1.0:
        return certificate
    names = ("primal", "dual", "gap", "rounding")
    return replace(certificate, **{name: share * getattr(certificate, name) for name in names})


def warn_if_short(estimator: Any, objective: Objective, solutions: list[Solution]) -> None:
    """Warn, at the line that called fit, if a solution misses the tolerance."""
    short = [s for s in solutions if not s.converged]
    if not short:
        return
    worst = max(short, key=lambda s: s.certificate.gap)
    others = _alternatives(objective, estimator._control([]), worst)
    free = bool(np.all(objective.penalty.free))
    text = shortfall(worst, estimator.tol, others, uneven=_uneven(objective), penalised=not free)
    warnings.warn(f"{type(estimator).__name__}: {text}", ConvergenceWarning, stacklevel=5)


def warn_if_cut(estimator: Any, objectives: Sequence[Objective]) -> None:
    """Warn if the gap of a kernel machine misses tol for what the factor leaves out of K.

    Or if it says nothing, since the rounding of the values of K matters that much.
    """
    found, mapped = estimator.certificate_, estimator.features_
    scale = sum(objective.share * objective.scale for objective in objectives)
    hidden = mapped.complete and found.rounding > _HIDDEN * scale
    missed = found.relative > float(estimator.tol)
    if all(objective.constant_target for objective in objectives) or not (missed or hidden):
        return
    if mapped.complete:
        # A fit on rows of the kernel matrix has no factor that would know the sizes.
        sizes = mapped.sizes_ if hasattr(mapped, "sizes_") else objectives[0].design.row_lengths
        why = (
            f"the kernel is computed from numbers as large as {float(np.max(sizes)):.1e}, whose "
            f"rounding may change the objective by {found.rounding:.1e}"
        )
        help = "scale X, or raise alpha"
    else:
        limit = mapped.ended_by
        cause = f"half of {limit} had passed" if limit else "memory had no room for more"
        why = f"the kernel matrix was cut at {mapped.rank_} columns, as {cause}"
        help = "raise max_seconds" if limit else "pass memory=… in bytes"
        help += ", or choose the columns with features=minimand.Nystrom(kernel, rank)"
    so = f"the relative gap {found.relative:.1e} is larger than tol={estimator.tol:g}"
    if not missed:
        so = f"the relative gap {found.relative:.1e} proves less than tol={estimator.tol:g}"
    warnings.warn(
        f"{type(estimator).__name__}: {why}, so {so}: {help}.", ConvergenceWarning, stacklevel=5
    )


def warn_if_isolated(estimator: Any, X: Any) -> None:
    """Warn if the bandwidth is so small that nothing is learnt from other rows."""
    mapped = estimator.features_
    if not isolates(mapped.kernel_, mapped.training_rows(X)):
        return
    kernel = mapped.kernel_
    warnings.warn(
        f"{type(estimator).__name__}: the bandwidth of features={kernel} is far below the "
        "distances of the rows, so that the model knows its training rows and little else: take "
        f"{type(kernel).__name__}(tau='median'), a larger tau, or scale the columns.",
        UserWarning,
        stacklevel=5,
    )


def warn_if_zero_is_perfect(estimator: Any, objective: Objective) -> None:
    """Warn if w = 0 costs nothing although there are two classes: the loss has no margin."""
    if objective.loss.target != "sign" or objective.constant_target:
        return
    warnings.warn(
        f"{type(estimator).__name__}: no model is better than w = 0, whose scores are all zero and "
        f"cost nothing under {objective.loss!r}: take a loss with a margin, such as Hinge(), or "
        "the algorithm minimand.Perceptron.",
        UserWarning,
        stacklevel=5,
    )


def _alternatives(objective: Objective, control: Control, solution: Solution) -> list[str]:
    """Other solvers that accept the problem, cheapest first, without those for teaching."""
    found = verdicts(objective, control)
    known = {name: SOLVERS.get(name) for name in found}
    ranked = sorted((v.cost, name) for name, v in found.items() if v.ok)
    ran = solution.solver.split(" → ")
    return [n for _, n in ranked if n not in ran and not known[n].by_name_only]


def _uneven(objective: Objective) -> bool:
    """Whether the sizes of columns differ so much that some solvers are slow."""
    if not objective.has_columns:
        return False
    sizes = objective.root_spread[objective.root_spread > 0]
    return bool(sizes.size and sizes.max() > _UNEVEN * sizes.min())


def shortfall(
    solution: Ended,
    tol: float,
    others: list[str],
    *,
    uneven: bool = False,
    penalised: bool = False,
    resumes: bool = True,
) -> str:
    """What a fit that stopped short has reached, and what may help."""
    found = solution.certificate
    optimum = "the optimum" if found.kind != "stationary" else "the least of its convex tangent"
    if np.isfinite(found.gap):
        reached = f"within {found.gap:.3g} of {optimum}"
    else:
        reached = f"without a bound ({found.infeasibility or 'the gap is infinite'})"
    missed = f"above tol={tol:g}" if found.relative > tol else "before its search was over"
    return (
        f"solver={solution.solver!r} was stopped by {solution.stopped_by} after "
        f"{counted(found.iterations, 'iteration')} and {counted(found.passes, 'pass')} with a "
        f"relative gap of {found.relative:.1e}, {missed}; the model is valid and {reached}; "
        f"{_advice(solution, others, uneven, penalised, resumes)}."
    )


def _advice(
    solution: Ended, others: list[str], uneven: bool, penalised: bool, resumes: bool
) -> str:
    """What may help, by what stopped the fit."""
    from ..solvers import Sgd
    from ..solvers.stochastic.training import HELD_OUT

    if solution.stopped_by == UNATTAINED_MINIMUM:
        return "add a penalty"  # no other solver finds what does not exist
    if not np.isfinite(solution.certificate.gap):
        advice = "add a penalty"  # more time or a larger tol would not help
    elif solution.stopped_by == CALLBACK:
        advice = "fit again with warm_start=True to go on from here"
        if not resumes:
            advice = "fit without the callback that stopped it to get nearer"
    elif solution.stopped_by == HELD_OUT:
        advice = "set early_stopping=False to train for all epochs"
    elif solution.solver == Sgd.name:
        advice = "raise epochs for more of the same"
    elif solution.solver in _SLOWED and uneven:
        advice = "scale the columns, features=StandardScaler(), since their sizes differ much"
    elif solution.stopped_by.startswith("max_"):
        advice = "raise the limit or tol"
    else:
        advice = f"raise tol or {'scale the columns' if penalised else 'add a penalty'}"
    return advice + (
        f", or try solver={others[0]!r}, which accepts this problem too" if others else ""
    )
