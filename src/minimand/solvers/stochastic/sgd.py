"""Stochastic gradient descent: a row at a time, for data that are large or never end."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._base.typing import AnyArray, Array
from ..._base.wording import counted
from ...canonical.row_steps import Rule
from ...certificate import Judgement, judge
from ...problem.intercept import recentred
from ...problem.objective import Objective, Point
from ..base import Control, Solver, Start, Verdict
from ..steps.row_copy import row_copy_counted
from ..traits import Trait
from .learner import UNCOMPILED_BATCH, Objectives, Steps, compiled, several
from .learning_rate import first_step, spread_of
from .training import HELD_OUT, SMALL, Classes, HeldOut, Training

# The power of 1/t in the length of step t, for every schedule; definition.
_POWERS = {"adaptive": 0.0, "fixed": 0.0, "decay": 1.0, "sqrt": 0.5, "pegasos": 1.0}
_EPOCHS = 5  # passes if neither epochs nor max_iter is given; convention: the documentation says it
_COST = 20.0  # units of `costs` per stored number and epoch; estimate


class Sgd(Solver):
    r"""Stochastic gradient descent: one row (or batch), one step; the model is an average.

    .. math:: w \leftarrow (1 - \eta_t l_2)\, w - \eta_t s_i \ell'(z_i, y_i)\, x_i

    An l1 part then moves every coefficient towards zero by η·l1 and stops there: exact zeros. The
    gap of such a fit is sound but loose. It stops after its epochs, not at a tolerance, and is
    taken by name only: in memory the other solvers are faster *and* certain. `partial_fit` of the
    estimators takes the same steps over a stream: rows as they come, every batch once. It refuses
    ``epochs``, ``balanced`` and ``early_stopping``, which are about all rows at once.

    The classes of one-versus-rest learn from the same passes, with the same schedule, unless
    ``early_stopping`` or ``balanced`` makes them differ.

    At a kink, margin losses take the slope on the left (a margin of exactly 1 still counts as too
    small for the hinge), distance losses the slope nearest to zero.

    Parameters
    ----------
    step : {"adaptive", "fixed", "decay", "sqrt", "pegasos"}, default="adaptive"
        The step of the t-th row: ``"fixed"`` η₀; ``"decay"`` η₀/(t + t₀); ``"sqrt"`` η₀/√(t + t₀);
        ``"pegasos"`` 1/(l2·t), but at most 1/√t for the intercept, which no penalty holds back; it
        needs many more than 1/l2 rows. ``"adaptive"``: every coefficient has the rate
        η₀/(largest \|xⱼ\|·√Σ(slope·xⱼ)²), so that the units of columns do not matter; and the loss
        of the row is followed along its flow dz/ds = −ℓ'(z), which cannot overshoot: two flows in
        a row are one of twice the length, so that a weight is as good as a repetition.
    eta0, t0 : float, optional
        By default found by cross-validation on a sample of at most 1000 rows.
    batch : int, default=1
        Rows per step. Losses without a compiled slope take at least 8, through NumPy.
    average : bool, default=True
        Hand over the average of all models, the t-th with weight t, or the last one where that has
        the lower objective (a stream knows none, and hands over the average); with an l1 part the
        average has the zeros of the last one.
    epochs : int, optional
        Passes over the data; by default the estimator's ``max_iter``, or 5.
    shuffle : bool, default=True
        Draw a new order for every epoch. Without it a fit starts from w = 0, b = 0 and takes the
        rows as they come: one epoch is what `partial_fit` does with the same rows if
        their weights are one on average. A stream never knows that average: there a weight
        counts as it is.
    balanced : bool, default=False
        Spread the rows of every class (or sign of the target) evenly over the epoch.
    early_stopping : bool, default=False
        Hold out some rows; end when their mean loss has not fallen for 3 epochs, and hand over
        the model for which it was least.
    validation_fraction : float, default=0.1
        The share that is held out then.

    Examples
    --------
    >>> import warnings, minimand as mm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)       # unscaled columns are fine
    >>> model = mm.Classifier(alpha=0.01, solver=mm.solvers.Sgd(epochs=10), random_state=0)
    >>> with warnings.catch_warnings(action="ignore"):   # that it ends by design
    ...     score = model.fit(X, y).score(X, y)
    >>> score > 0.9
    True
    """

    name = "sgd"
    by_name_only = True
    kind = (Trait.MEAN_OVER_SAMPLES,)
    shapes = (Trait.COLUMNS,)
    needs = Trait.SUM_OVER_FEATURES, Trait.NO_BOUNDS
    exhausted = "its last epoch (stochastic training ends early by design)"
    _classes: Classes | None = None

    def __init__(
        self,
        step: str = "adaptive",
        eta0: float | None = None,
        t0: float | None = None,
        batch: int = 1,
        average: bool = True,
        epochs: int | None = None,
        shuffle: bool = True,
        balanced: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
    ) -> None:
        self.step = step
        self.eta0 = eta0
        self.t0 = t0
        self.batch = batch
        self.average = average
        self.epochs = epochs
        self.shuffle = shuffle
        self.balanced = balanced
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction

    def check_parameters(self) -> None:
        """Refuse options outside their range, and such as the schedule would ignore."""
        if self.step not in _POWERS:
            raise ValueError(f"step of Sgd must be one of {tuple(_POWERS)}, not {self.step!r}.")
        for name in ("eta0", "t0"):
            value = getattr(self, name)
            if value is not None and not _positive(value):
                raise ValueError(f"{name} of Sgd must be None or a positive number, not {value!r}.")
        if self.step == "pegasos" and self.eta0 is not None:
            raise ValueError("eta0 of Sgd must be None for step='pegasos', which is 1/(l2·t).")
        if self.t0 is not None and self.step not in ("decay", "sqrt"):
            raise ValueError(f"t0 of Sgd must be None for step={self.step!r}, which has none.")
        for name, value in (("batch", self.batch), ("epochs", self.epochs)):
            if value is not None and not (_positive(value) and isinstance(value, numbers.Integral)):
                raise ValueError(f"{name} of Sgd must be an integer ≥ 1, not {value!r}.")
        for name in ("average", "shuffle", "balanced", "early_stopping"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} of Sgd must be True or False.")
        if self.balanced and not self.shuffle:
            raise ValueError("balanced=True of Sgd needs shuffle=True: it draws an order itself.")
        if not _positive(self.validation_fraction) or self.validation_fraction >= 1:
            raise ValueError(
                "validation_fraction of Sgd must be a number between 0 and 1, "
                f"not {self.validation_fraction!r}."
            )

    def accepts(self, objective: Objective, control: Control) -> Verdict:
        """Any loss that is a mean over samples; l1 and l2 parts, or no penalty."""
        form = objective.penalty.sum_over_features
        assert form is not None
        if objective.loss.in_order:
            return Verdict(False, f"{objective.loss!r} is infinite where a step may lead")
        if form.l1.ndim > 1 and (np.ptp(form.l1, axis=1).any() or np.ptp(form.l2, axis=1).any()):
            return Verdict(False, "the penalty differs between the scores")
        if self.step != "adaptive" and np.ptp(form.l2) > 0:
            words = "the l2 weights differ between features; take Sgd(step='adaptive')"
            return Verdict(False, words)
        if self.step == "pegasos" and not form.l2.any():
            return Verdict(False, "the step 1/(l2·t) of PEGASOS needs an L2 penalty")
        words = "by name only: a step per row, a loose certificate"
        if not compiled(objective):
            batch = max(self.batch, UNCOMPILED_BATCH)
            words += f"; {objective.loss!r} has no compiled slope: batches of {batch} in NumPy"
        epochs = self.epochs_of(control)
        verdict = Verdict(True, words, _COST * epochs * objective.design.nnz)
        copies = objective.design.row_copy_bytes
        return row_copy_counted(objective, control, verdict) if copies else verdict

    def shared(self, objectives: Sequence[Objective], starts: Sequence[Start]) -> Sgd:
        """All classes learn from one pass over the rows, with one schedule."""
        same = all(other.mass is objectives[0].mass for other in objectives)
        if len(objectives) == 1 or self.early_stopping or self.balanced or not same:
            return self
        solver = Sgd(**self.get_params(deep=False))
        solver._classes = Classes(solver, objectives, starts)
        return solver

    def iterate(self, objective: Objective, start: Point, control: Control) -> Iterator[Judgement]:
        """Epochs; the model is judged after every one if the data are small, else at the end."""
        yield judge(objective, start)
        if self._classes is not None:
            for point in self._classes.points(objective, control):
                yield judge(objective, point)
            return
        random = check_random_state(control.random_state)
        training, held = self._split(objective.n_samples, random)
        run = Training(self, [objective], [start], training, random)
        stopping = HeldOut(objective, held) if held.size else None
        epochs = self.epochs_of(control)
        for epoch in range(1, epochs + 1):
            run.epoch()
            over = epoch == epochs or control.expired
            if stopping is not None:
                point = stopping.better_of(run.points()[0])
                control.ended_by = HELD_OUT if stopping.over else ""
                over = over or stopping.over
            if over or objective.design.nnz <= SMALL:
                yield judge(objective, point if stopping is not None else run.points()[0])
            if over:
                return

    def epochs_of(self, control: Control) -> int:
        """The number of passes over the data."""
        return self.epochs or control.max_iter or _EPOCHS

    def point_of(self, objective: Objective, point: Point) -> Point:
        """The model with the best intercept; unchanged without shuffling, as in a stream."""
        return recentred(objective, point) if self.shuffle else point

    @property
    def knows_its_steps(self) -> bool:
        """Whether the options fix all steps, so that no sample is needed to find one."""
        given = self.eta0 is not None and (self.step != "decay" or self.t0 is not None)
        return given or self.step == "pegasos"

    def steps_for(
        self,
        objectives: Objectives,
        rows: AnyArray,
        random: Any,
        start: tuple[Array, Array] | None = None,
    ) -> Steps:
        """The schedule; the first step is found on a sample of the rows if it was not given.

        ``start`` holds the coefficients (k, d) and intercepts (k,) to begin with; zeros by default.
        Without a random state the sample is the first rows, as in a stream. Problems that differ in
        y alone share the schedule.
        """
        problems = several(objectives)
        form = problems[0].penalty.sum_over_features
        assert form is not None
        l2 = float(form.l2.max(initial=0.0))
        average_from = 0.0 if self.average else np.inf
        steps = Steps(
            0.0,
            power=_POWERS[self.step],
            rule=Rule.ADAPTIVE if self.step == "adaptive" else Rule.PLAIN,
            batch=self.batch,
            average_from=average_from,
        )
        if self.step == "pegasos":
            # The first step is 1/l2, which may be huge; no penalty would bring the intercept back.
            reach = 1.0 if problems[0].loss.smooth else spread_of(problems[0])
            return steps._replace(eta=1.0 / l2, intercept_step=reach)

        def plan(first: float) -> Steps:
            """The schedule with a first step of about this length."""
            if self.step != "decay":
                return steps._replace(eta=first, t0=self.t0 or 0.0)
            # η₀ = 1/l2 is the decay for which convergence is proved if P is l2-strongly convex.
            t0 = self.t0 or (1.0 / (l2 * first) if l2 else float(rows.size))
            return steps._replace(eta=self.eta0 or first * t0, t0=t0)

        if self.knows_its_steps:
            return plan(float(self.eta0))  # type: ignore[arg-type]
        sample = rows if random is None or not self.shuffle else random.permutation(rows)
        models = max(len(problems), problems[0].n_scores)
        zeros = np.zeros((models, problems[0].n_features)), np.zeros(models)
        return plan(first_step(problems, sample, plan, start or zeros))

    def _split(self, n: int, random: Any) -> tuple[AnyArray, AnyArray]:
        """Rows to train on, and rows that are held out."""
        rows = np.arange(n, dtype=np.uint32)
        if not self.early_stopping:
            return rows, rows[:0]
        count = int(np.ceil(self.validation_fraction * n))
        if count >= n:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {counted(n, 'sample')} leaves "
                "none to train on: lower it."
            )
        mixed = random.permutation(rows)
        return np.sort(mixed[count:]), np.sort(mixed[:count])

    def order_of(self, objective: Objective, rows: AnyArray, random: Any) -> AnyArray:
        """The rows in the order of the next epoch."""
        if not self.shuffle:
            return rows
        mixed = random.permutation(rows)
        if not self.balanced:
            return mixed
        y = objective.y[mixed]
        return _interleaved(mixed, y if objective.loss.target == "class" else y > 0, random)


def _interleaved(rows: AnyArray, classes: AnyArray, random: Any) -> AnyArray:
    """The same rows with each class spread evenly: the k-th of m comes at about (k + u)/m."""
    place = np.empty(rows.size)
    for each in np.unique(classes)[::-1]:
        part = classes == each
        count = int(part.sum())
        place[part] = (np.arange(count) + random.uniform(size=count)) / max(count, 1)
    return rows[np.argsort(place, kind="stable")]


def _positive(value: Any) -> bool:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and 0 < value < np.inf
