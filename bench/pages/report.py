"""RESULTS.md: one table per problem, then the small things, memory, versions and the machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..measures.compare import Row, Table
from ..measures.judge import REFERENCE
from ..measures.machine import machine, versions
from ..problems.base import TARGET
from .page import line


@dataclass(frozen=True)
class Check:
    """One measured number against its target, for the tables that are not about peers' gaps."""

    what: str
    ours: str
    theirs: str
    value: float
    target: float
    unit: str = "ratio"
    remark: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.target


@dataclass(frozen=True)
class Epochs:
    """Stochastic training by one solver: an epoch, and fits at default settings."""

    problem: str
    solver: str
    epoch: float  # seconds
    fit: float = float("nan")  # seconds
    passes: float = float("nan")
    accuracy: float = float("nan")  # on held-out rows

    @property
    def words(self) -> str:
        if np.isnan(self.accuracy):
            return "no held-out rows"
        return (
            f"default fit {_seconds(self.fit)} s, n_iter_ {self.passes:.0f}, "
            f"accuracy {self.accuracy:.4f}"
        )


@dataclass
class Results:
    """Everything one run measured."""

    tables: list[Table] = field(default_factory=list)
    small: list[Check] = field(default_factory=list)
    memory: list[Check] = field(default_factory=list)
    epochs: list[Epochs] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    quick: bool = False
    repeats: int = 0
    load: float | None = None
    build: str = ""  # digest of minimand


def markdown(results: Results) -> str:
    """The whole file."""
    parts = [_head(results), _summary(results)]
    parts += [_problem(table) for table in results.tables]
    if results.small:
        parts.append(_checks("Small things", results.small))
    if results.memory:
        parts.append(_checks("Memory", results.memory))
    if results.epochs:
        parts.append(_epochs(results.epochs))
    if results.notes:
        parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in results.notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(results: Results) -> str:
    listed = ", ".join(f"{name} {number}" for name, number in versions().items())
    size = " Small sizes (`--quick`): not the real benchmark." if results.quick else ""
    busy = "" if results.load is None else f" Cores busy before the run: {results.load:.1f}."
    return (
        "# Results\n\n"
        f"Written by `python -m bench`.{size} Best of {results.repeats} interleaved repeats after "
        f"a warm-up; every solver is run to a relative gap of {TARGET:.0e} (where a problem names "
        "another, to that), judged for all by one function: (P(model) − D)/scale, with D from a "
        f"minimand fit at a tol of {REFERENCE:.0e} times the gap, recomputed from its dual point. "
        "`README.md` says how fairness is kept.\n\n"
        f"- Machine: {machine()}.{busy}\n- Libraries: {listed}.\n"
        f"- Build of minimand: {results.build}."
    )


def _summary(results: Results) -> str:
    lines = [
        "| problem | minimand, s | fastest peer | s | ratio | CPU ratio | target | met |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for table in results.tables:
        fastest = table.fastest
        peer = (fastest.solver, _seconds(fastest.seconds)) if fastest else ("none", "")
        ours = _seconds(table.ours.seconds)
        cells = [
            table.problem.name,
            ours,
            *peer,
            _ratio(table.ratio),
            _ratio(table.cpu_ratio),
            *_verdict(table),
        ]
        lines.append(line(cells))
    return "## Summary\n\n" + "\n".join(lines) if results.tables else ""


def _verdict(table: Table) -> tuple[str, str]:
    """The target and whether it was met."""
    target = table.problem.target
    if target is None:
        return "", ""
    if not table.ours.met:
        return f"≤ {target:g}", "no: gap not reached"
    return f"≤ {target:g}", _yes(table.ratio is None or table.ratio <= target)


def _problem(table: Table) -> str:
    problem = table.problem
    tested = any(row.accuracy for row in table.rows)
    head = [
        "solver",
        "seconds",
        "CPU s",
        "relative gap",
        "nonzeros",
        "tol given",
        "vs. minimand",
        "gap met",
    ]
    head += ["train / test accuracy"] if tested else []
    head += ["remark"]
    lines = [line(head), "|---" * len(head) + "|"]
    lines += [line(_cells(row, table, tested)) for row in table.rows]
    gap = f"; relative gap {problem.gap:.0e}" if problem.gap != TARGET else ""
    text = [f"## {problem.name}", f"{problem.describe()}{gap}. {problem.remark}".strip()]
    text.append("\n".join(lines))
    text.append(_footer(table))
    return "\n\n".join(text)


def _cells(row: Row, table: Table, tested: bool) -> list[str]:
    gap = f"{max(row.gap, 0.0):.1e}"
    over = "> " if row.stopped else ""
    slower = f"{over}{row.seconds / table.ours.seconds:.2f}×"
    cells = [row.solver, over + _seconds(row.seconds), over + _seconds(row.lap.cpu), gap]
    cells += ["" if row.nonzeros is None else str(row.nonzeros)]
    cells += [f"{row.tol:.0e}", slower, _yes(row.met)]
    if tested:
        cells.append("" if row.accuracy is None else "{:.4f} / {:.4f}".format(*row.accuracy))
    return [*cells, row.remark]


def _footer(table: Table) -> str:
    above = table.lowest
    words = [f"Reference: {table.judge.words()}."]
    if above < -1e-9:
        words.append(f"WARNING: a peer's objective is lower than the reference's, by {-above:.1e}.")
    elif above < float("inf"):
        words.append(f"No peer's objective is lower; the lowest is {max(above, 0.0):.1e} above.")
    if table.ratio is not None and table.fastest is not None:
        target, met = _verdict(table)
        words.append(f"Ratio minimand / {table.fastest.solver}: {_ratio(table.ratio)}")
        words[-1] += f" (target {target}, met: {met})." if target else "."
    return " ".join([*words, *table.notes])


def _checks(title: str, checks: Iterable[Check]) -> str:
    lines = [
        "| what | minimand | compared with | value | target | met | remark |",
        "|---|---|---|---|---|---|---|",
    ]
    for check in checks:
        value, target = f"{check.value:.2f} {check.unit}", f"≤ {check.target:g} {check.unit}"
        cells = [check.what, check.ours, check.theirs, value, target, _yes(check.met), check.remark]
        lines.append(line(cells))
    return f"## {title}\n\n" + "\n".join(lines)


def _epochs(rows: list[Epochs]) -> str:
    """Ratios to scikit-learn's solver, where it was run; the target is 0.7."""
    theirs = {row.problem: row.epoch for row in rows if row.solver.startswith("sklearn")}
    lines = [
        "| problem | solver | CPU s per epoch | vs. scikit-learn | default fit, CPU s | "
        "`n_iter_` | held-out accuracy |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row.problem, row.solver, _seconds(row.epoch)]
        base = theirs.get(row.problem)
        cells.append("" if base is None else _ratio(row.epoch / max(base, 1e-12)))
        known = not np.isnan(row.accuracy)
        cells += (
            [_seconds(row.fit), f"{row.passes:.0f}", f"{row.accuracy:.4f}"] if known else [""] * 3
        )
        lines.append(line(cells))
    return "## Stochastic training\n\n" + "\n".join(lines)


def _seconds(value: float) -> str:
    return f"{value:.3g}" if value < 1 else f"{value:.2f}"


def _ratio(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _yes(met: bool) -> str:
    return "yes" if met else "no"
