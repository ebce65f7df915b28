"""Peak growth of resident memory during one fit, in a process of its own.

The child makes the data, gives freed memory back to the system, resets the kernel's record of its
peak, fits once, and reads the record. Where the kernel has none, psutil is sampled.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from ..pages.report import Check
from ..problems import single
from ..problems.base import TARGET
from .fresh import fresh

NAMES = ("sparse_lasso", "dense_logistic_l2", "sparse_logistic_l2", "sparse_logistic_l1")
_LIMIT = 1.5
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def checks(names: list[str], quick: bool, say: Callable[[str], None]) -> list[Check]:
    """One child per problem."""
    found = []
    for name in names:
        options = ["--quick"] if quick else []
        growth, size = fresh(["-m", "bench.measures.memory", name, *options])
        ours, theirs = f"{growth / 2**20:.0f} MiB", f"X: {size / 2**20:.0f} MiB"
        found.append(Check(f"peak growth, {name}", ours, theirs, growth / size, _LIMIT, "× X"))
        say(f"  {name}: {ours}, {theirs}, {growth / size:.2f}×")
    return found


def growth_of(call: Callable[[], object]) -> int:
    """Bytes by which the resident memory peaked above its start."""
    gc.collect()
    _trim()
    if _RESET.exists():
        _RESET.write_text("5")
        before = _field("VmRSS")
        call()
        return max(_field("VmHWM") - before, 0)
    return _sampled(call)


def _field(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def _trim() -> None:
    """Give freed heap back to the system, so that the fit cannot hide in it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


def _sampled(call: Callable[[], object]) -> int:
    import psutil

    process = psutil.Process()
    before = peak = process.memory_info().rss
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    call()
    done.set()
    watcher.join()
    return int(peak - before)


def main() -> None:
    """In the child: print [growth, bytes of X]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=sorted(single.SYNTHETIC))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    from ..peers.minimand import estimator

    warnings.simplefilter("ignore")
    # A small fit of the same kind first: libraries and threads are not the data's memory.
    small = single.SYNTHETIC[options.name](True)
    estimator(small, TARGET).fit(small.X, small.y)
    problem = small if options.quick else single.SYNTHETIC[options.name](False)
    del small
    fitted = estimator(problem, TARGET)
    growth = growth_of(lambda: fitted.fit(problem.X, problem.y))
    print(json.dumps([growth, problem.data_bytes]))


if __name__ == "__main__":
    main()
