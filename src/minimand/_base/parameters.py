"""Value objects with named parameters: what losses, penalties and kernels are made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache, wraps
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .typing import Array
from .wording import brief

_PLAIN = frozenset((bool, int, float, str, type(None), np.bool_, np.int64, np.float64))
# What scikit-learn's clone also copies.
_BESIDE = frozenset(("_metadata_request", "_skl_callbacks", "_sklearn_output_config"))


@lru_cache(maxsize=256)
def _names(cls: Any) -> tuple[str, ...]:
    """Names of the constructor's arguments, in order."""
    if cls.__init__ is object.__init__:
        return ()
    return tuple(
        p.name
        for p in inspect.signature(cls).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )


@lru_cache(maxsize=256)
def _keywords(cls: Any) -> tuple[str, ...] | None:
    """Names of the keywords of ``__init__``; None if it takes any keyword."""
    _, *params = inspect.signature(cls.__init__).parameters.values()
    return None if any(p.kind is p.VAR_KEYWORD for p in params) else tuple(p.name for p in params)


@lru_cache(maxsize=256)
def _defaults(cls: Any) -> dict[str, Any]:
    """Constructor arguments and their defaults, cached because inspection is slow."""
    return {name: p.default for name, p in inspect.signature(cls).parameters.items()}


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
    return bool(a == b)


class Parameterized:
    """Stores constructor arguments unchanged; `get_params`, `set_params`, equality and repr.

    The constructor of a subclass assigns each argument to an attribute of the same name and
    does nothing else, so that scikit-learn's ``clone`` and ``GridSearchCV`` work on it.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep``, those of nested objects as ``outer__inner``."""
        own: Any = type(self)
        names = _names(own)
        params: dict[str, Any] = dict(zip(names, map(self.__getattribute__, names)))
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Parameterized):
                    nested = value.get_params(deep=True)
                    params.update({f"{name}__{key}": inner for key, inner in nested.items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; nested objects are replaced by a changed copy."""
        for name, value in merge_nested(self, params).items():
            setattr(self, name, value)
        return self

    def copy(self, **changes: Any) -> Self:
        """A new object with the same parameters, some of them changed."""
        new = type(self)(**self.get_params(deep=False))
        return new.set_params(**changes) if changes else new

    def snapshot(self) -> Self:
        """A copy with the cached facts; later changes of the object do not affect it."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __repr__(self) -> str:
        shown: list[str] = []
        own: Any = type(self)
        for name, default in _defaults(own).items():
            value = getattr(self, name, None)
            if default is inspect.Parameter.empty or not _same(value, default):
                shown.append(f"{name}={brief(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Parameterized):
            return NotImplemented
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_same(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        own: Any = type(self)
        return hash((own, _names(own)))


def check_number(
    owner: Any,
    name: str,
    words: str,
    legal: Callable[[float], bool],
    *,
    finite: bool = True,
    auto: bool = False,
) -> None:
    """Refuse a parameter that is not a number for which ``legal`` holds, saying what it must be.

    With ``auto``, the word "auto" is legal too.
    """
    value = getattr(owner, name)
    if auto:
        if isinstance(value, str) and value == "auto":
            return
        words += " or 'auto'"
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not (number and (np.isfinite(value) or not finite) and legal(value)):
        raise ValueError(f"{name} of {type(owner).__name__} must be {words}, not {value!r}.")


def as_numbers(value: Any) -> Array | None:
    """The value as an array of floats; None if it holds anything that is no number."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None


def check_count(owner: Any, name: str) -> None:
    """Refuse a parameter that is not an integer ≥ 1."""
    value = getattr(owner, name)
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} of {type(owner).__name__} must be an integer ≥ 1, not {value!r}.")


def advice(owner: type, name: str, valid: Iterable[str]) -> str:
    """What to write instead of a parameter that a class does not have, as the end of a sentence.

    ``_elsewhere`` of a class says what to write for parameters of other libraries.
    """
    known = getattr(owner, "_elsewhere", {})
    if name in known:
        return f"write {known[name]}"
    close = get_close_matches(name.lower(), valid, n=1)
    return f"choose from {sorted(valid)}" + (f", perhaps {close[0]!r}" if close else "")


class KnowsParameters:
    """Mixin in front of an estimator of scikit-learn, which inspects its signature at every fit."""

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """The parameter names, cached."""
        return super()._get_param_names()  # type: ignore[misc]

    def __sklearn_clone__(self: Any) -> Any:
        """scikit-learn's own clone; of numbers and words without the copies it makes of each."""
        params = self.get_params(deep=False)
        alone = _BESIDE.isdisjoint(self.__dict__)
        if alone and all(type(value) in _PLAIN for value in params.values()):
            twin = type(self)(**params)
            if all(getattr(twin, name) is value for name, value in params.items()):
                return twin
        return super().__sklearn_clone__()  # type: ignore[misc]


class NamesParameters(KnowsParameters):
    """Constructors whose error for an unknown parameter says what to write instead."""

    _elsewhere: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # type checkers shall read the signature of __init__

        def __new__(cls, *args: Any, **params: Any) -> Self:
            """A new object; refuses keywords that the constructor does not have."""
            valid = _keywords(cls)
            for name in params:
                if valid is not None and name not in valid:
                    text = f"{cls.__name__} has no parameter {name!r}"
                    raise TypeError(f"{text}: {advice(cls, name, valid)}.")
            return super().__new__(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; nested objects are replaced by a changed copy."""
        for name, value in merge_nested(self, params).items():
            setattr(self, name, value)
        return self


def store_arguments(owner: Any, arguments: Mapping[str, Any]) -> None:
    """Assign every argument of a constructor, its ``locals()``, to the attribute of its name."""
    owner.__dict__.update((name, value) for name, value in arguments.items() if value is not owner)


def extend_constructor(cls: Any, shared: Mapping[str, Any]) -> None:
    """Adds keywords, with their defaults, to a constructor that ends in ``**…`` and has no body.

    They join its signature, as scikit-learn wants it, and all arguments are stored.
    """
    init = cls.__init__
    own = inspect.signature(init)
    params = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    params += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in shared.items()
    ]
    signature = own.replace(parameters=params)
    places = [p.name for p in params if p.kind is p.POSITIONAL_OR_KEYWORD]
    defaults = {p.name: p.default for p in params if p.default is not p.empty}

    @wraps(init)
    def construct(*args: Any, **kwargs: Any) -> None:
        placed = dict(zip(places, args))
        arguments = {**defaults, **placed, **kwargs}
        twice = not placed.keys().isdisjoint(kwargs)
        if twice or len(args) > len(places) or arguments.keys() != signature.parameters.keys():
            signature.bind(*args, **kwargs)  # raises Python's own sentence
        store_arguments(args[0], arguments)

    construct.__signature__ = signature  # type: ignore[attr-defined]
    cls.__init__ = construct


def merge_nested(owner: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Turn ``{"penalty__weights": v}`` into ``{"penalty": <changed copy>}``.

    Objects named by nested keys are never changed in place: another estimator may hold them too.
    """
    valid = owner.get_params(deep=False)
    plain: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for key, value in params.items():
        name, _, inner = key.partition("__")
        if name not in valid:
            raise ValueError(
                f"Invalid parameter {name!r} for {type(owner).__name__}; "
                f"{advice(type(owner), name, valid)}."
            )
        if inner:
            nested.setdefault(name, {})[inner] = value
        else:
            plain[name] = value
    for name, inner_params in nested.items():
        target = plain.get(name, valid[name])
        if isinstance(target, Parameterized):
            plain[name] = target.copy(**inner_params)
        elif hasattr(target, "set_params"):
            from sklearn.base import clone

            plain[name] = clone(target).set_params(**inner_params)
        else:
            raise ValueError(
                f"{name}={target!r} of {type(owner).__name__} has no parameter "
                f"{next(iter(inner_params))!r}."
            )
    return plain
