"""What a labelling may look like: allowed transitions, costs, weights that exist."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._base.typing import AnyArray, Array, BoolArray, IntArray
from ..._base.wording import brief
from ...solvers.structured.problem import Allowed


class Masks(NamedTuple):
    """The labellings and the weights that a model has; None: all of them."""

    allowed: Allowed | None
    present: BoolArray | None  # (d, k), of features
    present_pairs: BoolArray | None  # (k, k), of labels of neighbours


def masks_of(labeler: Any, matrix: Any, codes: IntArray, classes: AnyArray, seen: Allowed) -> Masks:
    """The masks of a fit on these data; in an audit, where they are ``seen``, those of the fit."""
    masks: Masks | None = getattr(labeler, "masks", None)
    if masks is not None:
        _refuse_infinite(masks.allowed, classes, seen)
        return masks
    sparing = labeler.weights == "observed"
    return Masks(
        allowed(labeler.transitions, classes, seen),
        observed_weights(matrix, codes, classes.size) if sparing else None,
        seen.transitions if sparing else None,
    )


def edge_width(labeler: Any) -> int:
    """How many features of edges a fitted labeler has weights for; 0 if its fit had no edge."""
    weights = getattr(labeler, "edge_coef_", None)
    return 0 if weights is None else len(weights)


def observed_pairs(codes: IntArray, offsets: IntArray, k: int) -> Allowed:
    """The starts, steps and ends of sequences that occur."""
    seen = Allowed(np.zeros((k, k), bool), np.zeros(k, bool), np.zeros(k, bool))
    later = np.ones(codes.size, bool)
    later[offsets[:-1]] = False
    places = np.flatnonzero(later)
    seen.transitions[codes[places - 1], codes[places]] = True
    seen.start[codes[offsets[:-1]]] = True
    seen.stop[codes[offsets[1:] - 1]] = True
    return seen


def observed_on_edges(codes: IntArray, edges: IntArray, k: int, *, directed: bool) -> Allowed:
    """The pairs of labels that edges of graphs have, in both orders if they have no direction."""
    everywhere = np.ones(k, bool)
    seen = Allowed(np.zeros((k, k), bool), everywhere, everywhere)
    first, second = codes[edges].T
    seen.transitions[first, second] = True
    if not directed:
        seen.transitions[second, first] = True
    return seen


def allowed(transitions: Any, classes: AnyArray, seen: Allowed) -> Allowed | None:
    """The masks that ``transitions`` stands for; None if everything is allowed.

    ``seen`` is what the training data have.
    """
    if isinstance(transitions, str):
        return None if transitions == "full" else seen
    k, everywhere = classes.size, np.ones(classes.size, bool)
    table = _table_of_pairs(transitions, classes)
    if table is None:
        table = np.asarray(transitions)
        if (
            table.shape != (k, k)
            or table.dtype.kind not in "biuf"
            or not np.isin(table, (0, 1)).all()
        ):
            raise ValueError(
                f"transitions must be 'full', 'observed', pairs (from, to) of labels, or a ({k}, "
                f"{k}) table of True and False in the order of the sorted labels, not "
                f"{brief(transitions)}."
            )
    masks = Allowed(table.astype(bool), everywhere, everywhere)
    _refuse_forbidden(masks, classes, seen)
    return masks


def _table_of_pairs(transitions: Any, classes: AnyArray) -> BoolArray | None:
    """A table from pairs of labels; None if ``transitions`` is no collection of pairs."""
    if not isinstance(transitions, list | tuple | set | frozenset):
        return None
    if not all(isinstance(pair, tuple) for pair in transitions):  # lists are rows of a table
        return None
    code = {label: number for number, label in enumerate(classes.tolist())}
    try:
        pairs = [(code[a], code[b]) for a, b in transitions]
    except KeyError as error:
        if {entry for pair in transitions for entry in pair} <= {0, 1}:  # tuples as rows of a table
            return None
        raise ValueError(
            f"transitions has the label {error.args[0]!r}, which is not among the labels of y, "
            f"{brief(classes.tolist())}."
        ) from error
    except (TypeError, ValueError):
        return None
    table = np.zeros((classes.size, classes.size), bool)
    for a, b in pairs:
        table[a, b] = True
    return table


def _refuse_forbidden(masks: Allowed, classes: AnyArray, seen: Allowed) -> None:
    """Refuse labels of the training data that the masks forbid."""
    wrong = np.argwhere(seen.transitions & ~masks.transitions)
    if wrong.size:
        a, b = classes[wrong[0]].tolist()
        raise ValueError(
            f"transitions forbids {a!r} → {b!r}, which occurs in y: allow it, or mend the labels."
        )


def _refuse_infinite(masks: Allowed | None, classes: AnyArray, seen: Allowed) -> None:
    """Refuse labels to which a fitted model gives a loss of infinity."""
    if masks is None:
        return
    names = classes.tolist()
    found = [
        f"{names[a]!r} → {names[b]!r}"
        for a, b in np.argwhere(seen.transitions & ~masks.transitions)
    ]
    for how, own, known in (
        ("begins", seen.start, masks.start),
        ("ends", seen.stop, masks.stop),
    ):
        found += [f"a sequence that {how} with {names[c]!r}" for c in np.flatnonzero(own & ~known)]
    if found:
        raise ValueError(
            f"y has {found[0]}, which the transitions of the fit forbid, so that the model's loss "
            "there is infinite: leave such labels out."
        )


def cost_table(cost: Any, k: int) -> Array | None:
    """Δ(true, other) as a (k, k) table; None for the Hamming cost."""
    if cost is None:
        return None
    try:
        table = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cost must be a ({k}, {k}) table of numbers, not {brief(cost)}."
        ) from error
    if table.shape != (k, k):
        raise ValueError(
            f"cost must be a ({k}, {k}) table, a row for every true label in sorted order, not of "
            f"shape {table.shape}."
        )
    if not np.isfinite(table).all() or (table < 0).any() or np.diag(table).any():
        raise ValueError("cost must be finite, not negative, and 0 where the label is right.")
    return np.ascontiguousarray(table)


def observed_weights(matrix: Any, codes: IntArray, k: int) -> BoolArray:
    """Which pairs of a feature and a label occur, (d, k).

    A feature that the dict of a token has with the value 0 or False occurs, as for CRFsuite.
    """
    seen = sparse.csr_array(matrix) if not sparse.issparse(matrix) else matrix.copy()
    seen.data = np.ones_like(seen.data)
    n = codes.size
    labels = sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, k))
    return np.asarray((seen.T @ labels).toarray() > 0)
