"""The referee: `judge(objective, point)` says how far a point can be from the optimum."""

from .finding import Certificate, Dual, Finding, Judgement, Kind
from .measure import UNATTAINED
from .referee import is_balanced, judge, lifted, slack

__all__ = [
    "UNATTAINED",
    "Certificate",
    "Dual",
    "Finding",
    "Judgement",
    "Kind",
    "is_balanced",
    "judge",
    "lifted",
    "slack",
]
