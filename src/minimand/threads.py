"""The compiled core's threads under threadpoolctl, as those of BLAS and OpenMP are.

Importing this module registers a controller; ``threadpool_limits(1)`` and the limits that joblib
and scikit-learn set then hold for our kernels too. The core is loaded here because threadpoolctl
looks only at libraries that are loaded when a limit is set; neither needs NumPy.
"""

from __future__ import annotations

import ctypes

from threadpoolctl import LibController, register

from . import _core

__all__ = ["CoreController", "get_num_threads"]

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
