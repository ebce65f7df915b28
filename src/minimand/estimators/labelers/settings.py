"""The choices of a labeler, checked: loss, penalty, allowed transitions, costs, edge features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._base.wording import brief
from ...penalties import L1, L2, Penalty
from ...penalties import REGISTRY as PENALTIES
from ..settings import check_callbacks, check_limits, check_real, check_seed
from .tokens import check_features

LOSSES = ("crf", "max_margin", "perceptron")
_TRANSITIONS = ("full", "observed")
_WEIGHTS = ("all", "observed")
_EDGES = ("later", "both")


def for_crfsuite(units: str) -> dict[str, str]:
    """sklearn-crfsuite's parameters, and what to write here."""
    mean = f"since losses are averaged over {units} here"
    return {
        "c2": f"penalty='l2', alpha=2*c2/len(X), {mean}",
        "c1": f"penalty='l1', alpha=c1/len(X), {mean}",
        "C": f"alpha=1/(C*len(X)), {mean}",
        "algorithm": "loss='crf', 'max_margin' or 'perceptron'",
        "max_iterations": "max_iter=…",
        "all_possible_transitions": "weights='all' or 'observed'",
        "all_possible_states": "weights='all' or 'observed'",
        "epsilon": "tol=…",
        "delta": "tol=…",
    }


class Strengths(NamedTuple):
    """A penalty as l1·‖w‖₁ + ½·l2·‖w‖², alpha included."""

    l1: float
    l2: float
    words: str


@dataclass(frozen=True)
class Choices:
    """The parameters of a labeler, without those that depend on the data."""

    loss: str
    penalty: Penalty
    alpha: float | None

    def strengths(self, total: float) -> Strengths:
        """What the penalty is for sequences of this total weight: alpha=None is one of them."""
        alpha = 1.0 / total if self.alpha is None else self.alpha
        l1, l2 = penalty_parts(self.penalty, alpha)
        formula = self.penalty.words(alpha)
        words = f"mean {self.loss} loss of a sequence"
        return Strengths(l1, l2, words if formula == "0" else f"{words} + {formula}")


def check_common_choices(labeler: Any) -> tuple[Penalty, float | None]:
    """Validate the arguments that all labelers have; the penalty and alpha."""
    penalty = penalty_of(labeler.penalty)
    alpha = None if labeler.alpha is None else check_real("alpha", labeler.alpha, low=0.0)
    penalty_parts(penalty, 1.0)
    _check_word("transitions", labeler.transitions, _TRANSITIONS, "or a table of allowed ones")
    _check_word("weights", labeler.weights, _WEIGHTS)
    if not isinstance(labeler.weights, str):
        raise ValueError(f"weights must be one of {list(_WEIGHTS)}, not {brief(labeler.weights)}.")
    if labeler.loss == "perceptron":
        _check_perceptron(labeler)
    check_limits(labeler)
    check_features(labeler.features)
    if labeler.random_state is not None:
        check_seed(labeler.random_state)
    if labeler.callbacks is not None:
        check_callbacks(labeler.callbacks)
    return penalty, alpha


def check_choices(labeler: Any) -> Choices:
    """Validate the constructor's arguments of a labeler; each bad one gets one sentence."""
    if labeler.loss not in LOSSES:
        raise ValueError(
            f"loss of SequenceLabeler must be one of {list(LOSSES)}, not {labeler.loss!r}."
        )
    penalty, alpha = check_common_choices(labeler)
    check_flag("ends", labeler.ends)
    edges = labeler.edge_features
    if edges is not None and not callable(edges):
        _check_word("edge_features", edges, _EDGES, "None, or a function of a sequence's rows")
        if not isinstance(edges, str):
            raise TypeError(f"edge_features must be None, one of {list(_EDGES)} or a function.")
    if labeler.loss == "perceptron" and edges is not None:
        raise ValueError("edge_features need loss='crf' or 'max_margin': leave them out.")
    return Choices(labeler.loss, penalty, alpha)


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}.")


def _check_word(name: str, value: Any, words: tuple[str, ...], more: str = "") -> None:
    if isinstance(value, str) and value not in words:
        raise ValueError(
            f"{name} must be one of {list(words)} {more}".rstrip() + f", not {value!r}."
        )


def _check_perceptron(labeler: Any) -> None:
    """Refuse what the perceptron's steps do not have, rather than leave it out in silence."""
    if labeler.alpha is not None:
        raise ValueError(
            "alpha has no meaning for loss='perceptron', whose steps have no penalty: leave it out."
        )
    if labeler.weights != "all":
        raise ValueError("weights='observed' needs loss='crf' or 'max_margin': use weights='all'.")


def penalty_of(given: Any) -> Penalty:
    """The penalty by its short name; "elastic_net" is half of each, as scikit-learn's default."""
    if isinstance(given, str) and given == "elastic_net":
        return 0.5 * L1() + 0.5 * L2()
    return PENALTIES.get(given)


def penalty_parts(penalty: Penalty, alpha: float) -> tuple[float, float]:
    """l1 and l2 of a penalty that treats all weights alike; any other is refused."""
    try:
        coupled = penalty.couples_scores  # rows of weights, as the L21 norm does
        bound = None if coupled else penalty.bind(2, alpha).sum_over_features
    except ValueError:  # weights or groups of so many features
        bound = None
    alike = bound is not None and bound.bounds is None
    if alike:
        assert bound is not None
        alike = bool(np.ptp(bound.l1) == 0 and np.ptp(bound.l2) == 0)
    if not alike:
        raise ValueError(
            f"penalty={penalty!r} does not treat all weights alike as c·‖w‖₁ + ½·d·‖w‖²: take "
            "'l2', 'l1', 'elastic_net', 'no_penalty' or a sum such as L1() + 0.5 * L2()."
        )
    assert bound is not None
    return float(bound.l1[0]), float(bound.l2[0])
