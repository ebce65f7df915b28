"""Newton's method for a smooth loss with a quadratic (or no) penalty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...certificate import Finding, Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.kept_slope import point_with_slope
from ...problem.objective import Objective, Point
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..steps import few_columns
from ..steps.line_search import Caution, line_search
from ..traits import Trait
from .newton_scores import ScoresCholesky, ScoresKrylov
from .newton_systems import Cholesky, Direction, Krylov, Reused, share_of_rows

_DENSE_HESSIAN = 1500  # columns, up to which the Hessian is formed and factorised; safeguard
_DENSE_COMPUTED = 6000  # the same if rows are computed on demand, as products take long; safeguard
_DENSE_SCORES = 200  # columns times scores, likewise if all columns are penalised; safeguard
_ITERATIONS = 200  # steps; safeguard
_THINNING = 4  # factor: rows of X per row of a thinned problem; safeguard
_WORTH_THINNING = 1_000_000  # numbers in X, from which a thinned start pays; safeguard
_MANY_ROWS = 200  # rows per column, from which a sample of the rows is as good as all; safeguard
_WORTH_REUSING = 40  # columns, below which a Hessian costs no more than a few products; safeguard


class Newton(Solver):
    """w ← w + t·D with H D = −g, H = Xᵀdiag(h)X + diag(l2): Cholesky, or conjugate gradients.

    The intercept is eliminated exactly. The step yields a second dual point, θ + h∘(X D), whose
    slope cancels that of the penalty at w + D: its gap is of third order.

    Where the core knows the loss, steps run in compiled code with one judgement at the end: of H on
    few columns, else L-BFGS steps whose first metric is H of some rows (`few_columns`). A softmax
    of few scores takes steps by products with H, or by H itself where these would be many.

    With k scores H couples them: diag(h) is the second derivative of the loss in the scores of a
    row, for a softmax diag(p) − ppᵀ.
    """

    name = "newton"
    null_may_do = False
    shapes = (Trait.COLUMNS,)
    needs = (
        Trait.SMOOTH,
        Trait.CURVED_ENOUGH,
        Trait.SUM_OVER_FEATURES,
        Trait.NO_L1,
        Trait.NO_BOUNDS,
    )
    heirs = ("primal_dual",)

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Smooth losses; penalties without an l1 part."""
        form = objective.penalty.sum_over_features
        assert form is not None
        formed = self._factorises(objective, control)
        how = "Cholesky of the Hessian" if formed else "conjugate gradients"
        cost = self._cost(objective, form, formed)
        return Verdict(True, f"smooth loss and quadratic penalty: {how}", cost)

    def _cost(self, objective: Objective, form: Separable, formed: bool) -> float:
        """The cost; for curvature that jumps it depends on the numbers of rows and columns."""
        if objective.loss.quadratic and objective.design.reading > 1.0 and formed:
            return costs.newton_on_some_rows(objective, share_of_rows(objective))
        pieces = objective.loss.plq(objective.y)
        if pieces is not None and not objective.loss.quadratic and form.l2_everywhere:
            reused = self._reuses(objective, form)
            return costs.newton_on_pieces(objective, form, formed=formed, reused=reused)
        cost = costs.newton(objective, formed=formed)
        if few_columns.takes_quasi_newton(objective):
            return min(cost, costs.quasi_newton(objective))
        return cost

    def at_once(self, objective: Objective, control: Control) -> Iterator[Finding]:
        """On few columns, or few rows, in compiled code, without judgements on the way."""
        return few_columns.at_once(objective, control)

    def iterate(
        self, objective: Objective, start: Point, control: Control
    ) -> Iterator[Judgement | HandOver]:
        """Newton steps with an exact line search on the scores.

        With a piecewise quadratic loss, whose curvature jumps, the steps may end too early; then
        `primal_dual`, which sees all pieces at once, takes over.
        """
        form = objective.penalty.sum_over_features
        assert form is not None
        direction, start = self._begin(objective, form, start, control)
        yield from self._steps(objective, form, direction, start)
        yield HandOver("no step lowers the objective any further", self.heirs)

    def _steps(
        self, objective: Objective, form: Separable, direction: Direction, start: Point
    ) -> Iterator[Judgement]:
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        caution = Caution()
        for _ in range(_ITERATIONS):
            point, terms = judgement.point, judgement.terms
            curvature = caution.curvature(objective, point, terms)
            gradient = judgement.slope + form.l2 * point.w
            dw, db, dz = direction(curvature.weighted(objective.mass), gradient)
            first = direction.slope_along(gradient, dw)
            t, new = line_search(objective, form, point, dw, dz, db, beyond=True, first=first)
            duals = [terms.gradient + curvature.times(dz)] if direction.exact else []
            if t == 0.0 and caution.share == 1.0:
                yield judge(objective, point, duals, known=[judgement.dual])
                return
            if not caution.learn(t):
                continue
            known, new = [judgement.dual], recentred(objective, new)
            del judgement, point, terms, curvature, dz  # frees n numbers each
            judgement = judge(objective, new, duals, known=known)
            yield judgement

    def _begin(
        self, objective: Objective, form: Separable, start: Point, control: Control
    ) -> tuple[Direction, Point]:
        """With many rows per column, first solve on every fourth row.

        That solution is off by about d/(n/4) of the scale, and one step on all rows then suffices.
        Where passes take long, the first rows are those of the preconditioner, which are fewer.
        """
        n, d = objective.design.shape
        few = n < _MANY_ROWS * d * objective.n_scores
        if start is not objective.null or n * d < _WORTH_THINNING or few:
            return self._direction(objective, form, control), start
        every = _THINNING
        if objective.design.reading > 1.0:
            every = max(_THINNING, round(1.0 / share_of_rows(objective)))
        thin = objective.thinned(every)
        # Share of the scale: a rough gap; safeguard.
        rough = replace(control, target=1e-4 * thin.scale)
        before, start = self._begin(thin, form, thin.null, rough)
        for judgement in self._steps(thin, form, before, start):
            if judgement.gap <= rough.target or control.expired:
                break
        direction = self._direction(objective, form, control)
        direction.near_inverse = before.near_inverse
        return direction, point_with_slope(objective, judgement.point.w, judgement.point.b)

    def _direction(self, objective: Objective, form: Separable, control: Control) -> Direction:
        """How Newton systems are solved: Cholesky, preconditioned CG, or plain CG."""
        if objective.n_scores > 1:
            objective.design.ready_for_scores(control.memory)
            formed = self._factorises(objective, control)
            return (ScoresCholesky if formed else ScoresKrylov)(objective, form, control)
        if not self._factorises(objective, control):
            return Krylov(objective, form, control)
        if not self._reuses(objective, form):
            return Cholesky(objective, form, control)
        return Reused(objective, form, control)

    def _reuses(self, objective: Objective, form: Separable) -> bool:
        """Whether an earlier Hessian is a good preconditioner and saves work."""
        large = objective.n_features >= _WORTH_REUSING
        return not objective.design.sparse and large and form.l2_everywhere

    def _factorises(self, objective: Objective, control: Control) -> bool:
        size = objective.n_features * objective.n_scores
        most = _DENSE_HESSIAN if objective.design.reading == 1.0 else _DENSE_COMPUTED
        if objective.n_scores > 1 and not objective.has_free_columns:
            most = _DENSE_SCORES
        return size <= most and 3 * 8 * size * size <= control.memory
