"""Pages with several tables: lines that are printed as they come, and written at the end."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..measures.machine import busy, machine
from .page import line


class Tables:
    """Markdown with the machine, and the versions of the libraries that are compared."""

    def __init__(self, title: str, *libraries: str) -> None:
        self._lines: list[str] = []
        self.say(f"# {title}\n\n{machine()}; {', '.join(map(_named, libraries))}.")
        if warning := busy():
            self.say(f"\n{warning}")

    def say(self, text: str) -> None:
        """Some lines."""
        self._lines.append(text)
        print(text, flush=True)

    def head(self, *cells: str) -> None:
        """The head of a table."""
        self.say("\n" + line(cells) + "\n" + "|---" * len(cells) + "|")

    def row(self, *cells: object) -> None:
        """One row of it."""
        self.say(line(map(str, cells)))

    def write(self, path: Path | None) -> None:
        """Write all of it to a file, if there is one."""
        if path is not None:
            path.write_text("\n".join(self._lines) + "\n", encoding="utf-8")


def _named(library: str) -> str:
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"{library} is not installed"
