"""Imports go down only, and ARCHITECTURE.md draws the layers as they are."""

import ast

import pytest

import layers
from layers import LAYERS, SOURCE

LEVEL = {part: level for level, layer in enumerate(LAYERS) for part in layer}
FILES = [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


def part_of(path):
    """The top-level module or subpackage a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_parts(path):
    """Parts of minimand that a file imports, at the top or inside functions."""
    package = ["minimand", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "minimand" and len(name) > 1 and not name[1].startswith("__version"):
                yield name[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_down_only(path):
    mine = part_of(path)
    assert mine in LEVEL, f"{mine} has no layer yet: give it one in tests/layers.py."
    for other in imported_parts(path):
        assert other in LEVEL, f"{path.name} imports {other}, which has no layer."
        assert other == mine or LEVEL[other] < LEVEL[mine], (
            f"{path.relative_to(SOURCE)} imports {other}: imports go down only."
        )


def test_the_test_sees_imports():
    assert "losses" in set(imported_parts(SOURCE / "problem" / "objective.py"))
    assert {"audit", "certificate"} <= set(imported_parts(SOURCE / "demo" / "compare.py"))


def test_the_diagram_is_current():
    _, drawn, _ = layers.divided(layers.DOCUMENT.read_text(encoding="utf-8"))
    assert drawn == layers.drawing(), "run python -m tests.layers"


def test_every_room_says_what_it_is_for():
    rooms = [room for layer in LAYERS for part in layer for room in layers.rooms_of(part)]
    assert len(rooms) > len(LAYERS)
    assert [name for name, words in rooms if not words] == []
