"""The machine and the library versions; no host names, no paths."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARIES = (
    "minimand",
    "scikit-learn",
    "faiss-cpu",
    "celer",
    "skglm",
    "liblinear-official",
    "snapml",
    "glum",
    "cyanure",
    "rehline",
    "scikit-learn-intelex",
    "vowpalwabbit",
    "numpy",
    "scipy",
    "numba",
)


def cpu() -> str:
    """The processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine() -> str:
    """CPU, cores, memory and Python in a line."""
    parts = [f"{cpu()}, {os.cpu_count()} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        parts.append(f"{size / 2**30:.0f} GiB")
    parts.append(f"{platform.system()}, Python {platform.python_version()}")
    return ", ".join(parts)


def load() -> float | None:
    """Mean number of runnable tasks over the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def busy() -> str:
    """A warning if others are using the machine, else nothing."""
    now = load()
    if now is None or now < 0.5:
        return ""
    return (
        f"WARNING: the load average was {now:.1f} before the run. Wall times and their ratios are "
        "not reliable; solvers with threads suffer most."
    )


def versions() -> dict[str, str]:
    """Installed versions by distribution."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def build() -> str:
    """A short digest of minimand's Python files and compiled core as they are on disk.

    Numbers taken while somebody reinstalls the library belong to no single build; two digests
    that differ tell.
    """
    import minimand
    import minimand._core as core

    digest = hashlib.sha256()
    package = Path(minimand.__file__).parent
    for path in sorted({*package.rglob("*.py"), Path(core.__file__)}):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
