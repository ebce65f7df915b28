"""Short names: ``"squared_hinge"`` for ``SquaredHinge()``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def snake_case(name: str) -> str:
    """``SquaredHinge`` → ``squared_hinge``, ``L1`` → ``l1``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Registry(Generic[T]):
    """Finds an object by its short name, or passes an object of the right kind through."""

    def __init__(
        self, role: str, base: type[T], classes: Iterable[type[T]], special: str = ""
    ) -> None:
        self.role, self.base = role, base
        self.special = special  # a name that the caller deals with, e.g. "auto"
        self._classes = {snake_case(cls.__name__): cls for cls in classes}

    @property
    def names(self) -> list[str]:
        """All short names, sorted."""
        return sorted(self._classes)

    def get(self, spec: Any) -> T:
        """The object that ``spec`` names; an instance of the base class is returned as it is."""
        if isinstance(spec, self.base):
            return spec
        if isinstance(spec, str) and spec in self._classes:
            return self._classes[spec]()
        special = f"{self.special!r} or " if self.special else ""
        raise ValueError(
            f"{self.role}={spec!r} is not known: pass {special}one of {self.names} "
            f"or a minimand {self.base.__name__} object{self._hint(spec)}"
        )

    def _hint(self, spec: Any) -> str:
        """The end of the sentence: what was probably meant."""
        if isinstance(spec, type):
            return f"; did you mean {spec.__name__}()?"
        close = get_close_matches(spec.lower(), self.names, n=1) if isinstance(spec, str) else []
        return f"; did you mean {close[0]!r}?" if close else "."
