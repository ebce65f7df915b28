"""The certificate of a clustering, from its rows, labels and centres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._base.typing import AnyArray, Array
from ...certificate import Certificate
from ..base import Course
from .bound import lower_bound
from .distances import medians
from .lloyd import Null
from .rows import Rows


def certified(
    course: Course,
    rows: Rows,
    labels: AnyArray,
    centers: Array,
    primal: float,
    scale: float,
    passes: float = math.inf,
) -> Certificate:
    """By discarded eigenvalues; under Manhattan, by the best centres of these clusters.

    ``passes`` over rows and centres are what the clusters cost; the bound is to cost no more.
    """
    noise = float(np.finfo(float).eps) * rows.shape[1] * abs(primal) + rows.rounding
    if rows.distance.by_sums:
        found = course.within_limits(lambda: lower_bound(rows, len(centers), passes))
        bound, rounding, certain = found
        return course.certificate(
            primal, bound, "relaxation", rounding + noise, scale, certain=certain
        )
    everything = np.arange(len(centers))
    best = medians(rows.X, labels, rows.weights, centers.astype(float), everything)
    bound = Null.cost_of(rows, labels, best)
    return course.certificate(primal, bound, "stationary", noise, scale)


def judged(model: Any, rows: Rows, centers: Array) -> Certificate:
    """The certificate of rows that go to the nearest of a model's centres, computed anew."""
    centers = rows.admitted(centers)
    search = rows.search(len(centers))
    search.assign(centers)
    primal = rows.weighed(rows.costs(search))
    scale = Null(rows, centers, *search.sums(), primal).primal
    course = Course(model, rows.distance.words)
    return certified(course, rows, search.labels(), centers, primal, scale)
