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
_LEGAL = "'l2', 'l1', 'elastic_net', 'no_penalty' or a sum such as L1() + 0.5 * L2()"


def for_crfsuite(units: str) -> dict[str, str]:
    """sklearn-crfsuite's parameters, and what to write here."""
    mean = f"since losses are averaged over {units} here"
    both = "for c1 and c2 together penalty=c1*L1() + 2*c2*L2(), alpha=1/len(X)"
    return {
        "c2": f"penalty='l2', alpha=2*c2/len(X), {mean}; {both}",
        "c1": f"penalty='l1', alpha=c1/len(X), {mean}; {both}",
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
    transitions, weights = labeler.transitions, labeler.weights
    if isinstance(transitions, str) and transitions not in _TRANSITIONS:
        raise ValueError(
            "transitions must be 'full', 'observed', pairs (from, to) of labels, or a table of "
            f"those allowed, not {transitions!r}."
        )
    if not isinstance(weights, str) or weights not in _WEIGHTS:
        raise ValueError(f"weights must be 'all' or 'observed', not {brief(weights)}.")
    if labeler.cost is not None and labeler.loss != "max_margin":
        raise ValueError(
            f"cost is the Δ of loss='max_margin', and loss={labeler.loss!r} has none: leave it out."
        )
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
    named = isinstance(edges, str) and edges in _EDGES
    if edges is not None and not callable(edges) and not named:
        kind = ValueError if isinstance(edges, str) else TypeError
        raise kind(
            "edge_features must be None, 'later', 'both', or a function of the rows of a sequence, "
            f"not {brief(edges)}."
        )
    return Choices(labeler.loss, penalty, alpha)


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}.")


def _check_perceptron(labeler: Any) -> None:
    """Refuse what the perceptron's steps do not have, rather than leave it out in silence."""
    if labeler.alpha is not None:
        raise ValueError(
            "alpha has no meaning for loss='perceptron', whose steps have no penalty: leave it out."
        )
    if any(penalty_parts(penalty_of(labeler.penalty), 1.0)) and labeler.penalty != "l2":
        raise ValueError(
            "penalty has no meaning for loss='perceptron', whose steps have none: leave it out."
        )
    if labeler.weights != "all":
        raise ValueError("weights='observed' needs loss='crf' or 'max_margin': use weights='all'.")


def refuse_observed(labeler: Any) -> None:
    """Refuse masks in `partial_fit`."""
    if labeler.weights != "all":
        raise ValueError(
            "partial_fit takes weights='all', as one batch does not show which weights occur in "
            "those to come: call fit for 'observed'."
        )
    if not isinstance(labeler.transitions, str) or labeler.transitions != "full":
        raise ValueError(
            "partial_fit takes transitions='full', as one batch does not show which labels follow "
            "each other in those to come: call fit for others."
        )


def penalty_of(given: Any) -> Penalty:
    """The penalty by its short name; "elastic_net" is half of each, as scikit-learn's default."""
    if isinstance(given, str) and given == "elastic_net":
        return 0.5 * L1() + 0.5 * L2()
    if not isinstance(given, Penalty) and not (isinstance(given, str) and given in PENALTIES.names):
        raise ValueError(f"penalty={brief(given)} is not known: take {_LEGAL}.")
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
            f"{_LEGAL}."
        )
    assert bound is not None
    return float(bound.l1[0]), float(bound.l2[0])
