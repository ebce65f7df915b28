"""What the run of a perceptron proves: a lower bound on mistakes, and the mistake bound C²/γ²."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._base.typing import Array
from .._base.wording import counted
from ..certificate import Certificate
from ..design import Design, as_design
from ..problem.objective import EPS
from ..solvers.programs.separation import confirmed, separate
from ..solvers.textbook.perceptron import Run
from .hard_margin import HardMargin


class Proved(NamedTuple):
    """A run, and what its last state proves."""

    run: Run
    witness: Array | None
    margin: float
    certificate: Certificate


def proved(design: Design, signs: Array, run: Run, intercept: bool, begun: float) -> Proved:
    """Judge a run on samples with labels ±1.

    Unless a plane separates the classes, some sample has y·z ≤ 0: the share of such samples
    is at least 1/n where a cycle proves that none does, and else at least 0.
    """
    witness = None
    if run.cycle is not None:
        witness = confirmed(design, signs, run.cycle, intercept=intercept)
    margins = signs * (design.matvec(run.w) + run.b)
    primal = float(np.mean(margins <= 0))
    dual = 0.0 if witness is None else 1.0 / signs.size
    certificate = Certificate(
        primal=primal,
        dual=dual,
        gap=primal - dual,
        relative=primal - dual,  # the scale is 1: at w = 0 every sample is a mistake
        kind="global" if primal == dual else "relaxation",
        objective=f"mean I(y·z ≤ 0), z = {'X w + b' if intercept else 'X w'}",
        rounding=_uncertain(design, margins, run.w, run.b),
        iterations=run.mistakes.size,
        passes=float(run.mistakes.size),
        seconds=time.perf_counter() - begun,
        dual_point=witness,
    )
    separates = primal == 0 and run.w.any()
    margin = float(margins.min() / np.linalg.norm(run.w)) if separates else 0.0
    return Proved(run, witness, margin, certificate)


def shortfall(found: Proved, max_epochs: int) -> str:
    """Why the passes of a run have not come to an end without mistakes, and what to do."""
    run = found.run
    mistakes = f"its last pass had {counted(int(run.mistakes[-1]), 'mistake')}"
    if run.cycle is None:
        return (
            f"stopped by max_epochs={max_epochs}, and {mistakes}; raise it, or ask separable(X, y) "
            "whether any plane separates the classes"
        )
    known = mistakes if found.witness is None else "so that no plane separates the classes"
    return (
        f"it cycles: after pass {run.mistakes.size} it is where it was {run.period} before, "
        f"{known}; take Classifier(Hinge()), whose margin is soft"
    )


def mistake_bounds(
    X: Any, signs: list[Array], scores: list[Proved], intercept: bool
) -> tuple[float, list[float], list[float]]:
    """C, and γ and C²/γ² of every score; an intercept pads samples with a 1."""
    samples = _padded(X) if intercept else X
    unit = float(abs(samples).max()) or 1.0  # unscaled squares might overflow
    samples = samples / unit
    radius = float(as_design(samples).row_squares(np.ones(1)).max()) ** 0.5
    margins = [_widest(X, samples, own, score, intercept) for own, score in zip(signs, scores)]
    bounds = [np.inf if m == 0 else (radius / m) ** 2 for m in margins]
    return unit * radius, [unit * m for m in margins], bounds


def _padded(X: Any) -> Any:
    """The samples with a 1 at their end."""
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])


def _widest(X: Any, padded: Any, signs: Array, found: Proved, intercept: bool) -> float:
    """γ of the padded samples; 0 if no plane separates them, nan if rounding hides it."""
    if found.witness is not None:
        return 0.0
    try:
        if not found.run.converged:
            apart = separate(as_design(X), signs, intercept=intercept, form="margin")
            if apart.witness is not None:
                return 0.0
        # The margin of any separating plane gives a valid bound, also if it is not the widest.
        return float(HardMargin(intercept=False).fit(padded, signs).margin_)
    except ValueError as error:  # the fitted model does not depend on the bound
        warnings.warn(f"gamma_ and bound_ are unknown (nan): {error}", RuntimeWarning, stacklevel=6)
        return float("nan")


def _uncertain(design: Design, margins: Array, w: Array, b: float) -> float:
    """The share of samples whose score is so small that rounding may have changed its sign."""
    noise, size = EPS * (w.size**0.5 + 4.0), np.abs(w)  # share of Σ|xⱼwⱼ|; safeguard: √d roundings
    parts = design.map_rows(lambda x: np.asarray(abs(x) @ size)) + abs(b)
    # A score of exactly 0 counts as a mistake anyway.
    return float(((np.abs(margins) <= noise * parts) & (margins != 0)).mean())
