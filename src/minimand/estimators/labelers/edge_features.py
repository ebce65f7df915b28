"""Features that a user's function gives to the steps of sequences and to the edges of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..._base.typing import IntArray
from ..._base.wording import brief, counted
from ..inputs.matrix import all_finite
from .tokens import Unit


def gathered(
    function: Callable[[int], Any], counts: IntArray, unit: Unit, width: int | None
) -> Any:
    """The rows of all edges, one below the other; refused unless finite and one for each edge.

    Parameters
    ----------
    function : gives the rows of a sequence or graph by its number; not called where there are none
    counts : how many edges each has
    unit : what they are
    width : the number of columns, if it is known
    """
    parts = []
    for place in np.flatnonzero(counts).tolist():
        where = f"{unit.whole} {place} with {counted(int(counts[place]), unit.link)}"
        rows = _rows(_called(function, place, where, unit), int(counts[place]), where, unit)
        if width is not None and rows.shape[1] != width:
            raise ValueError(
                f"edge_features gave {counted(rows.shape[1], 'column')} for {where}, but {width} "
                "before: give as many everywhere."
            )
        width = rows.shape[1]
        parts.append(rows)
    if any(map(sparse.issparse, parts)):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts) if parts else np.zeros((0, width or 0))


def _called(function: Callable[[int], Any], place: int, where: str, unit: Unit) -> Any:
    """What the user's function gives; if it fails, a sentence says what it was given."""
    try:
        return function(place)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"edge_features raised {type(error).__name__} for {where} ({error}): it is called with "
            f"the numeric rows of the {unit.whole}, a sparse matrix if its {unit.part}s are dicts."
        ) from error


def _rows(found: Any, count: int, where: str, unit: Unit) -> Any:
    """What the function gave, as numbers."""
    rows = found
    if not sparse.issparse(found):
        try:
            rows = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty(0)
    if rows.ndim != 2 or rows.shape[0] != count:
        raise ValueError(
            f"edge_features gave {brief(found)} for {where}, but must give a matrix of numbers "
            f"with a row for each {unit.link}."
        )
    if not all_finite(rows):
        raise ValueError(
            f"edge_features gave NaN or infinity for {where}: it must give finite numbers."
        )
    return rows
