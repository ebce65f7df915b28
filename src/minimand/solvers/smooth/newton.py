"""Newton's method for a smooth loss with a quadratic (or no) penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._base.linear_system import Solve, factorise, solver_for
from ..._base.typing import Array
from ...certificate import Judgement, judge
from ...penalties import Separable
from ...problem.intercept import recentred
from ...problem.objective import EPS, Objective, Point, dot
from .. import costs
from ..base import Control, HandOver, Solver, Verdict
from ..steps.krylov import conjugate_gradients
from ..steps.line_search import Caution, line_search
from ..traits import Trait

_DENSE_HESSIAN = 1500  # columns, up to which the Hessian is formed and factorised; safeguard
_ITERATIONS = 200  # steps; safeguard
_THINNING = 4  # factor: rows of X per row of a thinned problem; safeguard
_WORTH_THINNING = 1_000_000  # numbers in X, from which a thinned start pays; safeguard
_MANY_ROWS = 200  # rows per column, from which a sample of the rows is as good as all; safeguard
_SAMPLED_ROWS = 60  # rows per column in the Hessian of a preconditioner; safeguard
_WORTH_REUSING = 40  # columns, below which a Hessian costs no more than a few products; safeguard
_MOST_PRODUCTS = 30  # CG products, beyond which the preconditioner is abandoned; safeguard
_STALE = 10  # CG products of a step, from which the next step makes a new Hessian; safeguard


class Newton(Solver):
    """w ← w + t·D with H D = −g, H = Xᵀdiag(h)X + diag(l2): Cholesky, or conjugate gradients.

    The intercept is eliminated exactly. The step yields a second dual point, θ + h∘(X D), whose
    slope cancels that of the penalty at w + D: its gap is of third order.
    """

    name = "newton"
    null_may_do = False
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
        pieces = objective.loss.plq(objective.y)
        if pieces is not None and not objective.loss.quadratic and (form.l2 > 0).all():
            reused = self._reuses(objective, form)
            return costs.newton_on_pieces(objective, form, formed=formed, reused=reused)
        return costs.newton(objective, formed=formed)

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
        self, objective: Objective, form: Separable, direction: _Direction, start: Point
    ) -> Iterator[Judgement]:
        judgement = judge(objective, recentred(objective, start))
        yield judgement
        caution = Caution()
        for _ in range(_ITERATIONS):
            point, terms = judgement.point, judgement.terms
            curvature = caution.curvature(objective, point, terms)
            gradient = judgement.slope + form.l2 * point.w
            dw, db, dz = direction(curvature.weighted(objective.mass).bound, gradient)
            t, new = line_search(objective, form, point, dw, dz, db, beyond=True)
            duals = [terms.gradient + curvature.times(dz)]
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
    ) -> tuple[_Direction, Point]:
        """With many rows per column, first solve on every fourth row.

        That solution is off by about d/(n/4) of the scale, and one step on all rows then suffices.
        """
        n, d = objective.design.shape
        if start is not objective.null or n * d < _WORTH_THINNING or n < _MANY_ROWS * d:
            return self._direction(objective, form, control), start
        thin = objective.thinned(_THINNING)
        # Share of the scale: a rough gap; safeguard.
        rough = replace(control, target=1e-4 * thin.scale)
        before, start = self._begin(thin, form, thin.null, rough)
        for judgement in self._steps(thin, form, before, start):
            if judgement.gap <= rough.target or control.expired:
                break
        direction = self._direction(objective, form, control)
        direction.near_inverse = before.near_inverse
        return direction, objective.point(judgement.point.w, judgement.point.b)

    def _direction(self, objective: Objective, form: Separable, control: Control) -> _Direction:
        """How Newton systems are solved: Cholesky, preconditioned CG, or plain CG."""
        if not self._factorises(objective, control):
            return _Krylov(objective, form, control)
        if not self._reuses(objective, form):
            return _Cholesky(objective, form, control)
        return _Reused(objective, form, control)

    def _reuses(self, objective: Objective, form: Separable) -> bool:
        """Whether an earlier Hessian is a good preconditioner and saves work."""
        large = objective.n_features >= _WORTH_REUSING
        return not objective.design.sparse and large and bool((form.l2 > 0).all())

    def _factorises(self, objective: Objective, control: Control) -> bool:
        d = objective.n_features
        return d <= _DENSE_HESSIAN and 3 * 8 * d * d <= control.memory


class _Step(NamedTuple):
    """A step of the coefficients, of the intercept and of the scores."""

    dw: Array
    db: float
    dz: Array


class _Direction:
    """A way to solve the Newton system."""

    near_inverse: Solve | None = None
    """Solves the system of some rows, or of an earlier step."""

    def __init__(self, objective: Objective, form: Separable, control: Control) -> None:
        self._objective, self._form, self._control = objective, form, control

    def __call__(self, h: Array, gradient: Array) -> _Step:
        raise NotImplementedError


class _Cholesky(_Direction):
    """Steps by the factorised d×d Hessian."""

    def __call__(self, h: Array, gradient: Array) -> _Step:
        objective = self._objective
        hessian, mean = objective.hessian(h)
        hessian.flat[:: hessian.shape[0] + 1] += self._form.l2
        self.near_inverse = solver_for(hessian)
        dw = -self.near_inverse(gradient)
        db = -dot(mean, dw)
        return _Step(dw, db, objective.forward(dw) + db)


class _Krylov(_Direction):
    """Steps by preconditioned conjugate gradients; the intercept is eliminated by centring."""

    most = 500  # products of one step; safeguard
    sharp = False  # whether rᵀM⁻¹r is about twice what a step gains
    products = 0  # products of the last step

    def __call__(self, h: Array, gradient: Array) -> _Step:
        objective, form = self._objective, self._form
        total = float(h.sum())
        centre = np.zeros_like(gradient)
        if objective.intercept and total > 0:
            centre = objective.backward(h) / total
        # The diagonal of the Hessian, as if all samples had the same curvature.
        diagonal = np.maximum(objective.spread - centre**2, EPS * objective.spread) * total
        diagonal += form.l2
        diagonal[diagonal <= 0] = 1.0
        self.products = 0

        def product(v: Array) -> tuple[Array, Array]:
            self.products += 1
            image, scores = objective.curvature_product(v, -dot(centre, v), h)
            image += form.l2 * v
            return image, scores

        stop = _good_enough(form, gradient, objective.scale, self._control, self.sharp)
        precondition = self._preconditioner(h, diagonal)
        dw, dz = conjugate_gradients(product, -gradient, precondition, stop, self.most)
        return _Step(dw, -dot(centre, dw), dz)

    def _preconditioner(self, h: Array, diagonal: Array) -> Solve:
        return lambda residual: residual / diagonal


class _Reused(_Krylov):
    """The same with the Hessian of some rows, or of an earlier step, as preconditioner.

    A step then takes a few products, where forming a Hessian costs d of them. The preconditioned
    eigenvalues are within about 1 ± √(d/rows). If a step takes many products, they are not, and the
    Hessian of all rows is used from then on.
    """

    most = _MOST_PRODUCTS
    sharp = True

    def __call__(self, h: Array, gradient: Array) -> _Step:
        if self.products >= self.most:
            return _Cholesky(self._objective, self._form, self._control)(h, gradient)
        if self.products >= _STALE:
            self.near_inverse = None
        return super().__call__(h, gradient)

    def _preconditioner(self, h: Array, diagonal: Array) -> Solve:
        if self.near_inverse is None:
            self.near_inverse = self._of_some_rows(h, diagonal)
        return self.near_inverse or super()._preconditioner(h, diagonal)

    def _of_some_rows(self, h: Array, diagonal: Array) -> Solve | None:
        n, d = self._objective.design.shape
        every = max(n // (_SAMPLED_ROWS * d), 1)
        self._objective.meter.passes += 1.0 / every
        matrix = self._objective.thinned(every).hessian(every * h[::every]).matrix
        # A rare column may be absent from these rows; a tenth of its diagonal is kept (safeguard).
        places = np.arange(d)
        matrix[places, places] = np.maximum(matrix[places, places] + self._form.l2, 0.1 * diagonal)
        return factorise(matrix)


def _good_enough(
    form: Separable, gradient: Array, scale: float, control: Control, sharp: bool
) -> Callable[[Array, float, float], bool]:
    """Stop CG when its residual adds less to the gap than the quadratic model's error will.

    A residual r adds Σ rⱼ²/(2 l2ⱼ) to the gap of the Newton dual point.
    """
    curved = form.l2 > 0
    weight = np.where(curved, 0.5 / np.where(curved, form.l2, 1.0), 0.0)
    gap = dot(weight * gradient, gradient)
    share = min(0.1, gap / max(scale, 1e-300))  # at most 0.1; safeguard
    # Shares of the target and the gap left to the residual; safeguard.
    goal = max(0.4 * control.target, 0.1 * share * gap)
    all_curved = bool(curved.all())

    def stop(residual: Array, energy: float, first: float) -> bool:
        if all_curved:
            # The same shares as in ``goal``.
            known = sharp and max(0.4 * control.target, 0.1 * Caution().wrong(0.5 * first, scale))
            return dot(weight * residual, residual) <= (known or goal) or control.expired
        # Share of the first energy; safeguard.
        return energy <= 1e-4 * first * min(1.0, first) or control.expired

    return stop
