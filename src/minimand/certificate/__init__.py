"""The referee: `judge(objective, point)` bounds the distance of a point from the optimum."""

from .finding import (
    UNATTAINED,
    Certificate,
    Course,
    Dual,
    Finding,
    Judgement,
    Kind,
    is_balanced,
    slack,
)
from .referee import judge, lifted
from .together import judge_together

__all__ = [
    "UNATTAINED",
    "Certificate",
    "Course",
    "Dual",
    "Finding",
    "Judgement",
    "Kind",
    "is_balanced",
    "judge",
    "judge_together",
    "lifted",
    "slack",
]
