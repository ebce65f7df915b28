r"""Kernel machines: a linear model on a factor of the kernel matrix, and its proof for the kernel.

With K ≈ LLᵀ, R = K − LLᵀ positive semidefinite, a model w on the features L is the function
f = Σ wⱼφ̂ⱼ in the span of the landmarks. Its norm in the space H of the kernel is ‖w‖, and its
scores at the samples are L w, so its objective in H is P(w), exactly. By the representer theorem
the optimum over H is that over the span of all samples, and every dual point θ bounds it,

    P(f) − P* ≤ Σ massᵢ·[ℓ(zᵢ) + ℓ*(θᵢ) − θᵢzᵢ] + [Ω(f) + Ω*(√(uᵀKu)) + w·Lᵀu],   u = mass∘θ.

Only the last bracket knows K. The referee, which sees L, has used uᵀLLᵀu; uᵀRu is missing. Under
½λ‖f‖² that adds uᵀRu/(2λ) to the gap; as R is positive semidefinite with diagonal d,

    uᵀRu ≤ (Σ |uᵢ|·√dᵢ)²,

by |Rᵢⱼ| ≤ √(dᵢdⱼ). Where this bound is not negligible, uᵀKu is computed from the kernel.

The values of K are rounded, by E with |Eᵢⱼ| ≤ ε√(sᵢsⱼ). With f = Σ aᵢ·k(xᵢ, ·) this changes the
scores by Ea, and aᵀKa and uᵀKu by aᵀEa and uᵀEu, all bounded by A = Σ|aᵢ|√sᵢ and U = Σ|uᵢ|√sᵢ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._base.typing import Array, IntArray
from ...certificate import Certificate, judge, relative_gap
from ...design import Design
from ...features.low_rank import LowRank, PivotedCholesky
from ...kernels.rows import picked
from ...penalties.base import Plane, young_in_plane
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective, Point
from ...problem.slot import Slot, as_table
from ...solvers import Solution

if TYPE_CHECKING:
    from ..problem import Posed

_NEGLIGIBLE = 0.1  # of tol·scale; safeguard: a charge below needs no product with the kernel
_ULPS = 8  # ulp of a value of the kernel; safeguard: sums and powers of rounded numbers
_LARGEST_PRODUCT = 200_000  # rows whose kernel matrix is computed once, in blocks; safeguard


@dataclass(frozen=True, eq=False)
class Expansion:
    """f(x) = Σ coefficientsᵢ·k(xᵢ, x) + b: what a kernel machine predicts with."""

    numbers: IntArray  # of the rows among the samples of fit
    coefficients: Array  # (n_rows, n_scores)
    shown: Array  # the same as `dual_coef_` has them, (n_rows, n_scores) or as in a `Slot`
    rows: Any  # as the kernel takes them
    given: Any  # as the user gave them
    # `coef_` of the same model: another one has been set since, if it is not this. None: not yet
    # computed, as a model on rows of the kernel matrix does not need it.
    coef: Array | None

    def scores(self, mapped: LowRank, X: Any) -> Array:
        """f without its intercept, (n, n_scores)."""
        return mapped.kernel_.times(mapped.rows_of(X), self.rows, self.coefficients)


@dataclass(frozen=True, eq=False)
class Remainder:
    """R = K − LLᵀ of the samples of an objective."""

    mapped: LowRank
    X: Any  # all samples of fit
    diagonal: Array  # d of those of positive weight
    sizes: Array  # s of the same
    kept: IntArray | None  # their numbers among the samples of fit; None: all

    @classmethod
    def of(cls, mapped: LowRank, X: Any, weights: Array | None, *, known: bool) -> Remainder:
        """From the map of a fit; ``known`` says that X holds the rows that it was fitted on."""
        diagonal = mapped.remainder_ if known else mapped.left_out(X)
        sizes = mapped.sizes_ if known else mapped.kernel_.sizes(mapped.training_rows(X))
        kept = None if weights is None or weights.all() else np.flatnonzero(weights)
        some = slice(None) if kept is None else kept
        return cls(mapped, X, diagonal[some], sizes[some], kept)

    @property
    def complete(self) -> bool:
        """Whether R is nothing but rounding."""
        return isinstance(self.mapped, PivotedCholesky) and self.mapped.complete

    def of_problem(self, objective: Objective) -> Remainder:
        """What is left out of the samples in one problem."""
        if objective.slot is None:
            return self
        rows = objective.slot.rows
        kept = rows if self.kept is None else self.kept[rows]
        return replace(self, diagonal=self.diagonal[rows], sizes=self.sizes[rows], kept=kept)

    def expansion(self, by_sample: BySample | None, coef: Array) -> Expansion:
        """The model by its support vectors, or by the landmarks if these are not known."""
        x = self.mapped.training_rows(self.X)
        if by_sample is None:
            numbers = self.mapped.pivots_
            assert numbers is not None
            coefficients = self.mapped.expansion(np.atleast_2d(coef))
            given = picked(self.X, numbers)
            return Expansion(numbers, coefficients, coefficients, x[numbers], given, coef)
        some = np.flatnonzero(by_sample.coefficients.any(axis=1))
        numbers = some if self.kept is None else self.kept[some]
        coefficients, shown = (table[some] for table in by_sample)
        return Expansion(numbers, coefficients, shown, x[numbers], picked(self.X, numbers), coef)

    def parts(self, u: Array) -> Array:
        """Terms per sample, ≥ 0, whose sum is at least uᵀRu."""
        lengths = _lengths(u, self.diagonal)
        return np.asarray(lengths * lengths.sum(axis=0)).reshape(u.shape[0], -1).sum(axis=1)

    def exactly(self, design: Design, several: Sequence[Array]) -> list[float]:
        """uᵀKu − uᵀLLᵀu of several u from the kernel, rounded up."""
        x = self.mapped.training_rows(self.X)
        tables = [u.reshape(u.shape[0], -1) for u in several]
        columns = np.concatenate(tables, axis=1)
        forms = self.mapped.kernel_.quadratic_forms(
            x if self.kept is None else x[self.kept], columns
        )
        noise = 8 * EPS * np.sqrt(columns.shape[0]) * np.abs(forms)  # 8 ulp a term; safeguard
        known = np.square(design.rmatvec(columns)).sum(axis=0)
        rest = np.maximum(forms - known, 0.0) + noise
        ends = np.cumsum([table.shape[1] for table in tables])[:-1]
        return [float(part.sum()) for part in np.split(rest, ends)]

    def rounding(self, objective: Objective, point: Point, u: Array, a: Array | None) -> float:
        """What the rounding of K may change in the objective of Σ aᵢ·k(xᵢ, ·) and in its bound.

        Without a, the model is that of the landmarks.
        """
        if a is None:
            w = point.w.T if point.w.ndim == 2 else point.w[None, :]
            A = _lengths(self.mapped.expansion(w), self.mapped.landmark_sizes).sum(axis=0)
        else:
            A = np.atleast_1d(_lengths(a, self.sizes).sum(axis=0))
        U = np.atleast_1d(_lengths(u, self.sizes).sum(axis=0))
        form = objective.penalty.function_of_norm
        ridge = None if form is None else form.ridge
        norms = 2.0 * float(A @ U)  # to first order, for functions of ‖f‖ other than squares
        if ridge is not None:
            factor = float(ridge[0])
            norms = factor * float(A @ A) + (float(U @ U) / factor if factor > 0 else 0.0)
        return float(_ULPS * EPS * (float(A @ U) + 0.5 * norms))

    def charged(
        self,
        models: Sequence[Judged],
        tol: float,
        attempt: Callable[[Callable[[], Any]], Any] = lambda compute: compute(),
    ) -> list[Certificate]:
        """The certificates of the same models and dual points for the kernel itself.

        The models share their samples. Values of the kernel that several of them need are computed
        once, unless ``attempt``, which calls a function, gives it up and returns None.
        """
        bounded = [model for model in models if model.is_bounded]
        parts = [self.parts(model.u) for model in bounded]
        squares = [float(part.sum()) for part in parts]
        unclear = [
            i
            for i, (model, square) in enumerate(zip(bounded, squares))
            if model.u.shape[0] <= _LARGEST_PRODUCT
            and self._gap(model, square) - model.certificate.gap
            > _NEGLIGIBLE * tol * model.objective.scale
        ]
        if unclear:
            design = bounded[0].objective.design
            exact = attempt(lambda: self.exactly(design, [bounded[i].u for i in unclear]))
            for i, square in zip(unclear, exact or []):
                share = min(square / squares[i], 1.0)
                parts[i], squares[i] = parts[i] * share, squares[i] * share
        whole = iter(zip(parts, squares))
        return [
            self._with_charge(model, *next(whole)) if model.is_bounded else model.certificate
            for model in models
        ]

    def _with_charge(self, model: Judged, parts: Array, square: float) -> Certificate:
        """The certificate if uᵀRu is ``square``, the sum of the parts."""
        noise = self.rounding(model.objective, model.point, model.u, model.a)
        found = replace(model.certificate, rounding=model.certificate.rounding + noise)
        return _with_gap(model.objective, found, self._gap(model, square), parts)

    def _gap(self, model: Judged, square: float) -> float:
        """The gap if uᵀRu is ``square``."""
        objective, point, found, _ = model
        form = objective.penalty.function_of_norm
        ridge = None if form is None else form.ridge
        if form is None or square == 0:
            return found.gap
        if ridge is not None and ridge[0] > 0:
            return found.gap + 0.5 * square / float(ridge[0])
        if ridge is not None:  # no penalty: any function of the kernel is free
            return found.gap if self.complete else np.inf
        assert found.dual_point is not None
        w, v = point.w.ravel(), -objective.design.rmatvec(model.u).ravel()
        size = float(np.linalg.norm(w))
        if form.bounds is not None and np.isfinite(found.primal):  # inside the ball as it measures
            size = min(size, float(form.bounds[1][0]))
        along = float(v @ w) / size if size > 0 else 0.0
        across = float(np.linalg.norm(v - (along / size) * w if size > 0 else v))
        whole = float(np.hypot(across, np.sqrt(square)))
        best = np.inf
        for s in form.shares(np.array([np.hypot(along, whole)])):
            young = young_in_plane(form, Plane(size, s * along, s * whole))
            best = min(best, young + objective.mean_young(point.z, s * found.dual_point))
        return max(best, found.gap)


class Judged(NamedTuple):
    """A model on the features and its certificate there."""

    objective: Objective
    point: Point
    certificate: Certificate
    a: Array | None = None  # its coefficients by sample; None if it is given by landmarks

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound, to which the remainder adds something."""
        return self.certificate.dual_point is not None and bool(np.isfinite(self.certificate.gap))

    @property
    def u(self) -> Array:
        """mass·θ, in the shape of z."""
        theta, mass = self.certificate.dual_point, self.objective.row_mass
        assert theta is not None
        return np.asarray(theta * (mass if theta.ndim == 1 else mass[:, None]))


def _with_gap(objective: Objective, found: Certificate, gap: float, parts: Array) -> Certificate:
    """The certificate with what the remainder adds, by sample too."""
    added = gap - found.gap
    perfect = objective.constant_target and gap <= found.rounding  # the null model is
    by_sample = found.by_sample
    if by_sample is not None and np.isfinite(gap) and by_sample.shape == parts.shape:
        total = float(parts.sum())
        by_sample = by_sample + (parts * (added / total) if total > 0 else 0.0)
    return replace(
        found,
        gap=gap,
        dual=found.dual - added,
        relative=0.0 if perfect else relative_gap(gap, objective.scale),
        by_sample=by_sample,
        infeasibility=found.infeasibility
        if np.isfinite(gap)
        else "the kernel matrix was not factorised completely, and nothing is penalised",
    )


def _lengths(a: Array, sizes: Array) -> Array:
    """|aᵢ|·√sizeᵢ, in the shape of a."""
    roots = np.sqrt(sizes)
    return np.asarray(np.abs(a) * (roots if a.ndim == 1 else roots[:, None]))


def left_out(model: Any, posed: Posed, *, exact: bool) -> Remainder | None:
    """What the features of a fitted model leave out of the kernel, on the data given now.

    None for other features, and for `Nystrom` unless its kernel is asked for (``exact``).
    """
    mapped = model.__dict__.get("features_")
    if not isinstance(mapped, LowRank):
        if exact:
            raise ValueError(
                "against='exact' compares a model on features=Nystrom(kernel) with the kernel "
                f"itself, but its features are {mapped!r}: leave against out."
            )
        return None
    if not exact and not isinstance(mapped, PivotedCholesky):
        return None
    if posed.objectives[0].penalty.function_of_norm is None:
        raise ValueError(
            "against='exact' needs a penalty that is a function of ‖f‖ alone, such as L2(): under "
            "another there is no problem with the kernel itself."
        )
    return Remainder.of(mapped, posed.X, posed.coded.weights, known=False)


class BySample(NamedTuple):
    """Coefficients of f = Σ aᵢ·k(xᵢ, x), zero for samples that are no support vectors."""

    coefficients: Array  # (n_samples, n_scores), samples of positive weight
    shown: Array  # as `Expansion` has them


def represented(
    objectives: Sequence[Objective],
    solutions: list[Solution],
    rest: Remainder,
    tol: float,
    refined: Callable[[Objective, Solution], Solution],
) -> tuple[list[Solution], BySample | None]:
    """The solutions with the gap of the kernel itself, and their coefficients by sample.

    The coefficients are None if the models are given by landmarks instead. ``refined`` gives a
    better solution, if the first has no dual form.
    """
    problems = [(o, s, rest.of_problem(o)) for o, s in zip(objectives, solutions)]
    found = [
        in_dual_form(o, s, part, tol) or in_dual_form(o, refined(o, s), part, tol)
        for o, s, part in problems
    ]
    moved = [each for each in found if each is not None]
    complete = len(moved) == len(solutions)
    models = [each[0] for each in moved] if complete else solutions
    coefficients = [each[1] for each in moved] if complete else [None] * len(solutions)
    charged = [
        s.certified(part.charged([Judged(o, s.point, s.certificate, a)], tol)[0])
        for s, (o, _, part), a in zip(models, problems, coefficients)
    ]
    if not complete:
        return charged, None
    return charged, joined([o.slot for o in objectives], [a for _, a in moved])


def joined(slots: list[Slot | None], parts: list[Array]) -> BySample:
    """The coefficients of all problems."""
    if parts[0].ndim == 2:
        return BySample(parts[0], parts[0])
    shown, first = as_table(slots, parts), slots[0]
    if first is None:
        return BySample(shown, shown)
    coefficients = np.zeros((first.shape[0], len(parts)))
    for k, (slot, part) in enumerate(zip(slots, parts)):
        assert slot is not None
        coefficients[slot.rows, k] = part
    return BySample(coefficients, shown)


def in_dual_form(
    objective: Objective, solution: Solution, rest: Remainder, tol: float
) -> tuple[Solution, Array] | None:
    """The solution as f = Σ aᵢ·k(xᵢ, x) with a = −u/λ, and a, in the shape of z.

    At the optimum w = −Lᵀu/λ, and samples with u = 0 are not needed. Short of it the two differ, so
    the referee judges the model −Lᵀu/λ; None if it is not as good as tol asks for and worse than
    the solution, if the fit was stopped early, or if the penalty is not ½λ‖f‖².
    """
    old, form = solution.certificate, objective.penalty.function_of_norm
    ridge = None if form is None else form.ridge
    if not solution.converged:
        return None  # a model that was stopped early is handed over as it is
    if old.dual_point is None or ridge is None or not ridge[0] > 0 or not np.isfinite(old.gap):
        return None
    mass = objective.row_mass
    a = old.dual_point * ((mass if old.dual_point.ndim == 1 else mass[:, None]) / -float(ridge[0]))
    allowed = max(tol * objective.scale, old.gap)
    # What R adds to the scores changes the objective by at most its slope times this.
    sizes = np.sqrt(rest.diagonal)
    moved = float(sizes.max(initial=0.0)) * float(np.sum(np.abs(a).T @ sizes))
    if moved * objective.row_total_of(np.abs, old.dual_point) > _NEGLIGIBLE * allowed:
        return None
    point = recentred(objective, objective.point(objective.design.rmatvec(a), solution.point.b))
    found = judge(objective, point, [old.dual_point])
    if not found.gap <= allowed or found.primal > old.primal + allowed:
        return None
    certificate = found.certificate(objective, old.iterations, old.seconds)
    new = replace(solution, point=point, slope=found.slope).certified(certificate)
    return new, a
