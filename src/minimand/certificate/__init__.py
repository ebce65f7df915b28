"""The referee: `judge(objective, point)` bounds the distance of a point from the optimum."""

from .finding import (
    Certificate,
    Course,
    Dual,
    Finding,
    Judgement,
    Kind,
    bounded,
    is_balanced,
    relative_gap,
    slack,
)
from .measure import UNATTAINED
from .referee import judge, lifted
from .several_problems import judge_together

__all__ = [
    "UNATTAINED",
    "Certificate",
    "Course",
    "Dual",
    "Finding",
    "Judgement",
    "Kind",
    "bounded",
    "is_balanced",
    "judge",
    "judge_together",
    "lifted",
    "relative_gap",
    "slack",
]
