"""The peers that are installed, by name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from .base import Peer

_LIBRARIES = (
    "sklearn",
    "celer",
    "skglm",
    "liblinear",
    "snapml",
    "glum",
    "cyanure",
    "rehline",
    "sklearn_kinks",
    "several",
    "glmnet",
    "quantreg",
    "adelie",
    "intelex",
)


def load(libraries: Iterable[str] = _LIBRARIES) -> tuple[dict[str, Peer], list[str]]:
    """Peers by name, and a note for every library that cannot be imported."""
    found: dict[str, Peer] = {}
    notes: list[str] = []
    for library in libraries:
        try:
            module = import_module(f".{library}", __name__)
        except Exception as error:  # a broken peer must not end the run
            notes.append(f"{library} was skipped: {type(error).__name__}: {error}")
            continue
        found.update({peer.name: peer for peer in module.PEERS})
    return found, notes
