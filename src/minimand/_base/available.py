"""Methods that exist for some settings only, and whose absence says why."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any


def available_if(check: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Any]:
    """A method of objects that pass ``check``, as by scikit-learn's decorator of this name.

    ``hasattr`` is False where check(obj) is false or raises; the message of what it raised follows
    that of the AttributeError.
    """
    return lambda method: _Available(method, check)


class _Available:
    """A method that is looked up only where the check agrees."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool]) -> None:
        self.method, self.check = method, check
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, obj: Any, owner: type) -> Any:
        if obj is not None:
            self._refuse(obj, owner)
            return MethodType(self.method, obj)

        @wraps(self.method)
        def unbound(self_: Any, *args: Any, **kwargs: Any) -> Any:
            self._refuse(self_, owner)
            return self.method(self_, *args, **kwargs)

        return unbound

    def _refuse(self, obj: Any, owner: type) -> None:
        words = f"This {owner.__name__!r} has no attribute {self.method.__name__!r}"
        try:
            agreed = self.check(obj)
        except Exception as error:
            raise AttributeError(f"{words}: {error}") from error
        if not agreed:
            raise AttributeError(words)
