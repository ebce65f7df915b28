"""Small parts of sentences."""

from __future__ import annotations


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
