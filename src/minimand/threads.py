"""The compiled core's threads under threadpoolctl, as those of BLAS and OpenMP are.

Importing this module registers a controller; ``threadpool_limits(1)`` and the limits that joblib
and scikit-learn set then hold for our kernels too. The core is loaded here because threadpoolctl
looks only at libraries that are loaded when a limit is set; neither needs NumPy.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from threadpoolctl import LibController, ThreadpoolController, register

from . import _core

__all__ = ["CoreController", "get_num_threads", "one_blas_thread", "one_core_thread"]

get_num_threads = _core.get_num_threads


class CoreController(LibController):
    """Reads and sets the number of threads through two C symbols of the compiled core."""

    user_api = "minimand"
    internal_api = "minimand"
    filename_prefixes = ("_core.",)  # other packages have a _core too: the symbols tell ours
    check_symbols = ("minimand_get_num_threads", "minimand_set_num_threads")

    def get_num_threads(self) -> int:
        """Threads a kernel may use."""
        return int(self.dynlib.minimand_get_num_threads())

    def set_num_threads(self, num_threads: int) -> None:
        """Set it, for the whole process."""
        self.dynlib.minimand_set_num_threads(ctypes.c_int(num_threads))

    def get_version(self) -> str | None:
        """The core has the version of the package, and threadpoolctl need not know it."""
        return None


register(CoreController)


class _Limit:
    """A limit of one thread in some libraries, shared by all who ask for it at the same time."""

    def __init__(self, user_api: str) -> None:
        self._user_api = user_api
        self._lock = threading.Lock()
        self._users = 0
        self._libraries: Any = None
        self._limit: Any = None

    def enter(self) -> None:
        """The first one in sets the limit."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                if self._libraries is None:
                    self._libraries = ThreadpoolController().select(user_api=self._user_api)
                self._limit = self._libraries.limit(limits=1)

    def leave(self) -> None:
        """The last one out lifts it."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()

    @contextmanager
    def held(self) -> Iterator[None]:
        """As long as somebody needs it."""
        self.enter()
        try:
            yield
        finally:
            self.leave()


_BLAS_LIMIT = _Limit("blas")
_CORE_LIMIT = _Limit(CoreController.user_api)


def one_blas_thread() -> AbstractContextManager[None]:
    """Run LAPACK on one thread: its threads wait for each other at every panel.

    For matrices of a few thousand columns two threads gain little when the machine is idle, and
    lose a factor of ten when it is not.
    """
    return _BLAS_LIMIT.held()


def one_core_thread() -> AbstractContextManager[None]:
    """Run our own kernels on one thread: when several problems are solved side by side."""
    return _CORE_LIMIT.held()
