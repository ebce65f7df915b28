"""The table of speeds in README.md, taken from the results.

``python -m bench.readme`` writes it anew after a run, and a test checks that it is current.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PROBLEMS = {  # wins and losses alike: what a newcomer would ask for first
    "sparse_lasso": "lasso, 20,000 × 100,000 sparse",
    "leukemia_lasso": "lasso, 38 × 7129 (leukemia)",
    "path_lasso_dense": "lasso, 1000 × 10,000, 100 alphas",
    "dense_logistic_l2": "logistic + L2, 300,000 × 60",
    "sparse_logistic_l2": "logistic + L2, 50,000 × 50,000 sparse",
    "sparse_logistic_l1": "logistic + L1, 50,000 × 50,000 sparse",
    "leukemia_logistic_l1": "logistic + L1, 38 × 7129 (leukemia)",
    "sparse_hinge": "linear SVM, 50,000 × 50,000 sparse",
    "quantile_l1": "quantile + L1, 10,000 × 50",
    "ridge_tall": "ridge, 100,000 × 100",
    "ridge_path_tall": "ridge, 100,000 × 100, 100 alphas",
}
PEERS = ("minimand", "sklearn", "liblinear", "celer", "skglm")
BEGIN = "<!-- written by `python -m bench.readme` -->\n"
END = "<!-- end of the table -->"


def sections(text: str) -> dict[str, str]:
    """The text of every problem in a file of results."""
    parts = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def rows(section: str) -> list[dict[str, str]]:
    """The rows of a problem's table, by the titles of its columns."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [dict(zip(cells[0], line)) for line in cells[2:]]


def seconds(section: str) -> dict[str, float]:
    """The best time of every library that met the gap."""
    best: dict[str, float] = {}
    for row in rows(section):
        library = row["solver"].split()[0]
        if row["gap met"] == "yes":
            best[library] = min(float(row["seconds"]), best.get(library, float("inf")))
    return best


def stopped(section: str) -> dict[str, float]:
    """The seconds after which a library was stopped that had not met the gap by then."""
    limits: dict[str, float] = {}
    for row in rows(section):
        if found := re.search(r"never reached the gap \(over (\d+) s", row["remark"]):
            limits[row["solver"].split()[0]] = float(found[1])
    return limits


def results() -> dict[str, str]:
    """All problems that were measured; those of RESULTS.md count before those of other files."""
    files = sorted(HERE.glob("RESULTS*.md"), key=lambda path: path.name == "RESULTS.md")
    found: dict[str, str] = {}
    for path in files:
        found |= sections(path.read_text(encoding="utf-8"))
    return found


def table() -> str:
    """One line a problem, one column a library, the fastest in bold."""
    measured = results()
    lines = ["| seconds | " + " | ".join(PEERS) + " |"]
    lines.append("|---" * (1 + len(PEERS)) + "|")
    for name, words in PROBLEMS.items():
        section = measured.get(name, "")
        times, limits = seconds(section), stopped(section)
        if "minimand" in times:
            first = min(times[peer] for peer in PEERS if peer in times)
            cells = [_cell(times.get(peer), limits.get(peer), first) for peer in PEERS]
            lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(time: float | None, limit: float | None, first: float) -> str:
    if time is None:
        return "" if limit is None else f"> {limit:g}"
    words = f"{time:.3g}" if time < 1 else f"{time:.1f}"
    return f"**{words}**" if time == first else words


def divided(text: str) -> tuple[str, str, str]:
    """What stands before the table, the table, and what stands after it."""
    before, begin, rest = text.partition(BEGIN)
    written, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README.name} has no place for the table: {BEGIN!r} is missing.")
    return before, written, after


if __name__ == "__main__":
    first, _, last = divided(README.read_text(encoding="utf-8"))
    README.write_text(first + BEGIN + table() + END + last, encoding="utf-8")
