"""The layers of the package, which the diagram of ARCHITECTURE.md is drawn from.

A room (a folder or a single module of ``src/minimand``) imports from lower layers only, and the
rooms of one layer do not import each other; ``test_layers.py`` checks it. What the diagram says
of a room is the first line of its docstring. After a change, write the diagram anew with::

    python -m tests.layers
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "minimand"
DOCUMENT = ROOT / "ARCHITECTURE.md"

LAYERS = [  # from the ground up
    {"_core"},
    {"_base"},
    {"losses", "penalties", "design", "kernels"},
    {"outputs", "transforms", "norms", "features"},
    {"problem"},
    {"canonical"},
    {"certificate"},
    {"solvers"},
    {"report", "metrics"},
    {"estimators"},
    {"selection", "reverse"},
    {"audit"},
    {"sklearn"},
    {"testing", "demo"},
    {"cli"},
    {"__main__"},
]
_BEGIN = "<!-- drawn by `python -m tests.layers` -->\n```text\n"
_END = "```\n<!-- end of the drawing -->"
_COMPILED = "The compiled kernels of core/, as one extension module."


def said_of(path):
    """The first line of a module's docstring, without its quotes and full stop."""
    if not path.exists():
        return ""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return words.partition("\n")[0].replace("``", "").replace("`", "").rstrip(".")


def rooms_of(part):
    """(name, words) of a room and of the rooms inside it."""
    folder = SOURCE / part
    if part == "_core":
        return [(part, _COMPILED.rstrip("."))]
    if not folder.is_dir():
        return [(f"{part}.py", said_of(SOURCE / f"{part}.py"))]
    inner = sorted(path for path in folder.iterdir() if (path / "__init__.py").exists())
    rooms = [(f"{part}/", said_of(folder / "__init__.py"))]
    return rooms + [(f"  {path.name}/", said_of(path / "__init__.py")) for path in inner]


def drawing():
    """One line a room, the highest layer first; rooms with the same number share a layer."""
    lines = []
    for level, layer in reversed(list(enumerate(LAYERS))):
        for part in sorted(layer):
            for name, words in rooms_of(part):
                number = "" if name.startswith(" ") else level
                lines.append(f"{number:>2}  {name:14} {words}".rstrip())
    return "\n".join(lines) + "\n"


def divided(text):
    """What stands before the drawing in a document, the drawing, and what stands after it."""
    before, begin, rest = text.partition(_BEGIN)
    drawn, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT.name} has no place for the drawing: {_BEGIN!r} is missing.")
    return before, drawn, after


def main():
    """Put the drawing into the document."""
    before, _, after = divided(DOCUMENT.read_text(encoding="utf-8"))
    DOCUMENT.write_text(before + _BEGIN + drawing() + _END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
