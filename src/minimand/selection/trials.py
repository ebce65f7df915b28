"""Cross-validates every combination of parameters over a path of alphas, and finds the best."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base.typing import AnyArray, Array
from .._base.watch import reason as reason_to_stop
from ..estimators.prepare import posed_for_path
from ..features.low_rank import MEMORY
from ..kernels.shared_distances import sharing_distances
from ..losses import Loss
from ..solvers import Control
from .combinations import Combination, words_of
from .cross_validation import cross_validate, path_on_all, with_sums
from .fold_sums import FoldSums
from .folds import CrossValidation, Outcome
from .grid import grid_of
from .kernel_paths import SharedFactor
from .path import Path
from .results import Scores, ranks
from .samples import Fold, Samples
from .scores import Scorer

_DISTANCES = 0.25  # of the memory, for distances that bandwidths of a kernel share; safeguard


@dataclass(frozen=True, eq=False)
class Trial:
    """One combination and the results of its cross-validation."""

    params: dict[str, Any]
    estimator: Any
    scores: Scores
    outcomes: list[Outcome]
    short: int  # fits that missed the tolerance
    reason: str = ""  # why it was stopped
    path: Path | None = None  # on all data
    sums: FoldSums | None = None

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key: trials whose folds are all complete come first, then the best mean score."""
        return self.complete, self.scores.highest

    @property
    def complete(self) -> bool:
        """Whether every fold was scored at every alpha."""
        return bool(self.scores.folds.all() and self.scores.known.all())


def table(trials: list[Trial]) -> dict[str, Any]:
    """Columns as in GridSearchCV, one entry per combination and alpha."""
    parts = [trial.scores.table(trial.outcomes) for trial in trials]
    sizes = [len(trial.scores.alphas) for trial in trials]
    if len(trials) == 1 and not trials[0].params:
        return parts[0]
    whole: dict[str, Any] = {
        f"param_{name}": _by_row([trial.params for trial in trials], name, sizes)
        for name in sorted({name for trial in trials for name in trial.params})
    }
    for key in dict.fromkeys(key for part in parts for key in part):
        columns = [part.get(key, np.full(n, np.nan)) for part, n in zip(parts, sizes)]
        whole[key] = np.concatenate(columns) if key != "params" else []
    for trial, part in zip(trials, parts):
        whole["params"] += [{**trial.params, **each} for each in part["params"]]
    known = np.concatenate([trial.scores.known for trial in trials])
    whole["rank_test_score"] = ranks(whole["mean_test_score"], known)
    return whole


def _by_row(given: list[dict[str, Any]], name: str, sizes: list[int]) -> Any:
    """One parameter by combination and alpha, masked where a combination does not have it."""
    values = np.empty(sum(sizes), dtype=object)
    mask = np.repeat([name not in params for params in given], sizes)
    ends = np.cumsum(sizes)
    for params, first, end in zip(given, [0, *ends[:-1]], ends):
        for i in range(first, end):  # one by one: a value may be a list
            values[i] = params.get(name)
    return np.ma.MaskedArray(values, mask=mask)


def rows_of(trials: list[Trial], index: int) -> tuple[int, int]:
    """The first row of a trial in the table, and the row after its last."""
    ends: Array = np.cumsum([0, *(len(trial.scores.alphas) for trial in trials)])
    return int(ends[index]), int(ends[index + 1])


@dataclass(frozen=True, eq=False)
class Search:
    """What the trials of all combinations share."""

    samples: Samples
    folds: list[Fold]
    scorer: Scorer | None
    measure: Loss | None
    alphas: Any  # their number, or the values
    eps: float | None
    refit: bool
    alone: bool  # every fold tests on one sample
    jobs: int
    verbose: bool
    names: AnyArray | None  # of the columns, if the checked samples have none

    def run(self, combinations: list[Combination], limits: Control) -> tuple[list[Trial], int]:
        """The trials until a stop, and the index of the best.

        Only the best keeps its path. Every combination gets an equal share of the remaining time.
        """
        trials: list[Trial] = []
        best = 0
        room = _DISTANCES * min(limits.memory, MEMORY)
        with sharing_distances(room) if len(combinations) > 1 else nullcontext():
            for i, combination in enumerate(combinations):
                trial = self.trial(combination, limits.share(len(combinations) - i))
                # A combination that was stopped is not compared with complete ones.
                worse = i > 0 and (bool(trial.reason) or trial.rank <= trials[best].rank)
                if not worse and i > 0:
                    trials[best] = replace(trials[best], path=None, sums=None)
                trials.append(replace(trial, path=None, sums=None) if worse else trial)
                best = best if worse else i
                if reason_to_stop():
                    break
        return trials, best

    def trial(self, combination: Combination, limits: Control) -> Trial:
        """One combination on a grid of alphas of its own."""
        samples, began = self.samples.for_features_of(combination.estimator), time.perf_counter()
        rest = (samples.X, samples.y, samples.weight, samples.offset)
        probe, problem = posed_for_path(combination.estimator, *rest)
        settings, objectives = problem.coded.settings, problem.objectives
        if self.names is not None:
            probe.feature_names_in_ = self.names
        alphas = grid_of(settings, objectives, self.alphas, self.eps, float(probe.tol))
        control = replace(
            probe._control([], limits.started), max_seconds=limits.max_seconds, until=limits.until
        )
        task = CrossValidation(
            probe, settings, samples, alphas, self.folds, self.scorer, self.measure, control,
            alone=self.alone, verbose=self.verbose,
            shared=SharedFactor.of(probe, problem, self.scorer),
        )  # fmt: skip
        if len(objectives) == 1:  # the sums are those of one target
            task = with_sums(task, objectives[0])
        jobs = 1 if control.callbacks else self.jobs
        path, short = None, 0
        # The path comes before the folds, so that a time limit leaves folds undone, not the path.
        if self.refit:
            path, short = path_on_all(task, problem, jobs)
        scores, outcomes = cross_validate(task, objectives, jobs)
        if self.verbose and combination.params:
            seconds = time.perf_counter() - began
            print(f"Tuned: {words_of(combination.params)}, {seconds:.2f} s", file=sys.stderr)
        short += sum(outcome.short for outcome in outcomes)
        found = (scores, outcomes, short, control.why, path, task.sums)
        return Trial(combination.params, probe, *found)
