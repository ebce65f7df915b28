"""The models that divide a branch in two: without bounds of their own, for the tree has one."""

from __future__ import annotations

from ..._base.typing import Array
from ...certificate import Certificate
from ..base import Course
from ..cuts.alternation import Task
from ..cuts.normalized_cut import NormalizedCut
from ..kmeans.estimator import KMeans
from ..kmeans.rows import Rows
from ..kmeans.starts import Found


class Halves(NormalizedCut):
    """A normalised cut without a bound, which takes a third of the time."""

    def _certified(self, course: Course, task: Task, weights: Array) -> Certificate:
        return course.certificate(self.inertia_, 0.0, "relaxation")  # no cut is negative


class TwoMeans(KMeans):
    """k-means without a bound, whose eigenvalues may take longer than the two clusters."""

    def _certified(self, course: Course, rows: Rows, found: Found) -> Certificate:
        return course.certificate(found.primal, 0.0, "relaxation", 0.0, found.run.scale)
