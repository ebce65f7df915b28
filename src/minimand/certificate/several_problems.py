"""Judgements of several problems on the same data, with one pass for the slopes of all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._base.typing import Array
from ..problem.objective import Objective, Point
from .finding import Dual, Judgement
from .referee import admissible, judge


def judge_together(
    objectives: Sequence[Objective],
    points: Sequence[Point],
    thetas: Sequence[Array],
    *,
    thorough: bool = False,
) -> list[Judgement]:
    """`judge` of one point of every problem, each by one dual point θ that its solver proposes.

    The problems share a design with columns, and have one score each. Their slopes Xᵀ(mass∘θ) come
    from one product, of which each problem counts its share.
    """
    inside = [admissible(o, theta) for o, theta in zip(objectives, thetas)]
    weighted = np.stack([o.weigh(theta) for o, theta in zip(objectives, inside)])
    slopes = objectives[0].design.slopes_of(weighted)
    found = []
    for objective, point, theta, slope in zip(objectives, points, inside, slopes):
        objective.meter.passes += 1.0 / len(objectives)
        dual = Dual(theta, slope)
        found.append(judge(objective, point, known=[dual], raw=False, thorough=thorough))
    return found
