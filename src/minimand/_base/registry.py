"""Short names: ``"squared_hinge"`` for ``SquaredHinge()``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@lru_cache(maxsize=256)
def snake_case(name: str) -> str:
    """``SquaredHinge`` → ``squared_hinge``, ``L1`` → ``l1``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", name).lower()


class Registry(Generic[T]):
    """Finds an object by its short name, or passes an object of the right kind through.

    It stores the names of classes; ``load`` imports the class of a name on first use.
    ``elsewhere`` maps other libraries' names of such objects (lower case, with underscores) to
    what to write here.
    """

    def __init__(
        self,
        role: str,
        base: type[T],
        classes: Iterable[str],
        load: Callable[[str], type[T]],
        special: str = "",
        elsewhere: Mapping[str | None, str] | None = None,
    ) -> None:
        self.role, self.base = role, base
        self.special = special  # a name that the caller handles itself, e.g. "auto"
        self.classes = {snake_case(name): name for name in classes}
        self._load = load
        self._made: dict[str, T] = {}
        self._elsewhere = elsewhere or {}

    @property
    def names(self) -> list[str]:
        """All short names, sorted."""
        return sorted(self.classes)

    def get(self, spec: Any, role: str = "") -> T:
        """The object that ``spec`` names; an instance of the base class is returned as it is.

        All users of a name share one object with its cached facts: it must not be changed in place.
        ``role`` is the argument that an error names, where it is not the usual one.
        """
        if isinstance(spec, str) and spec in self.classes:
            if spec not in self._made:
                self._made[spec] = self._load(self.classes[spec])()
            return self._made[spec]
        if isinstance(spec, self.base):
            return spec
        if known := self._known_elsewhere(spec):
            raise ValueError(f"{role or self.role}={spec!r} is not known: write {known}.")
        special = f"{self.special!r} or " if self.special else ""
        raise ValueError(
            f"{role or self.role}={spec!r} is not known: pass {special}one of {self.names} "
            f"or a minimand {self.base.__name__} object{self._hint(spec)}"
        )

    def _known_elsewhere(self, spec: Any) -> str | None:
        """What to write here for a name that other libraries use."""
        if isinstance(spec, str):
            spec = re.sub(r"[\s-]+", "_", spec.strip().lower())
        return self._elsewhere.get(spec) if spec is None or isinstance(spec, str) else None

    def _hint(self, spec: Any) -> str:
        """The end of an error message: the name that was probably meant."""
        if isinstance(spec, type):
            return f"; did you mean {spec.__name__}()?"
        close = get_close_matches(spec.lower(), self.names, n=1) if isinstance(spec, str) else []
        return f"; did you mean {close[0]!r}?" if close else "."


class Defaults(Mapping[str, T]):
    """The objects of a registry with default options, by short name; made on first use."""

    def __init__(self, registry: Registry[T]) -> None:
        self._registry = registry
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            if name not in self._registry.classes:
                raise KeyError(name)
            self._made[name] = self._registry.get(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry.classes)

    def __len__(self) -> int:
        return len(self._registry.classes)
