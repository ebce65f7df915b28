"""The ``minimand`` command. Nothing heavy is imported until a subcommand needs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="minimand",
        description="Learning as optimisation, with a certificate of how far a fit can be from "
        "the optimum.",
    )
    top.add_argument("--version", action="version", version=f"minimand {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command")
    demo = commands.add_parser(
        "demo",
        help="fit classic problems, audit scikit-learn beside them, tune, draw a path",
        description="Fits nine problems on data that ship with scikit-learn, certifies "
        "scikit-learn's own models beside them, chooses alpha by cross-validation with both, and "
        "draws the path, and what one outlier does to four losses, in the current directory. Takes "
        "a few seconds.",
    )
    demo.add_argument("--json", action="store_true", help="print the rows as JSON")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    top = parser()
    options = top.parse_args(arguments)
    if options.command == "demo":
        return _demo(as_json=options.json)
    top.print_help()
    return 2


def _demo(*, as_json: bool) -> int:
    from . import demo

    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(row) for row in demo.rows()], indent=2, ensure_ascii=False))
        return 0
    found = []
    for row in demo.rows():
        found.append(row)
        if sys.stderr.isatty():
            print(f"\r\033[K{row.problem} …", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    demo.show(found)
    tuned = demo.choices()
    print()
    demo.show_choices([(ours, theirs) for ours, theirs, _ in tuned])
    print(demo.draw(tuned[0][2], Path(demo.FIGURE)))
    print(demo.draw_outlier(Path(demo.OUTLIER_FIGURE)))
    return 0
