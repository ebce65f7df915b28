"""The state that `partial_fit` keeps from one batch to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._base.typing import AnyArray, Array, ArrayLike
from ..canonical.row_steps import Rule
from ..design import Design
from ..kernels import kernel_of
from ..problem.objective import Objective
from ..solvers import Control, Sgd
from ..solvers.stochastic.learner import Learner
from ..solvers.stochastic.learning_rate import SAMPLE
from .inputs import data
from .inputs.matrix import matrix_of
from .inputs.stream_order import Order
from .posing.coded import Coded, one_sample
from .problem import Fitted
from .settings import Settings, with_found_scale


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a stream: φ(X), targets, weights and offsets.

    The objectives do not contain the weights: a stream has one mean, over all its batches.
    """

    X: Any
    coded: Coded

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def settings(self) -> Settings:
        """The parameters at the time of the batch."""
        return self.coded.settings

    @cached_property
    def objectives(self) -> Sequence[Objective]:
        """The problem of every score on these rows; alpha=None counts these rows alone."""
        return replace(self.coded.at_one_sample(), weights=None).objectives(self.X)

    def under(self, alpha: float) -> Sequence[Objective]:
        """The objectives with this alpha if none was given."""
        if self.settings.alpha is not None:
            return self.objectives
        coded = replace(self.coded, settings=self.settings.at(alpha), weights=None)
        return coded.objectives(self.X)

    @property
    def weight(self) -> Array:
        """The weight of every row."""
        return np.ones(self.n_rows) if self.coded.weights is None else self.coded.weights

    def __getstate__(self) -> dict[str, Any]:
        """Arrays and settings; objectives are built from these again."""
        return {name: value for name, value in vars(self).items() if name != "objectives"}

    def after(self, before: list[Batch]) -> Batch:
        """One batch of the earlier rows and these."""
        parts = [*before, self]
        matrices = [part.X for part in parts]
        some = any(map(sparse.issparse, matrices))
        X = sparse.vstack(matrices, format="csr") if some else np.vstack(matrices)
        target = np.concatenate([part.coded.target for part in parts])
        weights = _joined([(part.coded.weights, part.n_rows) for part in parts], 1.0)
        offset = _joined([(part.coded.offset, part.n_rows) for part in parts], 0.0)
        return Batch(X, replace(self.coded, target=target, weights=weights, offset=offset))


def _joined(parts: list[tuple[Array | None, int]], missing: float) -> Array | None:
    """Vectors concatenated; a vector that is None is filled with ``missing``."""
    if all(values is None for values, _ in parts):
        return None
    return np.concatenate([np.full(n, missing) if v is None else v for v, n in parts])


@dataclass
class Stream:
    """The learner of all scores and its schedule, kept on the estimator between batches.

    Step sizes that are not given are found on the first rows. These rows are kept until there are
    enough of them, and learnt again with new step sizes whenever their number has doubled.
    """

    solver: Sgd
    start: tuple[Array, Array]
    opening: list[Batch] | None = field(default_factory=list)  # None: steps are final
    chosen_on: int = 0  # rows that the step sizes were chosen on
    fitted_on: int = 0  # rows of the fit that the stream starts from
    fitted_weight: float = 0.0  # Σs of these rows, needed if alpha=None
    total: float = 0.0  # Σs of all rows so far, with those of the fit
    order: Order = field(default_factory=Order)

    def check_same(self, solver: Sgd) -> None:
        """Refuse options that differ from those at the start of the stream."""
        if solver != self.solver:
            raise ValueError(
                f"solver={solver!r} is not what this stream began with, {self.solver!r}: set it "
                "back, or call fit, or take a clone, to begin anew."
            )

    def learn(self, batch: Batch) -> tuple[Array, Array]:
        """Make one step per row, in order; returns coefficients (k, d) and intercepts (k,)."""
        classes = getattr(batch.coded.output, "classes", None)
        if classes is not None:
            self.order.watch(batch.coded.targets, classes)
        if self.opening is not None:
            batch = self._open(batch, self.opening)
        order = np.flatnonzero(batch.weight).astype(np.uint32)
        problems: Sequence[Objective] = []
        for rows, alpha in self._in_parts(batch, order):
            problems = batch.under(alpha)
            self.learner.learn(problems, batch.weight, rows, self.steps)
        return self.learner.models(problems[0], bool(self.solver.average))

    def _in_parts(self, batch: Batch, order: AnyArray) -> Iterator[tuple[AnyArray, float]]:
        """Rows between the places where Σs passes a power of two, and 1/that power.

        That power is the value of alpha=None in a stream, whose total Σs is unknown. It does not
        depend on how rows are cut into batches. If alpha is given, all rows are one part.
        """
        sums = np.cumsum(np.append(self.total, batch.weight[order]))
        self.total = float(sums[-1])
        if batch.settings.alpha is not None:
            yield order, batch.settings.alpha
            return
        level = np.floor(np.log2(sums[1:]))
        cuts = np.flatnonzero(np.diff(level)) + 1
        for first, rows in zip([0, *cuts], np.split(order, cuts)):
            if rows.size:
                yield rows, float(np.exp2(-level[first]))

    def _open(self, batch: Batch, before: list[Batch]) -> Batch:
        """Choose step sizes if they are due; returns what to learn: the batch or all rows again."""
        known = sum(part.n_rows for part in before) + batch.n_rows
        if known < min(2 * self.chosen_on, SAMPLE):
            before.append(batch)
            return batch
        whole = batch.after(before) if before else batch
        self.chosen_on = known
        enough = known >= SAMPLE or self.solver.knows_its_steps
        self.opening = None if enough else [whole]
        rows = np.arange(known, dtype=np.uint32)
        start = np.array(self.start[0], dtype=float), np.array(self.start[1], dtype=float)
        sampled = whole.weight[whole.weight > 0][:SAMPLE]
        problems = whole.under(one_sample(sampled.size, sampled))
        self.steps = self.solver.steps_for(problems, rows, None, start)
        self.total = self.fitted_weight
        self.learner = Learner.start(*start, self.steps.rule, steps=self._steps_before)
        self._remember_fit(whole, rows)
        return whole

    @property
    def _steps_before(self) -> float:
        """Where a schedule begins; rates that adapt count by themselves."""
        return 0.0 if self.steps.rule == Rule.ADAPTIVE else float(self.fitted_on)

    def _remember_fit(self, batch: Batch, rows: AnyArray) -> None:
        """Shorten adaptive steps as the rows of an earlier fit would have done; w does not move.

        The rows of that fit are not available any more, so the rows of the batch replace them.
        """
        if not self.fitted_on or self.steps.rule != Rule.ADAPTIVE:
            return
        self.steps = self.steps._replace(rescale=False)  # the earlier fit was in the same units
        standing = self.steps._replace(eta=0.0, average_from=np.inf)
        weight = np.full(rows.size, self.fitted_on / rows.size)
        self.learner.learn(batch.objectives, weight, rows, standing)


def solver_of(estimator: Any) -> Sgd:
    """The Sgd solver of an estimator; refuses solvers that cannot learn from a stream."""
    solver = estimator.solver
    if isinstance(solver, str) and solver in ("auto", "sgd"):
        solver = Sgd()
    if not isinstance(solver, Sgd):
        raise ValueError(
            "partial_fit takes stochastic steps: solver must be 'auto', 'sgd' or a "
            f"minimand.solvers.Sgd object, not {solver!r}."
        )
    if getattr(estimator.features, "learnt", False) is True and not hasattr(estimator, "features_"):
        raise ValueError(
            f"features={estimator.features!r} are learnt along with the model, which takes all "
            "data at once: call fit first, on some of them, and partial_fit goes on from there."
        )
    if kernel_of(estimator.features) is not None and not hasattr(estimator, "features_"):
        raise ValueError(
            f"features={estimator.features!r} is a kernel, whose functions are sums over all rows, "
            "and a stream never has these at once: take RandomFourier(kernel), or call fit first, "
            "on some rows, and partial_fit goes on with functions of these."
        )
    _check_options(solver)
    return solver


def _check_options(solver: Sgd) -> None:
    """Refuse options that need all rows at once."""
    refused = {
        "early_stopping": (solver.early_stopping, False, "cannot hold rows out of a stream"),
        "balanced": (solver.balanced, False, "takes rows as they come, in no order of its own"),
        "epochs": (solver.epochs not in (None, 1), 1, "goes over every batch once"),
    }
    for name, (asked, default, words) in refused.items():
        if asked:
            raise ValueError(
                f"partial_fit {words}: {name}={getattr(solver, name)!r} of Sgd is for fit, use "
                f"Sgd({name}={default}), or set_params(solver__{name}={default}) after a fit."
            )


def batch_of(
    estimator: Any, settings: Settings, X: ArrayLike, y: ArrayLike, *beside: ArrayLike
) -> Batch:
    """The problem on one batch; features are fitted on the first batch.

    ``beside`` X and y there may be classes, sample_weight and offset, in this order.
    """
    classes, sample_weight, offset = (*beside, None, None, None)[:3]
    first = not hasattr(estimator, "coef_")
    X, y = data.check_xy(estimator, X, y, fitted=not first)
    if isinstance(X, Design):
        X = matrix_of(X)
    coded = estimator._coded(settings, y, sample_weight, offset, stream=True, classes=classes)
    return Batch(estimator._fit_features(X, y) if first else estimator._map_features(X), coded)


def learn_batch(estimator: Any, *batch: ArrayLike) -> None:
    """Learn from the next batch; the first call begins the stream."""
    solver = solver_of(estimator)
    settings = with_found_scale(estimator._checked_settings(), getattr(estimator, "loss_", None))
    rows = batch_of(estimator, settings, *batch)
    current: Stream | None = getattr(estimator, "_stream", None)
    if current is None:
        start = None
        if hasattr(estimator, "coef_"):  # the stream starts from the fitted model
            start = np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_)
        current = begin(estimator, rows, start)
    current.check_same(solver)
    learnt = current.learn(rows)
    estimator._stream = current
    coded = replace(rows.coded, settings=rows.settings.at(1.0 / current.total))
    estimator.alpha_ = coded.settings.factor
    estimator._fitted = Fitted.of(coded)
    estimator.__dict__.update(estimator._attributes(coded.output, *learnt))
    estimator.solver_, estimator.n_iter_ = Sgd.name, 1
    for name in ("certificate_", "history_", "_training"):  # of an earlier fit
        estimator.__dict__.pop(name, None)


def begin(estimator: Any, batch: Batch, start: tuple[Array, Array] | None) -> Stream:
    """A stream from zero, or from the model of a fit."""
    solver, first = solver_of(estimator), batch.objectives[0]
    verdict = solver.verdict(first, Control())
    if not verdict.ok:
        raise ValueError(f"partial_fit does not accept this problem: {verdict.reason}.")
    scores = batch.coded.output.scores
    if start is None:
        return Stream(solver, (np.zeros((scores, first.n_features)), np.zeros(scores)))
    evidence = getattr(getattr(estimator, "certificate_", None), "dual_point", None)
    alpha = getattr(estimator, "alpha_", 0.0)
    weight = 1.0 / alpha if estimator.alpha is None and alpha > 0 else 0.0
    rows = 0 if evidence is None else len(evidence)
    return Stream(solver, start, fitted_on=rows, fitted_weight=weight)
