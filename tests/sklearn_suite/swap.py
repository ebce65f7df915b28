"""scikit-learn's own installed test files, with our drop-ins in place of its classes.

A test file is parsed, its imports of classes that `minimand.sklearn` has are pointed there, and the
result is executed under a new name. Of its tests, those are kept that reach a swapped class.
"""

import ast
import importlib.util
import types
from pathlib import Path

import minimand.sklearn as drop_ins

OURS = frozenset(drop_ins.__all__)


PACKAGES = ("sklearn.linear_model", "sklearn.svm")


class _Swap(ast.NodeTransformer):
    """``from sklearn.linear_model import Lasso, Lars`` takes Lasso from us, and so does svm.X."""

    def visit_ImportFrom(self, node):
        if not (node.module or "").startswith(PACKAGES):
            return node
        ours = [alias for alias in node.names if alias.name in OURS]
        theirs = [alias for alias in node.names if alias.name not in OURS]
        found = [ast.ImportFrom(drop_ins.__name__, ours, 0)] if ours else []
        return found + ([ast.ImportFrom(node.module, theirs, 0)] if theirs else [])

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "svm" and node.attr in OURS:
            return ast.Name(node.attr, node.ctx)
        return node


def swapped(name):
    """The namespace of an installed test module, for ``globals().update``."""
    path = Path(importlib.util.find_spec(name).origin)
    tree = ast.fix_missing_locations(_Swap().visit(ast.parse(path.read_text(encoding="utf-8"))))
    module = types.ModuleType(f"swapped.{name}")
    module.__file__ = str(path)
    vars(module).update({name: getattr(drop_ins, name) for name in OURS})  # for svm.X
    exec(compile(tree, path, "exec"), module.__dict__)
    uses = _uses(tree)
    return {
        key: value
        for key, value in vars(module).items()
        if not key.startswith("__") and (not key.startswith("test") or _reaches(key, uses))
    }


def _uses(tree):
    """The names that every definition at the top of a module mentions, arguments included."""
    uses = {}
    for node in tree.body:
        inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        inside |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        named = [node.name] if hasattr(node, "name") else []
        for target in getattr(node, "targets", ()):
            named += [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
        for name in named:
            uses[name] = uses.get(name, set()) | inside
    return uses


def _reaches(name, uses):
    """Whether a test mentions a swapped class, itself or through what it calls."""
    seen, todo = set(), [name]
    while todo:
        current = todo.pop()
        if current in OURS:
            return True
        if current not in seen:
            seen.add(current)
            todo += uses.get(current, ())
    return False


def is_ours(value):
    """Whether a parameter of a test is, or holds, a drop-in."""
    return _is_of(value, drop_ins.__name__)


def is_theirs(value):
    """Whether it is, or holds, a linear model that is scikit-learn's own."""
    return _is_of(value, *PACKAGES) and not is_ours(value)


def _is_of(value, *packages):
    if hasattr(value, "steps"):
        value = [step for _, step in value.steps]
    if isinstance(value, list | tuple):
        return any(_is_of(part, *packages) for part in value)
    cls = value if isinstance(value, type) else type(value)
    return any(base.__module__.startswith(packages) for base in cls.__mro__)
