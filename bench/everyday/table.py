"""The tables of EVERYDAY.md."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from ..measures import machine
from .cells import SMALL, TARGETS, Cell

MEDIAN = 0.4  # target of the median of all cells
TOTAL = 0.5  # target of all searches together
_HEADS = {
    "drop-ins": "Drop-ins at their defaults",
    "natives": "Losses and penalties, at the gap that scikit-learn's model reaches",
    "searches": "Searches, cross-validation and ensembles",
}
_NOTES = {
    "drop-ins": "HuberRegressor of scikit-learn may end at its limit of iterations on sparse data, "
    "short of its tol.",
    "natives": "Cells in brackets are milliseconds: scikit-learn has no such model.",
    "searches": "GridSearchCV: 5 folds, 20 values. Bagging: 50 members.",
}


def markdown(found: dict[str, list[Cell]], seed: int) -> str:
    """One table for every part: a row for each model, a column for each size."""
    compared = [cell for cells in found.values() for cell in cells if cell.ratio is not None]
    lines = [
        "# Everyday sizes",
        "",
        f"Written by `python -m bench everyday`, seed {seed}: seconds of minimand divided by those "
        f"of scikit-learn. Bold cells miss their target (≤ {TARGETS[1]} from {SMALL} rows on, "
        f"≤ {TARGETS[0]} below).",
        "",
        f"- {machine.machine()}",
        f"- scikit-learn {machine.versions()['scikit-learn']}",
    ]
    if compared:
        lines.append(f"- {_summary(compared)}")
    for part, cells in found.items():
        if cells:
            lines += ["", *_part(part, cells)]
    return "\n".join(lines) + "\n"


def _summary(cells: list[Cell]) -> str:
    ratios = [cell.ratio for cell in cells if cell.ratio is not None]
    return (
        f"{len(ratios)} cells, median {median(ratios):.2f} (target ≤ {MEDIAN}), "
        f"{sum(ratio > 1 for ratio in ratios)} above 1, "
        f"{sum(cell.missed for cell in cells)} bold"
    )


def _part(part: str, cells: list[Cell]) -> Iterator[str]:
    yield f"## {_HEADS[part]}"
    yield ""
    compared = [cell for cell in cells if cell.ratio is not None]
    yield (f"{_summary(compared)}. " if compared else "") + _NOTES.get(part, "")
    if part == "searches":
        ours, theirs = (sum(getattr(c, who) or 0.0 for c in compared) for who in ("ours", "theirs"))
        yield f"All of it: {ours:.1f} s and {theirs:.1f} s, {ours / theirs:.2f} (≤ {TOTAL})."
    yield ""
    names = list(dict.fromkeys(cell.data for cell in cells))
    known = {(cell.row, cell.data): cell for cell in cells}
    yield "| | " + " | ".join(names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for row in dict.fromkeys(cell.row for cell in cells):
        shown = [_shown(known.get((row, name))) for name in names]
        yield f"| {row} | " + " | ".join(shown) + " |"


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.ratio is None:
        return cell.words()
    return f"**{cell.ratio:.2f}**" if cell.missed else f"{cell.ratio:.2f}"
