"""Small parts of sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

_LONGEST = 60  # characters of a value within a sentence; safeguard


def brief(value: Any) -> str:
    """A value within a sentence: a long array or list by its shape, everything else in full.

    Examples
    --------
    >>> import numpy as np
    >>> from minimand._base.wording import brief
    >>> brief(0.5), brief([1, 2]), brief(np.eye(3)), brief(list(range(100)))
    ('0.5', '[1, 2]', 'array of shape (3, 3)', 'list of shape (100,)')
    """
    words = repr(value)
    if not isinstance(value, np.ndarray | list | tuple):
        return words
    if len(words) <= _LONGEST and "\n" not in words:
        return words
    try:
        shape = np.shape(value)
    except ValueError:  # lists of different lengths
        shape = (len(value),)
    kind = "array" if isinstance(value, np.ndarray) else type(value).__name__
    return f"{kind} of shape {shape}"


def counted(number: float, noun: str) -> str:
    """A number of things: ``1 pass``, ``2.5 passes``, ``3 rows``.

    Examples
    --------
    >>> from minimand._base.wording import counted
    >>> counted(1, "alpha"), counted(0, "batch"), counted(12345, "row")
    ('1 alpha', '0 batches', '12345 rows')
    """
    # 1e15: largest number shown in full; safeguard against long digits
    shown = f"{number}" if number == int(number) and number < 1e15 else f"{number:.4g}"
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith(("s", "ch", "x")) else "s"
    return f"{shown.removesuffix('.0')} {noun}{ending}"
