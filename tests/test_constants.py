"""Every numeric constant says where its number comes from, in its line or in a comment by it."""

import ast
import re
from itertools import takewhile
from pathlib import Path

from layers import SOURCE

CORE = SOURCE.parents[1] / "core"
# Measured (where), a safeguard (results do not depend on it), a convention (of whom), a definition,
# derived from other numbers, or a rough estimate.
SOURCES = re.compile(r"measured|safeguard|convention|definition|derived|estimate", re.IGNORECASE)
DECLARED = re.compile(r"^ *(?:inline |static )*constexpr [\w:]+ (k\w+) =([^;]*;)")
LITERAL = re.compile(r"(?<![\w.])\.?\d")


def is_number(node):
    """Whether an expression consists of literal numbers."""
    if isinstance(node, ast.Tuple):
        return len(node.elts) > 0 and all(map(is_number, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def constants_of_python(text):
    """Name, first and last line (from 0) of every number that a module assigns at its top."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign):
            target, value = node.target, node.value
        else:
            continue
        if value is not None and is_number(value):
            yield ast.unparse(target), node.lineno - 1, node.end_lineno - 1


def constants_of_cpp(text):
    """The same of every `constexpr` whose value has a literal number in it."""
    for number, line in enumerate(text.split("\n")):
        found = DECLARED.match(line)
        if found and LITERAL.search(found[2]):
            yield found[1], number, number


def comment_of(lines, first, last, mark):
    """What is said about a constant: in its line, below it, and above it or its paragraph."""
    said = [line.partition(mark)[2] for line in lines[first : last + 1]]
    for line in lines[last + 1 :]:
        if not line.strip().startswith(mark):
            break
        said.append(line)
    top = first
    while top > 0 and lines[top - 1].strip():
        top -= 1
    for above in (lines[top:first], lines[top:first][::-1]):  # the paragraph's heading; its own
        said += takewhile(lambda line: line.strip().startswith(mark), above)
    return "\n".join(said)


def unexplained(text, constants, mark):
    lines = text.split("\n")
    return [
        name
        for name, first, last in constants(text)
        if not SOURCES.search(comment_of(lines, first, last, mark))
    ]


def unexplained_in(folder, endings, constants, mark):
    """Constants of a folder without a source, as one line each."""
    return [
        f"{path.relative_to(folder)}: {name}"
        for ending in endings
        for path in sorted(Path(folder).rglob(ending))
        for name in unexplained(path.read_text(encoding="utf-8"), constants, mark)
    ]


def test_constants_of_python_say_where_they_come_from():
    assert unexplained_in(SOURCE, ["*.py"], constants_of_python, "#") == []


def test_constants_of_the_core_say_where_they_come_from():
    assert unexplained_in(CORE, ["*.cpp", "*.hpp"], constants_of_cpp, "//") == []


def test_the_test_sees_constants():
    python = "_A = 3\n\n_B = -2.0 * 4, 5  # safeguard\n_C: int = 1 << 3  # rows\n_D = len('abc')\n"
    assert unexplained(python, constants_of_python, "#") == ["_A", "_C"]
    cpp = "constexpr int kA = 3;\n\nconstexpr double kB = .5;\n// measured on paths\n\n"
    cpp += "  static constexpr double kC = 4 * std::numeric_limits<double>::epsilon();\n"
    cpp += "inline constexpr double kD = -std::numeric_limits<double>::infinity();\n"
    assert unexplained(cpp, constants_of_cpp, "//") == ["kA", "kC"]


def test_core_and_package_have_many_constants():
    for folder, ending, constants in (
        (SOURCE, "*.py", constants_of_python),
        (CORE, "*.?pp", constants_of_cpp),
    ):
        texts = (path.read_text(encoding="utf-8") for path in folder.rglob(ending))
        assert sum(len(list(constants(text))) for text in texts) > 100
