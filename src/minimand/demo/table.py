"""The table: with rich if it is installed, else as plain text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

from .compare import Row
from .tuning import Choice

_HEADINGS = (
    "problem",
    "library",
    "objective",
    "value",
    "certified gap",
    "time",
    "nonzeros",
    "support",
    "test score",
)
_LEFT = 3  # leading columns that hold words; definition
_WIDTH = 130  # characters of a line if there is no terminal; convention

NOTES = (
    "certified gap: a proved bound on (objective − best possible objective), divided by what there "
    "was to gain (objective of the model without features − least conceivable loss). The same "
    "referee computes it for both libraries. It says how well a model was optimised, not how well "
    "it predicts: that is the test score.",
    "! = the library itself warned that it had not converged, at its default settings.",
    "time: one fit on one thread of this machine, after one to warm up. Each library stops by its "
    "own rule, so this is not a benchmark.",
    "support: how many samples hold the plane of the SVM in its place; without the others it would "
    "be the same.",
    "The model is z = X w + b, b unpenalised; the columns of X are in their own units.",
)


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row as text."""
    words = row.objective.partition(", z =")[0]
    gap = f"{row.relative_gap:.0e}" if row.relative_gap >= 1e-15 else "< 1e-15"
    return (
        row.problem,
        row.library,
        words.replace("(z, y; ", "(").replace("(z, y)", ""),
        f"{row.value:.7g}",
        gap + (" !" if row.convergence_warning else "  "),
        f"{1e3 * row.seconds:.1f} ms",
        f"{row.nonzeros}/{row.features}",
        "" if row.support_vectors is None else str(row.support_vectors),
        f"{row.metric} {row.test_score:.3f}",
    )


def plain(rows: Sequence[Row]) -> str:
    """The table in plain text; a problem is named once."""
    body = [cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *body)]
    lines = [_line(_HEADINGS, widths), "  ".join("─" * width for width in widths)]
    for i, texts in enumerate(body):
        repeated = i > 0 and rows[i - 1].problem == rows[i].problem
        lines.append(_line(("", texts[1], "", *texts[_LEFT:]) if repeated else texts, widths))
    return "\n".join(lines)


def _line(texts: Sequence[str], widths: Sequence[int], left: int = _LEFT) -> str:
    padded = [
        text.ljust(width) if i < left else text.rjust(width)
        for i, (text, width) in enumerate(zip(texts, widths))
    ]
    return "  ".join(padded).rstrip()


def show(rows: Sequence[Row], out: TextIO | None = None) -> None:
    """Print the table and what it means."""
    out = out or sys.stdout
    width = shutil.get_terminal_size((_WIDTH, 24)).columns if out.isatty() else _WIDTH
    if not _show_rich(rows, out, width):
        print(plain(rows), end="\n\n", file=out)
    for note in NOTES:
        print(textwrap.fill(note, min(width, 100)), file=out)


def _show_rich(rows: Sequence[Row], out: TextIO, width: int) -> bool:
    """Print with rich; False if it is not installed."""
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for i, heading in enumerate(_HEADINGS):
        left = i < _LEFT
        table.add_column(heading, justify="left" if left else "right", no_wrap=not left)
    for i, row in enumerate(rows):
        problem, library, words, *numbers = cells(row)
        if i and rows[i - 1].problem == row.problem:
            problem = words = ""
        style = "bold" if row.library == "minimand" else "yellow" * row.convergence_warning
        texts = (Text(text, style=style) for text in (library, words, *numbers))
        table.add_row(Text(problem), *texts)
    Console(file=out, width=width).print(table)
    return True


_CHOICES = ("tuned", "library", "alpha chosen", "time", "nonzeros", "test score")


def show_choices(pairs: Sequence[tuple[Choice, Choice]], out: TextIO | None = None) -> None:
    """Print the second table: alpha by cross-validation, on the same grid and folds."""
    body = []
    for pair in pairs:
        for i, choice in enumerate(pair):
            time = f"{1e3 * choice.seconds:.0f} ms"
            count = f"{choice.nonzeros}/{choice.features}"
            score = f"{choice.metric} {choice.test_score:.3f}"
            name = "" if i else choice.problem
            body.append((name, choice.library, f"{choice.alpha:.4g}", time, count, score))
    widths = [max(map(len, column)) for column in zip(_CHOICES, *body)]
    print(_line(_CHOICES, widths, left=2), file=out)
    print("  ".join("─" * width for width in widths), file=out)
    for texts in body:
        print(_line(texts, widths, left=2), file=out)
    print(
        "The same folds and grid for both; by held-out squared error and by log loss. Each library "
        "at its own default tolerance, so that neighbours on the grid may change places.",
        file=out,
    )
