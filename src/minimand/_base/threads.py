"""The compiled core's threads under threadpoolctl, as those of BLAS and OpenMP are.

Importing this module registers a controller; ``threadpool_limits(1)`` and the limits that joblib
and scikit-learn set then hold for our kernels too. The core is loaded here because threadpoolctl
sees only libraries that are loaded when a limit is set; neither of the two needs NumPy.

A process has as many threads as processors, or fewer where its control group (a container, a
batch system) or OMP_NUM_THREADS allows less. The workers of a pool of threads share them.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from threadpoolctl import LibController, ThreadpoolController, register

from .. import _core

__all__ = [
    "CoreController",
    "get_num_threads",
    "lapack_threads",
    "one_blas_thread",
    "one_core_thread",
    "processor_quota",
]

# Sides of matrices between which LAPACK runs on one thread; measured: on a busy machine its threads
# wait for each other, and a Cholesky of side 900 took 120 ms instead of 10.
_SMALL, _LARGE = 64, 2000

get_num_threads = _core.get_num_threads


class CoreController(LibController):
    """Reads and sets the number of threads through two C symbols of the compiled core."""

    user_api = "minimand"
    internal_api = "minimand"
    filename_prefixes = ("_core.",)  # other packages have a _core too: the symbols identify ours
    check_symbols = ("minimand_get_num_threads", "minimand_set_num_threads")

    def get_num_threads(self) -> int:
        """Threads a kernel may use."""
        return int(self.dynlib.minimand_get_num_threads())

    def set_num_threads(self, num_threads: int) -> None:
        """Set the number of threads, for the whole process."""
        self.dynlib.minimand_set_num_threads(ctypes.c_int(num_threads))

    def get_version(self) -> str | None:
        """None: the core has no version of its own."""
        return None


register(CoreController)


def processor_quota(root: Path = Path("/")) -> float:
    """The number of processors that the control groups of this process allow; inf for no limit.

    The limits of parent groups count too. ``root`` is the folder that holds proc and sys.
    """
    quota = math.inf
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / controllers  # version 2 has one hierarchy, without a name
        group = mount / path.strip("/")
        for folder in (group, *group.parents):
            quota = min(quota, _quota_of(folder))
            if folder == mount:
                break
    return quota


def _quota_of(folder: Path) -> float:
    """The limit of one group, in microseconds of a period; "max" or -1 stands for none."""
    text = _text(folder / "cpu.max")
    if not text:  # version 1
        text = _text(folder / "cpu.cfs_quota_us") + _text(folder / "cpu.cfs_period_us")
    words = text.split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else math.inf


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _pool_size() -> int:
    """The size of the thread pool that the calling thread belongs to, e.g. joblib's "threading".

    Each worker may use its share of the processors. The share depends on the size of the pool only,
    not on what other workers do, so that results are reproducible.
    """
    pools = sys.modules.get("multiprocessing.dummy")
    worker = getattr(pools, "DummyProcess", ())
    queue = _queue_of(threading.current_thread())
    if not isinstance(threading.current_thread(), worker) or queue is None:
        return 1
    return sum(_queue_of(thread) is queue for thread in threading.enumerate())


def _queue_of(thread: threading.Thread) -> Any:
    """The task queue of a worker; all workers of one pool have the same."""
    return next(iter(getattr(thread, "_args", None) or ()), None)


_core.set_num_threads(math.ceil(min(processor_quota(), _core.get_num_threads())))
_core.ask_for_sharers(_pool_size)


class _OneThread:
    """One thread for some libraries, until their limits are restored.

    The same as a limit of threadpoolctl, which also reads the version and the path of every
    library: that takes longer than a small fit may.
    """

    def __init__(self, libraries: list[Any]) -> None:
        self._before = []
        for library in libraries:
            threads = library.num_threads
            if threads != 1:
                self._before.append((library, threads))
                library.set_num_threads(1)

    def restore_original_limits(self) -> None:
        """Give every library its threads back."""
        for library, threads in self._before:
            library.set_num_threads(threads)


class _Limit:
    """A limit of one thread for some libraries, shared by all threads that need it at a time."""

    def __init__(self, user_api: str) -> None:
        self._user_api = user_api
        self._lock = threading.Lock()
        self._users = 0
        self._process = 0  # number of forks: an entry made in a parent is not left in a child
        self._libraries: Any = None
        self._limit: Any = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_again)

    def _begin_again(self) -> None:
        """Reset after a fork: a child has no threads of its parent, so no users and no limit."""
        self._lock = threading.Lock()
        self._process += 1
        if self._users > 0 and self._limit is not None:
            self._limit.restore_original_limits()
        self._users, self._limit = 0, None

    def enter(self) -> int:
        """Count one more user; the first sets the limit. Returns the token that `leave` takes."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                if self._libraries is None:
                    self._libraries = ThreadpoolController().select(user_api=self._user_api)
                self._limit = _OneThread(self._libraries.lib_controllers)
            return self._process

    def leave(self, entered: int) -> None:
        """Count one user less; the last one lifts the limit."""
        with self._lock:
            if entered != self._process:
                return
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()

    def held(self) -> _Held:
        """Hold the limit inside a ``with`` block."""
        return _Held(self)


class _Held:
    """A limit inside a ``with`` block: a class, because small fits would notice a generator."""

    def __init__(self, limit: _Limit) -> None:
        self._limit = limit

    def __enter__(self) -> None:
        self._entered = self._limit.enter()

    def __exit__(self, *error: object) -> None:
        self._limit.leave(self._entered)


_BLAS_LIMIT = _Limit("blas")
_CORE_LIMIT = _Limit(CoreController.user_api)


def one_blas_thread() -> AbstractContextManager[None]:
    """Run LAPACK on one thread, since its threads wait for each other at every panel.

    For matrices of up to a few thousand columns two threads gain little on an idle machine, and
    were measured to be ten times slower on a busy one.
    """
    return _BLAS_LIMIT.held()


def lapack_threads(side: int) -> AbstractContextManager[None]:
    """One thread for LAPACK on a matrix of a medium side; else as many as it has."""
    return one_blas_thread() if _SMALL < side < _LARGE else nullcontext()


def one_core_thread() -> AbstractContextManager[None]:
    """Run our own kernels on one thread: when several problems are solved side by side."""
    return _CORE_LIMIT.held()
