"""scikit-learn's own installed test files, with our drop-ins in place of its classes.

A test file is parsed, its imports of classes that `minimand.sklearn` has are pointed there, and the
result is executed under a new name. Of its tests, those are kept that reach a swapped class.
"""

import ast
import importlib.util
import sys
import types
from pathlib import Path

from sklearn import linear_model

import minimand.sklearn as drop_ins

OURS = frozenset(drop_ins.__all__)


PACKAGES = (
    "sklearn.linear_model",
    "sklearn.svm",
    "sklearn.decomposition",
    "sklearn.manifold",
    "sklearn.neighbors",
)
MODULES = ("linear_model", "svm", "neighbors")
_DROP_INS = "_drop_ins"


class _Swap(ast.NodeTransformer):
    """``from sklearn.linear_model import Lasso, Lars`` takes Lasso from us.

    ``linear_model.Lasso`` and ``svm.SVC`` do so, too: a test module may have names of its own that
    are those of classes.
    """

    def visit_ImportFrom(self, node):
        if not (node.module or "").startswith(PACKAGES):
            return node
        ours = [alias for alias in node.names if alias.name in OURS]
        theirs = [alias for alias in node.names if alias.name not in OURS]
        found = [ast.ImportFrom(drop_ins.__name__, ours, 0)] if ours else []
        return found + ([ast.ImportFrom(node.module, theirs, 0)] if theirs else [])

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in MODULES and node.attr in OURS:
            return ast.Attribute(ast.Name(_DROP_INS, ast.Load()), node.attr, node.ctx)
        return node


def swapped(name):
    """The namespace of an installed test module, for ``globals().update``."""
    path = Path(importlib.util.find_spec(name).origin)
    tree = ast.fix_missing_locations(_Swap().visit(ast.parse(path.read_text(encoding="utf-8"))))
    module = types.ModuleType(f"swapped_{name.replace('.', '_')}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where pickle looks for classes of the tests
    vars(module)[_DROP_INS] = drop_ins
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
        if current == _DROP_INS or current in OURS:
            return True
        if current not in seen:
            seen.add(current)
            todo += uses.get(current, ())
    return False


def is_ours(value):
    """Whether a parameter of a test is, or holds, or makes a drop-in."""
    return _is_of(value, drop_ins.__name__) or _makes(value, OURS)


def is_theirs(value):
    """Whether it is, or holds, a linear model that is scikit-learn's own."""
    theirs = _is_of(value, *PACKAGES) or _makes(value, linear_model.__all__)
    return theirs and not is_ours(value)


def _makes(value, names):
    """Whether it is a function that makes an estimator, and has its name."""
    named = isinstance(value, types.FunctionType) and value.__name__.removeprefix("Sparse")
    return named in names


def _is_of(value, *packages):
    if hasattr(value, "steps"):
        value = [step for _, step in value.steps]
    if isinstance(value, list | tuple):
        return any(_is_of(part, *packages) for part in value)
    cls = value if isinstance(value, type) else type(value)
    return any(base.__module__.startswith(packages) for base in cls.__mro__)
