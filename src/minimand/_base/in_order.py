"""Work on many items by several threads, with results in the order of the items."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from .threads import one_blas_thread, one_core_thread
from .watch import look

_AHEAD = 4  # items per thread that are begun before the first result is taken; safeguard

S = TypeVar("S")
T = TypeVar("T")


def in_order(work: Callable[[S], T], items: Sequence[S], jobs: int) -> Iterator[T]:
    """``work`` on all items, ``jobs`` at a time; its results in the order of the items.

    Each thread has BLAS and our own kernels to itself: threads inside short calls would wait for
    each other at every one of them.
    """
    with one_blas_thread():
        if jobs <= 1:
            for item in items:
                look()
                yield work(item)
            return
        with one_core_thread(), ThreadPoolExecutor(jobs) as pool:
            begun: deque[Future[T]] = deque()
            try:
                for item in items:
                    begun.append(pool.submit(work, item))
                    if len(begun) > _AHEAD * jobs:
                        look()
                        yield begun.popleft().result()
                while begun:
                    look()
                    yield begun.popleft().result()
            finally:
                for future in begun:
                    future.cancel()
