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
    """Cores that others keep busy now, over a second; None where psutil is not installed.

    The system's load average would count, for minutes, a benchmark that has just ended.
    """
    try:
        import psutil
    except ImportError:
        return None
    return float(psutil.cpu_percent(interval=1.0)) / 100.0 * (os.cpu_count() or 1)


def busy(now: float | None = None) -> str:
    """A warning if others are using the machine (now, or as `load` said), else nothing."""
    now = load() if now is None else now
    if now is None or now < 0.3:
        return ""
    return (
        f"WARNING: others kept {now:.1f} cores busy before the run. Wall times and their ratios "
        "are not reliable; solvers with threads suffer most."
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
