"""Public names of a package, loaded when they are first used.

Most fits need one loss, one penalty and one solver. A package that lists where its names live,
instead of importing them, loads nothing else; type checkers and editors read the same list in the
``__init__.pyi`` beside it, and a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def on_demand(
    package: str, homes: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Parameters
    ----------
    package : the package's ``__name__``.
    homes : the names that each of its modules defines.
    modules : those that are public themselves.

    Examples
    --------
    >>> import minimand.losses
    >>> "Huber" in dir(minimand.losses)
    True
    >>> minimand.losses.Huber(2.0)
    Huber(delta=2.0)
    """
    home_of = {name: module for module, names in homes.items() for name in names}
    contents = vars(sys.modules[package])

    def load(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        contents[name] = value
        return value

    def listed() -> list[str]:
        own = {name for name in contents if name.startswith("__")}.union(contents["__all__"])
        return sorted({*own, *home_of, *modules})

    return load, listed
